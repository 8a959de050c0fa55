//! `latency_percentiles.csv`: the distribution of the time of a lookup.
//!
//! # Protocol
//!
//! Samples are short runs of dependent lookups on one thread, made as in [`latency`](crate::latency): 32 lookups hot, 8
//! cold, because one lookup of a few nanoseconds is shorter than the timer. The quantity is the mean of a sample:
//! its duration divided by its lookups. Percentiles are by nearest rank, in integers, over all samples.
//!
//! The timer's own cost is the median of samples without lookups. It is shown and not subtracted: divided by
//! `lookups_per_sample` it is part of every value.
//!
//! # Known biases
//!
//! - The mean of 32 lookups hides a single slow one: tails are milder than those of lookups.
//! - With fewer than 1000 samples `p999_ns` is the maximum: `samples` says how many there were.
//! - Interrupts and other work on the machine are in the tail.

use crate::case::{Case, Metric, MetricError, Observation};
use crate::latency::{Api, CacheState, Mode, Setting, Worker, sampled_keys};
use crate::record::{Class, Column, Row};
use crate::stats;
use crate::timing::Timing;

/// One row for each cache state.
pub static METRIC: Metric =
    Metric { name: "latency_percentiles", class: Class::Timing, columns: COLUMNS, run };

const COLUMNS: &[Column] = &[
    Column::text(
        "cache_state",
        "hot: the placement was just used; cold: other memory was touched before the sample.",
    ),
    Column::integer(
        "lookups_per_sample",
        "",
        "Dependent lookups of one sample, whose mean is one observation.",
    ),
    Column::real("p50_ns", "ns", "The ceil(0.5*n)-th smallest of n samples, per lookup."),
    Column::real("p90_ns", "ns", "The ceil(0.9*n)-th smallest of n samples, per lookup."),
    Column::real("p99_ns", "ns", "The ceil(0.99*n)-th smallest of n samples, per lookup."),
    Column::real(
        "p999_ns",
        "ns",
        "The ceil(0.999*n)-th smallest of n samples, per lookup; the largest where n is below 1000.",
    ),
    Column::real("max_ns", "ns", "The largest sample, per lookup."),
    Column::integer("samples", "", "n, the number of samples."),
    Column::integer(
        "timer_overhead_ns",
        "ns",
        "Median duration of a sample without lookups: part of every sample, not subtracted.",
    ),
];

/// Samples without lookups.
const EMPTY_SAMPLES: usize = 1001;

/// Samples between two looks at the clock's bound and the cancellation flag.
const ROUND: usize = 16;

const fn lookups_per_sample(cache_state: CacheState) -> usize {
    match cache_state {
        CacheState::Hot => 32,
        CacheState::Cold => 8,
    }
}

fn run(case: &Case<'_>) -> Result<Vec<Observation>, MetricError> {
    let timing = case.timing;
    let placement = case.build_placement()?;
    let keys = sampled_keys(case)?;
    let overhead_ns = timer_overhead(timing);
    let mut rows = Vec::new();
    for cache_state in CacheState::ALL {
        let setting = Setting { mode: Mode::Dependent, api: Api::Single, cache_state, threads: 1 };
        let mut worker = Worker::new(timing, &*placement, &keys, 0, setting);
        let lookups = lookups_per_sample(cache_state);
        // The first samples only warm up.
        (0..ROUND).for_each(|_| _ = worker.sample(lookups));
        let samples = collect(case, || worker.sample(lookups))?;
        rows.push(Observation::ok(fields(cache_state, samples, overhead_ns)));
    }
    Ok(rows)
}

/// Samples until there are enough or their time is over.
fn collect(case: &Case<'_>, mut sample: impl FnMut() -> u64) -> Result<Vec<u64>, MetricError> {
    let timing = case.timing;
    let begin = (timing.clock)();
    let mut samples = Vec::new();
    while samples.is_empty()
        || (samples.len() < timing.percentile_samples && (timing.clock)() - begin < timing.percentile_ns)
    {
        case.check_cancelled()?;
        let missing = timing.percentile_samples.saturating_sub(samples.len());
        samples.extend((0..missing.clamp(1, ROUND)).map(|_| sample()));
    }
    Ok(samples)
}

fn timer_overhead(timing: &Timing) -> u64 {
    let mut empty: Vec<u64> = (0..EMPTY_SAMPLES)
        .map(|_| {
            let begin = (timing.clock)();
            (timing.clock)() - begin
        })
        .collect();
    empty.sort_unstable();
    stats::percentile(&empty, 1, 2)
}

fn fields(cache_state: CacheState, mut samples: Vec<u64>, overhead_ns: u64) -> Row {
    samples.sort_unstable();
    let lookups = lookups_per_sample(cache_state);
    let per_lookup = |numerator, denominator| {
        (stats::percentile(&samples, numerator, denominator) as f64 / lookups as f64).into()
    };
    vec![
        cache_state.name().into(),
        (lookups as u64).into(),
        per_lookup(50, 100),
        per_lookup(90, 100),
        per_lookup(99, 100),
        per_lookup(999, 1000),
        per_lookup(1, 1),
        (samples.len() as u64).into(),
        overhead_ns.into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Value;
    use crate::timing::ticking_ns;

    /// 1 to 2000 ns for 32 lookups, in any order: p50 is the 1000th, p99.9 the 1998th.
    #[test]
    fn percentiles_by_hand() {
        let samples = (1..=2000).rev().collect();
        let row = fields(CacheState::Hot, samples, 25);
        let per_lookup = |rank: f64| Value::Real(rank / 32.0);
        assert_eq!(row[1], Value::Integer(32));
        assert_eq!(
            row[2..7],
            [
                per_lookup(1000.0),
                per_lookup(1800.0),
                per_lookup(1980.0),
                per_lookup(1998.0),
                per_lookup(2000.0)
            ]
        );
        assert_eq!(row[7..], [Value::Integer(2000), Value::Integer(25)]);
        assert_eq!(fields(CacheState::Cold, vec![80], 0)[2], Value::Real(10.0));
    }

    #[test]
    fn the_overhead_is_one_tick() {
        let timing = Timing { clock: ticking_ns, ..Timing::default() };
        assert_eq!(timer_overhead(&timing), 1000);
    }
}
