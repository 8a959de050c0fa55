//! What is done differently on different processors.
//!
//! Many keys at once: most of the time of one lookup goes into the mispredicted end of its loop, and
//! several keys in lockstep share one loop and one end. [`portable`] is compiled everywhere and is the
//! oracle; each further file is one instruction set. Every cfg and every feature check is in this file.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;

use crate::assert_buckets;

/// Finds the buckets of `keys` among `buckets`: `out[i]` becomes [`bucket`](crate::bucket)`(keys[i], buckets)`,
/// exactly.
///
/// Several keys are followed at once, with the widest instructions that the processor offers at run time
/// (`--cfg chash_portable` compiles in none of them).
///
/// ```
/// let mut out = [0; 3];
/// chash_jump::buckets_into(&[0, 1, 256], 1024, &mut out);
/// assert_eq!(out[2], 520);
/// ```
///
/// # Panics
///
/// If `buckets` is 0 or more than [`MAX_BUCKETS`](crate::MAX_BUCKETS), or the slices differ in length.
pub fn buckets_into(keys: &[u64], buckets: u32, out: &mut [u32]) {
    assert_buckets(buckets);
    assert_eq!(keys.len(), out.len(), "buckets_into needs as many answers as keys");
    Backend::best().buckets_into(keys, buckets, out);
}

/// The whole part of `number` where it is less than `limit` either side of 0, else `None`.
#[inline]
pub(crate) fn truncate_below(number: f64, limit: u32) -> Option<i64> {
    // `as` also answers for what is out of range, and that stands in the way of every jump: 5 to 10 %
    // of a lookup.
    // SAFETY: the number is not NaN, or the comparison were false, and its whole part fits.
    (number.abs() < f64::from(limit)).then(|| unsafe { number.to_int_unchecked() })
}

/// A way to do it that this processor can run: there is no other way to get one than to have asked.
#[derive(Clone, Copy, Debug)]
enum Backend {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
}

impl Backend {
    fn best() -> Self {
        #[cfg(all(target_arch = "x86_64", not(chash_portable)))]
        if let Some(avx2) = avx2::Avx2::new() {
            return Self::Avx2(avx2);
        }
        Self::Portable
    }

    /// The lengths must be equal and the number of buckets in range.
    fn buckets_into(self, keys: &[u64], buckets: u32, out: &mut [u32]) {
        match self {
            Self::Portable => portable::buckets_into(keys, buckets, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.buckets_into(keys, buckets, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MAX_BUCKETS, bucket};
    use chash_core::mix::mix64;

    /// Every backend that this machine can run.
    fn backends() -> Vec<Backend> {
        let mut backends = vec![Backend::Portable];
        #[cfg(target_arch = "x86_64")]
        backends.extend(avx2::Avx2::new().map(Backend::Avx2));
        backends
    }

    fn assert_equals_bucket(keys: &[u64], buckets: u32) {
        let expected: Vec<u32> = keys.iter().map(|key| bucket(*key, buckets)).collect();
        for backend in backends() {
            let mut found = vec![u32::MAX; keys.len()];
            backend.buckets_into(keys, buckets, &mut found);
            assert_eq!(found, expected, "{backend:?} at {buckets} buckets");
        }
    }

    /// Edges of the range of buckets, powers of two and their neighbours, primes.
    const BUCKETS: [u32; 18] = [
        1,
        2,
        3,
        4,
        5,
        7,
        8,
        9,
        31,
        100,
        1000,
        1024,
        65_536,
        1_000_003,
        (1 << 30) - 1,
        1 << 30,
        MAX_BUCKETS - 1,
        MAX_BUCKETS,
    ];

    #[test]
    fn every_remainder_of_every_lane_count() {
        let keys: Vec<u64> = (0..67).map(mix64).collect();
        for buckets in BUCKETS {
            for length in 0..=keys.len() {
                assert_equals_bucket(&keys[..length], buckets);
            }
        }
    }

    /// A key that ends early must not disturb one that runs on beside it, in any lane.
    #[test]
    fn long_and_short_runs_in_every_lane() {
        let jumps = |key| crate::bucket_and_jumps(key, MAX_BUCKETS).1;
        let longest = (0..5000).map(mix64).max_by_key(|key| jumps(*key)).unwrap();
        let shortest = (0..5000).map(mix64).min_by_key(|key| jumps(*key)).unwrap();
        assert!(jumps(longest) > 3 * jumps(shortest));
        for lane in 0..32 {
            let mut keys = [shortest; 32];
            keys[lane] = longest;
            assert_equals_bucket(&keys, MAX_BUCKETS);
        }
    }

    /// Keys whose first or later step draws the greatest or the least number, and keys at the ends of
    /// the range: products up to 2^62, and draws of exactly 1 and 2^31.
    #[test]
    fn extreme_draws() {
        // The state after one step determines the key: the multiplier is odd, and so has an inverse.
        let mut inverse = 1u64;
        for _ in 0..6 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(crate::MULTIPLIER.wrapping_mul(inverse)));
        }
        let before = |state: u64| state.wrapping_sub(1).wrapping_mul(inverse);
        let mut keys = vec![0, 1, u64::MAX, u64::MAX - 1, 1 << 63];
        for top in [0u64, 1, 2, (1 << 30) - 1, 1 << 30, (1 << 31) - 2, (1 << 31) - 1] {
            for low in [0, 1, (1 << 33) - 1] {
                let mut key = before((top << 33) | low);
                for _ in 0..4 {
                    keys.push(key);
                    key = before(key);
                }
            }
        }
        for buckets in BUCKETS {
            assert_equals_bucket(&keys, buckets);
        }
    }

    #[test]
    fn many_random_keys() {
        let keys: Vec<u64> = (0..20_000).map(|i| mix64(i + 1_000_000)).collect();
        for buckets in [10, 1000, 100_000, MAX_BUCKETS] {
            assert_equals_bucket(&keys, buckets);
        }
    }
}
