//! How long does it take to turn a key's bytes into 64 bits?

use std::hint::black_box;

use chash_core::KeyHasher;
use chash_hash::{HashFunction, SeededHasher};
use criterion::{BenchmarkId, Criterion, Throughput};

/// Lengths of keys, in bytes: an id, a short name, a path.
const LENGTHS: [usize; 3] = [8, 16, 64];

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("key_hash");
    for function in HashFunction::ALL {
        let hasher = SeededHasher::new(function, 0).expect("seed 0 is every function's");
        for length in LENGTHS {
            let key: Vec<u8> = super::keys(length as u64).into_iter().map(|word| word as u8).collect();
            group.throughput(Throughput::Elements(1));
            group.bench_function(BenchmarkId::new(function.name(), length), |bencher| {
                bencher.iter(|| hasher.hash_key(black_box(&key)));
            });
        }
    }
    group.finish();
}
