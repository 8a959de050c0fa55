//! What ideal random assignment would give for the same nodes and keys: the floor of every chart.
//!
//! Every key goes to node i with probability π_i = w_i/W, independently of the others, and keeps its
//! requests. The quantity is E[max x_i] over the nodes of positive weight, x_i = load_i/(T·π_i).
//!
//! - **Equal counts** (distinct keys, or requests that ask every key equally often): the loads are
//!   taken as independent binomials, so that P(max x ≤ t) = Π P(load_i ≤ t·T·π_i), and
//!   E[max x] = ∫ 1 − P(max x ≤ t) dt is summed exactly over the steps of that product. Real loads add up to T
//!   and so repel each other a little: the value is too low, least for many nodes (by 1.0 % for 10 nodes of 100
//!   keys, 0.3 % for 100 nodes of 10) and most for very few.
//! - **Other counts**: the mean over [`ASSIGNMENTS`] seeded assignments, whose standard error is about an eighth
//!   of the deviation of one. Not computed above [`MAX_KEYS`] keys, nor for a stream that is not counted.
//!
//! Platform-independent: arithmetic, and `libm` for logarithms and exponentials. Computed once for
//! all algorithms, which are then compared with the same number.

use std::collections::{BTreeMap, BinaryHeap};

use chash_core::{Node, mix};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

use crate::keys::{Counts, KeyStream};

/// How many assignments are drawn where there is no formula.
pub const ASSIGNMENTS: u64 = 64;

/// The most distinct keys that are assigned at random.
pub const MAX_KEYS: u64 = 10_000_000;

/// The expected `max_over_mean` of ideal random assignment, computed once for all algorithms.
///
/// ```
/// use chash_core::Node;
/// use chash_metrics::keys::CountedKeys;
/// use chash_metrics::random::RandomReference;
///
/// let keys = CountedKeys::new((0..1000).collect(), vec![1; 1000], None);
/// let reference = RandomReference::new(&Node::numbered(10), &keys, 1);
/// // 10 nodes and 1000 keys: 1.14816 in the published table.
/// assert_eq!(format!("{:.5}", reference.keys.unwrap()), "1.14816");
/// assert_eq!(reference.requests, reference.keys);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RandomReference {
    /// For distinct keys, each once.
    pub keys: Option<f64>,
    /// For requests, every key keeping its count.
    pub requests: Option<f64>,
}

impl RandomReference {
    /// The reference for these nodes and keys.
    ///
    /// Where counts differ, [`ASSIGNMENTS`] draws for each key that is asked for: about 0.3 s for a million keys.
    #[must_use]
    pub fn new(nodes: &[Node], keys: &dyn KeyStream, seed: u64) -> Self {
        let weights: Vec<u32> = nodes.iter().map(|node| node.weight).filter(|weight| *weight > 0).collect();
        let requests = match RequestCounts::of(keys) {
            RequestCounts::Equal { keys } => expected_max(&weights, keys),
            RequestCounts::Different if keys.key_count() <= MAX_KEYS => simulated_max(&weights, keys, seed),
            RequestCounts::Different | RequestCounts::Unknown => None,
        };
        Self { keys: expected_max(&weights, keys.key_count()), requests }
    }
}

/// How the requests lie on the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestCounts {
    /// Every key that is asked for at all is asked for equally often.
    Equal {
        /// How many are asked for.
        keys: u64,
    },
    Different,
    /// The stream is not counted.
    Unknown,
}

impl RequestCounts {
    fn of(stream: &dyn KeyStream) -> Self {
        if stream.request_collision().is_none() && stream.request_count() > 0 {
            return Self::Unknown;
        }
        let (mut asked, mut least, mut most) = (0, u64::MAX, 0);
        stream.for_each_block(&mut |block| {
            if let Counts::Distinct(counts) = block.counts {
                for count in counts.iter().filter(|count| **count > 0) {
                    asked += 1;
                    least = least.min(*count);
                    most = most.max(*count);
                }
            }
        });
        if most <= least || asked == 0 { Self::Equal { keys: asked } } else { Self::Different }
    }
}

/// E[max x_i] for `keys` keys, each once, on nodes of these positive weights, as independent binomials.
///
/// `None` without keys or nodes. Nodes of equal weight are taken together, and only counts that
/// matter to 20 digits are visited: some 20 standard deviations for each distinct weight.
///
/// # Panics
///
/// If a weight is 0.
#[must_use]
pub fn expected_max(weights: &[u32], keys: u64) -> Option<f64> {
    assert!(weights.iter().all(|weight| *weight > 0), "a node that is never chosen has no share");
    match weights {
        [] => return None,
        _ if keys == 0 => return None,
        [_] => return Some(1.0),
        _ => {}
    }
    let total_weight: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    let mut sizes: BTreeMap<u32, u64> = BTreeMap::new();
    for weight in weights {
        *sizes.entry(*weight).or_default() += 1;
    }
    let mut groups: Vec<Group> =
        sizes.into_iter().map(|(weight, size)| Group::new(keys, weight, total_weight, size as f64)).collect();

    // P(max x ≤ t) is a product of steps. From the highest step down, `log_product` is its logarithm between
    // the step passed last, at `upper`, and the next.
    let mut steps: BinaryHeap<(u64, usize)> =
        groups.iter().enumerate().map(|(index, group)| (group.step().to_bits(), index)).collect();
    let mut upper = f64::from_bits(steps.peek()?.0);
    let mut log_product = 0.0;
    let mut expectation = 0.0;
    while let Some((bits, index)) = steps.pop() {
        // Positive floats are ordered as their bits are.
        let step = f64::from_bits(bits);
        expectation += (upper - step) * -libm::expm1(log_product);
        upper = step;
        let before = groups[index].log_at_most();
        if !groups[index].descend() {
            break;
        }
        log_product += groups[index].log_at_most() - before;
        if log_product < NEGLIGIBLE_LOG {
            break;
        }
        steps.push((groups[index].step().to_bits(), index));
    }
    // Below the last step the maximum cannot be.
    Some(expectation + upper)
}

/// ln 1e-20: a probability that no longer matters.
const NEGLIGIBLE_LOG: f64 = -46.0;

/// Probabilities of a binomial relative to its mode below which its tails are cut.
const NEGLIGIBLE_RATIO: f64 = 1e-28;

/// Nodes of one weight, whose loads are binomial, walked from the highest count that matters downwards.
#[derive(Clone, Debug)]
struct Group {
    /// How many nodes.
    size: f64,
    /// Trials.
    keys: u64,
    /// π/(1 − π).
    odds: f64,
    /// 1/(T·π): what one key adds to x.
    scale: f64,
    /// The count reached.
    count: u64,
    /// P(load = count).
    at: f64,
    /// P(load > count).
    above: f64,
}

impl Group {
    /// At the highest count that matters. Probabilities follow from their ratios to the one at the
    /// mode, so that no factorial is needed: O(standard deviation).
    fn new(keys: u64, weight: u32, total_weight: u64, size: f64) -> Self {
        let weight = u64::from(weight);
        let odds = weight as f64 / (total_weight - weight) as f64;
        let mode = ((u128::from(keys) + 1) * u128::from(weight) / u128::from(total_weight)) as u64;
        let mut sum = 1.0;
        let (mut down, mut count) = (1.0, mode);
        while count > 0 && down > NEGLIGIBLE_RATIO {
            down *= count as f64 / ((keys - count + 1) as f64 * odds);
            count -= 1;
            sum += down;
        }
        let (mut up, mut count) = (1.0, mode);
        while count < keys && up > NEGLIGIBLE_RATIO {
            up *= (keys - count) as f64 * odds / (count + 1) as f64;
            count += 1;
            sum += up;
        }
        let scale = total_weight as f64 / (keys as f64 * weight as f64);
        Self { size, keys, odds, scale, count, at: up / sum, above: 0.0 }
    }

    /// The x of the present count: below it one count less is all that is at most t.
    fn step(&self) -> f64 {
        self.count as f64 * self.scale
    }

    /// The logarithm of the probability that none of the nodes has more than `count`.
    fn log_at_most(&self) -> f64 {
        self.size * libm::log1p(-self.above.min(1.0))
    }

    /// One count less; false below 0.
    fn descend(&mut self) -> bool {
        if self.count == 0 {
            return false;
        }
        self.above += self.at;
        self.at *= self.count as f64 / ((self.keys - self.count + 1) as f64 * self.odds);
        self.count -= 1;
        true
    }
}

/// The mean of max x_i over [`ASSIGNMENTS`] seeded assignments of the keys with their requests.
fn simulated_max(weights: &[u32], keys: &dyn KeyStream, seed: u64) -> Option<f64> {
    let table = AliasTable::new(weights)?;
    let total_weight: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    // What one request adds to x_i.
    let fair = |weight: &u32| keys.request_count() as f64 * f64::from(*weight) / total_weight as f64;
    let scales: Vec<f64> = weights.iter().map(|weight| 1.0 / fair(weight)).collect();
    let mut sum = 0.0;
    let mut loads = vec![0u64; weights.len()];
    for assignment in 0..ASSIGNMENTS {
        loads.fill(0);
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(mix::combine(seed, assignment));
        keys.for_each_block(&mut |block| {
            if let Counts::Distinct(counts) = block.counts {
                for count in counts.iter().filter(|count| **count > 0) {
                    loads[table.draw(generator.next_u64())] += count;
                }
            }
        });
        sum += loads.iter().zip(&scales).map(|(load, scale)| *load as f64 * scale).fold(0.0, f64::max);
    }
    Some(sum / ASSIGNMENTS as f64)
}

/// Draws a node with probability w_i/W from one random word (Walker 1977, in integers).
#[derive(Debug)]
struct AliasTable {
    count: u32,
    /// For each column, the part of 2^64 that stays, and where the rest goes. Empty for equal weights,
    /// where all of every column stays: five times faster for a table that leaves the caches.
    columns: Vec<(u64, u32)>,
}

impl AliasTable {
    /// `None` without weights. Exact to 2^−64.
    fn new(weights: &[u32]) -> Option<Self> {
        let count = u32::try_from(weights.len()).ok().filter(|count| *count > 0)?;
        if weights.iter().all(|weight| *weight == weights[0]) {
            return Some(Self { count, columns: Vec::new() });
        }
        let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
        // Each column holds `total`, and a node brings its weight times the number of columns.
        let mut rest: Vec<u128> =
            weights.iter().map(|weight| u128::from(*weight) * u128::from(count)).collect();
        let mut columns: Vec<(u64, u32)> = (0..count).map(|own| (u64::MAX, own)).collect();
        let (mut short, mut long): (Vec<u32>, Vec<u32>) = (0..count).partition(|i| rest[*i as usize] < total);
        while let (Some(poor), Some(rich)) = (short.pop(), long.pop()) {
            // What a short column holds is below `total` < 2^64: no bit is lost.
            columns[poor as usize] = (((rest[poor as usize] << 64) / total) as u64, rich);
            rest[rich as usize] -= total - rest[poor as usize];
            if rest[rich as usize] < total { short.push(rich) } else { long.push(rich) }
        }
        Some(Self { count, columns })
    }

    fn draw(&self, word: u64) -> usize {
        // The high half of the product is a uniform column, the low half a uniform place in it.
        let product = u128::from(word) * u128::from(self.count);
        let column = (product >> 64) as usize;
        match self.columns.get(column) {
            Some((own, alias)) if product as u64 >= *own => *alias as usize,
            _ => column,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::CountedKeys;

    fn stream(counts: Vec<u64>) -> CountedKeys {
        CountedKeys::new((0..counts.len() as u64).collect(), counts, None)
    }

    #[test]
    fn by_hand() {
        // One key on two nodes: both have it with probability 1/2 independently, x is 2 with probability 3/4.
        assert!((expected_max(&[1, 1], 1).unwrap() - 1.5).abs() < 1e-15);
        // Two nodes of weights 1 and 2 and one key: x is 3 with probability 1/3, else 1.5 with 2/3, else 0.
        let expected = 3.0 / 3.0 + 2.0 / 3.0 * (1.5 * 2.0 / 3.0);
        assert!((expected_max(&[1, 2], 1).unwrap() - expected).abs() < 1e-15);
        assert_eq!(expected_max(&[5], 3), Some(1.0));
        assert_eq!(expected_max(&[], 3), None);
        assert_eq!(expected_max(&[1, 1], 0), None);
    }

    /// The sum over all counts of the definition, without shortcuts.
    #[test]
    fn equals_the_definition() {
        for (weights, keys) in
            [(vec![1; 5], 20), (vec![1, 2, 3, 4], 60), (vec![7, 7, 1, 30], 45), (vec![1; 40], 8)]
        {
            let total: u64 = weights.iter().map(|w| u64::from(*w)).sum();
            // cdf[i][k] = P(load_i ≤ k), by Pascal's triangle of probabilities.
            let cdf: Vec<Vec<f64>> = weights
                .iter()
                .map(|weight| {
                    let p = f64::from(*weight) / total as f64;
                    let mut row = vec![1.0];
                    for _ in 0..keys {
                        let mut next = vec![0.0; row.len() + 1];
                        for (k, at) in row.iter().enumerate() {
                            next[k] += at * (1.0 - p);
                            next[k + 1] += at * p;
                        }
                        row = next;
                    }
                    row.iter()
                        .scan(0.0, |sum, at| {
                            *sum += at;
                            Some(*sum)
                        })
                        .collect()
                })
                .collect();
            let x = |i: usize, k: u64| k as f64 * total as f64 / (keys as f64 * f64::from(weights[i]));
            let mut steps: Vec<f64> = (0..weights.len())
                .flat_map(|i| (0..=keys).map(move |k| (i, k)))
                .map(|(i, k)| x(i, k))
                .collect();
            steps.sort_by(f64::total_cmp);
            let at_most = |t: f64| -> f64 {
                (0..weights.len())
                    .map(|i| cdf[i][(0..=keys).rev().find(|k| x(i, *k) <= t).unwrap() as usize])
                    .product()
            };
            let expected: f64 = steps.windows(2).map(|s| (s[1] - s[0]) * (1.0 - at_most(s[0]))).sum();
            let found = expected_max(&weights, keys).unwrap();
            assert!((found - expected).abs() < 1e-9 * expected, "{weights:?} {keys}: {found} {expected}");
        }
    }

    /// Every row of the published table, to its 5 decimals.
    #[test]
    fn equals_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/theory_ideal_balance.csv");
        let mut rows = 0;
        for row in csv::Reader::from_path(path).unwrap().deserialize() {
            let (nodes, keys, _cv, max, _min): (usize, u64, f64, f64, f64) = row.unwrap();
            let found = expected_max(&vec![1; nodes], keys).unwrap();
            assert!((found - max).abs() <= 5.000_001e-6, "{nodes} nodes, {keys} keys: {found} is not {max}");
            rows += 1;
        }
        assert_eq!(rows, 40);
    }

    /// A stream of equal counts goes by the formula, whatever the count; others are assigned.
    #[test]
    fn equal_counts_have_the_formula() {
        let nodes = Node::numbered(10);
        let reference = RandomReference::new(&nodes, &stream(vec![3, 0, 3, 3, 3]), 1);
        assert_eq!(reference.requests, expected_max(&[1; 10], 4));
        assert_eq!(reference.keys, expected_max(&[1; 10], 5));
        assert_eq!(RandomReference::new(&nodes, &stream(vec![0; 5]), 1).requests, None);
        assert_eq!(RequestCounts::of(&stream(vec![1, 2])), RequestCounts::Different);
    }

    /// Formula and assignments agree on counts that are almost equal: a t-test over 20 seeds at level 1e-6
    /// (7.2 standard errors with 19 degrees of freedom), beyond twice the known excess of the formula's neglect:
    /// loads that add up to T have a maximum that is further from the mean by sqrt(N/(N − 1)).
    #[test]
    fn assignments_agree_with_the_formula() {
        for weights in [vec![1u32; 200], (0..200).map(|i| 1 + i % 7).collect()] {
            let mut counts = vec![1000; 20_000];
            counts[0] = 1001;
            let keys = stream(counts);
            let means: Vec<f64> = (0..20).map(|seed| simulated_max(&weights, &keys, seed).unwrap()).collect();
            let mean = means.iter().sum::<f64>() / 20.0;
            let variance = means.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 19.0;
            let formula = expected_max(&weights, 20_000).unwrap();
            let neglected = 2.0 * (formula - 1.0) * ((200.0f64 / 199.0).sqrt() - 1.0);
            let allowed = 7.2 * (variance / 20.0).sqrt() + neglected;
            assert!((formula - mean).abs() < allowed, "{formula} {mean} {allowed}");
        }
    }

    #[test]
    fn alias_table_holds_each_weight_exactly() {
        for weights in [vec![1, 2, 3, 4, 90], vec![u32::MAX, 1, u32::MAX / 3]] {
            let table = AliasTable::new(&weights).unwrap();
            let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
            let mut mass = vec![0u128; weights.len()];
            for (column, (own, alias)) in table.columns.iter().enumerate() {
                mass[column] += u128::from(*own);
                mass[*alias as usize] += (1 << 64) - u128::from(*own);
            }
            for (weight, mass) in weights.iter().zip(mass) {
                let exact = (u128::from(*weight) * weights.len() as u128) << 64;
                let error = (mass * u128::from(total)).abs_diff(exact);
                // Each column is rounded to a 2^64-th.
                assert!(error <= 2 * u128::from(total) * weights.len() as u128, "{weights:?}");
            }
        }
        assert!(AliasTable::new(&[]).is_none());
        let even = AliasTable::new(&[4; 3]).unwrap();
        assert_eq!([0, 1 << 63, u64::MAX].map(|word| even.draw(word)), [0, 1, 2]);
    }

    /// Pinned: the same on every platform and in every release, or every CSV changes.
    #[test]
    fn is_value_stable() {
        let nodes = Node::numbered(7);
        let reference = RandomReference::new(&nodes, &stream((1..=500).collect()), 42);
        assert_eq!(reference.requests.map(f64::to_bits), Some(4_608_036_462_758_245_710));
    }
}
