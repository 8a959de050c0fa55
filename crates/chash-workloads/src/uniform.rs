//! Every key alike.

use crate::draw::Below;
use crate::seed::block_rng;
use crate::workload::{block_len, check_keys};
use crate::{ParameterError, Workload};

/// Each request asks for any key with the same probability, drawn with replacement.
///
/// ```
/// use chash_workloads::seed::{Seed, Stream};
/// use chash_workloads::{Uniform, Workload};
///
/// let workload = Uniform::new(1000, 5000, Seed(42).stream(0, Stream::Requests))?;
/// let mut block = Vec::new();
/// workload.fill_block(1, &mut block);
/// assert_eq!(block.len(), 5000 - 4096);
/// assert!(block.iter().all(|&key| key < 1000));
/// # Ok::<(), chash_workloads::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Uniform {
    keys: u64,
    requests: u64,
    requests_seed: u64,
}

impl Uniform {
    /// Requests for `keys` keys.
    ///
    /// # Errors
    ///
    /// If `keys` is not between 1 and 2^63.
    pub fn new(keys: u64, requests: u64, requests_seed: u64) -> Result<Self, ParameterError> {
        check_keys(keys)?;
        Ok(Self { keys, requests, requests_seed })
    }
}

impl Workload for Uniform {
    fn key_count(&self) -> u64 {
        self.keys
    }

    fn request_count(&self) -> u64 {
        self.requests
    }

    fn fill_block(&self, block: u64, out: &mut Vec<u64>) {
        let mut rng = block_rng(self.requests_seed, block);
        Below::new(self.keys).fill(&mut rng, block_len(block, self.requests), out);
    }
}
