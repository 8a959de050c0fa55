//! The most nodes a placement says it can hold.

use chash_core::{BuildError, MembershipError, Node};

use crate::law::{Exit, Outcome, Subject, ensure};
use crate::samples::few_keys;
use crate::state::State;

/// Larger limits are not tried: the law would take longer than all the others.
const LARGEST_TRIED: u32 = 4096;

pub(super) fn the_declared_maximum_binds(subject: &Subject<'_>) -> Outcome {
    let max = subject.capabilities()?.max_nodes;
    if max > LARGEST_TRIED {
        let why = format!("it holds up to {max} nodes, and only limits up to {LARGEST_TRIED} are tried");
        return Err(Exit::NotApplicable(why));
    }
    let expected = MembershipError::CapacityExceeded { max };
    let nodes = Node::numbered(max + 1);
    let (most, last) = (&nodes[..max as usize], &nodes[max as usize]);
    let outcome = (subject.build)(24, &nodes).map(|placement| placement.node_count());
    ensure!(
        outcome == Err(BuildError::Membership(expected)),
        "building {} nodes answers {outcome:?} instead of {expected:?}",
        max + 1
    );
    let mut full = subject.build(24, most)?;
    if let [few @ .., one] = most
        && !few.is_empty()
    {
        let mut grown = subject.build(24, few)?;
        let outcome = grown.add(one);
        ensure!(outcome.is_ok(), "growing to {max} answers {outcome:?}");
        full = grown;
    }
    let before = State::of(&mut *full, &few_keys(1000));
    let outcome = full.add(last);
    ensure!(outcome == Err(expected), "adding one to {max} answers {outcome:?} instead of {expected:?}");
    ensure!(State::of(&mut *full, &few_keys(1000)) == before, "a refused addition changed the placement");
    Ok(())
}
