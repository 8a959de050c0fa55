//! How many of a line's 16 sorted heads are below a key's: the inner step of every lookup.
//!
//! One dispatcher, chosen when compiling: SSE2 is part of x86-64, so nothing is detected at run time.
//! `--cfg chash_portable` forces the portable twin.

mod portable;
#[cfg(all(target_arch = "x86_64", not(chash_portable)))]
mod sse2;

/// 16 numbers in ascending order, aligned so that a vector load may be an aligned one.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(crate) struct Heads(pub(crate) [i16; 16]);

/// The number of heads below `head`, 0 to 16.
#[inline(always)]
pub(crate) fn below(heads: &Heads, head: i16) -> usize {
    #[cfg(all(target_arch = "x86_64", not(chash_portable)))]
    {
        let count = sse2::below(heads, head);
        debug_assert_eq!(count, portable::below(heads, head));
        count
    }
    #[cfg(not(all(target_arch = "x86_64", not(chash_portable))))]
    portable::below(heads, head)
}

/// Asks for the cache line of `table[index]`, where the target has a way to; never reads it.
#[inline(always)]
pub(crate) fn prefetch<T>(table: &[T], index: usize) {
    #[cfg(all(target_arch = "x86_64", not(chash_portable)))]
    sse2::prefetch(table, index);
    #[cfg(not(all(target_arch = "x86_64", not(chash_portable))))]
    let _ = (table, index);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EDGES: [i16; 9] = [i16::MIN, i16::MIN + 1, -2, -1, 0, 1, 2, i16::MAX - 1, i16::MAX];

    fn check(heads: [i16; 16]) {
        for head in heads.into_iter().chain(EDGES) {
            let expected = heads.iter().filter(|other| **other < head).count();
            assert_eq!(portable::below(&Heads(heads), head), expected, "portable: {heads:?}, {head}");
            assert_eq!(below(&Heads(heads), head), expected, "dispatched: {heads:?}, {head}");
        }
    }

    /// The boundary between low and high heads in every lane, for every pair of extreme values.
    #[test]
    fn counts_at_every_lane() {
        for lane in 0..=16 {
            for low in EDGES {
                for high in EDGES {
                    if low <= high {
                        check(core::array::from_fn(|i| if i < lane { low } else { high }));
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn counts_in_sorted_heads(mut heads: [i16; 16]) {
            heads.sort_unstable();
            check(heads);
        }
    }

    /// A hint may point anywhere, the end of the table included.
    #[test]
    fn prefetch_is_harmless() {
        let table = [1u64, 2, 3];
        for index in [0, 2, 3, usize::MAX] {
            prefetch(&table, index);
        }
        assert_eq!(table, [1, 2, 3]);
    }
}
