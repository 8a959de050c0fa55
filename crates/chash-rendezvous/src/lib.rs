#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod arch;
mod candidates;
mod neg_ln;
mod rendezvous;
mod score;

pub use rendezvous::{Params, Rendezvous};
