//! The keys of an input, one after the other.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::mem;

use super::contents::{BUFFER, Contents};
use super::{ContentHash, InputError, Problem, Source, hex};

/// The most bytes of a line, or of a key in a table: 64 MiB. What is longer is no list of keys, and would have to be
/// held in memory.
pub const MAX_RECORD_BYTES: usize = 64 << 20;

/// How the bytes of a key are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// As they are.
    #[default]
    Raw,
    /// Two hexadecimal digits a byte, upper or lower case.
    Hex,
}

/// How keys are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// One key a line, each counting once.
    ///
    /// Lines end with `\n`; nothing else is removed. A `\n` at the end of the input ends the last key and begins no
    /// other; an empty line is an empty key.
    #[default]
    Lines,
    /// A CSV table (RFC 4180) with the header `key,count`.
    ///
    /// Counts are whole numbers; 0 is a key that exists and is not asked for. A key may be in several rows, whose
    /// counts add up. A key with a comma, a quote or a line end is quoted. Lines may end with `\r\n`; a line without
    /// any character is skipped, and the empty key is written `"",1` or `,1`.
    FrequencyTable,
}

/// Is called with the bytes and the count of a key; an error ends the reading.
pub type Visitor<'a, E> = dyn FnMut(&[u8], u64) -> Result<(), E> + 'a;

/// What was in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadReport {
    /// Lines, or rows of the table.
    pub records: u64,
    /// The counts of all records together; for lines, their number.
    pub requests: u64,
    /// Keys whose last byte is `\r`: usually a file with foreign line ends. Not counted where keys are hexadecimal.
    pub keys_ending_in_cr: u64,
    /// Bytes, decompressed.
    pub bytes: u64,
    /// The hash of the decompressed bytes.
    pub content_hash: ContentHash,
}

/// Calls `visit` with the bytes and the count of each key, in the order of the input.
///
/// Takes constant memory: two buffers, the longest key, and what the decompressor needs.
///
/// ```
/// use chash_workloads::input::{Encoding, InputError, Layout, Source, for_each_key};
///
/// let source = Source::from_reader("three keys", &b"apple\n\npear\n"[..]);
/// let mut keys = Vec::new();
/// let report = for_each_key(source, Layout::Lines, Encoding::Raw, &mut |key, count| {
///     keys.push((key.to_vec(), count));
///     Ok::<(), InputError>(())
/// })?;
/// assert_eq!(keys, [(b"apple".to_vec(), 1), (b"".to_vec(), 1), (b"pear".to_vec(), 1)]);
/// assert_eq!((report.records, report.bytes), (3, 12));
/// # Ok::<(), InputError>(())
/// ```
///
/// # Errors
///
/// What `visit` returns, which ends the reading; and an [`InputError`] where the input cannot be read to its end
/// or is not as the layout and the encoding demand. Keys before the error have been visited; a line that is cut
/// off by the end of a truncated input has not.
pub fn for_each_key<E: From<InputError>>(
    source: Source,
    layout: Layout,
    encoding: Encoding,
    visit: &mut Visitor<'_, E>,
) -> Result<ReadReport, E> {
    let contents = Contents::of(source)?;
    let records =
        Records { encoding, decoded: Vec::new(), records: 0, requests: 0, keys_ending_in_cr: 0, visit };
    match layout {
        Layout::Lines => lines(contents, records),
        Layout::FrequencyTable => frequency_table(contents, records),
    }
}

/// The number of decompressed bytes in an input, and their hash.
///
/// # Errors
///
/// If the input cannot be read to its end.
pub fn content_hash(source: Source) -> Result<(u64, ContentHash), InputError> {
    let mut contents = Contents::of(source)?;
    match io::copy(&mut contents, &mut io::sink()) {
        Ok(_) => Ok(contents.summary()),
        Err(error) => Err(contents.read_error(error, 0)),
    }
}

/// What happens to each record, whatever its layout.
struct Records<'a, E> {
    encoding: Encoding,
    decoded: Vec<u8>,
    records: u64,
    requests: u64,
    keys_ending_in_cr: u64,
    visit: &'a mut Visitor<'a, E>,
}

impl<E: From<InputError>> Records<'_, E> {
    fn take(&mut self, key: &[u8], count: u64, line: u64, contents: &Contents) -> Result<(), E> {
        let refuse = |problem| Err(contents.error(problem).into());
        if key.len() > MAX_RECORD_BYTES {
            return refuse(Problem::TooLong { line });
        }
        self.records += 1;
        match self.requests.checked_add(count) {
            Some(requests) => self.requests = requests,
            None => return refuse(Problem::Total { line }),
        }
        match self.encoding {
            Encoding::Raw => {
                self.keys_ending_in_cr += u64::from(key.ends_with(b"\r"));
                (self.visit)(key, count)
            }
            Encoding::Hex => {
                if let Err(problem) = hex::decode(key, line, &mut self.decoded) {
                    return refuse(problem);
                }
                (self.visit)(&self.decoded, count)
            }
        }
    }

    fn report(&self, contents: &Contents) -> ReadReport {
        let (bytes, content_hash) = contents.summary();
        ReadReport {
            records: self.records,
            requests: self.requests,
            keys_ending_in_cr: self.keys_ending_in_cr,
            bytes,
            content_hash,
        }
    }
}

fn lines<E: From<InputError>>(contents: Contents, mut records: Records<'_, E>) -> Result<ReadReport, E> {
    let mut reader = BufReader::with_capacity(BUFFER, contents);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        // One byte more than a key may have: its line end, or one too many.
        let read = reader.by_ref().take(MAX_RECORD_BYTES as u64 + 1).read_until(b'\n', &mut line);
        if read.map_err(|error| reader.get_ref().read_error(error, number))? == 0 {
            break;
        }
        let key = line.strip_suffix(b"\n").unwrap_or(&line);
        records.take(key, 1, number, reader.get_ref())?;
    }
    Ok(records.report(reader.get_ref()))
}

fn frequency_table<E: From<InputError>>(
    contents: Contents,
    mut records: Records<'_, E>,
) -> Result<ReadReport, E> {
    // A row has a key, a count and what is read ahead: anything longer is stopped before it fills the memory.
    let longest = MAX_RECORD_BYTES + 2 * BUFFER;
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(BUFFER)
        .from_reader(contents);
    let mut row = csv::ByteRecord::new();
    let mut before_header = true;
    loop {
        reader.get_mut().allow(longest);
        let line = reader.position().line();
        let more = match reader.read_byte_record(&mut row) {
            Ok(more) => more,
            Err(error) => return Err(reader.get_ref().read_error(io_error(error), line).into()),
        };
        let line = row.position().map_or(line, csv::Position::line);
        let contents = reader.get_ref();
        let refuse = |problem| Err(contents.error(problem).into());
        if mem::take(&mut before_header) {
            if row != ["key", "count"][..] {
                let fields: Vec<_> = row.iter().map(String::from_utf8_lossy).collect();
                return refuse(Problem::Header { found: fields.join(",") });
            }
        } else if !more {
            break;
        } else if let [key, count] = row.iter().collect::<Vec<_>>()[..] {
            match parse_count(count) {
                Some(count) => records.take(key, count, line, contents)?,
                None => return refuse(Problem::Count { line, found: String::from_utf8_lossy(count).into() }),
            }
        } else {
            return refuse(Problem::Fields { line, fields: row.len() as u64 });
        }
    }
    Ok(records.report(reader.get_ref()))
}

/// Reading bytes, of which any number may be in a row, fails for no other reason.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Decimal digits and nothing else: no sign, no space.
fn parse_count(text: &[u8]) -> Option<u64> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(text).ok()?.parse().ok()
}
