//! `work.csv`: what a lookup does, counted by the portable definition of the algorithm.
//!
//! # Protocol
//!
//! `lookup_work` is asked for at most [`SAMPLE`] distinct keys, evenly spaced in stream order: the same
//! keys for every placement. Counts are those of the algorithm as published, whatever fast path a lookup
//! takes, so that they compare with the papers and repeat on every machine.
//!
//! # Known biases
//!
//! - The largest values are those of the sample.
//! - The hash of the key itself is not counted: it is the same for all.
//! - A load-aware placement reports its lookup without loads, a placement that hashes bytes itself the work behind
//!   its hash.

use chash_core::Work;

use crate::case::{Case, Metric, MetricError, Observation};
use crate::keys;
use crate::record::{Class, Column, Row};

/// One row.
pub static METRIC: Metric = Metric { name: "work", class: Class::Deterministic, columns: COLUMNS, run };

/// The most keys that are asked for.
pub const SAMPLE: usize = 10_000;

/// Keys between two looks at the cancellation flag.
const BLOCK: usize = 256;

const COLUMNS: &[Column] = &[
    Column::real(
        "hash_evals_mean",
        "",
        "Evaluations of a hash or mixing function for a lookup, the key's own hash not included: mean over the sampled keys.",
    ),
    Column::integer("hash_evals_max", "", "The most evaluations for a sampled key."),
    Column::real(
        "probes_mean",
        "",
        "Candidates examined for a lookup (points compared, scores taken, jumps made): mean over the sampled keys.",
    ),
    Column::integer("probes_max", "", "The most candidates examined for a sampled key."),
    Column::real(
        "table_reads_mean",
        "",
        "Reads of a table that grows with the placement for a lookup: mean over the sampled keys.",
    ),
    Column::integer("table_reads_max", "", "The most table reads for a sampled key."),
];

fn run(case: &Case<'_>) -> Result<Vec<Observation>, MetricError> {
    let placement = case.build_placement()?;
    let keys = keys::sample(case.keys, SAMPLE);
    let mut works = Vec::with_capacity(keys.len());
    for block in keys.chunks(BLOCK) {
        case.check_cancelled()?;
        works.extend(block.iter().map(|key| placement.lookup_work(*key)));
    }
    Ok(vec![Observation::ok(fields(&works))])
}

/// Mean and maximum of each count; empty without keys.
fn fields(works: &[Work]) -> Row {
    let counts: [fn(&Work) -> u32; 3] = [|work| work.hash_evals, |work| work.probes, |work| work.table_reads];
    let summary = |count: fn(&Work) -> u32| {
        let sum: u64 = works.iter().map(|work| u64::from(count(work))).sum();
        let most = works.iter().map(|work| u64::from(count(work))).max();
        [(sum as f64 / works.len() as f64).into(), most.into()]
    };
    counts.into_iter().flat_map(summary).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Value;

    #[test]
    fn means_and_maxima_by_hand() {
        let work = |hash_evals, probes, table_reads| Work { hash_evals, probes, table_reads };
        let row = fields(&[work(1, 2, 0), work(2, 10, 0), work(0, 3, 0), work(1, 1, 0)]);
        let expected: Row = vec![1.0.into(), 2u64.into(), 4.0.into(), 10u64.into(), 0.0.into(), 0u64.into()];
        assert_eq!(row, expected);
        assert!(fields(&[]).iter().all(|value| Value::to_field(value).is_empty()));
    }
}
