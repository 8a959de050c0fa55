//! What of a placement can be seen, for comparing before and after, one and another.

use chash_core::mix::combine;
use chash_core::{BuildError, Distributor, Node, NodeId};

use crate::law::Violation;
use crate::{Subject, samples};

/// The owners of these keys.
pub(crate) fn table(placement: &dyn Distributor, keys: &[u64]) -> Vec<NodeId> {
    keys.iter().map(|key| placement.lookup(*key)).collect()
}

/// Everything a caller can see: members, owners, shares and loads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    node_count: usize,
    members: Vec<NodeId>,
    table: Vec<NodeId>,
    shares: Vec<Option<f64>>,
    loads: Vec<Option<u64>>,
}

impl State {
    pub(crate) fn of(placement: &mut dyn Distributor, keys: &[u64]) -> Self {
        let members = placement.node_ids();
        Self {
            node_count: placement.node_count(),
            table: table(placement, keys),
            shares: members.iter().map(|id| placement.key_share(*id)).collect(),
            loads: match placement.as_load_aware() {
                Some(loads) => members.iter().map(|id| loads.load(*id)).collect(),
                None => Vec::new(),
            },
            members,
        }
    }
}

/// The first key on which two tables differ, with both owners.
pub(crate) fn difference(keys: &[u64], one: &[NodeId], other: &[NodeId]) -> Option<String> {
    let at = one.iter().zip(other).position(|(one, other)| one != other)?;
    let moved = one.iter().zip(other).filter(|(one, other)| one != other).count();
    let (key, one, other) = (keys[at], one[at], other[at]);
    Some(format!(
        "key {key:#018x} belongs to id {one} or to id {other} ({moved} of {} keys differ)",
        keys.len()
    ))
}

/// Fails with the first key on which two tables differ.
pub(crate) fn same_table(
    what: &str,
    keys: &[u64],
    one: &[NodeId],
    other: &[NodeId],
) -> Result<(), Violation> {
    match difference(keys, one, other) {
        Some(difference) => Err(Violation::new(format!("{what}: {difference}"))),
        None => Ok(()),
    }
}

/// A fingerprint of the subject's tables for fixed nodes, keys and seeds.
///
/// No law can see another process; two processes that print the same digest had the same tables.
/// [`enforce_across_processes`](crate::enforce_across_processes) compares it with that of a child.
///
/// # Errors
///
/// That of a build which is refused.
pub fn digest(subject: &Subject<'_>) -> Result<u64, BuildError> {
    let capabilities = (subject.build)(0, &Node::numbered(1))?.capabilities();
    let mut digest = 0;
    for nodes in samples::node_lists(&capabilities, 129) {
        let placement = (subject.build)(nodes.len() as u64, &nodes)?;
        for key in samples::keys(nodes.len()) {
            digest = combine(digest, u64::from(placement.lookup(key).0));
        }
    }
    Ok(digest)
}
