//! Scenarios: the rows of `movement` and `flow` for each step, against the naive rule on the lists of each step.

use std::collections::BTreeMap;

use crate::support::{Rule, Setup, field, integer, is_unsupported, mixed, naive, owner};
use chash_core::{Change, Node, NodeId};
use chash_metrics::events::{Scenario, Step};
use chash_metrics::keys::KeyStream;
use chash_metrics::record::Value;
use chash_metrics::{flow, movement};

/// Node 2 of four leaves, a node arrives, and it doubles.
fn setup() -> Setup {
    let step = |event, change| Step { event, changes: vec![change] };
    let newcomer = Node::new(NodeId(4), "newcomer");
    let steps = vec![
        step("remove", Change::Remove(NodeId(2))),
        step("add", Change::Add(newcomer)),
        step("weight", Change::SetWeight(NodeId(4), 2)),
    ];
    Setup { scenario: Scenario { name: "story".to_owned(), steps }, ..Setup::new(&[1, 2, 1, 1]) }
}

/// The list before the first step and after each.
fn lists() -> Vec<Vec<Node>> {
    let first = setup().nodes;
    let second: Vec<Node> = first.iter().filter(|node| node.id != NodeId(2)).cloned().collect();
    let third = [second.clone(), vec![Node::new(NodeId(4), "newcomer")]].concat();
    let fourth = [second.clone(), vec![Node::new(NodeId(4), "newcomer").with_weight(2)]].concat();
    vec![first, second, third, fourth]
}

#[test]
fn flows_equal_brute_force_and_add_up() {
    let (setup, keys) = (setup(), mixed(1000));
    let rows = setup.run(&flow::METRIC, &keys, naive(Rule::Scores)).unwrap();
    for (step, lists) in (1u64..).zip(lists().windows(2)) {
        let mut expected: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
        for (at, key) in keys.hashes().iter().enumerate() {
            let pair = [0, 1].map(|side| owner(Rule::Scores, &lists[side], *key).name.to_string());
            let amount = expected.entry(pair.into()).or_default();
            *amount = (amount.0 + 1, amount.1 + at as u64 % 5);
        }
        let text = |row, column| match field(&flow::METRIC, row, column) {
            Value::Text(text) => text,
            other => panic!("{other:?}"),
        };
        let found: BTreeMap<(String, String), (u64, u64)> = rows
            .iter()
            .filter(|row| integer(&flow::METRIC, row, "step") == step)
            .map(|row| {
                let amount = ["flow_keys", "flow_requests"].map(|column| integer(&flow::METRIC, row, column));
                ((text(row, "from"), text(row, "to")), amount.into())
            })
            .collect();
        assert_eq!(found, expected, "step {step}");
    }
    assert_eq!(rows.iter().map(|row| integer(&flow::METRIC, row, "flow_keys")).sum::<u64>(), 3 * 1000);
}

#[test]
fn movement_follows_the_flows() {
    let (setup, keys) = (setup(), mixed(1000));
    let flows = setup.run(&flow::METRIC, &keys, naive(Rule::Scores)).unwrap();
    let rows = setup.run(&movement::METRIC, &keys, naive(Rule::Scores)).unwrap();
    let story: Vec<_> =
        rows.iter().filter(|row| field(&movement::METRIC, row, "scenario") == "story".into()).collect();
    assert_eq!(story.len(), 3);
    for (step, row) in (1..).zip(story) {
        let moved: u64 = flows
            .iter()
            .filter(|flow| integer(&flow::METRIC, flow, "step") == step)
            .filter(|flow| field(&flow::METRIC, flow, "from") != field(&flow::METRIC, flow, "to"))
            .map(|flow| integer(&flow::METRIC, flow, "flow_keys"))
            .sum();
        assert!(moved > 0, "step {step}");
        assert_eq!(integer(&movement::METRIC, row, "moved_keys"), moved, "step {step}");
        assert_eq!(
            integer(&movement::METRIC, row, "needless_keys"),
            0,
            "step {step}: the naive scores move no more"
        );
    }
}

/// A step on a node that is not there is a row that says so, and so is every step after it.
#[test]
fn a_refused_step_ends_the_story() {
    let mut setup = setup();
    setup.scenario.steps.insert(1, Step { event: "remove", changes: vec![Change::Remove(NodeId(77))] });
    let rows = setup.run(&movement::METRIC, &mixed(100), naive(Rule::Scores)).unwrap();
    let refused: Vec<bool> = rows[7..].iter().map(is_unsupported).collect();
    assert_eq!(refused, [false, true, true, true]);
}

#[test]
fn without_a_scenario_nothing_flows() {
    let setup = Setup::new(&[1, 1]);
    assert!(setup.run(&flow::METRIC, &mixed(100), naive(Rule::Scores)).unwrap().is_empty());
    assert_eq!(mixed(100).key_count(), 100);
}
