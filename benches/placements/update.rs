//! How long does it take to add a node, and to remove the last one?

use chash_core::{Node, NodeId};
use criterion::{BatchSize, BenchmarkId, Criterion};

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("add");
    for (row, nodes, placement) in super::placements() {
        let newcomer = Node::new(NodeId(nodes), "newcomer");
        if placement.clone().add(&newcomer).is_err() {
            continue;
        }
        group.bench_function(BenchmarkId::new(row.name, nodes), |bencher| {
            let add = |copy: &mut Box<dyn chash_core::Distributor>| copy.add(&newcomer);
            bencher.iter_batched_ref(|| placement.clone(), add, BatchSize::PerIteration);
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group("remove");
    for (row, nodes, placement) in super::placements() {
        let last = NodeId(nodes - 1);
        if placement.clone().remove(last).is_err() {
            continue;
        }
        group.bench_function(BenchmarkId::new(row.name, nodes), |bencher| {
            let remove = |copy: &mut Box<dyn chash_core::Distributor>| copy.remove(last);
            bencher.iter_batched_ref(|| placement.clone(), remove, BatchSize::PerIteration);
        });
    }
    group.finish();
}
