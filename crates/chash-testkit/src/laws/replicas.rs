//! Orders of preference.

use std::collections::BTreeSet;

use chash_core::{Disruption, Distributor, Node, NodeId, Probes, Replicated};

use super::answers::choosable;
use crate::law::{Exit, Outcome, Subject, Violation, applies_if, each, ensure};
use crate::samples::{NOBODY, describe, few_keys, newcomer, node_lists};

fn applies_if_replicated(subject: &Subject<'_>) -> Outcome {
    let replicated = subject.build(0, &Node::numbered(1))?.as_replicated().is_some();
    if replicated { Ok(()) } else { Err(Exit::NotApplicable("it defines no replicas".into())) }
}

fn view(placement: &dyn Distributor) -> Result<&dyn Replicated, Violation> {
    placement.as_replicated().ok_or_else(|| Violation::new("the replica view comes and goes"))
}

fn replicas(view: &dyn Replicated, key: u64, k: usize) -> Result<Vec<NodeId>, Violation> {
    let mut out = vec![NOBODY; k];
    let found = view.replicas(key, &mut out);
    ensure!(found <= k, "key {key:#018x}: {found} replicas are claimed in room for {k}");
    out.truncate(found);
    Ok(out)
}

/// The list lengths to ask for: all of a small set and beyond it, a few of a large one.
fn lengths(nodes: usize) -> Vec<usize> {
    if nodes <= 17 {
        (0..=nodes + 3).collect()
    } else {
        vec![0, 1, 2, 3, nodes - 1, nodes, nodes + 1, 2 * nodes]
    }
}

pub(super) fn replicas_are_distinct_members(subject: &Subject<'_>) -> Outcome {
    applies_if_replicated(subject)?;
    each(node_lists(&subject.capabilities()?, 1000), |nodes| {
        let placement = subject.build(15, &nodes)?;
        let view = view(&*placement)?;
        let choosable = choosable(&nodes);
        for key in few_keys(nodes.len()) {
            for k in lengths(nodes.len()) {
                let list = replicas(view, key, k)?;
                let what =
                    || format!("{}, key {key:#018x}: the first {k} replicas are {list:?}", describe(&nodes));
                ensure!(list.len() == k.min(choosable.len()), "{}", what());
                let distinct: BTreeSet<NodeId> = list.iter().copied().collect();
                ensure!(distinct.len() == list.len(), "{}", what());
                ensure!(distinct.is_subset(&choosable), "{}", what());
                let owner = placement.lookup(key);
                ensure!(list.first().is_none_or(|first| *first == owner), "{}, the owner is {owner}", what());
            }
        }
        Ok(())
    })
}

pub(super) fn replicas_are_prefix_stable(subject: &Subject<'_>) -> Outcome {
    applies_if_replicated(subject)?;
    each(node_lists(&subject.capabilities()?, 1000), |nodes| {
        let placement = subject.build(16, &nodes)?;
        let view = view(&*placement)?;
        for key in few_keys(nodes.len()) {
            let all = replicas(view, key, nodes.len())?;
            for k in lengths(nodes.len()) {
                let list = replicas(view, key, k)?;
                ensure!(
                    all.starts_with(&list),
                    "{}, key {key:#018x}: the first {k} replicas are {list:?}, all are {all:?}",
                    describe(&nodes)
                );
            }
        }
        Ok(())
    })
}

pub(super) fn first_accepting_walks_the_replicas(subject: &Subject<'_>) -> Outcome {
    applies_if_replicated(subject)?;
    each(node_lists(&subject.capabilities()?, 129), |nodes| {
        let placement = subject.build(17, &nodes)?;
        let view = view(&*placement)?;
        let keys = few_keys(nodes.len());
        for key in keys.iter().take(if nodes.len() <= 17 { 20 } else { 3 }) {
            let all = replicas(view, *key, nodes.len())?;
            for accepted in accepted_sets(&all) {
                let mut asked = Vec::new();
                let answer = view.first_accepting(*key, &mut |id| {
                    asked.push(id);
                    accepted.contains(&id)
                });
                let rank = all.iter().position(|id| accepted.contains(id));
                let expected = rank.map(|rank| (all[rank], Probes(rank as u32 + 1)));
                let walked = rank.map_or(&all[..], |rank| &all[..=rank]);
                ensure!(
                    answer == expected && asked == walked,
                    "{}, key {key:#018x}, replicas {all:?}: where {accepted:?} accept, {asked:?} were asked and the answer is {answer:?}",
                    describe(&nodes)
                );
            }
        }
        Ok(())
    })
}

/// Every set of accepting nodes of a few; of many, each node alone and none.
fn accepted_sets(all: &[NodeId]) -> Vec<BTreeSet<NodeId>> {
    if all.len() <= 5 {
        let subset = |mask: u32| {
            let chosen = all.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1);
            chosen.map(|(_, id)| *id).collect()
        };
        (0..1u32 << all.len()).map(subset).collect()
    } else {
        let alone = all.iter().map(|id| BTreeSet::from([*id]));
        alone.chain([BTreeSet::new()]).collect()
    }
}

pub(super) fn a_newcomer_only_inserts_itself(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    applies_if_replicated(subject)?;
    applies_if(capabilities.disruption == Disruption::Minimal, "it declares that further keys move")?;
    let lists = node_lists(&capabilities, 129).into_iter();
    each(lists.filter(|nodes| nodes.len() < capabilities.max_nodes as usize), |nodes| {
        let before = subject.build(18, &nodes)?;
        let mut after = before.clone();
        after.add(&newcomer()).map_err(|error| Violation::new(format!("an addition is refused: {error}")))?;
        for key in few_keys(nodes.len()) {
            let old = replicas(view(&*before)?, key, nodes.len())?;
            let new = replicas(view(&*after)?, key, nodes.len() + 1)?;
            let others: Vec<NodeId> = new.iter().copied().filter(|id| *id != newcomer().id).collect();
            ensure!(
                others == old && new.len() == old.len() + 1,
                "{}, key {key:#018x}: the replicas {old:?} become {new:?}",
                describe(&nodes)
            );
        }
        Ok(())
    })
}
