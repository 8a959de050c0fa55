//! The placements of this workspace, and the floor, as contenders.

use chash_core::mix::reduce;
use chash_core::{Build, Distributor, Node, NodeId};

use crate::contender::Contender;
use crate::nodes::{nodes, weighted_nodes};

/// Which of ours, and how.
pub trait Setup: 'static {
    type Placement: Build + 'static;

    /// Whether nodes have weights.
    const WEIGHTED: bool = false;

    fn params() -> <Self::Placement as Build>::Params;
}

pub struct Ours<S: Setup>(S::Placement);

impl<S: Setup> Ours<S> {
    fn nodes() -> &'static [Node] {
        if S::WEIGHTED { weighted_nodes() } else { nodes() }
    }
}

impl<S: Setup> Contender for Ours<S> {
    const BATCHES: bool = true;

    fn build(nodes: u32) -> Self {
        let nodes = &Self::nodes()[..nodes as usize];
        Self(S::Placement::build(&S::params(), nodes).expect("distinct nodes of positive weight"))
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        self.0.lookup(key).0
    }

    #[inline]
    fn lookup_batch(&self, keys: &[u64], out: &mut [NodeId]) {
        self.0.lookup_batch(keys, out);
    }

    fn add(&mut self, node: u32) {
        self.0.add(&Self::nodes()[node as usize]).expect("the node is not present");
    }

    fn remove(&mut self, node: u32) {
        self.0.remove(NodeId(node)).expect("the node is the last one added");
    }
}

/// The floor: a key's share of the whole range by one multiplication. It is balanced, costs next to nothing, and
/// moves half of the keys when a node comes.
pub struct MultiplyHigh(u32);

impl Contender for MultiplyHigh {
    const REBUILDS: bool = true;

    fn build(nodes: u32) -> Self {
        Self(nodes)
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        reduce(key, self.0.into()) as u32
    }
}
