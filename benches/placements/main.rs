//! `cargo bench`: how long lookups, builds, membership changes and key hashes take.
//!
//! One file for each question, one generic body in each, over every row of the registry. Options after
//! `--` are criterion's: a filter, `--save-baseline`, `--quick`. Afterwards the estimates stand in
//! `results/<date>-bench/estimates.csv`, one row for each benchmark.

mod build;
mod export;
mod key_hash;
mod lookup;
mod update;

use std::time::{Duration, SystemTime};

use chash_core::Distributor;
use chash_core::Node;
use chash_harness::registry::{ALGORITHMS, Algorithm};
use chash_harness::registry::{algorithm_spec, build as build_spec};
use criterion::Criterion;

/// Numbers of nodes.
const NODES: [u32; 4] = [10, 100, 1000, 10_000];

/// Seed of placements and keys.
const SEED: u64 = 1;

fn main() {
    let start = SystemTime::now();
    let mut criterion = Criterion::default()
        .output_directory(&export::home())
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300))
        .configure_from_args();
    lookup::bench(&mut criterion);
    build::bench(&mut criterion);
    update::bench(&mut criterion);
    key_hash::bench(&mut criterion);
    criterion.final_summary();
    match export::export(start) {
        Ok(Some(path)) => println!("estimates in {}", path.display()),
        // Nothing was measured: `--test`, `--list`, or a filter without a match.
        Ok(None) => {}
        Err(error) => eprintln!("the estimates could not be exported: {error}"),
    }
}

/// The most nodes under a deployed system: beyond, those with hundreds of points a node take minutes to hash them.
const DEPLOYED_NODES: u32 = 1000;

/// Every algorithm with every number of nodes that it can hold.
fn placements() -> impl Iterator<Item = (&'static Algorithm, u32, Box<dyn Distributor>)> {
    ALGORITHMS.iter().flat_map(|row| {
        let fits = |nodes: &u32| row.system.is_none() || *nodes <= DEPLOYED_NODES;
        NODES.into_iter().filter(fits).filter_map(move |nodes| {
            let spec = algorithm_spec(row.name).expect("every row's defaults are valid");
            Some((row, nodes, build_spec(&spec, &Node::numbered(nodes), SEED).ok()?))
        })
    })
}

/// `count` well-mixed keys.
fn keys(count: u64) -> Vec<u64> {
    (0..count).map(|i| chash_core::mix::combine(SEED, i)).collect()
}
