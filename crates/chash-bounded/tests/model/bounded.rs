//! Requests in flight against a model that counts in a map and divides.

use std::collections::BTreeMap;

use chash_bounded::Bounded;
use chash_core::{
    BuildError, Capabilities, Change, Disruption, Distributor, DistributorExt, Footprint, LoadAware,
    MembershipError, Node, NodeId, Order, Probes, Removal, Work,
};
use proptest::prelude::*;

use crate::naive_ring::{NaiveRing, three_points};
use crate::{Draws, candidate, ceiling, factor, order};

#[derive(Clone, Debug)]
enum Op {
    Assign(u64),
    Release(u64),
    Add(u64, u32),
    Remove(u64),
    SetWeight(u64, u32),
    Reset(Option<u64>),
}

struct Model {
    hundredths: u64,
    inner: NaiveRing,
    /// Weight and load.
    nodes: BTreeMap<NodeId, (u32, u64)>,
    expected: u64,
}

impl Model {
    fn total_weight(&self) -> u64 {
        self.nodes.values().map(|node| u64::from(node.0)).sum()
    }

    fn total_load(&self) -> u64 {
        self.nodes.values().map(|node| node.1).sum()
    }

    fn capacity(&self, id: NodeId) -> u64 {
        let total_weight = self.total_weight();
        let for_total = |total, weight| ceiling(self.hundredths, total, weight, total_weight);
        let places: u64 = self.nodes.values().map(|node| for_total(self.expected, node.0)).sum();
        let total = if self.total_load() < places { self.expected } else { self.total_load() + 1 };
        for_total(total, self.nodes[&id].0)
    }

    fn place(&self, key: u64) -> (NodeId, Probes) {
        let order = order(&self.inner, key);
        let stop = order.iter().position(|id| self.nodes[id].1 < self.capacity(*id));
        let stop = stop.expect("every key is placed");
        (order[stop], Probes(stop as u32 + 1))
    }
}

/// Runs the script on both and compares after each step all that can be asked.
fn run(hundredths: u64, script: impl IntoIterator<Item = Op>) {
    let nodes = [candidate(0), candidate(1).with_weight(3), candidate(2).with_weight(0)];
    let inner = NaiveRing::new(three_points, &nodes);
    let mut bounded = Bounded::new(factor(hundredths), &nodes, Box::new(inner.clone())).unwrap();
    let loads = nodes.iter().map(|node| (node.id, (node.weight, 0)));
    let mut model = Model { hundredths, inner, nodes: loads.collect(), expected: 0 };
    let (mut accepted, mut released, mut dropped) = (0, 0, 0);
    for op in script {
        match op {
            Op::Assign(key) => {
                let expected = model.place(key);
                assert_eq!(bounded.lookup(key), expected.0);
                let capacity = bounded.capacity(expected.0).unwrap();
                assert_eq!(bounded.assign(key), expected);
                assert!(bounded.load(expected.0).unwrap() <= capacity, "a capacity binds at assignment");
                model.nodes.get_mut(&expected.0).unwrap().1 += 1;
                accepted += 1;
            }
            Op::Release(pick) => {
                let id = candidate(pick).id;
                let held = model.nodes.get_mut(&id).filter(|node| node.1 > 0);
                let result = bounded.release(id);
                match held {
                    Some(node) => {
                        assert_eq!(result, Ok(()));
                        node.1 -= 1;
                        released += 1;
                    }
                    None => assert_eq!(result, Err(MembershipError::UnknownNode)),
                }
            }
            Op::Add(pick, weight) => {
                let node = candidate(pick).with_weight(weight);
                let result = model.inner.add(&node);
                assert_eq!(bounded.add(&node), result);
                if result.is_ok() {
                    model.nodes.insert(node.id, (weight, 0));
                }
            }
            Op::Remove(pick) => {
                let id = candidate(pick).id;
                let result = model.inner.remove(id);
                assert_eq!(bounded.remove(id), result);
                if result.is_ok() {
                    dropped += model.nodes.remove(&id).unwrap().1;
                    assert_eq!((bounded.load(id), bounded.capacity(id)), (None, None));
                }
            }
            Op::SetWeight(pick, weight) => {
                let id = candidate(pick).id;
                let result = model.inner.set_weight(id, weight);
                assert_eq!(bounded.set_weight(id, weight), result);
                if result.is_ok() {
                    model.nodes.get_mut(&id).unwrap().0 = weight;
                }
            }
            Op::Reset(expected) => {
                bounded.reset(expected);
                model.expected = expected.unwrap_or(0);
                model.nodes.values_mut().for_each(|node| node.1 = 0);
                (accepted, released, dropped) = (0, 0, 0);
            }
        }
        assert_eq!(bounded.total_load(), accepted - released - dropped);
        assert_eq!(bounded.total_load(), model.total_load());
        for (id, (_, load)) in &model.nodes {
            assert_eq!(bounded.load(*id), Some(*load));
            assert_eq!(bounded.capacity(*id), Some(model.capacity(*id)));
        }
        let keys: Vec<u64> = (0..5u64).map(|i| chash_core::mix::mix64(i + accepted)).collect();
        let expected: Vec<NodeId> = keys.iter().map(|key| model.place(*key).0).collect();
        assert_eq!(bounded.lookup_all(&keys), expected);
    }
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => any::<u64>().prop_map(Op::Assign),
        4 => any::<u64>().prop_map(Op::Release),
        1 => (any::<u64>(), 0u32..4).prop_map(|(pick, weight)| Op::Add(pick, weight)),
        1 => any::<u64>().prop_map(Op::Remove),
        1 => (any::<u64>(), 0u32..4).prop_map(|(pick, weight)| Op::SetWeight(pick, weight)),
        1 => prop::option::of(0u64..60).prop_map(Op::Reset),
    ]
}

proptest! {
    #[test]
    fn equals_the_model(hundredths in 100u64..300, script in prop::collection::vec(op(), 0..120)) {
        run(hundredths, script);
    }
}

/// 12,000 operations in one life, mostly without resets so that loads grow.
#[test]
fn equals_the_model_in_a_long_script() {
    let mut draws = Draws(7);
    let script = (0..12_000).map(|_| match draws.below(1000) {
        0 => Op::Reset(Some(draws.below(300))),
        1 => Op::Reset(None),
        2..30 => Op::Add(draws.next(), draws.below(4) as u32),
        30..55 => Op::Remove(draws.next()),
        55..80 => Op::SetWeight(draws.next(), draws.below(4) as u32),
        80..400 => Op::Release(draws.next()),
        _ => Op::Assign(draws.next()),
    });
    run(110, script.collect::<Vec<_>>());
}

fn bounded(hundredths: u64, nodes: &[Node]) -> Bounded {
    let inner = NaiveRing::new(three_points, nodes);
    Bounded::new(factor(hundredths), nodes, Box::new(inner)).unwrap()
}

fn loads(bounded: &Bounded) -> Vec<u64> {
    bounded.node_ids().iter().map(|id| bounded.load(*id).unwrap()).collect()
}

/// The examples in which rounding, floats or a search that gives up early go wrong.
#[test]
fn places_every_key_at_tight_capacities() {
    let mut one = bounded(100, &Node::numbered(1));
    assert_eq!(one.assign(5), (NodeId(0), Probes(1)));

    let mut eight = bounded(125, &Node::numbered(8));
    eight.reset(Some(3));
    (0..3).for_each(|_| _ = eight.assign(5));
    assert_eq!(eight.capacity(NodeId(0)), Some(1));
    assert_eq!(loads(&eight).iter().max(), Some(&1));

    let mut two = bounded(110, &Node::numbered(2));
    two.reset(Some(180));
    (0..180).for_each(|_| _ = two.assign(5));
    let mut held = loads(&two);
    held.sort_unstable();
    assert_eq!(held, [81, 99]);
}

/// Nodes that are down have weight 0: they take nothing and do not count.
#[test]
fn a_node_of_weight_0_holds_nothing() {
    let mut nodes = Node::numbered(4);
    nodes[1].weight = 0;
    nodes[2].weight = 0;
    let mut half = bounded(125, &nodes);
    half.reset(Some(10));
    for key in 0..10 {
        half.assign(chash_core::mix::mix64(key));
    }
    assert_eq!(half.capacity(NodeId(0)), Some(7));
    assert_eq!(half.capacity(NodeId(1)), Some(0));
    let held = loads(&half);
    assert!(held[1] == 0 && held[2] == 0 && held[0] <= 7 && held[3] <= 7, "{held:?}");
}

/// ε → 0: one hot key fills the nodes evenly, whatever the order of arrival.
#[test]
fn factor_1_gives_loads_within_one() {
    for count in [1, 2, 3, 7, 8, 9, 31] {
        let mut tight = bounded(100, &Node::numbered(count));
        for arrivals in 1..=200u64 {
            tight.assign(3);
            let held = loads(&tight);
            assert!(held.iter().max().unwrap() - held.iter().min().unwrap() <= 1, "{held:?}");
            assert_eq!(held.iter().sum::<u64>(), arrivals);
        }
    }
}

#[test]
fn a_huge_factor_gives_the_inner_placement() {
    let nodes = Node::numbered(9);
    let inner = NaiveRing::new(three_points, &nodes);
    let mut loose = Bounded::new("4294967295".parse().unwrap(), &nodes, Box::new(inner.clone())).unwrap();
    let mut draws = Draws(3);
    for _ in 0..2000 {
        let key = draws.next();
        assert_eq!(loose.assign(key), (inner.lookup(key), Probes(1)));
    }
}

#[test]
fn a_place_can_be_given_back_once() {
    let mut pair = bounded(125, &Node::numbered(2));
    let (id, _) = pair.assign(1);
    assert_eq!(pair.release(id), Ok(()));
    assert_eq!(pair.release(id), Err(MembershipError::UnknownNode));
    assert_eq!(pair.release(NodeId(9)), Err(MembershipError::UnknownNode));
    assert_eq!(pair.total_load(), 0);
}

#[test]
fn a_node_takes_its_load_with_it() {
    let mut trio = bounded(125, &Node::numbered(3));
    (0..30).for_each(|_| _ = trio.assign(11));
    let (gone, _) = trio.assign(11);
    let left = trio.load(gone).unwrap();
    trio.remove(gone).unwrap();
    assert_eq!(trio.total_load(), 31 - left);
    assert_eq!(trio.release(gone), Err(MembershipError::UnknownNode));
    let back = Node::new(gone, format!("node-{gone}"));
    trio.add(&back).unwrap();
    assert_eq!((trio.load(gone), trio.total_load()), (Some(0), 31 - left));
}

/// All or nothing, loads included.
#[test]
fn changes_are_applied_together_or_not_at_all() {
    let mut pair = bounded(125, &Node::numbered(2));
    (0..10).for_each(|_| _ = pair.assign(1));
    let (held, capacity) = (loads(&pair), pair.capacity(NodeId(0)));
    let joins = Change::Add(Node::new(NodeId(5), "node-5").with_weight(3));
    let refused = [joins.clone(), Change::Remove(NodeId(0)), Change::Remove(NodeId(0))];
    assert_eq!(pair.apply(&refused), Err(MembershipError::UnknownNode));
    assert_eq!((loads(&pair), pair.capacity(NodeId(0))), (held.clone(), capacity));
    pair.apply(&[joins, Change::Remove(NodeId(0)), Change::SetWeight(NodeId(1), 2)]).unwrap();
    assert_eq!(loads(&pair), [held[1], 0]);
    assert_eq!(pair.capacity(NodeId(5)), Some(ceiling(125, held[1] + 1, 3, 5)));
}

#[test]
fn declares_what_it_does() {
    let mut pair = bounded(125, &Node::numbered(2));
    let empty = pair.capabilities();
    assert_eq!(
        empty,
        Capabilities::new(Removal::Any, Disruption::Approximate, Order::SetOnly).with_weights()
    );
    pair.assign(1);
    assert_eq!(pair.capabilities().order, Order::History);
    assert!(pair.as_replicated().is_none());
    assert_eq!(pair.as_load_aware().unwrap().factor(), Some((5, 4)));
}

/// A placement without an order of preference.
#[derive(Clone, Debug)]
struct Unordered(NaiveRing);

impl Distributor for Unordered {
    fn lookup(&self, key: u64) -> NodeId {
        self.0.lookup(key)
    }
    fn lookup_work(&self, key: u64) -> Work {
        self.0.lookup_work(key)
    }
    fn node_count(&self) -> usize {
        self.0.node_count()
    }
    fn node_ids(&self) -> Vec<NodeId> {
        self.0.node_ids()
    }
    fn add(&mut self, node: &Node) -> Result<(), MembershipError> {
        self.0.add(node)
    }
    fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        self.0.remove(id)
    }
    fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        self.0.apply(changes)
    }
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
    fn footprint(&self) -> Footprint {
        self.0.footprint()
    }
    fn clone_box(&self) -> Box<dyn Distributor> {
        Box::new(self.clone())
    }
}

#[test]
fn refuses_what_it_cannot_bound() {
    let nodes = Node::numbered(3);
    let ring = NaiveRing::new(three_points, &nodes);
    let new =
        |nodes: &[Node], inner: Box<dyn Distributor>| Bounded::new(factor(125), nodes, inner).unwrap_err();
    assert!(matches!(
        new(&nodes, Box::new(Unordered(ring.clone()))),
        BuildError::Parameter { name: "over", .. }
    ));
    for other in [&nodes[..2], &Node::numbered(4)] {
        assert!(matches!(new(other, Box::new(ring.clone())), BuildError::Parameter { name: "nodes", .. }));
    }
    let idle: Vec<Node> = nodes.iter().map(|node| node.clone().with_weight(0)).collect();
    assert_eq!(new(&idle, Box::new(ring)), BuildError::NoNodes);
}
