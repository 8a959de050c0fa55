//! From `--keys` to the hashed, counted keys that every placement sees.

mod batch;
mod file;
mod sequence;
mod stream;

use std::borrow::Cow;

use chash_core::KeyHasher;
use chash_hash::SeededHasher;
use chash_metrics::keys::KeyStream;
use chash_workloads::keys::KeyFormat;
use chash_workloads::seed::{Seed, Stream};
use chash_workloads::{BLOCK, ParameterError, Workload};
use thiserror::Error;

use crate::exit::Failure;
use crate::plan::{CountOrText, Plan};
use crate::registry::{self, Draw};
use crate::run::cases::Group;
use crate::run::estimate::COUNTED_KEYS;
use crate::spec::Spec;

pub use batch::KeyBatch;
pub use file::FileKeys;
pub use sequence::{KeyText, for_each_batch};
pub use stream::OwnHashes;
use stream::StreamedKeys;

/// Requests kept in order for the latency cases.
const SAMPLE: usize = 1 << 16;

/// Why the keys of a case could not be had.
#[derive(Debug, Error)]
pub enum KeyError {
    /// A workload that cannot be made for these keys.
    #[error("workload `{spec}`: {source}")]
    Workload {
        /// Its spec.
        spec: String,
        /// Why.
        source: ParameterError,
    },
}

/// The distinct keys of a run.
#[derive(Debug)]
pub enum Population {
    /// Ids 0, 1, 2, …
    Generated(GeneratedKeys),
    /// The keys of a file, read once.
    File(FileKeys),
}

/// Keys that are made from ids; a further repetition goes on where the one before ended.
#[derive(Clone, Debug)]
pub struct GeneratedKeys {
    /// Keys in a repetition.
    count: u64,
    /// Their bytes.
    format: KeyFormat,
    /// Their hash.
    hasher: SeededHasher,
    /// Whether their bytes are kept: see [`Plan::keeps_bytes`].
    keeping: bool,
}

impl Population {
    /// The keys that a plan asks for; a file is read here, and only here.
    ///
    /// # Errors
    ///
    /// A key format that is none, a file that cannot be read or holds no key.
    pub fn read(plan: &Plan, quiet: bool) -> Result<Self, Failure> {
        match &plan.keys {
            CountOrText::Count(count) => Ok(Self::Generated(GeneratedKeys::new(plan, *count)?)),
            CountOrText::Text(path) => FileKeys::read(path, plan, quiet).map(Self::File),
        }
    }

    /// Distinct keys of a repetition.
    #[must_use]
    pub fn key_count(&self) -> u64 {
        match self {
            Self::Generated(keys) => keys.count,
            Self::File(keys) => keys.keys.len() as u64,
        }
    }

    /// Requests of a repetition under a workload.
    #[must_use]
    pub fn request_count(&self, plan: &Plan, workload: &Spec) -> u64 {
        match self {
            Self::File(keys) if workload.name == "file" => keys.keys.requests(),
            _ => plan.requests.unwrap_or(self.key_count()),
        }
    }

    /// What decides the keys, as text, for `run_id`.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        match self {
            Self::Generated(keys) => keys.count.to_string(),
            Self::File(keys) => keys.label.clone(),
        }
    }

    /// The `workload` column: the spec, and the file where the keys come from one.
    #[must_use]
    pub fn workload_label(&self, workload: &Spec) -> String {
        match self {
            Self::Generated(_) => workload.to_string(),
            Self::File(keys) if workload.name == "file" => keys.label.clone(),
            Self::File(keys) => format!("{workload} over {}", keys.label),
        }
    }

    /// Bytes that the population holds already.
    #[must_use]
    pub fn bytes_held(&self) -> u64 {
        match self {
            Self::Generated(_) => 0,
            Self::File(keys) => keys.keys.memory_bytes(),
        }
    }

    /// The keys of a group, hashed, with its requests.
    ///
    /// # Errors
    ///
    /// A workload whose parameters do not go with these keys.
    pub fn prepare(&self, plan: &Plan, group: Group<'_>) -> Result<Prepared, KeyError> {
        let row = registry::workload(group.workload.name);
        let seed = Seed(plan.seed);
        let draw = Draw {
            keys: self.key_count(),
            requests: self.request_count(plan, group.workload),
            requests_seed: seed.stream(group.rep, Stream::Requests),
            permutation_seed: seed.stream(group.rep, Stream::Permutation),
        };
        let workload = match row.make {
            Some(make) => Some(
                make(group.workload, draw)
                    .map_err(|source| KeyError::Workload { spec: group.workload.to_string(), source })?,
            ),
            None => None,
        };
        Ok(match (self, workload) {
            (Self::Generated(keys), Some(workload)) if keys.count > COUNTED_KEYS => {
                let stream =
                    StreamedKeys { keys: keys.clone(), first: u64::from(group.rep) * keys.count, workload };
                let sample = stream.sample();
                Prepared { stream: Box::new(stream), sample }
            }
            (Self::Generated(keys), Some(workload)) => {
                Prepared::counted(keys.batch(u64::from(group.rep) * keys.count, keys.count), &*workload)
            }
            (Self::File(keys), Some(workload)) => Prepared::counted(keys.batch(), &*workload),
            (Self::File(keys), None) => Prepared {
                stream: Box::new(keys.batch().counted(keys.keys.counts().to_vec())),
                sample: keys.sample.clone(),
            },
            (Self::Generated(_), None) => unreachable!("a plan refuses the workload `file` without a file"),
        })
    }
}

/// The keys of a group.
pub struct Prepared {
    stream: Box<dyn KeyStream>,
    sample: KeyBatch,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("keys", &self.stream.key_count()).finish()
    }
}

impl Prepared {
    /// Counts the requests of a workload for these keys.
    fn counted(keys: KeyBatch, workload: &dyn Workload) -> Self {
        let mut counts = vec![0u64; keys.len()];
        let mut sample = keys.like();
        let mut block = Vec::with_capacity(BLOCK);
        for index in 0..workload.block_count() {
            workload.fill_block(index, &mut block);
            for key in &block {
                counts[*key as usize] += 1;
            }
            let wanted = (SAMPLE - sample.len()).min(block.len());
            block[..wanted].iter().for_each(|key| sample.push_from(&keys, *key as usize));
        }
        Self { stream: Box::new(keys.counted(counts)), sample }
    }

    /// The keys and requests.
    #[must_use]
    pub fn stream(&self) -> &dyn KeyStream {
        &*self.stream
    }

    /// The first requests in their order, hashed by the run or by a system's own hasher; never empty if there
    /// are requests.
    ///
    /// # Panics
    ///
    /// With a hasher, if the plan [keeps](Plan::keeps_bytes) no bytes.
    #[must_use]
    pub fn request_sample(&self, own: Option<&dyn KeyHasher>) -> Cow<'_, [u64]> {
        match own {
            None => Cow::Borrowed(self.sample.hashes()),
            Some(hasher) => {
                Cow::Owned((0..self.sample.len()).map(|at| hasher.hash_key(self.sample.key(at))).collect())
            }
        }
    }
}

impl GeneratedKeys {
    /// The generated keys that a plan asks for.
    ///
    /// # Errors
    ///
    /// A key format that is none.
    pub fn new(plan: &Plan, count: u64) -> Result<Self, Failure> {
        let format = plan.key_format.parse::<KeyFormat>().map_err(Failure::input)?;
        let hasher = registry::key_hasher(&plan.key_hash);
        Ok(Self { count, format, hasher, keeping: plan.keeps_bytes() })
    }

    /// `count` keys from id `first` on.
    fn batch(&self, first: u64, count: u64) -> KeyBatch {
        let mut batch = KeyBatch::new(self.keeping, count as usize);
        self.append(first, count, &mut batch);
        batch
    }

    /// Appends `count` keys from id `first` on.
    fn append(&self, first: u64, count: u64, batch: &mut KeyBatch) {
        let ids = first..first + count;
        if self.format == KeyFormat::Binary {
            return ids
                .map(u64::to_le_bytes)
                .for_each(|bytes| batch.push(&bytes, self.hasher.hash_key(&bytes)));
        }
        let mut bytes = Vec::new();
        for id in ids {
            bytes.clear();
            self.format.write(id, &mut bytes);
            batch.push(&bytes, self.hasher.hash_key(&bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chash_metrics::keys::Counts;
    use chash_workloads::Sequential;

    /// Every block of a stream that is generated again has the bytes of its keys, and a system's own hashes.
    #[test]
    fn streams_have_bytes_and_own_hashes() {
        let flags = crate::plan::Patch {
            algorithms: Some(vec!["compat.nginx".to_owned()]),
            key_format: Some("product:{}".to_owned()),
            ..crate::plan::Patch::default()
        };
        let plan = Plan::resolve(crate::plan::Patch::default(), flags).unwrap();
        assert!(plan.keeps_bytes());
        let (count, first) = (BLOCK as u64 + 3, 5);
        let keys = GeneratedKeys::new(&plan, count).unwrap();
        let workload = Box::new(Sequential::new(count, 2 * count).unwrap());
        let stream = StreamedKeys { keys, first, workload };
        let own = registry::own_hasher(&plan.algorithms[0]).unwrap();
        let (mut distinct, mut requests) = (0, 0);
        OwnHashes::new(&stream, &*own).for_each_block(&mut |block| {
            let seen = if matches!(block.counts, Counts::Requests) { &mut requests } else { &mut distinct };
            for (at, hash) in block.hashes.iter().enumerate() {
                let key = format!("product:{}", first + *seen % count);
                assert_eq!(block.bytes.unwrap().get(at), key.as_bytes());
                assert_eq!(*hash, own.hash_key(key.as_bytes()));
                *seen += 1;
            }
        });
        assert_eq!((distinct, requests), (count, 2 * count));
    }
}
