//! Answers that must not change: keys that move when a version changes are somebody's cache misses.
//!
//! These are this crate's own values, not anybody else's: they detect a change and prove nothing else.

use chash_core::{Build, Distributor, Node, NodeId, Replicated};
use chash_hash::HashFunction;
use chash_ring::{Params, Ring, Sizing};

/// Owners of 16 keys spread evenly over the circle, among ten nodes of which `node-3` has weight 2.
fn owners(params: &Params) -> [u32; 16] {
    let mut nodes = Node::numbered(10);
    nodes[3].weight = 2;
    let ring = Ring::build(params, &nodes).unwrap();
    core::array::from_fn(|i| ring.lookup(i as u64 * (1 << 60) + 1).0)
}

#[test]
fn owners_are_stable() {
    let stable = [
        (HashFunction::Xxh3, [3, 3, 9, 0, 8, 0, 3, 4, 3, 8, 4, 8, 8, 0, 1, 2]),
        (HashFunction::Xxh64, [8, 9, 3, 2, 7, 7, 7, 0, 5, 4, 5, 4, 8, 3, 7, 9]),
        (HashFunction::Sha1, [3, 1, 7, 3, 3, 5, 4, 3, 1, 8, 1, 4, 7, 6, 7, 3]),
        (HashFunction::Md5, [3, 9, 4, 7, 0, 4, 9, 8, 5, 8, 7, 5, 4, 2, 2, 3]),
    ];
    assert_eq!(stable.map(|(hash, _)| hash), HashFunction::ALL);
    for (hash, expected) in stable {
        assert_eq!(owners(&Params { hash, ..Params::default() }), expected, "{hash:?}");
    }
}

#[test]
fn owners_under_other_parameters_are_stable() {
    let with = Params::default;
    let expected = [1, 2, 4, 2, 3, 6, 2, 9, 3, 0, 2, 6, 9, 6, 6, 1];
    assert_eq!(owners(&Params { seed: 1, ..with() }), expected);
    let expected = [8, 7, 3, 1, 5, 4, 2, 0, 0, 4, 0, 8, 2, 6, 4, 4];
    assert_eq!(owners(&Params { vnodes: 3, ..with() }), expected);
    let expected = [0, 0, 0, 0, 2, 3, 0, 3, 2, 1, 0, 0, 3, 3, 2, 1];
    assert_eq!(owners(&Params { hash_bits: 8, ..with() }), expected);
    let expected = [3, 7, 3, 1, 5, 3, 2, 1, 0, 8, 0, 4, 2, 1, 5, 6];
    assert_eq!(owners(&Params { sizing: Sizing::RingSize(100), ..with() }), expected);
}

#[test]
fn replicas_and_shares_are_stable() {
    let ring = Ring::build(&Params::default(), &Node::numbered(5)).unwrap();
    let mut out = [NodeId(0); 5];
    assert_eq!(ring.replicas(1 << 63, &mut out), 5);
    assert_eq!(out, [3, 4, 2, 0, 1].map(NodeId));
    let shares = [0.20835731152506246, 0.2142358554230919, 0.1915844425311674, 0.20522425057897295];
    for (id, share) in (0..).map(NodeId).zip(shares) {
        assert_eq!(ring.key_share(id), Some(share));
    }
}
