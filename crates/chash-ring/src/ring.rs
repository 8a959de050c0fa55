//! The ring: nodes, their points, and the trait on top of the table.

use core::ops::ControlFlow;

use chash_core::{
    Build, BuildError, Capabilities, Change, Disruption, Distributor, Footprint, MembershipError, Node,
    NodeId, Order, Probes, Removal, Replicated, Roster, Work,
};

use crate::circle::Circle;
use crate::distinct::Seen;
use crate::params::{MAX_POINTS, Params, Sizing};
use crate::points::{Edit, allotted, circle_of, edit, edits};

/// Consistent hashing on a circle of 2^64 positions: every node has points on it, and a key belongs to
/// the node of the first point at or after the key, past the end to the first of all.
///
/// ```
/// use chash_core::{Build, Distributor, DistributorExt, Node, NodeId};
/// use chash_ring::{Params, Ring};
///
/// let keys: Vec<u64> = (0..1000).map(|i| chash_core::mix::mix64(i)).collect();
/// let mut ring = Ring::build(&Params::default(), &Node::numbered(5))?;
/// let before = ring.lookup_all(&keys);
/// ring.add(&Node::new(NodeId(5), "node-5"))?;
/// let after = ring.lookup_all(&keys);
/// // Every key that moved went to the newcomer.
/// assert!(before.iter().zip(&after).all(|(old, new)| old == new || *new == NodeId(5)));
/// # Ok::<(), chash_core::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ring {
    params: Params,
    roster: Roster,
    /// How many nodes have a weight above 0: those that a walk can meet.
    eligible: usize,
    /// With a fixed ring size, how many points each node has, by ascending id; otherwise empty, since the
    /// weight tells.
    allotted: Vec<(NodeId, u32)>,
    /// The points of every node, ordered by (position, name of the owner).
    circle: Circle,
}

fn eligible(nodes: &Roster) -> usize {
    nodes.by_name().filter(|node| node.weight > 0).count()
}

impl Ring {
    /// The number of points on the circle.
    #[must_use]
    pub fn point_count(&self) -> usize {
        self.circle.points()
    }

    /// How many points a present node has.
    fn point_count_of(&self, node: &Node) -> u32 {
        match self.allotted.binary_search_by_key(&node.id, |(id, _)| *id) {
            Ok(at) => self.allotted[at].1,
            Err(_) => self.params.vnodes * node.weight,
        }
    }

    /// The length of the arcs that end in a point owned by this node: 0 to 2^64.
    fn arc_length(&self, node: &Node) -> u128 {
        let count = self.point_count_of(node);
        let mut positions: Vec<u64> =
            (0..count).map(|index| self.params.position(&node.name, index)).collect();
        positions.sort_unstable();
        positions.dedup();
        positions
            .into_iter()
            .filter(|position| self.circle.owner(*position) == node.id)
            .map(|position| self.circle.gap_before(position))
            .sum()
    }

    /// One change, where it touches the points of the node it names and of no other.
    fn change(&mut self, change: &Change) -> Result<(), MembershipError> {
        let (node, before, after) = match change {
            Change::Add(node) => {
                if self.roster.conflicts_with(node) {
                    return Err(MembershipError::DuplicateNode);
                }
                self.params.admit(self.roster.total_weight() + u64::from(node.weight), self.eligible)?;
                self.roster.insert(node)?;
                (node.clone(), 0, node.weight)
            }
            Change::Remove(id) => {
                let node = self.roster.remove(*id)?;
                let weight = node.weight;
                (node, weight, 0)
            }
            Change::SetWeight(id, weight) => {
                let node = self.roster.get(*id).ok_or(MembershipError::UnknownNode)?.clone();
                let others = self.roster.total_weight() - u64::from(node.weight);
                self.params.admit(others + u64::from(*weight), self.eligible)?;
                let before = self.roster.set_weight(*id, *weight)?;
                (node, before, *weight)
            }
        };
        self.eligible = self.eligible + usize::from(after > 0) - usize::from(before > 0);
        let vnodes = self.params.vnodes;
        let edits = [Edit { node: &node, before: vnodes * before, after: vnodes * after }];
        edit(&mut self.circle, &self.params, &self.roster, &edits);
        Ok(())
    }

    /// Takes over another set of nodes.
    fn adopt(&mut self, roster: Roster) {
        self.eligible = eligible(&roster);
        self.allotted = allotted(&self.params, &roster);
        let before = core::mem::replace(&mut self.roster, roster);
        let edits = edits(&self.params, &before, &self.roster);
        edit(&mut self.circle, &self.params, &self.roster, &edits);
    }
}

impl Build for Ring {
    type Params = Params;

    /// O(P log P) for P points.
    fn build(params: &Params, nodes: &[Node]) -> Result<Self, BuildError> {
        params.validate()?;
        let roster = Roster::new(nodes)?;
        let eligible = eligible(&roster);
        params.admit(roster.total_weight(), eligible)?;
        Ok(Self {
            params: params.clone(),
            eligible,
            allotted: allotted(params, &roster),
            circle: circle_of(params, &roster),
            roster,
        })
    }

    fn estimate_bytes(params: &Params, nodes: &[Node]) -> u64 {
        let points = match params.sizing {
            Sizing::PointsPerNode => {
                let weight: u64 = nodes.iter().map(|node| u64::from(node.weight)).sum();
                weight.saturating_mul(u64::from(params.vnodes))
            }
            Sizing::RingSize(points) => u64::from(points),
        };
        let allotted = match params.sizing {
            Sizing::PointsPerNode => 0,
            Sizing::RingSize(_) => (nodes.len() * size_of::<(NodeId, u32)>()) as u64,
        };
        let ids = nodes.iter().map(|node| node.id);
        Circle::estimate_bytes(points, params.hash_bits, ids)
            .saturating_add(Roster::estimate_bytes(nodes))
            .saturating_add(allotted)
    }
}

impl Distributor for Ring {
    #[inline]
    fn lookup(&self, key: u64) -> NodeId {
        self.circle.owner(key)
    }

    fn lookup_batch(&self, keys: &[u64], out: &mut [NodeId]) {
        assert_eq!(keys.len(), out.len(), "lookup_batch needs as many answers as keys");
        self.circle.owners(keys, out);
    }

    /// The work of Karger's index (section 4.3 of the paper): the circle is cut into equal segments, and
    /// the points are compared one by one from the start of the key's segment to the first at or after
    /// the key (`probes`). Each of them and the segment's start is a read of the table.
    fn lookup_work(&self, key: u64) -> Work {
        // At most `MAX_POINTS`.
        let probes = self.circle.scanned(key) as u32;
        Work { hash_evals: 0, probes, table_reads: probes + 1 }
    }

    fn node_count(&self) -> usize {
        self.roster.node_count()
    }

    fn node_ids(&self) -> Vec<NodeId> {
        self.roster.ids()
    }

    /// In place, O(1) for each point of the node, amortised; beside that O(N) moves of 4 bytes in the
    /// roster. With [`Sizing::RingSize`] O(N log N), and some points of every node.
    fn add(&mut self, node: &Node) -> Result<(), MembershipError> {
        self.apply(&[Change::Add(node.clone())])
    }

    /// Costs what [`add`](Self::add) costs.
    fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        self.apply(&[Change::Remove(id)])
    }

    /// Costs what [`add`](Self::add) costs, for the points by which the counts differ.
    fn set_weight(&mut self, id: NodeId, weight: u32) -> Result<(), MembershipError> {
        self.apply(&[Change::SetWeight(id, weight)])
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        if let ([change], Sizing::PointsPerNode) = (changes, self.params.sizing) {
            return self.change(change);
        }
        let mut roster = self.roster.clone();
        let mut eligible = self.eligible;
        for change in changes {
            let (before, after) = match change {
                Change::Add(node) => {
                    roster.insert(node)?;
                    (0, node.weight)
                }
                Change::Remove(id) => (roster.remove(*id)?.weight, 0),
                Change::SetWeight(id, weight) => (roster.set_weight(*id, *weight)?, *weight),
            };
            eligible = eligible + usize::from(after > 0) - usize::from(before > 0);
            self.params.admit(roster.total_weight(), eligible)?;
        }
        self.adopt(roster);
        Ok(())
    }

    fn capabilities(&self) -> Capabilities {
        let (disruption, max_nodes) = match self.params.sizing {
            Sizing::PointsPerNode => (Disruption::Minimal, MAX_POINTS / self.params.vnodes),
            Sizing::RingSize(points) => (Disruption::Approximate, points),
        };
        Capabilities::new(Removal::Any, disruption, Order::SetOnly).with_weights().with_max_nodes(max_nodes)
    }

    fn footprint(&self) -> Footprint {
        let roster = self.roster.footprint();
        let allotted = (self.allotted.capacity() * size_of::<(NodeId, u32)>()) as u64;
        Footprint { lookup_bytes: self.circle.bytes(), membership_bytes: roster.membership_bytes + allotted }
    }

    /// From the arcs, in whole positions and rounded once. O(P_i log P_i) for the P_i points of the node,
    /// whose positions are derived again.
    fn key_share(&self, id: NodeId) -> Option<f64> {
        let node = self.roster.get(id)?;
        // 2^64 is exact, and so is a division by it.
        Some(self.arc_length(node) as f64 / (1u128 << 64) as f64)
    }

    fn clone_box(&self) -> Box<dyn Distributor> {
        Box::new(self.clone())
    }

    fn as_replicated(&self) -> Option<&dyn Replicated> {
        Some(self)
    }
}

impl Replicated for Ring {
    /// The walk along the circle from the key, each point visited once at most and each node taken at its
    /// first point. No allocation for up to 16 nodes.
    fn replicas(&self, key: u64, out: &mut [NodeId]) -> usize {
        let wanted = out.len().min(self.eligible);
        let mut found = 0;
        if wanted > 0 {
            self.first_accepting(key, &mut |id| {
                out[found] = id;
                found += 1;
                found == wanted
            });
        }
        found
    }

    /// The same walk, as far as the first node that is accepted.
    fn first_accepting(&self, key: u64, accept: &mut dyn FnMut(NodeId) -> bool) -> Option<(NodeId, Probes)> {
        let mut seen = Seen::new(&self.roster);
        let end = self.circle.walk(key, |id| {
            if !seen.insert(id) {
                return ControlFlow::Continue(());
            }
            if accept(id) {
                ControlFlow::Break(Some((id, Probes(seen.count()))))
            } else if seen.count() as usize == self.eligible {
                ControlFlow::Break(None)
            } else {
                ControlFlow::Continue(())
            }
        });
        end.break_value().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Declared as written down for this algorithm, so that no law is dodged by understating.
    #[test]
    fn capabilities_are_pinned() {
        let nodes = Node::numbered(2);
        let fixed = Ring::build(&Params::default(), &nodes).unwrap().capabilities();
        let minimal = Capabilities::new(Removal::Any, Disruption::Minimal, Order::SetOnly).with_weights();
        assert_eq!(fixed, minimal.with_max_nodes((1 << 28) / 160));
        let params = Params { sizing: Sizing::RingSize(1000), ..Params::default() };
        let approximate =
            Capabilities::new(Removal::Any, Disruption::Approximate, Order::SetOnly).with_weights();
        let ring = Ring::build(&params, &nodes).unwrap();
        assert_eq!(ring.capabilities(), approximate.with_max_nodes(1000));
    }

    /// The arcs of all nodes are the circle, to the last position.
    #[test]
    fn arcs_add_up_to_the_circle() {
        for hash_bits in [1, 10, 64] {
            for (vnodes, count) in [(1, 1), (1, 2), (160, 1), (33, 70)] {
                let params = Params { vnodes, hash_bits, ..Params::default() };
                let mut ring = Ring::build(&params, &Node::numbered(count)).unwrap();
                ring.add(&Node::new(NodeId(99), "heavy").with_weight(5)).unwrap();
                ring.add(&Node::new(NodeId(100), "absent").with_weight(0)).unwrap();
                let arcs: u128 = ring.roster.by_name().map(|node| ring.arc_length(node)).sum();
                assert_eq!(arcs, 1 << 64, "{params:?}");
            }
        }
    }
}
