//! One case: a placement with its nodes and keys, and the metric that looks at it.

use std::sync::atomic::{AtomicBool, Ordering};

use chash_core::{BuildError, Distributor, MembershipError, Node};
use thiserror::Error;

use crate::keys::KeyStream;
use crate::record::{Class, Column, Row, Value};

/// What theory says about the spread of shares of an algorithm: q², the mean squared relative
/// deviation of a node's share of key space from its fair share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareTheory {
    /// Every node owns its fair share: q² = 0.
    Even,
    /// A ring with this many points for each unit of weight.
    Ring {
        /// Points for each unit of weight.
        vnodes: u64,
    },
    /// q² follows from the exact shares of the built placement (Maglev's slots).
    FromShares,
    /// No formula.
    Unknown,
}

/// What theory says about the fraction of keys that move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveTheory {
    /// Only what must move: Karger's Theorem 4.4.
    Minimal,
    /// `1 − gcd(m, n)/max(m, n)` from m to n nodes.
    Modulo,
    /// `|m − n|/max(m, n)` from m to n nodes.
    Jump,
    /// No formula.
    Unknown,
}

/// Builds a placement of the given nodes.
pub type Builder<'a> = dyn Fn(&[Node]) -> Result<Box<dyn Distributor>, BuildError> + Sync + 'a;

/// Tells the heap bytes that building a placement of the given nodes would leave live.
pub type Estimator<'a> = dyn Fn(&[Node]) -> u64 + Sync + 'a;

/// What a metric is given.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The nodes, in list order, with ids 0, 1, 2, …
    pub nodes: &'a [Node],
    /// Builds the placement of these (or changed) nodes.
    pub build: &'a Builder<'a>,
    /// Estimates the size of the placement of these nodes without building it.
    pub estimate: &'a Estimator<'a>,
    /// The keys.
    pub keys: &'a dyn KeyStream,
    /// The first requests in their order, as hashed keys: what the latency cases ask for.
    pub requests: &'a [u64],
    /// Changes to measure besides the single events; often none.
    pub scenario: &'a crate::events::Scenario,
    /// What theory says about shares.
    pub share_theory: ShareTheory,
    /// What theory says about movement.
    pub move_theory: MoveTheory,
    /// The seed of the case's own choices (which node leaves, which keys are sampled), the same for
    /// every algorithm.
    pub seed: u64,
    /// How timings are taken.
    pub timing: &'a crate::timing::Timing,
    /// The reference of ideal random assignment for these nodes and keys, shared by all algorithms.
    pub random: &'a crate::random::RandomReference,
    /// Set when the run should end early.
    pub cancelled: &'a AtomicBool,
}

impl std::fmt::Debug for Case<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Case")
            .field("nodes", &self.nodes.len())
            .field("keys", &self.keys.key_count())
            .finish()
    }
}

impl Case<'_> {
    /// The placement of the case's nodes.
    ///
    /// # Errors
    ///
    /// [`MetricError::Unsupported`] where the algorithm has no placement of these nodes by its nature
    /// (weights, too many nodes); [`MetricError::Build`] for any other refusal.
    pub fn build_placement(&self) -> Result<Box<dyn Distributor>, MetricError> {
        (self.build)(self.nodes).map_err(|error| match error {
            BuildError::Membership(
                refusal @ (MembershipError::WeightUnsupported
                | MembershipError::CapacityExceeded { .. }
                | MembershipError::Unsupported),
            ) => MetricError::Unsupported(refusal.to_string()),
            other => MetricError::Build(other),
        })
    }

    /// An error once the run should end: call it between blocks and samples.
    ///
    /// # Errors
    ///
    /// [`MetricError::Interrupted`] if so.
    pub fn check_cancelled(&self) -> Result<(), MetricError> {
        if self.cancelled.load(Ordering::Relaxed) { Err(MetricError::Interrupted) } else { Ok(()) }
    }
}

/// Why a metric has no numbers for a case.
#[derive(Debug, Error)]
pub enum MetricError {
    /// The placement cannot do what is measured; the row says so.
    #[error("{0}")]
    Unsupported(String),
    /// The placement could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A change that should have worked was refused.
    #[error(transparent)]
    Membership(#[from] MembershipError),
    /// An answer was wrong.
    #[error("{0}")]
    Failed(String),
    /// The run was interrupted.
    #[error("interrupted")]
    Interrupted,
}

/// What became of one observation.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Measured.
    Ok,
    /// The placement cannot do it, and why.
    Unsupported(String),
    /// It went wrong, and how.
    Failed(String),
}

/// One observation: its fields beyond the identity columns, and what became of it.
///
/// An observation that is not `Ok` still fills the columns that say what was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The fields, in the order of the metric's columns.
    pub row: Row,
    /// What became of it.
    pub outcome: Outcome,
}

impl Observation {
    /// A measured row.
    #[must_use]
    pub fn ok(row: Row) -> Self {
        Self { row, outcome: Outcome::Ok }
    }

    /// What could not be measured: `tried` fills the first of `columns` fields and the rest are missing.
    #[must_use]
    pub fn unsupported(mut tried: Row, columns: &[Column], reason: impl ToString) -> Self {
        tried.resize(columns.len(), Value::Missing);
        Self { row: tried, outcome: Outcome::Unsupported(reason.to_string()) }
    }
}

/// A kind of observation: one CSV file.
#[derive(Debug)]
pub struct Metric {
    /// The file's name without `.csv`.
    pub name: &'static str,
    /// How far it repeats.
    pub class: Class,
    /// The columns after the identity columns.
    pub columns: &'static [Column],
    /// Measures a case: as many rows as there are observations.
    pub run: fn(&Case<'_>) -> Result<Vec<Observation>, MetricError>,
}
