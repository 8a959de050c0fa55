//! Hash functions for the peers that take one, so that what is compared is the placement and not the hash.

use std::hash::{BuildHasherDefault, Hasher};

use chash_core::mix::{GOLDEN, mix64};

/// A hasher of words. With `PREHASHED` the first 64-bit word is taken as it is: the keys here are uniform
/// already, and this is the best that a peer's structure can do. Every other word is mixed.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordHasher<const PREHASHED: bool> {
    state: u64,
    /// Whether a 64-bit word was written; known to the compiler once the calls are inlined.
    keyed: bool,
}

impl<const PREHASHED: bool> WordHasher<PREHASHED> {
    #[inline(always)]
    fn mix(&mut self, word: u64) {
        self.state = mix64(self.state ^ word.wrapping_mul(GOLDEN));
    }
}

impl<const PREHASHED: bool> Hasher for WordHasher<PREHASHED> {
    #[inline(always)]
    fn finish(&self) -> u64 {
        self.state
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    #[inline(always)]
    fn write_u32(&mut self, word: u32) {
        self.mix(word.into());
    }

    #[inline(always)]
    fn write_u64(&mut self, word: u64) {
        if PREHASHED && !self.keyed {
            // After a constant prefix, such as a seed, the words stay as uniform and as distinct as they were.
            self.state ^= word;
            self.keyed = true;
        } else {
            self.mix(word);
        }
    }

    #[inline(always)]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

/// Takes a key as it is.
pub type Prehashed = BuildHasherDefault<WordHasher<true>>;

/// Mixes every word once: for the peers that hash their own hashes again, where the identity would not do.
pub type Mixing = BuildHasherDefault<WordHasher<false>>;

/// The standard library's hasher with fixed keys: what `RandomState` is without the chance.
pub type Sip13 = BuildHasherDefault<std::hash::DefaultHasher>;

/// FNV-1a, 64 bits.
pub type Fnv1a = BuildHasherDefault<simplehash::Fnv1aHasher64>;

/// A hasher without a choice: the same in every process. `Default` for the peers' own types that lack it.
pub trait Fixed: 'static {
    const HASHER: Self;
}

impl<H: 'static> Fixed for BuildHasherDefault<H> {
    const HASHER: Self = Self::new();
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn a_lone_key_stays_as_it_is() {
        for key in [0u64, 1, u64::MAX, GOLDEN] {
            assert_eq!(Prehashed::default().hash_one(key), key);
            assert_eq!(Mixing::default().hash_one(key), mix64(key.wrapping_mul(GOLDEN)));
        }
    }

    #[test]
    fn everything_else_is_mixed() {
        let hash = |value: (u64, u32)| Prehashed::default().hash_one(value);
        assert_eq!(hash((7, 1)), mix64(7 ^ GOLDEN));
        assert_eq!(Prehashed::default().hash_one((7u64, 1u64)), mix64(7 ^ GOLDEN));
        assert_eq!(Prehashed::default().hash_one(1u32), mix64(GOLDEN));
        let mut points: Vec<u64> = (0..1000u32)
            .flat_map(|node| (0..100u32).map(move |i| Prehashed::default().hash_one((node, i))))
            .collect();
        points.sort_unstable();
        points.dedup();
        assert_eq!(points.len(), 100_000);
    }
}
