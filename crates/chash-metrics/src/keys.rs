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

/// At most `size` distinct keys, evenly spaced in stream order: key ⌊i·K/n⌋ of K for i = 0, 1, …, n − 1,
/// where n is the smaller of `size` and K.
///
/// Deterministic, and the same keys for every placement. One reading of the stream.
#[must_use]
pub fn sample(stream: &dyn KeyStream, size: usize) -> Vec<u64> {
    let total = stream.key_count();
    let size = total.min(size as u64);
    // Products of two counts: wider than either.
    let place = |i: u64| (u128::from(i) * u128::from(total) / u128::from(size)) as u64;
    let mut keys = Vec::with_capacity(size as usize);
    let mut seen = 0u64;
    stream.for_each_block(&mut |block| {
        if matches!(block.counts, Counts::Requests) {
            return;
        }
        let end = seen + block.hashes.len() as u64;
        while (keys.len() as u64) < size && place(keys.len() as u64) < end {
            keys.push(block.hashes[(place(keys.len() as u64) - seen) as usize]);
        }
        seen = end;
    });
    keys
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

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: u64) -> CountedKeys {
        CountedKeys::new((0..count).collect(), vec![1; count as usize], None)
    }

    #[test]
    fn samples_are_evenly_spaced() {
        assert_eq!(sample(&numbered(10), 4), [0, 2, 5, 7]);
        assert_eq!(sample(&numbered(3), 4), [0, 1, 2]);
        assert_eq!(sample(&numbered(0), 4), [0u64; 0]);
        let long = sample(&numbered(5000), 1000);
        assert_eq!(long, (0..1000).map(|i| i * 5).collect::<Vec<_>>());
    }

    #[test]
    fn collision_is_the_sum_of_squared_frequencies() {
        assert_eq!(
            CountedKeys::new(vec![1, 2, 3], vec![1, 2, 1], None).request_collision(),
            Some(6.0 / 16.0)
        );
        assert_eq!(numbered(0).request_collision(), None);
    }

    #[test]
    fn blocks_cover_keys_counts_and_bytes() {
        let count = CountedKeys::BLOCK as u64 + 7;
        let bytes: Vec<u8> = (0..count).flat_map(u64::to_le_bytes).collect();
        let ends = (1..=count).map(|i| i * 8).collect();
        let stream = CountedKeys::new((0..count).collect(), (0..count).collect(), Some((bytes, ends)));
        let mut seen = 0u64;
        stream.for_each_block(&mut |block| {
            let Counts::Distinct(counts) = block.counts else { panic!("a counted stream has counts") };
            for (index, hash) in block.hashes.iter().enumerate() {
                assert_eq!((*hash, counts[index]), (seen, seen));
                assert_eq!(block.bytes.unwrap().get(index), seen.to_le_bytes());
                seen += 1;
            }
        });
        assert_eq!(seen, count);
        assert_eq!(stream.request_count(), count * (count - 1) / 2);
    }
}
