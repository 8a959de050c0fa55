//! One key after the other.

use crate::workload::{block_requests, check_keys};
use crate::{ParameterError, Workload};

/// Request i asks for key i modulo the number of keys: with as many requests as keys, each key once.
///
/// ```
/// use chash_workloads::{Sequential, Workload};
///
/// let workload = Sequential::new(3, 7)?;
/// let mut block = Vec::new();
/// workload.fill_block(0, &mut block);
/// assert_eq!(block, [0, 1, 2, 0, 1, 2, 0]);
/// # Ok::<(), chash_workloads::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sequential {
    keys: u64,
    requests: u64,
}

impl Sequential {
    /// Requests for `keys` keys.
    ///
    /// # Errors
    ///
    /// If `keys` is not between 1 and 2^63.
    pub fn new(keys: u64, requests: u64) -> Result<Self, ParameterError> {
        check_keys(keys)?;
        Ok(Self { keys, requests })
    }
}

impl Workload for Sequential {
    fn key_count(&self) -> u64 {
        self.keys
    }

    fn request_count(&self) -> u64 {
        self.requests
    }

    fn fill_block(&self, block: u64, out: &mut Vec<u64>) {
        let requests = block_requests(block, self.requests);
        let mut next = requests.start % self.keys;
        out.clear();
        out.extend(requests.map(|_| {
            let key = next;
            next = if next + 1 == self.keys { 0 } else { next + 1 };
            key
        }));
    }
}
