//! Which part of a request `balance` hashes.

use std::net::IpAddr;

use chash_core::BuildError;

use crate::params::Values;

/// The `balance` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Balance {
    /// `hash <sample>`: keys are the sample's bytes.
    Hash,
    /// `uri`: keys are request targets as sent.
    Uri {
        /// `len`: only so many bytes count.
        len: Option<usize>,
        /// `depth`: only so many directories count.
        depth: Option<usize>,
        /// `whole`: the query counts too.
        whole: bool,
    },
    /// `url_param`: keys are request targets, or the parameter's value itself.
    UrlParam(Box<str>),
    /// `source`: keys are addresses as text, or as their bytes.
    Source,
}

impl Balance {
    pub(super) fn from_values(values: &Values<'_>) -> Result<Self, BuildError> {
        let optional = |name| values.integer(name).map(|number: usize| (number > 0).then_some(number));
        let uri =
            Self::Uri { len: optional("len")?, depth: optional("depth")?, whole: values.flag("whole")? };
        let param = values.text("url_param");
        let choice =
            values.choice("balance", &[Some("hash"), Some("uri"), Some("url_param"), Some("source")])?;
        match choice {
            Some("uri") => Ok(uri),
            Some("url_param") if param.is_empty() => Err(values.refused("url_param")),
            Some("url_param") => Ok(Self::UrlParam(param.into())),
            Some("source") => Ok(Self::Source),
            _ => Ok(Self::Hash),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::UrlParam(name) => name.len(),
            _ => 0,
        }
    }

    /// The bytes of the key that go into the hash function.
    pub(super) fn hashed_part<'a>(&self, key: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Hash | Self::Source => key,
            Self::Uri { len, depth, whole } => {
                let cut = &key[..len.unwrap_or(key.len()).min(key.len())];
                let mut slashes = 0;
                let ends = |byte: &u8| match byte {
                    b'?' => !whole,
                    b'/' => {
                        slashes += 1;
                        depth.is_some_and(|depth| slashes > depth)
                    }
                    _ => false,
                };
                &cut[..cut.iter().position(ends).unwrap_or(cut.len())]
            }
            Self::UrlParam(name) => url_param(key, name.as_bytes()).unwrap_or(key),
        }
    }
}

/// The value of a parameter in the query of a request target, undecoded.
fn url_param<'a>(target: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let query = target.iter().position(|byte| *byte == b'?')? + 1;
    let parameters = target[query..].split(|byte| *byte == b'&');
    parameters.into_iter().find_map(|parameter| parameter.strip_prefix(name)?.strip_prefix(b"="))
}

/// An address as HAProxy reads it: its big-endian words, all XORed.
pub(super) fn address(key: &[u8]) -> u32 {
    let words = |bytes: &[u8]| {
        bytes.chunks(4).fold(0, |hash, word| {
            let mut padded = [0; 4];
            padded[..word.len()].copy_from_slice(word);
            hash ^ u32::from_be_bytes(padded)
        })
    };
    match str::from_utf8(key).ok().and_then(|text| text.parse().ok()) {
        Some(IpAddr::V4(address)) => words(&address.octets()),
        Some(IpAddr::V6(address)) => words(&address.octets()),
        None => words(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uri_stops_where_it_is_told() {
        let part = |len, depth, whole, key: &'static str| {
            let part = Balance::Uri { len, depth, whole }.hashed_part(key.as_bytes());
            str::from_utf8(part).unwrap()
        };
        assert_eq!(part(None, None, false, "/a/b?c/d"), "/a/b");
        assert_eq!(part(None, None, true, "/a/b?c/d"), "/a/b?c/d");
        assert_eq!(part(None, Some(1), false, "/a/b/c"), "/a");
        assert_eq!(part(None, Some(2), false, "/a/b/c"), "/a/b");
        assert_eq!(part(Some(3), None, false, "/a/b/c"), "/a/");
        assert_eq!(part(Some(99), None, false, "/a"), "/a");
    }

    #[test]
    fn url_param_matches_the_whole_name() {
        let balance = Balance::UrlParam("k".into());
        let part = |key: &'static str| str::from_utf8(balance.hashed_part(key.as_bytes())).unwrap();
        assert_eq!(part("/x?kk=1&k=a%20b&k=2"), "a%20b");
        assert_eq!(part("/x?k="), "");
        assert_eq!(part("the value itself"), "the value itself");
    }

    #[test]
    fn addresses_are_xored_words() {
        assert_eq!(address(b"127.0.53.136"), 0x7f00_3588);
        assert_eq!(address(&[127, 0, 53, 136]), 0x7f00_3588);
        assert_eq!(address(b"2001:db8::1"), 0x2001_0db8 ^ 1);
    }
}
