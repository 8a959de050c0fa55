#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod conformance;
mod law;
mod laws;
mod model;
mod samples;
mod state;
mod statistics;

pub use conformance::{enforce, enforce_across_processes};
pub use law::{Builder, Law, Subject, Verdict, Violation};
pub use laws::LAWS;
pub use state::digest;

/// What the expansion of [`conformance!`] names, so that a crate under test needs no dependency for it.
#[doc(hidden)]
pub mod reexport {
    pub use chash_core::{BuildError, Distributor, Node};
}
