//! Balance and disruption, against formulas and an independent simulation.

use chash_core::mix::mix64;
use chash_core::{Build, Change, Distributor, Node, NodeId};
use chash_maglev::{Maglev, Params, Permutation, populate};

fn maglev(table_size: u32, seed: u64, nodes: u32) -> Maglev {
    let params = Params { table_size, seed, ..Params::default() };
    Maglev::build(&params, &Node::numbered(nodes)).unwrap()
}

/// Slot counts differ by one at most, exactly as many nodes have the greater one, and q follows.
#[test]
fn quantisation_is_exact() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/quantisation.csv");
    let mut rows = 0;
    for record in csv::Reader::from_path(path).unwrap().records() {
        let record = record.unwrap();
        let number = |column: usize| record[column].parse::<f64>().unwrap();
        let (nodes, size) = (number(0), number(1));
        let placement = maglev(size as u32, 1, nodes as u32);
        let slots: Vec<f64> = placement
            .node_ids()
            .into_iter()
            .map(|id| (placement.key_share(id).unwrap() * size).round())
            .collect();
        assert_eq!(slots.iter().copied().fold(f64::MAX, f64::min), number(2));
        assert_eq!(slots.iter().copied().fold(0.0, f64::max), number(3));
        assert_eq!(slots.iter().filter(|count| **count == number(3)).count() as f64, number(4));
        let q = (slots.iter().map(|count| (count * nodes / size - 1.0).powi(2)).sum::<f64>() / nodes).sqrt();
        assert!((q - number(5)).abs() < 1e-8, "{q} {}", number(5));
        rows += 1;
    }
    assert_eq!(rows, 18, "the file is whole");
}

/// Slots that changed although their node stayed, in per cent of the table, after the first k of n
/// nodes left; means of 60 tables, against the means of an independent simulation with random offsets
/// and skips.
///
/// The difference of two means over the standard deviation of one of them (60 values) is Student's t with
/// 59 degrees of freedom if both come from one distribution: 6.0 is exceeded with probability 1e-6 in
/// any of the six cases. The simulated figures are rounded to 0.001.
#[test]
fn disruption_is_as_simulated() {
    const TABLES: usize = 60;
    // Nodes, removed, mean in per cent, repetitions of the simulation; table size 65537.
    const SIMULATED: [(u32, u32, f64, f64); 6] = [
        (100, 1, 0.564, 60.0),
        (100, 2, 0.691, 60.0),
        (100, 5, 0.893, 60.0),
        (1000, 1, 0.574, 200.0),
        (1000, 5, 1.812, 200.0),
        (1000, 20, 2.647, 200.0),
    ];
    let size = Params::default().table_size;
    let keys: Vec<u64> =
        (0..u128::from(size)).map(|slot| ((slot << 64).div_ceil(u128::from(size))) as u64).collect();
    let owners = |placement: &Maglev| {
        let mut owners = vec![NodeId::default(); keys.len()];
        placement.lookup_batch(&keys, &mut owners);
        owners
    };
    let mut changed = [[0.0; SIMULATED.len()]; TABLES];
    for (seed, changed) in (0..).zip(&mut changed) {
        for nodes in [100, 1000] {
            let full = maglev(size, seed, nodes);
            let before = owners(&full);
            for (case, (of, removed, ..)) in SIMULATED.iter().enumerate().filter(|(_, case)| case.0 == nodes)
            {
                assert_eq!(*of, nodes);
                let mut placement = full.clone();
                let leaves: Vec<Change> = (0..*removed).map(|id| Change::Remove(NodeId(id))).collect();
                placement.apply(&leaves).unwrap();
                let moved =
                    before.iter().zip(owners(&placement)).filter(|(a, b)| a.0 >= *removed && **a != *b);
                changed[case] = 100.0 * moved.count() as f64 / f64::from(size);
            }
        }
    }
    for (case, (nodes, removed, expected, repetitions)) in SIMULATED.into_iter().enumerate() {
        let values = || changed.iter().map(|values| values[case]);
        let mean = values().sum::<f64>() / TABLES as f64;
        let variance = values().map(|value| (value - mean).powi(2)).sum::<f64>() / (TABLES - 1) as f64;
        let error = (variance * (1.0 / TABLES as f64 + 1.0 / repetitions)).sqrt();
        assert!(
            (mean - expected).abs() <= 6.0 * error + 0.0005,
            "{nodes} {removed}: {mean} ± {error}, not {expected}"
        );
    }
}

/// After R whole rounds a node has had ⌊R·w/w_max⌋ turns, and one more at most in the round that fills the
/// table: its slots differ from its due, w/W of the table, by no more than 1 + N·w/W.
#[test]
fn slots_follow_weights() {
    let size = 65_537;
    let nodes: Vec<Permutation> = (0..50u64)
        .map(|i| Permutation {
            offset: (mix64(i) % size) as u32,
            skip: (mix64(i + 100) % (size - 1)) as u32 + 1,
            weight: (i * i) as u32,
        })
        .collect();
    let table = populate(size as u32, &nodes);
    let total: u64 = nodes.iter().map(|node| u64::from(node.weight)).sum();
    for (index, node) in nodes.iter().enumerate() {
        let slots = table.iter().filter(|owner| **owner as usize == index).count() as f64;
        let due = size as f64 * f64::from(node.weight) / total as f64;
        let bound = 1.0 + 50.0 * f64::from(node.weight) / total as f64;
        assert!((slots - due).abs() <= bound, "weight {}: {slots} slots, due {due}", node.weight);
    }
}

/// Second choices of the keys of one node go to all others evenly. Chi-squared with 98 degrees of
/// freedom exceeds 181.4 with probability 1e-6.
#[test]
fn failover_spreads_over_all_others() {
    let placement = maglev(65_537, 3, 100);
    let replicated = placement.as_replicated().unwrap();
    let mut counts = [0.0f64; 100];
    let mut keys = 0.0;
    for key in (0..2_000_000).map(mix64).filter(|key| placement.lookup(*key) == NodeId(7)) {
        let mut choices = [NodeId::default(); 2];
        assert_eq!(replicated.replicas(key, &mut choices), 2);
        counts[choices[1].index()] += 1.0;
        keys += 1.0;
    }
    let expected = |id: u32| {
        let share = |id| placement.key_share(NodeId(id)).unwrap();
        keys * share(id) / (1.0 - share(7))
    };
    let chi_squared: f64 = (0..100u32)
        .filter(|id| *id != 7)
        .map(|id| (counts[id as usize] - expected(id)).powi(2) / expected(id))
        .sum();
    assert_eq!(counts[7], 0.0);
    assert!(chi_squared < 181.4, "{chi_squared}");
}
