//! Cryptographic digests, read as numbers.

use md5::Digest as _;

/// MD5.
pub(crate) fn md5(bytes: &[u8]) -> [u8; 16] {
    md5::Md5::digest(bytes).into()
}

/// SHA-1.
pub(crate) fn sha1(bytes: &[u8]) -> [u8; 20] {
    sha1::Sha1::digest(bytes).into()
}

/// Bytes `4 * index ..` of a digest as a little-endian number: the way of every ketama.
pub(crate) fn le32(digest: &[u8], index: usize) -> u32 {
    let bytes = digest[4 * index..].first_chunk().expect("a digest is read within its length");
    u32::from_le_bytes(*bytes)
}

/// The first four bytes of MD5, little-endian.
pub(crate) fn md5_le32(bytes: &[u8]) -> u32 {
    le32(&md5(bytes), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1321 and RFC 3174, for "abc".
    #[test]
    fn equals_published_values() {
        assert_eq!(md5_le32(b"abc"), 0x9850_0190);
        assert_eq!(le32(&md5(b"abc"), 3), 0x727f_e128);
        assert_eq!(le32(&sha1(b"abc"), 0), 0x363e_99a9);
    }
}
