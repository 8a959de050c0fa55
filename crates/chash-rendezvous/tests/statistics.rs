//! Joint distributions over nodes, at level 1e-6 with fixed seeds.

use chash_core::mix::mix64;
use chash_core::{Build, DistributorExt, Node, NodeId, Replicated};
use chash_hash::HashFunction;
use chash_metrics::stats::chi_squared;
use chash_rendezvous::{Params, Rendezvous};

const LEVEL: f64 = 1e-6;

/// Asserts that counts follow the expected parts, at [`LEVEL`] shared by `tests` tests.
fn assert_follow(observed: &[u64], parts: &[f64], tests: usize, what: &str) {
    let (total, whole) = (observed.iter().sum::<u64>() as f64, parts.iter().sum::<f64>());
    let expected: Vec<f64> = parts.iter().map(|part| total * part / whole).collect();
    let fit = chi_squared(observed, &expected).unwrap();
    assert!(fit.p_value > LEVEL / tests as f64, "{what}: {fit:?}");
}

fn build(seed: u64, nodes: &[Node]) -> Rendezvous {
    Rendezvous::build(&Params { seed, ..Params::default() }, nodes).unwrap()
}

/// Every order of preference over a few nodes is as likely as every other.
#[test]
fn orders_of_preference_are_uniform() {
    const SETS: u64 = 20;
    for seed in 0..SETS {
        let placement = build(seed, &Node::numbered(5));
        let mut counts = [0; 120];
        for i in 0..1 << 17 {
            let mut order = [NodeId(0); 5];
            placement.replicas(mix64(mix64(seed) ^ i), &mut order);
            let index = (0..5).fold(0, |index, i| {
                index * (5 - i) + order[i + 1..].iter().filter(|id| **id < order[i]).count()
            });
            counts[index] += 1;
        }
        assert_follow(&counts, &[1.0; 120], SETS as usize, &format!("seed {seed}"));
    }
}

/// Whoever is first, the second is any of the others.
#[test]
fn second_choices_are_uniform_given_the_first() {
    let placement = build(3, &Node::numbered(40));
    let mut counts = vec![0; 40 * 40];
    for key in (0..1 << 19).map(mix64) {
        let mut two = [NodeId(0); 2];
        placement.replicas(key, &mut two);
        counts[two[0].index() * 40 + two[1].index()] += 1;
    }
    let parts: Vec<f64> = (0..40 * 40).map(|cell| if cell / 40 == cell % 40 { 0.0 } else { 1.0 }).collect();
    assert_follow(&counts, &parts, 1, "first and second");
}

/// Keys in sequence are no special case once they are hashed, at few nodes and at many.
#[test]
fn shares_are_uniform_for_hashed_sequential_keys() {
    let keys: Vec<u64> = (0..1u64 << 19).map(|i| HashFunction::Xxh3.hash(&i.to_le_bytes())).collect();
    for count in [2, 10, 100, 1000] {
        let mut counts = vec![0; count as usize];
        for id in build(0, &Node::numbered(count)).lookup_all(&keys) {
            counts[id.index()] += 1;
        }
        assert_follow(&counts, &vec![1.0; count as usize], 4, &format!("{count} nodes"));
    }
}

#[test]
fn shares_follow_weights() {
    const SEEDS: u64 = 3;
    let cases: [&[u32]; 6] = [
        &[1, 2],
        &[0, 1, 1],
        &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        &[u32::MAX, u32::MAX / 2, 1],
        &[1, 1000, 100_000],
        &[5, 5, 5, 5, 5, 5, 5, 5, 5, 6],
    ];
    for (weights, seed) in cases.iter().flat_map(|weights| (0..SEEDS).map(move |seed| (weights, seed))) {
        let nodes: Vec<Node> = (0..)
            .zip(*weights)
            .map(|(i, weight)| Node::new(NodeId(i), format!("n{i}")).with_weight(*weight))
            .collect();
        let keys: Vec<u64> = (0..1u64 << 20).map(|i| mix64(i ^ mix64(seed))).collect();
        let mut counts = vec![0; nodes.len()];
        for id in build(seed, &nodes).lookup_all(&keys) {
            counts[id.index()] += 1;
        }
        // A chi-squared test has nothing to say of nodes that expect next to nothing: the last but one case.
        let whole: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
        let (counts, parts): (Vec<u64>, Vec<f64>) = counts
            .into_iter()
            .zip(weights.iter().map(|weight| f64::from(*weight)))
            .filter(|(_, part)| *part == 0.0 || part / whole * keys.len() as f64 > 5.0)
            .unzip();
        assert_follow(&counts, &parts, cases.len() * SEEDS as usize, &format!("{weights:?}, seed {seed}"));
    }
}
