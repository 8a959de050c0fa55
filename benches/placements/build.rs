//! How long does it take to build a placement?

use chash_core::Node;
use chash_harness::registry::{algorithm_spec, build};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("build");
    for (row, nodes, _) in super::placements() {
        let spec = algorithm_spec(row.name).expect("every row's defaults are valid");
        let list = Node::numbered(nodes);
        group.throughput(Throughput::Elements(u64::from(nodes)));
        group.bench_function(BenchmarkId::new(row.name, nodes), |bencher| {
            // Dropping the placement is left out of the measured time.
            bencher.iter_batched(|| (), |()| build(&spec, &list, super::SEED), BatchSize::PerIteration);
        });
    }
    group.finish();
}
