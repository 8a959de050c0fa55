//! `balance` and `node_load` on placements whose loads are known by hand.

use crate::support::{
    Capped, Naive, Regenerated, Rule, Setup, field, integer, is_unsupported, mixed, naive, once, real,
};
use chash_core::{BuildError, MembershipError};
use chash_metrics::case::{MetricError, Outcome, ShareTheory};
use chash_metrics::keys::{CountedKeys, KeyStream};
use chash_metrics::record::Value;
use chash_metrics::{balance, node_load};

/// 40 keys dealt out in turn to weights 1, 3, 0, 4: loads are exactly 5, 15, 0, 20.
#[test]
fn shares_are_dealt_exactly() {
    let setup = Setup::new(&[1, 3, 0, 4]);
    let rows = setup.run(&balance::METRIC, &once((0..40).collect()), naive(Rule::Turns)).unwrap();
    assert_eq!(rows.len(), 2);
    let keys = &rows[0];
    let real = |column| real(&balance::METRIC, keys, column);
    let integer = |column| integer(&balance::METRIC, keys, column);
    assert_eq!(field(&balance::METRIC, keys, "load_kind"), "keys".into());
    assert_eq!((real("mean_load"), integer("min_load"), integer("max_load")), (40.0 / 3.0, 5, 20));
    assert_eq!((real("cv"), real("max_over_mean"), real("min_over_mean")), (0.0, 1.0, 1.0));
    assert_eq!((real("chi2"), integer("dof"), real("p_value")), (0.0, 2, 1.0));
    assert_eq!((real("share_chi2"), integer("share_dof"), real("share_p_value")), (0.0, 2, 1.0));
    assert_eq!(integer("empty_nodes"), 0);
    // A = mean(7, 5/3, 1), S2 = 1/40.
    assert!((real("cv_theory") - ((7.0 + 5.0 / 3.0 + 1.0) / 3.0 / 40.0f64).sqrt()).abs() < 1e-15);
}

#[test]
fn uneven_loads_by_hand() {
    let setup = Setup { share_theory: ShareTheory::Unknown, ..Setup::new(&[1; 5]) };
    let keys = CountedKeys::new((0..8).collect(), vec![1, 2, 3, 4, 1, 2, 3, 4], None);
    let rows = setup.run(&balance::METRIC, &keys, naive(Rule::SkipsLast)).unwrap();
    for (row, loads, kind) in [(&rows[0], 2.0, "keys"), (&rows[1], 8.0, "requests")] {
        assert_eq!(field(&balance::METRIC, row, "load_kind"), kind.into());
        assert_eq!(integer(&balance::METRIC, row, "max_load") as f64, loads);
        assert_eq!(integer(&balance::METRIC, row, "empty_nodes"), 1);
        assert_eq!(field(&balance::METRIC, row, "cv_theory"), Value::Missing);
    }
    // x = 1.25 four times and 0: cv² = (4/16 + 1)/5; Pearson: (4·0.4² + 1.6²)/1.6 = 2.
    assert_eq!(real(&balance::METRIC, &rows[0], "cv"), 0.5);
    assert!((real(&balance::METRIC, &rows[0], "chi2") - 2.0).abs() < 1e-14);
    // Requests 2, 4, 6, 8, 0 of mean 4: cv² = (0.25 + 0 + 0.25 + 1 + 1)/5.
    assert!((real(&balance::METRIC, &rows[1], "cv") - 0.5f64.sqrt()).abs() < 1e-15);
    assert!((real(&balance::METRIC, &rows[1], "gini") - 0.4).abs() < 1e-15);
    assert_eq!(field(&balance::METRIC, &rows[1], "chi2"), Value::Missing);
}

/// A ring's q² by its formula, Maglev's from the placement's shares.
#[test]
fn theory_of_shares() {
    let keys = once((0..100).collect());
    let run = |share_theory| {
        let setup = Setup { share_theory, ..Setup::new(&[1, 3]) };
        let rows = setup.run(&balance::METRIC, &keys, naive(Rule::Turns)).unwrap();
        real(&balance::METRIC, &rows[0], "cv_theory")
    };
    let floor = (3.0 + 1.0 / 3.0) / 2.0 / 100.0;
    assert!((run(ShareTheory::Even) - f64::sqrt(floor)).abs() < 1e-15);
    // The naive placement owns exactly its fair shares.
    assert!((run(ShareTheory::FromShares) - f64::sqrt(floor)).abs() < 1e-15);
    let q2 = (3.0 / 41.0 + 1.0 / (3.0 * 41.0)) / 2.0;
    assert!((run(ShareTheory::Ring { vnodes: 10 }) - f64::sqrt(floor + 0.99 * q2)).abs() < 1e-15);
}

/// A stream that is generated again gives the loads of a counted one.
#[test]
fn uncounted_streams_give_the_same_loads() {
    let counted = CountedKeys::new((0..7).collect(), vec![3, 0, 1, 2, 0, 1, 4], None);
    let uncounted = Regenerated { keys: (0..7).collect(), requests: vec![6, 0, 3, 6, 0, 6, 2, 5, 0, 3, 6] };
    assert_eq!(uncounted.request_count(), counted.request_count());
    let setup = Setup::new(&[2, 1, 1]);
    let run = |keys: &dyn KeyStream| setup.run(&node_load::METRIC, keys, naive(Rule::Turns)).unwrap();
    assert_eq!(run(&counted), run(&uncounted));
    let rows = setup.run(&balance::METRIC, &uncounted, naive(Rule::Turns)).unwrap();
    assert_eq!(field(&balance::METRIC, &rows[1], "cv_theory"), Value::Missing);
    assert_eq!(field(&balance::METRIC, &rows[1], "max_over_mean_random"), Value::Missing);
}

#[test]
fn node_loads_by_hand() {
    let setup = Setup::new(&[1, 0, 3]);
    let keys = CountedKeys::new((0..4).collect(), vec![4, 1, 1, 2], None);
    let rows = setup.run(&node_load::METRIC, &keys, naive(Rule::Turns)).unwrap();
    let fields: Vec<Vec<String>> =
        rows.iter().map(|row| row.row.iter().map(Value::to_field).collect()).collect();
    assert_eq!(
        fields,
        [
            ["node-0", "1", "keys", "1", "1", "0"],
            ["node-1", "0", "keys", "0", "0", ""],
            ["node-2", "3", "keys", "3", "3", "0"],
            ["node-0", "1", "requests", "4", "2", "1"],
            ["node-1", "0", "requests", "0", "0", ""],
            ["node-2", "3", "requests", "4", "6", "-0.3333333333333333"],
        ]
    );
}

/// Bytes are used where the placement and the stream have them, and hashes otherwise.
#[test]
fn byte_keyed_placements_see_bytes() {
    let setup = Setup::new(&[1; 4]);
    // Hashes say 0, 0, 0; the bytes sum to 1, 2, 2.
    let bytes = Some((vec![1, 1, 1, 2], vec![1, 3, 4]));
    let with_bytes = CountedKeys::new(vec![0; 3], vec![1; 3], bytes);
    let loads = |keys: &CountedKeys, by_bytes| -> Vec<u64> {
        let build = |nodes: &[_]| Naive { rule: Rule::Turns, nodes: nodes.to_vec(), by_bytes };
        let rows = setup.run(&node_load::METRIC, keys, build).unwrap();
        rows[..4].iter().map(|row| integer(&node_load::METRIC, row, "load")).collect()
    };
    assert_eq!(loads(&with_bytes, true), [0, 1, 2, 0]);
    assert_eq!(loads(&with_bytes, false), [3, 0, 0, 0]);
    assert_eq!(loads(&once(vec![0; 3]), true), [3, 0, 0, 0]);
}

/// Every key is stored once under the static rule, and its requests are served there.
#[test]
fn load_aware_placements_store_every_key() {
    let setup = Setup::new(&[1; 3]);
    let build = |nodes: &[_]| Capped::new(nodes, (1, 1), false);
    // All keys prefer node 0; capacity ⌈6/3⌉ = 2.
    let keys = CountedKeys::new(vec![0, 3, 6, 9, 12, 15], vec![1, 10, 100, 1, 10, 100], None);
    let rows = setup.run(&node_load::METRIC, &keys, build).unwrap();
    let loads: Vec<u64> = rows.iter().map(|row| integer(&node_load::METRIC, row, "load")).collect();
    assert_eq!(loads, [2, 2, 2, 11, 101, 110]);

    let uncounted = Regenerated { keys: vec![0, 3, 6], requests: vec![0, 0] };
    let rows = setup.run(&node_load::METRIC, &uncounted, build).unwrap();
    assert_eq!((rows.len(), is_unsupported(&rows[3])), (4, true));
    assert_eq!(field(&node_load::METRIC, &rows[3], "load_kind"), "requests".into());
    let rows = setup.run(&balance::METRIC, &uncounted, build).unwrap();
    assert_eq!((rows[0].outcome == Outcome::Ok, is_unsupported(&rows[1])), (true, true));
    assert_eq!(field(&balance::METRIC, &rows[1], "load_kind"), "requests".into());
}

#[test]
fn wrong_answers_fail() {
    let strays = Setup::new(&[1; 3]).run(&balance::METRIC, &mixed(10), naive(Rule::Stray));
    assert!(matches!(strays, Err(MetricError::Failed(message)) if message.contains("not present")));
}

#[test]
fn what_an_algorithm_cannot_place_is_unsupported() {
    let refused = |error: BuildError| {
        let build = move |_: &[chash_core::Node]| Err(error.clone());
        Setup::new(&[2, 1]).run_fallible(&balance::METRIC, &mixed(10), &build)
    };
    let weights = refused(BuildError::Membership(MembershipError::WeightUnsupported));
    assert!(matches!(weights, Err(MetricError::Unsupported(_))));
    let parameter = refused(BuildError::NoNodes);
    assert!(matches!(parameter, Err(MetricError::Build(BuildError::NoNodes))));
}

/// Nothing to place: counts are 0 and ratios empty.
#[test]
fn no_keys_give_no_ratios() {
    let rows = Setup::new(&[1; 3]).run(&balance::METRIC, &once(vec![]), naive(Rule::Turns)).unwrap();
    for row in &rows {
        assert_eq!(integer(&balance::METRIC, row, "empty_nodes"), 3);
        assert!(field(&balance::METRIC, row, "cv").to_field().is_empty());
        assert!(field(&balance::METRIC, row, "max_over_mean").to_field().is_empty());
    }
}
