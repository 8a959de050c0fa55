//! Keys side by side: their hashes, and their bytes where something needs them.

use chash_metrics::keys::{CountedKeys, Counts, KeyBlock, KeyBytes};

/// Consecutive keys with their hashes, and with their bytes if they are kept.
#[derive(Clone, Debug)]
pub struct KeyBatch {
    hashes: Vec<u64>,
    kept: Option<Kept>,
}

/// The bytes of all keys, one after the other, and where each ends.
#[derive(Clone, Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    ends: Vec<u64>,
}

impl KeyBatch {
    /// No keys yet, with room for so many.
    #[must_use]
    pub fn new(keeping_bytes: bool, capacity: usize) -> Self {
        let kept = keeping_bytes.then(|| Kept { bytes: Vec::new(), ends: Vec::with_capacity(capacity) });
        Self { hashes: Vec::with_capacity(capacity), kept }
    }

    /// No keys yet, with bytes if this one has them.
    pub(super) fn like(&self) -> Self {
        Self::new(self.is_keeping(), 0)
    }

    /// Whether bytes are kept.
    pub(super) fn is_keeping(&self) -> bool {
        self.kept.is_some()
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The hashes of the keys.
    #[must_use]
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// The bytes of one key.
    ///
    /// # Panics
    ///
    /// If there is no such key, or bytes are not kept.
    #[must_use]
    pub fn key(&self, at: usize) -> &[u8] {
        self.bytes().expect("the bytes are kept").get(at)
    }

    fn bytes(&self) -> Option<KeyBytes<'_>> {
        self.kept.as_ref().map(|kept| KeyBytes { bytes: &kept.bytes, ends: &kept.ends, start: 0 })
    }

    /// Appends a key.
    pub(super) fn push(&mut self, key: &[u8], hash: u64) {
        self.hashes.push(hash);
        if let Some(kept) = &mut self.kept {
            kept.bytes.extend_from_slice(key);
            kept.ends.push(kept.bytes.len() as u64);
        }
    }

    /// Appends the key of another batch, which has bytes if this one has.
    pub(super) fn push_from(&mut self, other: &Self, at: usize) {
        let key = if self.is_keeping() { other.key(at) } else { &[] };
        self.push(key, other.hashes[at]);
    }

    pub(super) fn clear(&mut self) {
        self.hashes.clear();
        if let Some(kept) = &mut self.kept {
            kept.bytes.clear();
            kept.ends.clear();
        }
    }

    /// The keys as a block of a stream.
    pub(super) fn block<'a>(&'a self, counts: Counts<'a>) -> KeyBlock<'a> {
        KeyBlock { hashes: &self.hashes, bytes: self.bytes(), counts }
    }

    /// The keys as a stream, each with its requests.
    pub(super) fn counted(self, requests: Vec<u64>) -> CountedKeys {
        CountedKeys::new(self.hashes, requests, self.kept.map(|kept| (kept.bytes, kept.ends)))
    }
}
