#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod bounded;
mod factor;
mod loads;
mod store;

pub use bounded::Bounded;
pub use factor::{Factor, FactorError};
pub use store::{KeyError, KeyStore, Move};
