//! `bounded` on a placement whose walks are known by hand.

use crate::support::{Capped, Rule, Setup, integer, mixed, naive, once, real};
use chash_core::Node;
use chash_metrics::bounded::METRIC;
use chash_metrics::case::MetricError;
use chash_metrics::record::Value;

fn capped(factor: (u64, u64), lax: bool) -> impl Fn(&[Node]) -> Capped + Sync {
    move |nodes| Capped::new(nodes, factor, lax)
}

/// Six keys that all prefer node 0 of 3, c = 1.5.
#[test]
fn walks_by_hand() {
    let rows = Setup::new(&[1; 3]).run(&METRIC, &once(vec![0; 6]), capped((3, 2), false)).unwrap();
    let fields: Vec<Vec<String>> =
        rows.iter().map(|row| row.row[..9].iter().map(Value::to_field).collect()).collect();
    // static: capacity ⌈9/3⌉ = 3: three keys on node 0, three on node 1.
    assert_eq!(fields[0], ["static", "1.5", "3", "3", "0", "0.5", "1.5", "2", "2"]);
    // online: capacities ⌈t/2⌉ = 1 1 2 2 3 3 for t = 1…6: nodes 0 1 0 1 0 1.
    assert_eq!(fields[1], ["online", "1.5", "3", "3", "0", "0.5", "1.5", "2", "2"]);
    // A fourth node, static: capacity ⌈9/4⌉ = 3, nothing moves. Without node 1, 2 or 0: ⌈9/2⌉ = 5.
    assert_eq!(rows[0].row[9], Value::Real(0.0));
}

/// Before: 0 0 0 1 1 1. Two nodes hold 5 of 6: 0 0 0 0 0 1 or, where node 0 left, 1 1 1 1 1 2.
#[test]
fn movement_on_removal_by_hand() {
    for seed in 0..20 {
        let setup = Setup { seed, ..Setup::new(&[1; 3]) };
        let rows = setup.run(&METRIC, &once(vec![0; 6]), capped((3, 2), false)).unwrap();
        let removed = chash_metrics::events::random_node(&setup.nodes, seed).unwrap().id.0;
        // Without node 1 the last key is on node 2.
        let moved = [4.0, 3.0, 2.0][removed as usize];
        assert_eq!(rows[0].row[10], Value::Real(moved / 6.0), "without {removed}");
    }
}

/// The cap holds for every factor, weight and rule.
#[test]
fn a_placement_that_keeps_its_caps_has_no_violation() {
    for factor in [(1, 1), (11, 10), (5, 4), (3, 1)] {
        for weights in [vec![1; 7], vec![1, 2, 3, 0, 9]] {
            let rows = Setup::new(&weights).run(&METRIC, &mixed(500), capped(factor, false)).unwrap();
            for row in rows {
                assert_eq!(integer(&METRIC, &row, "cap_violations"), 0);
                assert!(integer(&METRIC, &row, "max_load") <= integer(&METRIC, &row, "capacity_max"));
                assert_eq!(real(&METRIC, &row, "factor"), factor.0 as f64 / factor.1 as f64);
            }
        }
    }
}

/// One key more than a node may hold is seen under either rule.
#[test]
fn violations_are_counted() {
    let rows = Setup::new(&[1; 3]).run(&METRIC, &once(vec![0; 6]), capped((1, 1), true)).unwrap();
    // static: capacity 2, three on each of two nodes: the third of each is one too many.
    assert_eq!(integer(&METRIC, &rows[0], "cap_violations"), 2);
    // online: capacities 1 1 1 2 2 2, one more taken: nodes 0 0 1 0 1 1, of which 2nd, 4th and 6th are beyond.
    assert_eq!(integer(&METRIC, &rows[1], "cap_violations"), 3);
}

#[test]
fn a_placement_without_capacities_is_unsupported() {
    let found = Setup::new(&[1; 3]).run(&METRIC, &mixed(10), naive(Rule::Turns));
    assert!(matches!(found, Err(MetricError::Unsupported(_))));
}
