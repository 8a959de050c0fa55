//! The nodes that can be chosen, as the scans read them.

use chash_core::{Node, NodeId, Roster};
use chash_hash::{HashFunction, name_hash};

use crate::score::{Precision, Words, hash, surely_before};

/// The nodes of a weight above 0, ascending by name, one array for each thing that scans read.
///
/// All arrays have the same length, at least 1.
#[derive(Clone, Debug)]
pub(crate) struct Candidates {
    precision: Precision,
    /// The seed of the names' hashes.
    seed: u64,
    /// Whether all weights are equal, so that the hash alone decides.
    equal_weights: bool,
    /// The nodes' [`Words`].
    x: Vec<u32>,
    y: Vec<u32>,
    weights: Vec<u32>,
    /// The means of the nodes' clocks, see [`Precision::scaled_mean`].
    scaled_means: Vec<f32>,
    ids: Vec<NodeId>,
}

/// Where a candidate stands in a key's order of preference: the lowest rank comes first. Comparable for
/// one key and one set of candidates; equal ranks go by the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u64);

/// Heap bytes for each candidate: five arrays of 4-byte elements.
pub(crate) const CANDIDATE_BYTES: u64 = 20;

impl Candidates {
    /// The candidates of a roster. O(N).
    pub(crate) fn new(roster: &Roster, precision: Precision, seed: u64) -> Self {
        let nodes = || roster.by_name().filter(|node| node.weight > 0);
        let count = nodes().count();
        let mut candidates = Self {
            precision,
            seed,
            equal_weights: false,
            x: Vec::with_capacity(count),
            y: Vec::with_capacity(count),
            weights: Vec::with_capacity(count),
            scaled_means: Vec::with_capacity(count),
            ids: Vec::with_capacity(count),
        };
        for (at, node) in nodes().enumerate() {
            candidates.put(at, node);
        }
        candidates.compare_weights();
        candidates
    }

    /// The same for another roster. O(N).
    pub(crate) fn rebuilt(&self, roster: &Roster) -> Self {
        Self::new(roster, self.precision, self.seed)
    }

    /// Inserts a node of a weight above 0 at its place. O(N).
    pub(crate) fn insert(&mut self, at: usize, node: &Node) {
        self.put(at, node);
        self.compare_weights();
    }

    /// Takes out the candidate at this place. O(N).
    pub(crate) fn remove(&mut self, at: usize) {
        self.x.remove(at);
        self.y.remove(at);
        self.weights.remove(at);
        self.scaled_means.remove(at);
        self.ids.remove(at);
        self.compare_weights();
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Their ids.
    #[inline]
    pub(crate) fn ids(&self) -> &[NodeId] {
        &self.ids
    }

    /// The words that multiplicands are made of.
    #[inline]
    pub(crate) fn x(&self) -> &[u32] {
        &self.x
    }

    /// The words that multipliers are made of.
    #[inline]
    pub(crate) fn y(&self) -> &[u32] {
        &self.y
    }

    /// The means of their clocks, see [`Precision::scaled_mean`].
    #[inline]
    pub(crate) fn scaled_means(&self) -> &[f32] {
        &self.scaled_means
    }

    /// How many bits of the hash count.
    #[inline]
    pub(crate) fn precision(&self) -> Precision {
        self.precision
    }

    /// Whether all weights are equal.
    #[inline]
    pub(crate) fn equal_weights(&self) -> bool {
        self.equal_weights
    }

    /// The hash of the candidate at this place for a key.
    #[inline]
    fn hash(&self, key: Words, place: usize) -> u32 {
        hash(key, Words { x: self.x[place], y: self.y[place] }, self.precision.mask)
    }

    /// The arrival of the candidate at this place for a key.
    #[inline]
    pub(crate) fn arrival(&self, key: Words, place: usize) -> f64 {
        self.precision.arrival(self.hash(key, place), self.weights[place])
    }

    /// Its rank: arrivals are positive, and positive doubles are ordered as their bits; at equal
    /// weights the complement of the hash is in the same order and costs no logarithm.
    #[inline]
    pub(crate) fn rank(&self, key: Words, place: usize) -> Rank {
        if self.equal_weights {
            Rank(u64::from(!self.hash(key, place)))
        } else {
            Rank(self.arrival(key, place).to_bits())
        }
    }

    /// Its rank if that is below the limit, which is another candidate's rank. A logarithm is taken only
    /// where a bound cannot tell.
    #[inline]
    pub(crate) fn rank_below(&self, key: Words, place: usize, limit: Rank) -> Option<Rank> {
        if !self.equal_weights {
            let bound = self.precision.bound(self.hash(key, place), self.scaled_means[place]);
            if surely_before(f64::from_bits(limit.0), bound) {
                return None;
            }
        }
        Some(self.rank(key, place)).filter(|rank| *rank < limit)
    }

    /// The place of the first candidate of the earliest arrival: the rule itself.
    #[cold]
    pub(crate) fn earliest(&self, key: Words) -> usize {
        let mut first = (self.rank(key, 0), 0);
        for place in 1..self.len() {
            if let Some(rank) = self.rank_below(key, place, first.0) {
                first = (rank, place);
            }
        }
        first.1
    }

    /// Heap bytes held.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let words = self.x.capacity() + self.y.capacity();
        let weights = self.weights.capacity() + self.scaled_means.capacity();
        4 * (words + weights + self.ids.capacity()) as u64
    }

    fn put(&mut self, at: usize, node: &Node) {
        let words = Words::of_node(name_hash(HashFunction::Xxh3, self.seed, 0, &node.name));
        self.x.insert(at, words.x);
        self.y.insert(at, words.y);
        self.weights.insert(at, node.weight);
        self.scaled_means.insert(at, self.precision.scaled_mean(node.weight));
        self.ids.insert(at, node.id);
    }

    fn compare_weights(&mut self) {
        self.equal_weights = self.weights.windows(2).all(|pair| pair[0] == pair[1]);
    }
}
