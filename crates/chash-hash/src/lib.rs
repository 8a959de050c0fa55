#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use chash_core::KeyHasher;
use sha1::Digest as _;

/// A hash function reduced to 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HashFunction {
    /// XXH3 with 64 bits of output.
    #[default]
    Xxh3,
    /// XXH64.
    Xxh64,
    /// The first 8 bytes of SHA-1, little-endian.
    Sha1,
    /// The first 8 bytes of MD5, little-endian.
    Md5,
}

impl HashFunction {
    /// Every function, in the order of their documentation.
    pub const ALL: [Self; 4] = [Self::Xxh3, Self::Xxh64, Self::Sha1, Self::Md5];

    /// The name used in specs and in the `key_hash` column.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xxh3 => "xxh3",
            Self::Xxh64 => "xxh64",
            Self::Sha1 => "sha1",
            Self::Md5 => "md5",
        }
    }

    /// The function with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }

    /// Whether the function takes a seed of its own.
    #[must_use]
    pub const fn is_seedable(self) -> bool {
        matches!(self, Self::Xxh3 | Self::Xxh64)
    }

    /// The 64-bit hash of `bytes`, unseeded.
    #[must_use]
    pub fn hash(self, bytes: &[u8]) -> u64 {
        match self {
            Self::Xxh3 => xxhash_rust::xxh3::xxh3_64(bytes),
            Self::Xxh64 => xxhash_rust::xxh64::xxh64(bytes, 0),
            Self::Sha1 => first_eight(&sha1::Sha1::digest(bytes)),
            Self::Md5 => first_eight(&md5::Md5::digest(bytes)),
        }
    }
}

fn first_eight(digest: &[u8]) -> u64 {
    let (head, _) = digest.split_first_chunk().expect("a digest has at least 16 bytes");
    u64::from_le_bytes(*head)
}

/// A key hasher: a function with its seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeededHasher {
    function: HashFunction,
    /// 0 for a function without a seed.
    seed: u64,
}

impl SeededHasher {
    /// The function with this seed; `None` for a seed other than 0 where the function takes none.
    #[must_use]
    pub const fn new(function: HashFunction, seed: u64) -> Option<Self> {
        if seed == 0 || function.is_seedable() { Some(Self { function, seed }) } else { None }
    }

    /// The function.
    #[must_use]
    pub const fn function(self) -> HashFunction {
        self.function
    }

    /// The seed.
    #[must_use]
    pub const fn seed(self) -> u64 {
        self.seed
    }
}

impl KeyHasher for SeededHasher {
    #[inline]
    fn hash_key(&self, key: &[u8]) -> u64 {
        match self.function {
            HashFunction::Xxh3 => xxhash_rust::xxh3::xxh3_64_with_seed(key, self.seed),
            HashFunction::Xxh64 => xxhash_rust::xxh64::xxh64(key, self.seed),
            unseeded => unseeded.hash(key),
        }
    }
}

/// Longest name hashed without allocating; longer ones take a heap buffer.
const SHORT_NAME: usize = 116;

/// The 64-bit hash of a node's name under a seed, one of a sequence numbered by `index`.
///
/// The message is `seed` (8 bytes, little-endian), `index` (4 bytes, little-endian), `name`: injective.
#[must_use]
pub fn name_hash(function: HashFunction, seed: u64, index: u32, name: &str) -> u64 {
    let head = 12;
    let mut short = [0u8; 12 + SHORT_NAME];
    let mut long = Vec::new();
    let message = if name.len() <= SHORT_NAME {
        &mut short[..head + name.len()]
    } else {
        long.resize(head + name.len(), 0);
        &mut long[..]
    };
    message[..8].copy_from_slice(&seed.to_le_bytes());
    message[8..head].copy_from_slice(&index.to_le_bytes());
    message[head..].copy_from_slice(name.as_bytes());
    function.hash(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published test values: the xxHash project's for the empty input and seed 2654435761 (PRIME32),
    /// RFC 3174 and RFC 1321 for "abc".
    #[test]
    fn equals_published_values() {
        assert_eq!(HashFunction::Xxh64.hash(b""), 0xef46_db37_51d8_e999);
        assert_eq!(HashFunction::Xxh3.hash(b""), 0x2d06_8005_38d3_94c2);
        assert_eq!(
            HashFunction::Sha1.hash(b"abc"),
            u64::from_le_bytes([0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a])
        );
        assert_eq!(
            HashFunction::Md5.hash(b"abc"),
            u64::from_le_bytes([0x90, 0x01, 0x50, 0x98, 0x3c, 0xd2, 0x4f, 0xb0])
        );
    }

    #[test]
    fn seed_zero_is_the_unseeded_function() {
        for function in HashFunction::ALL {
            let hasher = SeededHasher::new(function, 0).unwrap();
            assert_eq!(hasher.hash_key(b"key"), function.hash(b"key"));
            assert_eq!(SeededHasher::new(function, 1).is_some(), function.is_seedable());
            assert_eq!(HashFunction::from_name(function.name()), Some(function));
        }
    }

    #[test]
    fn hashing_twice_gives_the_same() {
        let hasher = SeededHasher::default();
        assert_eq!(hasher.hash_key(b"a"), hasher.hash_key(b"a"));
    }

    /// Name and index are apart, and a name of any length is hashed whole.
    #[test]
    fn name_hash_is_injective_in_its_parts() {
        let mut names: Vec<String> = ["m", "m1", "m11", "", "1", "10"].map(String::from).to_vec();
        names.extend([SHORT_NAME - 1, SHORT_NAME, SHORT_NAME + 1].map(|n| "x".repeat(n)));
        let mut seen = std::collections::BTreeSet::new();
        for function in HashFunction::ALL {
            for seed in [0, 1] {
                for index in 0..120 {
                    for name in &names {
                        assert!(seen.insert(name_hash(function, seed, index, name)), "{name} {index}");
                    }
                }
            }
        }
    }
}
