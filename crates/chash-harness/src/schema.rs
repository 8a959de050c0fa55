//! The columns of every file: one description for the writers, `schema.json`, and whoever reads.

use chash_metrics::case::Metric;
use chash_metrics::record::{Class, Column, Kind};
use serde_json::{Value, json};

use crate::registry::METRICS;

/// Grows with every change of columns. Columns are added, never renamed or moved.
pub const SCHEMA_VERSION: u32 = 1;

/// The columns that every file begins with.
pub const IDENTITY: &[Column] = &[
    Column::text(
        "run_id",
        "hash of the schema version, the resolved plan, the seed and the contents of its inputs",
    ),
    Column::text("algorithm", "name of the algorithm"),
    Column::text("config", "canonical spec, every default written out"),
    Column::text(
        "key_hash",
        "function that turned key bytes into 64 bits; the algorithm's name where it hashes keys itself",
    ),
    Column::integer("nodes", "nodes", "nodes before any change"),
    Column::text("weights", "equal, or the node file's base name and the hash of its content"),
    Column::text("workload", "spec of the workload, or the key file's base name and the hash of its content"),
    Column::integer("keys", "keys", "distinct keys"),
    Column::integer("requests", "requests", "requests drawn from the keys"),
    Column::integer("seed", "", "the run's seed"),
    Column::integer("rep", "", "repetition, from 0"),
    Column::text("status", "ok, unsupported or failed"),
    Column::text("message", "why, where the status is not ok"),
];

/// `schema.json`: for every file its columns with type, unit and meaning.
#[must_use]
pub fn schema() -> Value {
    let files: Vec<Value> = METRICS.iter().map(|metric| file(metric)).collect();
    json!({ "schema_version": SCHEMA_VERSION, "files": files })
}

fn file(metric: &Metric) -> Value {
    let columns: Vec<Value> = IDENTITY
        .iter()
        .chain(metric.columns)
        .map(|column| {
            json!({
                "name": column.name,
                "type": match column.kind { Kind::Text => "text", Kind::Integer => "integer", Kind::Real => "real" },
                "unit": column.unit,
                "meaning": column.meaning,
            })
        })
        .collect();
    json!({
        "file": format!("{}.csv", metric.name),
        "class": match metric.class {
            Class::Deterministic => "deterministic",
            Class::Repeatable => "repeatable",
            Class::Timing => "timing",
        },
        "columns": columns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_column_is_named_once_in_snake_case_and_explained() {
        for metric in METRICS {
            let mut seen = BTreeSet::new();
            for column in IDENTITY.iter().chain(metric.columns) {
                assert!(seen.insert(column.name), "{}: {} stands twice", metric.name, column.name);
                let snake =
                    column.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
                assert!(snake, "{}", column.name);
                assert!(!column.meaning.is_empty(), "{}", column.name);
            }
        }
    }
}
