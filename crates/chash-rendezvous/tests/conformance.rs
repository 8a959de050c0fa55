//! The laws, on this placement.

use chash_core::Build as _;
use chash_metrics::alloc::CountingAllocator;
use chash_rendezvous::{Params, Rendezvous};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

chash_testkit::conformance!(rendezvous, |seed, nodes| Rendezvous::build(
    &Params { seed, ..Params::default() },
    nodes
));

// Ties are certain here, and go to the smaller names.
chash_testkit::conformance!(rendezvous_with_ties, |seed, nodes| Rendezvous::build(
    &Params { seed, hash_bits: 10 },
    nodes
); shares_follow_weights = false);
