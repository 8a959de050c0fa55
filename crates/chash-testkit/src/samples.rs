//! The cases that laws are tried on: node lists, keys, and a stream of draws with fixed seeds.

use chash_core::mix::{GOLDEN, mix64, reduce};
use chash_core::{Capabilities, Change, Node, NodeId};

/// Node counts that break things: 1, 2, primes, powers of two and their neighbours, and many.
const SIZES: [u32; 14] = [1, 2, 3, 5, 7, 8, 9, 16, 17, 97, 127, 128, 129, 1000];

/// Weights that cases take in turn; the first is above 0.
const WEIGHTS: [u32; 7] = [1, 3, 0, 2, 1, 7, 1];

/// Draws from the SplitMix64 stream of a seed.
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self(mix64(seed))
    }

    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix64(self.0)
    }

    /// A draw from `0..n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        reduce(self.word(), n as u64) as usize
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Any order with equal probability (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            list.swap(end, self.below(end + 1));
        }
    }
}

/// `count` random keys of a stream.
pub(crate) fn random_keys(stream: u64, count: usize) -> Vec<u64> {
    let mut draws = Draws::new(stream);
    (0..count).map(|_| draws.word()).collect()
}

/// Keys on which look-ups go wrong, ascending: both ends, powers of two and their neighbours, and the
/// borders of 256 equal parts of the key space, where the points of a cut hash lie.
fn edge_keys() -> Vec<u64> {
    let powers = (0..64).map(|bit| 1u64 << bit);
    let borders = (0..256).map(|part| part << 56);
    let mut keys: Vec<u64> =
        powers.chain(borders).flat_map(|key| [key.wrapping_sub(1), key, key.wrapping_add(1)]).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The keys of a case of so many nodes: the edges and random ones, fewer where lookups may be slow.
pub(crate) fn keys(nodes: usize) -> Vec<u64> {
    let mut keys = edge_keys();
    keys.extend(random_keys(nodes as u64, if nodes <= 200 { 1000 } else { 200 }));
    keys
}

/// A few keys, for laws that do much with each.
pub(crate) fn few_keys(nodes: usize) -> Vec<u64> {
    let mut keys = vec![0, 1, 1 << 63, u64::MAX - 1, u64::MAX];
    keys.extend(random_keys(nodes as u64, if nodes <= 20 { 200 } else { 20 }));
    keys
}

/// The node lists of at most `largest` nodes that the placement accepts, smallest first: equal
/// weights, and mixed ones where it has weights.
pub(crate) fn node_lists(capabilities: &Capabilities, largest: u32) -> Vec<Vec<Node>> {
    let largest = largest.min(capabilities.max_nodes);
    let mut lists = Vec::new();
    for size in SIZES.into_iter().filter(|size| *size <= largest) {
        lists.push(Node::numbered(size));
        if capabilities.weighted && size > 1 {
            lists.push(mixed(size));
        }
    }
    lists
}

/// The list of one size that shows most: mixed weights where the placement has weights.
pub(crate) fn one_list(capabilities: &Capabilities, size: u32) -> Vec<Node> {
    let size = size.min(capabilities.max_nodes);
    if capabilities.weighted { mixed(size) } else { Node::numbered(size) }
}

fn mixed(size: u32) -> Vec<Node> {
    let weights = WEIGHTS.into_iter().cycle();
    Node::numbered(size).into_iter().zip(weights).map(|(node, weight)| node.with_weight(weight)).collect()
}

/// A node that is in no list of this module.
pub(crate) fn newcomer() -> Node {
    Node::new(NodeId(5000), "newcomer")
}

/// An id that no node here has.
pub(crate) const NOBODY: NodeId = NodeId(u32::MAX);

/// A node list in a few words: its length, and the weights where they differ.
pub(crate) fn describe(nodes: &[Node]) -> String {
    let weights: Vec<String> = nodes.iter().take(8).map(|node| node.weight.to_string()).collect();
    let more = if nodes.len() > 8 { ", …" } else { "" };
    format!("{} nodes of weights {}{more}", nodes.len(), weights.join(", "))
}

/// Changes in a few words each: `+node-3(id 3, weight 2)`, `-id 5`, `id 4 to weight 7`.
pub(crate) fn describe_changes(changes: &[Change]) -> String {
    let words: Vec<String> = changes
        .iter()
        .map(|change| match change {
            Change::Add(node) => format!("+{}(id {}, weight {})", node.name, node.id, node.weight),
            Change::Remove(id) => format!("-id {id}"),
            Change::SetWeight(id, weight) => format!("id {id} to weight {weight}"),
        })
        .collect();
    format!("[{}]", words.join(", "))
}
