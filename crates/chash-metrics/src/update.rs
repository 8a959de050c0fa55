//! `update.csv`: the time of building a placement and of changing it.
//!
//! # Protocol
//!
//! | `op` | what is timed |
//! |---|---|
//! | `build` | building the placement of the case's nodes |
//! | `add` | one node joins |
//! | `remove` | the last node of the list leaves: the one removal that every placement of this kind allows |
//! | `batch` | one `apply` that removes the last max(1, ⌊N/10⌋) nodes, the last one first, and adds as many new ones |
//!
//! Each sample works on a fresh copy; copying before and dropping after are not timed. A refused change gives
//! one `unsupported` row.
//!
//! # Known biases
//!
//! - A fresh copy has no spare capacity: the first change pays for growing the tables, as the first one
//!   after a build does.
//! - `build` includes reading the specification of the placement and its nodes.
//! - The timer's cost (`timer_overhead_ns` in `latency_percentiles.csv`) is in every value: it matters for
//!   updates of less than a microsecond.

use chash_core::{Change, Distributor, MembershipError};

use crate::case::{Case, Metric, MetricError, Observation};
use crate::events::Newcomers;
use crate::record::{Class, Column};

/// One row for each sample.
pub static METRIC: Metric = Metric { name: "update", class: Class::Timing, columns: COLUMNS, run };

const COLUMNS: &[Column] = &[
    Column::text(
        "op",
        "build: the whole placement; add: one node joins; remove: the last node leaves; batch: the last max(1, N/10) nodes leave and as many new ones join in one call.",
    ),
    Column::integer("sample", "", "Number of the sample in its operation, from 0."),
    Column::integer(
        "elapsed_ns",
        "ns",
        "Duration of the operation; copying before and dropping after are not timed.",
    ),
];

/// A change that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Add,
    Remove,
    Batch,
}

impl Op {
    const ALL: [Self; 3] = [Self::Add, Self::Remove, Self::Batch];

    const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Remove => "remove",
            Self::Batch => "batch",
        }
    }

    fn changes(self, case: &Case<'_>) -> Vec<Change> {
        let count = match self {
            Self::Add | Self::Remove => 1,
            Self::Batch => (case.nodes.len() / 10).max(1),
        };
        let mut newcomers = Newcomers::new(case.nodes);
        let removals = case.nodes.iter().rev().take(count).map(|node| Change::Remove(node.id));
        let additions = (0..count).map(|_| Change::Add(newcomers.next_of(1)));
        match self {
            Self::Add => additions.collect(),
            Self::Remove => removals.collect(),
            Self::Batch => removals.chain(additions).collect(),
        }
    }

    /// Single changes go through the call a program would make for them.
    fn perform(self, placement: &mut dyn Distributor, changes: &[Change]) -> Result<(), MembershipError> {
        match (self, changes) {
            (Self::Add, [Change::Add(node)]) => placement.add(node),
            (Self::Remove, [Change::Remove(id)]) => placement.remove(*id),
            _ => placement.apply(changes),
        }
    }
}

fn run(case: &Case<'_>) -> Result<Vec<Observation>, MetricError> {
    let placement = case.build_placement()?;
    let clock = case.timing.clock;
    let mut rows = samples(case, "build", || {
        let begin = clock();
        let built = case.build_placement();
        let elapsed_ns = clock() - begin;
        built.map(|_| elapsed_ns)
    })?;
    for op in Op::ALL {
        let changes = op.changes(case);
        let timed = samples(case, op.name(), || {
            let mut copy = placement.clone();
            let begin = clock();
            let outcome = op.perform(&mut *copy, &changes);
            let elapsed_ns = clock() - begin;
            std::hint::black_box(&copy);
            outcome.map_err(MetricError::from).map(|()| elapsed_ns)
        });
        match timed {
            Ok(timed) => rows.extend(timed),
            Err(MetricError::Membership(refusal)) => {
                rows.push(Observation::unsupported(vec![op.name().into()], COLUMNS, refusal));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(rows)
}

/// Rows of an operation until there are enough or their time is over.
fn samples(
    case: &Case<'_>,
    op: &str,
    mut sample: impl FnMut() -> Result<u64, MetricError>,
) -> Result<Vec<Observation>, MetricError> {
    let timing = case.timing;
    let begin = (timing.clock)();
    let mut rows = Vec::new();
    while rows.is_empty()
        || (rows.len() < timing.update_samples && (timing.clock)() - begin < timing.update_ns)
    {
        case.check_cancelled()?;
        let elapsed_ns = sample()?;
        rows.push(Observation::ok(vec![op.into(), (rows.len() as u64).into(), elapsed_ns.into()]));
    }
    Ok(rows)
}
