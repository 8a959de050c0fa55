//! Our own answers, so that a change of them is noticed: it moves the keys of everyone who upgrades.

use chash_core::mix::mix64;
use chash_core::{Build, Distributor, Node, NodeId, Replicated};
use chash_rendezvous::{Params, Rendezvous};

fn nodes(weights: &[u32; 8]) -> Vec<Node> {
    let names = ["delta", "alpha", "", "écho", "a-name-longer-than-any-other", "10.0.0.1:11211", "n10", "n1"];
    (0..)
        .zip(names)
        .zip(weights)
        .map(|((i, name), weight)| Node::new(NodeId(i), name).with_weight(*weight))
        .collect()
}

fn owners(params: &Params, weights: &[u32; 8]) -> Vec<u32> {
    let placement = Rendezvous::build(params, &nodes(weights)).unwrap();
    (0..24).map(|i| placement.lookup(mix64(i)).0).collect()
}

const EQUAL: [u32; 8] = [1; 8];
const UNEQUAL: [u32; 8] = [3, 1, 4, 1, 5, 9, 2, 0];

#[test]
fn owners_are_stable() {
    let cut = Params { hash_bits: 3, ..Params::default() };
    let seeded = Params { seed: 1, ..Params::default() };
    assert_eq!(
        owners(&Params::default(), &EQUAL),
        [2, 1, 6, 7, 2, 7, 6, 7, 3, 2, 5, 6, 4, 5, 0, 0, 0, 6, 7, 1, 1, 0, 2, 3]
    );
    assert_eq!(
        owners(&seeded, &EQUAL),
        [7, 6, 7, 3, 2, 3, 4, 1, 3, 0, 1, 5, 5, 0, 0, 4, 7, 2, 3, 3, 4, 0, 1, 7]
    );
    assert_eq!(
        owners(&Params::default(), &UNEQUAL),
        [2, 5, 5, 4, 4, 5, 5, 2, 5, 2, 5, 6, 4, 5, 0, 5, 0, 0, 2, 1, 5, 0, 2, 3]
    );
    assert_eq!(
        owners(&cut, &UNEQUAL),
        [2, 5, 5, 0, 4, 5, 5, 2, 5, 2, 5, 6, 4, 5, 0, 5, 0, 6, 2, 1, 5, 0, 2, 5]
    );
}

#[test]
fn replicas_are_stable() {
    let placement = Rendezvous::build(&Params::default(), &nodes(&UNEQUAL)).unwrap();
    let mut out = [NodeId(99); 8];
    assert_eq!(placement.replicas(0x0123_4567_89ab_cdef, &mut out), 7);
    assert_eq!(out.map(|id| id.0), [5, 0, 6, 4, 2, 3, 1, 99]);
}
