//! Every row of the registry: it builds, it is described, and it obeys the laws.

use chash_core::Node;
use chash_harness::cmd::verify::check;
use chash_harness::registry::{ALGORITHMS, Role, WORKLOADS, algorithm_spec, build, law_spec, workload_spec};
use chash_metrics::alloc::CountingAllocator;
use chash_testkit::{LAWS, Verdict};
use rayon::prelude::*;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

#[test]
fn every_algorithm_obeys_the_laws() {
    let placements = ALGORITHMS.iter().filter(|row| row.role == Role::Placement);
    let checks: Vec<_> = placements
        .flat_map(|row| {
            let spec = law_spec(row).unwrap();
            LAWS.iter().map(move |law| (spec.clone(), law))
        })
        .collect();
    let broken: Vec<String> = checks
        .par_iter()
        .filter_map(|(spec, law)| match check(spec, law) {
            Verdict::Failed(violations) => Some(format!("{spec} breaks {}: {violations:?}", law.name)),
            Verdict::Passed | Verdict::NotApplicable(_) => None,
        })
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_row_builds_from_its_defaults_and_is_described() {
    let mut names = Vec::new();
    for row in ALGORITHMS.iter() {
        let spec = algorithm_spec(row.name).unwrap();
        assert_eq!(algorithm_spec(&spec.to_string()).unwrap(), spec, "{spec} is not its own canonical form");
        let placement = build(&spec, &Node::numbered(3), 7).unwrap();
        assert_eq!(placement.node_count(), 3);
        assert!(!row.summary.is_empty() && !row.source.is_empty(), "{}", row.name);
        let own = row.system.is_none();
        assert_eq!(row.replicated, own && placement.as_replicated().is_some(), "{}", row.name);
        names.push(row.name);
    }
    names.extend(WORKLOADS.iter().map(|row| row.name));
    for row in WORKLOADS {
        assert!(workload_spec(row.name).is_ok() && !row.summary.is_empty(), "{}", row.name);
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "a name stands twice");
}

/// The estimate is what a plan is refused by: within a tenth of what building leaves live.
#[test]
fn estimates_agree_with_the_allocator() {
    for row in ALGORITHMS.iter() {
        let spec = algorithm_spec(row.name).unwrap();
        for count in [10, 1000] {
            let nodes = Node::numbered(count);
            let estimated = (row.estimate)(&spec, (&nodes).into()) as f64;
            let (placement, usage) = chash_metrics::alloc::measure(|| build(&spec, &nodes, 7).unwrap());
            let live = usage.live_bytes as f64;
            // A kilobyte is allowed for what does not grow with the placement.
            assert!(
                (estimated - live).abs() <= 0.1 * live + 1024.0,
                "{spec}, {count} nodes: {estimated} and {live}"
            );
            drop(placement);
        }
    }
}

/// A placement depends on the run's seed, unless its spec pins one.
#[test]
fn seeds_come_from_the_run_unless_pinned() {
    let keys: Vec<u64> = (0..200).map(chash_core::mix::mix64).collect();
    for row in ALGORITHMS.iter().filter(|row| row.params.iter().any(|param| param.name == "seed")) {
        let table = |spec: &str, seed| {
            let placement = build(&algorithm_spec(spec).unwrap(), &Node::numbered(7), seed).unwrap();
            keys.iter().map(|key| placement.lookup(*key)).collect::<Vec<_>>()
        };
        assert_ne!(table(row.name, 1), table(row.name, 2), "{}", row.name);
        let pinned = format!("{}:seed=1", row.name);
        assert_eq!(table(&pinned, 1), table(&pinned, 2), "{}", row.name);
        assert_eq!(table(&pinned, 2), table(row.name, 1), "{}", row.name);
    }
}
