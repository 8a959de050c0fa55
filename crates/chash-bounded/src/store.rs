//! Bounded loads for keys that stay.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use chash_core::{BuildError, Change, Distributor, MembershipError, Node, NodeId, Probes};

use crate::Factor;
use crate::bounded::{check_inner, replicated};
use crate::factor::Capacities;

/// A key's place in the canonical order; lower goes first.
///
/// The key with its bits reversed: a bijection, so that a rank is a key, and for uniform keys
/// independent of where the key falls on a ring, so that no stretch of the ring goes first.
type Rank = u64;

fn rank(key: u64) -> Rank {
    key.reverse_bits()
}

fn key_of(rank: Rank) -> u64 {
    rank.reverse_bits()
}

/// Keys on nodes, none above c times its fair share: for keys that stay.
///
/// The assignment is the paper's history-independent one, a function of the sets alone: take the
/// keys in a canonical order (by the key with its bits reversed), and put each on the first node of
/// its preference order that holds fewer than ⌈c · m · w / W⌉ keys, m being the number of keys, w
/// the node's weight and W the sum of all. After every call
///
/// - no node is above its capacity, and every key is on a node;
/// - every node that a key prefers to its own is full, and with keys that go before it;
/// - what [`take_moves`](Self::take_moves) has given and will give explains every change of owner.
///
/// Keys are a set: a key is present once.
///
/// # How it is kept
///
/// The canonical assignment is the stable matching of keys and nodes in which all nodes rank the
/// keys alike, so it is repaired by deferred acceptance. A key that arrives pushes the last of the
/// keys on a full node on to that key's next choice, and so on; a place that becomes free is taken
/// by the first of the keys that had walked past, whose own place becomes free, and so on. A stable
/// matching under one common ranking is unique, so any order of repairs ends in the same one.
///
/// # Cost
///
/// A key that arrives or leaves moves O(1/ε²) others in expectation (Theorem 3 of the paper, for
/// ε = c − 1 ≤ 1), each in O(log m) for each node on its walk. Capacities are those of the
/// definition, ⌈·⌉ on every node, so those of all nodes of one weight step at once: such a step,
/// one in W/(c·w) arrivals, visits all these nodes, and a key that leaves and returns just there
/// may move one key of each of them. To see which weights step is O(distinct weights) a call.
/// Nodes that join, leave or change weight move O(m/(N·ε²)) keys in expectation, and recompute
/// everything: O(m log m) and m walks. Memory is O(m · mean probes).
///
/// ```
/// use chash_bounded::{Factor, KeyStore, Move};
/// use chash_core::{Build, Node, NodeId};
/// use chash_ring::{Params, Ring};
///
/// let nodes = Node::numbered(4);
/// let ring = Ring::build(&Params::default(), &nodes)?;
/// let mut store = KeyStore::new("1.25".parse().unwrap(), &nodes, Box::new(ring))?;
/// for key in 0..100u64 {
///     store.insert(key << 56 | key).unwrap();
/// }
/// assert!(nodes.iter().all(|node| store.load(node.id).unwrap() <= 32)); // ⌈1.25 · 100 / 4⌉
///
/// store.take_moves(); // what made room while the store filled
/// let held = store.load(NodeId(2)).unwrap();
/// store.remove(NodeId(2))?;
/// let moves = store.take_moves();
/// assert_eq!(moves.iter().filter(|step| step.from == NodeId(2)).count() as u64, held);
/// assert!(moves.iter().all(|step| store.owner(step.key) == Some(step.to)));
/// # Ok::<(), chash_core::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeyStore {
    factor: Factor,
    /// Replicated, and of the same nodes as `shelves`.
    inner: Box<dyn Distributor>,
    /// Every node with its keys.
    shelves: BTreeMap<NodeId, Shelf>,
    /// The nodes by weight, with the capacity that they had after the last call.
    weights: BTreeMap<u32, WeightClass>,
    total_weight: u64,
    /// Every key with its node.
    owners: BTreeMap<u64, NodeId>,
    /// Keys that may have moved since moves were last taken, with where they were then.
    departures: BTreeMap<u64, Departure>,
}

/// A change of owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Move {
    /// The key.
    pub key: u64,
    /// The node it was on, which may be gone.
    pub from: NodeId,
    /// The node it is on. Equal to `from` only where that node has left and another one has joined
    /// under its id.
    pub to: NodeId,
}

/// Why a key was refused. The store is as it was before the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyError {
    /// The key is present already.
    DuplicateKey,
    /// The key is not present.
    UnknownKey,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DuplicateKey => "the key is already present",
            Self::UnknownKey => "the key is not present",
        })
    }
}

impl core::error::Error for KeyError {}

/// What a node knows of the keys that came by.
#[derive(Clone, Debug, Default)]
struct Shelf {
    weight: u32,
    /// The keys it holds.
    held: BTreeSet<Rank>,
    /// The keys that prefer this node to their own. Not empty only if the node is full, and then
    /// they all come after every key held.
    passed: BTreeSet<Rank>,
}

#[derive(Clone, Debug, Default)]
struct WeightClass {
    capacity: u64,
    nodes: Vec<NodeId>,
}

#[derive(Clone, Copy, Debug)]
struct Departure {
    from: NodeId,
    /// Whether the node has left since, so that a node of this id is another one.
    gone: bool,
}

impl KeyStore {
    /// An empty store over `inner`, a placement of exactly these nodes. O(N log N).
    ///
    /// # Errors
    ///
    /// As for [`Bounded::new`](crate::Bounded::new).
    pub fn new(factor: Factor, nodes: &[Node], inner: Box<dyn Distributor>) -> Result<Self, BuildError> {
        check_inner(nodes, &*inner)?;
        let shelves = nodes.iter().map(|node| (node.id, Shelf { weight: node.weight, ..Shelf::default() }));
        let mut store = Self {
            factor,
            inner,
            shelves: shelves.collect(),
            weights: BTreeMap::new(),
            total_weight: 0,
            owners: BTreeMap::new(),
            departures: BTreeMap::new(),
        };
        store.rebuild();
        Ok(store)
    }

    /// Puts a key on a node and returns the node.
    ///
    /// # Errors
    ///
    /// `DuplicateKey` if the key is present.
    pub fn insert(&mut self, key: u64) -> Result<NodeId, KeyError> {
        if self.owners.contains_key(&key) {
            return Err(KeyError::DuplicateKey);
        }
        let total = self.owners.len() as u64 + 1;
        let capacities = Capacities::new(self.factor, total, self.total_weight);
        // Capacities only rise here. Those who walked past go first, the new key then finds no
        // node with room that an earlier key is waiting for.
        for id in self.step_capacities(capacities) {
            self.refill(id, capacities);
        }
        self.seat(rank(key), None, capacities);
        Ok(self.owners[&key])
    }

    /// Takes a key away and returns the node that held it.
    ///
    /// # Errors
    ///
    /// `UnknownKey` if the key is not present.
    pub fn evict(&mut self, key: u64) -> Result<NodeId, KeyError> {
        let node = self.owners.remove(&key).ok_or(KeyError::UnknownKey)?;
        self.departures.remove(&key);
        for passed in self.walked_past(key, node) {
            self.shelf_mut(passed).passed.remove(&rank(key));
        }
        self.shelf_mut(node).held.remove(&rank(key));
        let capacities = Capacities::new(self.factor, self.owners.len() as u64, self.total_weight);
        // Capacities only fall here. First the free place is filled, until no node with room is
        // waited for; then the overfull nodes hand on their last keys, which free no place, since
        // a node hands on only what is above its capacity.
        let stepped = self.step_capacities(capacities);
        self.refill(node, capacities);
        for id in stepped {
            while self.is_overfull(id, capacities) {
                let last = self.shelf_mut(id).bump();
                self.seat(last, Some(id), capacities);
            }
        }
        Ok(node)
    }

    /// The node that holds this key. O(log m).
    #[must_use]
    pub fn owner(&self, key: u64) -> Option<NodeId> {
        self.owners.get(&key).copied()
    }

    /// How many nodes of its preference order this key was offered to, its own included. One walk.
    #[must_use]
    pub fn probes(&self, key: u64) -> Option<Probes> {
        let owner = self.owner(key)?;
        let (_, probes) = replicated(&*self.inner).first_accepting(key, &mut |id| id == owner)?;
        Some(probes)
    }

    /// How many keys are present.
    #[must_use]
    pub fn key_count(&self) -> usize {
        self.owners.len()
    }

    /// The keys, ascending, each with its node.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, NodeId)> + '_ {
        self.owners.iter().map(|(key, node)| (*key, *node))
    }

    /// How many keys the node holds; `None` if it is not present. O(log N).
    #[must_use]
    pub fn load(&self, id: NodeId) -> Option<u64> {
        self.shelves.get(&id).map(|shelf| shelf.held.len() as u64)
    }

    /// How many keys the node may hold now; `None` if it is not present. O(log N).
    #[must_use]
    pub fn capacity(&self, id: NodeId) -> Option<u64> {
        self.shelves.get(&id).map(|shelf| self.weights[&shelf.weight].capacity)
    }

    /// The placement underneath.
    #[must_use]
    pub fn inner(&self) -> &dyn Distributor {
        &*self.inner
    }

    /// Adds a node.
    ///
    /// # Errors
    ///
    /// The inner placement's.
    pub fn add(&mut self, node: &Node) -> Result<(), MembershipError> {
        self.inner.add(node)?;
        self.follow(&Change::Add(node.clone()));
        self.rebuild();
        Ok(())
    }

    /// Removes a node; its keys go to others.
    ///
    /// # Errors
    ///
    /// The inner placement's.
    pub fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        self.inner.remove(id)?;
        self.follow(&Change::Remove(id));
        self.rebuild();
        Ok(())
    }

    /// Changes the weight of a node.
    ///
    /// # Errors
    ///
    /// The inner placement's.
    pub fn set_weight(&mut self, id: NodeId, weight: u32) -> Result<(), MembershipError> {
        self.inner.set_weight(id, weight)?;
        self.follow(&Change::SetWeight(id, weight));
        self.rebuild();
        Ok(())
    }

    /// Applies several changes in order, all or none, and places the keys once.
    ///
    /// # Errors
    ///
    /// The inner placement's.
    pub fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        self.inner.apply(changes)?;
        for change in changes {
            self.follow(change);
        }
        self.rebuild();
        Ok(())
    }

    /// Every key whose owner is not the one that was last told, ascending by key.
    ///
    /// An owner is told by [`insert`](Self::insert) and by a move taken here. A key that has moved
    /// several times is one move, one that came back is none, and one evicted since is not among
    /// them.
    pub fn take_moves(&mut self) -> Vec<Move> {
        let departures = core::mem::take(&mut self.departures);
        let moves = departures.into_iter().filter_map(|(key, Departure { from, gone })| {
            let to = self.owners[&key];
            (gone || from != to).then_some(Move { key, from, to })
        });
        moves.collect()
    }

    /// Follows a change that the inner placement has accepted; the keys are placed afterwards.
    fn follow(&mut self, change: &Change) {
        match change {
            Change::Add(node) => {
                self.shelves.insert(node.id, Shelf { weight: node.weight, ..Shelf::default() });
            }
            Change::Remove(id) => {
                let shelf = self.shelves.remove(id).expect("the inner placement holds the same nodes");
                for departure in self.departures.values_mut() {
                    departure.gone |= departure.from == *id;
                }
                for rank in shelf.held {
                    self.departures.entry(key_of(rank)).or_insert(Departure { from: *id, gone: true });
                }
            }
            Change::SetWeight(id, weight) => self.shelf_mut(*id).weight = *weight,
        }
    }

    /// Places every key afresh: the definition, step by step.
    fn rebuild(&mut self) {
        self.weights.clear();
        self.total_weight = 0;
        for (id, shelf) in &mut self.shelves {
            shelf.held.clear();
            shelf.passed.clear();
            self.total_weight += u64::from(shelf.weight);
            self.weights.entry(shelf.weight).or_default().nodes.push(*id);
        }
        let capacities = Capacities::new(self.factor, self.owners.len() as u64, self.total_weight);
        self.step_capacities(capacities);
        let mut ranks: Vec<Rank> = self.owners.keys().map(|key| rank(*key)).collect();
        ranks.sort_unstable();
        for rank in ranks {
            self.seat(rank, None, capacities);
        }
    }

    /// Takes over new capacities and returns the nodes whose own has changed.
    fn step_capacities(&mut self, capacities: Capacities) -> Vec<NodeId> {
        let mut stepped = Vec::new();
        for (weight, class) in &mut self.weights {
            let capacity = capacities.of(*weight);
            if class.capacity != capacity {
                class.capacity = capacity;
                stepped.extend_from_slice(&class.nodes);
            }
        }
        stepped
    }

    /// Finds a node for a key that is on none, and then for the key that it displaces, and so on.
    ///
    /// The key has been refused by its preferred nodes up to `after`, and is among their `passed`.
    /// Nobody may be waiting for a node with room.
    ///
    /// Every key finds a node: the keys on nodes are fewer than m, the capacities sum to at least
    /// c · m ≥ m, so some node has room; and it comes after `after`, for else the key would be
    /// waiting for it.
    fn seat(&mut self, mut rank: Rank, mut after: Option<NodeId>, capacities: Capacities) {
        loop {
            let mut refused = Vec::new();
            let mut takes = |id: NodeId| {
                if after.is_some() {
                    after = after.filter(|last| *last != id);
                    return false;
                }
                let shelf = &self.shelves[&id];
                let taken = shelf.has_room(capacities) || shelf.held.last().is_some_and(|last| rank < *last);
                if !taken {
                    refused.push(id);
                }
                taken
            };
            let (node, _) = replicated(&*self.inner)
                .first_accepting(key_of(rank), &mut takes)
                .expect("a node has room, and the order holds every node");
            for id in refused {
                self.shelf_mut(id).passed.insert(rank);
            }
            self.settle(rank, node);
            let shelf = self.shelf_mut(node);
            let displaced = if shelf.has_room(capacities) { None } else { Some(shelf.bump()) };
            self.shelf_mut(node).held.insert(rank);
            let Some(next) = displaced else { return };
            (rank, after) = (next, Some(node));
        }
    }

    /// Gives the free places of a node to the first of the keys that walked past it, then the
    /// places that they leave, and so on, until nobody waits for a node with room.
    ///
    /// It ends, because every key that moves gets a node that it prefers.
    fn refill(&mut self, node: NodeId, capacities: Capacities) {
        let mut open = vec![node];
        while let Some(id) = open.pop() {
            while self.shelves[&id].has_room(capacities) {
                let Some(rank) = self.shelf_mut(id).passed.pop_first() else { break };
                let key = key_of(rank);
                let left = self.owners[&key];
                let walked = self.walked_past(key, left);
                // The node itself is among them, and has forgotten the key already.
                for passed in walked.into_iter().skip_while(|passed| *passed != id) {
                    self.shelf_mut(passed).passed.remove(&rank);
                }
                self.shelf_mut(left).held.remove(&rank);
                self.shelf_mut(id).held.insert(rank);
                self.settle(rank, id);
                open.push(left);
            }
        }
    }

    /// Writes down a key's new owner, and the old one if it had one.
    fn settle(&mut self, rank: Rank, node: NodeId) {
        let key = key_of(rank);
        if let Some(from) = self.owners.insert(key, node).filter(|from| *from != node) {
            self.departures.entry(key).or_insert(Departure { from, gone: false });
        }
    }

    /// The nodes that a key prefers to the one it is on, in its order.
    fn walked_past(&self, key: u64, node: NodeId) -> Vec<NodeId> {
        let mut passed = Vec::new();
        replicated(&*self.inner).first_accepting(key, &mut |id| {
            if id != node {
                passed.push(id);
            }
            id == node
        });
        passed
    }

    fn is_overfull(&self, id: NodeId, capacities: Capacities) -> bool {
        let shelf = &self.shelves[&id];
        // One key fewer would leave no room.
        shelf.held.len().checked_sub(1).is_some_and(|fewer| !capacities.admit(fewer as u64, shelf.weight))
    }

    fn shelf_mut(&mut self, id: NodeId) -> &mut Shelf {
        self.shelves.get_mut(&id).expect("the inner placement answers with nodes it was given")
    }
}

impl Shelf {
    fn has_room(&self, capacities: Capacities) -> bool {
        capacities.admit(self.held.len() as u64, self.weight)
    }

    /// Turns the last of the keys away.
    fn bump(&mut self) -> Rank {
        let last = self.held.pop_last().expect("a node that turns a key away holds one");
        self.passed.insert(last);
        last
    }
}
