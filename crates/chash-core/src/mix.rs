//! Mixing of 64-bit words, the same on every platform.

/// The increment of the SplitMix64 sequence: 2^64 divided by the golden ratio, made odd.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection of 64-bit words in which every input bit affects every output bit.
///
/// It is the output function of SplitMix64 (Steele, Lea and Flood 2014; constants by David
/// Stafford, variant 13).
///
/// ```
/// assert_eq!(chash_core::mix::mix64(0), 0);
/// assert_eq!(chash_core::mix::mix64(chash_core::mix::GOLDEN), 0xe220_a839_7b1d_cdaf);
/// ```
#[must_use]
#[inline]
pub const fn mix64(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// One word from two, order mattering: for fixed `a` a bijection of `b`, and the other way round.
#[must_use]
#[inline]
pub const fn combine(a: u64, b: u64) -> u64 {
    mix64(a ^ mix64(b.wrapping_add(GOLDEN)))
}

/// A seed prepared for [`seeded`]: 0 stays 0, and every other seed becomes a well-mixed word other than 0.
#[must_use]
#[inline]
pub const fn seed_mask(seed: u64) -> u64 {
    mix64(seed)
}

/// The key under a seed, for algorithms whose published function takes a key alone: for mask 0 the
/// key as it is, so that the published answers hold; otherwise a bijection of the keys.
///
/// ```
/// use chash_core::mix::{seed_mask, seeded};
/// assert_eq!(seeded(42, seed_mask(0)), 42);
/// assert_ne!(seeded(42, seed_mask(1)), seeded(42, seed_mask(2)));
/// ```
#[must_use]
#[inline]
pub const fn seeded(key: u64, mask: u64) -> u64 {
    if mask == 0 { key } else { mix64(key ^ mask) }
}

/// Maps a uniform word to `0..n` by multiplying and keeping the high half: no division, and biased
/// by less than n/2^64.
///
/// ```
/// assert_eq!(chash_core::mix::reduce(u64::MAX, 10), 9);
/// assert_eq!(chash_core::mix::reduce(1 << 63, 10), 5);
/// ```
#[must_use]
#[inline]
pub const fn reduce(word: u64, n: u64) -> u64 {
    // The product of two 64-bit values fits in 128 bits, and its high half in 64.
    ((word as u128 * n as u128) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of SplitMix64 from state 1234567, as published with the generator.
    #[test]
    fn mix64_is_splitmix64() {
        let outputs: Vec<u64> =
            (1..=3u64).map(|i| mix64(1_234_567u64.wrapping_add(GOLDEN.wrapping_mul(i)))).collect();
        assert_eq!(
            outputs,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn combine_depends_on_both_and_on_their_order() {
        assert_ne!(combine(1, 2), combine(2, 1));
        assert_ne!(combine(1, 2), combine(1, 3));
        assert_ne!(combine(0, 0), 0);
    }

    #[test]
    fn reduce_covers_the_range_and_stays_in_it() {
        for n in [1, 2, 3, 1 << 32, u64::MAX] {
            assert_eq!(reduce(0, n), 0);
            assert_eq!(reduce(u64::MAX, n), n - 1);
        }
    }
}
