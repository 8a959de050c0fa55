//! The points that several systems make in the same way.

use chash_core::{BuildError, MembershipError};

use crate::hash::crc::Crc32;
use crate::hash::digest::{le32, md5};

/// The most points of a ring: 2^27 of them occupy a gigabyte or two, and take minutes to make.
pub(crate) const MAX: u32 = 1 << 27;

/// Refuses more points than a ring here may have.
pub(crate) fn limit(points: u64) -> Result<(), BuildError> {
    if points <= u64::from(MAX) { Ok(()) } else { Err(MembershipError::CapacityExceeded { max: MAX }.into()) }
}

/// An endless chain: each point is the CRC-32 of `base` followed by the point before it as four
/// little-endian bytes; the first follows 0.
pub(crate) fn chained_crc32(base: &Crc32) -> impl Iterator<Item = u32> {
    core::iter::successors(Some(0u32), |previous| {
        let mut crc = base.clone();
        crc.update(&previous.to_le_bytes());
        Some(crc.finalize())
    })
    .skip(1)
}

/// The points of a ketama ring: from each digest MD5(`name-i`) the first `per_digest` little-endian words.
pub(crate) fn ketama(name: &str, digests: u32, per_digest: usize) -> impl Iterator<Item = u32> {
    (0..digests).flat_map(move |index| {
        let digest = md5(format!("{name}-{index}").as_bytes());
        (0..per_digest).map(move |word| le32(&digest, word))
    })
}

/// Points for each server of average weight in the weighted ketama of memcached clients.
pub(crate) const KETAMA_POINTS: u32 = 160;

/// How many digests a server gets in the weighted ketama of memcached clients, in single precision as
/// they compute it: 40 for a server of average weight, up to rounding.
pub(crate) fn ketama_digests(weight: u32, total: u64, servers: usize) -> u32 {
    let share = weight as f32 / total as f32;
    // The clients add 1e-10 before they round down, which single precision cannot hold here.
    (share * KETAMA_POINTS as f32 / 4.0 * servers as f32 + 1e-10) as u32
}
