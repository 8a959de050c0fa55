//! The nodes that everyone places: their numbers, names and weights.
//!
//! Lists are made once. A list of nodes is what a build is given, and not a part of it.

use std::sync::LazyLock;

use chash_core::Node;

/// The most nodes of a comparison: several peers number nodes in 16 bits.
pub const MAX_NODES: u32 = 65_000;

static NODES: LazyLock<Vec<Node>> = LazyLock::new(|| Node::numbered(MAX_NODES + 1));

static WEIGHTED_NODES: LazyLock<Vec<Node>> =
    LazyLock::new(|| NODES.iter().map(|node| node.clone().with_weight(weight(node.id.0))).collect());

static NUMBERS: LazyLock<Vec<u32>> = LazyLock::new(|| (0..=MAX_NODES).collect());

/// Every node of weight 1, and one more than the most.
pub fn nodes() -> &'static [Node] {
    &NODES
}

/// The same nodes with their weights.
pub fn weighted_nodes() -> &'static [Node] {
    &WEIGHTED_NODES
}

/// The numbers of the nodes, for peers that borrow theirs.
pub fn numbers() -> &'static [u32] {
    &NUMBERS
}

/// The weight of a node where nodes have weights: 1, 2 and 3 in turn.
pub const fn weight(node: u32) -> u32 {
    1 + node % 3
}
