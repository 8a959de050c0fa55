//! How timings are taken: the clock, and every bound of a timing measurement.
//!
//! A measurement is bounded twice, by a count of samples and by time, so that neither a fast nor a
//! slow placement can make a run too short to mean anything or too long to wait for. The defaults are
//! those of someone who measures a few placements by hand; a plan brings bounds of its own.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Instant;

use crate::latency::Setting;

/// Nanoseconds since some moment of this process; never goes back. One call costs some 20 to 50 ns.
#[must_use]
pub fn monotonic_ns() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    u64::try_from(ORIGIN.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The bounds of timing measurements.
///
/// ```
/// use chash_metrics::timing::Timing;
/// let patient = Timing { samples: 30, threads: vec![1, 2], ..Timing::default() };
/// assert_eq!(patient.cold_lookups, Timing::default().cold_lookups);
/// ```
#[derive(Clone, Debug)]
pub struct Timing {
    /// The clock, in nanoseconds; [`monotonic_ns`] unless a test brings its own.
    pub clock: fn() -> u64,
    /// `latency`: the most samples of one setting; each is a row. Default 10, the fewest from which an
    /// interval can be given.
    pub samples: usize,
    /// `latency`: the length a hot sample aims at. Default 4 ms: a hundred thousand timer calls long, and
    /// as long as a usual scheduler's time slice.
    pub sample_ns: u64,
    /// `latency`: how long a hot setting is run untimed before its first sample, at most. Default 2 ms.
    pub warm_up_ns: u64,
    /// `latency`: the time for the samples of one setting, of which there are six for each number of
    /// threads; no sample begins after it, but one is always taken. Default 80 ms: twice what ten hot
    /// samples need.
    pub setting_ns: u64,
    /// `latency`: the numbers of threads that look up at the same time. Default one thread only.
    pub threads: Vec<usize>,
    /// `latency`: lookups of a cold sample. Few, because the first ones already warm a small
    /// placement. Default 64.
    pub cold_lookups: usize,
    /// The bytes touched before each cold sample. Default 4 MiB, 8 times a second-level cache of 512 KiB.
    pub cold_bytes: usize,
    /// `latency_percentiles`: the most samples of one cache state. Default 20,000.
    pub percentile_samples: usize,
    /// `latency_percentiles`: the time for the samples of one cache state; at least one is taken. Default 90 ms.
    pub percentile_ns: u64,
    /// `update`: the most samples of one operation; each is a row. Default 10.
    pub update_samples: usize,
    /// `update`: the time for the samples of one operation, the untimed copies included; at least one
    /// is taken. Default 50 ms.
    pub update_ns: u64,
    /// What `null` took: subtracted in `ns_per_lookup_net`, which is empty for a setting that is not
    /// here. From [`latency::null_table`](crate::latency::null_table).
    pub null: NullTable,
}

/// The median nanoseconds a lookup of the `null` placement, for each setting.
pub type NullTable = BTreeMap<Setting, f64>;

impl Default for Timing {
    fn default() -> Self {
        Self {
            clock: monotonic_ns,
            samples: 10,
            sample_ns: 4_000_000,
            warm_up_ns: 2_000_000,
            setting_ns: 80_000_000,
            threads: vec![1],
            cold_lookups: 64,
            cold_bytes: 4 << 20,
            percentile_samples: 20_000,
            percentile_ns: 90_000_000,
            update_samples: 10,
            update_ns: 50_000_000,
            null: NullTable::new(),
        }
    }
}

/// Memory to walk through before a cold sample, so that the caches hold it instead of the placement.
#[derive(Debug)]
pub(crate) struct ColdBuffer(Vec<u64>);

/// Words of one cache line of 64 bytes.
const LINE: usize = 8;

impl ColdBuffer {
    pub(crate) fn new(bytes: usize) -> Self {
        // Not zeros: those could all be one physical page of the system, which fills no cache.
        Self(vec![1; bytes.div_ceil(size_of::<u64>())])
    }

    /// Writes to every cache line.
    pub(crate) fn touch(&mut self) {
        for line in self.0.chunks_mut(LINE) {
            line[0] = line[0].wrapping_add(1);
        }
        std::hint::black_box(&mut self.0);
    }
}

/// A clock for tests: every call is one microsecond later than the one before, on each thread.
#[cfg(test)]
pub(crate) fn ticking_ns() -> u64 {
    use std::cell::Cell;
    thread_local! {
        static NOW: Cell<u64> = const { Cell::new(0) };
    }
    NOW.with(|now| {
        now.set(now.get() + 1000);
        now.get()
    })
}
