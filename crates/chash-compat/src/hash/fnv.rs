//! Fowler–Noll–Vo hashes as libmemcached and twemproxy have them: bytes are sign-extended first.

use super::sign_extended;

const OFFSET_32: u32 = 0x811c_9dc5;
const PRIME_32: u32 = 0x0100_0193;
const OFFSET_64: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME_64: u64 = 0x0100_0000_01b3;

/// FNV-1, 32 bits.
pub(crate) fn fnv1_32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(OFFSET_32, |hash, byte| hash.wrapping_mul(PRIME_32) ^ sign_extended(*byte))
}

/// FNV-1a, 32 bits.
pub(crate) fn fnv1a_32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(OFFSET_32, |hash, byte| (hash ^ sign_extended(*byte)).wrapping_mul(PRIME_32))
}

/// FNV-1 in 64 bits, of which the low 32 are kept.
pub(crate) fn fnv1_64(bytes: &[u8]) -> u32 {
    let extended = |byte: u8| i64::from(byte.cast_signed()).cast_unsigned();
    bytes.iter().fold(OFFSET_64, |hash, byte| hash.wrapping_mul(PRIME_64) ^ extended(*byte)) as u32
}

/// What is called FNV-1a 64 there: the low halves of its two constants, in 32-bit arithmetic throughout.
pub(crate) fn fnv1a_64(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(OFFSET_64 as u32, |hash, byte| (hash ^ sign_extended(*byte)).wrapping_mul(PRIME_64 as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The authors' test values, which plain ASCII leaves untouched by sign extension.
    #[test]
    fn equals_published_values_for_ascii() {
        assert_eq!(fnv1_32(b"foobar"), 0x31f0_b262);
        assert_eq!(fnv1a_32(b"foobar"), 0xbf9c_f968);
        assert_eq!(fnv1_64(b"foobar"), 0x340d_8765_a4dd_a9c2_u64 as u32);
        assert_eq!(fnv1_64(b""), 0xcbf2_9ce4_8422_2325_u64 as u32);
    }

    /// One byte above 0x7F worked out by hand: the upper bits are flipped too.
    #[test]
    fn extends_the_sign() {
        assert_eq!(fnv1_32(b"\xc3"), OFFSET_32.wrapping_mul(PRIME_32) ^ 0xffff_ffc3);
        assert_eq!(fnv1a_64(b"\xc3"), (0x8422_2325 ^ 0xffff_ffc3_u32).wrapping_mul(0x1b3));
    }
}
