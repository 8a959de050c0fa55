//! The search for a key's best node, on whatever the processor offers.
//!
//! [`portable`] is compiled everywhere and is the oracle; each further file is one instruction set.
//! Integer operations, IEEE arithmetic and comparisons do not depend on the width of a vector, so every
//! backend gives the same answers. Every cfg and every choice is in this file.

#[cfg(all(target_arch = "x86_64", not(chash_portable)))]
mod avx2;
mod portable;

use chash_core::NodeId;

use crate::candidates::Candidates;

/// A way to search that this processor can run: there is no other way to get one than to have asked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Backend {
    Portable,
    #[cfg(all(target_arch = "x86_64", not(chash_portable)))]
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
            #[cfg(all(target_arch = "x86_64", not(chash_portable)))]
            Self::Avx2(avx2) => avx2.lookup(candidates, key),
        }
    }

    /// The owners of keys. The lengths must be equal.
    #[inline]
    pub(crate) fn lookup_batch(self, candidates: &Candidates, keys: &[u64], out: &mut [NodeId]) {
        match self {
            Self::Portable => portable::lookup_batch(candidates, keys, out),
            #[cfg(all(target_arch = "x86_64", not(chash_portable)))]
            Self::Avx2(avx2) => avx2.lookup_batch(candidates, keys, out),
        }
    }
}

#[cfg(test)]
mod tests;
