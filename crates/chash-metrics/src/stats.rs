//! Arithmetic shared by the metrics and the laws.

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
