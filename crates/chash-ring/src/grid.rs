//! Where a position lies when the circle is cut into equal segments.
//!
//! Multiplying a position by the number of segments gives a number of up to 128 bits that ascends with the position: its
//! high word is the segment, and its low word the place within. The top 16 bits of the place are the `head`,
//! which lookups compare; the next bits, as many whole bytes as it takes to tell any two positions apart,
//! are the `tail`. A product, unlike a shift, serves any number of segments, so that memory grows with the
//! points and not in powers of two.

/// Bits of the place within a segment that are not in the head.
const REST_BITS: u32 = 48;

/// The segment of a position, and its head: an `i16` in the order of the positions, since that is what vector units compare.
#[inline(always)]
pub(crate) fn place(position: u64, segments: usize) -> (usize, i16) {
    let (segment, within) = split(position, segments);
    // The sign bit flipped maps 0..2^16 to the range of i16 in order; the casts keep 16 bits.
    (segment, ((within >> REST_BITS) as u16 ^ 0x8000).cast_signed())
}

/// The segment of a position.
#[inline]
pub(crate) fn segment(position: u64, segments: usize) -> usize {
    split(position, segments).0
}

/// The first position of a segment.
pub(crate) fn start(segment: usize, segments: usize) -> u64 {
    join(segment, 0, segments)
}

/// How many bytes a tail takes, 3 to 6 for up to 2^25 segments.
///
/// Two positions differ by one at least, so their products by `segments` at least: the bits of the place
/// below the topmost of `segments` are not needed.
pub(crate) fn tail_bytes(segments: usize) -> usize {
    (REST_BITS - segments.ilog2()).div_ceil(8) as usize
}

/// The tail of a position. Positions with the same segment and head are ordered as their tails.
pub(crate) fn tail(position: u64, segments: usize) -> u64 {
    let (_, within) = split(position, segments);
    (within & ((1 << REST_BITS) - 1)) >> unused_bits(segments)
}

/// The position with this segment, head and tail.
pub(crate) fn position(segment: usize, head: i16, tail: u64, segments: usize) -> u64 {
    let head = u64::from(head.cast_unsigned() ^ 0x8000);
    join(segment, head << REST_BITS | tail << unused_bits(segments), segments)
}

fn unused_bits(segments: usize) -> u32 {
    REST_BITS - 8 * tail_bytes(segments) as u32
}

#[inline(always)]
fn split(position: u64, segments: usize) -> (usize, u64) {
    let product = u128::from(position) * segments as u128;
    // The high word is below `segments`, the low one is taken as such.
    ((product >> 64) as usize, product as u64)
}

/// The first position whose product with `segments` is at least this one.
fn join(segment: usize, within: u64, segments: usize) -> u64 {
    // A segment of the circle starts below 2^64.
    ((segment as u128) << 64 | u128::from(within)).div_ceil(segments as u128) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(position: u64, segments: usize) -> (usize, i16, u64) {
        let (segment, head) = place(position, segments);
        (segment, head, tail(position, segments))
    }

    fn check(position: u64, segments: usize) {
        let (segment, head, tail) = parts(position, segments);
        assert!(segment < segments && tail < 1 << (8 * tail_bytes(segments)));
        assert_eq!(super::position(segment, head, tail, segments), position);
        assert!(start(segment, segments) <= position);
        if let Some(next) = position.checked_add(1) {
            assert!((segment, head, tail) < parts(next, segments));
        }
    }

    #[test]
    fn parts_tell_neighbours_apart_and_give_the_position_back() {
        for segments in [1, 2, 3, 255, 256, 257, 65_535, 65_536, 65_537, (1 << 25) - 1, 1 << 25] {
            for position in [0, 1, 2, 1 << 32, 1 << 63, u64::MAX - 1, u64::MAX] {
                check(position, segments);
            }
            for segment in [0, segments / 2, segments - 1] {
                let first = start(segment, segments);
                assert_eq!(place(first, segments).0, segment);
                assert!(first == 0 || place(first - 1, segments).0 + 1 == segment);
                check(first, segments);
                check(first.wrapping_sub(1), segments);
            }
        }
        assert_eq!([1, 256, 1 << 16, 1 << 24].map(tail_bytes), [6, 5, 4, 3]);
    }

    proptest! {
        #[test]
        fn parts_ascend(position: u64, segments in 1usize..1 << 25) {
            check(position, segments);
        }
    }
}
