//! A logarithm that is the same on every platform: integer operations, and IEEE + − × and nothing else.

/// Index bits of the table.
const INDEX_BITS: u32 = 7;
/// Entries of the table.
const ENTRIES: usize = 1 << INDEX_BITS;
/// Bits of `n`: the argument is n / 2^33.
const BITS: u32 = 33;

/// For the interval [1 + i/128, 1 + (i+1)/128) of the significand m: a factor close to 1/m, short
/// enough that its product with a 33-bit significand is exact, and its natural logarithm. From
/// [`FOLD`] on the logarithm is that of twice the factor, and the exponent is one less.
const TABLE: [(f64, f64); ENTRIES] = table();

/// Where significands begin to be treated as m/2 < 1 rather than m ≥ 1, so that an argument close
/// to 1 gets its small logarithm without cancellation.
const FOLD: usize = ENTRIES / 2;

const fn table() -> [(f64, f64); ENTRIES] {
    let mut table = [(0.0, 0.0); ENTRIES];
    let mut i = 0;
    while i < ENTRIES {
        // The last interval ends at 2: its factor is exactly 1/2 and its logarithm 0, so that the
        // argument's distance from 1 is all that remains.
        let middle = ((1u64 << 24) / (2 * (ENTRIES + i) as u64 + 1)) as f64 / (1u64 << 16) as f64;
        let factor = if i == ENTRIES - 1 { 0.5 } else { middle };
        table[i] = (factor, ln_near_one(if i < FOLD { factor } else { 2.0 * factor }));
        i += 1;
    }
    table
}

/// ln(x) for x between 2/3 and 4/3, by the series of 2·artanh((x−1)/(x+1)): terms beyond s^25
/// are below 2^-63 of the first.
const fn ln_near_one(x: f64) -> f64 {
    let s = (x - 1.0) / (x + 1.0);
    let mut sum = 0.0;
    let mut odd = 25;
    while odd > 1 {
        sum = (sum + 1.0 / odd as f64) * s * s;
        odd -= 2;
    }
    2.0 * (s + s * sum)
}

/// −ln(n / 2^33) for n from 1 to 2^33 − 1, with a relative error below 2^-50.
///
/// Never 0, infinite or subnormal: between 2^-33 and 22.88.
#[inline]
pub(crate) fn neg_ln(n: u64) -> f64 {
    debug_assert!(n > 0 && n < 1 << BITS, "{n} is not between 0 and 2^33");
    let exponent = n.ilog2();
    // The significand with its leading one at bit 32: an exact integer, and exact as a double.
    let aligned = n << (BITS - 1 - exponent);
    let index = (aligned >> (BITS - 1 - INDEX_BITS)) as usize % ENTRIES;
    let significand = aligned.cast_signed() as f64 / (1u64 << (BITS - 1)) as f64;
    let (factor, ln_factor) = TABLE[index];
    // Exact: the product has at most 33 + 17 bits, and the difference fewer. Between -2^-7 and 2^-7.
    let r = significand * factor - 1.0;
    let halvings = BITS - exponent - u32::from(index >= FOLD);
    // r - ln(1 + r) = r^2 / 2 - r^3 / 3 + ... - r^7 / 7, summed in pairs.
    const THIRD: f64 = 1.0 / 3.0;
    const FIFTH: f64 = 1.0 / 5.0;
    const SIXTH: f64 = 1.0 / 6.0;
    const SEVENTH: f64 = 1.0 / 7.0;
    let r2 = r * r;
    let tail = (0.5 - r * THIRD) + r2 * ((0.25 - r * FIFTH) + r2 * (SIXTH - r * SEVENTH));
    (f64::from(halvings) * core::f64::consts::LN_2 + ln_factor) + (r2 * tail - r)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chash_core::mix::mix64;

    const LARGEST: u64 = (1 << BITS) - 1;

    /// libm's logarithm, from the side on which its argument is exact.
    fn reference(n: u64) -> f64 {
        let unit = (1u64 << BITS) as f64;
        if n > 1 << (BITS - 1) {
            -libm::log1p(-(((1u64 << BITS) - n) as f64) / unit)
        } else {
            -libm::log(n as f64 / unit)
        }
    }

    /// Both ends, both sides of every table boundary at every exponent, and a sample of the rest.
    fn arguments() -> impl Iterator<Item = u64> {
        let boundaries = (0..BITS).flat_map(|exponent| {
            (0..ENTRIES as u64).flat_map(move |i| {
                let boundary = (ENTRIES as u64 + i) << exponent >> INDEX_BITS;
                [boundary.saturating_sub(1), boundary, boundary + 1]
            })
        });
        let ends = (1..=4096).chain(LARGEST - 4096..=LARGEST);
        let sample = (0..1_000_000).map(|i| mix64(i) >> (64 - BITS));
        boundaries.chain(ends).chain(sample).filter(|n| *n > 0 && *n <= LARGEST)
    }

    #[test]
    fn agrees_with_libm_to_fifty_bits() {
        for n in arguments() {
            let (ours, theirs) = (neg_ln(n), reference(n));
            let error = ((ours - theirs) / theirs).abs();
            assert!(error < 1.0 / (1u64 << 50) as f64, "n = {n}: {ours:e}, libm {theirs:e}, error {error:e}");
        }
    }

    /// What makes equal weights and no weights the same placement: neighbours stay apart, also after
    /// the division by any weight.
    #[test]
    fn is_strictly_decreasing() {
        for n in arguments().filter(|n| *n + 2 <= LARGEST) {
            for weight in [1, 3, 7, 641, u32::MAX - 1, u32::MAX] {
                let (near, far) = (neg_ln(n) / f64::from(weight), neg_ln(n + 2) / f64::from(weight));
                assert!(near > far, "n = {n}, weight {weight}: {near:e} and {far:e}");
            }
        }
    }

    #[test]
    fn ends_are_finite_and_normal() {
        let step = 1.0 / (1u64 << BITS) as f64;
        assert_eq!(neg_ln(LARGEST), step + step * step / 2.0);
        assert!(neg_ln(1) < 22.88);
        assert!((neg_ln(LARGEST) / f64::from(u32::MAX)).is_normal());
    }

    /// The bits themselves, computed once here: a change of any of them is a change of placements.
    #[test]
    fn bits_are_stable() {
        let digest = arguments().fold(0, |digest, n| mix64(digest ^ neg_ln(n).to_bits()));
        assert_eq!(digest, 0x30f8_183c_8c0f_1152);
    }
}
