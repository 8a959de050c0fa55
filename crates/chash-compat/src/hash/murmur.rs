//! Austin Appleby's MurmurHash, generations 2 and 3.

/// MurmurHash2, 32 bits, from this start value (the published function starts from seed XOR length).
pub(crate) fn murmur2_32(bytes: &[u8], start: u32) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let blocks = bytes.chunks_exact(4);
    let tail = blocks.remainder();
    let mut hash = start;
    for block in blocks {
        let mut k = little_endian(block) as u32;
        k = k.wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !tail.is_empty() {
        hash = (hash ^ little_endian(tail) as u32).wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 15)
}

/// The 64-bit MurmurHash2 that libstdc++ has for strings, with its own start value and finish.
pub(crate) fn murmur2_64_libstdcxx(bytes: &[u8]) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let shift = |value: u64| value ^ (value >> 47);
    let blocks = bytes.chunks_exact(8);
    let tail = blocks.remainder();
    let mut hash = 0xc70f_6907 ^ (bytes.len() as u64).wrapping_mul(M);
    for block in blocks {
        let word = shift(little_endian(block).wrapping_mul(M)).wrapping_mul(M);
        hash = (hash ^ word).wrapping_mul(M);
    }
    if !tail.is_empty() {
        hash = (hash ^ little_endian(tail)).wrapping_mul(M);
    }
    shift(shift(hash).wrapping_mul(M))
}

/// MurmurHash3 for 32-bit machines.
pub(crate) fn murmur3_32(bytes: &[u8], seed: u32) -> u32 {
    let scramble = |k: u32| k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let blocks = bytes.chunks_exact(4);
    let tail = blocks.remainder();
    let mut hash = seed;
    for block in blocks {
        hash ^= scramble(little_endian(block) as u32);
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    // An empty tail is the word 0, which scrambles to 0.
    hash ^= scramble(little_endian(tail) as u32);
    hash ^= bytes.len() as u32;
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85eb_ca6b);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

/// How MurmurHash3's last block, the one shorter than 16 bytes, is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// As published: every byte from 0 to 255.
    Unsigned,
    /// As Cassandra reads it: every byte sign-extended to 64 bits before it is shifted into place.
    SignExtended,
}

/// MurmurHash3 for 64-bit machines, 128 bits, as its two halves.
pub(crate) fn murmur3_x64_128(bytes: &[u8], seed: u64, tail: Tail) -> (u64, u64) {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let mix1 = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let mix2 = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let blocks = bytes.chunks_exact(16);
    let rest = blocks.remainder();
    let (mut h1, mut h2) = (seed, seed);
    for block in blocks {
        h1 ^= mix1(little_endian(&block[..8]));
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= mix2(little_endian(&block[8..]));
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let word = |part: &[u8]| match tail {
        Tail::Unsigned => little_endian(part),
        Tail::SignExtended => part.iter().enumerate().fold(0, |word, (index, byte)| {
            word ^ (i64::from(byte.cast_signed()).cast_unsigned() << (8 * index))
        }),
    };
    let (low, high) = rest.split_at(rest.len().min(8));
    // Empty parts are the word 0, which mixes to 0.
    h2 ^= mix2(word(high));
    h1 ^= mix1(word(low));
    h1 ^= bytes.len() as u64;
    h2 ^= bytes.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finish(h1);
    h2 = finish(h2);
    h1 = h1.wrapping_add(h2);
    (h1, h2.wrapping_add(h1))
}

fn finish(k: u64) -> u64 {
    let k = (k ^ (k >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let k = (k ^ (k >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

/// Up to 8 bytes as a little-endian number.
fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that several independent implementations publish in their tests.
    #[test]
    fn murmur3_equals_published_values() {
        assert_eq!(murmur3_32(b"", 1), 0x514e_28b7);
        assert_eq!(murmur3_32(b"hello", 0), 0x248b_fa47);
        assert_eq!(murmur3_32(b"hello, world", 0), 0x149b_bb7f);
        assert_eq!(murmur3_32(b"The quick brown fox jumps over the lazy dog.", 0), 0xd5c4_8bfc);
        assert_eq!(murmur3_x64_128(b"", 0, Tail::Unsigned), (0, 0));
        assert_eq!(
            murmur3_x64_128(b"hello", 0, Tail::Unsigned),
            (0xcbd8_a7b3_41bd_9b02, 0x5b1e_906a_48ae_1d19)
        );
        assert_eq!(
            murmur3_x64_128(b"The quick brown fox jumps over the lazy dog.", 0, Tail::Unsigned),
            (0xcd99_481f_9ee9_02c9, 0x695d_a1a3_8987_b6e7)
        );
    }

    /// 15 bytes of FF, with and without Cassandra's sign extension.
    #[test]
    fn the_sign_extended_tail_differs() {
        let (signed, _) = murmur3_x64_128(&[0xff; 15], 0, Tail::SignExtended);
        assert_eq!(signed.cast_signed(), -2_195_530_867_418_009_455);
        let (unsigned, _) = murmur3_x64_128(&[0xff; 15], 0, Tail::Unsigned);
        assert_eq!(unsigned, 3_214_754_608_959_450_708);
        let ascii = b"fifteen letters";
        assert_eq!(murmur3_x64_128(ascii, 7, Tail::SignExtended), murmur3_x64_128(ascii, 7, Tail::Unsigned));
    }

    /// `std::hash<std::string>` of libstdc++ on 64-bit machines, for the empty string.
    #[test]
    fn murmur2_64_equals_libstdcxx() {
        assert_eq!(murmur2_64_libstdcxx(b""), 6_142_509_188_972_423_790);
    }
}
