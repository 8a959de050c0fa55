//! How timings are taken.

/// The bounds of a timing measurement.
#[derive(Clone, Debug, Default)]
pub struct Timing {}
