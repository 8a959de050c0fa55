//! What reading a file will take, before it is read.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::contents::Contents;
use super::source::unreadable;
use super::{DistinctKeys, InputError, Source};

/// Bytes after which the rest is extrapolated: decompressed, and as they are in the file.
const SAMPLE_BYTES: u64 = 16 << 20;
const SAMPLE_RAW_BYTES: u64 = 1 << 20;

/// What is probably in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Estimate {
    /// Lines, the header of a table included.
    pub records: u64,
    /// Bytes, decompressed.
    pub bytes: u64,
    /// Whether the file was short enough to be read to its end: the numbers are then exact.
    pub exact: bool,
}

impl Estimate {
    /// The memory that [`DistinctKeys`] of this file will take at most, if all keys differ: without and with
    /// their bytes.
    #[must_use]
    pub fn distinct_keys_bytes(&self, keeping_bytes: bool) -> u64 {
        let index = self.records.saturating_mul(DistinctKeys::BYTES_PER_KEY);
        let kept = self.records.saturating_mul(8).saturating_add(self.bytes);
        if keeping_bytes { index.saturating_add(kept / 4 * 5) } else { index }
    }
}

/// Estimates the contents of a file from its size and its beginning: its first mebibyte, or what of it decompresses to
/// 16 MiB. `None` for what is not a file with a size, such as a pipe, of which nothing is read.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use chash_workloads::input::estimate;
///
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("keys.txt");
/// std::fs::write(&path, "apple\npear\n")?;
/// let estimate = estimate(&path)?.expect("a file has a size");
/// assert_eq!((estimate.records, estimate.bytes, estimate.exact), (2, 11, true));
/// assert_eq!(estimate.distinct_keys_bytes(false), 2 * 56);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// If the file cannot be read, or is damaged in its beginning.
pub fn estimate(path: &Path) -> Result<Option<Estimate>, InputError> {
    let name = path.display().to_string();
    let cannot = |error: &io::Error| InputError { input: name.clone(), problem: unreadable(error) };
    let metadata = fs::metadata(path).map_err(|error| cannot(&error))?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let file = File::open(path).map_err(|error| cannot(&error))?;
    let raw_bytes = Arc::new(AtomicU64::new(0));
    let counted = Counted { file, bytes: Arc::clone(&raw_bytes) };
    let mut contents = Contents::of(Source::from_reader(name.clone(), counted))?;

    let (mut newlines, mut bytes, mut last) = (0u64, 0u64, b'\n');
    let mut buffer = vec![0; 1 << 14];
    let exact = loop {
        let read = match contents.read(&mut buffer) {
            Ok(0) => break true,
            Ok(read) => read,
            Err(error) => return Err(contents.read_error(error, 0)),
        };
        newlines += buffer[..read].iter().filter(|&&byte| byte == b'\n').count() as u64;
        bytes += read as u64;
        last = buffer[read - 1];
        if bytes >= SAMPLE_BYTES || raw_bytes.load(Ordering::Relaxed) >= SAMPLE_RAW_BYTES {
            break false;
        }
    };
    if exact {
        return Ok(Some(Estimate { records: newlines + u64::from(last != b'\n'), bytes, exact }));
    }
    let (read, whole) = (raw_bytes.load(Ordering::Relaxed), metadata.len());
    let scaled = |part: u64| (u128::from(part) * u128::from(whole) / u128::from(read)) as u64;
    // A sample in one line says nothing of the others.
    Ok(Some(Estimate { records: scaled(newlines).max(1), bytes: scaled(bytes), exact }))
}

/// Counts what is read of a compressed file, in small portions: what a decompressor has read and not yet used
/// makes the estimate too small.
struct Counted {
    file: File,
    bytes: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(1 << 12);
        let read = self.file.read(&mut buffer[..room])?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
