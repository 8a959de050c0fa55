//! Keys one after the other with their bytes, as `place` reads and writes them.

use chash_core::KeyHasher;

use super::file::read_file;
use super::{GeneratedKeys, KeyBatch};
use crate::exit::Failure;
use crate::plan::{CountOrText, Plan};

/// Passes the keys that a plan asks for in their order with their bytes, hashed by `hasher`, repeated ones as often
/// as they stand there, in constant memory.
///
/// # Errors
///
/// As [`Population::read`](super::Population::read), and the first error of `visit`.
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
