//! Nodes, and changes to a set of them.

use core::fmt;

/// A dense label of a node, chosen by the caller and stable for the node's life.
///
/// It exists so that counting is an array index. It is not the node's identity: points, scores,
/// permutations and ties use the name, so relabelling every node changes no placement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The label as an array index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A node: who it is (`name`), how it is counted (`id`), and how much it should get (`weight`).
///
/// ```
/// use chash_core::{Node, NodeId};
/// let node = Node::new(NodeId(3), "cache-3").with_weight(2);
/// assert_eq!((&*node.name, node.weight), ("cache-3", 2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Node {
    /// The label that lookups answer with.
    pub id: NodeId,
    /// The identity: two nodes with one name are the same node.
    pub name: Box<str>,
    /// Relative share, 1 by default. 0 means present, but never chosen.
    pub weight: u32,
}

impl Node {
    /// A node of weight 1.
    #[must_use]
    pub fn new(id: NodeId, name: impl Into<Box<str>>) -> Self {
        Self { id, name: name.into(), weight: 1 }
    }

    /// The same node with another weight.
    #[must_use]
    pub fn with_weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// `count` nodes of weight 1 named `node-0`, `node-1`, …, labelled from 0.
    #[must_use]
    pub fn numbered(count: u32) -> Vec<Self> {
        (0..count).map(|i| Self::new(NodeId(i), format!("node-{i}"))).collect()
    }
}

/// One change of membership or weight, for [`Distributor::apply`](crate::Distributor::apply).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The node joins.
    Add(Node),
    /// The node leaves.
    Remove(NodeId),
    /// The node's weight becomes this.
    SetWeight(NodeId, u32),
}
