//! Unbiased draws from an interval of integers.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng as _;

/// An interval `0..len` to draw from.
///
/// Multiply, keep the high half, and draw again in the few cases that would favour some values
/// (Lemire 2019, "Fast random integer generation in an interval"): exactly uniform.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Below {
    len: u64,
    /// 2^64 mod `len`: products whose low half is less are drawn again.
    rejected: u64,
}

impl Below {
    /// # Panics
    ///
    /// If `len` is 0.
    pub(crate) const fn new(len: u64) -> Self {
        assert!(len > 0, "an interval to draw from must not be empty");
        Self { len, rejected: len.wrapping_neg() % len }
    }

    /// One value in `0..len`. Mostly one word of the generator; more with a probability below len/2^64.
    #[inline]
    pub(crate) fn draw(self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        self.draw_after(rng.next_u64(), rng)
    }

    /// The same with the first word already drawn.
    #[inline]
    pub(crate) fn draw_after(self, word: u64, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let mut word = word;
        loop {
            let product = u128::from(word) * u128::from(self.len);
            if product as u64 >= self.rejected {
                return (product >> 64) as u64;
            }
            word = rng.next_u64();
        }
    }
}

/// Intervals up to this length take two values from a word.
const SHORT: u64 = 1 << 24;

impl Below {
    /// Replaces the contents of `out` by `count` values.
    ///
    /// Up to a length of 2^24, each word gives two values: its low and its high 32 bits, in this order, multiplied as
    /// above; a half that would favour some values (probability below 2^-8) is replaced by a
    /// [`draw`](Self::draw). Beyond that length, each value is a `draw`.
    pub(crate) fn fill(self, rng: &mut Xoshiro256PlusPlus, count: usize, out: &mut Vec<u64>) {
        out.clear();
        out.resize(count, 0);
        if self.len > SHORT {
            for value in out {
                *value = self.draw(rng);
            }
            return;
        }
        let rejected = (1u64 << 32) % self.len;
        for pair in out.chunks_mut(2) {
            let word = rng.next_u64();
            for (value, half) in pair.iter_mut().zip([word & u64::from(u32::MAX), word >> 32]) {
                let product = half * self.len;
                let favours_some = u64::from(product as u32) < rejected;
                *value = if favours_some { self.draw(rng) } else { product >> 32 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng as _;

    use super::*;

    #[test]
    fn the_words_kept_are_shared_out_equally() {
        // 2^64 - rejected is a multiple of len, so every value has equally many words.
        for len in [1, 2, 3, 5, 7, 1000, 1 << 32, (1 << 63) - 25, 1 << 63] {
            let below = Below::new(len);
            assert_eq!(((1u128 << 64) - u128::from(below.rejected)) % u128::from(len), 0, "{len}");
            assert!(below.rejected < len);
        }
    }

    #[test]
    fn words_that_favour_a_value_are_drawn_again() {
        // 2^64 mod 3 = 1: of all words, only 0 has a product whose low half is below 1.
        let below = Below::new(3);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let next = below.draw(&mut rng.clone());
        assert_eq!(below.draw_after(0, &mut rng), next);
        assert_eq!(below.draw_after(1, &mut rng), 0);
        assert_eq!(below.draw_after(u64::MAX / 3 + 1, &mut rng), 1);
        assert_eq!(below.draw_after(u64::MAX, &mut rng), 2);
    }

    #[test]
    fn filling_takes_halves_of_words_or_whole_ones() {
        let rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut out = vec![7; 3];

        // The longest interval of halves has no remainder in 2^32, so that none is rejected.
        Below::new(SHORT).fill(&mut rng.clone(), 5, &mut out);
        let mut words = rng.clone();
        let halves: Vec<u64> = (0..3)
            .map(|_| words.next_u64())
            .flat_map(|word| [word << 32 >> 40, word >> 40])
            .take(5)
            .collect();
        assert_eq!(out, halves);

        let long = Below::new(SHORT + 1);
        long.fill(&mut rng.clone(), 5, &mut out);
        let mut words = rng.clone();
        assert_eq!(out, [(); 5].map(|()| long.draw(&mut words)));

        Below::new(3).fill(&mut rng.clone(), 0, &mut out);
        assert_eq!(out, []);
    }

    #[test]
    fn a_half_that_favours_a_value_is_replaced() {
        // 257 times this is just above 2^32, which leaves a remainder of nearly all: one half in 257 is rejected.
        let len = 16_711_936;
        let below = Below::new(len);
        let rejected = (1u64 << 32) % len;
        let rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut out = Vec::new();
        below.fill(&mut rng.clone(), 2000, &mut out);
        let mut words = rng.clone();
        let mut replaced = 0;
        for pair in out.chunks(2) {
            let word = words.next_u64();
            for (&value, half) in pair.iter().zip([word << 32 >> 32, word >> 32]) {
                let product = half * len;
                if product % (1 << 32) < rejected {
                    replaced += 1;
                    assert_eq!(value, below.draw(&mut words));
                } else {
                    assert_eq!(value, product >> 32);
                }
            }
        }
        assert!(replaced > 0);
    }
}
