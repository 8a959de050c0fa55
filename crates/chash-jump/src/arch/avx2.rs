//! Twelve keys in lockstep, in three vectors of four: AVX2 with fused multiplication and addition.
//!
//! One vector alone would wait for its own multiplication and rounding; with four, their state no longer
//! fits the sixteen registers, and more lanes wait for the slowest.

use core::arch::x86_64::{
    __m256d, __m256i, _CMP_LT_OQ, _mm_storeu_si128, _mm256_add_epi64, _mm256_blendv_pd, _mm256_castsi256_pd,
    _mm256_cmp_pd, _mm256_cvttpd_epi32, _mm256_div_pd, _mm256_floor_pd, _mm256_fmadd_pd, _mm256_loadu_si256,
    _mm256_movemask_pd, _mm256_mul_epu32, _mm256_or_pd, _mm256_or_si256, _mm256_set1_epi64x, _mm256_set1_pd,
    _mm256_setzero_pd, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_sub_pd,
};

use super::portable;
use crate::{MULTIPLIER, TWO_TO_31};

/// Keys in one vector.
const LANES: usize = 4;
/// Vectors in flight.
const VECTORS: usize = 3;
const BLOCK: usize = LANES * VECTORS;

/// A double whose low mantissa bits are an integer's: 2^52.
const TWO_TO_52: f64 = (1u64 << 52) as f64;

/// The knowledge that the processor has AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

impl Avx2 {
    /// `None` if the processor lacks either.
    pub(super) fn new() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Self(()))
    }

    /// [`super::buckets_into`] without the checks.
    pub(super) fn buckets_into(self, keys: &[u64], buckets: u32, out: &mut [u32]) {
        // SAFETY: `self` exists only where `new` found AVX2 and FMA.
        unsafe { buckets_into(keys, buckets, out) }
    }
}

#[target_feature(enable = "avx2,fma")]
fn buckets_into(keys: &[u64], buckets: u32, out: &mut [u32]) {
    let (blocks, rest) = keys.as_chunks::<BLOCK>();
    let (out_blocks, out_rest) = out.as_chunks_mut::<BLOCK>();
    for (keys, out) in blocks.iter().zip(out_blocks) {
        lockstep(keys, buckets, out);
    }
    portable::buckets_into(rest, buckets, out_rest);
}

#[target_feature(enable = "avx2,fma")]
#[inline]
fn lockstep(keys: &[u64; BLOCK], buckets: u32, out: &mut [u32; BLOCK]) {
    let mut keys: [__m256i; VECTORS] = core::array::from_fn(|vector| {
        let lanes: &[u64; LANES] =
            keys[vector * LANES..].first_chunk().expect("the block is made of vectors");
        // SAFETY: the reference covers the 32 bytes read, and the load needs no alignment.
        unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
    });
    let limit = _mm256_set1_pd(f64::from(buckets));
    // Where the last jump went, and the last bucket below the limit that it went to. A jump never goes
    // back, so that a lane past the limit stays past it, whatever it draws while the others run.
    let mut reached = [_mm256_setzero_pd(); VECTORS];
    let mut found = reached;
    loop {
        let mut running = _mm256_setzero_pd();
        for vector in 0..VECTORS {
            keys[vector] = generate(keys[vector]);
            let stretch = _mm256_div_pd(_mm256_set1_pd(TWO_TO_31), draw(keys[vector]));
            // (reached + 1) · stretch, rounded once: the sum is exact either way.
            let next = _mm256_fmadd_pd(reached[vector], stretch, stretch);
            let goes_on = _mm256_cmp_pd::<_CMP_LT_OQ>(next, limit);
            reached[vector] = _mm256_floor_pd(next);
            found[vector] = _mm256_blendv_pd(found[vector], reached[vector], goes_on);
            running = _mm256_or_pd(running, goes_on);
        }
        if _mm256_movemask_pd(running) == 0 {
            break;
        }
    }
    for (vector, found) in found.into_iter().enumerate() {
        let lanes: &mut [u32; LANES] =
            out[vector * LANES..].first_chunk_mut().expect("the block is made of vectors");
        let found = _mm256_cvttpd_epi32(found);
        // SAFETY: the reference covers the 16 bytes written, and the store needs no alignment.
        unsafe { _mm_storeu_si128(lanes.as_mut_ptr().cast(), found) };
    }
}

/// The generator's next state: key · multiplier + 1 modulo 2^64, from products of 32-bit halves.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn generate(key: __m256i) -> __m256i {
    let low = _mm256_set1_epi64x(i64::from(MULTIPLIER as u32));
    let high = _mm256_set1_epi64x((MULTIPLIER >> 32).cast_signed());
    let crossed =
        _mm256_add_epi64(_mm256_mul_epu32(key, high), _mm256_mul_epu32(_mm256_srli_epi64::<32>(key), low));
    let product = _mm256_add_epi64(_mm256_mul_epu32(key, low), _mm256_slli_epi64::<32>(crossed));
    _mm256_add_epi64(product, _mm256_set1_epi64x(1))
}

/// The generator's 31 top bits plus 1, as a double: exact.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn draw(key: __m256i) -> __m256d {
    let magic = _mm256_set1_epi64x(TWO_TO_52.to_bits().cast_signed());
    let bits = _mm256_or_si256(_mm256_srli_epi64::<33>(key), magic);
    _mm256_sub_pd(_mm256_castsi256_pd(bits), _mm256_set1_pd(TWO_TO_52 - 1.0))
}
