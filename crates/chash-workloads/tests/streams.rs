//! What holds for every workload, and the values that a seed stands for.

use chash_workloads::{BLOCK, Hotspot, Sequential, Uniform, Workload, Zipf};
use proptest::prelude::*;

fn block(workload: &dyn Workload, number: u64) -> Vec<u64> {
    let mut out = vec![u64::MAX; 3];
    workload.fill_block(number, &mut out);
    out
}

/// One of every kind.
fn workloads(keys: u64, requests: u64, seed: u64) -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(Uniform::new(keys, requests, seed).unwrap()),
        Box::new(Sequential::new(keys, requests).unwrap()),
        Box::new(Zipf::new(keys, requests, 0.0, seed, seed + 1).unwrap()),
        Box::new(Zipf::new(keys, requests, 1.1, seed, seed + 1).unwrap()),
        Box::new(Hotspot::new(keys, requests, 0.5, 0.8, seed, seed + 1).unwrap()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_stream_is_the_same_in_any_order(
        keys in prop_oneof![2u64..10, 2u64..100_000, (1u64 << 40)..(1 << 41)],
        requests in 0u64..5 * BLOCK as u64,
        seed in 0u64..u64::MAX,
        order: Vec<prop::sample::Index>,
    ) {
        for workload in workloads(keys, requests, seed) {
            prop_assert_eq!(workload.key_count(), keys);
            prop_assert_eq!(workload.request_count(), requests);
            prop_assert_eq!(workload.block_count(), requests.div_ceil(BLOCK as u64));
            let whole: Vec<u64> = (0..workload.block_count()).flat_map(|number| block(&*workload, number)).collect();
            prop_assert_eq!(whole.len() as u64, requests);
            prop_assert!(whole.iter().all(|&key| key < keys));
            for index in &order {
                let number = index.index(workload.block_count() as usize + 2);
                let start = (number * BLOCK).min(whole.len());
                let end = (start + BLOCK).min(whole.len());
                prop_assert_eq!(block(&*workload, number as u64), &whole[start..end]);
            }
        }
    }

    /// More requests do not change the ones before them.
    #[test]
    fn a_longer_stream_begins_with_the_shorter(short in 1u64..BLOCK as u64, seed in 0u64..u64::MAX) {
        for (few, many) in workloads(1000, short, seed).iter().zip(workloads(1000, u64::MAX, seed)) {
            prop_assert_eq!(&block(&**few, 0)[..], &block(&*many, 0)[..short as usize]);
        }
    }
}

#[test]
fn threads_see_the_same_stream() {
    for workload in workloads(1000, 100 * BLOCK as u64, 7) {
        let alone: Vec<Vec<u64>> = (0..100).map(|number| block(&*workload, number)).collect();
        let workload = &*workload;
        let parts: Vec<Vec<Vec<u64>>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|thread| scope.spawn(move || (0..25).map(|i| block(workload, 4 * i + thread)).collect()))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (number, alone) in alone.iter().enumerate() {
            assert_eq!(&parts[number % 4][number / 4], alone);
        }
    }
}

#[test]
fn other_seeds_give_other_streams() {
    for (one, other) in workloads(1000, 4096, 1).iter().zip(workloads(1000, 4096, 2)) {
        // Sequential has no seed.
        assert_eq!(block(&**one, 0) == block(&*other, 0), format!("{one:?}").starts_with("Sequential"));
    }
    let hottest = |seed| Zipf::new(1000, 1, 1.0, 7, seed).unwrap().key_of_rank(1);
    assert_ne!(hottest(1), hottest(2));
}

/// Computed by a second implementation of the definitions, written in another language.
#[test]
fn values_are_stable() {
    let firsts = |workload: &dyn Workload, number| block(workload, number)[..8].to_vec();
    let uniform = Uniform::new(1000, u64::MAX, 42).unwrap();
    assert_eq!(firsts(&uniform, 1), [280, 229, 328, 499, 748, 174, 248, 263]);
    let uniform = Uniform::new(1 << 63, 4, 42).unwrap();
    assert_eq!(
        block(&uniform, 0),
        [
            8_476_162_811_122_131_817,
            6_701_927_865_953_286_575,
            4_177_763_990_695_231_879,
            6_890_548_885_317_933_771
        ]
    );
    let hotspot = Hotspot::new(1000, u64::MAX, 0.2, 0.8, 42, 43).unwrap();
    assert_eq!(firsts(&hotspot, 0), [648, 966, 194, 580, 859, 682, 690, 339]);
}

/// Computed in the same way.
#[test]
fn values_of_zipf_are_stable() {
    let ranks = |keys, s| {
        let workload = Zipf::new(keys, u64::MAX, s, 42, 43).unwrap();
        block(&workload, 0)[..8].iter().map(|&key| workload.rank_of_key(key)).collect::<Vec<_>>()
    };
    assert_eq!(ranks(1000, 1.1), [16, 1, 15, 2, 28, 34, 15, 1]);
    assert_eq!(
        ranks(1_000_000_000, 0.8),
        [585_102_175, 791_959, 558_864_174, 55_005_301, 4_396_769, 6_533_106, 560_913_915, 27_583_959]
    );
    assert_eq!(ranks(1_000_000, 2.68), [2, 1, 2, 1, 1, 1, 2, 1]);
}
