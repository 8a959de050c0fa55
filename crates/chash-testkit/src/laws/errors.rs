//! What is refused, and that a refusal changes nothing.

use chash_core::{BuildError, Capabilities, Change, Distributor, MembershipError, Node, NodeId, Removal};

use crate::law::{Outcome, Subject, Violation, applies_if, each, ensure};
use crate::model::make;
use crate::samples::{NOBODY, describe_changes, few_keys, newcomer};
use crate::state::State;

pub(super) fn builds_are_refused_exactly(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    let duplicate = BuildError::Membership(MembershipError::DuplicateNode);
    let node = |id, name: &str| Node::new(NodeId(id), name);
    let mut cases = vec![("no nodes", vec![], BuildError::NoNodes)];
    if capabilities.max_nodes >= 3 {
        let others = |more: Node| vec![node(0, "node-0"), node(1, "node-1"), more];
        cases.push(("a name twice", others(node(2, "node-0")), duplicate.clone()));
        cases.push(("an id twice", others(node(0, "node-2")), duplicate.clone()));
        cases.push(("a node twice", others(node(1, "node-1")), duplicate));
    }
    let weigh = |weights: [u32; 2]| {
        Node::numbered(2).into_iter().zip(weights).map(|(node, weight)| node.with_weight(weight)).collect()
    };
    if capabilities.weighted && capabilities.max_nodes >= 2 {
        cases.push(("weights 0", weigh([0, 0]), BuildError::NoNodes));
    } else if capabilities.max_nodes >= 2 {
        let unsupported = BuildError::Membership(MembershipError::WeightUnsupported);
        cases.push(("weights 1, 2", weigh([1, 2]), unsupported.clone()));
        cases.push(("weights 0, 1", weigh([0, 1]), unsupported));
    }
    each(cases, |(what, nodes, expected)| {
        let outcome = (subject.build)(0, &nodes).map(|placement| placement.node_count());
        ensure!(
            outcome == Err(expected.clone()),
            "{what}: the answer is {outcome:?} instead of {expected:?}"
        );
        Ok(())
    })
}

/// A placement, what is tried on it, and the variant it must be refused with.
struct Case {
    nodes: Vec<Node>,
    change: Change,
    expected: MembershipError,
}

impl Case {
    fn new(nodes: Vec<Node>, change: Change, expected: MembershipError) -> Self {
        Self { nodes, change, expected }
    }

    fn check(&self, subject: &Subject<'_>) -> Result<(), Violation> {
        let mut placement = subject.build(22, &self.nodes)?;
        let change = std::slice::from_ref(&self.change);
        refused(&mut *placement, change, self.expected, |placement| make(placement, &self.change))?;
        refused(&mut *placement, change, self.expected, |placement| placement.apply(change))
    }
}

/// Whether this is refused with this variant, and leaves no trace.
fn refused(
    placement: &mut dyn Distributor,
    changes: &[Change],
    expected: MembershipError,
    attempt: impl FnOnce(&mut dyn Distributor) -> Result<(), MembershipError>,
) -> Result<(), Violation> {
    if let Some(loads) = placement.as_load_aware() {
        for key in few_keys(1).into_iter().take(20) {
            loads.assign(key);
        }
    }
    let keys = few_keys(1);
    let before = State::of(placement, &keys);
    let outcome = attempt(placement);
    let (nodes, changes) = (placement.node_count(), describe_changes(changes));
    ensure!(
        outcome == Err(expected),
        "{nodes} nodes, {changes}: the answer is {outcome:?} instead of {expected:?}"
    );
    ensure!(
        State::of(placement, &keys) == before,
        "{nodes} nodes, {changes}: refused with {expected:?}, but the placement changed"
    );
    Ok(())
}

/// Lists in which only one node can be chosen: alone, and beside one of weight 0.
fn only_one_counts(capabilities: &Capabilities) -> Vec<Vec<Node>> {
    let mut lists = vec![Node::numbered(1)];
    if capabilities.weighted && capabilities.max_nodes >= 2 {
        // The one that can be chosen is the last of the first list and the first of the second.
        let mut two = Node::numbered(2);
        two[0].weight = 0;
        lists.push(two.clone());
        two.reverse();
        lists.push(two);
    }
    lists
}

fn three(capabilities: &Capabilities) -> Vec<Node> {
    Node::numbered(3.min(capabilities.max_nodes))
}

pub(super) fn additions_are_refused_exactly(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    applies_if(capabilities.max_nodes > 3, "it holds at most three nodes")?;
    let nodes = three(&capabilities);
    let add = |id, name: &str| Change::Add(Node::new(NodeId(id), name));
    let mut cases = vec![
        Case::new(nodes.clone(), add(9, "node-1"), MembershipError::DuplicateNode),
        Case::new(nodes.clone(), add(1, "node-9"), MembershipError::DuplicateNode),
        Case::new(nodes.clone(), add(1, "node-1"), MembershipError::DuplicateNode),
    ];
    if !capabilities.weighted {
        for weight in [0, 2] {
            let change = Change::Add(newcomer().with_weight(weight));
            cases.push(Case::new(nodes.clone(), change, MembershipError::WeightUnsupported));
        }
    }
    each(cases, |case| case.check(subject))
}

pub(super) fn removals_are_refused_exactly(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    let nodes = three(&capabilities);
    let mut cases = vec![Case::new(nodes.clone(), Change::Remove(NOBODY), MembershipError::UnknownNode)];
    for list in only_one_counts(&capabilities) {
        let counts = list.iter().find(|node| node.weight > 0).expect("one can be chosen").id;
        cases.push(Case::new(list, Change::Remove(counts), MembershipError::LastNode));
    }
    if nodes.len() > 1 {
        let first = Change::Remove(nodes[0].id);
        match capabilities.removal {
            Removal::Any => {}
            Removal::LastOnly => cases.push(Case::new(nodes, first, MembershipError::NotLastAdded)),
            Removal::None => cases.push(Case::new(nodes, first, MembershipError::Unsupported)),
        }
    }
    each(cases, |case| case.check(subject))
}

pub(super) fn weights_are_refused_exactly(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    let nodes = three(&capabilities);
    let mut cases = Vec::new();
    if capabilities.weighted {
        cases.push(Case::new(nodes, Change::SetWeight(NOBODY, 2), MembershipError::UnknownNode));
        for list in only_one_counts(&capabilities) {
            let counts = list.iter().find(|node| node.weight > 0).expect("one can be chosen").id;
            cases.push(Case::new(list, Change::SetWeight(counts, 0), MembershipError::LastNode));
        }
    } else {
        for weight in [0, 2] {
            let change = Change::SetWeight(nodes[0].id, weight);
            cases.push(Case::new(nodes.clone(), change, MembershipError::WeightUnsupported));
        }
    }
    each(cases, |case| case.check(subject))
}

pub(super) fn apply_is_all_or_nothing(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    applies_if(capabilities.max_nodes > 4, "it holds at most four nodes")?;
    let nodes = three(&capabilities);
    let newcomer = newcomer();
    let (add, remove) = (Change::Add(newcomer.clone()), Change::Remove(newcomer.id));
    let unknown = Change::Remove(NOBODY);
    let mut cases = vec![
        (vec![add.clone(), add.clone()], MembershipError::DuplicateNode),
        (vec![add.clone(), unknown.clone()], MembershipError::UnknownNode),
        (vec![add.clone(), unknown, add.clone()], MembershipError::UnknownNode),
    ];
    match capabilities.removal {
        Removal::Any | Removal::LastOnly => {
            cases.push((vec![add.clone(), remove.clone(), remove.clone()], MembershipError::UnknownNode));
            // Nothing may be left even for a moment.
            let rest = nodes.iter().rev().map(|node| Change::Remove(node.id));
            cases.push((rest.chain([add.clone()]).collect(), MembershipError::LastNode));
        }
        Removal::None => cases.push((vec![add.clone(), remove.clone()], MembershipError::Unsupported)),
    }
    if capabilities.weighted {
        let raise = Change::SetWeight(nodes[0].id, 9);
        cases.push((vec![raise, Change::SetWeight(NOBODY, 1)], MembershipError::UnknownNode));
    } else {
        let raise = Change::SetWeight(newcomer.id, 9);
        cases.push((vec![add.clone(), raise], MembershipError::WeightUnsupported));
    }
    each(cases, |(changes, expected)| {
        let mut placement = subject.build(23, &nodes)?;
        refused(&mut *placement, &changes, expected, |placement| placement.apply(&changes))
    })?;
    let mut placement = subject.build(23, &nodes)?;
    let before = State::of(&mut *placement, &few_keys(1));
    let outcome = placement.apply(&[]);
    ensure!(outcome.is_ok(), "no changes at all are refused: {outcome:?}");
    ensure!(State::of(&mut *placement, &few_keys(1)) == before, "no changes at all changed the placement");
    Ok(())
}
