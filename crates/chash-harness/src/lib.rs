#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod args;
pub mod cmd;
pub mod exit;
pub mod keys;
pub mod nodes;
pub mod plan;
pub mod registry;
pub mod run;
pub mod schema;
pub mod show;
pub mod spec;
pub mod table;

/// The README's example is tested with the crate's own.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct WorkspaceReadme;
