//! Arithmetic modulo the table size, a prime below 2^31.

use chash_core::mix::reduce;

/// Whether `n` is prime. At most 2^15 divisions below 2^31.
pub(crate) fn is_prime(n: u32) -> bool {
    let mut odd_divisors = (3..).step_by(2).take_while(|divisor| u64::from(*divisor).pow(2) <= u64::from(n));
    n == 2 || (n > 2 && !n.is_multiple_of(2) && !odd_divisors.any(|divisor| n.is_multiple_of(divisor)))
}

/// `a + b` modulo `modulus`, for both below it.
#[inline]
pub(crate) fn add(a: u32, b: u32, modulus: u32) -> u32 {
    let sum = a + b;
    // Below the modulus the difference wraps round to something greater.
    sum.min(sum.wrapping_sub(modulus))
}

/// The number whose product with `a` is 1 modulo the prime `modulus`, for `a` from 1 to below it.
pub(crate) fn inverse(a: u32, modulus: u32) -> u32 {
    // Euclid's algorithm; each remainder is `factor · a` modulo `modulus`, and no factor is beyond it.
    let (mut remainders, mut factors) = ((modulus, a), (0i64, 1i64));
    while remainders.1 > 0 {
        let quotient = remainders.0 / remainders.1;
        remainders = (remainders.1, remainders.0 % remainders.1);
        factors = (factors.1, factors.0 - i64::from(quotient) * factors.1);
    }
    factors.0.rem_euclid(i64::from(modulus)) as u32
}

/// Remainders of 64-bit numbers by one divisor, without a division for each.
#[derive(Clone, Copy)]
pub(crate) struct Divisor {
    divisor: u32,
    /// 2^64 over the divisor, rounded down; 2^64 − 1 for a divisor of 1.
    reciprocal: u64,
}

impl Divisor {
    /// For a divisor from 1 to 2^31.
    pub(crate) fn new(divisor: u32) -> Self {
        Self { divisor, reciprocal: u64::MAX / u64::from(divisor) }
    }

    /// `x` modulo the divisor.
    #[inline]
    pub(crate) fn remainder(self, x: u64) -> u32 {
        // One less than the true quotient at most, so that the rest is below twice the divisor.
        let quotient = reduce(x, self.reciprocal);
        let rest = x.wrapping_sub(quotient.wrapping_mul(u64::from(self.divisor))) as u32;
        rest.min(rest.wrapping_sub(self.divisor))
    }
}

/// Multiplication by one number modulo `modulus`, without a division for each product (Shoup's method).
#[derive(Clone, Copy)]
pub(crate) struct Multiplier {
    factor: u32,
    /// `factor / modulus` in units of 2^−32, rounded down.
    quotient: u32,
    modulus: u32,
}

impl Multiplier {
    /// For a factor below the modulus.
    pub(crate) fn new(factor: u32, modulus: u32) -> Self {
        let quotient = ((u64::from(factor) << 32) / u64::from(modulus)) as u32;
        Self { factor, quotient, modulus }
    }

    /// `factor · x` modulo the modulus, for any `x`.
    #[inline]
    pub(crate) fn times(self, x: u32) -> u32 {
        // One less than the true quotient at most, so that the rest is below twice the modulus.
        let quotient = ((u64::from(x) * u64::from(self.quotient)) >> 32) as u32;
        let rest = x.wrapping_mul(self.factor).wrapping_sub(quotient.wrapping_mul(self.modulus));
        rest.min(rest.wrapping_sub(self.modulus))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PRIMES: [u32; 8] = [2, 3, 7, 251, 65_537, 655_373, 5_000_011, (1 << 31) - 1];

    #[test]
    fn primes_are_told_from_the_rest() {
        let found: Vec<u32> = (0..50).filter(|n| is_prime(*n)).collect();
        assert_eq!(found, [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47]);
        assert!(PRIMES.into_iter().all(is_prime));
        // Squares of primes, a Carmichael number, neighbours of powers of two, the greatest of all.
        for composite in [25, 49, 561, 65_535, 65_536, 46_337 * 46_337, (1 << 31) - 3, 1 << 31, u32::MAX] {
            assert!(!is_prime(composite), "{composite}");
        }
    }

    proptest! {
        #[test]
        fn equals_wide_arithmetic(a: u32, b: u32, which in 0..PRIMES.len()) {
            let modulus = PRIMES[which];
            let wide = u64::from(modulus);
            let (x, y) = (a % modulus, b % modulus);
            prop_assert_eq!(u64::from(add(x, y, modulus)), (u64::from(x) + u64::from(y)) % wide);
            let long = u64::from(a) << 32 | u64::from(b);
            for x in [long, !long, u64::from(b), u64::MAX, long / wide * wide, (long / wide * wide).wrapping_sub(1)] {
                prop_assert_eq!(u64::from(Divisor::new(modulus).remainder(x)), x % wide);
                prop_assert_eq!(u64::from(Divisor::new(modulus - 1).remainder(x)), x % (wide - 1));
            }
            let product = Multiplier::new(x, modulus).times(b);
            prop_assert_eq!(u64::from(product), u64::from(x) * u64::from(b) % wide);
            if x > 0 {
                prop_assert_eq!(u64::from(inverse(x, modulus)) * u64::from(x) % wide, 1 % wide);
            }
        }
    }
}
