//! Naive placements obey every law that applies to them.

mod naive;

use chash_metrics::alloc::CountingAllocator;
use naive::{Naive, Quirk, Rule};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

chash_testkit::conformance!(ring, |seed, nodes| Naive::build(
    Rule::Ring { bits: 64 },
    Quirk::None,
    seed,
    nodes
));
chash_testkit::conformance!(ring_with_collisions,
    |seed, nodes| Naive::build(Rule::Ring { bits: 8 }, Quirk::None, seed, nodes);
    shares_follow_weights = false);
chash_testkit::conformance!(ring_of_unstated_seed,
    |_seed, nodes| Naive::build(Rule::Ring { bits: 64 }, Quirk::None, 0, nodes);
    seeded = false);
chash_testkit::conformance!(bounded_ring, |seed, nodes| Naive::build(
    Rule::BoundedRing,
    Quirk::None,
    seed,
    nodes
));
chash_testkit::conformance!(rendezvous, |seed, nodes| Naive::build(
    Rule::Rendezvous,
    Quirk::None,
    seed,
    nodes
));
chash_testkit::conformance!(modulo, |seed, nodes| Naive::build(Rule::Modulo, Quirk::None, seed, nodes));
chash_testkit::conformance!(staircase, |seed, nodes| Naive::build(Rule::Staircase, Quirk::None, seed, nodes));

#[test]
fn every_law_is_a_test() {
    let laws: Vec<&str> = chash_testkit::LAWS.iter().map(|law| law.name).collect();
    assert_eq!(laws, ring::TESTED);
}
