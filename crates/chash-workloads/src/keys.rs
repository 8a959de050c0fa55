//! What the key with a number looks like.

use core::fmt;
use core::str::FromStr;

use thiserror::Error;

/// How the number of a generated key becomes the key's bytes. Different numbers give different bytes.
///
/// ```
/// use chash_workloads::keys::KeyFormat;
///
/// let format: KeyFormat = "product:{}".parse()?;
/// let mut bytes = Vec::new();
/// format.write(42, &mut bytes);
/// assert_eq!(bytes, b"product:42");
///
/// bytes.clear();
/// KeyFormat::Binary.write(42, &mut bytes);
/// assert_eq!(bytes, [42, 0, 0, 0, 0, 0, 0, 0]);
/// # Ok::<(), chash_workloads::keys::KeyFormatError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyFormat {
    /// The number's 8 bytes, little-endian.
    #[default]
    Binary,
    /// Text around the number in decimal, without leading zeros.
    Text {
        /// What comes before the number.
        before: String,
        /// What comes after it.
        after: String,
    },
}

/// What stands for the number in a template.
const PLACEHOLDER: &str = "{}";

/// The word for [`KeyFormat::Binary`]; as it has no placeholder, no template is equal to it.
const BINARY: &str = "binary";

/// The text is no key format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "key format {template:?} must be \"binary\", or text with {{}} exactly once where the key's number goes, \
     such as \"product:{{}}\" (here: {placeholders} times)"
)]
pub struct KeyFormatError {
    /// The text that was given.
    pub template: String,
    /// How often `{}` is in it.
    pub placeholders: usize,
}

impl FromStr for KeyFormat {
    type Err = KeyFormatError;

    /// `binary`, or a template: any text with `{}` exactly once.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == BINARY {
            return Ok(Self::Binary);
        }
        match (text.split_once(PLACEHOLDER), text.matches(PLACEHOLDER).count()) {
            (Some((before, after)), 1) => Ok(Self::Text { before: before.into(), after: after.into() }),
            (_, placeholders) => Err(KeyFormatError { template: text.into(), placeholders }),
        }
    }
}

/// The text that parses to this format.
impl fmt::Display for KeyFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binary => f.write_str(BINARY),
            Self::Text { before, after } => write!(f, "{before}{PLACEHOLDER}{after}"),
        }
    }
}

impl KeyFormat {
    /// Appends the bytes of the key with this number to `out`.
    #[inline]
    pub fn write(&self, id: u64, out: &mut Vec<u8>) {
        match self {
            Self::Binary => out.extend_from_slice(&id.to_le_bytes()),
            Self::Text { before, after } => {
                out.extend_from_slice(before.as_bytes());
                write_decimal(id, out);
                out.extend_from_slice(after.as_bytes());
            }
        }
    }
}

/// Appends a number in decimal. The formatting machinery of the standard library takes several times as long.
fn write_decimal(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(format: &KeyFormat, id: u64) -> Vec<u8> {
        let mut out = b"kept ".to_vec();
        format.write(id, &mut out);
        out.split_off(5)
    }

    #[test]
    fn templates_have_one_placeholder() {
        let refused = |template: &str| template.parse::<KeyFormat>().unwrap_err().placeholders;
        assert_eq!(refused(""), 0);
        assert_eq!(refused("product"), 0);
        assert_eq!(refused("{0}"), 0);
        assert_eq!(refused("{ }"), 0);
        assert_eq!(refused("{}{}"), 2);
        assert_eq!(refused("a{}b{}c{}"), 3);
        assert_eq!(
            "product".parse::<KeyFormat>().unwrap_err().to_string(),
            "key format \"product\" must be \"binary\", or text with {} exactly once where the key's number goes, \
             such as \"product:{}\" (here: 0 times)"
        );
        for (template, key) in [("{}", "7"), ("{{}}", "{7}"), ("k{}\n", "k7\n"), ("ü{}ß", "ü7ß")] {
            let format: KeyFormat = template.parse().unwrap();
            assert_eq!(written(&format, 7), key.as_bytes());
            assert_eq!(format.to_string(), template);
        }
        assert_eq!("binary".parse(), Ok(KeyFormat::Binary));
        assert_eq!(KeyFormat::Binary.to_string(), "binary");
    }

    proptest! {
        #[test]
        fn numbers_are_decimal(id: u64, bits in 0u32..64) {
            let format: KeyFormat = "{}".parse().unwrap();
            for id in [id, id >> bits, 0, u64::MAX] {
                prop_assert_eq!(written(&format, id), id.to_string().into_bytes());
                prop_assert_eq!(written(&KeyFormat::Binary, id), id.to_le_bytes());
            }
        }
    }
}
