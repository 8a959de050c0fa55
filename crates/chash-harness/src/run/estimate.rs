//! What a case will cost in time and memory, before it runs: for scheduling, the progress bar,
//! `--dry-run`, and refusing what does not fit.

use super::cases::CaseSpec;
use crate::plan::TimingPlan;
use crate::registry;

/// Distinct keys up to which a stream is counted in memory.
pub const COUNTED_KEYS: u64 = 10_000_000;

/// What a case is expected to cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Estimate {
    /// Nanoseconds on one core, roughly.
    pub time_ns: f64,
    /// Heap bytes of its placements at the peak.
    pub memory_bytes: u64,
}

/// The estimate of a case with this many keys and requests.
#[must_use]
pub fn case(case: &CaseSpec<'_>, timing: &TimingPlan, keys: u64, requests: u64) -> Estimate {
    let row = registry::algorithm(case.algorithm.name);
    let nodes = &case.list.nodes;
    let count = nodes.len() as f64;
    let one = (row.estimate)(case.algorithm, case.list.into());
    let lookup = (row.rough_lookup_ns)(case.algorithm, nodes.len() as u64);
    let build = 1e3 + one as f64 * 3.0;
    let passes = if keys > COUNTED_KEYS { keys as f64 + requests as f64 } else { keys as f64 };
    let (time_ns, placements) = match case.metric.name {
        "balance" | "node_load" => (build + passes * (lookup + 3.0) + count * 400.0, 1),
        // Seven events, of which one doubles the nodes.
        "movement" => (9.0 * build + 9.0 * passes * (lookup + 5.0), 4),
        "bounded" => (6.0 * build + 6.0 * keys as f64 * lookup * 3.0, 3),
        "work" => (build + 10_000.0 * (lookup * 4.0 + 20.0), 1),
        "memory" => (2.0 * build, 1),
        "latency" => {
            (build + 6.0 * (timing.setting_ns + timing.warm_up_ns) as f64 * timing.threads.len() as f64, 1)
        }
        "latency_percentiles" => (build + 2.0 * timing.percentile_ns as f64, 1),
        _ => (4.0 * (build * f64::from(timing.update_samples)).min(timing.update_ns as f64).max(build), 2),
    };
    // Building holds the points once more while they are sorted.
    Estimate { time_ns, memory_bytes: one.saturating_mul(placements).saturating_mul(2) }
}

/// Bytes that the keys of a group take, with or without their own bytes.
#[must_use]
pub fn key_bytes(keys: u64, keeping: bool) -> u64 {
    if keys > COUNTED_KEYS { 1 << 20 } else { keys * if keeping { 56 } else { 24 } }
}

/// The most memory the plan's deterministic cases can hold at once on `jobs` threads, beside the keys.
#[must_use]
pub fn peak_bytes(cases: &[Estimate], jobs: usize, key_bytes: u64) -> u64 {
    let mut sizes: Vec<u64> = cases.iter().map(|case| case.memory_bytes).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let placements = sizes.iter().take(jobs).fold(0u64, |sum, size| sum.saturating_add(*size));
    placements.saturating_add(key_bytes)
}
