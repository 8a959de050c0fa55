//! Bob Jenkins' hashes: one-at-a-time and lookup3.

use super::sign_extended;

/// One-at-a-time as libmemcached has it: bytes are sign-extended first.
pub(crate) fn one_at_a_time(bytes: &[u8]) -> u32 {
    let mut hash = 0u32;
    for byte in bytes {
        hash = hash.wrapping_add(sign_extended(*byte));
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// lookup3's `hashlittle`.
pub(crate) fn lookup3(bytes: &[u8], initial: u32) -> u32 {
    // The length enters in 32 bits, as in the original.
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(initial);
    let (mut a, mut b, mut c) = (start, start, start);
    let mut rest = bytes;
    // The last 1 to 12 bytes go through the final mixing; a full block is not the last one.
    while rest.len() > 12 {
        let (block, tail) = rest.split_at(12);
        rest = tail;
        (a, b, c) = add_block(block, (a, b, c));
        a = a.wrapping_sub(c) ^ c.rotate_left(4);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(6);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(8);
        b = b.wrapping_add(a);
        a = a.wrapping_sub(c) ^ c.rotate_left(16);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(19);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(4);
        b = b.wrapping_add(a);
    }
    if rest.is_empty() {
        return c;
    }
    (a, b, c) = add_block(rest, (a, b, c));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

/// Adds up to 12 bytes, zero-padded, as three little-endian words.
fn add_block(block: &[u8], (a, b, c): (u32, u32, u32)) -> (u32, u32, u32) {
    let mut padded = [0u8; 12];
    padded[..block.len()].copy_from_slice(block);
    let word = |index| super::digest::le32(&padded, index);
    (a.wrapping_add(word(0)), b.wrapping_add(word(1)), c.wrapping_add(word(2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that lookup3's own self-test states.
    #[test]
    fn lookup3_equals_published_values() {
        assert_eq!(lookup3(b"", 0), 0xdead_beef);
        assert_eq!(lookup3(b"", 0xdead_beef), 0xbd5b_7dde);
        assert_eq!(lookup3(b"Four score and seven years ago", 0), 0x1777_0551);
        assert_eq!(lookup3(b"Four score and seven years ago", 1), 0xcd62_8161);
    }

    /// The value of one-at-a-time for "a" that its article and Wikipedia state.
    #[test]
    fn one_at_a_time_equals_published_values() {
        assert_eq!(one_at_a_time(b"a"), 0xca2e_9442);
        assert_eq!(one_at_a_time(b"The quick brown fox jumps over the lazy dog"), 0x519e_91f5);
    }
}
