//! The deployed systems: one row each, made from their catalogue.

use chash_compat::{ParamValues, ServerRow, System};
use chash_core::{BuildError, KeyHasher};
use chash_metrics::case::{MoveTheory, ShareTheory};

use super::{Algorithm, Complexity, Role, algorithm, algorithm_spec};
use crate::nodes::Listed;
use crate::spec::{ParamKind, ParamSpec, Spec, SpecError};

/// What stands before a system's name.
const PREFIX: &str = "compat.";

/// Parameters under which the laws are checked where nothing else is asked for: the laws build
/// thousands of placements, and with their defaults these systems build the largest tables, or by the slowest hash.
///
/// Not fewer points for ex_hash_ring: its names of points, node and number side by side, can give all of a node's
/// points to another then (`node-1` with number 10, `node-11` with 0), and it would be nobody's replica.
const UNDER_THE_LAWS: &[(&str, &str)] = &[
    ("compat.uhashring", "vnodes=10"),
    ("compat.node-hashring", "vnode_count=8"),
    ("compat.cassandra", "num_tokens=4"),
    ("compat.ex_hash_ring", "replicas=16"),
    ("compat.katran", "ring_size=2039"),
    ("compat.cilium", "table_size=2039"),
    ("compat.sha1ring32", "points=20"),
    ("compat.sha1ring64", "points=20"),
];

/// The spec of a row under which the laws are checked if none is given: its defaults, or a smaller
/// table than those where that takes too long.
///
/// # Errors
///
/// As [`algorithm_spec`].
pub fn law_spec(row: &Algorithm) -> Result<Spec, SpecError> {
    match UNDER_THE_LAWS.iter().find(|(name, _)| *name == row.name) {
        Some((name, params)) => algorithm_spec(&format!("{name}:{params}")),
        None => algorithm_spec(row.name),
    }
}

/// The row of a system. Names and parameters live as long as the program: there is one of each.
pub(super) fn row(system: &'static System) -> Algorithm {
    let params: Vec<ParamSpec> = system.params.iter().map(param).collect();
    Algorithm {
        name: format!("{PREFIX}{}", system.name).leak(),
        summary: system.summary,
        source: system.source,
        complexity: Complexity {
            // The catalogue has both in one text.
            lookup: system.complexity.strip_prefix("lookup ").unwrap_or(system.complexity),
            memory: "as stated with the lookup, and the list",
            change: "a build",
        },
        params: params.leak(),
        role: Role::Placement,
        // `bounded` hashes keys as the run does, and would answer what the system never does.
        replicated: false,
        system: Some(system),
        theory: |_| (ShareTheory::Unknown, MoveTheory::Unknown),
        // Its own hash of the key comes first.
        rough_lookup_ns: |_, nodes| 150.0 + nodes as f64 / 100.0,
        estimate: |spec, list| {
            let bytes = system_of(spec).estimate_bytes(&given(spec), &rows(list));
            bytes.unwrap_or_default()
        },
        build: |spec, list, _| system_of(spec).build(&given(spec), rows(list)),
    }
}

/// The system's hasher of keys.
pub(super) fn hasher(spec: &Spec) -> Result<Box<dyn KeyHasher>, BuildError> {
    system_of(spec).hasher(&given(spec))
}

fn system_of(spec: &Spec) -> &'static System {
    algorithm(spec.name).system.expect("rows of systems alone come here")
}

fn given(spec: &Spec) -> Vec<(&str, &str)> {
    spec.values().collect()
}

/// The operator's list: each node with the columns that the file has of its name.
fn rows(list: Listed<'_>) -> Vec<ServerRow> {
    let row = |node: &chash_core::Node| {
        let columns = list.columns.get(&*node.name).into_iter().flatten();
        columns.fold(ServerRow::new(node.clone()), |row, (name, text)| row.with(name.as_str(), text.as_str()))
    };
    list.nodes.iter().map(row).collect()
}

fn param(spec: &chash_compat::ParamSpec) -> ParamSpec {
    let kind = match spec.values {
        ParamValues::Choice(words) => ParamKind::Choice(words),
        ParamValues::Integer(min, max) => ParamKind::Integer { min, max },
        // Whatever else there may come to be is text to a spec, and the system reads it.
        _ => ParamKind::Text(spec.requirement),
    };
    // A requirement beyond the range, as of a prime number.
    let meaning = match spec.values {
        ParamValues::Integer(min, max) if spec.requirement != format!("a number from {min} to {max}") => {
            format!("{}; {}", spec.summary, spec.requirement).leak()
        }
        _ => spec.summary,
    };
    ParamSpec { name: spec.name, kind, default: spec.default, meaning }
}
