//! The naive model of membership: a list, and random changes that the list allows.

use chash_core::{Capabilities, Change, Distributor, MembershipError, Node, NodeId, Removal};

use crate::samples::Draws;

/// Names are drawn from so many, so that nodes come back after they left.
const NAMES: usize = 24;

/// The nodes that should be present, oldest first.
pub(crate) struct Model {
    pub(crate) nodes: Vec<Node>,
    capabilities: Capabilities,
    draws: Draws,
}

impl Model {
    /// A start with `size` nodes, and the changes that this seed draws.
    pub(crate) fn new(capabilities: Capabilities, size: u32, seed: u64) -> Self {
        let nodes = Node::numbered(size.min(capabilities.max_nodes));
        Self { nodes, capabilities, draws: Draws::new(seed) }
    }

    /// Draws a change that must be accepted, and makes it here; `None` where this draw allows none.
    pub(crate) fn step(&mut self) -> Option<Change> {
        let change = match self.draws.below(3) {
            0 => self.addition(),
            1 => self.removal(),
            _ => self.reweighting(),
        }?;
        match &change {
            Change::Add(node) => self.nodes.push(node.clone()),
            Change::Remove(id) => self.nodes.retain(|node| node.id != *id),
            Change::SetWeight(id, weight) => {
                let node = self.nodes.iter_mut().find(|node| node.id == *id)?;
                node.weight = *weight;
            }
        }
        Some(change)
    }

    /// A node of a name that is not present; its id is one of three that no other name has.
    fn addition(&mut self) -> Option<Change> {
        let number = self.draws.below(NAMES);
        let name = format!("node-{number}");
        let full = self.nodes.len() >= NAMES.min(self.capabilities.max_nodes as usize);
        if full || self.nodes.iter().any(|node| *node.name == *name) {
            return None;
        }
        let id = NodeId((number + NAMES * self.draws.below(3)) as u32);
        let weight = self.weight();
        Some(Change::Add(Node::new(id, name).with_weight(weight)))
    }

    fn removal(&mut self) -> Option<Change> {
        let leaver = match self.capabilities.removal {
            Removal::Any => self.draws.below(self.nodes.len()),
            Removal::LastOnly => self.nodes.len() - 1,
            Removal::None => return None,
        };
        self.another_can_be_chosen(leaver).then(|| Change::Remove(self.nodes[leaver].id))
    }

    fn reweighting(&mut self) -> Option<Change> {
        if !self.capabilities.weighted {
            return None;
        }
        let at = self.draws.below(self.nodes.len());
        let weight = self.weight();
        (weight > 0 || self.another_can_be_chosen(at)).then(|| Change::SetWeight(self.nodes[at].id, weight))
    }

    fn another_can_be_chosen(&self, without: usize) -> bool {
        self.nodes.iter().enumerate().any(|(at, node)| at != without && node.weight > 0)
    }

    fn weight(&mut self) -> u32 {
        if self.capabilities.weighted { self.draws.pick(&[0, 1, 1, 2, 3, 7]) } else { 1 }
    }
}

/// Makes one change by the method for it.
pub(crate) fn make(placement: &mut dyn Distributor, change: &Change) -> Result<(), MembershipError> {
    match change {
        Change::Add(node) => placement.add(node),
        Change::Remove(id) => placement.remove(*id),
        Change::SetWeight(id, weight) => placement.set_weight(*id, *weight),
    }
}
