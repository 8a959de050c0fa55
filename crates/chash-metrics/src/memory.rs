//! `memory.csv`: what a placement requests from the heap.
//!
//! # Protocol
//!
//! The placement is built once under the [counting allocator](crate::alloc), on the measuring thread.
//! Bytes are those requested (the layouts), not those the allocator rounds up to or the system maps.
//! Beside them stands what the placement says of itself ([`Footprint`]) and what was
//! estimated before building.
//!
//! # Known biases
//!
//! - The placement's own struct, behind the box that `build` returns, is part of `live_bytes` and not of the footprint.
//! - What `build` uses to read the specification of the placement and its nodes counts towards the peak and the
//!   number of allocations.
//! - Per-allocation overhead of the system's allocator is not seen.

use chash_core::Footprint;

use crate::alloc::{self, Usage};
use crate::case::{Case, Metric, MetricError, Observation};
use crate::record::{Class, Column, Row};

/// One row.
pub static METRIC: Metric = Metric { name: "memory", class: Class::Repeatable, columns: COLUMNS, run };

const COLUMNS: &[Column] = &[
    Column::integer(
        "live_bytes",
        "bytes",
        "Heap bytes that the built placement holds, as requested from the allocator.",
    ),
    Column::integer(
        "peak_build_bytes",
        "bytes",
        "The most heap bytes requested and not returned at any moment of building.",
    ),
    Column::integer(
        "allocations_count",
        "",
        "Requests to the allocator while building, reallocations included.",
    ),
    Column::integer("lookup_bytes", "bytes", "Heap bytes that lookups read, by the placement's own account."),
    Column::integer(
        "membership_bytes",
        "bytes",
        "Heap bytes that only changes of membership need (names, weights, indexes), by the placement's own account.",
    ),
    Column::integer(
        "estimated_bytes",
        "bytes",
        "The size estimated before building, by which a plan is refused.",
    ),
    Column::real("bytes_per_node", "bytes", "live_bytes divided by the number of nodes."),
];

fn run(case: &Case<'_>) -> Result<Vec<Observation>, MetricError> {
    if !alloc::is_installed() {
        return Err(MetricError::Failed("this program does not count its allocations".to_owned()));
    }
    case.check_cancelled()?;
    let estimate = (case.estimate)(case.nodes);
    let (placement, usage) = alloc::measure(|| case.build_placement());
    let footprint = placement?.footprint();
    Ok(vec![Observation::ok(fields(usage, footprint, estimate, case.nodes.len() as u64))])
}

fn fields(usage: Usage, footprint: Footprint, estimate: u64, nodes: u64) -> Row {
    // What the measured code holds cannot be negative: it returns nothing that others requested.
    let live = u64::try_from(usage.live_bytes).unwrap_or(0);
    vec![
        live.into(),
        u64::try_from(usage.peak_bytes).unwrap_or(0).into(),
        usage.allocations.into(),
        footprint.lookup_bytes.into(),
        footprint.membership_bytes.into(),
        estimate.into(),
        (live as f64 / nodes as f64).into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{MoveTheory, ShareTheory};
    use crate::keys::CountedKeys;
    use chash_core::BuildError;

    /// The unit tests do not install the counting allocator: no figure is better than 0.
    #[test]
    fn nothing_is_made_up_where_nothing_counts() {
        let case = Case {
            nodes: &[],
            build: &|_| Err(BuildError::NoNodes),
            estimate: &|_| 0,
            keys: &CountedKeys::default(),
            requests: &[],
            scenario: &crate::events::Scenario::default(),
            share_theory: ShareTheory::Unknown,
            move_theory: MoveTheory::Unknown,
            seed: 0,
            timing: &crate::timing::Timing::default(),
            random: &crate::random::RandomReference::default(),
            cancelled: &false.into(),
        };
        assert!(matches!(run(&case), Err(MetricError::Failed(_))));
    }

    #[test]
    fn fields_by_hand() {
        let usage = Usage { live_bytes: 300, peak_bytes: 500, allocations: 7 };
        let footprint = Footprint { lookup_bytes: 200, membership_bytes: 90 };
        let row = fields(usage, footprint, 310, 4);
        let expected: Row = vec![
            300u64.into(),
            500u64.into(),
            7u64.into(),
            200u64.into(),
            90u64.into(),
            310u64.into(),
            75.0.into(),
        ];
        assert_eq!(row, expected);
    }
}
