//! The seed.

use crate::law::{Outcome, Subject, applies_if, each, ensure};
use crate::samples::{describe, keys, node_lists};
use crate::state::table;

pub(super) fn seeds_make_tables(subject: &Subject<'_>) -> Outcome {
    applies_if(subject.seeded, "it has no seed")?;
    let lists = node_lists(&subject.capabilities()?, 129);
    each(lists.into_iter().filter(|nodes| nodes.iter().filter(|node| node.weight > 0).count() > 1), |nodes| {
        let keys = keys(nodes.len());
        let mut tables = Vec::new();
        for seed in [0, 1, 2, 1 << 32, 1 << 63, u64::MAX] {
            let owners = table(&*subject.build(seed, &nodes)?, &keys);
            if let Some((other, _)) = tables.iter().find(|(_, table)| *table == owners) {
                ensure!(false, "{}: seeds {other} and {seed} give one table", describe(&nodes));
            }
            tables.push((seed, owners));
        }
        Ok(())
    })
}
