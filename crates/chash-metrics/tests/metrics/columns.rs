//! What holds for every metric: its columns are those of the contract, its rows fit them, and it can be interrupted.

use crate::support::{Capped, Setup, mixed};
use chash_metrics::case::{Metric, MetricError, Outcome};
use chash_metrics::record::{Class, Kind, Value};
use chash_metrics::timing::Timing;
use chash_metrics::{
    balance, bounded, latency, latency_percentiles, memory, movement, node_load, update, work,
};

/// Every metric with the columns of its file.
const CONTRACT: [(&Metric, Class, &str); 9] = [
    (
        &balance::METRIC,
        Class::Deterministic,
        "load_kind,mean_load,min_load,max_load,stddev_load,cv,cv_theory,max_over_mean,max_over_mean_random,\
         min_over_mean,p99_over_mean,gini,empty_nodes,chi2,dof,p_value,share_chi2,share_dof,share_p_value,\
         share_cv,share_cv_theory",
    ),
    (&node_load::METRIC, Class::Deterministic, "node,weight,load_kind,load,expected_load,rel_error"),
    (
        &movement::METRIC,
        Class::Deterministic,
        "scenario,step,event,nodes_after,moved_keys,moved_frac,moved_frac_min,moved_frac_theory,needless_keys,\
         needless_frac,moved_requests_frac,nodes_losing,nodes_gaining,max_over_mean_after",
    ),
    (
        &bounded::METRIC,
        Class::Deterministic,
        "arrival,factor,capacity_max,max_load,cap_violations,spilled_frac,probes_mean,probes_p99,probes_max,\
         moved_on_node_add_frac,moved_on_node_remove_frac",
    ),
    (
        &work::METRIC,
        Class::Deterministic,
        "hash_evals_mean,hash_evals_max,probes_mean,probes_max,table_reads_mean,table_reads_max",
    ),
    (
        &memory::METRIC,
        Class::Repeatable,
        "live_bytes,peak_build_bytes,allocations_count,lookup_bytes,membership_bytes,estimated_bytes,\
         bytes_per_node",
    ),
    (
        &latency::METRIC,
        Class::Timing,
        "mode,api,cache_state,threads,sample,lookups,elapsed_ns,ns_per_lookup,ns_per_lookup_net",
    ),
    (
        &latency_percentiles::METRIC,
        Class::Timing,
        "cache_state,lookups_per_sample,p50_ns,p90_ns,p99_ns,p999_ns,max_ns,samples,timer_overhead_ns",
    ),
    (&update::METRIC, Class::Timing, "op,sample,elapsed_ns"),
];

fn setup() -> Setup {
    let short = Timing {
        sample_ns: 100_000,
        warm_up_ns: 100_000,
        setting_ns: 500_000,
        cold_bytes: 1 << 16,
        percentile_ns: 500_000,
        update_ns: 500_000,
        ..Timing::default()
    };
    Setup { timing: short, ..Setup::new(&[1, 2, 3, 0]) }
}

fn capped(nodes: &[chash_core::Node]) -> Capped {
    Capped::new(nodes, (5, 4), false)
}

#[test]
fn columns_are_the_contract() {
    for (metric, class, columns) in CONTRACT {
        let names: Vec<&str> = metric.columns.iter().map(|column| column.name).collect();
        assert_eq!(names.join(","), columns, "{}", metric.name);
        assert_eq!(metric.class, class, "{}", metric.name);
        for column in metric.columns {
            let unit = if column.name.ends_with("_ns") || column.name.starts_with("ns_") {
                "ns"
            } else if column.name.ends_with("_bytes") || column.name.starts_with("bytes_") {
                "bytes"
            } else {
                ""
            };
            assert_eq!(column.unit, unit, "{}", column.name);
            assert!(column.meaning.ends_with('.') && column.meaning.is_ascii(), "{}", column.name);
        }
    }
}

#[test]
fn rows_fit_their_columns() {
    for (metric, ..) in CONTRACT {
        let rows = setup().run(metric, &mixed(500), capped).unwrap();
        assert!(!rows.is_empty());
        for row in rows {
            assert_eq!(row.row.len(), metric.columns.len(), "{}", metric.name);
            for (value, column) in row.row.iter().zip(metric.columns) {
                let fits = match value {
                    Value::Text(_) => column.kind == Kind::Text,
                    Value::Integer(_) => column.kind == Kind::Integer,
                    Value::Real(_) | Value::Special(_) => column.kind == Kind::Real,
                    Value::Missing => true,
                };
                assert!(fits, "{}: {} is {value:?}", metric.name, column.name);
            }
            assert!(matches!(row.outcome, Outcome::Ok | Outcome::Unsupported(_)));
        }
    }
}

/// Twice the same, to the last digit, for every file that promises it.
#[test]
fn repeatable_files_repeat() {
    for (metric, class, _) in CONTRACT {
        if class != Class::Timing {
            let run = || setup().run(metric, &mixed(500), capped).unwrap();
            assert_eq!(run(), run(), "{}", metric.name);
        }
    }
}

#[test]
fn every_metric_can_be_interrupted() {
    for (metric, ..) in CONTRACT {
        let found = Setup { cancelled: true, ..setup() }.run(metric, &mixed(500), capped);
        assert!(matches!(found, Err(MetricError::Interrupted)), "{}: {found:?}", metric.name);
    }
}
