//! What can be wrong with an input.

use std::io;

use thiserror::Error;

use super::{Compression, MAX_RECORD_BYTES};

/// An input could not be read to its end: which one, and why.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{input}: {problem}")]
pub struct InputError {
    /// The path, or what else the input is called.
    pub input: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with an input. Lines are counted from 1, and so are columns, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The system does not open or read it.
    #[error("cannot be read: {message}")]
    Unreadable {
        /// The system's error.
        kind: io::ErrorKind,
        /// Its text.
        message: String,
    },
    /// The compressed data ends in the middle of a member.
    #[error("the {format} data ends too early: the file is cut off")]
    Truncated {
        /// What the input is compressed with, by its first bytes.
        format: Compression,
    },
    /// The compressed data does not decompress, or something else follows it.
    #[error("the {format} data is damaged, or followed by something else: {message}")]
    Corrupt {
        /// What the input is compressed with, by its first bytes.
        format: Compression,
        /// What the decompressor says.
        message: String,
    },
    /// A line or record is longer than [`MAX_RECORD_BYTES`].
    #[error(
        "line {line}: a key may have at most {MAX_RECORD_BYTES} bytes (is a line end or a closing quote missing?)"
    )]
    TooLong {
        /// The line where it begins.
        line: u64,
    },
    /// A character of a hexadecimal key is no digit.
    #[error("line {line}, column {column}: {:?} is not a hexadecimal digit", char::from(*byte))]
    NotHex {
        /// The line.
        line: u64,
        /// The byte's place in the key.
        column: u64,
        /// The byte.
        byte: u8,
    },
    /// A hexadecimal key ends in the middle of a byte.
    #[error("line {line}: a hexadecimal key must have an even number of digits, not {digits}")]
    OddHex {
        /// The line.
        line: u64,
        /// The number of digits.
        digits: u64,
    },
    /// A frequency table does not begin with its header.
    #[error("line 1: the header of a frequency table must be \"key,count\", not {found:?}")]
    Header {
        /// The first line, its fields joined by commas.
        found: String,
    },
    /// A row of a frequency table does not have two fields.
    #[error(
        "line {line}: a row must have two fields, key and count, not {fields} (is a comma in a key unquoted?)"
    )]
    Fields {
        /// The line where the row begins.
        line: u64,
        /// The number of fields.
        fields: u64,
    },
    /// A count is no number.
    #[error("line {line}: a count must be a whole number from 0 to {}, not {found:?}", u64::MAX)]
    Count {
        /// The line where the row begins.
        line: u64,
        /// What is there.
        found: String,
    },
    /// The counts add up to more than 2^64 - 1.
    #[error("line {line}: the counts up to here add up to more than {}", u64::MAX)]
    Total {
        /// The line where the row begins that is too much.
        line: u64,
    },
}
