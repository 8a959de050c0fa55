//! Reading keys from files.
//!
//! Keys are bytes. An input is a list of keys, one a line, or a table of keys with counts; it may be compressed with
//! gzip, zstandard or xz, in any number of members one after the other, which is seen from its first bytes and
//! not from its name. It is read once, in order, in constant memory ([`for_each_key`]); the distinct keys with
//! their counts are collected, where needed, in [`DistinctKeys`].

mod contents;
mod distinct;
mod error;
mod estimate;
mod hex;
mod read;
mod source;

pub use contents::{Compression, ContentHash};
pub use distinct::{DistinctKeys, DistinctKeysError};
pub use error::{InputError, Problem};
pub use estimate::{Estimate, estimate};
pub use read::{Encoding, Layout, MAX_RECORD_BYTES, ReadReport, Visitor, content_hash, for_each_key};
pub use source::Source;
