//! The hash functions that the systems use, one file for each family.
//!
//! A function stands here in the variant a system really has, deviations included; where a crate
//! has exactly that variant, the function only calls it.

pub(crate) mod bernstein;
pub(crate) mod crc;
pub(crate) mod digest;
pub(crate) mod fnv;
pub(crate) mod hsieh;
pub(crate) mod jenkins;
pub(crate) mod memcached;
pub(crate) mod murmur;

/// The byte as a C compiler with a signed `char` widens it: 0xC3 becomes 0xFFFFFFC3.
pub(crate) fn sign_extended(byte: u8) -> u32 {
    i32::from(byte.cast_signed()).cast_unsigned()
}
