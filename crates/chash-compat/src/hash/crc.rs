//! Cyclic redundancy checks.

pub(crate) use crc32fast::Hasher as Crc32;

/// The common reflected CRC-32 (polynomial 0xEDB88320).
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Entry `index` of the byte table of polynomial 0x1021, most significant bit first.
const fn ccitt_entry(index: u16) -> u16 {
    let mut crc = index << 8;
    let mut bit = 0;
    while bit < 8 {
        crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
        bit += 1;
    }
    crc
}

const CCITT: [u16; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        table[index as usize] = ccitt_entry(index);
        index += 1;
    }
    table
};

/// CRC-16/XMODEM: polynomial 0x1021, start 0, not reflected, no final XOR.
pub(crate) fn crc16_xmodem(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, byte| (crc << 8) ^ CCITT[usize::from((crc >> 8) as u8 ^ byte)])
}

/// twemproxy's `crc16`: the XMODEM table under an accumulator of 32 bits that is never cut to 16.
pub(crate) fn crc16_uncut(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |crc: u32, byte| (crc << 8) ^ u32::from(CCITT[usize::from((crc >> 8) as u8 ^ byte)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values of the CRC catalogue.
    #[test]
    fn equals_check_values() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc16_xmodem(b"123456789"), 0x31c3);
    }

    /// The uncut accumulator still carries the 16-bit value in its low half.
    #[test]
    fn uncut_accumulator_ends_in_xmodem() {
        for length in 0..20 {
            let bytes = &b"\xff\x00123456789abcdefghij"[..length];
            assert_eq!(crc16_uncut(bytes) as u16, crc16_xmodem(bytes));
        }
        assert_ne!(crc16_uncut(b"123456789"), 0x31c3);
    }
}
