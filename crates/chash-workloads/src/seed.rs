//! One seed, and the named streams that come from it.
//!
//! Every random choice of a run comes from one 64-bit seed. It is split by repetition and by purpose, so
//! that two purposes never share a stream and none depends on the order in which work is scheduled:
//!
//! - let `split(x)` be the first output of SplitMix64 (Steele, Lea and Flood 2014) from state `x`,
//!   a bijection of 64-bit words;
//! - a stream's seed is `split(split(split(seed) ^ rep) ^ tag)`, with the tags of [`Stream`];
//! - the generator of block `b` of a stream is xoshiro256++ (Blackman and Vigna 2019) with its state filled by
//!   SplitMix64 from `split(split(stream seed) ^ b)`: the blocks of one stream never share a generator.
//!
//! These values are part of what a seed means: they do not change between releases, platforms or word sizes.

use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// The seed of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seed(pub u64);

/// What a stream is for. The number of each is part of the definition of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
#[non_exhaustive]
pub enum Stream {
    /// Which key each request asks for.
    Requests = 2,
    /// Which keys are the popular ones.
    Permutation = 3,
    /// The placement's own seed.
    Placement = 4,
    /// Which node a change of membership concerns.
    Events = 5,
    /// Simulations beside a measurement, such as random assignments for comparison.
    Sampling = 6,
}

impl Seed {
    /// The seed of one stream of one repetition.
    ///
    /// ```
    /// use chash_workloads::seed::{Seed, Stream};
    ///
    /// let seed = Seed(42);
    /// assert_eq!(seed.stream(0, Stream::Requests), 0xdda7_1199_26b6_c0a1);
    /// assert_ne!(seed.stream(0, Stream::Requests), seed.stream(1, Stream::Requests));
    /// assert_ne!(seed.stream(0, Stream::Requests), seed.stream(0, Stream::Placement));
    /// ```
    #[must_use]
    pub fn stream(self, rep: u32, stream: Stream) -> u64 {
        split(split(split(self.0) ^ u64::from(rep)) ^ stream as u64)
    }
}

/// The generator of one block of a stream: any block, without those before it.
///
/// ```
/// use chash_workloads::seed::{Seed, Stream, block_rng};
/// use rand_xoshiro::rand_core::Rng;
///
/// let stream = Seed(42).stream(0, Stream::Requests);
/// assert_eq!(block_rng(stream, 7).next_u64(), block_rng(stream, 7).next_u64());
/// assert_ne!(block_rng(stream, 7).next_u64(), block_rng(stream, 8).next_u64());
/// ```
#[must_use]
pub fn block_rng(stream_seed: u64, block: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(split(split(stream_seed) ^ block))
}

/// The first output of SplitMix64 from this state: a bijection.
pub(crate) fn split(state: u64) -> u64 {
    SplitMix64::seed_from_u64(state).next_u64()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const STREAMS: [Stream; 5] =
        [Stream::Requests, Stream::Permutation, Stream::Placement, Stream::Events, Stream::Sampling];

    /// This and the next test: computed by a second implementation of the module's definition, written in
    /// another language and checked against the published outputs of xoshiro256++ for the state 1, 2, 3, 4.
    #[test]
    fn streams_are_stable() {
        let firsts = STREAMS.map(|stream| Seed(0).stream(0, stream));
        assert_eq!(
            firsts,
            [
                0xb28c_4c30_d302_532e,
                0x5238_0601_0949_1893,
                0x7209_949b_df4f_2159,
                0x7179_bc6f_bef3_57f4,
                0x4efc_442e_5524_41ed,
            ]
        );
        assert_eq!(Seed(u64::MAX).stream(u32::MAX, Stream::Sampling), 0xcc46_6604_c3d1_a5e4);
    }

    #[test]
    fn generators_are_stable() {
        let mut rng = block_rng(0, 0);
        assert_eq!(
            [(); 4].map(|()| rng.next_u64()),
            [0x3ed1_653f_0682_083a, 0x852c_ecd8_e741_8ff7, 0x8deb_058e_baf6_ffc3, 0x5d66_1891_6da2_d0f5]
        );
        let mut rng = block_rng(Seed(42).stream(3, Stream::Requests), 1_000_000);
        assert_eq!(
            [(); 4].map(|()| rng.next_u64()),
            [0xda35_ab40_64fa_33de, 0xc025_fcf7_cb93_7d1d, 0xdcaf_2a03_1ecd_0402, 0x94a3_1b87_3788_73cb]
        );
    }

    #[test]
    fn seeds_repetitions_and_streams_are_told_apart() {
        let mut seen = BTreeSet::new();
        for seed in 0..50 {
            for rep in 0..50 {
                for stream in STREAMS {
                    assert!(seen.insert(Seed(seed).stream(rep, stream)), "{seed} {rep} {stream:?}");
                }
            }
        }
    }
}
