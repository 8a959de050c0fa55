//! From `--keys` to the hashed, counted keys that every placement sees.

mod batch;

use std::borrow::Cow;
use std::path::Path;

use chash_core::KeyHasher;
use chash_hash::SeededHasher;
use chash_metrics::keys::{Counts, KeyBlock, KeyStream};
use chash_workloads::input::{self, DistinctKeys, DistinctKeysError, Encoding, Layout, ReadReport, Source};
use chash_workloads::keys::KeyFormat;
use chash_workloads::seed::{Seed, Stream};
use chash_workloads::{BLOCK, ParameterError, Workload};
use thiserror::Error;

use crate::exit::Failure;
use crate::plan::{CountOrText, Plan};
use crate::registry::{self, Draw};
use crate::run::cases::Group;
use crate::run::estimate::COUNTED_KEYS;
use crate::run::machine;
use crate::spec::Spec;

pub use batch::KeyBatch;

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

/// The distinct keys of a file in order of first appearance.
#[derive(Debug)]
pub struct FileKeys {
    keys: DistinctKeys,
    /// The first requests, in file order.
    sample: KeyBatch,
    /// The file's base name and the hash of its content.
    label: String,
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

impl FileKeys {
    /// Reads a file, or standard input for `-`.
    fn read(path: &str, plan: &Plan, quiet: bool) -> Result<Self, Failure> {
        let keeping = plan.keeps_bytes();
        refuse_what_does_not_fit(path, keeping)?;
        let hasher = registry::key_hasher(&plan.key_hash);
        let mut keys = DistinctKeys::new();
        if keeping {
            keys = keys.keeping_bytes();
        }
        let mut sample = KeyBatch::new(keeping, 0);
        let report = read_file(path, plan, quiet, &mut |key, count| {
            let number = keys.insert(key, count, || hasher.hash_key(key));
            let number =
                number.map_err(|error: DistinctKeysError| Failure::Input(format!("{path}: {error}")))?;
            let copies = count.min((SAMPLE - sample.len()) as u64) as usize;
            (0..copies).for_each(|_| sample.push(key, keys.hashes()[number as usize]));
            Ok(())
        })?;
        if keys.is_empty() {
            return Err(Failure::Input(format!("{path}: no key in it; one key a line is needed")));
        }
        let base = if path == "-" {
            "stdin".into()
        } else {
            Path::new(path).file_name().unwrap_or_default().to_string_lossy()
        };
        Ok(Self { keys, sample, label: format!("{base}@{}", report.content_hash) })
    }

    /// All distinct keys.
    fn batch(&self) -> KeyBatch {
        let hashes = self.keys.hashes();
        let mut batch = KeyBatch::new(self.sample.is_keeping(), hashes.len());
        for (number, hash) in hashes.iter().enumerate() {
            batch.push(self.keys.bytes(number).unwrap_or_default(), *hash);
        }
        batch
    }
}

/// Refuses a file whose keys might not fit in memory.
fn refuse_what_does_not_fit(path: &str, keeping: bool) -> Result<(), Failure> {
    let estimate = if path == "-" { None } else { input::estimate(Path::new(path))? };
    let needed = estimate.map_or(0, |file| file.distinct_keys_bytes(keeping));
    let advice = "count its keys into a table `key,count`, or take a part of it";
    machine::require_bytes(needed, &format!("{path} with its distinct keys"), advice).map_err(Failure::Input)
}

/// Passes the records of a key file, or of standard input for `-`, and warns of what is probably not meant.
fn read_file(
    path: &str,
    plan: &Plan,
    quiet: bool,
    visit: &mut dyn FnMut(&[u8], u64) -> Result<(), Failure>,
) -> Result<ReadReport, Failure> {
    let encoding = if plan.key_encoding == "hex" { Encoding::Hex } else { Encoding::Raw };
    let layout = match plan.key_layout.as_str() {
        "lines" => Layout::Lines,
        "counts" => Layout::FrequencyTable,
        _ if path != "-" && begins_like_a_table(path)? => Layout::FrequencyTable,
        _ => Layout::Lines,
    };
    let source = if path == "-" { Source::stdin() } else { Source::open(Path::new(path))? };
    let report = input::for_each_key(source, layout, encoding, visit)?;
    if report.keys_ending_in_cr > 0 && !quiet {
        eprintln!(
            "chash: {path}: {} keys end in a carriage return, which is part of the key; \
             was the file written with \\r\\n line ends?",
            report.keys_ending_in_cr
        );
    }
    Ok(report)
}

/// Whether the first line of a file is exactly the header of a frequency table.
fn begins_like_a_table(path: &str) -> Result<bool, Failure> {
    /// Why reading stopped after the first line.
    enum Stop {
        FirstLine(bool),
        Failure(Failure),
    }
    impl From<input::InputError> for Stop {
        fn from(error: input::InputError) -> Self {
            Self::Failure(error.into())
        }
    }
    let source = Source::open(Path::new(path))?;
    let first = input::for_each_key(source, Layout::Lines, Encoding::Raw, &mut |line, _| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Err(Stop::FirstLine(line == b"key,count"))
    });
    match first {
        Err(Stop::FirstLine(is_header)) => Ok(is_header),
        Err(Stop::Failure(failure)) => Err(failure),
        Ok(_) => Ok(false),
    }
}

/// A stream that is generated again at every reading: any number of keys and requests in constant memory.
#[derive(Debug)]
struct StreamedKeys {
    keys: GeneratedKeys,
    /// The id of the first key.
    first: u64,
    workload: Box<dyn Workload>,
}

impl StreamedKeys {
    fn sample(&self) -> KeyBatch {
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

/// Passes the keys that a plan asks for in their order with their bytes, hashed by `hasher`, repeated ones as often
/// as they stand there, in constant memory.
///
/// # Errors
///
/// As [`Population::read`], and the first error of `visit`.
pub fn for_each_batch(
    plan: &Plan,
    quiet: bool,
    hasher: &dyn KeyHasher,
    visit: &mut dyn FnMut(&KeyBatch) -> Result<(), Failure>,
) -> Result<(), Failure> {
    /// Keys in a batch.
    const SIZE: usize = 4096;
    let mut batch = KeyBatch::new(true, SIZE);
    let mut add = |key: &[u8]| {
        batch.push(key, hasher.hash_key(key));
        if batch.len() < SIZE {
            return Ok(());
        }
        let visited = visit(&batch);
        batch.clear();
        visited
    };
    match &plan.keys {
        CountOrText::Count(count) => {
            let keys = GeneratedKeys::new(plan, *count)?;
            let mut bytes = Vec::new();
            for id in 0..*count {
                bytes.clear();
                keys.format.write(id, &mut bytes);
                add(&bytes)?;
            }
        }
        CountOrText::Text(path) => {
            read_file(path, plan, quiet, &mut |key, _| add(key))?;
        }
    }
    if batch.is_empty() { Ok(()) } else { visit(&batch) }
}

/// How keys are written in a CSV: as raw bytes, or as hex if they were read as hex or are binary ids.
#[derive(Debug)]
pub struct KeyText {
    hex: bool,
    text: String,
}

impl KeyText {
    /// For the keys of this plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let binary = matches!(plan.keys, CountOrText::Count(_)) && plan.key_format == "binary";
        Self { hex: binary || plan.key_encoding == "hex", text: String::new() }
    }

    /// A key as it is written.
    pub fn of<'a>(&'a mut self, key: &'a [u8]) -> &'a [u8] {
        if !self.hex {
            return key;
        }
        self.text.clear();
        for byte in key {
            for digit in [byte >> 4, byte & 15] {
                self.text.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
            }
        }
        self.text.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
