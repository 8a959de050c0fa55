//! The distinct keys of an input.

use thiserror::Error;
use xxhash_rust::xxh3::xxh3_128;

/// Distinct keys in the order of their first appearance, with how often each was seen.
///
/// A key is identified by the 128 bits of its XXH3 hash, not by its bytes: among 10^9 keys, two share one with a
/// probability of 10^-21 (someone who tries can construct such keys). With each go a hash that the caller
/// chooses, for placements to look up, and, where asked for, its bytes, for placements that hash them themselves.
///
/// A distinct key costs 16 bytes of identity, 16 of hash and count, up to a quarter more for growth, and 8 to 16
/// bytes of a table that finds it: at most [`BYTES_PER_KEY`](Self::BYTES_PER_KEY), while it grows for a moment
/// a third more. Keys that are kept cost their own bytes and 8 more, and the same quarter.
///
/// ```
/// use chash_workloads::input::DistinctKeys;
///
/// let mut keys = DistinctKeys::new().keeping_bytes();
/// for key in ["pear", "apple", "pear"] {
///     keys.insert(key.as_bytes(), 1, || key.len() as u64)?;
/// }
/// assert_eq!(keys.len(), 2);
/// assert_eq!(keys.hashes(), [4, 5]);
/// assert_eq!(keys.counts(), [2, 1]);
/// assert_eq!(keys.bytes(1), Some(&b"apple"[..]));
/// # Ok::<(), chash_workloads::input::DistinctKeysError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct DistinctKeys {
    /// Numbers of keys, by open addressing from the identity's low bits; [`EMPTY`] elsewhere. No slot, or a power of
    /// two of which at most half are taken: a slot with another key costs a look at that key's identity.
    slots: Vec<u32>,
    /// These three by number.
    identities: Vec<u128>,
    hashes: Vec<u64>,
    counts: Vec<u64>,
    /// The sum of the counts.
    requests: u64,
    kept: Option<Arena>,
}

/// No key has this number.
const EMPTY: u32 = u32::MAX;

/// The fewest slots.
const MIN_SLOTS: usize = 16;

/// A key was not inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DistinctKeysError {
    /// The counts of all keys would add up to more than 2^64 - 1.
    #[error("the counts of all keys add up to more than {}", u64::MAX)]
    TooManyRequests,
    /// There are 2^32 - 1 distinct keys already.
    #[error("there are more than {EMPTY} distinct keys")]
    TooManyKeys,
}

impl DistinctKeys {
    /// The most bytes of memory that a distinct key takes, apart from bytes that are kept, from 4096 keys on.
    pub const BYTES_PER_KEY: u64 = 56;

    /// No keys.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes of keys will be kept.
    ///
    /// # Panics
    ///
    /// If there are keys already.
    #[must_use]
    pub fn keeping_bytes(mut self) -> Self {
        assert!(self.is_empty(), "the bytes of the keys so far are not known");
        self.kept = Some(Arena::default());
        self
    }

    /// Adds `count` to what is counted of a key, and returns the key's number: 0 for the first distinct one. Calls
    /// `hash` if the key is new.
    ///
    /// # Errors
    ///
    /// If there would be too many keys or counts; nothing has changed then.
    pub fn insert(
        &mut self,
        key: &[u8],
        count: u64,
        hash: impl FnOnce() -> u64,
    ) -> Result<u32, DistinctKeysError> {
        let requests = self.requests.checked_add(count).ok_or(DistinctKeysError::TooManyRequests)?;
        self.make_room();
        let identity = xxh3_128(key);
        let slot = self.find(identity);
        let mut number = self.slots[slot];
        if number == EMPTY {
            number = next_number(self.identities.len())?;
            self.slots[slot] = number;
            push(&mut self.identities, identity);
            push(&mut self.hashes, hash());
            push(&mut self.counts, 0);
            if let Some(kept) = &mut self.kept {
                kept.push(key);
            }
        }
        // A part of the sum of all, which has been checked.
        self.counts[number as usize] += count;
        self.requests = requests;
        Ok(number)
    }

    /// The number of distinct keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.identities.len()
    }

    /// Whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.identities.is_empty()
    }

    /// The hashes that came with the keys, by number.
    #[must_use]
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// How often each key was seen, by number.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The sum of the counts.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The bytes of a key; `None` where they are not kept, or no key has this number.
    #[must_use]
    pub fn bytes(&self, number: usize) -> Option<&[u8]> {
        self.kept.as_ref()?.get(number)
    }

    /// Heap memory taken now.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let numbered = self.identities.capacity() * size_of::<u128>()
            + (self.hashes.capacity() + self.counts.capacity()) * size_of::<u64>();
        let slots = self.slots.capacity() * size_of::<u32>();
        (numbered + slots) as u64 + self.kept.as_ref().map_or(0, Arena::memory_bytes)
    }

    /// The slot with this identity, or the empty one where it belongs.
    fn find(&self, identity: u128) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = identity as usize & mask;
        loop {
            let number = self.slots[slot];
            if number == EMPTY || self.identities[number as usize] == identity {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Doubles the slots if one more key would take more than half of them.
    fn make_room(&mut self) {
        if (self.len() + 1) * 2 <= self.slots.len() {
            return;
        }
        let slots = (self.slots.len() * 2).max(MIN_SLOTS);
        // The old ones say nothing that the identities do not.
        self.slots = Vec::new();
        self.slots.resize(slots, EMPTY);
        for number in 0..self.identities.len() {
            let slot = self.find(self.identities[number]);
            self.slots[slot] = number as u32;
        }
    }
}

fn next_number(len: usize) -> Result<u32, DistinctKeysError> {
    match u32::try_from(len) {
        Ok(number) if number != EMPTY => Ok(number),
        _ => Err(DistinctKeysError::TooManyKeys),
    }
}

/// The bytes of keys, one after the other.
#[derive(Clone, Debug, Default)]
struct Arena {
    bytes: Vec<u8>,
    /// Where each key ends.
    ends: Vec<u64>,
}

impl Arena {
    fn push(&mut self, key: &[u8]) {
        reserve(&mut self.bytes, key.len());
        self.bytes.extend_from_slice(key);
        push(&mut self.ends, self.bytes.len() as u64);
    }

    fn get(&self, number: usize) -> Option<&[u8]> {
        let end = *self.ends.get(number)?;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        Some(&self.bytes[start as usize..end as usize])
    }

    fn memory_bytes(&self) -> u64 {
        (self.bytes.capacity() + self.ends.capacity() * size_of::<u64>()) as u64
    }
}

fn push<T>(values: &mut Vec<T>, value: T) {
    reserve(values, 1);
    values.push(value);
}

/// Grows by a quarter where a `Vec` by itself would double: most of the memory is in use.
fn reserve<T>(values: &mut Vec<T>, more: usize) {
    if values.capacity() - values.len() < more {
        values.reserve_exact(more.max(values.len() / 4).max(MIN_SLOTS));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A plain map and a list are the oracle.
        #[test]
        fn equals_a_map(keys: Vec<(u8, u8)>, keep: bool) {
            let mut distinct = DistinctKeys::new();
            if keep {
                distinct = distinct.keeping_bytes();
            }
            let mut counts = BTreeMap::new();
            let mut order = Vec::new();
            for (key, count) in keys {
                // From the empty key to several bytes.
                let bytes = vec![key; usize::from(key % 5)];
                let known = order.iter().position(|seen| *seen == bytes);
                let hash = 1000 + order.len() as u64;
                let number = distinct
                    .insert(&bytes, u64::from(count), || {
                        assert_eq!(known, None, "a known key is not hashed");
                        hash
                    })
                    .unwrap();
                prop_assert_eq!(number as usize, known.unwrap_or(order.len()));
                *counts.entry(bytes.clone()).or_insert(0) += u64::from(count);
                if known.is_none() {
                    order.push(bytes);
                }
            }
            prop_assert_eq!(distinct.len(), order.len());
            prop_assert_eq!(distinct.is_empty(), order.is_empty());
            prop_assert_eq!(distinct.requests(), counts.values().sum::<u64>());
            for (number, key) in order.iter().enumerate() {
                prop_assert_eq!(distinct.counts()[number], counts[key]);
                prop_assert_eq!(distinct.hashes()[number], 1000 + number as u64);
                prop_assert_eq!(distinct.bytes(number), keep.then_some(&key[..]));
            }
            prop_assert_eq!(distinct.bytes(order.len()), None);
        }
    }

    #[test]
    fn memory_is_as_documented() {
        let mut distinct = DistinctKeys::new();
        for key in 0..300_000u64 {
            distinct.insert(&key.to_le_bytes(), 1, || key).unwrap();
            if key >= 4095 {
                assert!(distinct.memory_bytes() <= (key + 1) * DistinctKeys::BYTES_PER_KEY, "{key}");
            }
        }
        assert!(distinct.memory_bytes() >= 300_000 * (16 + 16 + 8));
        assert_eq!(distinct.len(), 300_000);
    }

    #[test]
    fn an_overflow_changes_nothing() {
        let mut distinct = DistinctKeys::new();
        distinct.insert(b"a", u64::MAX - 1, || 1).unwrap();
        assert_eq!(distinct.insert(b"a", 2, || 1), Err(DistinctKeysError::TooManyRequests));
        assert_eq!(distinct.insert(b"b", 2, || 2), Err(DistinctKeysError::TooManyRequests));
        assert_eq!((distinct.counts(), distinct.requests()), (&[u64::MAX - 1][..], u64::MAX - 1));
        assert_eq!(distinct.insert(b"b", 1, || 2), Ok(1));
    }

    #[test]
    fn numbers_end_below_the_empty_mark() {
        assert_eq!(next_number(0), Ok(0));
        assert_eq!(next_number(EMPTY as usize - 1), Ok(EMPTY - 1));
        assert_eq!(next_number(EMPTY as usize), Err(DistinctKeysError::TooManyKeys));
    }

    #[test]
    #[should_panic(expected = "the bytes of the keys so far are not known")]
    fn bytes_are_kept_from_the_start() {
        let mut distinct = DistinctKeys::new();
        distinct.insert(b"a", 1, || 1).unwrap();
        let _ = distinct.keeping_bytes();
    }
}
