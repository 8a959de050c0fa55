//! The ring: nodes, their points, and the trait on top of the table.

use core::cmp::Ordering;
use core::ops::ControlFlow;

use chash_core::{
    Build, BuildError, Capabilities, Change, Disruption, Distributor, Footprint, MembershipError, Node,
    NodeId, Order, Probes, Removal, Replicated, Roster, Work,
};

use crate::circle::Circle;
use crate::distinct::Seen;
use crate::lines::Point;
use crate::params::{MAX_POINTS, Params, Sizing};

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

/// What a change does to the points of one node.
struct Edit {
    owner: NodeId,
    leaving: Vec<u64>,
    arriving: Vec<u64>,
}

impl Edit {
    /// A node has its points from number 0 on, so the ones below both counts stay.
    fn new(params: &Params, node: &Node, before: u32, after: u32) -> Self {
        let positions = |from: u32, to: u32| (from..to).map(|i| params.position(&node.name, i)).collect();
        Self { owner: node.id, leaving: positions(after, before), arriving: positions(before, after) }
    }
}

fn eligible(nodes: &Roster) -> usize {
    nodes.by_name().filter(|node| node.weight > 0).count()
}

/// How many points each node has, in the order of the names.
fn point_counts(params: &Params, roster: &Roster) -> Vec<u32> {
    params.point_counts(roster.by_name().map(|node| node.weight))
}

/// The same by ascending id where the weight does not tell.
fn allotted(params: &Params, roster: &Roster) -> Vec<(NodeId, u32)> {
    if params.sizing == Sizing::PointsPerNode {
        return Vec::new();
    }
    let mut counts: Vec<(NodeId, u32)> =
        roster.by_name().map(|node| node.id).zip(point_counts(params, roster)).collect();
    counts.sort_unstable();
    counts
}

/// The table of all points of these nodes.
fn circle_of(params: &Params, roster: &Roster) -> Circle {
    let counts = point_counts(params, roster);
    let total: usize = counts.iter().map(|count| *count as usize).sum();
    let mut points = Vec::with_capacity(total);
    // For sorting, an owner is the rank of its name: (position, rank) is in the order of (position, name).
    for ((rank, node), count) in (0..).map(NodeId).zip(roster.by_name()).zip(counts) {
        points.extend((0..count).map(|i| Point { position: params.position(&node.name, i), owner: rank }));
    }
    points.sort_unstable_by_key(|point| (point.position, point.owner));
    let ids: Vec<NodeId> = roster.by_name().map(|node| node.id).collect();
    for point in &mut points {
        point.owner = ids[point.owner.index()];
    }
    Circle::from_sorted(&points)
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
        self.edit(&[Edit::new(&self.params, &node, vnodes * before, vnodes * after)]);
        Ok(())
    }

    /// Takes over another set of nodes, comparing the points of every node before and after.
    fn adopt(&mut self, roster: Roster) {
        let mut edits = Vec::new();
        let mut old = self.roster.by_name().zip(point_counts(&self.params, &self.roster)).peekable();
        let mut new = roster.by_name().zip(point_counts(&self.params, &roster)).peekable();
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((a, _)), Some((b, _))) => (&a.name, a.id).cmp(&(&b.name, b.id)),
            };
            let before = old.next_if(|_| order.is_le());
            let after = new.next_if(|_| order.is_ge());
            let count = |side: Option<(&Node, u32)>| side.map_or(0, |(_, count)| count);
            if let Some((node, _)) = before.or(after)
                && count(before) != count(after)
            {
                edits.push(Edit::new(&self.params, node, count(before), count(after)));
            }
        }
        drop((old, new));
        self.eligible = eligible(&roster);
        self.allotted = allotted(&self.params, &roster);
        self.roster = roster;
        self.edit(&edits);
    }

    /// Changes the points; the roster is already the new one.
    ///
    /// In place where few points change, and anew where that is cheaper. The table is the same either way.
    fn edit(&mut self, edits: &[Edit]) {
        let leaving: usize = edits.iter().map(|edit| edit.leaving.len()).sum();
        let arriving: usize = edits.iter().map(|edit| edit.arriving.len()).sum();
        let points = self.circle.points() - leaving + arriving;
        let in_place =
            leaving + arriving <= points && edits.iter().all(|edit| self.circle.suits(points, edit.owner));
        if !in_place {
            self.circle = circle_of(&self.params, &self.roster);
            return;
        }
        for edit in edits {
            for position in &edit.leaving {
                self.circle.remove(Point { position: *position, owner: edit.owner });
            }
        }
        // Only now is every id on the circle one of the present roster, where an id may mean another
        // node than before.
        let name = |id| self.roster.get(id).map(|node| &*node.name);
        for edit in edits {
            for position in &edit.arriving {
                let point = Point { position: *position, owner: edit.owner };
                self.circle.insert(point, |present| name(present) < name(edit.owner));
            }
        }
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
