#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

pub mod alloc;
pub mod balance;
pub mod bounded;
pub mod case;
pub mod events;
pub mod flow;
pub mod keys;
pub mod latency;
pub mod latency_percentiles;
pub mod memory;
pub mod movement;
pub mod node_load;
pub mod place;
pub mod random;
pub mod record;
pub mod spread;
pub mod stats;
pub mod timing;
pub mod update;
pub mod work;
