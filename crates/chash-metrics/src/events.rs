//! Changes of a node set that are measured: which nodes leave, join or change weight.

use std::collections::BTreeSet;

use chash_core::{Capabilities, Change, MembershipError, Node, NodeId, Removal, mix};

/// A change of membership or weight, applied to the nodes of a case.
///
/// "The random node" is the same in every event of one seed: drawn among the nodes of positive weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// One node joins, with the weight of the random node.
    Add,
    /// The last node of the list leaves.
    RemoveLast,
    /// The random node leaves.
    RemoveRandom,
    /// The random node leaves and a new one of its weight joins.
    Replace,
    /// Every node gets a new twin of its weight.
    Double,
    /// The last ⌊N/2⌋ nodes leave, the last one first.
    Halve,
    /// The weight of the random node doubles.
    Weight,
}

impl Event {
    /// Every event, in the order of the rows.
    pub const ALL: [Self; 7] = [
        Self::Add,
        Self::RemoveLast,
        Self::RemoveRandom,
        Self::Replace,
        Self::Double,
        Self::Halve,
        Self::Weight,
    ];

    /// The name in the `event` column.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::RemoveLast => "remove_last",
            Self::RemoveRandom => "remove_random",
            Self::Replace => "replace",
            Self::Double => "double",
            Self::Halve => "halve",
            Self::Weight => "weight",
        }
    }

    /// The changes, in order.
    ///
    /// # Errors
    ///
    /// `NotLastAdded` where the event needs a removal that the placement does not have even if the draw happens to
    /// be the last node, so that a row does not depend on luck; `CapacityExceeded` where a doubled
    /// weight does not fit; `LastNode` where there is no node of positive weight.
    pub fn changes(
        self,
        nodes: &[Node],
        capabilities: Capabilities,
        seed: u64,
    ) -> Result<Vec<Change>, MembershipError> {
        let picked = random_node(nodes, seed).ok_or(MembershipError::LastNode)?;
        let mut newcomers = Newcomers::new(nodes);
        if matches!(self, Self::RemoveRandom | Self::Replace) && capabilities.removal == Removal::LastOnly {
            return Err(MembershipError::NotLastAdded);
        }
        Ok(match self {
            Self::Add => vec![Change::Add(newcomers.next_of(picked.weight))],
            Self::RemoveLast => nodes.last().map(|node| Change::Remove(node.id)).into_iter().collect(),
            Self::RemoveRandom => vec![Change::Remove(picked.id)],
            Self::Replace => vec![Change::Remove(picked.id), Change::Add(newcomers.next_of(picked.weight))],
            Self::Double => nodes.iter().map(|node| Change::Add(newcomers.next_of(node.weight))).collect(),
            Self::Halve => {
                nodes.iter().rev().take(nodes.len() / 2).map(|node| Change::Remove(node.id)).collect()
            }
            Self::Weight => {
                let weight = picked.weight.checked_mul(2);
                let weight = weight.ok_or(MembershipError::CapacityExceeded { max: u32::MAX })?;
                vec![Change::SetWeight(picked.id, weight)]
            }
        })
    }
}

/// A sequence of changes, each on what the one before left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scenario {
    /// The name in the `scenario` column.
    pub name: String,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One step of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name in the `event` column.
    pub event: &'static str,
    /// The changes, in order.
    pub changes: Vec<Change>,
}

/// The random node of a seed, of positive weight; `None` if there is none.
#[must_use]
pub fn random_node(nodes: &[Node], seed: u64) -> Option<&Node> {
    let candidates: Vec<&Node> = nodes.iter().filter(|node| node.weight > 0).collect();
    let index = mix::reduce(mix::mix64(seed), candidates.len() as u64);
    candidates.get(index as usize).copied()
}

/// The nodes after the changes, in the order in which they joined.
#[must_use]
pub fn apply(nodes: &[Node], changes: &[Change]) -> Vec<Node> {
    let mut after = nodes.to_vec();
    let mut removed = BTreeSet::new();
    for change in changes {
        match change {
            Change::Add(node) => after.push(node.clone()),
            Change::Remove(id) => {
                removed.insert(*id);
            }
            Change::SetWeight(id, weight) => {
                after.iter_mut().filter(|node| node.id == *id).for_each(|node| node.weight = *weight);
            }
        }
    }
    after.retain(|node| !removed.contains(&node.id));
    after
}

/// New nodes whose names and ids clash with none present: `node-N`, `node-N+1`, … from the number of nodes,
/// with names already taken left out.
#[derive(Debug)]
pub struct Newcomers<'a> {
    taken: BTreeSet<&'a str>,
    number: usize,
    id: u32,
}

impl<'a> Newcomers<'a> {
    /// Newcomers to these nodes.
    #[must_use]
    pub fn new(nodes: &'a [Node]) -> Self {
        Self {
            taken: nodes.iter().map(|node| &*node.name).collect(),
            number: nodes.len(),
            id: nodes.iter().map(|node| node.id.0 + 1).max().unwrap_or(0),
        }
    }

    /// The next one, with this weight.
    pub fn next_of(&mut self, weight: u32) -> Node {
        loop {
            let name = format!("node-{}", self.number);
            self.number += 1;
            if !self.taken.contains(&*name) {
                let id = NodeId(self.id);
                self.id += 1;
                return Node::new(id, name).with_weight(weight);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chash_core::{Disruption, Order};

    const ANY: Capabilities = Capabilities::new(Removal::Any, Disruption::Minimal, Order::SetOnly);
    const LAST: Capabilities = Capabilities::new(Removal::LastOnly, Disruption::Minimal, Order::ListOrder);

    fn weighted() -> Vec<Node> {
        [2, 0, 5, 1, 3]
            .iter()
            .zip(Node::numbered(5))
            .map(|(weight, node)| node.with_weight(*weight))
            .collect()
    }

    #[test]
    fn events_by_hand() {
        let nodes = weighted();
        let weights_after = |event: Event| -> Vec<u32> {
            apply(&nodes, &event.changes(&nodes, ANY, 1).unwrap()).iter().map(|node| node.weight).collect()
        };
        assert_eq!(weights_after(Event::RemoveLast), [2, 0, 5, 1]);
        assert_eq!(weights_after(Event::Double), [2, 0, 5, 1, 3, 2, 0, 5, 1, 3]);
        assert_eq!(weights_after(Event::Halve), [2, 0, 5]);
        let picked = random_node(&nodes, 1).unwrap();
        let position = picked.id.index();
        let mut weight = [2, 0, 5, 1, 3];
        weight[position] *= 2;
        assert_eq!(weights_after(Event::Weight), weight);
        let mut rest = vec![2, 0, 5, 1, 3];
        rest.remove(position);
        assert_eq!(weights_after(Event::RemoveRandom), rest);
        rest.push(picked.weight);
        assert_eq!(weights_after(Event::Replace), rest);
        assert_eq!(weights_after(Event::Add), [2, 0, 5, 1, 3, picked.weight]);
    }

    #[test]
    fn refusals_do_not_depend_on_the_draw() {
        let nodes = Node::numbered(3);
        for seed in 0..50 {
            for event in [Event::RemoveRandom, Event::Replace] {
                assert_eq!(event.changes(&nodes, LAST, seed), Err(MembershipError::NotLastAdded));
            }
        }
        let heavy = [Node::new(NodeId(0), "a").with_weight(u32::MAX)];
        let refused = Err(MembershipError::CapacityExceeded { max: u32::MAX });
        assert_eq!(Event::Weight.changes(&heavy, ANY, 1), refused);
        assert_eq!(Event::Add.changes(&[], ANY, 1), Err(MembershipError::LastNode));
    }

    /// Every node of positive weight is drawn, and no other.
    #[test]
    fn the_random_node_is_one_that_holds_keys() {
        let nodes = weighted();
        let drawn: BTreeSet<u32> = (0..200).map(|seed| random_node(&nodes, seed).unwrap().id.0).collect();
        assert_eq!(drawn, BTreeSet::from([0, 2, 3, 4]));
    }

    #[test]
    fn newcomers_clash_with_nobody() {
        let nodes =
            [Node::new(NodeId(7), "node-3"), Node::new(NodeId(0), "x"), Node::new(NodeId(1), "node-5")];
        let mut newcomers = Newcomers::new(&nodes);
        let new: Vec<Node> = (0..3).map(|_| newcomers.next_of(1)).collect();
        assert_eq!(new.iter().map(|node| &*node.name).collect::<Vec<_>>(), ["node-4", "node-6", "node-7"]);
        assert_eq!(new.iter().map(|node| node.id.0).collect::<Vec<_>>(), [8, 9, 10]);
    }
}
