//! The laws, on this placement.

use chash_bounded::Bounded;
use chash_core::Build;
use chash_metrics::alloc::CountingAllocator;
use chash_ring::{Params, Ring};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

chash_testkit::conformance!(bounded, |seed, nodes| {
    let ring = Ring::build(&Params { seed, vnodes: 200, ..Params::default() }, nodes)?;
    Bounded::new("1.25".parse().expect("a factor"), nodes, Box::new(ring))
});
// Every key beyond its fair share spills.
chash_testkit::conformance!(bounded_tightly, |seed, nodes| {
    let ring = Ring::build(&Params { seed, vnodes: 3, hash_bits: 10, ..Params::default() }, nodes)?;
    Bounded::new("1".parse().expect("a factor"), nodes, Box::new(ring))
});
