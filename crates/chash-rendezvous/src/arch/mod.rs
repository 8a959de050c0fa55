//! The search for a key's best node, on whatever the processor offers.
//!
//! There is one kernel for each question, in [`portable`], written so that compilers turn it into
//! vector instructions. It is compiled for every processor of the target, and once more in each
//! further file for those that have an extension. Integer operations, IEEE arithmetic and comparisons
//! do not depend on the width of a vector, so every backend gives the same answers. Every cfg and
//! every choice is in this file.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;

use crate::candidates::Candidates;

pub(crate) use portable::KEYS;

/// A compilation of the kernels that this processor can run: there is no other way to get one than to
/// have asked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Backend {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
}

impl Backend {
    /// The fastest that runs here; `--cfg chash_portable` leaves only the portable one.
    pub(crate) fn best() -> Self {
        #[cfg(all(target_arch = "x86_64", not(chash_portable)))]
        if let Some(avx2) = avx2::Avx2::new() {
            return Self::Avx2(avx2);
        }
        Self::Portable
    }

    /// The place of the key's owner among the candidates.
    #[inline]
    pub(crate) fn owner(self, candidates: &Candidates, key: u64) -> usize {
        match self {
            Self::Portable => portable::owner(candidates, key),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.owner(candidates, key),
        }
    }

    /// The places of the owners of several keys.
    #[inline]
    pub(crate) fn owners(self, candidates: &Candidates, keys: &[u64; KEYS]) -> [u32; KEYS] {
        match self {
            Self::Portable => portable::owners(candidates, keys),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.owners(candidates, keys),
        }
    }
}

#[cfg(test)]
mod tests;
