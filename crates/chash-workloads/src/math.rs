//! The only functions of the crate that are not exact: from `libm`, in software, so that they give the same
//! bits on every platform (the standard library's differ between CPUs and C libraries).

/// `base` to the power `exponent`.
pub(crate) fn pow(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}

/// The natural logarithm.
pub(crate) fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// `(e^x - 1) / x`, continued to 1 at 0; precise near 0.
pub(crate) fn exp_m1_over(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { libm::expm1(x) / x }
}

/// The sum of numbers that are not negative, with the rounding errors carried along (Neumaier 1974): off by one
/// rounding of the result, however many they are.
pub(crate) fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    for term in terms {
        let next = sum + term;
        lost += if sum >= term { (sum - next) + term } else { (term - next) + sum };
        sum = next;
    }
    sum + lost
}

#[cfg(test)]
mod tests {
    use core::f64::consts;

    use super::*;

    /// One unit in the last place is allowed.
    #[test]
    fn values() {
        for (got, exact) in [
            (pow(2.0, 0.5), consts::SQRT_2),
            (pow(10.0, -1.1), 0.079_432_823_472_428_15),
            (ln(10.0), consts::LN_10),
            (exp_m1_over(1.0), consts::E - 1.0),
            (exp_m1_over(1e-9), 1.000_000_000_5),
            (exp_m1_over(-700.0), 1.0 / 700.0),
        ] {
            assert!((got - exact).abs() <= exact * f64::EPSILON, "{got} {exact}");
        }
        assert_eq!(exp_m1_over(0.0), 1.0);
    }

    #[test]
    fn sums_lose_nothing() {
        assert_eq!(sum([]), 0.0);
        let tiny = f64::EPSILON / 4.0;
        assert_eq!(sum([1.0].into_iter().chain([tiny; 1024])), 1.0 + 256.0 * f64::EPSILON);
        assert_eq!(sum([tiny; 1024].into_iter().chain([1.0])), 1.0 + 256.0 * f64::EPSILON);
    }
}
