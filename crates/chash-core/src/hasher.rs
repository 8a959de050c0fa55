//! Where bytes become a 64-bit key.

use core::fmt::Debug;

/// Turns a key's bytes into the 64-bit value that placements look up.
///
/// A stage of its own, because the hash is not what is compared: every placement sees the same
/// 64-bit keys, and a deployed system that hashes in its own way brings its own hasher.
///
/// # Implementing
///
/// The answer depends on the bytes (and the hasher's own seed) alone, on every platform: only
/// fixed-width little-endian reads, no state between calls. The values of distinct keys should be
/// spread over all 64 bits, since placements use the top ones first.
pub trait KeyHasher: Debug + Send + Sync {
    /// The 64-bit value of a key.
    fn hash_key(&self, key: &[u8]) -> u64;
}

impl<H: KeyHasher + ?Sized> KeyHasher for &H {
    fn hash_key(&self, key: &[u8]) -> u64 {
        (**self).hash_key(key)
    }
}

impl<H: KeyHasher + ?Sized> KeyHasher for Box<H> {
    fn hash_key(&self, key: &[u8]) -> u64 {
        (**self).hash_key(key)
    }
}
