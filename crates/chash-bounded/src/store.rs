//! Bounded loads for keys that stay.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use chash_core::{BuildError, Change, Distributor, MembershipError, Node, NodeId, Probes};

use crate::Factor;
use crate::bounded::{check_inner, replicated};
use crate::factor::Capacities;
use crate::loads::Loads;

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
/// With few points a node and c near 1 walks and chains are long, and to fill a store one key after the
/// other takes long: [`with_keys`](Self::with_keys) places many at once.
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
    /// Replicated, and of the same nodes as `loads`.
    inner: Box<dyn Distributor>,
    /// How many keys each node holds.
    loads: Loads,
    /// Which ones, by the position of the node in `loads`.
    shelves: Vec<Shelf>,
    /// The nodes by weight, with the capacity that they had after the last call.
    weights: BTreeMap<u32, WeightClass>,
    /// Every key with its node, in canonical order.
    owners: BTreeMap<Rank, NodeId>,
    /// Keys that may have moved since moves were last taken, with where they were then.
    departures: BTreeMap<Rank, Departure>,
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
        Self::with_keys(factor, nodes, inner, [])
    }

    /// A store of these keys; one given twice is present once.
    ///
    /// The same as inserting them one by one into an empty store, in O(N log N + m log m) and m walks.
    ///
    /// # Errors
    ///
    /// As for [`Bounded::new`](crate::Bounded::new).
    pub fn with_keys(
        factor: Factor,
        nodes: &[Node],
        inner: Box<dyn Distributor>,
        keys: impl IntoIterator<Item = u64>,
    ) -> Result<Self, BuildError> {
        check_inner(nodes, &*inner)?;
        // Any node will do before the first placement.
        let owners = keys.into_iter().map(|key| (rank(key), nodes[0].id)).collect();
        let mut store = Self {
            factor,
            inner,
            loads: Loads::new(nodes),
            shelves: Vec::new(),
            weights: BTreeMap::new(),
            owners,
            departures: BTreeMap::new(),
        };
        store.rebuild(&BTreeSet::new());
        store.departures.clear();
        Ok(store)
    }

    /// Puts a key on a node and returns the node.
    ///
    /// # Errors
    ///
    /// `DuplicateKey` if the key is present.
    pub fn insert(&mut self, key: u64) -> Result<NodeId, KeyError> {
        if self.owners.contains_key(&rank(key)) {
            return Err(KeyError::DuplicateKey);
        }
        let capacities = self.capacities(self.owners.len() as u64 + 1);
        // Capacities only rise here. Those who walked past go first, so that the new key finds no
        // node with room that an earlier key is waiting for.
        for id in self.step_capacities(&capacities) {
            self.refill(id, &capacities);
        }
        self.seat(rank(key), None, &capacities);
        Ok(self.owners[&rank(key)])
    }

    /// Takes a key away and returns the node that held it.
    ///
    /// # Errors
    ///
    /// `UnknownKey` if the key is not present.
    pub fn evict(&mut self, key: u64) -> Result<NodeId, KeyError> {
        let node = self.owners.remove(&rank(key)).ok_or(KeyError::UnknownKey)?;
        self.departures.remove(&rank(key));
        for passed in self.walked_past(key, node) {
            self.shelf_mut(passed).passed.remove(&rank(key));
        }
        self.take(rank(key), node);
        // Capacities only fall here. First the free place is filled, until no node with room is
        // waited for; then the overfull nodes hand on their last keys, which free no place, since
        // a node hands on only what is above its capacity.
        let capacities = self.capacities(self.owners.len() as u64);
        let stepped = self.step_capacities(&capacities);
        self.refill(node, &capacities);
        for id in stepped {
            while self.is_overfull(id, &capacities) {
                let last = self.turn_away_last(id);
                self.seat(last, Some(id), &capacities);
            }
        }
        Ok(node)
    }

    /// The node that holds this key. O(log m).
    #[must_use]
    pub fn owner(&self, key: u64) -> Option<NodeId> {
        self.owners.get(&rank(key)).copied()
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

    /// The keys in canonical order, each with its node.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, NodeId)> + '_ {
        self.owners.iter().map(|(rank, node)| (key_of(*rank), *node))
    }

    /// How many keys the node holds; `None` if it is not present. Expected O(1).
    #[must_use]
    pub fn load(&self, id: NodeId) -> Option<u64> {
        self.loads.find(id).map(|position| self.loads.at(position).load)
    }

    /// How many keys the node may hold now; `None` if it is not present. O(log N).
    #[must_use]
    pub fn capacity(&self, id: NodeId) -> Option<u64> {
        self.loads.find(id).map(|position| self.weights[&self.loads.at(position).weight].capacity)
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
        self.loads.insert(node.id, node.weight);
        self.rebuild(&BTreeSet::new());
        Ok(())
    }

    /// Removes a node; its keys go to others.
    ///
    /// # Errors
    ///
    /// The inner placement's.
    pub fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        self.inner.remove(id)?;
        self.loads.remove(id);
        self.rebuild(&BTreeSet::from([id]));
        Ok(())
    }

    /// Changes the weight of a node.
    ///
    /// # Errors
    ///
    /// The inner placement's.
    pub fn set_weight(&mut self, id: NodeId, weight: u32) -> Result<(), MembershipError> {
        self.inner.set_weight(id, weight)?;
        self.loads.set_weight(id, weight);
        self.rebuild(&BTreeSet::new());
        Ok(())
    }

    /// Applies several changes in order, all or none, and places the keys once.
    ///
    /// # Errors
    ///
    /// The inner placement's.
    pub fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        self.inner.apply(changes)?;
        let mut left = BTreeSet::new();
        for change in changes {
            self.loads.apply(change);
            if let Change::Remove(id) = change {
                left.insert(*id);
            }
        }
        self.rebuild(&left);
        Ok(())
    }

    /// Every key whose owner is not the one that was last told, in canonical order.
    ///
    /// An owner is told by [`insert`](Self::insert) and by a move taken here. A key that has moved
    /// several times is one move, one that came back is none, and one evicted since is not among
    /// them.
    pub fn take_moves(&mut self) -> Vec<Move> {
        let departures = core::mem::take(&mut self.departures);
        let moves = departures.into_iter().filter_map(|(rank, Departure { from, gone })| {
            let to = self.owners[&rank];
            (gone || from != to).then_some(Move { key: key_of(rank), from, to })
        });
        moves.collect()
    }

    fn capacities(&self, total: u64) -> Capacities {
        Capacities::new(self.factor, total, self.loads.total_weight())
    }

    /// Places every key afresh after a change of the nodes, some of which have `left`: the
    /// definition, step by step.
    fn rebuild(&mut self, left: &BTreeSet<NodeId>) {
        self.loads.clear();
        self.shelves.clear();
        self.shelves.resize(self.loads.positions(), Shelf::default());
        self.weights.clear();
        for slot in self.loads.iter() {
            self.weights.entry(slot.weight).or_default().nodes.push(slot.id);
        }
        for departure in self.departures.values_mut() {
            departure.gone |= left.contains(&departure.from);
        }
        let capacities = self.capacities(self.owners.len() as u64);
        self.step_capacities(&capacities);
        for (rank, owner) in &mut self.owners {
            let mut refused = |position: usize| _ = self.shelves[position].passed.insert(*rank);
            let mut takes = |id| {
                let room = self.loads.find_room(id, &capacities);
                if room.is_none() {
                    refused(self.loads.find(id).expect(KNOWN));
                }
                room.is_some()
            };
            let walk = replicated(&*self.inner).first_accepting(key_of(*rank), &mut takes);
            let (node, _) = walk.expect(PLACED);
            let position = self.loads.find(node).expect(KNOWN);
            self.loads.increment(position);
            self.shelves[position].held.insert(*rank);
            let from = core::mem::replace(owner, node);
            let gone = left.contains(&from);
            if from != node || gone {
                self.departures.entry(*rank).or_insert(Departure { from, gone });
            }
        }
    }

    /// Takes over new capacities and returns the nodes whose own has changed.
    fn step_capacities(&mut self, capacities: &Capacities) -> Vec<NodeId> {
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
    fn seat(&mut self, mut rank: Rank, mut after: Option<NodeId>, capacities: &Capacities) {
        loop {
            let mut refused = Vec::new();
            let mut has_room = false;
            let mut takes = |id: NodeId| {
                if after.is_some() {
                    after = after.filter(|last| *last != id);
                    return false;
                }
                has_room = self.loads.find_room(id, capacities).is_some();
                let taken = has_room || self.shelf(id).held.last().is_some_and(|last| rank < *last);
                if !taken {
                    refused.push(id);
                }
                taken
            };
            let walk = replicated(&*self.inner).first_accepting(key_of(rank), &mut takes);
            let (node, _) = walk.expect(PLACED);
            for id in refused {
                self.shelf_mut(id).passed.insert(rank);
            }
            let displaced = if has_room { None } else { Some(self.turn_away_last(node)) };
            self.put(rank, node);
            let Some(next) = displaced else { return };
            (rank, after) = (next, Some(node));
        }
    }

    /// Gives the free places of a node to the first of the keys that walked past it, then the
    /// places that they leave, and so on, until nobody waits for a node with room.
    ///
    /// It ends, because every key that moves gets a node that it prefers.
    fn refill(&mut self, node: NodeId, capacities: &Capacities) {
        let mut open = vec![node];
        while let Some(id) = open.pop() {
            while self.loads.find_room(id, capacities).is_some() {
                let Some(rank) = self.shelf_mut(id).passed.pop_first() else { break };
                let left = self.owners[&rank];
                // The node itself is among them, and has forgotten the key already.
                let passed = self.walked_past(key_of(rank), left);
                for beyond in passed.into_iter().skip_while(|passed| *passed != id) {
                    self.shelf_mut(beyond).passed.remove(&rank);
                }
                self.take(rank, left);
                self.put(rank, id);
                open.push(left);
            }
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

    /// Puts a key on a node, and writes down where it was if it was on another.
    fn put(&mut self, rank: Rank, node: NodeId) {
        let position = self.loads.find(node).expect(KNOWN);
        self.loads.increment(position);
        self.shelves[position].held.insert(rank);
        if let Some(from) = self.owners.insert(rank, node).filter(|from| *from != node) {
            self.departures.entry(rank).or_insert(Departure { from, gone: false });
        }
    }

    /// Takes a key off the node that holds it.
    fn take(&mut self, rank: Rank, node: NodeId) {
        let position = self.loads.find(node).expect(KNOWN);
        self.loads.decrement(position);
        self.shelves[position].held.remove(&rank);
    }

    /// Takes the last of its keys off a node, which it then has walked past.
    fn turn_away_last(&mut self, node: NodeId) -> Rank {
        let last = *self.shelf(node).held.last().expect("a node that turns a key away holds one");
        self.take(last, node);
        self.shelf_mut(node).passed.insert(last);
        last
    }

    fn is_overfull(&self, id: NodeId, capacities: &Capacities) -> bool {
        let slot = self.loads.at(self.loads.find(id).expect(KNOWN));
        // One key fewer would leave no room.
        slot.load.checked_sub(1).is_some_and(|fewer| !capacities.admit(fewer, slot.weight))
    }

    fn shelf(&self, id: NodeId) -> &Shelf {
        &self.shelves[self.loads.find(id).expect(KNOWN)]
    }

    fn shelf_mut(&mut self, id: NodeId) -> &mut Shelf {
        &mut self.shelves[self.loads.find(id).expect(KNOWN)]
    }
}

/// What the inner placement owes.
const KNOWN: &str = "the inner placement answers with nodes it was given";

/// What [`KeyStore::seat`] shows.
const PLACED: &str = "a node has room, and the order holds every node";
