//! A seeded shuffle that takes no memory.

use crate::ParameterError;
use crate::seed::split;
use crate::workload::check_keys;

/// Rounds in a set. Ranges of more than 12 bits have one set, shorter ones, whose bits are mixed less by a round,
/// four: these are the numbers at which tests of the images of two and three indices over many seeds, and of
/// successive images under one seed, find nothing.
const ROUNDS: usize = 4;

/// Indices that are worked on together.
const BATCH: usize = 256;

/// The largest word that matters in a pass: of 32 bits, which vector units multiply several at a time, or of 64.
const NARROW: u64 = u32::MAX as u64;
const WIDE: u64 = u64::MAX;

/// A bijection of `0..len` chosen by a seed, with its inverse, in constant memory.
///
/// Words of as many bits as `len - 1` has are multiplied by an odd number, added to, and folded (the high half is
/// added to the low half without carry), 4 times, or 16 times if there are at most 12 bits: each step can be undone.
/// What lands beyond `len` is permuted again until it does not ("cycle walking", Black and Rogaway 2002), at most two
/// passes in the mean. It is good enough to say which keys are popular; it is no cipher.
///
/// ```
/// use chash_workloads::permutation::Permutation;
///
/// let permutation = Permutation::new(1000, 42)?;
/// assert_eq!(permutation.invert(permutation.apply(7)), 7);
/// let mut all: Vec<u64> = (0..1000).map(|index| permutation.apply(index)).collect();
/// assert_ne!(all[0], 0);
/// all.sort_unstable();
/// assert!(all.into_iter().eq(0..1000));
/// # Ok::<(), chash_workloads::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Permutation {
    len: u64,
    /// Bits of `len - 1`, 0 to 63.
    bits: u32,
    /// Applied one after the other.
    sets: Box<[[Round; ROUNDS]]>,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    /// Odd.
    factor: u64,
    /// `factor * inverse` is 1 modulo 2^64.
    inverse: u64,
    offset: u64,
}

impl Permutation {
    /// The permutation of `0..len` that belongs to a seed.
    ///
    /// # Errors
    ///
    /// If `len` is not between 1 and 2^63.
    pub fn new(len: u64, seed: u64) -> Result<Self, ParameterError> {
        check_keys(len)?;
        let bits = 64 - (len - 1).leading_zeros();
        let mut word = seed;
        let mut next = || {
            word = split(word);
            word
        };
        let sets = if bits <= 12 { 4 } else { 1 };
        let sets = (0..sets).map(|_| core::array::from_fn(|_| Round::new(next() | 1, next()))).collect();
        Ok(Self { len, bits, sets })
    }

    /// Where an index goes.
    ///
    /// # Panics
    ///
    /// If the index is not below the length.
    #[must_use]
    pub fn apply(&self, index: u64) -> u64 {
        assert!(index < self.len, "an index beyond the permutation");
        let mut value = [index];
        loop {
            self.pass::<WIDE>(&mut value);
            if value[0] < self.len {
                return value[0];
            }
        }
    }

    /// Where each of many indices, all below the length, goes, in their place: faster than one by one.
    pub(crate) fn apply_all(&self, indices: &mut [u64]) {
        debug_assert!(indices.iter().all(|&index| index < self.len), "an index beyond the permutation");
        for batch in indices.chunks_mut(BATCH) {
            if self.bits <= 32 { self.apply_batch::<NARROW>(batch) } else { self.apply_batch::<WIDE>(batch) }
        }
    }

    /// Where an index comes from.
    ///
    /// # Panics
    ///
    /// If the index is not below the length.
    #[must_use]
    pub fn invert(&self, index: u64) -> u64 {
        assert!(index < self.len, "an index beyond the permutation");
        let mut value = self.pass_back(index);
        while value >= self.len {
            value = self.pass_back(value);
        }
        value
    }

    fn apply_batch<const WORD: u64>(&self, batch: &mut [u64]) {
        self.pass::<WORD>(batch);
        // Which values are beyond the length is unpredictable: they are listed without a branch.
        let (mut places, mut walkers) = ([0u8; BATCH], [0; BATCH]);
        let mut walking = 0;
        for (place, &value) in batch.iter().enumerate() {
            (places[walking], walkers[walking]) = (place as u8, value);
            walking += usize::from(value >= self.len);
        }
        while walking > 0 {
            let walked = walking;
            self.pass::<WORD>(&mut walkers[..walked]);
            walking = 0;
            for step in 0..walked {
                let (place, value) = (places[step], walkers[step]);
                batch[usize::from(place)] = value;
                (places[walking], walkers[walking]) = (place, value);
                walking += usize::from(value >= self.len);
            }
        }
    }

    /// One pass over each value, none of which is above `WORD` before or after.
    #[inline]
    fn pass<const WORD: u64>(&self, values: &mut [u64]) {
        for set in &self.sets {
            for value in &mut *values {
                for round in set {
                    let product = (*value & WORD).wrapping_mul(round.factor & WORD);
                    *value = self.fold(product.wrapping_add(round.offset) & self.mask() & WORD);
                }
            }
        }
    }

    #[inline]
    fn pass_back(&self, value: u64) -> u64 {
        self.sets.iter().flatten().rev().fold(value, |value, round| {
            self.fold(value).wrapping_sub(round.offset).wrapping_mul(round.inverse) & self.mask()
        })
    }

    /// Its own inverse, as the high half, which decides, stays.
    #[inline]
    fn fold(&self, value: u64) -> u64 {
        value ^ value >> self.bits.div_ceil(2)
    }

    #[inline]
    fn mask(&self) -> u64 {
        (1 << self.bits) - 1
    }
}

impl Round {
    fn new(factor: u64, offset: u64) -> Self {
        // Newton's iteration: an odd number is its own inverse modulo 8, and each step doubles the bits.
        let inverse = (0..5)
            .fold(factor, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(factor.wrapping_mul(inverse))));
        Self { factor, inverse, offset }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Computed by a second implementation of the definition, written in another language.
    #[test]
    fn values_are_stable() {
        let firsts = |len| {
            let permutation = Permutation::new(len, 42).unwrap();
            [0, 1, 2, len - 1].map(|index| permutation.apply(index))
        };
        assert_eq!(firsts(7), [4, 6, 1, 3]);
        assert_eq!(firsts(1000), [781, 264, 676, 728]);
        assert_eq!(firsts(200_000), [21_922, 163_706, 50_729, 56_879]);
        assert_eq!(
            firsts(1 << 63),
            [
                5_445_023_745_640_542_864,
                1_718_780_960_567_091_148,
                8_293_894_505_342_091_175,
                3_522_332_771_104_105_593
            ]
        );
    }

    #[test]
    fn every_short_length_is_a_bijection() {
        for len in 1..300 {
            let permutation = Permutation::new(len, len * 7).unwrap();
            let mut images: Vec<u64> = (0..len).collect();
            permutation.apply_all(&mut images);
            assert!(
                images.iter().enumerate().all(|(index, &image)| permutation.invert(image) == index as u64)
            );
            images.sort_unstable();
            assert!(images.into_iter().eq(0..len), "length {len}");
        }
    }

    #[test]
    fn lengths_out_of_range_are_refused() {
        for len in [0, (1 << 63) + 1, u64::MAX] {
            assert_eq!(Permutation::new(len, 1).unwrap_err().name, "keys");
        }
    }

    #[test]
    #[should_panic(expected = "an index beyond the permutation")]
    fn an_index_beyond_the_length_is_no_index() {
        let _ = Permutation::new(10, 1).unwrap().apply(10);
    }

    proptest! {
        #[test]
        fn inverse_and_batches_agree(bits in 0u32..64, word: u64, seed: u64, indices: Vec<u64>) {
            let len = (word >> (63 - bits) >> 1).max(1);
            let permutation = Permutation::new(len, seed).unwrap();
            let indices: Vec<u64> = indices.into_iter().map(|index| index % len).chain([0, len - 1]).collect();
            let mut images = indices.clone();
            permutation.apply_all(&mut images);
            for (index, image) in indices.into_iter().zip(images) {
                prop_assert!(image < len);
                prop_assert_eq!(permutation.apply(index), image);
                prop_assert_eq!(permutation.invert(image), index);
            }
        }
    }
}
