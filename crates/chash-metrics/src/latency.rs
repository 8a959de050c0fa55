//! `latency.csv`: nanoseconds a lookup, as samples.
//!
//! # Protocol
//!
//! - **Keys**: the workload's first requests in their order, up to 65,536 of them, already hashed: hot keys come
//!   as often as they do in the workload, and the list is long enough that a branch predictor does not learn it.
//! - **Calls** go through `&dyn Distributor`, as a program that chooses its placement at run time makes them: a single
//!   lookup pays one virtual call (about 0.3 to 1 ns), a batch one for each block of 2048.
//! - **`mode`**: `throughput` looks up independent keys; in `dependent` each key is combined with the previous
//!   answer, so that no lookup begins before the one before has ended.
//! - **`cache_state`**: `hot` warms up until it knows how many lookups take `Timing::sample_ns`, and makes as many
//!   in each sample; `cold` first writes to `Timing::cold_bytes` of other memory, then makes
//!   `Timing::cold_lookups` lookups, of which the keys are read into the cache before, and the placement is not.
//! - **`threads`**: all share one placement, each with its own keys and its own memory to touch. `elapsed_ns` is the
//!   time of the slowest thread, `lookups` the sum of all, so that `ns_per_lookup` falls where threads help.
//! - **`ns_per_lookup_net`** is the value minus the median of the `null` placement in the same setting: what
//!   the loop, the virtual call and the timer cost. Never clamped: a value around or below 0 says that the
//!   placement cannot be told from nothing.
//!
//! Keys are opaque to the compiler and answers are used, so no lookup can be left out.
//!
//! # Known biases
//!
//! - Other work on the machine lengthens samples and never shortens them: compare medians or minima.
//! - `cold` also evicts the code of the lookup; a third-level cache may still hold the placement; and the first
//!   lookups of a small placement warm it for the rest.
//! - A placement that counts loads is asked while it holds nothing: its walks past full nodes are not in here.
//! - `dependent` adds an exclusive-or and an and to every lookup, which `null` pays too.
//! - With several threads the first lookups of a sample may run before all threads have begun.

use std::hint::black_box;
use std::sync::Barrier;

use chash_core::{Distributor, NodeId};

use crate::case::{Case, Metric, MetricError, Observation};
use crate::record::{Class, Column, Value};
use crate::stats;
use crate::timing::{ColdBuffer, NullTable, Timing};

/// One row for each sample.
pub static METRIC: Metric = Metric { name: "latency", class: Class::Timing, columns: COLUMNS, run };

const COLUMNS: &[Column] = &[
    Column::text("mode", "throughput: independent keys; dependent: each key depends on the previous answer."),
    Column::text("api", "single: one call for each key; batch: one call for a block of keys."),
    Column::text(
        "cache_state",
        "hot: the placement was just used; cold: other memory was touched before the sample.",
    ),
    Column::integer("threads", "", "Threads that look up at the same time in one shared placement."),
    Column::integer("sample", "", "Number of the sample in its setting, from 0."),
    Column::integer("lookups", "", "Lookups of the sample, of all threads together."),
    Column::integer("elapsed_ns", "ns", "Duration of the sample: of the slowest thread."),
    Column::real("ns_per_lookup", "ns", "elapsed_ns divided by lookups."),
    Column::real(
        "ns_per_lookup_net",
        "ns",
        "ns_per_lookup minus the median of the null placement in the same mode, api, cache state and threads; may be negative.",
    ),
];

/// Keys that are looked up in turn.
const KEYS: usize = 1 << 16;

/// Keys of one batch call.
const BATCH: usize = 2048;

/// Lookups of the first warm-up run; each further run doubles them.
const FIRST_RUN: u64 = 16;

/// Whether lookups wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// They do not.
    Throughput,
    /// Each key depends on the previous answer.
    Dependent,
}

/// How lookups are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Api {
    /// One call for each key.
    Single,
    /// One call for a block of keys.
    Batch,
}

/// What the caches hold when a sample begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CacheState {
    /// The placement, as far as it fits.
    Hot,
    /// Other memory.
    Cold,
}

impl CacheState {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Hot, Self::Cold];

    /// The name in the `cache_state` column.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hot => "hot",
            Self::Cold => "cold",
        }
    }
}

/// What is compared with what: numbers of one setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// Whether lookups wait for each other.
    pub mode: Mode,
    /// How lookups are called.
    pub api: Api,
    /// What the caches hold.
    pub cache_state: CacheState,
    /// Threads at the same time.
    pub threads: usize,
}

impl Setting {
    /// Every setting with one of these numbers of threads. A batch of dependent keys does not exist.
    pub fn all(threads: &[usize]) -> impl Iterator<Item = Self> {
        let loops =
            [(Mode::Throughput, Api::Single), (Mode::Throughput, Api::Batch), (Mode::Dependent, Api::Single)];
        threads.iter().flat_map(move |threads| {
            loops.into_iter().flat_map(move |(mode, api)| {
                CacheState::ALL.map(|cache_state| Self { mode, api, cache_state, threads: *threads })
            })
        })
    }

    /// The first four columns.
    fn fields(self) -> [Value; 4] {
        let mode = match self.mode {
            Mode::Throughput => "throughput",
            Mode::Dependent => "dependent",
        };
        let api = match self.api {
            Api::Single => "single",
            Api::Batch => "batch",
        };
        [mode.into(), api.into(), self.cache_state.name().into(), (self.threads as u64).into()]
    }
}

/// One timed run of lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    lookups: u64,
    elapsed_ns: u64,
}

impl Sample {
    fn ns_per_lookup(self) -> f64 {
        self.elapsed_ns as f64 / self.lookups as f64
    }
}

fn run(case: &Case<'_>) -> Result<Vec<Observation>, MetricError> {
    let placement = case.build_placement()?;
    let keys = sampled_keys(case)?;
    let mut rows = Vec::new();
    for setting in Setting::all(&case.timing.threads) {
        let samples = measure(case, &*placement, &keys, setting)?;
        rows.extend(observations(setting, &samples, case.timing.null.get(&setting).copied()));
    }
    Ok(rows)
}

/// The keys that timings look up in turn.
pub(crate) fn sampled_keys(case: &Case<'_>) -> Result<Vec<u64>, MetricError> {
    if case.requests.is_empty() {
        return Err(MetricError::Failed("there are no requests to look up".to_owned()));
    }
    Ok(case.requests[..KEYS.min(case.requests.len())].to_vec())
}

fn observations(setting: Setting, samples: &[Sample], null: Option<f64>) -> Vec<Observation> {
    samples
        .iter()
        .zip(0u64..)
        .map(|(sample, number)| {
            let mut row = setting.fields().to_vec();
            row.extend([
                number.into(),
                sample.lookups.into(),
                sample.elapsed_ns.into(),
                sample.ns_per_lookup().into(),
                null.map(|null| sample.ns_per_lookup() - null).into(),
            ]);
            Observation::ok(row)
        })
        .collect()
}

/// The median of `ns_per_lookup` in each setting of these rows, which are those of the `null` placement
/// with the same threads.
///
/// Settings without rows have no entry.
#[must_use]
pub fn null_table(rows: &[Observation], threads: &[usize]) -> NullTable {
    let ns_per_lookup = COLUMNS.iter().position(|column| column.name == "ns_per_lookup");
    Setting::all(threads)
        .filter_map(|setting| {
            let of_setting = rows.iter().filter(|row| row.row.starts_with(&setting.fields()));
            let values = of_setting.filter_map(|row| match row.row.get(ns_per_lookup?) {
                Some(Value::Real(ns)) => Some(*ns),
                _ => None,
            });
            Some((setting, stats::median(values.collect())?))
        })
        .collect()
}

/// The lookups of a sample that takes about `sample_ns`, going by a run of some; at least 1.
fn sample_size(sample_ns: u64, run: Sample) -> usize {
    let scaled = u128::from(run.lookups) * u128::from(sample_ns) / u128::from(run.elapsed_ns.max(1));
    usize::try_from(scaled.max(1)).unwrap_or(usize::MAX)
}

fn measure(
    case: &Case<'_>,
    placement: &dyn Distributor,
    keys: &[u64],
    setting: Setting,
) -> Result<Vec<Sample>, MetricError> {
    let timing = case.timing;
    let threads = setting.threads.max(1);
    let mut workers: Vec<Worker<'_>> = (0..threads)
        .map(|i| Worker::new(timing, placement, keys, i * (keys.len() / threads), setting))
        .collect();
    let lookups = match setting.cache_state {
        CacheState::Hot => sample_size(timing.sample_ns, warm_up(timing, &mut workers[0])),
        CacheState::Cold => timing.cold_lookups.max(1),
    };
    let mut samples = Vec::with_capacity(timing.samples);
    let begin = (timing.clock)();
    while samples.is_empty()
        || (samples.len() < timing.samples && (timing.clock)() - begin < timing.setting_ns)
    {
        case.check_cancelled()?;
        let elapsed_ns = match &mut workers[..] {
            [alone] => alone.sample(lookups),
            together => sample_together(together, lookups),
        };
        samples.push(Sample { lookups: (lookups * threads) as u64, elapsed_ns });
    }
    Ok(samples)
}

/// Makes longer and longer runs until one takes half a sample or the time is over; the fastest for its
/// lookups, so that an interruption does not shorten the samples.
fn warm_up(timing: &Timing, worker: &mut Worker<'_>) -> Sample {
    let begin = (timing.clock)();
    let mut time = |lookups| Sample { lookups, elapsed_ns: worker.sample(lookups as usize) };
    let mut run = time(FIRST_RUN);
    let mut fastest = run;
    while run.elapsed_ns < timing.sample_ns / 2 && (timing.clock)() - begin < timing.warm_up_ns {
        run = time(2 * run.lookups);
        if run.ns_per_lookup() < fastest.ns_per_lookup() {
            fastest = run;
        }
    }
    fastest
}

/// One sample on every thread; the time of the slowest.
fn sample_together(workers: &mut [Worker<'_>], lookups: usize) -> u64 {
    let barrier = Barrier::new(workers.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = workers
            .iter_mut()
            .map(|worker| {
                let barrier = &barrier;
                scope.spawn(move || {
                    if worker.setting.cache_state == CacheState::Hot {
                        // A new thread may run on a processor that has not seen the placement.
                        worker.look_up(lookups / 4);
                    }
                    barrier.wait();
                    worker.sample(lookups)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a lookup never panics")).max().unwrap_or(0)
    })
}

/// One thread's lookups: where it is in the keys, and what it touches before a cold sample.
#[derive(Debug)]
pub(crate) struct Worker<'a> {
    clock: fn() -> u64,
    placement: &'a dyn Distributor,
    keys: &'a [u64],
    /// The next key.
    position: usize,
    setting: Setting,
    answers: Vec<NodeId>,
    previous: NodeId,
    cold: Option<ColdBuffer>,
    /// The keys of a cold sample, read before it begins.
    near: Vec<u64>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        timing: &Timing,
        placement: &'a dyn Distributor,
        keys: &'a [u64],
        position: usize,
        setting: Setting,
    ) -> Self {
        let cold = setting.cache_state == CacheState::Cold;
        Self {
            clock: timing.clock,
            placement,
            keys,
            position,
            setting,
            answers: vec![NodeId::default(); BATCH],
            previous: NodeId::default(),
            cold: cold.then(|| ColdBuffer::new(timing.cold_bytes)),
            near: Vec::new(),
        }
    }

    /// The time of `lookups` lookups, after what the cache state asks for.
    pub(crate) fn sample(&mut self, lookups: usize) -> u64 {
        if let Some(cold) = &mut self.cold {
            cold.touch();
            self.near.clear();
            while self.near.len() < lookups {
                let next = next_keys(self.keys, &mut self.position, lookups - self.near.len());
                self.near.extend_from_slice(next);
            }
            self.answers.fill(NodeId::default());
            // The clock's own code and data come back into the cache.
            black_box((self.clock)());
            let near = std::mem::take(&mut self.near);
            let begin = (self.clock)();
            for keys in near.chunks(BATCH) {
                self.look_up_keys(keys);
            }
            let end = (self.clock)();
            self.near = near;
            end - begin
        } else {
            let begin = (self.clock)();
            self.look_up(lookups);
            (self.clock)() - begin
        }
    }

    fn look_up(&mut self, mut lookups: usize) {
        while lookups > 0 {
            let keys = next_keys(self.keys, &mut self.position, lookups.min(BATCH));
            lookups -= keys.len();
            self.look_up_keys(keys);
        }
    }

    /// At most [`BATCH`] keys.
    fn look_up_keys(&mut self, keys: &[u64]) {
        let placement = black_box(self.placement);
        match (self.setting.mode, self.setting.api) {
            (Mode::Throughput, Api::Single) => {
                let mut sum = 0u32;
                for key in keys {
                    sum = sum.wrapping_add(placement.lookup(*key).0);
                }
                black_box(sum);
            }
            (Mode::Throughput, Api::Batch) => {
                let answers = &mut self.answers[..keys.len()];
                placement.lookup_batch(keys, answers);
                black_box(answers);
            }
            (Mode::Dependent, _) => {
                // Always 0, which the compiler does not know: the keys stay the same, and each waits
                // for the answer before.
                let nothing = black_box(0u64);
                for key in keys {
                    self.previous = placement.lookup(key ^ (u64::from(self.previous.0) & nothing));
                }
                black_box(self.previous);
            }
        }
    }
}

/// The next keys in turn, at least one and at most `most`, from the beginning again after the last.
fn next_keys<'a>(keys: &'a [u64], position: &mut usize, most: usize) -> &'a [u64] {
    let begin = *position;
    let end = keys.len().min(begin.saturating_add(most));
    *position = if end == keys.len() { 0 } else { end };
    &keys[begin..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_sizes_by_hand() {
        let size = |lookups, elapsed_ns| sample_size(1000, Sample { lookups, elapsed_ns });
        // 10 ns a lookup: 100 of them.
        assert_eq!(size(64, 640), 100);
        // One lookup is longer than a sample.
        assert_eq!(size(1, 100_000), 1);
        // A clock too coarse to see the run.
        assert_eq!(size(16, 0), 16_000);
    }

    #[test]
    fn keys_come_in_turn() {
        let keys = [1, 2, 3, 4, 5];
        let mut position = 3;
        assert_eq!(next_keys(&keys, &mut position, 4), [4, 5]);
        assert_eq!(next_keys(&keys, &mut position, 4), [1, 2, 3, 4]);
        assert_eq!(next_keys(&keys, &mut position, usize::MAX), [5]);
    }

    #[test]
    fn settings_are_all_but_dependent_batches() {
        let all: Vec<Setting> = Setting::all(&[1, 4]).collect();
        assert_eq!(all.len(), 12);
        assert!(all.iter().all(|setting| (setting.mode, setting.api) != (Mode::Dependent, Api::Batch)));
        let mut sorted = all.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 12);
    }

    /// `net` is the value minus the median of null in the same setting, and empty without one.
    #[test]
    fn net_is_not_clamped() {
        let settings: Vec<Setting> = Setting::all(&[1]).collect();
        let null = [10, 40, 20].map(|elapsed_ns| Sample { lookups: 10, elapsed_ns });
        let rows = observations(settings[0], &null, None);
        assert_eq!(rows[0].row[8], Value::Missing);
        let table = null_table(&rows, &[1]);
        assert_eq!(table, NullTable::from([(settings[0], 2.0)]));
        let fast = observations(
            settings[0],
            &[Sample { lookups: 4, elapsed_ns: 2 }],
            table.get(&settings[0]).copied(),
        );
        assert_eq!(fast[0].row[7..], [Value::Real(0.5), Value::Real(-1.5)]);
    }
}
