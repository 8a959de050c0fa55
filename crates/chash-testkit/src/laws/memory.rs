//! What is on the heap.

use chash_core::{Distributor, NodeId};
use chash_metrics::alloc::{is_installed, measure};

use crate::law::{Outcome, Subject, Violation, each, ensure};
use crate::model::{Model, make};
use crate::samples::{NOBODY, describe, describe_changes, keys, node_lists};

fn needs_the_counting_allocator() -> Outcome {
    if is_installed() {
        Ok(())
    } else {
        // Not "not applicable": that would let a test target pass by forgetting one line.
        Err(Violation::new("the counting allocator of chash-metrics is not this program's global allocator")
            .into())
    }
}

/// What a placement says it holds, the boxed value itself included.
fn claimed(placement: &dyn Distributor) -> i64 {
    (placement.footprint().total_bytes() + size_of_val(placement) as u64).cast_signed()
}

pub(super) fn footprint_matches_the_allocator(subject: &Subject<'_>) -> Outcome {
    needs_the_counting_allocator()?;
    let capabilities = subject.capabilities()?;
    each(node_lists(&capabilities, 1000), |nodes| {
        let (placement, usage) = measure(|| subject.build(25, &nodes));
        let placement = placement?;
        let (claims, counted) = (claimed(&*placement), usage.live_bytes);
        ensure!(claims == counted, "{}: {claims} bytes are claimed, {counted} are held", describe(&nodes));
        let (clone, usage) = measure(|| placement.clone());
        let (claims, counted) = (claimed(&*clone), usage.live_bytes);
        ensure!(
            claims == counted,
            "{}, a clone: {claims} bytes are claimed, {counted} are held",
            describe(&nodes)
        );
        Ok(())
    })?;
    each(1..=4u64, |history| {
        let mut model = Model::new(capabilities, 3, history);
        let (placement, usage) = measure(|| subject.build(history, &model.nodes));
        let mut placement = placement?;
        let mut held = usage.live_bytes;
        let mut made = Vec::new();
        for round in 0..40 {
            let Some(change) = model.step() else { continue };
            made.push(change.clone());
            let (outcome, usage) = measure(|| {
                if round % 2 == 0 {
                    make(&mut *placement, &change)
                } else {
                    placement.apply(std::slice::from_ref(&change))
                }
            });
            outcome.map_err(|error| {
                Violation::new(format!("the last of {} is refused: {error}", describe_changes(&made)))
            })?;
            held += usage.live_bytes;
            let claims = claimed(&*placement);
            ensure!(
                claims == held,
                "after {}: {claims} bytes are claimed, {held} are held",
                describe_changes(&made)
            );
        }
        Ok(())
    })
}

pub(super) fn lookups_do_not_allocate(subject: &Subject<'_>) -> Outcome {
    needs_the_counting_allocator()?;
    each(node_lists(&subject.capabilities()?, 1000), |nodes| {
        let placement = subject.build(26, &nodes)?;
        let keys = keys(nodes.len());
        let mut answers: Vec<NodeId> = vec![NOBODY; keys.len()];
        let ((), usage) = measure(|| {
            for (key, answer) in keys.iter().zip(&mut answers) {
                *answer = placement.lookup(*key);
            }
        });
        ensure!(
            usage.allocations == 0,
            "{}: {} allocations in {} lookups",
            describe(&nodes),
            usage.allocations,
            keys.len()
        );
        let ((), usage) = measure(|| placement.lookup_batch(&keys, &mut answers));
        ensure!(
            usage.allocations == 0,
            "{}: {} allocations in a batch of {}",
            describe(&nodes),
            usage.allocations,
            keys.len()
        );
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use chash_core::BuildError;

    use super::*;
    use crate::law::verdict;
    use crate::{Verdict, Violation};

    /// The unit tests of this crate run without the counting allocator.
    #[test]
    fn a_program_that_does_not_count_fails() {
        let build = |_, _: &[_]| Err(BuildError::NoNodes);
        let subject = Subject::new("anything", &build);
        for law in [footprint_matches_the_allocator, lookups_do_not_allocate] {
            let Verdict::Failed(violations) = verdict(law(&subject)) else {
                panic!("passed without counting")
            };
            let expected = "the counting allocator of chash-metrics is not this program's global allocator";
            assert_eq!(violations, [Violation { what: expected.into() }]);
        }
    }
}
