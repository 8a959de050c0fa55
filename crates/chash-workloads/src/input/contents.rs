//! What is inside an input: decompressed, counted and hashed on the way.

use std::error::Error;
use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use liblzma::bufread::XzDecoder;
use xxhash_rust::xxh3::Xxh3;

use super::source::unreadable;
use super::{InputError, Problem, Source};

/// Bytes read at a time.
pub(super) const BUFFER: usize = 1 << 16;

/// What an input is compressed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// gzip (RFC 1952): begins with 1f 8b.
    Gzip,
    /// zstandard (RFC 8878): begins with 28 b5 2f fd, or with a skippable frame (50 to 5f, 2a 4d 18).
    Zstd,
    /// xz: begins with fd, `7zXZ`, 00.
    Xz,
}

impl Compression {
    /// The bytes that decide.
    const MAGIC_BYTES: u64 = 6;

    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0x00, ..] => Some(Self::Xz),
            _ => None,
        }
    }

    /// The decompressed data of all members.
    fn decompress<R: BufRead + Send + 'static>(self, raw: R) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(raw)),
            Self::Zstd => Box::new(zstd::Decoder::with_buffer(raw)?),
            Self::Xz => Box::new(XzDecoder::new_multi_decoder(raw)),
        })
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
        })
    }
}

/// A hash of what is in an input, decompressed: the 128 bits of XXH3. Shown as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(pub u128);

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The decompressed contents of a source.
pub(super) struct Contents {
    name: String,
    compression: Option<Compression>,
    reader: Box<dyn Read + Send>,
    hash: Xxh3,
    bytes: u64,
    /// Bytes that may be read before a record must have ended.
    budget: usize,
}

impl Contents {
    /// Looks at the first bytes.
    pub(super) fn of(source: Source) -> Result<Self, InputError> {
        let Source { name, reader } = source;
        let mut raw = Raw(reader);
        let mut head = Vec::new();
        let opened = raw.by_ref().take(Compression::MAGIC_BYTES).read_to_end(&mut head).and_then(|_| {
            let compression = Compression::of(&head);
            let raw = BufReader::with_capacity(BUFFER, Cursor::new(head).chain(raw));
            let reader = match compression {
                Some(compression) => compression.decompress(raw)?,
                None => Box::new(raw),
            };
            Ok((compression, reader))
        });
        match opened {
            Ok((compression, reader)) => {
                Ok(Self { name, compression, reader, hash: Xxh3::new(), bytes: 0, budget: usize::MAX })
            }
            Err(error) => Err(InputError { input: name, problem: problem(error, None, 0) }),
        }
    }

    /// Lets the next record be read, which has at most this many bytes with all that is read ahead.
    pub(super) fn allow(&mut self, bytes: usize) {
        self.budget = bytes;
    }

    /// The number of decompressed bytes read so far, and their hash.
    pub(super) fn summary(&self) -> (u64, ContentHash) {
        (self.bytes, ContentHash(self.hash.digest128()))
    }

    /// An error about this input.
    pub(super) fn error(&self, problem: Problem) -> InputError {
        InputError { input: self.name.clone(), problem }
    }

    /// An error that came from [`read`](Read::read), while reading the record that begins at `line`.
    pub(super) fn read_error(&self, error: io::Error, line: u64) -> InputError {
        self.error(problem(error, self.compression, line))
    }
}

impl Read for Contents {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.budget == 0 {
            return Err(io::Error::other(BudgetSpent));
        }
        let room = buffer.len().min(self.budget);
        let read = self.reader.read(&mut buffer[..room])?;
        self.hash.update(&buffer[..read]);
        self.bytes += read as u64;
        self.budget -= read;
        Ok(read)
    }
}

/// Marks the errors of the system, which the decompressors hand through, as such, and tries again after an
/// interruption, which not all of them do.
struct Raw(Box<dyn Read + Send>);

impl Read for Raw {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|error| io::Error::new(error.kind(), RawError(error))),
            }
        }
    }
}

#[derive(Debug)]
struct RawError(io::Error);

impl fmt::Display for RawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for RawError {}

#[derive(Debug)]
struct BudgetSpent;

impl fmt::Display for BudgetSpent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the record is too long")
    }
}

impl Error for BudgetSpent {}

fn problem(error: io::Error, compression: Option<Compression>, line: u64) -> Problem {
    let inner = error.get_ref();
    if let Some(RawError(raw)) = inner.and_then(|inner| inner.downcast_ref()) {
        return unreadable(raw);
    }
    if inner.is_some_and(<dyn Error + Send + Sync>::is::<BudgetSpent>) {
        return Problem::TooLong { line };
    }
    match compression {
        Some(format) if error.kind() == io::ErrorKind::UnexpectedEof => Problem::Truncated { format },
        Some(format) => Problem::Corrupt { format, message: error.to_string() },
        None => unreadable(&error),
    }
}
