//! Keys from a file or from standard input.

use std::path::Path;

use chash_core::KeyHasher;
use chash_workloads::input::{self, DistinctKeys, DistinctKeysError, Encoding, Layout, ReadReport, Source};

use super::{KeyBatch, SAMPLE};
use crate::exit::Failure;
use crate::plan::Plan;
use crate::registry;
use crate::run::machine;

/// The distinct keys of a file in order of first appearance.
#[derive(Debug)]
pub struct FileKeys {
    pub(super) keys: DistinctKeys,
    /// The first requests, in file order.
    pub(super) sample: KeyBatch,
    /// The file's base name and the hash of its content.
    pub(super) label: String,
}

impl FileKeys {
    /// Reads a file, or standard input for `-`.
    pub(super) fn read(path: &str, plan: &Plan, quiet: bool) -> Result<Self, Failure> {
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
    pub(super) fn batch(&self) -> KeyBatch {
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
pub(super) fn read_file(
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
