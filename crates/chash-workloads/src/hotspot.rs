//! Some keys get most of the requests.

use rand_xoshiro::rand_core::Rng as _;

use crate::draw::Below;
use crate::permutation::Permutation;
use crate::seed::block_rng;
use crate::workload::{block_len, check_keys};
use crate::{ParameterError, Workload};

/// A fraction of the keys, the hot ones, gets a share of the requests; within the hot and within the cold keys,
/// all are alike.
///
/// The number of hot keys is `fraction * keys` in double precision, rounded to the nearest integer. A seeded
/// [`Permutation`] decides which they are. The share is a probability, exact to 2^-53: each request is hot or
/// cold independently of the others.
///
/// ```
/// use chash_workloads::{Hotspot, Workload};
///
/// let workload = Hotspot::new(1000, 4096, 0.2, 0.8, 1, 2)?;
/// assert_eq!(workload.hot_key_count(), 200);
/// let mut block = Vec::new();
/// workload.fill_block(0, &mut block);
/// let hot = block.iter().filter(|&&key| workload.is_hot(key)).count();
/// assert!((3100..3450).contains(&hot));
/// # Ok::<(), chash_workloads::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hotspot {
    keys: u64,
    requests: u64,
    requests_seed: u64,
    permutation: Permutation,
    /// The permutation takes `0..hot` to the hot keys; at least 1, at most `keys`.
    hot: u64,
    /// A coin of 53 bits below this makes a request hot; at most 2^53. 2^53 where no key is cold.
    share: u64,
}

impl Hotspot {
    /// Requests for `keys` keys, of which `fraction` get `share` of the requests.
    ///
    /// # Errors
    ///
    /// If `keys` is not between 1 and 2^63; `fraction` not in 0..=1 or so small that no key is hot; `share` not
    /// in 0..=1, or below 1 where every key is hot.
    pub fn new(
        keys: u64,
        requests: u64,
        fraction: f64,
        share: f64,
        requests_seed: u64,
        permutation_seed: u64,
    ) -> Result<Self, ParameterError> {
        check_keys(keys)?;
        let refuse = |name, requirement| Err(ParameterError { name, requirement });
        if !(0.0..=1.0).contains(&fraction) {
            return refuse("fraction", "between 0 and 1");
        }
        if !(0.0..=1.0).contains(&share) {
            return refuse("share", "between 0 and 1");
        }
        let hot = ((fraction * keys as f64).round() as u64).min(keys);
        if hot == 0 {
            return refuse("fraction", "large enough that at least one key is hot");
        }
        if hot == keys && share < 1.0 {
            return refuse("share", "1 where every key is hot");
        }
        Ok(Self {
            keys,
            requests,
            requests_seed,
            permutation: Permutation::new(keys, permutation_seed)?,
            hot,
            share: (share * (1u64 << 53) as f64).round() as u64,
        })
    }

    /// The number of hot keys.
    #[must_use]
    pub fn hot_key_count(&self) -> u64 {
        self.hot
    }

    /// Whether a key is hot.
    ///
    /// # Panics
    ///
    /// If the key is not in 0..[`key_count`](Workload::key_count).
    #[must_use]
    pub fn is_hot(&self, key: u64) -> bool {
        self.permutation.invert(key) < self.hot
    }
}

impl Workload for Hotspot {
    fn key_count(&self) -> u64 {
        self.keys
    }

    fn request_count(&self) -> u64 {
        self.requests
    }

    fn fill_block(&self, block: u64, out: &mut Vec<u64>) {
        let hot = (0, Below::new(self.hot));
        // Where no key is cold, no request is: the interval is then never drawn from.
        let cold = (self.hot, Below::new((self.keys - self.hot).max(1)));
        let mut rng = block_rng(self.requests_seed, block);
        out.clear();
        out.extend((0..block_len(block, self.requests)).map(|_| {
            let (first, part) = if rng.next_u64() >> 11 < self.share { hot } else { cold };
            first + part.draw(&mut rng)
        }));
        self.permutation.apply_all(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(keys: u64, fraction: f64, share: f64) -> (&'static str, &'static str) {
        let error = Hotspot::new(keys, 10, fraction, share, 0, 0).unwrap_err();
        (error.name, error.requirement)
    }

    #[test]
    fn bad_parameters_are_refused_by_name() {
        for bad in [-0.1, 1.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(refusal(100, bad, 0.5), ("fraction", "between 0 and 1"));
            assert_eq!(refusal(100, 0.5, bad), ("share", "between 0 and 1"));
        }
        assert_eq!(refusal(100, 0.0049, 0.5), ("fraction", "large enough that at least one key is hot"));
        assert_eq!(refusal(100, 1.0, 0.5), ("share", "1 where every key is hot"));
        assert_eq!(refusal(0, 0.5, 0.5), ("keys", "between 1 and 2^63"));
    }

    #[test]
    fn hot_keys_are_counted_to_the_nearest() {
        for (keys, fraction, hot) in [(100, 0.07, 7), (100, 0.005, 1), (3, 0.5, 2), (1 << 63, 0.5, 1 << 62)] {
            assert_eq!(Hotspot::new(keys, 0, fraction, 0.5, 0, 0).unwrap().hot_key_count(), hot);
        }
    }

    #[test]
    fn a_share_of_all_or_nothing_is_exact() {
        let mut block = Vec::new();
        for (share, hot) in [(0.0, false), (1.0, true)] {
            let workload = Hotspot::new(10, 4096, 0.5, share, 1, 2).unwrap();
            workload.fill_block(0, &mut block);
            assert!(block.iter().all(|&key| workload.is_hot(key) == hot), "share {share}");
        }
        let every = Hotspot::new(10, 4096, 1.0, 1.0, 1, 2).unwrap();
        every.fill_block(0, &mut block);
        assert!((0..10).all(|key| block.contains(&key)));
    }
}
