//! Means over many rings against an independent simulation, whose own repetitions count as noise too.
//!
//! Each mean of ours is compared with the simulation's printed mean by a two-sample t test: the distance
//! may be t · s · √(1/ours + 1/theirs), s being the deviation of our repetitions, plus half a unit of
//! the last printed digit. The level is 1e-6 for each table, shared among its comparisons (at most 64).

use chash_bounded::{Bounded, KeyStore};
use chash_core::mix::combine;
use chash_core::{Build, Distributor, LoadAware, Node, NodeId};
use chash_ring::{Params, Ring};

/// Repetitions of `sim_bounded_load.csv`, and ours.
const RINGS: u32 = 40;

/// Two-sided quantile of t with 39 degrees of freedom at 1e-6/64.
const T_39: f64 = 7.1;

/// Repetitions of `sim_bounded_movement.csv`.
const THEIR_REMOVALS: u32 = 10;

/// Ours.
const OUR_REMOVALS: u32 = 16;

/// Two-sided quantile of t with 15 degrees of freedom at 1e-6/64.
const T_15: f64 = 10.91;

fn rows(file: &str) -> Vec<csv::StringRecord> {
    let mut reader = csv::Reader::from_path(format!("tests/data/{file}")).unwrap();
    reader.records().map(Result::unwrap).collect()
}

fn factor(epsilon: &str) -> chash_bounded::Factor {
    let (whole, fraction) = epsilon.split_once('.').unwrap();
    format!("{}.{fraction}", whole.parse::<u32>().unwrap() + 1).parse().unwrap()
}

/// A generator of uniform keys for each repetition.
fn keys(repetition: u32) -> impl Iterator<Item = u64> {
    (0..).map(move |i| combine(u64::from(repetition), i))
}

fn ring(vnodes: u32, repetition: u32, nodes: &[Node]) -> Ring {
    Ring::build(&Params { vnodes, seed: u64::from(repetition), ..Params::default() }, nodes).unwrap()
}

/// Compares the mean of `ours` with a printed one.
fn compare(what: &str, ours: &[f64], printed: &str, theirs: u32, quantile: f64) {
    let n = ours.len() as f64;
    let mean = ours.iter().sum::<f64>() / n;
    let variance = ours.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (n - 1.0);
    let digits = printed.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let rounding = (0..digits).fold(0.5, |half, _| half / 10.0);
    let allowed = quantile * (variance * (1.0 / n + 1.0 / f64::from(theirs))).sqrt() + rounding;
    let expected: f64 = printed.parse().unwrap();
    // The last bits of a mean are not at stake.
    assert!((mean - expected).abs() <= allowed + 1e-9, "{what}: {mean} is not {printed} ± {allowed}");
}

#[test]
fn loads_and_probes_are_those_of_the_simulation() {
    let nodes = Node::numbered(1000);
    let rows = rows("sim_bounded_load.csv");
    let mut compared = 0;
    for vnodes in [1, 100] {
        let rings: Vec<Ring> = (0..RINGS).map(|repetition| ring(vnodes, repetition, &nodes)).collect();
        let of_vnodes = |row: &&csv::StringRecord| &row[4] == "ring-bounded" && row[2].parse() == Ok(vnodes);
        for row in rows.iter().filter(of_vnodes) {
            let mut columns: [Vec<f64>; 4] = Default::default();
            for (ring, repetition) in rings.iter().zip(0..) {
                let mut bounded = Bounded::new(factor(&row[3]), &nodes, ring.clone_box()).unwrap();
                bounded.reset(Some(10_000));
                let capacity = bounded.capacity(NodeId(0)).unwrap();
                assert_eq!(capacity.to_string(), row[5]);
                let mut keys = keys(repetition);
                for key in keys.by_ref().take(10_000) {
                    bounded.assign(key);
                }
                let loads: Vec<u64> = nodes.iter().map(|node| bounded.load(node.id).unwrap()).collect();
                let squares: f64 = loads.iter().map(|load| (*load as f64 - 10.0).powi(2)).sum();
                let full = loads.iter().filter(|load| **load == capacity).count();
                let mut probes = 0;
                for key in keys.take(2000) {
                    let (id, asked) = bounded.assign(key);
                    bounded.release(id).unwrap();
                    probes += asked.0;
                }
                let max = *loads.iter().max().unwrap();
                let seen =
                    [squares / 1000.0, full as f64 / 10.0, f64::from(probes) / 2000.0, max as f64 / 10.0];
                columns.iter_mut().zip(seen).for_each(|(column, value)| column.push(value));
            }
            for ((column, name), printed) in
                columns.iter().zip(["variance", "full", "probes", "max"]).zip(row.iter().skip(6))
            {
                let what = format!("{vnodes} points, epsilon {}, {name}", &row[3]);
                compare(&what, column, printed, RINGS, T_39);
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 56);
}

#[test]
fn a_removal_moves_as_many_keys_as_in_the_simulation() {
    let nodes = Node::numbered(101);
    let rows = rows("sim_bounded_movement.csv");
    let mut compared = 0;
    for row in rows.iter().filter(|row| ["0.05", "0.25"].contains(&&row[3])) {
        let mut columns: [Vec<f64>; 3] = Default::default();
        for repetition in 0..OUR_REMOVALS {
            let ring = ring(row[2].parse().unwrap(), repetition, &nodes);
            let keys = keys(repetition).take(100_000);
            let mut store = KeyStore::with_keys(factor(&row[3]), &nodes, Box::new(ring), keys).unwrap();
            let spilled = store.iter().filter(|(key, node)| store.inner().lookup(*key) != *node).count();
            let held = store.load(NodeId(50)).unwrap();
            store.remove(NodeId(50)).unwrap();
            let seen = [store.take_moves().len() as f64, held as f64, spilled as f64];
            columns.iter_mut().zip(seen).for_each(|(column, value)| column.push(value / 100_000.0));
        }
        for ((column, name), index) in columns.iter().zip(["moved", "held", "spilled"]).zip([5, 6, 8]) {
            let what = format!("{} points, epsilon {}, {name}", &row[2], &row[3]);
            compare(&what, column, &row[index], THEIR_REMOVALS, T_15);
            compared += 1;
        }
    }
    assert_eq!(compared, 12);
}
