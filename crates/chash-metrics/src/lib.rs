#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

pub mod alloc;
pub mod case;
pub mod keys;
pub mod random;
pub mod record;
pub mod stats;
pub mod timing;
