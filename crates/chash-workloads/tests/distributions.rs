//! Draws against exact probabilities.
//!
//! Every assertion is a chi-squared test with a fixed seed at level 10^-6: were the seed free, a right program would
//! fail it once in a million runs. Values are put in groups of at least 10 expected draws.

use chash_workloads::permutation::Permutation;
use chash_workloads::seed::block_rng;
use chash_workloads::{Hotspot, Uniform, Workload, Zipf, ZipfRanks, harmonic};
use rand_distr::Distribution as _;
use statrs::distribution::{ChiSquared, ContinuousCDF as _};

const LEVEL: f64 = 1e-6;
const DRAWS: u64 = 1_000_000;

/// The probability of a deviation at least this large by chance.
fn p_value(chi_squared: f64, groups: usize) -> f64 {
    if groups < 2 { 1.0 } else { ChiSquared::new((groups - 1) as f64).unwrap().sf(chi_squared) }
}

/// Pearson's test of counts against expected counts.
fn fit(counts: &[u64], expected: &[f64]) -> f64 {
    let chi_squared = counts
        .iter()
        .zip(expected)
        .map(|(&count, expected)| (count as f64 - expected).powi(2) / expected)
        .sum();
    p_value(chi_squared, counts.len())
}

/// Ranks 1..=n in groups: one by one where `draws` make it at least 10 expected, then by tenths of their distance,
/// the last ones together.
struct Groups {
    /// The last rank of each group.
    ends: Vec<u64>,
    expected: Vec<f64>,
}

impl Groups {
    fn new(n: u64, s: f64, draws: u64) -> Self {
        let expected_to = |rank| draws as f64 * harmonic(rank, s) / harmonic(n, s);
        let (mut ends, mut expected) = (Vec::new(), Vec::new());
        let (mut end, mut before) = (0, 0.0);
        while end < n {
            end += (end / 10).max(1);
            if end >= n || draws as f64 - expected_to(end) < 10.0 {
                end = n;
            }
            let to_here = expected_to(end);
            if to_here - before >= 10.0 || end == n {
                ends.push(end);
                expected.push(to_here - before);
                before = to_here;
            }
        }
        Self { ends, expected }
    }

    fn count(&self, ranks: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut counts = vec![0; self.ends.len()];
        for rank in ranks {
            counts[self.ends.partition_point(|&end| end < rank)] += 1;
        }
        counts
    }
}

#[test]
fn zipf_fits_its_exact_probabilities() {
    for s in [0.0, 0.5, 0.99, 1.0, 1.28, 2.68] {
        for n in [1, 2, 1_000_000] {
            let ranks = ZipfRanks::new(n, s).unwrap();
            let groups = Groups::new(n, s, DRAWS);
            let mut rng = block_rng(1, n);
            let counts = groups.count((0..DRAWS).map(|_| ranks.draw(&mut rng)));
            let p = fit(&counts, &groups.expected);
            assert!(p > LEVEL, "n {n} s {s}: p {p}");
        }
    }
}

#[test]
fn zipf_fits_for_other_sizes() {
    for (n, s) in [
        (3, 0.1),
        (127, 1.1),
        (128, 1.1),
        (129, 0.9),
        (10_000, 1.0),
        (1 << 31, 1.1),
        (1 << 50, 0.7),
        (1 << 63, 1.0),
    ] {
        let ranks = ZipfRanks::new(n, s).unwrap();
        let groups = Groups::new(n, s, DRAWS);
        let mut rng = block_rng(2, n);
        let p = fit(&groups.count((0..DRAWS).map(|_| ranks.draw(&mut rng))), &groups.expected);
        assert!(p > LEVEL, "n {n} s {s}: p {p}");
    }
}

/// A test that accepts everything would be no test: a hundredth in s or a missing rank is seen.
#[test]
fn the_test_rejects_what_is_nearly_zipf() {
    let mut rng = block_rng(3, 0);
    for (n, s, drawn_n, drawn_s) in
        [(1_000_000, 1.0, 1_000_000, 1.01), (1_000_000, 0.5, 990_000, 0.5), (2, 1.0, 2, 1.02)]
    {
        let ranks = ZipfRanks::new(drawn_n, drawn_s).unwrap();
        let groups = Groups::new(n, s, DRAWS);
        let p = fit(&groups.count((0..DRAWS).map(|_| ranks.draw(&mut rng))), &groups.expected);
        assert!(p < LEVEL, "n {n} s {s}: p {p}");
    }
}

#[test]
fn zipf_equals_the_oracle() {
    for s in [0.0, 0.5, 0.99, 1.0, 1.28, 2.68] {
        for n in [2, 1000, 1_000_000] {
            let groups = Groups::new(n, s, DRAWS);
            let ours = ZipfRanks::new(n, s).unwrap();
            let theirs = rand_distr::Zipf::new(n as f64, s).unwrap();
            let mut rng = block_rng(4, n);
            let ours = groups.count((0..DRAWS).map(|_| ours.draw(&mut rng)));
            let theirs = groups.count((0..DRAWS).map(|_| theirs.sample(&mut rng) as u64));
            // Two samples of one size: the difference of two counts has the variance of their sum.
            let chi_squared = ours
                .iter()
                .zip(&theirs)
                .filter(|&(a, b)| a + b > 0)
                .map(|(&a, &b)| (a as f64 - b as f64).powi(2) / (a + b) as f64)
                .sum();
            let p = p_value(chi_squared, ours.len());
            assert!(p > LEVEL, "n {n} s {s}: p {p}");
        }
    }
}

fn requests(workload: &dyn Workload) -> Vec<u64> {
    let (mut block, mut all) = (Vec::new(), Vec::new());
    for number in 0..workload.block_count() {
        workload.fill_block(number, &mut block);
        all.extend_from_slice(&block);
    }
    all
}

#[test]
fn a_zipf_workload_gives_each_key_the_share_of_its_rank() {
    let workload = Zipf::new(100, DRAWS, 1.1, 5, 6).unwrap();
    let mut counts = vec![0; 100];
    for key in requests(&workload) {
        counts[key as usize] += 1;
    }
    let expected: Vec<f64> =
        (0..100).map(|key| DRAWS as f64 * workload.ranks().probability(workload.rank_of_key(key))).collect();
    assert!(fit(&counts, &expected) > LEVEL);
    for rank in 1..=100 {
        assert_eq!(workload.rank_of_key(workload.key_of_rank(rank)), rank);
    }
}

#[test]
fn uniform_requests_are_uniform() {
    for keys in [1, 2, 1000, (1 << 24) - 1, (1 << 24) + 1, 3 << 61] {
        let parts = keys.min(1000);
        let mut counts = vec![0; parts as usize];
        for key in requests(&Uniform::new(keys, DRAWS, 7).unwrap()) {
            counts[(u128::from(key) * u128::from(parts) / u128::from(keys)) as usize] += 1;
        }
        let expected = vec![DRAWS as f64 / parts as f64; parts as usize];
        let p = fit(&counts, &expected);
        assert!(p > LEVEL, "{keys} keys: p {p}");
    }
}

#[test]
fn a_hotspot_gets_its_share() {
    for (fraction, share) in [(0.2, 0.8), (0.001, 0.5), (0.999, 0.1)] {
        let workload = Hotspot::new(1000, DRAWS, fraction, share, 8, 9).unwrap();
        let hot = workload.hot_key_count();
        let mut counts = vec![0; 1000];
        for key in requests(&workload) {
            counts[key as usize] += 1;
        }
        let expected: Vec<f64> =
            (0..1000)
                .map(|key| {
                    if workload.is_hot(key) {
                        share / hot as f64
                    } else {
                        (1.0 - share) / (1000 - hot) as f64
                    }
                })
                .map(|p| p * DRAWS as f64)
                .collect();
        let p = fit(&counts, &expected);
        assert!(p > LEVEL, "{fraction} {share}: p {p}");
    }
}

/// Over many seeds, two given indices go to every pair of places equally often.
#[test]
fn permutations_are_as_good_as_random() {
    const SEEDS: u64 = 100_000;
    for (len, parts) in [
        (2, 2),
        (3, 3),
        (5, 5),
        (8, 8),
        (16, 16),
        (31, 31),
        (4096, 32),
        (8192, 32),
        (200_000, 32),
        (1 << 40, 32),
    ] {
        for (one, other) in [(0, 1), (0, len - 1), (len / 2, 0)] {
            let mut counts = vec![0; (parts * parts) as usize];
            for seed in 0..SEEDS {
                let permutation = Permutation::new(len, seed).unwrap();
                let part = |index| {
                    (u128::from(permutation.apply(index)) * u128::from(parts) / u128::from(len)) as u64
                };
                counts[(part(one) * parts + part(other)) as usize] += 1;
            }
            let pairs = len as f64 * (len - 1) as f64;
            let size = len as f64 / parts as f64;
            let (mut seen, mut expected) = (Vec::new(), Vec::new());
            for (pair, count) in counts.into_iter().enumerate() {
                let same = pair as u64 / parts == pair as u64 % parts;
                let ways = if same { size * (size - 1.0) } else { size * size };
                if ways > 0.0 {
                    seen.push(count);
                    expected.push(SEEDS as f64 * ways / pairs);
                } else {
                    assert_eq!(count, 0);
                }
            }
            let p = fit(&seen, &expected);
            assert!(p > LEVEL, "length {len}, indices {one} and {other}: p {p}");
        }
    }
}
