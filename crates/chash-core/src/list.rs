//! The bookkeeping of placements that number their nodes: a list in order, and who is in it.

use crate::{BuildError, Footprint, MembershipError, Node, NodeId, Roster};

/// The nodes of a placement without weights whose answers are positions in a list.
///
/// Names and ids are unique, every weight is 1, and there is always a node.
#[derive(Clone, Debug)]
pub struct NodeList {
    /// The ids in list order; each is in the roster once.
    order: Vec<NodeId>,
    roster: Roster,
}

impl NodeList {
    /// A list of these nodes in this order. O(N log N).
    ///
    /// # Errors
    ///
    /// Those of [`Roster::new`], and `WeightUnsupported` for a weight other than 1.
    pub fn new(nodes: &[Node]) -> Result<Self, BuildError> {
        let roster = Roster::new(nodes)?;
        if nodes.iter().any(|node| node.weight != 1) {
            return Err(MembershipError::WeightUnsupported.into());
        }
        Ok(Self { order: nodes.iter().map(|node| node.id).collect(), roster })
    }

    /// The ids in list order, at least one.
    #[must_use]
    #[inline]
    pub fn order(&self) -> &[NodeId] {
        &self.order
    }

    /// Whether a node with this id is in the list. O(log N).
    #[must_use]
    pub fn contains(&self, id: NodeId) -> bool {
        self.roster.get(id).is_some()
    }

    /// The ids, ascending.
    #[must_use]
    pub fn ids(&self) -> Vec<NodeId> {
        self.roster.ids()
    }

    /// Appends a node.
    ///
    /// # Errors
    ///
    /// `DuplicateNode`, `WeightUnsupported` for a weight other than 1, `CapacityExceeded` at 2^32 − 1
    /// nodes; the first that applies, in this order.
    pub fn push(&mut self, node: &Node) -> Result<(), MembershipError> {
        if node.weight != 1 && !self.roster.conflicts_with(node) {
            return Err(MembershipError::WeightUnsupported);
        }
        self.roster.insert(node)?;
        self.order.push(node.id);
        Ok(())
    }

    /// Takes the node with this id out; the nodes behind it move up by one. O(N), with little to do for the last.
    ///
    /// # Errors
    ///
    /// `UnknownNode`, or `LastNode` if it is the only one.
    #[expect(clippy::missing_panics_doc, reason = "roster and list hold the same ids")]
    pub fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        self.roster.remove(id)?;
        // From the back: the node added last is the one that leaves most often.
        let place = self.order.iter().rposition(|present| *present == id);
        self.order.remove(place.expect("every node of the roster is in the list"));
        Ok(())
    }

    /// The heap bytes of the list, all of them membership: the algorithm itself answers with a
    /// position, and the list only translates that into a label.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        let order = (self.order.capacity() * size_of::<NodeId>()) as u64;
        let roster = self.roster.footprint();
        Footprint { membership_bytes: roster.membership_bytes + order, ..roster }
    }

    /// The heap bytes of a list of these nodes, before it is built.
    #[must_use]
    pub fn estimate_bytes(nodes: &[Node]) -> u64 {
        Roster::estimate_bytes(nodes) + (nodes.len() * size_of::<NodeId>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_order_given() {
        let nodes: Vec<Node> = [5, 2, 9].map(|i| Node::new(NodeId(i), format!("n{i}"))).to_vec();
        let mut list = NodeList::new(&nodes).unwrap();
        assert_eq!(list.order(), [NodeId(5), NodeId(2), NodeId(9)]);
        assert_eq!(list.ids(), [NodeId(2), NodeId(5), NodeId(9)]);
        list.remove(NodeId(2)).unwrap();
        list.push(&Node::new(NodeId(1), "n1")).unwrap();
        assert_eq!(list.order(), [NodeId(5), NodeId(9), NodeId(1)]);
        assert!(list.contains(NodeId(1)) && !list.contains(NodeId(2)));
    }

    #[test]
    fn refuses_weights_duplicates_and_emptiness() {
        let heavy = Node::new(NodeId(0), "heavy").with_weight(2);
        let refused = BuildError::Membership(MembershipError::WeightUnsupported);
        assert_eq!(NodeList::new(std::slice::from_ref(&heavy)).unwrap_err(), refused);
        assert_eq!(NodeList::new(&[]).unwrap_err(), BuildError::NoNodes);
        let mut list = NodeList::new(&[Node::new(NodeId(1), "a")]).unwrap();
        assert_eq!(list.push(&heavy), Err(MembershipError::WeightUnsupported));
        let again = Node::new(NodeId(1), "b").with_weight(2);
        assert_eq!(list.push(&again), Err(MembershipError::DuplicateNode));
        assert_eq!(list.remove(NodeId(1)), Err(MembershipError::LastNode));
        assert_eq!(list.remove(NodeId(2)), Err(MembershipError::UnknownNode));
        assert_eq!(list.order(), [NodeId(1)]);
    }
}
