//! Who is present.

use chash_core::NodeId;

use crate::law::{Outcome, Subject, Violation, each, ensure};
use crate::model::{Model, make};
use crate::samples::{describe_changes, few_keys, node_lists};

pub(super) fn members_follow_the_history(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    each(node_lists(&capabilities, 1000), |nodes| {
        let placement = subject.build(9, &nodes)?;
        let ids: Vec<NodeId> = nodes.iter().map(|node| node.id).collect();
        ensure!(
            placement.node_count() == nodes.len() && placement.node_ids() == ids,
            "{} nodes were given, {} are counted, the ids are {:?}",
            nodes.len(),
            placement.node_count(),
            placement.node_ids()
        );
        Ok(())
    })?;
    each(1..=4u64, |history| {
        let mut model = Model::new(capabilities, 4, history);
        let mut placement = subject.build(history, &model.nodes)?;
        let mut made = Vec::new();
        for _ in 0..60 {
            let Some(change) = model.step() else { continue };
            made.push(change.clone());
            make(&mut *placement, &change).map_err(|error| {
                Violation::new(format!("the last of {} is refused: {error}", describe_changes(&made)))
            })?;
            let mut ids: Vec<NodeId> = model.nodes.iter().map(|node| node.id).collect();
            ids.sort_unstable();
            ensure!(
                placement.node_ids() == ids && placement.node_count() == ids.len(),
                "after {} the ids are {:?}, {} of them, instead of {ids:?}",
                describe_changes(&made),
                placement.node_ids(),
                placement.node_count()
            );
            for key in few_keys(100) {
                let owner = placement.lookup(key);
                ensure!(
                    model.nodes.iter().any(|node| node.id == owner && node.weight > 0),
                    "after {}, key {key:#018x} belongs to id {owner}",
                    describe_changes(&made)
                );
            }
        }
        Ok(())
    })
}
