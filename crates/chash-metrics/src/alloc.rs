//! A counting allocator: what a piece of code requested from the heap, to the byte.
//!
//! Counters are per thread, so that a measurement sees its own thread alone and costs a few
//! instructions. Only binaries and test targets install it:
//!
//! ```
//! use chash_metrics::alloc::{CountingAllocator, measure};
//! #[global_allocator]
//! static ALLOCATOR: CountingAllocator = CountingAllocator::new();
//!
//! let (table, usage) = measure(|| vec![0u64; 1000]);
//! assert_eq!((usage.live_bytes, usage.allocations), (8000, 1));
//! drop(table);
//! ```
#![expect(unsafe_code, reason = "GlobalAlloc is an unsafe trait; nothing else in this crate is unsafe")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The counters of one thread.
struct Counters {
    /// Bytes requested and not returned. A thread may return what another requested: hence signed.
    live: Cell<i64>,
    /// The highest `live` since the start of the measurement under way.
    peak: Cell<i64>,
    /// Calls that requested memory.
    allocations: Cell<u64>,
}

thread_local! {
    // Const-initialised and without a destructor: reaching it never allocates and never fails,
    // so it can be used inside the allocator.
    static COUNTERS: Counters =
        const { Counters { live: Cell::new(0), peak: Cell::new(0), allocations: Cell::new(0) } };
}

fn count(change: i64, allocations: u64) {
    COUNTERS.with(|counters| {
        let live = counters.live.get() + change;
        counters.live.set(live);
        counters.peak.set(counters.peak.get().max(live));
        counters.allocations.set(counters.allocations.get() + allocations);
    });
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The system's allocator, counting requested bytes for each thread.
#[derive(Debug, Default)]
pub struct CountingAllocator;

impl CountingAllocator {
    /// For a `static` with `#[global_allocator]`.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

// SAFETY: every call is passed on to `System` unchanged and its answer returned unchanged; the
// counting beside it neither allocates nor unwinds.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(signed(layout.size()), 1);
        // SAFETY: the caller's promise about `layout` is the one `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(signed(layout.size()), 1);
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-signed(layout.size()), 0);
        // SAFETY: `block` came from `System` with this layout, since all memory here does.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(signed(new_size) - signed(layout.size()), 1);
        // SAFETY: as in `dealloc`; the caller vouches for `new_size`.
        unsafe { System.realloc(block, layout, new_size) }
    }
}

/// What a piece of code did to the heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes still held by what it returned.
    pub live_bytes: i64,
    /// The most bytes held at any moment, above those held before.
    pub peak_bytes: i64,
    /// Requests, reallocations included.
    pub allocations: u64,
}

/// Runs `work` and tells what it requested on this thread. Measurements nest.
///
/// All zero where the [`CountingAllocator`] is not installed: see [`is_installed`].
pub fn measure<T>(work: impl FnOnce() -> T) -> (T, Usage) {
    let (live, outer_peak, allocations) = COUNTERS.with(|counters| {
        let outer_peak = counters.peak.replace(counters.live.get());
        (counters.live.get(), outer_peak, counters.allocations.get())
    });
    let answer = work();
    COUNTERS.with(|counters| {
        let usage = Usage {
            live_bytes: counters.live.get() - live,
            peak_bytes: counters.peak.get() - live,
            allocations: counters.allocations.get() - allocations,
        };
        counters.peak.set(counters.peak.get().max(outer_peak));
        (answer, usage)
    })
}

/// Whether this program counts: false where another global allocator is in place.
#[must_use]
pub fn is_installed() -> bool {
    let (probe, usage) = measure(|| std::hint::black_box(Box::new(0u8)));
    drop(probe);
    usage.allocations == 1
}
