//! A ring so simple that it is obviously right: every answer scans a sorted list of points.

use std::collections::BTreeSet;

use chash_core::mix::{combine, mix64};
use chash_core::{
    Capabilities, Change, Disruption, Distributor, Footprint, MembershipError, Node, NodeId, Order, Removal,
    Replicated, Work, apply_all_or_nothing,
};

/// A replicated placement whose points are given by a function of the node.
#[derive(Clone, Debug)]
pub(crate) struct NaiveRing {
    points_of: fn(&Node) -> Vec<u64>,
    nodes: Vec<Node>,
    /// Position, name and id of every point, sorted.
    points: Vec<(u64, Box<str>, NodeId)>,
}

impl NaiveRing {
    pub(crate) fn new(points_of: fn(&Node) -> Vec<u64>, nodes: &[Node]) -> Self {
        let mut ring = Self { points_of, nodes: nodes.to_vec(), points: Vec::new() };
        ring.set_points();
        ring
    }

    fn set_points(&mut self) {
        let of_node = |node: &Node| {
            let (id, name) = (node.id, node.name.clone());
            (self.points_of)(node).into_iter().map(move |position| (position, name.clone(), id))
        };
        self.points = self.nodes.iter().flat_map(of_node).collect();
        self.points.sort_unstable();
    }

    /// The owners of the points from the key's position on, once around.
    fn walk(&self, key: u64) -> impl Iterator<Item = NodeId> {
        let (before, from) = self.points.split_at(self.points.partition_point(|point| point.0 < key));
        from.iter().chain(before).map(|point| point.2)
    }

    fn position(&self, id: NodeId) -> Result<usize, MembershipError> {
        self.nodes.iter().position(|node| node.id == id).ok_or(MembershipError::UnknownNode)
    }
}

/// Three points for each unit of weight, from the node's name.
pub(crate) fn three_points(node: &Node) -> Vec<u64> {
    let name = node.name.bytes().fold(0, |hash, byte| combine(hash, u64::from(byte)));
    (0..3 * u64::from(node.weight)).map(|i| combine(name, mix64(i))).collect()
}

impl Distributor for NaiveRing {
    fn lookup(&self, key: u64) -> NodeId {
        self.walk(key).next().expect("a point")
    }

    fn lookup_work(&self, _key: u64) -> Work {
        Work { hash_evals: 0, probes: 1, table_reads: 1 }
    }

    fn node_count(&self) -> usize {
        self.nodes.len()
    }

    fn node_ids(&self) -> Vec<NodeId> {
        let mut ids: Vec<NodeId> = self.nodes.iter().map(|node| node.id).collect();
        ids.sort_unstable();
        ids
    }

    fn add(&mut self, node: &Node) -> Result<(), MembershipError> {
        if self.nodes.iter().any(|present| present.id == node.id || present.name == node.name) {
            return Err(MembershipError::DuplicateNode);
        }
        self.nodes.push(node.clone());
        self.set_points();
        Ok(())
    }

    fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        let position = self.position(id)?;
        if self.nodes.iter().all(|node| node.id == id || node.weight == 0) {
            return Err(MembershipError::LastNode);
        }
        self.nodes.remove(position);
        self.set_points();
        Ok(())
    }

    fn set_weight(&mut self, id: NodeId, weight: u32) -> Result<(), MembershipError> {
        let position = self.position(id)?;
        if weight == 0 && self.nodes.iter().all(|node| node.id == id || node.weight == 0) {
            return Err(MembershipError::LastNode);
        }
        self.nodes[position].weight = weight;
        self.set_points();
        Ok(())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        apply_all_or_nothing(self, changes)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::new(Removal::Any, Disruption::Minimal, Order::SetOnly).with_weights()
    }

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }

    fn clone_box(&self) -> Box<dyn Distributor> {
        Box::new(self.clone())
    }

    fn as_replicated(&self) -> Option<&dyn Replicated> {
        Some(self)
    }
}

impl Replicated for NaiveRing {
    fn replicas(&self, key: u64, out: &mut [NodeId]) -> usize {
        let mut seen = BTreeSet::new();
        let distinct = self.walk(key).filter(|id| seen.insert(*id));
        out.iter_mut().zip(distinct).map(|(slot, id)| *slot = id).count()
    }
}
