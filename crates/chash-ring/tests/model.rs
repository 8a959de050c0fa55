//! The ring against a model so simple that it is obviously right: a sorted list searched from its start.

use chash_core::{
    Build, BuildError, Change, Distributor, DistributorExt, MembershipError, Node, NodeId, Replicated, Work,
};
use chash_hash::{HashFunction, name_hash};
use chash_ring::{MAX_POINTS, Params, Ring, Sizing};
use proptest::prelude::*;

/// Every point as (position, name, id), sorted; points of one node that coincide stay apart.
struct Model(Vec<(u64, String, NodeId)>);

impl Model {
    /// With `vnodes` points for each unit of weight.
    fn new(params: &Params, nodes: &[Node]) -> Self {
        assert_eq!(params.sizing, Sizing::PointsPerNode);
        let mut points = Vec::new();
        for node in nodes {
            for i in 0..params.vnodes * node.weight {
                let hash = name_hash(params.hash, params.seed, i, &node.name);
                let cut = 64 - params.hash_bits;
                points.push((hash >> cut << cut, node.name.to_string(), node.id));
            }
        }
        points.sort();
        Self(points)
    }

    /// The distinct owners on a walk from the key.
    fn replicas(&self, key: u64) -> Vec<NodeId> {
        let start = self.0.iter().position(|point| point.0 >= key).unwrap_or(0);
        let mut distinct = Vec::new();
        for point in self.0[start..].iter().chain(&self.0[..start]) {
            if !distinct.contains(&point.2) {
                distinct.push(point.2);
            }
        }
        distinct
    }

    /// The share in 2^-64ths, by adding up arcs.
    fn share(&self, id: NodeId) -> u128 {
        let mut sum = 0;
        let mut previous = self.0.last().unwrap().0;
        for (i, point) in self.0.iter().enumerate() {
            if i == 0 || point.0 != previous {
                let whole = i == 0 && point.0 == previous;
                let arc = if whole { 1 << 64 } else { u128::from(point.0.wrapping_sub(previous)) };
                sum += if point.2 == id { arc } else { 0 };
            }
            previous = point.0;
        }
        sum
    }

    /// The points looked at by a search that begins at the start of the key's segment, the circle being cut
    /// into a segment for each 9 points, and ends with the first point at or after the key.
    fn probes(&self, key: u64) -> u32 {
        let segments = (self.0.len() as u128 / 9).max(1);
        let segment = |position: u64| (u128::from(position) * segments) >> 64;
        let passed = self.0.iter().filter(|point| point.0 < key && segment(point.0) == segment(key));
        passed.count() as u32 + 1
    }

    /// Everything a ring answers, compared: at, just before and just after every point, and at the ends.
    fn check(&self, ring: &Ring) {
        assert_eq!(ring.point_count(), self.0.len());
        let mut keys = vec![0, 1, u64::MAX - 1, u64::MAX];
        keys.extend(self.0.iter().flat_map(|p| [p.0.wrapping_sub(1), p.0, p.0.wrapping_add(1)]));
        let batch = ring.lookup_all(&keys);
        for (i, key) in keys.iter().enumerate() {
            let owner = self.0.iter().find(|point| point.0 >= *key).unwrap_or(&self.0[0]).2;
            assert_eq!(ring.lookup(*key), owner, "key {key}");
            assert_eq!(batch[i], owner, "key {key} in a batch");
        }
        for key in keys.iter().step_by(keys.len().div_ceil(40)) {
            let probes = self.probes(*key);
            assert_eq!(ring.lookup_work(*key), Work { hash_evals: 0, probes, table_reads: probes + 1 });
            let expected = self.replicas(*key);
            for wanted in [0, 1, 2, 3, expected.len(), expected.len() + 7] {
                let mut out = vec![NodeId(u32::MAX); wanted];
                let found = ring.replicas(*key, &mut out);
                assert_eq!(out[..found], expected[..wanted.min(expected.len())]);
            }
            for (rank, last) in expected.iter().enumerate() {
                let mut asked = Vec::new();
                let found = ring.first_accepting(*key, &mut |id| {
                    asked.push(id);
                    id == *last
                });
                let (id, probes) = found.unwrap();
                assert_eq!((id, probes.0 as usize), (*last, rank + 1));
                assert_eq!(asked, expected[..=rank]);
            }
            assert_eq!(ring.first_accepting(*key, &mut |_| false), None);
        }
        for id in ring.node_ids() {
            assert_eq!(ring.key_share(id), Some(self.share(id) as f64 / 2f64.powi(64)));
        }
        assert_eq!(ring.key_share(NodeId(u32::MAX)), None);
    }
}

/// Names whose order is not that of the ids, and ids on both sides of 2^16.
fn node(i: u32) -> Node {
    Node::new(NodeId(i * 7919 % 100_000), format!("n{}", i * 37 % 100))
}

#[test]
fn hand_made_sizes_equal_the_model() {
    for hash in HashFunction::ALL {
        for (nodes, vnodes, hash_bits) in [
            (1, 1, 64),
            (1, 1, 1),
            (2, 1, 64),
            (2, 3, 1),
            (3, 5, 64),
            (7, 160, 64),
            (7, 160, 9),
            (16, 7, 3),
            (60, 40, 64),
            (60, 40, 12),
        ] {
            let nodes: Vec<Node> = (0..nodes).map(node).collect();
            let params = Params { vnodes, hash, hash_bits, seed: 3, ..Params::default() };
            Model::new(&params, &nodes).check(&Ring::build(&params, &nodes).unwrap());
        }
    }
}

/// Labels below 2^16 and others are kept in tables of different width.
#[test]
fn wide_labels_equal_the_model() {
    let params = Params { vnodes: 40, ..Params::default() };
    let mut nodes = Node::numbered(30);
    let mut ring = Ring::build(&params, &nodes).unwrap();
    for id in [0xffff, 0x1_0000, u32::MAX - 1] {
        nodes.push(Node::new(NodeId(id), format!("node {id}")));
        ring.add(&nodes[nodes.len() - 1]).unwrap();
        Model::new(&params, &nodes).check(&ring);
        Model::new(&params, &nodes).check(&Ring::build(&params, &nodes).unwrap());
    }
}

/// Enough points for many blocks of the table, grown and shrunk far enough to be laid out anew.
#[test]
fn growing_and_shrinking_equals_the_model() {
    let params = Params { vnodes: 50, ..Params::default() };
    let mut nodes = vec![node(0)];
    let mut ring = Ring::build(&params, &nodes).unwrap();
    for i in 1..100 {
        nodes.push(node(i));
        ring.add(&nodes[i as usize]).unwrap();
        if i % 33 == 0 {
            Model::new(&params, &nodes).check(&ring);
        }
    }
    while nodes.len() > 1 {
        let gone = nodes.swap_remove(nodes.len() * 3 / 7);
        ring.remove(gone.id).unwrap();
        if nodes.len() % 33 == 1 {
            Model::new(&params, &nodes).check(&ring);
        }
    }
}

/// Changes: which of a dozen nodes, its weight, and whether a present one leaves or is weighed anew.
fn history() -> impl Strategy<Value = Vec<(u32, u32, bool)>> {
    prop::collection::vec((0u32..12, 0u32..5, any::<bool>()), 1..40)
}

fn change_of(present: &[Node], (pick, weight, leave): (u32, u32, bool)) -> Change {
    let node = node(pick).with_weight(weight);
    match present.iter().any(|other| other.id == node.id) {
        true if leave => Change::Remove(node.id),
        true => Change::SetWeight(node.id, weight),
        false => Change::Add(node),
    }
}

fn make(nodes: &mut Vec<Node>, change: &Change) {
    match change {
        Change::Add(node) => nodes.push(node.clone()),
        Change::Remove(id) => nodes.retain(|node| node.id != *id),
        Change::SetWeight(id, weight) => {
            nodes.iter_mut().find(|node| node.id == *id).unwrap().weight = *weight;
        }
    }
}

fn total_weight(nodes: &[Node]) -> u32 {
    nodes.iter().map(|node| node.weight).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever came before, the ring is that of its nodes; at 8 to 12 bits most points collide.
    #[test]
    fn history_equals_the_model(
        changes in history(),
        vnodes in 1u32..30,
        hash_bits in prop_oneof![8u32..=12, Just(64)],
        seed: u64,
    ) {
        let params = Params { vnodes, hash_bits, seed, ..Params::default() };
        let mut nodes = vec![node(0), node(1)];
        let mut ring = Ring::build(&params, &nodes).unwrap();
        for change in changes {
            let change = change_of(&nodes, change);
            let mut after = nodes.clone();
            make(&mut after, &change);
            let done = ring.apply(std::slice::from_ref(&change));
            if total_weight(&after) == 0 {
                prop_assert_eq!(done, Err(MembershipError::LastNode));
            } else {
                prop_assert_eq!(done, Ok(()));
                nodes = after;
            }
        }
        Model::new(&params, &nodes).check(&ring);
    }

    /// Several changes at once: all of them, or the first refusal and none.
    #[test]
    fn several_changes_equal_the_model(changes in history(), hash_bits in prop_oneof![8u32..=12, Just(64)]) {
        let params = Params { vnodes: 9, hash_bits, ..Params::default() };
        let before: Vec<Node> = (0..8).map(node).collect();
        let mut ring = Ring::build(&params, &before).unwrap();
        let mut after = before.clone();
        let mut list = Vec::new();
        let mut refused = false;
        for change in changes {
            list.push(change_of(&after, change));
            make(&mut after, &list[list.len() - 1]);
            refused |= total_weight(&after) == 0;
        }
        prop_assert_eq!(ring.apply(&list), if refused { Err(MembershipError::LastNode) } else { Ok(()) });
        Model::new(&params, if refused { &before } else { &after }).check(&ring);
    }

    /// With a fixed ring size too, a history leaves what a fresh build gives, and always the same total.
    #[test]
    fn fixed_size_history_equals_a_fresh_build(
        changes in history(),
        points in 12u32..400,
        hash_bits in prop_oneof![8u32..=12, Just(64)],
    ) {
        let params = Params { sizing: Sizing::RingSize(points), hash_bits, ..Params::default() };
        let mut nodes = vec![node(0), node(1)];
        let mut ring = Ring::build(&params, &nodes).unwrap();
        for change in changes {
            let change = change_of(&nodes, change);
            if ring.apply(std::slice::from_ref(&change)).is_ok() {
                make(&mut nodes, &change);
            }
        }
        let fresh = Ring::build(&params, &nodes).unwrap();
        prop_assert_eq!(ring.point_count(), points as usize);
        for i in 0..400 {
            let key = chash_core::mix::mix64(i);
            let mut out = [[NodeId::default(); 12]; 2];
            prop_assert_eq!(ring.replicas(key, &mut out[0]), fresh.replicas(key, &mut out[1]));
            prop_assert_eq!(out[0], out[1]);
            prop_assert_eq!(ring.lookup(key), fresh.lookup(key));
            prop_assert_eq!(ring.lookup_work(key), fresh.lookup_work(key));
        }
        let shares = |ring: &Ring| ring.node_ids().iter().map(|id| ring.key_share(*id)).collect::<Vec<_>>();
        prop_assert_eq!(shares(&ring), shares(&fresh));
    }
}

/// One `apply` may take an id from one node and give it to another, whose points collide with the first's.
#[test]
fn an_id_may_change_hands_in_one_step() {
    let params = Params { vnodes: 30, hash_bits: 6, ..Params::default() };
    let mut nodes: Vec<Node> = (0..6).map(node).collect();
    let mut ring = Ring::build(&params, &nodes).unwrap();
    let heir = Node::new(nodes[2].id, "a heir");
    ring.apply(&[Change::Remove(heir.id), Change::Add(heir.clone())]).unwrap();
    nodes[2] = heir;
    Model::new(&params, &nodes).check(&ring);
    // The same name under another id.
    let relabelled = Node::new(NodeId(99), nodes[4].name.clone());
    ring.apply(&[Change::Remove(nodes[4].id), Change::Add(relabelled.clone())]).unwrap();
    nodes[4] = relabelled;
    Model::new(&params, &nodes).check(&ring);
}

#[test]
fn refusals_change_nothing() {
    let params = Params { vnodes: 40, ..Params::default() };
    let nodes = [Node::new(NodeId(0), "a"), Node::new(NodeId(1), "b").with_weight(0)];
    let new = Node::new(NodeId(2), "c");
    let heavy = |node: &Node| node.clone().with_weight(u32::MAX);
    let too_many = MembershipError::CapacityExceeded { max: MAX_POINTS };
    assert_eq!(Ring::build(&params, &nodes.each_ref().map(heavy)).unwrap_err(), too_many.into());
    assert_eq!(Ring::build(&params, &[]).unwrap_err(), BuildError::NoNodes);
    assert_eq!(Ring::build(&params, &nodes[1..]).unwrap_err(), BuildError::NoNodes);

    let mut ring = Ring::build(&params, &nodes).unwrap();
    for (change, error) in [
        (Change::Add(heavy(&new)), too_many),
        (Change::Add(Node::new(NodeId(2), "a")), MembershipError::DuplicateNode),
        (Change::Add(heavy(&Node::new(NodeId(0), "c"))), MembershipError::DuplicateNode),
        (Change::Remove(NodeId(2)), MembershipError::UnknownNode),
        (Change::Remove(NodeId(0)), MembershipError::LastNode),
        (Change::SetWeight(NodeId(2), u32::MAX), MembershipError::UnknownNode),
        (Change::SetWeight(NodeId(0), 0), MembershipError::LastNode),
        (Change::SetWeight(NodeId(1), u32::MAX), too_many),
    ] {
        assert_eq!(ring.apply(std::slice::from_ref(&change)), Err(error));
        // What precedes the refused change in a list is not made either.
        assert_eq!(ring.apply(&[Change::SetWeight(NodeId(0), 3), change]), Err(error));
        Model::new(&params, &nodes).check(&ring);
    }

    let params = Params { sizing: Sizing::RingSize(2), ..params };
    let mut ring = Ring::build(&params, &[nodes[0].clone(), new]).unwrap();
    let full = MembershipError::CapacityExceeded { max: 2 };
    assert_eq!(ring.add(&Node::new(NodeId(3), "d")), Err(full));
    assert_eq!(ring.add(&nodes[1]), Ok(()));
    assert_eq!(ring.set_weight(NodeId(1), 1), Err(full));
    assert_eq!((ring.point_count(), ring.node_count()), (2, 3));
}
