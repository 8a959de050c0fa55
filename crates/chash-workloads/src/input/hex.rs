//! Keys of arbitrary bytes, written in hexadecimal.

use super::Problem;

/// Replaces the contents of `out` by the bytes that the digits, upper or lower case, stand for.
pub(super) fn decode(digits: &[u8], line: u64, out: &mut Vec<u8>) -> Result<(), Problem> {
    out.clear();
    let value = |place: usize| {
        let byte = digits[place];
        match char::from(byte).to_digit(16) {
            Some(value) => Ok(value as u8),
            None => Err(Problem::NotHex { line, column: place as u64 + 1, byte }),
        }
    };
    for place in (0..digits.len() / 2 * 2).step_by(2) {
        out.push(value(place)? << 4 | value(place + 1)?);
    }
    if digits.len() % 2 == 1 {
        value(digits.len() - 1)?;
        return Err(Problem::OddHex { line, digits: digits.len() as u64 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(digits: &str) -> Result<Vec<u8>, Problem> {
        let mut out = vec![1, 2, 3];
        decode(digits.as_bytes(), 9, &mut out).map(|()| out)
    }

    #[test]
    fn digits_become_bytes() {
        assert_eq!(decoded(""), Ok(vec![]));
        assert_eq!(decoded("00ffAa0D"), Ok(vec![0x00, 0xff, 0xaa, 0x0d]));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_eq!(decoded("0"), Err(Problem::OddHex { line: 9, digits: 1 }));
        assert_eq!(decoded("00ffa"), Err(Problem::OddHex { line: 9, digits: 5 }));
        assert_eq!(decoded("0x1f"), Err(Problem::NotHex { line: 9, column: 2, byte: b'x' }));
        assert_eq!(decoded("1f\r"), Err(Problem::NotHex { line: 9, column: 3, byte: b'\r' }));
        assert_eq!(decoded(" 1f"), Err(Problem::NotHex { line: 9, column: 1, byte: b' ' }));
        assert_eq!(decoded("ü0"), Err(Problem::NotHex { line: 9, column: 1, byte: 0xc3 }));
        assert_eq!(
            decoded("1f\r").unwrap_err().to_string(),
            "line 9, column 3: '\\r' is not a hexadecimal digit"
        );
    }
}
