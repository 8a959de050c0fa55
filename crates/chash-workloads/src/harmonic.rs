//! Generalised harmonic numbers, the normaliser of the Zipf distribution.

use crate::math;

/// Terms that are added one by one; the rest has a closed form.
const DIRECT: u64 = 1024;

/// The generalised harmonic number H(n, s) = 1 + 2^-s + … + n^-s, for any s ≥ 0.
///
/// With p(i) = i^-s / H(n, s), the k most popular of n keys get the share H(k, s) / H(n, s), and two requests
/// ask for the same key with probability H(n, 2s) / H(n, s)^2.
///
/// The first 1024 terms are added one by one, the others by the Euler-Maclaurin formula with two correction
/// terms. What the formula leaves out is below s(s+1)(s+2)(s+3)(s+4)/30240 · 1024^-(s+5), less than 2^-60 of the
/// sum for every s; rounding stays below 2^-49 of it.
/// Time does not depend on n.
///
/// ```
/// use chash_workloads::harmonic;
///
/// assert_eq!(harmonic(4, 1.0), 25.0 / 12.0);
/// assert_eq!(harmonic(1_000_000_000, 0.0), 1e9);
/// // ln n + Euler's constant + 1/(2n)
/// assert!((harmonic(1_000_000_000, 1.0) - 21.300_481_502_347_94).abs() < 1e-13);
/// ```
///
/// # Panics
///
/// If `s` is negative, infinite or not a number.
#[must_use]
pub fn harmonic(n: u64, s: f64) -> f64 {
    assert!(s >= 0.0 && s.is_finite(), "the exponent must be a finite number of at least 0");
    // The last term that is added one by one is also where the integral starts, with half its weight.
    let direct = n.min(DIRECT);
    let head = math::sum((1..=direct).map(|i| math::pow(i as f64, -s)));
    if n > DIRECT { head + beyond(n, s) } else { head }
}

/// The terms after `DIRECT`, up to and including the `n`th.
fn beyond(n: u64, s: f64) -> f64 {
    let (a, b) = (DIRECT as f64, n as f64);
    let (at_a, at_b) = (math::pow(a, -s), math::pow(b, -s));
    if at_a == 0.0 {
        return 0.0;
    }
    // The integral of x^-s from a to b. Near s = 1, where both ends of the first form nearly cancel, as
    // a^(1-s) · (e^y - 1)/(1-s) with y = (1-s) ln(b/a); far from it, where that form would magnify the error of
    // the logarithm, in the first.
    let integral = if (1.0 - s).abs() > 0.125 {
        (b * at_b - a * at_a) / (1.0 - s)
    } else {
        let log_ratio = math::ln(b / a);
        a * at_a * log_ratio * math::exp_m1_over((1.0 - s) * log_ratio)
    };
    let half_ends = (at_b - at_a) / 2.0;
    let first = s / 12.0 * (at_a / a - at_b / b);
    let third = s * (s + 1.0) * (s + 2.0) / 720.0 * (at_a / (a * a * a) - at_b / (b * b * b));
    integral + half_ends + first - third
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum by definition, in integers of 2^-64.
    fn by_definition(n: u64, s: f64) -> f64 {
        let unit = (1u128 << 64) as f64;
        let sum: u128 = (1..=n).map(|i| (math::pow(i as f64, -s) * unit).round() as u128).sum();
        sum as f64 / unit
    }

    #[test]
    fn equals_the_definition() {
        let bound = 1.0 / (1u64 << 49) as f64;
        for s in [
            0.0,
            1e-9,
            0.1,
            0.5,
            0.87,
            0.88,
            0.99,
            1.0 - 1e-12,
            1.0,
            1.0 + 1e-12,
            1.1,
            1.13,
            2.0,
            2.68,
            7.0,
            20.0,
            150.0,
        ] {
            for n in [1, 2, 3, DIRECT - 1, DIRECT, DIRECT + 1, DIRECT + 2, 5000, 1_000_000] {
                let (got, exact) = (harmonic(n, s), by_definition(n, s));
                assert!((got - exact).abs() <= exact * bound, "H({n}, {s}) = {got:e}, not {exact:e}");
            }
        }
    }

    #[test]
    fn extremes() {
        assert_eq!(harmonic(0, 1.0), 0.0);
        assert_eq!(harmonic(u64::MAX, 0.0), u64::MAX as f64);
        assert_eq!(harmonic(u64::MAX, f64::MAX), 1.0);
        assert_eq!(harmonic(u64::MAX, 1e6), 1.0);
        // zeta(2) minus the terms that are missing, about 1/n.
        assert!((harmonic(1 << 60, 2.0) - core::f64::consts::PI.powi(2) / 6.0).abs() < 1e-15);
    }

    #[test]
    #[should_panic(expected = "finite number of at least 0")]
    fn refuses_a_negative_exponent() {
        let _ = harmonic(10, -0.5);
    }

    /// The tables of the theory, to the digits they print.
    #[test]
    fn equals_the_tables() {
        let mut reader = csv::Reader::from_reader(&include_bytes!("../tests/data/theory_zipf.csv")[..]);
        let mut rows = 0;
        for row in reader.records() {
            let row = row.unwrap();
            let n: u64 = row[0].parse().unwrap();
            let s: f64 = row[1].parse().unwrap();
            let h = harmonic(n, s);
            let half_unit = |digits: i32| 0.500_001 * 10f64.powi(-digits);
            let check = |column: usize, got: f64, digits: i32| {
                let printed: f64 = row[column].parse().unwrap();
                assert!((got - printed).abs() <= half_unit(digits), "{row:?}: column {column} is {got}");
            };
            check(2, h, 6);
            check(3, 1.0 / h, 6);
            check(4, harmonic(10, s) / h, 6);
            check(5, harmonic(n / 100, s) / h, 6);
            check(6, harmonic(n, 2.0 * s) / (h * h), 8);
            rows += 1;
        }
        assert_eq!(rows, 40);
    }
}
