//! Null: no algorithm at all, to measure what the harness costs.

use chash_core::{
    Build, BuildError, Capabilities, Change, Disruption, Distributor, Footprint, MembershipError, Node,
    NodeId, NodeList, Order, Removal, Work, apply_all_or_nothing,
};

/// Always the first node of the list.
///
/// What a lookup of it takes is the cost of the loop around it. Its other figures say nothing: only
/// timings and memory of it mean something. No parameters: nothing in it could use a seed.
///
/// ```
/// use chash_baseline::Null;
/// use chash_core::{Build, Distributor, Node, NodeId};
///
/// let null = Null::build(&(), &Node::numbered(10))?;
/// assert_eq!(null.lookup(u64::MAX), NodeId(0));
/// # Ok::<(), chash_core::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Null {
    /// The first of the list, kept apart so that a lookup reads nothing else.
    first: NodeId,
    nodes: NodeList,
}

impl Build for Null {
    type Params = ();

    fn build((): &(), nodes: &[Node]) -> Result<Self, BuildError> {
        let nodes = NodeList::new(nodes)?;
        Ok(Self { first: nodes.order()[0], nodes })
    }

    fn estimate_bytes((): &(), nodes: &[Node]) -> u64 {
        NodeList::estimate_bytes(nodes)
    }
}

impl Distributor for Null {
    #[inline]
    fn lookup(&self, _key: u64) -> NodeId {
        self.first
    }

    fn lookup_work(&self, _key: u64) -> Work {
        Work::default()
    }

    fn node_count(&self) -> usize {
        self.nodes.order().len()
    }

    fn node_ids(&self) -> Vec<NodeId> {
        self.nodes.ids()
    }

    fn add(&mut self, node: &Node) -> Result<(), MembershipError> {
        self.nodes.push(node)
    }

    fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        self.nodes.remove(id)?;
        self.first = self.nodes.order()[0];
        Ok(())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        apply_all_or_nothing(self, changes)
    }

    /// Minimal, trivially: keys move only when the one node that has any leaves.
    fn capabilities(&self) -> Capabilities {
        Capabilities::new(Removal::Any, Disruption::Minimal, Order::ListOrder)
    }

    fn footprint(&self) -> Footprint {
        self.nodes.footprint()
    }

    fn key_share(&self, id: NodeId) -> Option<f64> {
        self.nodes.contains(id).then(|| f64::from(u8::from(id == self.first)))
    }

    fn clone_box(&self) -> Box<dyn Distributor> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_head_of_the_list() {
        let mut null = Null::build(&(), &Node::numbered(3)).unwrap();
        assert_eq!(null.key_share(NodeId(0)), Some(1.0));
        null.remove(NodeId(0)).unwrap();
        assert_eq!(null.lookup(5), NodeId(1));
        assert_eq!(null.key_share(NodeId(0)), None);
        assert_eq!(null.key_share(NodeId(2)), Some(0.0));
        null.add(&Node::new(NodeId(0), "node-0")).unwrap();
        assert_eq!(null.lookup(5), NodeId(1), "a newcomer goes to the end");
        null.remove(NodeId(1)).unwrap();
        null.remove(NodeId(2)).unwrap();
        assert_eq!(null.remove(NodeId(0)), Err(MembershipError::LastNode));
        assert_eq!(null.lookup(5), NodeId(0));
    }
}
