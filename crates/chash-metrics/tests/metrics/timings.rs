//! The timing metrics with a clock that ticks once a call: shapes and bounds, not speeds.

use std::cell::Cell;

use crate::support::{Rule, Setup, field, integer, is_unsupported, mixed, naive, once, real};
use chash_metrics::case::{MetricError, Outcome};
use chash_metrics::record::Value;
use chash_metrics::timing::Timing;
use chash_metrics::{latency, latency_percentiles, update};

/// A microsecond later at every call, on each thread.
fn ticking() -> u64 {
    thread_local! {
        static NOW: Cell<u64> = const { Cell::new(0) };
    }
    NOW.with(|now| {
        now.set(now.get() + 1000);
        now.get()
    })
}

fn setup(timing: Timing) -> Setup {
    Setup { timing: Timing { clock: ticking, cold_bytes: 4096, ..timing }, ..Setup::new(&[1; 10]) }
}

/// Every run takes one tick, whatever it does.
#[test]
fn latency_has_every_setting_with_every_sample() {
    let timing = Timing {
        samples: 3,
        sample_ns: 2000,
        setting_ns: 1_000_000,
        threads: vec![1, 2],
        ..Timing::default()
    };
    let setup = setup(timing);
    let rows = setup.run(&latency::METRIC, &mixed(100), naive(Rule::Turns)).unwrap();
    assert_eq!(rows.len(), 2 * 6 * 3);
    let mut settings = std::collections::BTreeMap::new();
    for row in &rows {
        let text = |column| field(&latency::METRIC, row, column).to_field();
        let threads = integer(&latency::METRIC, row, "threads");
        *settings.entry((text("mode"), text("api"), text("cache_state"), threads)).or_insert(0) += 1;
        assert_eq!(integer(&latency::METRIC, row, "elapsed_ns"), 1000);
        // The first warm-up run of 16 takes a tick, half a sample, so 32 are planned; cold samples have 64.
        let lookups = if text("cache_state") == "hot" { 32 } else { 64 };
        assert_eq!(integer(&latency::METRIC, row, "lookups"), lookups * threads);
        assert_eq!(real(&latency::METRIC, row, "ns_per_lookup"), 1000.0 / (lookups * threads) as f64);
        assert_eq!(field(&latency::METRIC, row, "ns_per_lookup_net"), Value::Missing);
    }
    assert!(settings.len() == 12 && settings.values().all(|samples| *samples == 3), "{settings:?}");

    // Measured again beside its own table, every net value is 0.
    let null = latency::null_table(&rows, &[1, 2]);
    assert_eq!(null.len(), 12);
    let setup = Setup { timing: Timing { null, ..setup.timing.clone() }, ..setup };
    for row in setup.run(&latency::METRIC, &mixed(100), naive(Rule::Turns)).unwrap() {
        assert_eq!(real(&latency::METRIC, &row, "ns_per_lookup_net"), 0.0);
    }
}

/// Time is a bound too: a sample and the look at the clock before the next are three ticks, so that two
/// begin within four ticks, and one always.
#[test]
fn time_bounds_the_samples() {
    for (setting_ns, expected) in [(4000, 2), (1, 1)] {
        let timing = Timing { samples: 50, sample_ns: 1000, setting_ns, ..Timing::default() };
        let rows = setup(timing).run(&latency::METRIC, &mixed(100), naive(Rule::Turns)).unwrap();
        let hot = rows
            .iter()
            .filter(|row| field(&latency::METRIC, row, "cache_state") == "hot".into())
            .filter(|row| field(&latency::METRIC, row, "mode") == "dependent".into())
            .count();
        assert_eq!(hot, expected);
    }
    for percentile_ns in [1, 40_000] {
        let timing = Timing { percentile_ns, ..Timing::default() };
        let rows = setup(timing).run(&latency_percentiles::METRIC, &mixed(100), naive(Rule::Turns)).unwrap();
        for (row, lookups) in rows.iter().zip([32, 8]) {
            assert_eq!(integer(&latency_percentiles::METRIC, row, "lookups_per_sample"), lookups);
            assert_eq!(real(&latency_percentiles::METRIC, row, "p999_ns"), 1000.0 / lookups as f64);
            assert_eq!(integer(&latency_percentiles::METRIC, row, "timer_overhead_ns"), 1000);
            let samples = integer(&latency_percentiles::METRIC, row, "samples");
            assert!((16..=32).contains(&samples), "{samples}");
        }
    }
    let timing = Timing { percentile_samples: 5, ..Timing::default() };
    let rows = setup(timing).run(&latency_percentiles::METRIC, &mixed(100), naive(Rule::Turns)).unwrap();
    assert!(rows.iter().all(|row| integer(&latency_percentiles::METRIC, row, "samples") == 5));
}

#[test]
fn updates_have_a_row_for_each_sample() {
    let timing = Timing { update_samples: 4, update_ns: u64::MAX, ..Timing::default() };
    let rows = setup(timing).run(&update::METRIC, &mixed(10), naive(Rule::Stack)).unwrap();
    let found: Vec<(String, String, String)> = rows
        .iter()
        .map(|row| (row.row[0].to_field(), row.row[1].to_field(), row.row[2].to_field()))
        .collect();
    let expected: Vec<(String, String, String)> = ["build", "add", "remove", "batch"]
        .iter()
        .flat_map(|op| (0..4).map(move |i| ((*op).to_owned(), i.to_string(), "1000".to_owned())))
        .collect();
    assert_eq!(found, expected);
    assert!(rows.iter().all(|row| row.outcome == Outcome::Ok));
}

#[test]
fn refused_updates_are_rows() {
    let timing = Timing { update_samples: 2, ..Timing::default() };
    let one = Setup { nodes: chash_core::Node::numbered(1), ..setup(timing) };
    let rows = one.run(&update::METRIC, &mixed(10), naive(Rule::Turns)).unwrap();
    let refused: Vec<String> =
        rows.iter().filter(|row| is_unsupported(row)).map(|row| row.row[0].to_field()).collect();
    assert_eq!(refused, ["remove", "batch"]);
    assert_eq!(rows.len(), 6);
}

#[test]
fn nothing_to_look_up_is_an_error() {
    for metric in [&latency::METRIC, &latency_percentiles::METRIC] {
        let found = setup(Timing::default()).run(metric, &once(vec![]), naive(Rule::Turns));
        assert!(matches!(found, Err(MetricError::Failed(_))));
    }
}
