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

use chash_core::NodeId;

use crate::candidates::Candidates;

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

    /// The key's owner.
    #[inline]
    pub(crate) fn lookup(self, candidates: &Candidates, key: u64) -> NodeId {
        match self {
            Self::Portable => portable::lookup(candidates, key),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.lookup(candidates, key),
        }
    }

    /// The owners of keys. The lengths must be equal.
    #[inline]
    pub(crate) fn lookup_batch(self, candidates: &Candidates, keys: &[u64], out: &mut [NodeId]) {
        match self {
            Self::Portable => portable::lookup_batch(candidates, keys, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.lookup_batch(candidates, keys, out),
        }
    }
}

#[cfg(test)]
mod tests;
