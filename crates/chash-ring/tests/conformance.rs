//! The laws, on rings of both sizings, with all bits and with so few that points collide.

use chash_core::Build;
use chash_metrics::alloc::CountingAllocator;
use chash_ring::{Params, Ring, Sizing};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

chash_testkit::conformance!(ring, |seed, nodes| Ring::build(&Params { seed, ..Params::default() }, nodes));
// 1024 positions: most points share theirs with others, and the smallest name owns it, so shares favour
// the small names.
chash_testkit::conformance!(
    ring_with_collisions,
    |seed, nodes| Ring::build(&Params { seed, hash_bits: 10, ..Params::default() }, nodes);
    shares_follow_weights = false
);
chash_testkit::conformance!(ring_of_fixed_size, |seed, nodes| Ring::build(
    &Params { seed, sizing: Sizing::RingSize(20_000), ..Params::default() },
    nodes
));
