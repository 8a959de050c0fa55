//! Arithmetic shared by the metrics and the laws.
//!
//! p-values come from `statrs` without its `std` feature, which then takes logarithms and
//! exponentials from `libm`: the same on every platform.

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// A goodness-of-fit test's outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The statistic.
    pub statistic: f64,
    /// Its degrees of freedom.
    pub dof: u64,
    /// The probability of a statistic at least as large if the expectation holds.
    pub p_value: f64,
}

/// The position, from 0, of a quantile by nearest rank among `len` sorted values: the ⌈q·len⌉-th
/// smallest for q = `numerator`/`denominator`, and the smallest for q = 0. In integers, so that no
/// product of a decimal and a count rounds the wrong way.
///
/// ```
/// use chash_metrics::stats::nearest_rank;
/// assert_eq!(nearest_rank(20, 95, 100), 18);
/// assert_eq!(nearest_rank(200, 14, 100), 27);
/// ```
///
/// # Panics
///
/// If `len` is 0 or the quantile is above 1.
#[must_use]
pub fn nearest_rank(len: u64, numerator: u64, denominator: u64) -> u64 {
    assert!(len > 0, "a quantile of nothing");
    assert!(numerator <= denominator && denominator > 0, "a quantile is between 0 and 1");
    let rank = (u128::from(len) * u128::from(numerator)).div_ceil(u128::from(denominator));
    (rank as u64).saturating_sub(1)
}

/// The quantile `numerator`/`denominator` of ascending values by [`nearest_rank`].
///
/// # Panics
///
/// If there are no values or the quantile is above 1.
#[must_use]
pub fn percentile<T: Copy>(sorted: &[T], numerator: u64, denominator: u64) -> T {
    sorted[nearest_rank(sorted.len() as u64, numerator, denominator) as usize]
}

/// The median: the mean of the two middle values where their number is even; `None` of nothing.
#[must_use]
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    Some(if values.len() % 2 == 1 { upper } else { f64::midpoint(values[values.len() / 2 - 1], upper) })
}

/// The standard deviation of a whole population (divided by N, not by N − 1); `None` of nothing.
///
/// The sums are exact, so that the order of the values does not matter. They hold N values of up to
/// 2^64/N.
///
/// ```
/// use chash_metrics::stats::population_deviation;
/// assert_eq!(population_deviation(&[2, 4, 4, 4, 5, 5, 7, 9]), Some(2.0));
/// ```
#[must_use]
pub fn population_deviation(values: &[u64]) -> Option<f64> {
    let count = values.len() as u128;
    let sum: u128 = values.iter().map(|value| u128::from(*value)).sum();
    let squares: u128 = values.iter().map(|value| u128::from(*value) * u128::from(*value)).sum();
    // N² times the variance, a whole number.
    let scaled = count * squares - sum * sum;
    (count > 0).then(|| (scaled as f64).sqrt() / count as f64)
}

/// The Gini coefficient `Σ|x_i − x_j|/(2N²·mean x)` of values of at least 0; `None` where their sum is 0.
///
/// O(N log N), and independent of the order of the values.
///
/// ```
/// use chash_metrics::stats::gini;
/// assert_eq!(gini(vec![0.0, 0.0, 0.0, 1.0]), Some(0.75));
/// ```
#[must_use]
pub fn gini(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let count = values.len() as f64;
    let sum: f64 = values.iter().sum();
    // The i-th smallest of N, from 1, is the larger one of i − 1 pairs and the smaller one of N − i.
    let weighted: f64 =
        values.iter().enumerate().map(|(i, value)| (2.0 * (i as f64 + 1.0) - count - 1.0) * value).sum();
    (sum > 0.0).then(|| weighted / (count * sum))
}

/// Pearson's test of counts against expected counts; cells that expect nothing must hold nothing.
///
/// `None` where fewer than two cells expect anything. A count in a cell that expects nothing gives
/// an infinite statistic and a p-value of 0.
///
/// # Panics
///
/// If the slices differ in length.
#[must_use]
pub fn chi_squared(observed: &[u64], expected: &[f64]) -> Option<Fit> {
    assert_eq!(observed.len(), expected.len(), "every count has its expectation");
    let mut statistic = 0.0;
    let mut cells = 0u64;
    for (count, expected) in observed.iter().zip(expected) {
        if *expected > 0.0 {
            let difference = *count as f64 - expected;
            statistic += difference * difference / expected;
            cells += 1;
        } else if *count > 0 {
            statistic = f64::INFINITY;
        }
    }
    let dof = cells.checked_sub(1).filter(|dof| *dof > 0)?;
    Some(Fit { statistic, dof, p_value: chi_squared_tail(statistic, dof) })
}

/// The probability that a chi-squared variable with `dof` degrees of freedom is at least `statistic`.
///
/// # Panics
///
/// If `dof` is 0.
#[must_use]
pub fn chi_squared_tail(statistic: f64, dof: u64) -> f64 {
    if statistic.is_infinite() {
        return 0.0;
    }
    let distribution = ChiSquared::new(dof as f64).expect("at least one degree of freedom");
    distribution.sf(statistic)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known values: 0..19 has p95 = 18, and 1..200 has p14 = 28 although 0.14 · 200 rounds above 28.
    #[test]
    fn percentiles_are_by_nearest_rank() {
        let to_19: Vec<u64> = (0..20).collect();
        let to_200: Vec<u64> = (1..=200).collect();
        assert_eq!(percentile(&to_19, 95, 100), 18);
        assert_eq!(percentile(&to_200, 14, 100), 28);
        assert_eq!((percentile(&to_200, 0, 1), percentile(&to_200, 1, 1)), (1, 200));
        assert_eq!((percentile(&to_200, 1, 2), percentile(&[7u64], 999, 1000)), (100, 7));
        // Merged samples, not averaged percentiles.
        let merged: Vec<u64> = std::iter::repeat_n(10, 1000).chain(std::iter::repeat_n(2000, 10)).collect();
        assert_eq!((percentile(&merged, 99, 100), percentile(&merged, 999, 1000)), (10, 2000));
    }

    #[test]
    fn medians_by_hand() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(vec![]), None);
    }

    #[test]
    fn deviations_by_hand() {
        assert_eq!(population_deviation(&[2, 4, 4, 4, 5, 5, 7, 9]), Some(2.0));
        assert_eq!(population_deviation(&[u64::MAX]), Some(0.0));
        assert_eq!(population_deviation(&[1 << 60; 3]), Some(0.0));
        assert_eq!(population_deviation(&[]), None);
    }

    #[test]
    fn gini_equals_its_definition() {
        let values = [0.5, 3.0, 0.0, 1.25, 3.0];
        let pairs: f64 = values.iter().flat_map(|x: &f64| values.iter().map(move |y| (x - y).abs())).sum();
        let mean = values.iter().sum::<f64>() / 5.0;
        assert!((gini(values.to_vec()).unwrap() - pairs / (2.0 * 25.0 * mean)).abs() < 1e-15);
        assert_eq!(gini(vec![2.0; 7]), Some(0.0));
        assert_eq!(gini(vec![0.0; 7]), None);
    }

    /// Textbook quantiles: 3.841 and 124.342 are exceeded with probability 5 %.
    #[test]
    fn tail_equals_tabulated_quantiles() {
        assert!((chi_squared_tail(3.841_458_8, 1) - 0.05).abs() < 1e-6);
        assert!((chi_squared_tail(124.342_113, 100) - 0.05).abs() < 1e-6);
    }

    #[test]
    fn a_count_where_nothing_is_expected_fails() {
        assert_eq!(chi_squared(&[1, 5, 5], &[0.0, 5.5, 5.5]).unwrap().p_value, 0.0);
        assert!(chi_squared(&[5], &[5.0]).is_none());
        assert_eq!(chi_squared(&[5, 5], &[5.0, 5.0]).unwrap().p_value, 1.0);
    }
}
