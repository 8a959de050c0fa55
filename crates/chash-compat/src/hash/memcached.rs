//! The hash functions that memcached clients let their users choose from.

use super::{crc, digest, fnv, hsieh, jenkins, murmur};

/// A hash function of libmemcached or twemproxy; all give 32 bits. Which of them a program offers,
/// and under which name, is said by the program's parameter table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashFunction {
    /// Jenkins' one-at-a-time on sign-extended bytes; libmemcached calls it `default`.
    OneAtATime,
    /// The first four bytes of MD5, little-endian.
    Md5,
    /// Bits 16 to 30 of CRC-32.
    Crc15,
    /// CRC-32, whole; `crc32a` in twemproxy.
    Crc32,
    /// XMODEM's table under a 32-bit accumulator; `crc16` in twemproxy.
    Crc16,
    /// FNV-1 in 64 bits, the low 32 kept.
    Fnv1x64,
    /// What both programs call FNV-1a 64: 32-bit arithmetic throughout.
    Fnv1ax64,
    /// FNV-1 in 32 bits.
    Fnv1x32,
    /// FNV-1a in 32 bits.
    Fnv1ax32,
    /// SuperFastHash from 0.
    Hsieh,
    /// MurmurHash2, its seed made from the length.
    Murmur,
    /// lookup3 from 13.
    Jenkins,
    /// MurmurHash3 in 32 bits, its seed made from the length.
    Murmur3,
}

impl HashFunction {
    /// The hash of these bytes.
    #[must_use]
    pub fn hash(self, bytes: &[u8]) -> u32 {
        // Lengths enter the seeds in 32 bits, as in the originals.
        let length = bytes.len() as u32;
        match self {
            Self::OneAtATime => jenkins::one_at_a_time(bytes),
            Self::Md5 => digest::md5_le32(bytes),
            Self::Crc15 => (crc::crc32(bytes) >> 16) & 0x7fff,
            Self::Crc32 => crc::crc32(bytes),
            Self::Crc16 => crc::crc16_uncut(bytes),
            Self::Fnv1x64 => fnv::fnv1_64(bytes),
            Self::Fnv1ax64 => fnv::fnv1a_64(bytes),
            Self::Fnv1x32 => fnv::fnv1_32(bytes),
            Self::Fnv1ax32 => fnv::fnv1a_32(bytes),
            Self::Hsieh => hsieh::super_fast_hash(bytes),
            Self::Murmur => murmur::murmur2_32(bytes, 0xdead_beef_u32.wrapping_mul(length) ^ length),
            Self::Jenkins => jenkins::lookup3(bytes, 13),
            Self::Murmur3 => murmur::murmur3_32(bytes, 0xdead_beef_u32.wrapping_mul(length)),
        }
    }
}
