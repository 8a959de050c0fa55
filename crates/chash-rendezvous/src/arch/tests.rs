//! Every backend against the rule applied node by node.

use chash_core::mix::mix64;
use chash_core::{Node, NodeId, Roster};

use super::*;
use crate::score::{HASH_BITS, Precision, Words, hash};

/// Every backend that this machine can run.
fn backends() -> Vec<Backend> {
    let mut backends = vec![Backend::Portable];
    #[cfg(all(target_arch = "x86_64", not(chash_portable)))]
    backends.extend(avx2::Avx2::new().map(Backend::Avx2));
    backends
}

/// `count` nodes whose weights are what `weight` says of their numbers.
fn candidates(count: u32, bits: u32, weight: impl Fn(u32) -> u32) -> Candidates {
    let nodes: Vec<Node> =
        (0..count).map(|i| Node::new(NodeId(i), format!("node-{i}")).with_weight(weight(i))).collect();
    Candidates::new(&Roster::new(&nodes).unwrap(), Precision::new(bits), 0)
}

/// The first of the earliest arrivals, with a logarithm for every node, equal weights or not.
fn by_the_rule(candidates: &Candidates, key: u64) -> usize {
    let mut first = (f64::INFINITY, usize::MAX);
    for place in 0..candidates.len() {
        let arrival = candidates.arrival(Words::of_key(key), place);
        assert!(arrival.is_normal(), "{arrival:e}");
        if arrival < first.0 {
            first = (arrival, place);
        }
    }
    first.1
}

/// A key that gives the node this hash: the multiplier is odd, so it can be divided by.
fn forged(node: Words, target: u32, high: u32) -> u64 {
    let multiplier = (high | 1) ^ node.y;
    let mut inverse = 1u32;
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(multiplier.wrapping_mul(inverse)));
    }
    let x = node.x ^ target.wrapping_mul(inverse);
    let key = u64::from(high) << 32 | u64::from(x ^ high.rotate_left(16));
    assert_eq!(hash(Words::of_key(key), node, u32::MAX), target);
    key
}

fn assert_by_the_rule(candidates: &Candidates, keys: &[u64]) {
    let expected: Vec<usize> = keys.iter().map(|key| by_the_rule(candidates, *key)).collect();
    for backend in backends() {
        let mut owners = vec![NodeId::default(); keys.len()];
        backend.lookup_batch(candidates, keys, &mut owners);
        for ((key, expected), batched) in keys.iter().zip(&expected).zip(owners) {
            let said = (backend.lookup(candidates, *key), batched);
            let count = candidates.len();
            let expected = candidates.ids()[*expected];
            assert_eq!(said, (expected, expected), "{backend:?}, {count} nodes, key {key:#x}");
        }
    }
}

/// Sets of weights: equal ones small and large, few and many different ones, and the greatest ratio.
const WEIGHTS: [fn(u32) -> u32; 6] =
    [|_| 1, |_| u32::MAX, |i| 1 + i % 3, |i| 1 + i, |i| if i == 0 { u32::MAX } else { 1 }, |i| u32::MAX - i];

#[test]
fn every_remainder_of_every_block() {
    let keys: Vec<u64> = (0..3 * 16).map(mix64).collect();
    for weights in WEIGHTS {
        for count in (1..=100).chain([127, 128, 129, 1000]) {
            assert_by_the_rule(&candidates(count, HASH_BITS, weights), &keys);
        }
    }
}

/// Ties of many nodes in every position: the first by name, whatever block, lane or rest it is in.
#[test]
fn ties_of_short_hashes() {
    let keys: Vec<u64> = (0..10 * 16).map(mix64).collect();
    for bits in [1, 2, 4, 8, 16, 31] {
        for weights in WEIGHTS {
            for count in [1, 2, 5, 16, 17, 31, 32, 33, 64, 65, 100, 200] {
                assert_by_the_rule(&candidates(count, bits, weights), &keys);
            }
        }
    }
}

/// Hashes at both ends, in every place: the latest arrival there is, and the earliest.
#[test]
fn extreme_hashes_in_every_place() {
    for weights in WEIGHTS {
        for count in [1, 2, 33, 70] {
            let candidates = candidates(count, HASH_BITS, weights);
            let nodes = candidates.x().iter().zip(candidates.y()).map(|(x, y)| Words { x: *x, y: *y });
            let keys: Vec<u64> = nodes
                .flat_map(|node| [0, 1, u32::MAX / 2, u32::MAX - 1, u32::MAX].map(|target| (node, target)))
                .flat_map(|(node, target)| {
                    [0, 1, 0x8000_0001, u32::MAX].map(|high| forged(node, target, high))
                })
                .collect();
            assert_by_the_rule(&candidates, &keys);
        }
    }
}

#[test]
fn many_random_keys() {
    let keys: Vec<u64> = (0..20_000).map(|i| mix64(i + 1_000_000)).collect();
    for weights in WEIGHTS {
        assert_by_the_rule(&candidates(61, HASH_BITS, weights), &keys);
    }
}
