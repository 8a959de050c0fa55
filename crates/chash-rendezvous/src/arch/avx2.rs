//! AVX2. One key is the portable search compiled with it: 8 nodes at a time, where the x86-64 baseline
//! has no 32-bit product and needs several instructions for 4. Several keys go a key to a lane
//! instead, written out: there is no search inside a vector at the end, whatever the number of nodes,
//! and compilers do not find it by themselves.

#![expect(unsafe_code, reason = "a function compiled for an extension may only be called where it exists")]

use core::arch::x86_64::{
    __m256i, _CMP_LT_OQ, _mm256_add_epi32, _mm256_add_ps, _mm256_and_si256, _mm256_andnot_si256,
    _mm256_blendv_epi8, _mm256_castps_si256, _mm256_cmp_ps, _mm256_cmpeq_epi32, _mm256_cvtepi32_ps,
    _mm256_max_epu32, _mm256_max_ps, _mm256_min_ps, _mm256_mul_ps, _mm256_mullo_epi32, _mm256_set1_epi32,
    _mm256_set1_ps, _mm256_setzero_si256, _mm256_srli_epi32, _mm256_xor_si256,
};

use chash_core::NodeId;

use super::portable;
use crate::candidates::Candidates;
use crate::score::Words;

/// Proof that this processor has AVX2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// `Some` where it has.
    pub(crate) fn new() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }

    /// [`portable::lookup`].
    #[inline]
    pub(crate) fn lookup(self, candidates: &Candidates, key: u64) -> NodeId {
        // SAFETY: `self` exists, so this processor has AVX2.
        unsafe { lookup(candidates, key) }
    }

    /// [`portable::lookup_batch`].
    #[inline]
    pub(crate) fn lookup_batch(self, candidates: &Candidates, keys: &[u64], out: &mut [NodeId]) {
        // SAFETY: `self` exists, so this processor has AVX2.
        unsafe { lookup_batch(candidates, keys, out) }
    }
}

/// Lanes of a vector.
const LANES: usize = 8;
/// Vectors in flight: with two, the products of one hide behind those of the other.
const VECTORS: usize = 2;
/// Keys looked up together.
const KEYS: usize = LANES * VECTORS;
/// From this many nodes on one key after the other is faster: blocks of nodes are only asked for their
/// best, and a search at the end no longer matters.
const MANY: usize = 512;

#[target_feature(enable = "avx2")]
fn lookup(candidates: &Candidates, key: u64) -> NodeId {
    portable::lookup(candidates, key)
}

#[target_feature(enable = "avx2")]
fn lookup_batch(candidates: &Candidates, keys: &[u64], out: &mut [NodeId]) {
    if candidates.len() >= MANY {
        return portable::lookup_batch(candidates, keys, out);
    }
    let (blocks, rest) = keys.as_chunks::<KEYS>();
    let (out_blocks, out_rest) = out.as_chunks_mut::<KEYS>();
    for (keys, out) in blocks.iter().zip(out_blocks) {
        let places =
            if candidates.equal_weights() { highest(candidates, keys) } else { earliest(candidates, keys) };
        for (out, place) in out.iter_mut().zip(places) {
            *out = candidates.ids()[place as usize];
        }
    }
    portable::lookup_batch(candidates, rest, out_rest);
}

/// For each key the place of the first candidate of the highest hash.
#[target_feature(enable = "avx2")]
fn highest(candidates: &Candidates, keys: &[u64; KEYS]) -> [u32; KEYS] {
    let (key_x, key_y) = (gather(keys, |key| key.x), gather(keys, |key| key.y));
    let mask = splat(candidates.precision().mask);
    let mut best = [_mm256_setzero_si256(); VECTORS];
    let mut place = [_mm256_setzero_si256(); VECTORS];
    let mut at = _mm256_setzero_si256();
    for (x, y) in candidates.x().iter().zip(candidates.y()) {
        let (x, y) = (splat(*x), splat(*y));
        for v in 0..VECTORS {
            let hash = hash(key_x[v], key_y[v], x, y, mask);
            let higher = _mm256_max_epu32(best[v], hash);
            let stays = _mm256_cmpeq_epi32(higher, best[v]);
            place[v] = _mm256_blendv_epi8(at, place[v], stays);
            best[v] = higher;
        }
        at = _mm256_add_epi32(at, splat(1));
    }
    scatter(place)
}

/// For each key the place of the first candidate of the earliest arrival.
#[target_feature(enable = "avx2")]
fn earliest(candidates: &Candidates, keys: &[u64; KEYS]) -> [u32; KEYS] {
    let (key_x, key_y) = (gather(keys, |key| key.x), gather(keys, |key| key.y));
    let precision = candidates.precision();
    let (mask, ones) = (splat(precision.mask), splat(u32::MAX));
    let (one, half_unit) = (_mm256_set1_ps(1.0), _mm256_set1_ps(precision.half_unit));
    let mut first = [_mm256_set1_ps(f32::INFINITY); VECTORS];
    let mut second = first;
    let mut place = [_mm256_setzero_si256(); VECTORS];
    let nodes = candidates.x().iter().zip(candidates.y()).zip(candidates.scaled_means());
    let mut at = _mm256_setzero_si256();
    for ((x, y), mean) in nodes {
        let (x, y) = (splat(*x), splat(*y));
        let mean = _mm256_set1_ps(*mean);
        for v in 0..VECTORS {
            // `Precision::bound`, operation by operation.
            let hash = hash(key_x[v], key_y[v], x, y, mask);
            let half = _mm256_cvtepi32_ps(_mm256_srli_epi32::<1>(_mm256_andnot_si256(hash, ones)));
            let curve = _mm256_add_ps(one, _mm256_mul_ps(half, half_unit));
            let bound = _mm256_mul_ps(_mm256_mul_ps(half, curve), mean);

            let sooner = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_LT_OQ>(bound, first[v]));
            second[v] = _mm256_min_ps(second[v], _mm256_max_ps(first[v], bound));
            place[v] = _mm256_blendv_epi8(place[v], at, sooner);
            first[v] = _mm256_min_ps(first[v], bound);
        }
        at = _mm256_add_epi32(at, splat(1));
    }
    let mut places = scatter(place);
    let others = scatter(second.map(|second| _mm256_castps_si256(second)));
    for ((place, others), key) in places.iter_mut().zip(others).zip(keys) {
        *place =
            portable::decide(candidates, Words::of_key(*key), *place as usize, f32::from_bits(others)) as u32;
    }
    places
}

/// [`crate::score::hash`].
#[target_feature(enable = "avx2")]
#[inline]
fn hash(key_x: __m256i, key_y: __m256i, x: __m256i, y: __m256i, mask: __m256i) -> __m256i {
    let product = _mm256_mullo_epi32(_mm256_xor_si256(key_x, x), _mm256_xor_si256(key_y, y));
    _mm256_and_si256(product, mask)
}

#[target_feature(enable = "avx2")]
#[inline]
fn splat(word: u32) -> __m256i {
    _mm256_set1_epi32(word.cast_signed())
}

/// One word of every key, a key to a lane.
#[target_feature(enable = "avx2")]
#[inline]
fn gather(keys: &[u64; KEYS], word: impl Fn(Words) -> u32) -> [__m256i; VECTORS] {
    let words: [u32; KEYS] = core::array::from_fn(|lane| word(Words::of_key(keys[lane])));
    // SAFETY: an array of 16 words has the size of two vectors, and any bits are a vector.
    unsafe { core::mem::transmute::<[u32; KEYS], [__m256i; VECTORS]>(words) }
}

/// The lanes, in order.
#[target_feature(enable = "avx2")]
#[inline]
fn scatter(vectors: [__m256i; VECTORS]) -> [u32; KEYS] {
    // SAFETY: as in `gather`, the other way round.
    unsafe { core::mem::transmute::<[__m256i; VECTORS], [u32; KEYS]>(vectors) }
}
