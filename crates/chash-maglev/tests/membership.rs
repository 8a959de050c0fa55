//! Membership, weights, replicas, refusals.

use std::collections::BTreeSet;

use chash_core::mix::mix64;
use chash_core::{Build, BuildError, Change, Distributor, MembershipError, Node, NodeId, Replicated};
use chash_maglev::{Maglev, Params};
use proptest::prelude::*;

fn params(table_size: u32) -> Params {
    Params { table_size, ..Params::default() }
}

fn maglev(table_size: u32, nodes: &[Node]) -> Maglev {
    Maglev::build(&params(table_size), nodes).unwrap()
}

fn owners(placement: &Maglev) -> Vec<NodeId> {
    (0..2000).map(|i| placement.lookup(mix64(i))).collect()
}

fn weighted(weights: &[u32]) -> Vec<Node> {
    Node::numbered(weights.len() as u32)
        .into_iter()
        .zip(weights)
        .map(|(node, weight)| node.with_weight(*weight))
        .collect()
}

#[test]
fn parameters_out_of_range_are_named() {
    for table_size in [0, 1, 4, 65_536, 1 << 31, u32::MAX] {
        let refused = Maglev::build(&params(table_size), &Node::numbered(1)).unwrap_err();
        let requirement = "a prime from 2 to 2147483647";
        assert_eq!(refused, BuildError::Parameter { name: "table_size", requirement }, "{table_size}");
    }
    for hash_bits in [0, 65] {
        let params = Params { hash_bits, ..Params::default() };
        let refused = Maglev::build(&params, &Node::numbered(1)).unwrap_err();
        assert_eq!(refused, BuildError::Parameter { name: "hash_bits", requirement: "from 1 to 64" });
    }
}

#[test]
fn more_nodes_than_slots_are_refused() {
    let refused = MembershipError::CapacityExceeded { max: 7 };
    assert_eq!(Maglev::build(&params(7), &Node::numbered(8)).unwrap_err(), BuildError::Membership(refused));
    let mut placement = maglev(7, &Node::numbered(7));
    let before = owners(&placement);
    assert_eq!(before.iter().collect::<BTreeSet<_>>().len(), 7, "a slot each");
    assert_eq!(placement.add(&Node::new(NodeId(7), "node-7")), Err(refused));
    assert_eq!(placement.apply(&[Change::Add(Node::new(NodeId(7), "node-7"))]), Err(refused));
    // Nodes that are never chosen need no slot, until they are to be chosen.
    placement.add(&Node::new(NodeId(7), "node-7").with_weight(0)).unwrap();
    assert_eq!(placement.set_weight(NodeId(7), 1), Err(refused));
    assert_eq!((owners(&placement), placement.node_count()), (before, 8));
    assert_eq!(placement.capabilities().max_nodes, 7);
}

#[test]
fn refusals_leave_it_unchanged() {
    let mut placement = maglev(251, &weighted(&[1, 0]));
    let before = owners(&placement);
    assert_eq!(placement.remove(NodeId(0)), Err(MembershipError::LastNode));
    assert_eq!(placement.set_weight(NodeId(0), 0), Err(MembershipError::LastNode));
    assert_eq!(placement.remove(NodeId(9)), Err(MembershipError::UnknownNode));
    assert_eq!(placement.set_weight(NodeId(9), 1), Err(MembershipError::UnknownNode));
    assert_eq!(placement.add(&Node::new(NodeId(9), "node-1")), Err(MembershipError::DuplicateNode));
    let changes = [Change::SetWeight(NodeId(1), 5), Change::Remove(NodeId(0)), Change::Remove(NodeId(1))];
    assert_eq!(placement.apply(&changes), Err(MembershipError::LastNode));
    assert_eq!(owners(&placement), before);
    assert_eq!(placement.key_share(NodeId(0)), Some(1.0));
    assert_eq!(placement.key_share(NodeId(1)), Some(0.0));
    assert_eq!(placement.key_share(NodeId(9)), None);
}

/// Ids are labels: beyond 16 bits the slots are wider, and nothing else changes.
#[test]
fn ids_of_any_size_give_the_same_table() {
    let small = Node::numbered(20);
    let large: Vec<Node> =
        small.iter().map(|node| Node::new(NodeId(u32::MAX - node.id.0), node.name.clone())).collect();
    let (narrow, wide) = (maglev(1021, &small), maglev(1021, &large));
    for (a, b) in owners(&narrow).into_iter().zip(owners(&wide)) {
        assert_eq!(a.0, u32::MAX - b.0);
    }
    let slots = |placement: &Maglev| placement.footprint().lookup_bytes;
    assert_eq!((slots(&narrow), slots(&wide)), (2 * 1021, 4 * 1021));
}

#[test]
fn the_seed_and_the_bits_are_used() {
    let build = |seed, hash_bits| {
        owners(&Maglev::build(&Params { table_size: 251, seed, hash_bits }, &Node::numbered(9)).unwrap())
    };
    assert_ne!(build(1, 64), build(2, 64));
    assert_ne!(build(1, 64), build(1, 8));
    assert_eq!(build(1, 64), build(1, 64));
}

/// Nodes too light for a slot come last, and every node of weight 0 not at all.
#[test]
fn replicas_reach_the_nodes_without_slots() {
    let placement = maglev(13, &weighted(&[1, 100, 0, 100, 1]));
    let mut out = [NodeId(99); 6];
    for key in (0..50).map(mix64) {
        assert_eq!(placement.replicas(key, &mut out), 4);
        let heavy: BTreeSet<u32> = out[..2].iter().map(|id| id.0).collect();
        assert_eq!(heavy, BTreeSet::from([1, 3]));
        assert_eq!(out[2..4], [NodeId(0), NodeId(4)], "in the order of names");
    }
    assert_eq!(placement.replicas(1, &mut []), 0);
}

/// Long lists meet every node once, past the number compared one by one.
#[test]
fn replicas_are_all_nodes_once() {
    for nodes in [1, 2, 15, 16, 17, 18, 64, 65, 200] {
        let placement = maglev(1021, &Node::numbered(nodes));
        for key in (0..20).map(mix64) {
            let mut all = vec![NodeId::default(); nodes as usize + 1];
            assert_eq!(placement.replicas(key, &mut all), nodes as usize);
            all.pop();
            assert_eq!(all[0], placement.lookup(key));
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), nodes as usize);
            for length in 0..all.len() {
                let mut shorter = vec![NodeId::default(); length];
                placement.replicas(key, &mut shorter);
                assert_eq!(shorter, all[..length]);
            }
            let mut asked = Vec::new();
            let last = placement.first_accepting(key, &mut |id| {
                asked.push(id);
                asked.len() == nodes as usize
            });
            assert_eq!(asked, all);
            assert_eq!(last.map(|(id, probes)| (id, probes.0)), Some((all[nodes as usize - 1], nodes)));
            assert_eq!(placement.first_accepting(key, &mut |_| false), None);
        }
    }
}

/// Our own answers, kept from changing unnoticed: a change here is a breaking change.
#[test]
fn value_stability() {
    let mut nodes = Node::numbered(100);
    nodes[3].weight = 50;
    let placement = Maglev::build(&Params { seed: 7, ..Params::default() }, &nodes).unwrap();
    let found: Vec<u32> = (0..10).map(|i| placement.lookup(mix64(i)).0).collect();
    assert_eq!(found, [44, 3, 3, 27, 3, 58, 20, 57, 94, 3]);
    let mut replicas = [NodeId::default(); 6];
    placement.replicas(mix64(1), &mut replicas);
    assert_eq!(replicas.map(|id| id.0), [3, 21, 63, 33, 27, 96]);
}

#[derive(Clone, Debug)]
enum Step {
    Add(u32, u32),
    Remove(u32),
    Weigh(u32, u32),
}

fn step() -> impl Strategy<Value = Step> {
    let weight = prop_oneof![0u32..4, 0u32..50];
    prop_oneof![
        (0u32..12, weight.clone()).prop_map(|(id, weight)| Step::Add(id, weight)),
        (0u32..12).prop_map(Step::Remove),
        (0u32..12, weight).prop_map(|(id, weight)| Step::Weigh(id, weight)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// After any history the table is that of a fresh build, with names that meet in offset and skip.
    #[test]
    fn equals_a_fresh_build(steps in prop::collection::vec(step(), 0..25), hash_bits in 1u32..10, reverse: bool) {
        let params = Params { table_size: 61, seed: 0, hash_bits };
        let mut present = vec![Node::new(NodeId(20), "anchor")];
        let mut placement = Maglev::build(&params, &present).unwrap();
        for step in steps {
            let at = |id: u32| present.iter().position(|node| node.id == NodeId(id));
            match step {
                Step::Add(id, weight) => {
                    let node = Node::new(NodeId(id), format!("n{id}")).with_weight(weight);
                    let expected = if at(id).is_some() { Err(MembershipError::DuplicateNode) } else { Ok(()) };
                    prop_assert_eq!(placement.add(&node), expected);
                    if expected.is_ok() {
                        present.push(node);
                    }
                }
                Step::Remove(id) => match at(id) {
                    Some(place) => {
                        placement.remove(NodeId(id)).unwrap();
                        present.remove(place);
                    }
                    None => prop_assert_eq!(placement.remove(NodeId(id)), Err(MembershipError::UnknownNode)),
                },
                Step::Weigh(id, weight) => match at(id) {
                    Some(place) => {
                        placement.set_weight(NodeId(id), weight).unwrap();
                        present[place].weight = weight;
                    }
                    None => {
                        prop_assert_eq!(placement.set_weight(NodeId(id), weight), Err(MembershipError::UnknownNode));
                    }
                },
            }
        }
        if reverse {
            present.reverse();
        }
        let fresh = Maglev::build(&params, &present).unwrap();
        for slot in 0..61u128 {
            let key = (slot << 64).div_ceil(61) as u64;
            prop_assert_eq!(placement.lookup(key), fresh.lookup(key));
        }
        for node in &present {
            prop_assert_eq!(placement.key_share(node.id), fresh.key_share(node.id));
        }
    }
}
