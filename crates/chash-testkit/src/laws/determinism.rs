//! What the table may depend on.

use std::collections::BTreeMap;

use chash_core::{Change, Distributor, MembershipError, Node, NodeId, Order};

use crate::law::{Outcome, Subject, Violation, applies_if, each, ensure};
use crate::model::{Model, make};
use crate::samples::{Draws, describe, describe_changes, few_keys, keys, newcomer, node_lists};
use crate::state::{State, same_table, table};

pub(super) fn equal_builds_agree(subject: &Subject<'_>) -> Outcome {
    each(node_lists(&subject.capabilities()?, 1000), |nodes| {
        let keys = keys(nodes.len());
        let first = subject.build(5, &nodes)?;
        let owners = table(&*first, &keys);
        let what = |whose| format!("{}, {whose}", describe(&nodes));
        same_table(&what("asked twice"), &keys, &owners, &table(&*first, &keys))?;
        same_table(&what("its clone"), &keys, &owners, &table(&*first.clone(), &keys))?;
        same_table(&what("built twice"), &keys, &owners, &table(&*subject.build(5, &nodes)?, &keys))
    })
}

pub(super) fn list_order_is_ignored(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    applies_if(capabilities.order == Order::SetOnly, "it declares that more than the set of nodes counts")?;
    each(node_lists(&capabilities, 1000), |nodes| {
        let keys = keys(nodes.len());
        let owners = table(&*subject.build(6, &nodes)?, &keys);
        let mut other = nodes.clone();
        other.reverse();
        let mut draws = Draws::new(6);
        for order in ["reversed", "shuffled", "shuffled again"] {
            let what = format!("{}, {order}", describe(&nodes));
            same_table(&what, &keys, &owners, &table(&*subject.build(6, &other)?, &keys))?;
            draws.shuffle(&mut other);
        }
        Ok(())
    })
}

pub(super) fn ids_are_only_labels(subject: &Subject<'_>) -> Outcome {
    each(node_lists(&subject.capabilities()?, 1000), |nodes| {
        let keys = keys(nodes.len());
        let owners = table(&*subject.build(7, &nodes)?, &keys);
        // Descending and with gaps, where the originals ascend without.
        let mut relabelled = nodes.clone();
        let mut original = BTreeMap::new();
        for (rank, node) in relabelled.iter_mut().rev().enumerate() {
            let label = NodeId(100 + 3 * rank as u32);
            original.insert(label, node.id);
            node.id = label;
        }
        let placement = subject.build(7, &relabelled)?;
        let mut translated = Vec::new();
        for key in &keys {
            let owner = placement.lookup(*key);
            let Some(id) = original.get(&owner) else {
                return Err(Violation::new(format!("{}: id {owner} is not there", describe(&nodes))));
            };
            translated.push(*id);
        }
        same_table(&format!("{}, other ids", describe(&nodes)), &keys, &owners, &translated)
    })
}

/// Changes made one by one and several at a time must both end where a fresh build begins.
pub(super) fn history_leaves_no_trace(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    applies_if(capabilities.order != Order::History, "it declares that the history counts")?;
    each(1..=8u64, |history| {
        let mut model = Model::new(capabilities, [1, 2, 3, 9][history as usize % 4], history);
        let mut placement = subject.build(history, &model.nodes)?;
        let mut draws = Draws::new(history);
        let keys = keys(1);
        let mut made: Vec<Change> = Vec::new();
        for _ in 0..12 {
            let batch: Vec<Change> = (0..1 + draws.below(4)).filter_map(|_| model.step()).collect();
            if draws.below(2) == 0 {
                placement.apply(&batch).map_err(|error| refused(&made, &batch, error))?;
            } else {
                for change in &batch {
                    make(&mut *placement, change).map_err(|error| refused(&made, &batch, error))?;
                }
            }
            made.extend(batch);
            let mut present = model.nodes.clone();
            if capabilities.order == Order::SetOnly {
                present.reverse();
            }
            let fresh = subject.build(history, &present)?;
            let what = format!("after {} or built afresh", describe_changes(&made));
            same_table(&what, &keys, &table(&*placement, &keys), &table(&*fresh, &keys))?;
        }
        Ok(())
    })
}

fn refused(made: &[Change], batch: &[Change], error: MembershipError) -> Violation {
    let (made, batch) = (describe_changes(made), describe_changes(batch));
    Violation::new(format!("after {made}, one of {batch} is refused: {error}"))
}

pub(super) fn clones_are_independent(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    each(node_lists(&capabilities, 17), |nodes| {
        let keys = few_keys(nodes.len());
        let mut original = subject.build(8, &nodes)?;
        assign_some(&mut *original);
        let before = State::of(&mut *original, &keys);
        let mut clone = original.clone();
        ensure!(
            State::of(&mut *clone, &keys) == before,
            "{}: a clone differs from its original",
            describe(&nodes)
        );
        assign_some(&mut *clone);
        change(&mut *clone, &nodes);
        ensure!(
            State::of(&mut *original, &keys) == before,
            "{}: changing a clone changed its original",
            describe(&nodes)
        );
        let changed = State::of(&mut *clone, &keys);
        assign_some(&mut *original);
        change(&mut *original, &nodes);
        drop(original);
        ensure!(
            State::of(&mut *clone, &keys) == changed,
            "{}: changing an original changed its clone",
            describe(&nodes)
        );
        Ok(())
    })
}

/// Gives every load-aware placement something to hold.
fn assign_some(placement: &mut dyn Distributor) {
    if let Some(loads) = placement.as_load_aware() {
        for key in few_keys(1).into_iter().take(20) {
            loads.assign(key);
        }
    }
}

/// Tries to change a placement in every way; what is refused by design is not of interest here.
fn change(placement: &mut dyn Distributor, nodes: &[Node]) {
    let _ = placement.add(&newcomer());
    let _ = placement.set_weight(nodes[0].id, 5);
    let _ = placement.remove(nodes[nodes.len() - 1].id);
    let _ = placement.remove(nodes[0].id);
}
