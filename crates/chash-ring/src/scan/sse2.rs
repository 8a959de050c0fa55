//! SSE2, which every x86-64 has. It saves the portable sum's additions across lanes, since the heads
//! are sorted and the first lane that is not below tells the count.
#![expect(unsafe_code, reason = "vector loads and prefetch take raw pointers")]

use core::arch::x86_64::{
    __m128i, _MM_HINT_T0, _mm_cmpgt_epi16, _mm_load_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_prefetch,
    _mm_set1_epi16,
};

use super::Heads;

#[inline(always)]
pub(super) fn below(heads: &Heads, head: i16) -> usize {
    let lanes: *const __m128i = heads.0.as_ptr().cast();
    // SAFETY: SSE2 is part of the baseline of this target. The two loads read exactly the 32 bytes of
    // `heads`, whose type is aligned to 32.
    let mask = unsafe {
        let key = _mm_set1_epi16(head);
        let low = _mm_cmpgt_epi16(key, _mm_load_si128(lanes));
        let high = _mm_cmpgt_epi16(key, _mm_load_si128(lanes.add(1)));
        _mm_movemask_epi8(_mm_packs_epi16(low, high))
    };
    // One bit for each lane, ones first because the heads ascend; bits 16 to 31 are zero.
    mask.trailing_ones() as usize
}

#[inline(always)]
pub(super) fn prefetch<T>(table: &[T], index: usize) {
    // SAFETY: SSE2 implies SSE, and a prefetch accesses no memory as far as the program can tell, whatever
    // the address; `wrapping_add` may compute any.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(table.as_ptr().wrapping_add(index).cast()) }
}
