//! The byte-at-a-time hashes of HAProxy, and the mixing step it can put behind them.

/// `sdbm`: each step multiplies by 65599 and adds the byte.
pub(crate) fn sdbm(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |hash: u32, byte| hash.wrapping_mul(65599).wrapping_add(u32::from(*byte)))
}

/// `djb2`: starting from 5381, each step multiplies by 33 and adds the byte.
pub(crate) fn djb2(bytes: &[u8]) -> u32 {
    bytes.iter().fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)))
}

/// `wt6`: two words that are rotated by amounts taken from the words themselves.
pub(crate) fn wt6(bytes: &[u8]) -> u32 {
    let (mut h0, mut h1) = (0xa53c_965a_u32, 0x5ca6_953a_u32);
    let (mut s0, mut s1) = (6u32, 18u32);
    for byte in bytes {
        h0 = !(h0 ^ u32::from(*byte));
        h1 = !h1.wrapping_add(u32::from(*byte));
        (h0, h1) = (h1.rotate_left(s0), h0.rotate_left(s1));
        let shifts = ((h0 >> 16) ^ h1) & 0xffff;
        (s0, s1) = (shifts & 31, shifts >> 11);
    }
    h0 ^ h1
}

/// The avalanche step: a bijection of 32-bit words.
pub(crate) const fn full_hash(word: u32) -> u32 {
    let mut a = word;
    a = a.wrapping_add(0x7ed5_5d16).wrapping_add(a << 12);
    a = (a ^ 0xc761_c23c) ^ (a >> 19);
    a = a.wrapping_add(0x1656_67b1).wrapping_add(a << 5);
    a = a.wrapping_add(0xd3a2_646c) ^ (a << 9);
    a = a.wrapping_add(0xfd70_46c5).wrapping_add(a << 3);
    a = (a ^ 0xb55a_4f09) ^ (a >> 16);
    a.wrapping_mul(3_221_225_473)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked out by hand from the definitions.
    #[test]
    fn equals_hand_computed_values() {
        assert_eq!((sdbm(b""), sdbm(b"ab")), (0, 97 * 65599 + 98));
        assert_eq!((djb2(b""), djb2(b"ab")), (5381, (5381 * 33 + 97) * 33 + 98));
        assert_eq!(wt6(b""), 0xa53c_965a ^ 0x5ca6_953a);
    }

    #[test]
    fn full_hash_has_no_collisions_on_a_sample() {
        let mut values: Vec<u32> = (0..200_000).map(full_hash).collect();
        values.sort_unstable();
        assert!(values.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
