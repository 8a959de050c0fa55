//! The kernels compiled for AVX2: 8 products at a time, where the x86-64 baseline has no 32-bit
//! product and needs several instructions for 4.

#![expect(unsafe_code, reason = "a function compiled for an extension may only be called where it exists")]

use super::portable::{self, KEYS};
use crate::candidates::Candidates;

/// Proof that this processor has AVX2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// `Some` where it has.
    pub(crate) fn new() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }

    /// [`portable::owner`].
    #[inline]
    pub(crate) fn owner(self, candidates: &Candidates, key: u64) -> usize {
        // SAFETY: `self` exists, so this processor has AVX2.
        unsafe { owner(candidates, key) }
    }

    /// [`portable::owners`].
    #[inline]
    pub(crate) fn owners(self, candidates: &Candidates, keys: &[u64; KEYS]) -> [u32; KEYS] {
        // SAFETY: `self` exists, so this processor has AVX2.
        unsafe { owners(candidates, keys) }
    }
}

#[target_feature(enable = "avx2")]
fn owner(candidates: &Candidates, key: u64) -> usize {
    portable::owner(candidates, key)
}

#[target_feature(enable = "avx2")]
fn owners(candidates: &Candidates, keys: &[u64; KEYS]) -> [u32; KEYS] {
    portable::owners(candidates, keys)
}
