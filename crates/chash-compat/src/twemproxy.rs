//! twemproxy (nutcracker) 0.5.0: `distribution: ketama` and `distribution: modula`.
//!
//! Servers are first sorted by name, shorter names before longer ones, so their order in the file does
//! not matter. Ketama is libmemcached's weighted one; modula repeats each server as often as its weight
//! says and takes a remainder. A hash tag, two characters, narrows the key to what stands between them.
//!
//! N servers, total weight W: a lookup is a binary search over about 160 N points of 8 bytes, or one
//! remainder in a table of 4 W bytes.
//!
//! Ketama's points depend on the number of servers and the sum of their weights; modula moves nearly
//! every key when the sum changes.

use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, Order, Removal};

use crate::hash::memcached::HashFunction;
use crate::params::{ParamSpec, SystemParams, Values, defaults};
use crate::ring::{Ring, Tie};
use crate::row::{Endpoint, require_some};
use crate::slots::Slots;
use crate::table::RingOrSlots;
use crate::{Column, Deployed, ServerRow, points};

/// twemproxy.
#[derive(Clone, Copy, Debug)]
pub struct Twemproxy;

/// `distribution:` of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Distribution {
    /// `ketama`, the default of the program.
    Ketama,
    /// `modula`.
    Modula,
}

/// The settings of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// `distribution:`.
    pub distribution: Distribution,
    /// `hash:`; the default of the program is FNV-1a 64.
    pub hash: HashFunction,
    /// `hash_tag:`, the first and the second character.
    pub hash_tag: Option<[u8; 2]>,
}

impl Params {
    /// What is hashed of a key: the bytes between the tag's characters if there are any.
    #[must_use]
    pub fn hashed_part<'a>(&self, key: &'a [u8]) -> &'a [u8] {
        let Some([open, close]) = self.hash_tag else { return key };
        let part = || {
            let start = key.iter().position(|byte| *byte == open)? + 1;
            let length = key[start..].iter().position(|byte| *byte == close)?;
            (length > 0).then(|| &key[start..start + length])
        };
        part().unwrap_or(key)
    }
}

impl Default for Params {
    fn default() -> Self {
        defaults()
    }
}

impl SystemParams for Params {
    const SPECS: &'static [ParamSpec] = &[
        ParamSpec::choice(
            "distribution",
            &["ketama", "modula"],
            "ketama or modula",
            "`distribution:` of the pool",
        ),
        ParamSpec::choice(
            "hash",
            &[
                "fnv1a_64",
                "one_at_a_time",
                "md5",
                "crc16",
                "crc32",
                "crc32a",
                "fnv1_64",
                "fnv1_32",
                "fnv1a_32",
                "hsieh",
                "murmur",
                "jenkins",
            ],
            "fnv1a_64, one_at_a_time, md5, crc16, crc32, crc32a, fnv1_64, fnv1_32, fnv1a_32, hsieh, murmur or jenkins",
            "`hash:` of the pool",
        ),
        ParamSpec::text("hash_tag", "", "two ASCII characters, or empty for none", "`hash_tag:` of the pool"),
    ];

    fn from_values(values: &Values<'_>) -> Result<Self, BuildError> {
        let hash_tag = match *values.text("hash_tag").as_bytes() {
            [] => None,
            [open, close] if open.is_ascii() && close.is_ascii() => Some([open, close]),
            _ => return Err(values.refused("hash_tag")),
        };
        Ok(Self {
            distribution: values.choice("distribution", &[Distribution::Ketama, Distribution::Modula])?,
            hash: values.choice(
                "hash",
                &[
                    HashFunction::Fnv1ax64,
                    HashFunction::OneAtATime,
                    HashFunction::Md5,
                    HashFunction::Crc16,
                    HashFunction::Crc15,
                    HashFunction::Crc32,
                    HashFunction::Fnv1x64,
                    HashFunction::Fnv1x32,
                    HashFunction::Fnv1ax32,
                    HashFunction::Hsieh,
                    HashFunction::Murmur,
                    HashFunction::Jenkins,
                ],
            )?,
            hash_tag,
        })
    }
}

/// The configured hash of the part that counts, in the low 32 bits; 0 for an empty key.
impl KeyHasher for Params {
    fn hash_key(&self, key: &[u8]) -> u64 {
        if key.is_empty() { 0 } else { u64::from(self.hash.hash(self.hashed_part(key))) }
    }
}

/// A server of the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    name: String,
    weight: u32,
    digests: u32,
}

impl Deployed for Twemproxy {
    const NAME: &'static str = "twemproxy";
    const SUMMARY: &'static str = "twemproxy (nutcracker) 0.5.0: ketama and modula";
    const SOURCE: &'static str = "https://github.com/twitter/twemproxy";
    const COMPLEXITY: &'static str = "ketama: lookup O(log(160 N)), 8 bytes a point, about 160 points a server; modula: lookup O(1), 4 bytes a unit of weight";
    const COLUMNS: &'static [Column] = &[
        Column::HOST,
        Column::PORT,
        Column::new(
            "server_name",
            "the optional name behind the address; absent: `host`, or `host:port` off port 11211",
        ),
    ];

    type Params = Params;
    type Server = Server;
    type Table = RingOrSlots;

    fn read(params: &Params, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        // A weight of 0 is not accepted by twemproxy; here such a server is as good as not listed.
        let weight = |row: &ServerRow| row.node.weight;
        let listed = rows.iter().filter(|row| weight(row) > 0).count();
        let total: u64 = rows.iter().map(|row| u64::from(weight(row))).sum();
        require_some(listed > 0)?;
        points::limit(match params.distribution {
            Distribution::Ketama => 160 * listed as u64,
            Distribution::Modula => total,
        })?;
        rows.iter()
            .map(|row| {
                let endpoint = Endpoint::of(row)?;
                let name = match row.column("server_name") {
                    Some(name) => name.to_owned(),
                    None if endpoint.host.starts_with('/') => endpoint.host.to_owned(),
                    None => endpoint.without_default_port(),
                };
                let digests = points::ketama_digests(weight(row), total, listed);
                Ok(Server { name, weight: weight(row), digests })
            })
            .collect()
    }

    fn estimate(params: &Params, servers: &[Server]) -> u64 {
        let bytes = |server: &Server| match params.distribution {
            Distribution::Ketama => u64::from(server.digests) * 4 * Ring::<u32>::POINT_BYTES,
            Distribution::Modula => u64::from(server.weight) * 4,
        };
        servers.iter().map(bytes).sum()
    }

    fn place(params: &Params, servers: &[Server]) -> RingOrSlots {
        let mut sorted: Vec<(&Server, u32)> = servers.iter().zip(0..).collect();
        sorted.sort_by_key(|(server, _)| (server.name.len(), &server.name));
        match params.distribution {
            Distribution::Ketama => {
                let points = sorted.into_iter().flat_map(|(server, index)| {
                    points::ketama(&server.name, server.digests, 4).map(move |point| (point, index))
                });
                RingOrSlots::Ring(Ring::new(points.collect(), Tie::First))
            }
            Distribution::Modula => {
                let slots = sorted
                    .into_iter()
                    .flat_map(|(server, index)| core::iter::repeat_n(index, server.weight as usize));
                RingOrSlots::Slots(Slots::of_32_bits(slots.collect()))
            }
        }
    }

    fn capabilities(params: &Params, servers: &[Server]) -> Capabilities {
        let disruption = match params.distribution {
            Distribution::Ketama => Disruption::Approximate,
            Distribution::Modula => Disruption::Arbitrary,
        };
        let mut names: Vec<&str> = servers.iter().map(|server| &*server.name).collect();
        names.sort_unstable();
        // Servers of one name, which the columns can give, stay in list order.
        let unique = names.windows(2).all(|pair| pair[0] != pair[1]);
        let order = if unique { Order::SetOnly } else { Order::ListOrder };
        Capabilities::new(Removal::Any, disruption, order).with_weights()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_tag_needs_something_between() {
        let params = |tag: &[u8; 2]| Params { hash_tag: Some(*tag), ..Params::default() };
        assert_eq!(params(b"{}").hashed_part(b"a{bc}d"), b"bc");
        assert_eq!(params(b"{}").hashed_part(b"a{}d{x}"), b"a{}d{x}");
        assert_eq!(params(b"{}").hashed_part(b"a}b{c"), b"a}b{c");
        assert_eq!(params(b"$$").hashed_part(b"$user$1"), b"user");
        assert_eq!(Params::default().hashed_part(b"a{bc}d"), b"a{bc}d");
    }
}
