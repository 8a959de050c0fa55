//! The factor c of the paper as an exact ratio, and the capacities that follow from it.

use core::fmt;
use core::str::FromStr;

/// Most digits after the point: the denominator 10^9 still fits in a `u32`.
const MAX_FRACTION_DIGITS: usize = 9;

/// How far a node's load may exceed its fair share: c = 1 + ε of the paper, at least 1.
///
/// Read from a decimal exactly as written, never through a float: "1.1" is 11/10. Both sides of the
/// reduced ratio fit in a `u32`, which is every decimal of up to 9 fraction digits below 4.29, of up
/// to 6 below 4294, and so on up to 4294967295. With that bound a capacity needs no more than 128
/// bits, whatever the loads and weights are.
///
/// ```
/// use chash_bounded::Factor;
/// let factor: Factor = "1.10".parse()?;
/// assert_eq!(factor.to_string(), "1.1");
/// assert_eq!(factor.capacity(90, 1, 3), 33); // a float says 34
/// # Ok::<(), chash_bounded::FactorError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Factor {
    /// At least the denominator; no common divisor.
    numerator: u32,
    /// A divisor of 10^9.
    denominator: u32,
}

impl Factor {
    /// What a node of this weight may hold of `total` keys: ⌈c · total · weight / total_weight⌉.
    ///
    /// Exact; an answer beyond `u64::MAX` is given as `u64::MAX`. O(1).
    ///
    /// # Panics
    ///
    /// If `total_weight` is 0.
    #[must_use]
    pub fn capacity(self, total: u64, weight: u32, total_weight: u64) -> u64 {
        Capacities::new(self, total, total_weight).of(weight)
    }

    /// Numerator and denominator, without a common divisor.
    #[must_use]
    pub fn ratio(self) -> (u64, u64) {
        (self.numerator.into(), self.denominator.into())
    }
}

/// 1.25, which the paper quotes as satisfactory in service (Vimeo, 2016).
impl Default for Factor {
    fn default() -> Self {
        Self { numerator: 5, denominator: 4 }
    }
}

/// The shortest decimal, which parses back to the same factor.
impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.numerator / self.denominator)?;
        let mut rest = u64::from(self.numerator % self.denominator);
        if rest > 0 {
            f.write_str(".")?;
        }
        // The denominator divides a power of ten, so the digits end.
        while rest > 0 {
            rest *= 10;
            write!(f, "{}", rest / u64::from(self.denominator))?;
            rest %= u64::from(self.denominator);
        }
        Ok(())
    }
}

impl FromStr for Factor {
    type Err = FactorError;

    fn from_str(text: &str) -> Result<Self, FactorError> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) {
            return Err(FactorError::NotADecimal);
        }
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > MAX_FRACTION_DIGITS {
            return Err(FactorError::TooPrecise);
        }
        // Only digits are left, so that a part that does not parse is too long.
        let whole: u32 = whole.parse().map_err(|_| FactorError::TooLarge)?;
        let denominator = 10u64.pow(fraction.len() as u32);
        let fraction: u64 = if fraction.is_empty() { 0 } else { fraction.parse().expect("at most 9 digits") };
        if whole == 0 {
            return Err(FactorError::BelowOne);
        }
        // Below 2^32 · 10^9 + 10^9, which 64 bits hold.
        let numerator = u64::from(whole) * denominator + fraction;
        let divisor = greatest_common_divisor(numerator, denominator);
        Ok(Self {
            numerator: u32::try_from(numerator / divisor).map_err(|_| FactorError::TooLarge)?,
            denominator: (denominator / divisor) as u32,
        })
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Why a text is not a [`Factor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FactorError {
    /// Anything but digits with at most one point between them: no sign, exponent or blank.
    NotADecimal,
    /// Less than 1: some keys could not be placed.
    BelowOne,
    /// More than 9 digits after the point, trailing zeros not counted.
    TooPrecise,
    /// The numerator of the reduced ratio exceeds 2^32 − 1.
    TooLarge,
}

impl fmt::Display for FactorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotADecimal => "the factor must be a plain decimal such as 1.25",
            Self::BelowOne => "the factor must be at least 1",
            Self::TooPrecise => "the factor must have at most 9 digits after the point",
            Self::TooLarge => "the factor as a reduced ratio must have a numerator of at most 4294967295",
        })
    }
}

impl core::error::Error for FactorError {}

/// The capacities of all nodes at one total.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacities {
    factor: Factor,
    total: u64,
    /// Above 0.
    total_weight: u64,
    /// c's denominator times the total weight, or 0 if a word does not hold it.
    unit: u64,
    /// c's numerator, or 0 with `unit`.
    step: u64,
    /// `step` times the total, or 0 if a word does not hold it.
    demand: u64,
}

impl Capacities {
    /// The capacities for `total` keys over nodes of this total weight, which is above 0.
    pub(crate) fn new(factor: Factor, total: u64, total_weight: u64) -> Self {
        let unit = u64::from(factor.denominator).checked_mul(total_weight).unwrap_or(0);
        let step = if unit > 0 { factor.numerator.into() } else { 0 };
        let mut capacities = Self { factor, total, total_weight, unit, step, demand: 0 };
        capacities.set_total(total);
        capacities
    }

    /// What the capacities are for.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Goes over to the capacities for another total.
    #[inline]
    pub(crate) fn set_total(&mut self, total: u64) {
        self.total = total;
        self.demand = self.step.checked_mul(total).unwrap_or(0);
    }

    /// The capacity of a node of this weight, ⌈demand · weight / unit⌉, at most `u64::MAX`.
    pub(crate) fn of(self, weight: u32) -> u64 {
        let (demand, unit) = self.wide();
        u64::try_from((demand * u128::from(weight)).div_ceil(unit)).unwrap_or(u64::MAX)
    }

    /// Whether a node of this weight with this load has room for one more.
    ///
    /// load < ⌈x/y⌉ is load·y < x: no division, which would cost more than the lookup.
    #[inline]
    pub(crate) fn admit(&self, load: u64, weight: u32) -> bool {
        if self.demand == 0 {
            return self.admit_wide(load, weight);
        }
        u128::from(load) * u128::from(self.unit) < u128::from(self.demand) * u128::from(weight)
    }

    /// The same for operands of any size.
    #[cold]
    #[inline(never)]
    fn admit_wide(&self, load: u64, weight: u32) -> bool {
        let (demand, unit) = self.wide();
        // A product beyond 128 bits exceeds any demand.
        let taken = u128::from(load).checked_mul(unit);
        taken.is_some_and(|taken| taken < demand * u128::from(weight))
    }

    /// Demand and unit in full: each below 2^96, so that a demand times a weight is below 2^128.
    fn wide(&self) -> (u128, u128) {
        (
            u128::from(self.factor.numerator) * u128::from(self.total),
            u128::from(self.factor.denominator) * u128::from(self.total_weight),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn factor(text: &str) -> Factor {
        text.parse().unwrap()
    }

    #[test]
    fn reads_decimals_as_written() {
        for (text, numerator, denominator, canonical) in [
            ("1.25", 5, 4, "1.25"),
            ("1.1", 11, 10, "1.1"),
            ("1", 1, 1, "1"),
            ("1.0", 1, 1, "1"),
            ("01.250000000000", 5, 4, "1.25"),
            ("1.000000001", 1_000_000_001, 1_000_000_000, "1.000000001"),
            ("4.294967295", 858_993_459, 200_000_000, "4.294967295"),
            ("4294967295", 4_294_967_295, 1, "4294967295"),
        ] {
            let read = factor(text);
            assert_eq!(read.ratio(), (numerator, denominator), "{text}");
            assert_eq!(read.to_string(), canonical);
        }
        assert_eq!(Factor::default(), factor("1.25"));
    }

    #[test]
    fn refuses_with_the_reason() {
        for text in
            ["", ".", "1.", ".5", "-1", "+1.5", "1e3", " 1.25", "1.25 ", "1,25", "1.2.3", "inf", "NaN", "١"]
        {
            assert_eq!(text.parse::<Factor>(), Err(FactorError::NotADecimal), "{text:?}");
        }
        for text in ["0", "0.0", "0.999999999"] {
            assert_eq!(text.parse::<Factor>(), Err(FactorError::BelowOne), "{text}");
        }
        assert_eq!("1.0000000001".parse::<Factor>(), Err(FactorError::TooPrecise));
        for text in ["4294967296", "4.294967297", "99999999999999999999999999"] {
            assert_eq!(text.parse::<Factor>(), Err(FactorError::TooLarge), "{text}");
        }
    }

    /// Capacities that a float, a floor or a rounding gets wrong.
    #[test]
    fn capacities_are_exact() {
        assert_eq!(factor("1.1").capacity(90, 1, 3), 33);
        assert_eq!(factor("1.1").capacity(180, 1, 2), 99);
        assert_eq!(factor("1.25").capacity(3, 1, 8), 1);
        assert_eq!(factor("1.25").capacity(10, 1, 2), 7);
        assert_eq!(factor("1").capacity(1, 1, 1), 1);
        assert_eq!(factor("1").capacity(0, 1, 1), 0);
        assert_eq!(factor("1.25").capacity(100, 0, 3), 0);
        assert_eq!(factor("1.25").capacity(100, 3, 4), 94);
    }

    /// The largest operands that the types allow.
    #[test]
    fn nothing_overflows() {
        let (largest, finest) = (factor("4294967295"), factor("1.000000001"));
        assert_eq!(largest.capacity(u64::MAX, u32::MAX, 1), u64::MAX);
        assert!(Capacities::new(largest, u64::MAX, 1).admit(u64::MAX, u32::MAX));
        assert_eq!(finest.capacity(u64::MAX, u32::MAX, u64::MAX), u64::from(u32::MAX) + 5);
        assert!(!Capacities::new(finest, u64::MAX, u64::MAX).admit(u64::MAX, u32::MAX));
        assert_eq!(finest.capacity(1, 1, u64::MAX), 1);
    }

    proptest! {
        #[test]
        fn the_printed_factor_is_the_same(numerator in 1_000_000_000u64..=u64::from(u32::MAX), zeros in 0usize..9) {
            let text = format!("{}.{:09}", numerator / 1_000_000_000, numerator % 1_000_000_000);
            let read = factor(&text);
            prop_assert_eq!(factor(&read.to_string()), read);
            prop_assert_eq!(factor(&format!("{text}{}", "0".repeat(zeros))), read);
            // numerator / 10^9 = read, cross-multiplied.
            prop_assert_eq!(
                u128::from(numerator) * u128::from(read.denominator),
                u128::from(read.numerator) * 1_000_000_000
            );
        }

        /// The smallest integer that is not below c · total · w / W, found from the definition.
        #[test]
        fn capacity_is_the_ceiling(
            thousandths in 1000u32..9000, total in 0u64..1 << 40, weight in 0u32..=u32::MAX, others in 1u64..1 << 40,
        ) {
            let factor = factor(&format!("{}.{:03}", thousandths / 1000, thousandths % 1000));
            let total_weight = u64::from(weight) + others;
            let capacity = factor.capacity(total, weight, total_weight);
            let exact = u128::from(thousandths) * u128::from(total) * u128::from(weight);
            let unit = 1000 * u128::from(total_weight);
            prop_assert!(u128::from(capacity) * unit >= exact);
            prop_assert!(capacity == 0 || u128::from(capacity - 1) * unit < exact);
            let capacities = Capacities::new(factor, total, total_weight);
            for admit in [Capacities::admit, Capacities::admit_wide] {
                prop_assert!(!admit(&capacities, capacity, weight));
                prop_assert!(capacity == 0 || admit(&capacities, capacity - 1, weight));
            }
        }
    }
}
