//! Who answers, and at what cost.

use std::collections::BTreeSet;

use chash_core::{Node, NodeId, Order};

use crate::law::{Exit, Outcome, Subject, each, ensure};
use crate::samples::{describe, few_keys, keys, node_lists};

/// The ids of the nodes that can be chosen.
pub(super) fn choosable(nodes: &[Node]) -> BTreeSet<NodeId> {
    nodes.iter().filter(|node| node.weight > 0).map(|node| node.id).collect()
}

pub(super) fn answers_are_members(subject: &Subject<'_>) -> Outcome {
    each(node_lists(&subject.capabilities()?, 1000), |nodes| {
        let placement = subject.build(1, &nodes)?;
        let choosable = choosable(&nodes);
        for key in keys(nodes.len()) {
            let owner = placement.lookup(key);
            ensure!(
                choosable.contains(&owner),
                "{}: key {key:#018x} belongs to id {owner}, which is not there or has weight 0",
                describe(&nodes)
            );
        }
        Ok(())
    })
}

pub(super) fn byte_keys_have_members(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    if subject.build(2, &Node::numbered(1))?.as_byte_keyed().is_none() {
        return Err(Exit::NotApplicable("it hashes no bytes itself".into()));
    }
    let mut byte_keys: Vec<Vec<u8>> =
        ["", "a", "user:772", "{user1000}.cart", "foo{}{bar}", "é", " a", "a\r"]
            .map(|text| text.as_bytes().to_vec())
            .to_vec();
    byte_keys.extend([vec![0], vec![0xff; 15], vec![0x80; 300], (0..=255).collect()]);
    each(node_lists(&capabilities, 129), |nodes| {
        let placement = subject.build(2, &nodes)?;
        let mut reversed = nodes.clone();
        reversed.reverse();
        let again = subject.build(2, &reversed)?;
        let choosable = choosable(&nodes);
        let (view, view_again) = (placement.as_byte_keyed(), again.as_byte_keyed());
        let (Some(view), Some(view_again)) = (view, view_again) else {
            ensure!(false, "{}: the view by key bytes is missing", describe(&nodes));
            return Ok(());
        };
        for key in &byte_keys {
            let owner = view.lookup_bytes(key);
            ensure!(choosable.contains(&owner), "{}: {key:?} belongs to id {owner}", describe(&nodes));
            ensure!(
                capabilities.order != Order::SetOnly || view_again.lookup_bytes(key) == owner,
                "{}: {key:?} has another owner when the list is reversed",
                describe(&nodes)
            );
        }
        Ok(())
    })
}

pub(super) fn work_is_repeatable(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    each(node_lists(&capabilities, 1000), |nodes| {
        let placement = subject.build(3, &nodes)?;
        let (clone, again) = (placement.clone(), subject.build(3, &nodes)?);
        for key in few_keys(nodes.len()) {
            let work = placement.lookup_work(key);
            placement.lookup(key);
            for (whose, other) in [("itself", &placement), ("a clone", &clone), ("an equal build", &again)] {
                let other = other.lookup_work(key);
                ensure!(
                    other == work,
                    "{}: key {key:#018x} costs {work:?}, then {other:?} on {whose}",
                    describe(&nodes)
                );
            }
        }
        Ok(())
    })
}
