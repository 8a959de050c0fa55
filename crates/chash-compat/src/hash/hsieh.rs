//! Paul Hsieh's SuperFastHash, with the start value 0 that twemproxy gives it.

use super::sign_extended;

/// SuperFastHash; in a tail of three bytes the third is sign-extended, as the original does.
pub(crate) fn super_fast_hash(bytes: &[u8]) -> u32 {
    let half = |pair: &[u8]| u32::from(u16::from_le_bytes([pair[0], pair[1]]));
    let blocks = bytes.chunks_exact(4);
    let tail = blocks.remainder();
    let mut hash = 0u32;
    for block in blocks {
        hash = hash.wrapping_add(half(block));
        hash = (hash << 16) ^ ((half(&block[2..]) << 11) ^ hash);
        hash = hash.wrapping_add(hash >> 11);
    }
    match *tail {
        [_, _, last] => {
            hash = hash.wrapping_add(half(tail));
            hash ^= hash << 16;
            hash ^= sign_extended(last) << 18;
            hash = hash.wrapping_add(hash >> 11);
        }
        [_, _] => {
            hash = hash.wrapping_add(half(tail));
            hash ^= hash << 11;
            hash = hash.wrapping_add(hash >> 17);
        }
        [last] => {
            hash = hash.wrapping_add(u32::from(last));
            hash ^= hash << 10;
            hash = hash.wrapping_add(hash >> 1);
        }
        _ => {}
    }
    hash ^= hash << 3;
    hash = hash.wrapping_add(hash >> 5);
    hash ^= hash << 4;
    hash = hash.wrapping_add(hash >> 17);
    hash ^= hash << 25;
    hash.wrapping_add(hash >> 6)
}
