//! What ideal random assignment would give for the same nodes and keys.

/// The expected `max_over_mean` of ideal random assignment, computed once for all algorithms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RandomReference {
    /// For distinct keys, each once.
    pub keys: Option<f64>,
    /// For requests, every key keeping its count.
    pub requests: Option<f64>,
}
