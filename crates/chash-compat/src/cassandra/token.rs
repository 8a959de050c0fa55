//! Tokens: what the two partitioners make of a partition key.

use crate::hash::digest::md5;
use crate::hash::murmur::{Tail, murmur3_x64_128};

/// The partitioner of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Partitioner {
    /// `Murmur3Partitioner`: signed 64-bit tokens.
    Murmur3,
    /// `RandomPartitioner`: tokens from 0 to 2^127.
    Random,
}

impl Partitioner {
    /// The position of a key's token: its 64 bits, or [`position`].
    pub(super) fn bits_of_key(self, key: &[u8]) -> u128 {
        match self {
            Self::Murmur3 => u128::from(murmur3_token(key).cast_unsigned()),
            Self::Random => position(random_token(key)),
        }
    }

    /// The position of a token written in decimal.
    pub(super) fn bits_of_token(self, text: &str) -> Option<u128> {
        match self {
            Self::Murmur3 => text.parse().ok().map(|token: i64| u128::from(token.cast_unsigned())),
            Self::Random => text.parse().ok().filter(|token| *token <= MAX_RANDOM_TOKEN).map(position),
        }
    }
}

/// The token of a partition key under Murmur3Partitioner; an empty key has token 0, as the drivers have it.
///
/// ```
/// assert_eq!(chash_compat::cassandra::murmur3_token(b"product:0"), -3214944523459067885);
/// ```
#[must_use]
pub fn murmur3_token(key: &[u8]) -> i64 {
    // The least value is reserved for the start of the ring.
    match murmur3_x64_128(key, 0, Tail::SignExtended).0.cast_signed() {
        i64::MIN => i64::MAX,
        token => token,
    }
}

/// The token of a partition key under RandomPartitioner, at most 2^127.
///
/// ```
/// let token = chash_compat::cassandra::random_token(b"product:0");
/// assert_eq!(token, 78598513136398022490462112344277464817);
/// ```
#[must_use]
pub fn random_token(key: &[u8]) -> u128 {
    i128::from_be_bytes(md5(key)).unsigned_abs()
}

const MAX_RANDOM_TOKEN: u128 = 1 << 127;

/// The place of a random token on a ring of 128 bits: shifted left by one, so that the ring is all of them,
/// and the greatest token, which does not fit then, last.
pub(super) fn position(token: u128) -> u128 {
    if token == MAX_RANDOM_TOKEN { u128::MAX } else { token << 1 }
}

/// The bytes of a partition key of several columns: for each its length in two big-endian bytes, the
/// bytes and a zero byte; of one column, the bytes alone.
///
/// # Panics
///
/// If a column has more than 65535 bytes, which Cassandra does not accept.
#[must_use]
pub fn composite_key(columns: &[&[u8]]) -> Vec<u8> {
    if let [column] = columns {
        return column.to_vec();
    }
    let mut key = Vec::new();
    for column in columns {
        let length = u16::try_from(column.len()).expect("a key column has at most 65535 bytes");
        key.extend_from_slice(&length.to_be_bytes());
        key.extend_from_slice(column);
        key.push(0);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_keep_the_order_of_tokens() {
        let tokens = [0, 1, MAX_RANDOM_TOKEN - 1, MAX_RANDOM_TOKEN];
        assert!(tokens.windows(2).all(|pair| position(pair[0]) < position(pair[1])));
        assert_eq!(Partitioner::Random.bits_of_token(&(MAX_RANDOM_TOKEN + 1).to_string()), None);
        assert_eq!(Partitioner::Murmur3.bits_of_token("-1"), Some(u128::from(u64::MAX)));
    }

    #[test]
    fn an_empty_key_has_token_0() {
        assert_eq!(murmur3_token(b""), 0);
    }

    #[test]
    fn one_column_is_not_framed() {
        assert_eq!(composite_key(&[b"ab"]), b"ab");
        assert_eq!(composite_key(&[b"ab", b""]), b"\0\x02ab\0\0\0\0");
    }
}
