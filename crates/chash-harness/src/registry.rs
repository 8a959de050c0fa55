//! THE registration point: every algorithm, workload and metric, as plain data.
//!
//! Everything else is derived from these slices: `list`, `verify`, `run`, the benches, the schema, and
//! the test that runs the laws on every row.

use std::sync::LazyLock;

use chash_compat::{Column, System};
use chash_core::{BuildError, Distributor, KeyHasher};
use chash_hash::{HashFunction, SeededHasher};
use chash_metrics::case::{Metric, MoveTheory, ShareTheory};
use chash_workloads::Workload;

use crate::nodes::Listed;
use crate::spec::{Families, Family, ParamKind, ParamSpec, Spec, SpecError};

mod algorithms;
mod deployed;
mod workloads;

pub use deployed::law_spec;
pub use workloads::WORKLOADS;

/// What an algorithm costs, in words and symbols: N nodes, V points a node, M slots.
#[derive(Clone, Copy, Debug)]
pub struct Complexity {
    /// Of a lookup.
    pub lookup: &'static str,
    /// Of the memory.
    pub memory: &'static str,
    /// Of adding or removing a node.
    pub change: &'static str,
}

/// Which metrics an algorithm takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// All.
    Placement,
    /// Timings and memory: it answers, but places nothing.
    HarnessCost,
}

/// One algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// Its name in specs.
    pub name: &'static str,
    /// One line for `list`.
    pub summary: &'static str,
    /// The paper or system that defines it.
    pub source: &'static str,
    /// What it costs.
    pub complexity: Complexity,
    /// Its parameters.
    pub params: &'static [ParamSpec],
    /// Which metrics it takes part in.
    pub role: Role,
    /// Whether `bounded` can go over it.
    pub replicated: bool,
    /// The deployed system that it equals, which hashes keys itself and reads columns of the node list.
    pub system: Option<&'static System>,
    /// What theory says about its shares and movement.
    pub theory: fn(&Spec) -> (ShareTheory, MoveTheory),
    /// About how long a lookup takes among so many nodes, in nanoseconds: for scheduling and
    /// `--dry-run` alone.
    pub rough_lookup_ns: fn(&Spec, u64) -> f64,
    /// Heap bytes of the placement, before building it.
    pub estimate: fn(&Spec, Listed<'_>) -> u64,
    /// Builds it; the seed is the run's, unless the spec pins one.
    pub build: fn(&Spec, Listed<'_>, u64) -> Result<Box<dyn Distributor>, BuildError>,
}

impl Algorithm {
    /// The columns of a node list that it reads, beyond `name` and `weight`.
    #[must_use]
    pub fn columns(&self) -> &'static [Column] {
        self.system.map_or(&[], |system| system.columns)
    }
}

/// Every algorithm, in the order of tables: the placements, the baselines, the harness's own cost, and
/// the deployed systems.
pub static ALGORITHMS: LazyLock<Vec<Algorithm>> = LazyLock::new(|| {
    let systems = chash_compat::SYSTEMS.iter().map(deployed::row);
    algorithms::OWN.iter().copied().chain(systems).collect()
});

/// One workload.
#[derive(Debug)]
pub struct WorkloadRow {
    /// Its name in specs.
    pub name: &'static str,
    /// One line for `list`.
    pub summary: &'static str,
    /// Its parameters.
    pub params: &'static [ParamSpec],
    /// Makes the generator; `None` where the requests are a file's own.
    pub make: Option<fn(&Spec, Draw) -> Result<Box<dyn Workload>, chash_workloads::ParameterError>>,
}

/// What a generator draws: how many requests for how many keys, and from which seeds.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// Distinct keys.
    pub keys: u64,
    /// Requests.
    pub requests: u64,
    /// Seed of the draws.
    pub requests_seed: u64,
    /// Seed of which keys are hot.
    pub permutation_seed: u64,
}

/// The metrics: one CSV each, in the order in which they are listed and measured.
pub static METRICS: &[&Metric] = &[
    &chash_metrics::balance::METRIC,
    &chash_metrics::node_load::METRIC,
    &chash_metrics::movement::METRIC,
    &chash_metrics::flow::METRIC,
    &chash_metrics::bounded::METRIC,
    &chash_metrics::work::METRIC,
    &chash_metrics::memory::METRIC,
    &chash_metrics::latency::METRIC,
    &chash_metrics::latency_percentiles::METRIC,
    &chash_metrics::update::METRIC,
];

const KEY_HASHES: Families = Families { what: "key hash", get: key_hash_families, inner: |_| false };
const ALGORITHM_FAMILIES: Families =
    Families { what: "algorithm", get: algorithm_families, inner: |name| algorithm(name).replicated };
const WORKLOAD_FAMILIES: Families = Families { what: "workload", get: workload_families, inner: |_| false };

fn key_hash_families() -> Vec<Family> {
    const SEED: &[ParamSpec] = &[ParamSpec {
        name: "seed",
        kind: ParamKind::Integer { min: 0, max: u64::MAX },
        default: "0",
        meaning: "seed of the hash function",
    }];
    let family = |function: HashFunction| Family {
        name: function.name(),
        params: if function.is_seedable() { SEED } else { &[] },
    };
    HashFunction::ALL.into_iter().map(family).collect()
}

fn algorithm_families() -> Vec<Family> {
    ALGORITHMS.iter().map(|row| Family { name: row.name, params: row.params }).collect()
}

fn workload_families() -> Vec<Family> {
    WORKLOADS.iter().map(|row| Family { name: row.name, params: row.params }).collect()
}

/// Reads an algorithm spec.
///
/// # Errors
///
/// See [`Spec::parse`]; for a deployed system also what it says of its parameters together.
pub fn algorithm_spec(text: &str) -> Result<Spec, SpecError> {
    let spec = Spec::parse(text, &ALGORITHM_FAMILIES)?;
    if algorithm(spec.name).system.is_some() {
        let refused = |error| SpecError::new(format!("algorithm `{text}`: {error}"));
        deployed::hasher(&spec).map_err(refused)?;
    }
    Ok(spec)
}

/// Reads an algorithm spec, or a name that ends in `*`: every algorithm whose name begins so, with its defaults.
/// As in paths, where it does not cross a slash, `*` does not cross the dot: `compat.*` is every deployed
/// system, and `*` every other row.
///
/// # Errors
///
/// As [`algorithm_spec`], and a pattern that no name matches.
pub fn algorithm_specs(text: &str) -> Result<Vec<Spec>, SpecError> {
    let Some(start) = text.strip_suffix('*') else { return Ok(vec![algorithm_spec(text)?]) };
    let matches = |name: &str| name.strip_prefix(start).is_some_and(|rest| !rest.contains('.'));
    let rows = ALGORITHMS.iter().filter(|row| matches(row.name));
    let specs = rows.map(|row| algorithm_spec(row.name)).collect::<Result<Vec<_>, _>>()?;
    if specs.is_empty() {
        return Err(SpecError::new(format!("no algorithm is called `{text}`; `chash list` shows them all")));
    }
    Ok(specs)
}

/// An algorithm spec with only what differs from the defaults.
#[must_use]
pub fn brief(spec: &Spec) -> String {
    spec.brief(&ALGORITHM_FAMILIES)
}

/// Reads a workload spec.
///
/// # Errors
///
/// See [`Spec::parse`].
pub fn workload_spec(text: &str) -> Result<Spec, SpecError> {
    Spec::parse(text, &WORKLOAD_FAMILIES)
}

/// Reads a key hash spec.
///
/// # Errors
///
/// See [`Spec::parse`].
pub fn key_hash_spec(text: &str) -> Result<Spec, SpecError> {
    Spec::parse(text, &KEY_HASHES)
}

/// The row of an algorithm that a spec names.
///
/// # Panics
///
/// If there is none: specs are read against these rows.
#[must_use]
pub fn algorithm(name: &str) -> &'static Algorithm {
    ALGORITHMS.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no algorithm {name}"))
}

/// The row of a workload that a spec names.
///
/// # Panics
///
/// If there is none.
#[must_use]
pub fn workload(name: &str) -> &'static WorkloadRow {
    WORKLOADS.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no workload {name}"))
}

/// The `key_hash` column: the function's name, with its seed if that is not 0.
#[must_use]
pub fn key_hash_label(spec: &Spec) -> String {
    spec.brief(&KEY_HASHES)
}

/// The hasher of a key hash spec.
///
/// # Panics
///
/// If the spec was not read by [`key_hash_spec`].
#[must_use]
pub fn key_hasher(spec: &Spec) -> SeededHasher {
    let function = HashFunction::from_name(spec.name).expect("specs are read against the functions");
    let seed = if function.is_seedable() { spec.integer("seed") } else { 0 };
    SeededHasher::new(function, seed).expect("only seedable functions have a seed")
}

/// The hasher of keys that a deployed system brings; `None` where the run's own serves.
///
/// # Panics
///
/// If the spec was not read by [`algorithm_spec`].
#[must_use]
pub fn own_hasher(spec: &Spec) -> Option<Box<dyn KeyHasher>> {
    algorithm(spec.name).system?;
    Some(deployed::hasher(spec).expect("specs are read against the system's parameters"))
}

/// Builds a placement from its spec; the seed is the run's, unless the spec pins one.
///
/// # Errors
///
/// See [`chash_core::Build::build`].
pub fn build<'a>(
    spec: &Spec,
    nodes: impl Into<Listed<'a>>,
    run_seed: u64,
) -> Result<Box<dyn Distributor>, BuildError> {
    (algorithm(spec.name).build)(spec, nodes.into(), run_seed)
}

/// What of the keys a metric looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The requests: measured under every workload.
    Requests,
    /// The distinct keys at most: measured under the first workload only.
    Keys,
}

/// What of the keys this metric looks at.
#[must_use]
pub fn scope(metric: &Metric) -> Scope {
    match metric.name {
        "bounded" | "work" | "memory" | "update" => Scope::Keys,
        _ => Scope::Requests,
    }
}
