//! The nodes that can be chosen, as the scans read them.

use chash_core::{Node, NodeId, Roster};
use chash_hash::{HashFunction, name_hash};

use crate::score::{Precision, Words};

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
    /// The weights in single precision, for the comparison that spares logarithms.
    rounded_weights: Vec<f32>,
    ids: Vec<NodeId>,
}

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
            rounded_weights: Vec::with_capacity(count),
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
        self.rounded_weights.remove(at);
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

    /// The weights, each above 0.
    #[inline]
    pub(crate) fn weights(&self) -> &[u32] {
        &self.weights
    }

    /// The weights, rounded to single precision.
    #[inline]
    pub(crate) fn rounded_weights(&self) -> &[f32] {
        &self.rounded_weights
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

    /// Heap bytes held.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let words = self.x.capacity() + self.y.capacity();
        let weights = self.weights.capacity() + self.rounded_weights.capacity();
        4 * (words + weights + self.ids.capacity()) as u64
    }

    fn put(&mut self, at: usize, node: &Node) {
        let words = Words::of_node(name_hash(HashFunction::Xxh3, self.seed, 0, &node.name));
        self.x.insert(at, words.x);
        self.y.insert(at, words.y);
        self.weights.insert(at, node.weight);
        self.rounded_weights.insert(at, node.weight as f32);
        self.ids.insert(at, node.id);
    }

    fn compare_weights(&mut self) {
        self.equal_weights = self.weights.windows(2).all(|pair| pair[0] == pair[1]);
    }
}
