//! Tests with a stated level. Seeds are fixed, so a test that passes once passes always; the level
//! is the probability that a correct placement with other seeds would have been rejected.

use chash_metrics::stats::{Fit, chi_squared};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The probability that one law rejects a correct subject, whatever the number of tests in it.
pub(crate) const LEVEL: f64 = 1e-6;

/// Cells that expect fewer counts than this are put together: below it the chi-squared distribution
/// is a poor guide to tails as thin as [`LEVEL`].
const SMALLEST_CELL: f64 = 50.0;

/// Pearson's test of counts against shares of their sum; cells that expect nothing must hold nothing.
///
/// `None` where fewer than two cells remain.
pub(crate) fn fit_to_shares(counts: &[u64], shares: &[f64]) -> Option<Fit> {
    let total = counts.iter().sum::<u64>() as f64;
    let (mut observed, mut expected) = (Vec::new(), Vec::new());
    let (mut small_observed, mut small_expected) = (0, 0.0);
    for (count, share) in counts.iter().zip(shares) {
        let expects = share * total;
        if expects >= SMALLEST_CELL || expects == 0.0 {
            observed.push(*count);
            expected.push(expects);
        } else {
            small_observed += count;
            small_expected += expects;
        }
    }
    if small_expected >= SMALLEST_CELL {
        observed.push(small_observed);
        expected.push(small_expected);
    }
    chi_squared(&observed, &expected)
}

/// The two-sided p-value of Student's test that values have this mean.
///
/// The level is exact for normal values; shares of rings with ten points a node or more are near enough.
/// Values that do not vary at all have the mean or do not, to the rounding of the sum.
pub(crate) fn mean_test(values: &[f64], mean: f64) -> f64 {
    let n = values.len() as f64;
    let average = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - average) * (value - average)).sum::<f64>() / (n - 1.0);
    let error = (variance / n).sqrt();
    if error < 1e-12 {
        return if (average - mean).abs() < 1e-9 { 1.0 } else { 0.0 };
    }
    let student = StudentsT::new(0.0, 1.0, n - 1.0).expect("at least two values");
    2.0 * student.sf(((average - mean) / error).abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tabulated: with 9 degrees of freedom, 2.262 is exceeded on either side with probability 5 %.
    #[test]
    fn mean_test_is_students() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        let error = (82.5f64 / 9.0 / 10.0).sqrt();
        assert!((mean_test(&values, 5.5 + 2.262_157 * error) - 0.05).abs() < 1e-6);
        assert_eq!(mean_test(&values, 5.5), 1.0);
        assert_eq!(mean_test(&[0.5; 10], 0.5), 1.0);
        assert_eq!(mean_test(&[0.5; 10], 0.25), 0.0);
    }

    #[test]
    fn small_cells_are_put_together_and_empty_ones_stay_empty() {
        let fit = fit_to_shares(&[480, 480, 20, 20], &[0.48, 0.48, 0.02, 0.02]).unwrap();
        assert_eq!((fit.dof, fit.p_value), (1, 1.0));
        assert_eq!(fit_to_shares(&[500, 499, 1], &[0.5, 0.5, 0.0]).unwrap().p_value, 0.0);
        assert!(fit_to_shares(&[1000], &[1.0]).is_none());
    }
}
