//! What moves.

use chash_core::{Capabilities, Disruption, Distributor, MembershipError, Node, NodeId, Order, Removal};

use crate::law::{Outcome, Subject, Violation, applies_if, each, ensure};
use crate::samples::{describe, keys, newcomer, node_lists};
use crate::state::{same_table, table};

/// What a change that must be accepted did to the keys.
struct Movement {
    keys: Vec<u64>,
    before: Vec<NodeId>,
    after: Vec<NodeId>,
}

impl Movement {
    /// Makes the change and looks at the keys before and after.
    fn of(
        placement: &mut dyn Distributor,
        nodes: &[Node],
        change: impl FnOnce(&mut dyn Distributor) -> Result<(), MembershipError>,
    ) -> Result<Self, Violation> {
        let keys = keys(nodes.len());
        let before = table(placement, &keys);
        accepted(nodes, change(placement))?;
        let after = table(placement, &keys);
        Ok(Self { keys, before, after })
    }

    /// Fails with the first move from and to nodes that `allowed` does not take.
    fn only(
        &self,
        what: impl FnOnce() -> String,
        allowed: impl Fn(NodeId, NodeId) -> bool,
    ) -> Result<(), Violation> {
        let moves = self.keys.iter().zip(self.before.iter().zip(&self.after));
        for (key, (from, to)) in moves {
            if from != to && !allowed(*from, *to) {
                return Err(Violation::new(format!(
                    "{}: key {key:#018x} moves from id {from} to id {to}",
                    what()
                )));
            }
        }
        Ok(())
    }
}

fn accepted(nodes: &[Node], outcome: Result<(), MembershipError>) -> Result<(), Violation> {
    outcome.map_err(|error| Violation::new(format!("{}: the change is refused: {error}", describe(nodes))))
}

fn applies_if_minimal(capabilities: &Capabilities) -> Outcome {
    applies_if(capabilities.disruption == Disruption::Minimal, "it declares that further keys move")
}

fn applies_if_nodes_leave(capabilities: &Capabilities) -> Outcome {
    applies_if(capabilities.removal != Removal::None, "it declares that no node leaves")
}

/// The weights to try a newcomer with.
fn newcomer_weights(capabilities: &Capabilities) -> &'static [u32] {
    if capabilities.weighted { &[1, 0, 4] } else { &[1] }
}

/// The nodes whose removal the placement must accept: a few of the list, or its last.
fn leavers(capabilities: &Capabilities, nodes: &[Node]) -> Vec<NodeId> {
    let last = nodes.len() - 1;
    let candidates = if capabilities.removal == Removal::Any { vec![0, last / 2, last] } else { vec![last] };
    let mut leavers: Vec<NodeId> = Vec::new();
    for at in candidates {
        let remains = nodes.iter().any(|node| node.id != nodes[at].id && node.weight > 0);
        if remains && !leavers.contains(&nodes[at].id) {
            leavers.push(nodes[at].id);
        }
    }
    leavers
}

pub(super) fn additions_move_keys_to_the_newcomer_only(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    applies_if_minimal(&capabilities)?;
    each(growable(&capabilities), |nodes| {
        for weight in newcomer_weights(&capabilities) {
            let mut placement = subject.build(10, &nodes)?;
            let node = newcomer().with_weight(*weight);
            let movement = Movement::of(&mut *placement, &nodes, |placement| placement.add(&node))?;
            let what = || format!("{}, then one of weight {weight} with id {}", describe(&nodes), node.id);
            movement.only(what, |_, to| to == node.id && *weight > 0)?;
        }
        Ok(())
    })
}

/// Lists to which a node can be added.
fn growable(capabilities: &Capabilities) -> impl Iterator<Item = Vec<Node>> + use<> {
    let max_nodes = capabilities.max_nodes as usize;
    node_lists(capabilities, 1000).into_iter().filter(move |nodes| nodes.len() < max_nodes)
}

pub(super) fn removals_move_keys_of_the_leaver_only(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    applies_if_minimal(&capabilities)?;
    applies_if_nodes_leave(&capabilities)?;
    each(node_lists(&capabilities, 1000), |nodes| {
        for leaver in leavers(&capabilities, &nodes) {
            let mut placement = subject.build(11, &nodes)?;
            let movement = Movement::of(&mut *placement, &nodes, |placement| placement.remove(leaver))?;
            let what = || format!("{} without id {leaver}", describe(&nodes));
            movement.only(what, |from, to| from == leaver && to != leaver)?;
            ensure!(!movement.after.contains(&leaver), "{}: it still owns keys", what());
        }
        Ok(())
    })
}

pub(super) fn reweighting_moves_keys_of_that_node_only(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    applies_if_minimal(&capabilities)?;
    applies_if(capabilities.weighted, "it declares no weights")?;
    each(node_lists(&capabilities, 1000), |nodes| {
        let node = &nodes[nodes.len() / 2];
        for weight in [0, 1, 2, 5] {
            if weight == 0 && leavers(&capabilities, &nodes).is_empty() {
                continue;
            }
            let mut placement = subject.build(12, &nodes)?;
            let movement =
                Movement::of(&mut *placement, &nodes, |placement| placement.set_weight(node.id, weight))?;
            let what =
                || format!("{}, id {} from weight {} to {weight}", describe(&nodes), node.id, node.weight);
            movement.only(what, |from, to| {
                (weight > node.weight && to == node.id) || (weight < node.weight && from == node.id)
            })?;
        }
        Ok(())
    })
}

pub(super) fn adding_then_removing_restores(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    applies_if(capabilities.order != Order::History, "it declares that the history counts")?;
    applies_if_nodes_leave(&capabilities)?;
    each(growable(&capabilities), |nodes| {
        for weight in newcomer_weights(&capabilities) {
            let mut placement = subject.build(13, &nodes)?;
            let node = newcomer().with_weight(*weight);
            let movement = Movement::of(&mut *placement, &nodes, |placement| {
                placement.add(&node)?;
                placement.remove(node.id)
            })?;
            let what = format!("{}, one of weight {weight} added and removed", describe(&nodes));
            same_table(&what, &movement.keys, &movement.before, &movement.after)?;
        }
        Ok(())
    })
}

pub(super) fn removing_then_adding_restores(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    applies_if(capabilities.order != Order::History, "it declares that the history counts")?;
    applies_if_nodes_leave(&capabilities)?;
    each(node_lists(&capabilities, 1000), |nodes| {
        let leavers = leavers(&capabilities, &nodes);
        let restored =
            |leaver: &&NodeId| capabilities.order == Order::SetOnly || **leaver == nodes[nodes.len() - 1].id;
        for leaver in leavers.iter().filter(restored) {
            let mut placement = subject.build(14, &nodes)?;
            let node = nodes.iter().find(|node| node.id == *leaver).expect("a leaver is in the list");
            let movement = Movement::of(&mut *placement, &nodes, |placement| {
                placement.remove(*leaver)?;
                placement.add(node)
            })?;
            let what = format!("{}, id {leaver} removed and added", describe(&nodes));
            same_table(&what, &movement.keys, &movement.before, &movement.after)?;
        }
        Ok(())
    })
}
