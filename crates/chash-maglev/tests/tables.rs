//! Whole tables: the published examples, and a builder too simple to be wrong.

use chash_maglev::{Permutation, populate};
use proptest::prelude::*;

fn list(cell: &str) -> Vec<u32> {
    cell.split(';').map(|number| number.parse().unwrap()).collect()
}

#[test]
fn reference_tables() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/maglev_tables.csv");
    let mut cases = 0;
    for record in csv::Reader::from_path(path).unwrap().records() {
        let record = record.unwrap();
        let (offsets, skips, alive) = (list(&record[2]), list(&record[3]), list(&record[4]));
        let nodes: Vec<Permutation> = (0..)
            .zip(offsets.into_iter().zip(skips))
            .map(|(index, (offset, skip))| Permutation {
                offset,
                skip,
                weight: alive.contains(&index).into(),
            })
            .collect();
        assert_eq!(populate(record[1].parse().unwrap(), &nodes), list(&record[5]), "{}", &record[0]);
        cases += 1;
    }
    assert_eq!(cases, 22, "the file is whole");
}

/// The definition, word for word: rounds, turns, wishes one by one.
fn naive(table_size: u32, nodes: &[Permutation]) -> Vec<u32> {
    let size = table_size as usize;
    let heaviest = nodes.iter().map(|node| u64::from(node.weight)).max().unwrap();
    let mut table = vec![None; size];
    let mut next = vec![0; nodes.len()];
    let mut filled = 0;
    for round in 1u64.. {
        for (index, node) in nodes.iter().enumerate() {
            let turns = |round: u64| round * u64::from(node.weight) / heaviest;
            if turns(round) > turns(round - 1) {
                let wish = |j: usize| (node.offset as usize + j * node.skip as usize) % size;
                while table[wish(next[index])].is_some() {
                    next[index] += 1;
                }
                table[wish(next[index])] = Some(index as u32);
                filled += 1;
                if filled == size {
                    return table.into_iter().map(Option::unwrap).collect();
                }
            }
        }
    }
    unreachable!("the heaviest plays in every round")
}

fn nodes(size: u32, weights: impl Strategy<Value = u32>) -> impl Strategy<Value = (u32, Vec<Permutation>)> {
    let node =
        (0..size, 1..size, weights).prop_map(|(offset, skip, weight)| Permutation { offset, skip, weight });
    (Just(size), prop::collection::vec(node, 1..=(size as usize).min(40)))
        .prop_filter("a node plays", |(_, nodes)| nodes.iter().any(|node| node.weight > 0))
}

fn primes() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![2, 3, 5, 7, 11, 13, 17, 61, 67, 127, 131, 251, 257, 509, 1021, 2039, 4093])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_weights_give_the_definitions_table((size, nodes) in primes().prop_flat_map(|size| nodes(size, Just(1)))) {
        prop_assert_eq!(populate(size, &nodes), naive(size, &nodes));
    }

    #[test]
    fn any_weights_give_the_definitions_table((size, nodes) in primes().prop_flat_map(|size| {
        nodes(size, prop_oneof![0u32..5, 0u32..1000, any::<u32>()])
    })) {
        prop_assert_eq!(populate(size, &nodes), naive(size, &nodes));
    }
}

/// The real sizes, where the words of taken slots and the tail are long.
#[test]
fn large_tables_equal_the_definition() {
    for (size, count) in [(65_537u32, 3u32), (65_537, 1000), (131_071, 10_000)] {
        let mix = |i: u32| chash_core::mix::mix64(u64::from(i)) % u64::from(size - 1);
        let nodes: Vec<Permutation> = (0..count)
            .map(|i| Permutation {
                offset: mix(2 * i) as u32,
                skip: mix(2 * i + 1) as u32 + 1,
                weight: 1 + i % 3,
            })
            .collect();
        assert_eq!(populate(size, &nodes), naive(size, &nodes), "{size} {count}");
    }
}

#[test]
fn nonsense_panics() {
    let node = |offset, skip, weight| Permutation { offset, skip, weight };
    for size in [0, 1, 4, 65_536, u32::MAX] {
        assert!(std::panic::catch_unwind(|| populate(size, &[node(0, 1, 1)])).is_err(), "{size}");
    }
    for bad in [node(7, 1, 1), node(0, 0, 1), node(0, 7, 1), node(0, 1, 0)] {
        assert!(std::panic::catch_unwind(|| populate(7, &[bad])).is_err(), "{bad:?}");
    }
    assert!(std::panic::catch_unwind(|| populate(2, &[node(0, 1, 1); 3])).is_err());
    assert!(std::panic::catch_unwind(|| populate(7, &[])).is_err());
}
