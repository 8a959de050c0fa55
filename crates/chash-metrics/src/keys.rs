//! The keys a case is measured with, already hashed and counted.

/// The bytes of consecutive keys in one buffer, for placements that hash keys themselves.
#[derive(Clone, Copy, Debug)]
pub struct KeyBytes<'a> {
    /// All keys, one after the other.
    pub bytes: &'a [u8],
    /// Where each key ends in `bytes`; the first begins at `start`.
    pub ends: &'a [u64],
    /// Where the first key begins.
    pub start: u64,
}

impl<'a> KeyBytes<'a> {
    /// The bytes of key `index` of this block.
    ///
    /// # Panics
    ///
    /// If `index` is past the last key.
    #[must_use]
    pub fn get(&self, index: usize) -> &'a [u8] {
        let start = if index == 0 { self.start } else { self.ends[index - 1] };
        &self.bytes[start as usize..self.ends[index] as usize]
    }
}

/// What the records of a block count for.
#[derive(Clone, Copy, Debug)]
pub enum Counts<'a> {
    /// Each record is a distinct key, asked for this many times (0 included).
    Distinct(&'a [u64]),
    /// Each record is a distinct key whose requests follow in blocks of their own.
    DistinctOnly,
    /// Each record is one request for a key that has its own record in an earlier block.
    Requests,
}

/// Consecutive records of a stream.
#[derive(Clone, Copy, Debug)]
pub struct KeyBlock<'a> {
    /// The hashed keys.
    pub hashes: &'a [u64],
    /// Their bytes, where the stream keeps them.
    pub bytes: Option<KeyBytes<'a>>,
    /// What they count for.
    pub counts: Counts<'a>,
}

/// The distinct keys of a workload with the requests for them: the same for every placement,
/// however often and by whichever thread it is read.
///
/// Up to some ten million keys a stream is *counted*: one record for each key, with its requests.
/// Beyond, it is generated again at every reading, first the keys and then the requests, in
/// constant memory.
pub trait KeyStream: Sync {
    /// How many distinct keys there are.
    fn key_count(&self) -> u64;

    /// How many requests there are.
    fn request_count(&self) -> u64;

    /// The probability that two requests drawn from this stream are for one key, `S2 = Σ(c_k/T)²`
    /// with the stream's own counts; `None` where it is not counted.
    fn request_collision(&self) -> Option<f64>;

    /// Passes every block in order; every distinct key is in exactly one `Distinct` or `DistinctOnly` record.
    fn for_each_block(&self, visit: &mut dyn FnMut(KeyBlock<'_>));
}

/// A counted stream in memory, 16 bytes a key.
#[derive(Clone, Debug, Default)]
pub struct CountedKeys {
    hashes: Vec<u64>,
    requests: Vec<u64>,
    bytes: Option<(Vec<u8>, Vec<u64>)>,
    request_count: u64,
}

impl CountedKeys {
    /// Keys per block: small enough for its hashes and answers to stay in the first-level cache.
    pub const BLOCK: usize = 2048;

    /// The stream of these keys with their requests; `bytes` holds the keys' bytes and where each ends.
    ///
    /// # Panics
    ///
    /// If the parts differ in length.
    #[must_use]
    pub fn new(hashes: Vec<u64>, requests: Vec<u64>, bytes: Option<(Vec<u8>, Vec<u64>)>) -> Self {
        assert_eq!(hashes.len(), requests.len(), "every key has a count");
        assert!(bytes.as_ref().is_none_or(|(_, ends)| ends.len() == hashes.len()), "every key has its bytes");
        let request_count = requests.iter().sum();
        Self { hashes, requests, bytes, request_count }
    }

    /// The hashed keys, in stream order.
    #[must_use]
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }
}

impl KeyStream for CountedKeys {
    fn key_count(&self) -> u64 {
        self.hashes.len() as u64
    }

    fn request_count(&self) -> u64 {
        self.request_count
    }

    fn request_collision(&self) -> Option<f64> {
        // Exact until the last step, so that the order of the keys does not matter.
        let squares: u128 = self.requests.iter().map(|c| u128::from(*c) * u128::from(*c)).sum();
        let total = self.request_count as f64;
        (self.request_count > 0).then(|| squares as f64 / (total * total))
    }

    fn for_each_block(&self, visit: &mut dyn FnMut(KeyBlock<'_>)) {
        for (index, hashes) in self.hashes.chunks(Self::BLOCK).enumerate() {
            let start = index * Self::BLOCK;
            let range = start..start + hashes.len();
            let bytes = self.bytes.as_ref().map(|(bytes, ends)| KeyBytes {
                bytes,
                ends: &ends[range.clone()],
                start: if start == 0 { 0 } else { ends[start - 1] },
            });
            visit(KeyBlock { hashes, bytes, counts: Counts::Distinct(&self.requests[range]) });
        }
    }
}
