//! `memory` and the counting allocator, against what is known to be requested.

use crate::support::{Naive, Rule, Setup, integer, mixed, real};
use chash_core::Node;
use chash_metrics::alloc::{Usage, is_installed, measure};
use chash_metrics::memory::METRIC;

#[test]
fn counts_to_the_byte() {
    assert!(is_installed());
    let (kept, usage) = measure(|| {
        drop(vec![0u8; 5000]);
        let mut grown: Vec<u64> = Vec::with_capacity(10);
        grown.reserve_exact(100);
        grown
    });
    // 5000 and then returned; 80 bytes, then grown to 800.
    assert_eq!(usage, Usage { live_bytes: 800, peak_bytes: 5000, allocations: 3 });
    drop(kept);
}

#[test]
fn measurements_nest() {
    let ((inner, kept), outer) = measure(|| {
        let first = vec![0u8; 1000];
        let (second, inner) = measure(|| vec![0u8; 300]);
        drop(vec![0u8; 50]);
        (inner, (first, second))
    });
    assert_eq!((inner.live_bytes, inner.peak_bytes, inner.allocations), (300, 300, 1));
    assert_eq!((outer.live_bytes, outer.peak_bytes, outer.allocations), (1300, 1350, 3));
    drop(kept);
}

/// The placement's own account is what the allocator sees, but for its box; what is dropped while
/// building shows in the peak only.
#[test]
fn a_placement_is_accounted_for() {
    let build = |nodes: &[Node]| {
        drop(vec![0u8; 1 << 20]);
        Naive { rule: Rule::Turns, nodes: nodes.to_vec(), by_bytes: false }
    };
    let rows = Setup::new(&[1; 50]).run(&METRIC, &mixed(10), build).unwrap();
    let integer = |column| integer(&METRIC, &rows[0], column);
    let own = integer("lookup_bytes") + integer("membership_bytes");
    assert_eq!(integer("live_bytes"), own + size_of::<Naive>() as u64);
    assert_eq!(integer("peak_build_bytes"), 1 << 20);
    // The large block, the list, 50 names, the box.
    assert_eq!(integer("allocations_count"), 53);
    assert_eq!(integer("estimated_bytes"), 5000);
    assert_eq!(real(&METRIC, &rows[0], "bytes_per_node"), integer("live_bytes") as f64 / 50.0);
}
