//! Every metric on placements so simple that the numbers are known.

mod balance;
mod bounded;
mod columns;
mod memory;
mod movement;
mod scenario;
mod support;
mod timings;

#[global_allocator]
static ALLOCATOR: chash_metrics::alloc::CountingAllocator = chash_metrics::alloc::CountingAllocator::new();
