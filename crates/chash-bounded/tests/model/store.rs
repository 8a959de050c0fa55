//! Keys that stay, against the definition evaluated from scratch after every call.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use chash_bounded::{KeyError, KeyStore};
use chash_core::{Change, Distributor, MembershipError, Node, NodeId, Probes};
use proptest::prelude::*;

use crate::naive_ring::{NaiveRing, three_points};
use crate::{Draws, candidate, ceiling, factor, order};

#[derive(Clone, Debug)]
enum Op {
    Insert(u64),
    Evict(u64),
    Add(u64, u32),
    Remove(u64),
    SetWeight(u64, u32),
    TakeMoves,
}

/// Keys come from a small pool, so that scripts meet them again.
fn pooled(pick: u64) -> u64 {
    chash_core::mix::mix64(pick % 150)
}

struct Model {
    hundredths: u64,
    inner: NaiveRing,
    weights: BTreeMap<NodeId, u32>,
    /// Every key with the owner that the store has told last.
    told: BTreeMap<u64, NodeId>,
}

impl Model {
    fn capacity(&self, id: NodeId) -> u64 {
        let total_weight = self.weights.values().map(|weight| u64::from(*weight)).sum();
        ceiling(self.hundredths, self.told.len() as u64, self.weights[&id], total_weight)
    }

    fn capacities(&self) -> BTreeMap<NodeId, u64> {
        self.weights.keys().map(|id| (*id, self.capacity(*id))).collect()
    }

    /// The definition: keys in canonical order, each on the first node with room.
    fn assignment(&self) -> BTreeMap<u64, NodeId> {
        let mut keys: Vec<u64> = self.told.keys().copied().collect();
        keys.sort_unstable_by_key(|key| key.reverse_bits());
        let mut places = self.capacities();
        let mut owners = BTreeMap::new();
        for key in keys {
            let order = order(&self.inner, key);
            let owner = *order.iter().find(|id| places[id] > 0).expect("every key is placed");
            *places.get_mut(&owner).unwrap() -= 1;
            owners.insert(key, owner);
        }
        owners
    }

    /// Everything that must hold after every call.
    fn check(&self, store: &KeyStore) {
        let owners: BTreeMap<u64, NodeId> = store.iter().collect();
        assert_eq!(owners, self.assignment());
        assert_eq!(store.key_count(), self.told.len());
        let capacities = self.capacities();
        let mut loads: BTreeMap<NodeId, u64> = self.weights.keys().map(|id| (*id, 0)).collect();
        for (key, owner) in &owners {
            assert_eq!(store.owner(*key), Some(*owner));
            *loads.get_mut(owner).expect("an owner is a member") += 1;
        }
        for (id, load) in &loads {
            assert_eq!(store.load(*id), Some(*load));
            assert_eq!(store.capacity(*id), Some(capacities[id]));
            assert!(*load <= capacities[id], "the cap holds after every call");
        }
        // The linear-probing invariant, from the loads alone.
        for (key, owner) in &owners {
            let order = order(&self.inner, *key);
            let stop = order.iter().position(|id| id == owner).unwrap();
            assert!(order[..stop].iter().all(|id| loads[id] == capacities[id]), "skipped a free place");
            assert_eq!(store.probes(*key), Some(Probes(stop as u32 + 1)));
        }
    }

    /// No owner differs from the one told, once the moves are told.
    fn take_moves(&mut self, store: &mut KeyStore) {
        let moves = store.take_moves();
        assert!(moves.is_sorted_by_key(|step| step.key.reverse_bits()));
        for step in &moves {
            assert_eq!(self.told.insert(step.key, step.to), Some(step.from));
        }
        assert_eq!(store.iter().collect::<BTreeMap<_, _>>(), self.told);
        assert_eq!(store.take_moves(), []);
    }
}

fn new(hundredths: u64, nodes: &[Node]) -> (KeyStore, NaiveRing) {
    let inner = NaiveRing::new(three_points, nodes);
    (KeyStore::new(factor(hundredths), nodes, Box::new(inner.clone())).unwrap(), inner)
}

fn run(hundredths: u64, script: impl IntoIterator<Item = Op>) {
    let nodes = [candidate(0), candidate(1).with_weight(3), candidate(2).with_weight(0)];
    let (mut store, inner) = new(hundredths, &nodes);
    let weights = nodes.iter().map(|node| (node.id, node.weight)).collect();
    let mut model = Model { hundredths, inner, weights, told: BTreeMap::new() };
    for op in script {
        match op {
            Op::Insert(pick) => {
                let key = pooled(pick);
                let result = store.insert(key);
                match model.told.entry(key) {
                    Entry::Occupied(_) => assert_eq!(result, Err(KeyError::DuplicateKey)),
                    Entry::Vacant(told) => _ = told.insert(result.unwrap()),
                }
            }
            Op::Evict(pick) => {
                let key = pooled(pick);
                let owner = store.owner(key);
                assert_eq!(store.evict(key), owner.ok_or(KeyError::UnknownKey));
                model.told.remove(&key);
                assert_eq!((store.owner(key), store.probes(key)), (None, None));
            }
            Op::Add(pick, weight) => {
                let node = candidate(pick).with_weight(weight);
                let result = model.inner.add(&node);
                assert_eq!(store.add(&node), result);
                if result.is_ok() {
                    model.weights.insert(node.id, weight);
                }
            }
            Op::Remove(pick) => {
                // Taken first, because here a node keeps its id and name when it returns, and only
                // a test of its own tells the two apart.
                model.take_moves(&mut store);
                let id = candidate(pick).id;
                let result = model.inner.remove(id);
                assert_eq!(store.remove(id), result);
                if result.is_ok() {
                    model.weights.remove(&id);
                    assert_eq!((store.load(id), store.capacity(id)), (None, None));
                }
                model.take_moves(&mut store);
            }
            Op::SetWeight(pick, weight) => {
                let id = candidate(pick).id;
                let result = model.inner.set_weight(id, weight);
                assert_eq!(store.set_weight(id, weight), result);
                if result.is_ok() {
                    model.weights.insert(id, weight);
                }
            }
            Op::TakeMoves => model.take_moves(&mut store),
        }
        model.check(&store);
    }
    model.take_moves(&mut store);
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => any::<u64>().prop_map(Op::Insert),
        5 => any::<u64>().prop_map(Op::Evict),
        1 => (any::<u64>(), 0u32..4).prop_map(|(pick, weight)| Op::Add(pick, weight)),
        1 => any::<u64>().prop_map(Op::Remove),
        1 => (any::<u64>(), 0u32..4).prop_map(|(pick, weight)| Op::SetWeight(pick, weight)),
        2 => Just(Op::TakeMoves),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn equals_the_definition(hundredths in 100u64..300, script in prop::collection::vec(op(), 0..120)) {
        run(hundredths, script);
    }
}

/// 12,000 calls in one life, moves taken now and then.
#[test]
fn equals_the_definition_in_a_long_script() {
    let mut draws = Draws(11);
    let script = (0..12_000).map(|_| match draws.below(100) {
        0..2 => Op::Add(draws.next(), draws.below(4) as u32),
        2..4 => Op::Remove(draws.next()),
        4..6 => Op::SetWeight(draws.next(), draws.below(4) as u32),
        6..10 => Op::TakeMoves,
        10..50 => Op::Evict(draws.next()),
        _ => Op::Insert(draws.next()),
    });
    run(110, script.collect::<Vec<_>>());
}

fn filled(hundredths: u64, count: u32, keys: u64) -> KeyStore {
    let (mut store, _) = new(hundredths, &Node::numbered(count));
    (0..keys).for_each(|i| _ = store.insert(pooled(i)).unwrap());
    store
}

/// The assignment is a function of the sets, so a change undone leaves no trace.
#[test]
fn what_is_undone_leaves_no_trace() {
    let mut store = filled(110, 7, 100);
    let before: Vec<_> = store.iter().collect();
    store.take_moves();
    for i in 100..150 {
        store.insert(pooled(i)).unwrap();
        store.evict(pooled(i)).unwrap();
        assert_eq!(store.iter().collect::<Vec<_>>(), before);
        assert_eq!(store.take_moves(), [], "a key that came back has not moved");
    }
    for i in 0..100 {
        store.evict(pooled(i)).unwrap();
        store.insert(pooled(i)).unwrap();
        assert_eq!(store.iter().collect::<Vec<_>>(), before);
    }
    let joins = Node::new(NodeId(50), "node-50");
    store.add(&joins).unwrap();
    assert_ne!(store.iter().collect::<Vec<_>>(), before);
    store.remove(joins.id).unwrap();
    assert_eq!(store.iter().collect::<Vec<_>>(), before);
    store.apply(&[Change::SetWeight(NodeId(0), 9), Change::Add(joins.clone())]).unwrap();
    store.apply(&[Change::Remove(joins.id), Change::SetWeight(NodeId(0), 1)]).unwrap();
    assert_eq!(store.iter().collect::<Vec<_>>(), before);
}

#[test]
fn keys_given_at_once_are_as_inserted() {
    let one_by_one = filled(110, 7, 100);
    let inner = NaiveRing::new(three_points, &Node::numbered(7));
    let keys = (0..100).chain(0..10).rev().map(pooled);
    let at_once = KeyStore::with_keys(factor(110), &Node::numbered(7), Box::new(inner), keys);
    let mut at_once = at_once.unwrap();
    assert_eq!(at_once.take_moves(), []);
    assert!(at_once.iter().eq(one_by_one.iter()));
    at_once.evict(pooled(3)).unwrap();
    assert_eq!(at_once.insert(pooled(3)), Ok(one_by_one.owner(pooled(3)).unwrap()));
}

#[test]
fn a_refused_change_changes_nothing() {
    let mut store = filled(110, 3, 50);
    store.take_moves();
    let before: Vec<_> = store.iter().collect();
    assert_eq!(store.insert(pooled(0)), Err(KeyError::DuplicateKey));
    assert_eq!(store.evict(pooled(60)), Err(KeyError::UnknownKey));
    assert_eq!(store.add(&Node::new(NodeId(9), "node-0")), Err(MembershipError::DuplicateNode));
    assert_eq!(store.remove(NodeId(9)), Err(MembershipError::UnknownNode));
    assert_eq!(store.set_weight(NodeId(9), 1), Err(MembershipError::UnknownNode));
    let changes = [Change::Remove(NodeId(0)), Change::Remove(NodeId(1)), Change::Remove(NodeId(2))];
    assert_eq!(store.apply(&changes), Err(MembershipError::LastNode));
    assert_eq!(store.iter().collect::<Vec<_>>(), before);
    assert_eq!(store.take_moves(), []);
}

/// Keys that a removed node held have moved, even onto another node under the same id.
#[test]
fn a_new_node_under_an_old_id_is_another_node() {
    let mut store = filled(125, 4, 100);
    store.take_moves();
    let held: Vec<u64> = store.iter().filter(|(_, owner)| *owner == NodeId(2)).map(|(key, _)| key).collect();
    store.apply(&[Change::Remove(NodeId(2)), Change::Add(Node::new(NodeId(2), "node-2"))]).unwrap();
    let moves = store.take_moves();
    assert_eq!(moves.iter().map(|step| step.key).collect::<Vec<_>>(), held);
    assert!(moves.iter().all(|step| (step.from, step.to) == (NodeId(2), NodeId(2))));
}

/// ε → 0: loads within one of each other; and with a factor beyond every load, the plain ring.
#[test]
fn the_two_ends_of_the_factor() {
    let tight = filled(100, 7, 101);
    let loads: Vec<u64> = (0..7).map(|id| tight.load(NodeId(id)).unwrap()).collect();
    assert!(loads.iter().max().unwrap() <= &15, "{loads:?}");
    let (mut loose, inner) = new(100_000, &Node::numbered(7));
    for i in 0..100 {
        assert_eq!(loose.insert(pooled(i)), Ok(inner.lookup(pooled(i))));
    }
    assert_eq!(loose.take_moves(), []);
}
