//! Guava 31.1 `Hashing.consistentHash`: jump consistent hash in Guava's own arithmetic.
//!
//! A key jumps from bucket to bucket until a jump leads beyond the last one. Guava divides by a random
//! fraction where the paper multiplies by its inverse, so the two differ by rounding for about one key
//! in 10^7 at the largest numbers of buckets, and it stops at a draw of 2^31, which it reads as negative.
//!
//! N buckets: a lookup takes O(log N) jumps and no table; only the last bucket can be removed.

use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, MembershipError, Order, Removal, Work};

use crate::hash::digest::{md5, sha1};
use crate::hash::murmur::{Tail, murmur3_x64_128};
use crate::params::{ParamSpec, SystemParams, Values, defaults};
use crate::row::require_unit_weights;
use crate::{Column, Deployed, ServerRow, Table};

/// The most buckets: Java's `int`.
const MAX_BUCKETS: u32 = i32::MAX.cast_unsigned();

/// Guava.
#[derive(Clone, Copy, Debug)]
pub struct Guava;

/// The `HashFunction` whose `HashCode.padToLong()` is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashFunction {
    /// `murmur3_128()`.
    Murmur3,
    /// `md5()`.
    Md5,
    /// `sha1()`.
    Sha1,
}

/// The parameters of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// What turns a key's bytes into a `long`.
    pub hash: HashFunction,
}

impl Default for Params {
    fn default() -> Self {
        defaults()
    }
}

impl SystemParams for Params {
    const SPECS: &'static [ParamSpec] = &[ParamSpec::choice(
        "hash",
        &["murmur3_128", "md5", "sha1"],
        "murmur3_128, md5 or sha1",
        "the `HashFunction` of keys",
    )];

    fn from_values(values: &Values<'_>) -> Result<Self, BuildError> {
        Ok(Self {
            hash: values.choice("hash", &[HashFunction::Murmur3, HashFunction::Md5, HashFunction::Sha1])?,
        })
    }
}

/// The first 8 bytes of the hash, little-endian: Guava's `HashCode.padToLong()`.
impl KeyHasher for Params {
    fn hash_key(&self, key: &[u8]) -> u64 {
        let first = |digest: &[u8]| u64::from_le_bytes(*digest.first_chunk().expect("a digest is longer"));
        match self.hash {
            HashFunction::Murmur3 => murmur3_x64_128(key, 0, Tail::Unsigned).0,
            HashFunction::Md5 => first(&md5(key)),
            HashFunction::Sha1 => first(&sha1(key)),
        }
    }
}

/// `Hashing.consistentHash(key, buckets)`, and the number of jumps it took.
fn jump(key: u64, buckets: u32) -> (u32, u32) {
    let mut state = key;
    let mut candidate = 0i32;
    let mut jumps = 0;
    loop {
        state = state.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        // 2^31 wraps to a negative number, as Java's cast to `int` does.
        let draw = (((state >> 33) as u32) + 1).cast_signed();
        let next = (f64::from(candidate) + 1.0) / (f64::from(draw) / 2_147_483_648.0);
        jumps += 1;
        // Both languages round towards zero here and stop at the largest number.
        let next = next as i32;
        if next < 0 || next.cast_unsigned() >= buckets {
            return (candidate.cast_unsigned(), jumps);
        }
        candidate = next;
    }
}

/// `Hashing.consistentHash(key, buckets)`: a number below `buckets`. O(log buckets).
///
/// ```
/// assert_eq!(chash_compat::guava::consistent_hash(256, 1024), 520);
/// ```
///
/// # Panics
///
/// If `buckets` is 0 or above 2^31 − 1.
#[must_use]
pub fn consistent_hash(key: u64, buckets: u32) -> u32 {
    assert!((1..=MAX_BUCKETS).contains(&buckets), "buckets are from 1 to 2^31 - 1");
    jump(key, buckets).0
}

/// The number of buckets: all there is to look up.
#[derive(Clone, Copy, Debug)]
pub struct Buckets(u32);

impl Deployed for Guava {
    const NAME: &'static str = "guava";
    const SUMMARY: &'static str = "Guava 31.1, Hashing.consistentHash";
    const SOURCE: &'static str = "https://github.com/google/guava, after Lamping and Veach 2014";
    const COMPLEXITY: &'static str = "lookup O(log N), no table";
    const COLUMNS: &'static [Column] = &[];

    type Params = Params;
    type Server = ();
    type Table = Buckets;

    fn read(_: &Params, rows: &[ServerRow]) -> Result<Vec<()>, BuildError> {
        require_unit_weights(rows)?;
        if rows.len() > MAX_BUCKETS as usize {
            return Err(MembershipError::CapacityExceeded { max: MAX_BUCKETS }.into());
        }
        Ok(vec![(); rows.len()])
    }

    fn estimate(_: &Params, _: &[()]) -> u64 {
        0
    }

    fn place(_: &Params, servers: &[()]) -> Buckets {
        Buckets(servers.len() as u32)
    }

    fn capabilities(_: &Params, _: &[()]) -> Capabilities {
        Capabilities::new(Removal::LastOnly, Disruption::Minimal, Order::ListOrder)
            .with_max_nodes(MAX_BUCKETS)
    }
}

impl Table for Buckets {
    fn find(&self, key: u64) -> u32 {
        jump(key, self.0).0
    }

    fn work(&self, key: u64) -> Work {
        let (_, jumps) = jump(key, self.0);
        Work { hash_evals: jumps, probes: jumps, table_reads: 0 }
    }

    /// Equal up to the resolution of 31-bit draws.
    fn shares(&self, count: usize) -> Option<Vec<f64>> {
        Some(vec![1.0 / count as f64; count])
    }

    fn heap_bytes(&self) -> usize {
        0
    }
}
