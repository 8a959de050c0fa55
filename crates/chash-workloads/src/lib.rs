#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod alias;
mod draw;
mod harmonic;
mod hotspot;
pub mod input;
pub mod keys;
mod math;
pub mod permutation;
pub mod seed;
mod sequential;
mod uniform;
mod workload;
mod zipf;

pub use harmonic::harmonic;
pub use hotspot::Hotspot;
pub use sequential::Sequential;
pub use uniform::Uniform;
pub use workload::{BLOCK, MAX_KEYS, ParameterError, Workload};
pub use zipf::{Zipf, ZipfRanks};
