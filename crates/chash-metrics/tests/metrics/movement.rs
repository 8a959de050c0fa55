//! `movement` against brute force by names, on naive placements.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{
    Naive, Regenerated, Rule, Setup, field, integer, is_unsupported, mixed, naive, once, owner, real,
};
use chash_core::{Change, Distributor, Node};
use chash_metrics::case::{MoveTheory, Outcome};
use chash_metrics::events::Event;
use chash_metrics::keys::{CountedKeys, KeyStream};
use chash_metrics::movement::METRIC;
use chash_metrics::record::Value;
use proptest::prelude::*;

/// What moved, worked out from names alone.
#[derive(Debug, Default, PartialEq)]
struct Moves {
    keys: u64,
    needless: u64,
    requests: u64,
    losing: u64,
    gaining: u64,
}

fn brute_force(rule: Rule, before: &[Node], after: &[Node], keys: &[(u64, u64)]) -> Moves {
    let weights = |nodes: &[Node]| -> BTreeMap<String, u32> {
        nodes.iter().map(|node| (node.name.to_string(), node.weight)).collect()
    };
    let (old_weights, new_weights) = (weights(before), weights(after));
    let (mut losing, mut gaining) = (BTreeSet::new(), BTreeSet::new());
    let mut moves = Moves::default();
    for (key, requests) in keys {
        let old = owner(rule, before, *key).name.to_string();
        let new = owner(rule, after, *key).name.to_string();
        if old == new {
            continue;
        }
        moves.keys += 1;
        moves.requests += requests;
        let left_or_lost = new_weights.get(&old).is_none_or(|weight| *weight < old_weights[&old]);
        let arrived_or_gained = old_weights.get(&new).is_none_or(|weight| *weight < new_weights[&new]);
        moves.needless += u64::from(!left_or_lost && !arrived_or_gained);
        losing.insert(old);
        gaining.insert(new);
    }
    moves.losing = losing.len() as u64;
    moves.gaining = gaining.len() as u64;
    moves
}

/// The list after an event's changes, which have tests of their own.
fn list_after(event: Event, nodes: &[Node], placed: &Naive) -> Vec<Node> {
    let mut changed = placed.clone();
    for change in event.changes(nodes, placed.capabilities(), SEED).unwrap() {
        match change {
            Change::Add(node) => changed.nodes.push(node),
            Change::Remove(id) => changed.nodes.retain(|node| node.id != id),
            Change::SetWeight(id, weight) => {
                changed.nodes.iter_mut().find(|node| node.id == id).unwrap().weight = weight;
            }
        }
    }
    changed.nodes
}

const SEED: u64 = 99;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every count of every event, for placements that move little and that move anything.
    #[test]
    fn equals_brute_force(
        weights in prop::collection::vec(0u32..5, 1..12),
        keys in prop::collection::vec((any::<u64>(), 0u64..9), 1..300),
        rule in prop::sample::select(vec![Rule::Turns, Rule::Scores]),
    ) {
        prop_assume!(weights.iter().any(|weight| *weight > 0));
        let setup = Setup { seed: SEED, ..Setup::new(&weights) };
        let (hashes, requests): (Vec<u64>, Vec<u64>) = keys.iter().copied().unzip();
        let total: u64 = requests.iter().sum();
        let stream = CountedKeys::new(hashes, requests, None);
        let rows = setup.run(&METRIC, &stream, naive(rule)).unwrap();
        prop_assert_eq!(rows.len(), 7);
        let placed = naive(rule)(&setup.nodes);
        for (event, row) in Event::ALL.into_iter().zip(&rows) {
            prop_assert_eq!(field(&METRIC, row, "event"), Value::from(event.name()));
            if is_unsupported(row) {
                // Only the last node of positive weight cannot leave.
                let after = list_after(event, &setup.nodes, &placed);
                prop_assert!(after.iter().all(|node| node.weight == 0) || event == Event::Replace);
                continue;
            }
            let after = list_after(event, &setup.nodes, &placed);
            let expected = brute_force(rule, &setup.nodes, &after, &keys);
            let found = Moves {
                keys: integer(&METRIC, row, "moved_keys"),
                needless: integer(&METRIC, row, "needless_keys"),
                requests: expected.requests,
                losing: integer(&METRIC, row, "nodes_losing"),
                gaining: integer(&METRIC, row, "nodes_gaining"),
            };
            prop_assert_eq!(&found, &expected);
            if total > 0 {
                let requests = real(&METRIC, row, "moved_requests_frac");
                prop_assert_eq!(requests, expected.requests as f64 / total as f64);
            }
            prop_assert_eq!(real(&METRIC, row, "moved_frac"), found.keys as f64 / keys.len() as f64);
            prop_assert_eq!(integer(&METRIC, row, "nodes_after"), after.len() as u64);
            if rule == Rule::Scores {
                prop_assert_eq!(found.needless, 0);
            }
            let mut loads = BTreeMap::new();
            for (key, _) in &keys {
                *loads.entry(owner(rule, &after, *key).name.clone()).or_insert(0u64) += 1;
            }
            let total_weight: f64 = after.iter().map(|node| f64::from(node.weight)).sum();
            let highest = after.iter().filter(|node| node.weight > 0).map(|node| {
                let load = loads.get(&node.name).copied().unwrap_or(0) as f64;
                load * total_weight / (keys.len() as f64 * f64::from(node.weight))
            }).fold(0.0, f64::max);
            let found = real(&METRIC, row, "max_over_mean_after");
            prop_assert!((found - highest).abs() <= 1e-12 * highest);
        }
    }
}

/// A placement of minimal disruption moves what theory says: |z| < 4.9, a level of 1e-6 for each of 14 numbers.
#[test]
fn minimal_disruption_follows_theory() {
    for weights in [vec![1; 10], vec![1, 2, 3, 4, 1, 2, 3, 4]] {
        let keys = mixed(40_000);
        let setup = Setup { move_theory: MoveTheory::Minimal, ..Setup::new(&weights) };
        for row in setup.run(&METRIC, &keys, naive(Rule::Scores)).unwrap() {
            let (moved, theory) =
                (real(&METRIC, &row, "moved_frac"), real(&METRIC, &row, "moved_frac_theory"));
            let deviation = (theory * (1.0 - theory) / 40_000.0).sqrt();
            assert!((moved - theory).abs() < 4.9 * deviation, "{row:?}");
            assert!(real(&METRIC, &row, "moved_frac_min") <= theory + 1e-12, "{row:?}");
            assert_eq!(integer(&METRIC, &row, "needless_keys"), 0);
        }
    }
}

/// All residues of keys mod 110 once: from 10 to 11 nodes 100 of 110 move, 90 of them between nodes that stay.
#[test]
fn modulo_by_hand() {
    let setup = Setup { move_theory: MoveTheory::Modulo, ..Setup::new(&[1; 10]) };
    let rows = setup.run(&METRIC, &once((0..110).collect()), naive(Rule::Turns)).unwrap();
    let add = &rows[0];
    assert_eq!(integer(&METRIC, add, "moved_keys"), 100);
    assert_eq!(integer(&METRIC, add, "needless_keys"), 90);
    assert!((real(&METRIC, add, "moved_frac_theory") - 10.0 / 11.0).abs() < 1e-15);
    assert!((real(&METRIC, add, "moved_frac_min") - 1.0 / 11.0).abs() < 1e-15);
    assert_eq!((integer(&METRIC, add, "nodes_losing"), integer(&METRIC, add, "nodes_gaining")), (10, 11));
    // Removing any one node: 1 − 1/10 move, wherever it stood. All residues mod 90 twice.
    let rows = setup.run(&METRIC, &once((0..180).collect()), naive(Rule::Turns)).unwrap();
    for row in &rows[1..3] {
        assert_eq!(real(&METRIC, row, "moved_frac"), 0.9);
        assert!((real(&METRIC, row, "moved_frac_theory") - 0.9).abs() < 1e-15);
    }
    assert_eq!(field(&METRIC, &rows[3], "moved_frac_theory"), Value::Missing);
}

#[test]
fn refusals_are_rows() {
    let rows = Setup::new(&[1; 6]).run(&METRIC, &mixed(100), naive(Rule::Stack)).unwrap();
    let outcomes: Vec<(String, bool)> = rows
        .iter()
        .map(|row| (field(&METRIC, row, "event").to_field(), row.outcome == Outcome::Ok))
        .collect();
    let expected = [
        ("add", true),
        ("remove_last", true),
        ("remove_random", false),
        ("replace", false),
        ("double", true),
        ("halve", true),
        ("weight", false),
    ];
    assert_eq!(outcomes, expected.map(|(event, ok)| (event.to_owned(), ok)));
    for row in &rows {
        assert_eq!(row.row.len(), METRIC.columns.len());
        assert_eq!(field(&METRIC, row, "scenario"), "single".into());
        assert_eq!(field(&METRIC, row, "step"), Value::Integer(1));
    }
    let Outcome::Unsupported(reason) = &rows[2].outcome else { panic!("{:?}", rows[2]) };
    assert_eq!(reason, "only the node added last can be removed");

    let one = Setup::new(&[1]).run(&METRIC, &mixed(100), naive(Rule::Turns)).unwrap();
    let refused: Vec<bool> = one.iter().map(is_unsupported).collect();
    assert_eq!(refused, [false, true, true, true, false, false, false]);
}

/// Requests that come as records of their own are compared before and after too.
#[test]
fn uncounted_streams_move_the_same() {
    let counted = CountedKeys::new((0..7).collect(), vec![3, 0, 1, 2, 0, 1, 4], None);
    let uncounted = Regenerated { keys: (0..7).collect(), requests: vec![6, 0, 3, 6, 0, 6, 2, 5, 0, 3, 6] };
    let setup = Setup::new(&[2, 1, 1]);
    let run = |keys: &dyn KeyStream| setup.run(&METRIC, keys, naive(Rule::Turns)).unwrap();
    assert_eq!(run(&counted), run(&uncounted));
}
