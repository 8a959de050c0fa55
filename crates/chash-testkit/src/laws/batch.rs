//! Many keys at once.

use chash_core::NodeId;

use crate::law::{Outcome, Subject, each, ensure, quietly};
use crate::samples::{NOBODY, describe, few_keys, node_lists, one_list, random_keys};
use crate::state::{difference, table};

pub(super) fn batch_equals_single(subject: &Subject<'_>) -> Outcome {
    each(node_lists(&subject.capabilities()?, 1000), |nodes| {
        let placement = subject.build(4, &nodes)?;
        let mut keys = few_keys(nodes.len());
        keys.extend(random_keys(4, 1000 - keys.len()));
        let single = table(&*placement, &keys);
        for length in (0..=70).chain([1000]) {
            // Starting at different places, so that no lane or alignment is always the same key's.
            let start = if length == 1000 { 0 } else { length };
            let range = start..start + length;
            let mut answers = vec![NOBODY; length];
            placement.lookup_batch(&keys[range.clone()], &mut answers);
            if let Some(difference) = difference(&keys[range.clone()], &single[range], &answers) {
                ensure!(false, "{}: alone or in a batch of {length}, {difference}", describe(&nodes));
            }
        }
        Ok(())
    })
}

pub(super) fn batch_refuses_unequal_lengths(subject: &Subject<'_>) -> Outcome {
    let nodes = one_list(&subject.capabilities()?, 5);
    let placement = subject.build(4, &nodes)?;
    let lengths = [(0, 1), (1, 0), (7, 8), (8, 7), (64, 65), (65, 64), (100, 1), (1, 100)];
    each(lengths, |(keys, answers)| {
        let outcome = quietly(|| {
            placement.lookup_batch(&random_keys(4, keys), &mut vec![NodeId::default(); answers]);
        });
        ensure!(outcome.is_err(), "{keys} keys with room for {answers} answers are accepted");
        Ok(())
    })
}
