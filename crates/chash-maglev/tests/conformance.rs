//! The laws, on tables of the default size, on small ones, and with names that meet in offset and skip.

use chash_core::Build;
use chash_maglev::{Maglev, Params};
use chash_metrics::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

chash_testkit::conformance!(maglev, |seed, nodes| Maglev::build(
    &Params { seed, ..Params::default() },
    nodes
));
// 13 slots: more nodes are refused, and a light node may have no slot.
chash_testkit::conformance!(
    maglev_with_few_slots,
    |seed, nodes| Maglev::build(&Params { table_size: 13, seed, ..Params::default() }, nodes);
    shares_follow_weights = false
);
chash_testkit::conformance!(maglev_with_collisions, |seed, nodes| Maglev::build(
    &Params { table_size: 4093, seed, hash_bits: 8 },
    nodes
));
