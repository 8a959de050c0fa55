//! What a workload is, and why one could not be made.

use core::fmt::Debug;
use core::ops::Range;

use thiserror::Error;

/// Requests in a block. Part of the streams' definition: each block has a generator of its own.
pub const BLOCK: usize = 4096;

/// The most keys a workload can have: 2^63.
pub const MAX_KEYS: u64 = 1 << 63;

/// A stream of requests: which key each one asks for.
///
/// Keys are indices in `0..key_count`; how an index becomes bytes is another matter
/// ([`KeyFormat`](crate::keys::KeyFormat)). The stream comes in blocks of [`BLOCK`] requests that can be
/// asked for in any order and from any thread, so that it is never held in memory.
///
/// # Implementing
///
/// A block's contents depend on the workload's parameters and the block's number alone, on every platform:
/// no state between calls, no `usize` in a draw, no floating-point function of the standard library.
/// [`fill_block`](Self::fill_block) allocates nothing once `out` has room for a block.
pub trait Workload: Debug + Send + Sync {
    /// The number of distinct keys, at least 1 and at most [`MAX_KEYS`].
    fn key_count(&self) -> u64;

    /// The number of requests; 0 is possible.
    fn request_count(&self) -> u64;

    /// Replaces the contents of `out` by the keys that the requests of this block ask for, in order:
    /// requests `block * BLOCK` up to but not including `(block + 1) * BLOCK`, ending with the last
    /// request. A block beyond the last request is empty.
    fn fill_block(&self, block: u64, out: &mut Vec<u64>);

    /// The number of blocks; all but the last are full.
    fn block_count(&self) -> u64 {
        self.request_count().div_ceil(BLOCK as u64)
    }
}

/// The numbers of the requests in a block of a stream of `request_count`.
pub(crate) fn block_requests(block: u64, request_count: u64) -> Range<u64> {
    let start = block.saturating_mul(BLOCK as u64).min(request_count);
    start..start.saturating_add(BLOCK as u64).min(request_count)
}

/// A parameter of a workload is out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("parameter {name} must be {requirement}")]
pub struct ParameterError {
    /// The parameter's name, as in a workload spec.
    pub name: &'static str,
    /// What it must be.
    pub requirement: &'static str,
}

/// The number of requests in a block of a stream of `request_count`.
pub(crate) fn block_len(block: u64, request_count: u64) -> usize {
    let requests = block_requests(block, request_count);
    // At most BLOCK.
    (requests.end - requests.start) as usize
}

/// The check of the key count that every workload shares.
pub(crate) fn check_keys(keys: u64) -> Result<(), ParameterError> {
    if keys == 0 || keys > MAX_KEYS {
        return Err(ParameterError { name: "keys", requirement: "between 1 and 2^63" });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_end_with_the_last_request() {
        assert_eq!(block_requests(0, 5000), 0..4096);
        assert_eq!(block_requests(1, 5000), 4096..5000);
        assert_eq!(block_requests(2, 5000), 5000..5000);
        assert_eq!(block_requests(0, 0), 0..0);
        assert_eq!(block_requests(1 << 52, u64::MAX), u64::MAX..u64::MAX);
        assert_eq!(block_requests((1 << 52) - 1, u64::MAX), u64::MAX - 4095..u64::MAX);
        assert_eq!(block_requests(u64::MAX, u64::MAX), u64::MAX..u64::MAX);
    }

    #[test]
    fn key_counts_are_checked() {
        let refused = ParameterError { name: "keys", requirement: "between 1 and 2^63" };
        assert_eq!(check_keys(0), Err(refused));
        assert_eq!(check_keys(1), Ok(()));
        assert_eq!(check_keys(MAX_KEYS), Ok(()));
        assert_eq!(check_keys(MAX_KEYS + 1), Err(refused));
        assert_eq!(refused.to_string(), "parameter keys must be between 1 and 2^63");
    }
}
