//! How long does a lookup take, one at a time and in batches?

use std::hint::black_box;

use chash_core::NodeId;
use criterion::{BenchmarkId, Criterion, Throughput};

/// Keys in one iteration: few enough to stay in the first-level cache beside the answers.
const KEYS: u64 = 1024;

pub(crate) fn bench(criterion: &mut Criterion) {
    let keys = super::keys(KEYS);
    let mut owners = vec![NodeId::default(); keys.len()];

    let mut group = criterion.benchmark_group("lookup_single");
    group.throughput(Throughput::Elements(KEYS));
    for (row, nodes, placement) in super::placements() {
        group.bench_function(BenchmarkId::new(row.name, nodes), |bencher| {
            bencher.iter(|| {
                for key in &keys {
                    black_box(placement.lookup(black_box(*key)));
                }
            });
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group("lookup_batch");
    group.throughput(Throughput::Elements(KEYS));
    for (row, nodes, placement) in super::placements() {
        group.bench_function(BenchmarkId::new(row.name, nodes), |bencher| {
            bencher.iter(|| {
                placement.lookup_batch(black_box(&keys), &mut owners);
                black_box(&owners);
            });
        });
    }
    group.finish();
}
