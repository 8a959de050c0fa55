//! The laws, on jump with and without a seed.

use chash_core::Build;
use chash_jump::{Jump, Params};
use chash_metrics::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

chash_testkit::conformance!(jump, |seed, nodes| Jump::build(&Params { seed }, nodes));
// The published function, on the keys as they are.
chash_testkit::conformance!(jump_unseeded, |_seed, nodes| Jump::build(&Params::default(), nodes); seeded = false);
