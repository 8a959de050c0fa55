#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod modulo;
mod null;
mod random;

pub use modulo::{Modulo, ModuloParams};
pub use null::Null;
pub use random::{Random, RandomParams};
