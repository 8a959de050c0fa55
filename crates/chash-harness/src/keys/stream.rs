//! Streams that hold no keys: generated again at every reading, or hashed anew for a system.

use chash_core::KeyHasher;
use chash_metrics::keys::{Counts, KeyBlock, KeyStream};
use chash_workloads::{BLOCK, Workload};

use super::{GeneratedKeys, KeyBatch, SAMPLE};

/// A stream under a system's own hash: the bytes decide, and whatever reads hashes reads the system's.
pub struct OwnHashes<'a> {
    stream: &'a dyn KeyStream,
    hasher: &'a dyn KeyHasher,
}

impl std::fmt::Debug for OwnHashes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnHashes").field("hasher", &self.hasher).finish_non_exhaustive()
    }
}

impl<'a> OwnHashes<'a> {
    /// The keys of `stream`, which has their bytes, hashed by `hasher`.
    #[must_use]
    pub fn new(stream: &'a dyn KeyStream, hasher: &'a dyn KeyHasher) -> Self {
        Self { stream, hasher }
    }
}

impl KeyStream for OwnHashes<'_> {
    fn key_count(&self) -> u64 {
        self.stream.key_count()
    }

    fn request_count(&self) -> u64 {
        self.stream.request_count()
    }

    fn request_collision(&self) -> Option<f64> {
        self.stream.request_collision()
    }

    fn for_each_block(&self, visit: &mut dyn FnMut(KeyBlock<'_>)) {
        let mut hashes = Vec::new();
        self.stream.for_each_block(&mut |block| {
            let bytes = block.bytes.expect("a plan with a system that hashes keys itself keeps their bytes");
            hashes.clear();
            hashes.extend((0..block.hashes.len()).map(|at| self.hasher.hash_key(bytes.get(at))));
            visit(KeyBlock { hashes: &hashes, ..block });
        });
    }
}

/// A stream that is generated again at every reading: any number of keys and requests in constant memory.
#[derive(Debug)]
pub(super) struct StreamedKeys {
    pub(super) keys: GeneratedKeys,
    /// The id of the first key.
    pub(super) first: u64,
    pub(super) workload: Box<dyn Workload>,
}

impl StreamedKeys {
    pub(super) fn sample(&self) -> KeyBatch {
        let mut sample = KeyBatch::new(self.keys.keeping, SAMPLE);
        let mut block = Vec::new();
        for index in 0..self.workload.block_count().min((SAMPLE / BLOCK) as u64) {
            self.workload.fill_block(index, &mut block);
            for key in &block {
                self.keys.append(self.first + key, 1, &mut sample);
            }
        }
        sample
    }
}

impl KeyStream for StreamedKeys {
    fn key_count(&self) -> u64 {
        self.keys.count
    }

    fn request_count(&self) -> u64 {
        self.workload.request_count()
    }

    fn request_collision(&self) -> Option<f64> {
        None
    }

    fn for_each_block(&self, visit: &mut dyn FnMut(KeyBlock<'_>)) {
        let mut batch = KeyBatch::new(self.keys.keeping, BLOCK);
        let mut start = 0;
        while start < self.keys.count {
            let count = (self.keys.count - start).min(BLOCK as u64);
            batch.clear();
            self.keys.append(self.first + start, count, &mut batch);
            visit(batch.block(Counts::DistinctOnly));
            start += count;
        }
        let mut block = Vec::with_capacity(BLOCK);
        for index in 0..self.workload.block_count() {
            self.workload.fill_block(index, &mut block);
            batch.clear();
            for key in &block {
                self.keys.append(self.first + key, 1, &mut batch);
            }
            visit(batch.block(Counts::Requests));
        }
    }
}
