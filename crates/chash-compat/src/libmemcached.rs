//! libmemcached 1.1.4, which pylibmc and others use: modula, ketama, weighted ketama, and their spy form.
//!
//! Modula takes the remainder of the key's hash by the number of servers. Ketama gives each server 100
//! points, hashes of `host-i` or `host:port-i` by the function that hashes keys; weighted ketama gives
//! it digests in proportion to its weight, 40 on average, with four points each. A weight above 1
//! turns weighting on for ketama. A key belongs to the first point at or after its hash.
//!
//! N servers: a lookup is one remainder, or a binary search over 100 N or about 160 N points of 8 bytes.
//!
//! Modula moves nearly every key on any change, and weights play no part in it. Weighted ketama's points
//! depend on the number of servers and the sum of their weights. Answers are those of a platform whose `char`
//! is signed.
//!
//! The library takes a configured weight of 0 for 1: whoever reads a client's configuration has to write 1.
//! A weight of 0 means here what it means everywhere in this project, a server that is never chosen: it
//! is not in the client's list.

use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, Order, Removal};

use crate::hash::memcached::HashFunction;
use crate::params::{ParamSpec, SystemParams, Values, defaults};
use crate::ring::{Ring, Tie};
use crate::row::{Endpoint, require_some};
use crate::slots::Slots;
use crate::table::RingOrSlots;
use crate::{Column, Deployed, ServerRow, points};

/// Points of a server without weights.
const POINTS_PER_SERVER: u32 = 100;

/// libmemcached.
#[derive(Clone, Copy, Debug)]
pub struct Libmemcached;

/// How servers are found from a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Distribution {
    /// `MODULA`, the default of the library.
    Modula,
    /// `BEHAVIOR_KETAMA`.
    Ketama,
    /// `BEHAVIOR_KETAMA_WEIGHTED`.
    KetamaWeighted,
    /// `CONSISTENT_KETAMA_SPY`.
    Spy,
    /// `BEHAVIOR_KETAMA_WEIGHTED`, then `CONSISTENT_KETAMA_SPY`.
    SpyWeighted,
}

impl Distribution {
    fn is_spy(self) -> bool {
        matches!(self, Self::Spy | Self::SpyWeighted)
    }

    fn is_weighted(self) -> bool {
        matches!(self, Self::KetamaWeighted | Self::SpyWeighted)
    }
}

/// The behaviours of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// How servers are found.
    pub distribution: Distribution,
    /// `BEHAVIOR_HASH`; `None` is what the distribution sets: MD5 with weighted ketama, otherwise one-at-a-time.
    pub hash: Option<HashFunction>,
}

impl Params {
    fn hash_function(self) -> HashFunction {
        let set = if self.distribution.is_weighted() { HashFunction::Md5 } else { HashFunction::OneAtATime };
        self.hash.unwrap_or(set)
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
            &["modula", "ketama", "ketama_weighted", "ketama_spy", "ketama_spy_weighted"],
            "modula, ketama, ketama_weighted, ketama_spy or ketama_spy_weighted",
            "the distribution, and whether weighting is set",
        ),
        ParamSpec::choice(
            "hash",
            &[
                "auto", "default", "md5", "crc", "fnv1_64", "fnv1a_64", "fnv1_32", "fnv1a_32", "murmur",
                "jenkins", "murmur3",
            ],
            "auto, default, md5, crc, fnv1_64, fnv1a_64, fnv1_32, fnv1a_32, murmur, jenkins or murmur3",
            "the hash of keys, and of points without weights; auto: md5 if weighting is set, else default",
        ),
    ];

    fn from_values(values: &Values<'_>) -> Result<Self, BuildError> {
        use Distribution::{Ketama, KetamaWeighted, Modula, Spy, SpyWeighted};
        Ok(Self {
            distribution: values
                .choice("distribution", &[Modula, Ketama, KetamaWeighted, Spy, SpyWeighted])?,
            hash: values.choice(
                "hash",
                &[
                    None,
                    Some(HashFunction::OneAtATime),
                    Some(HashFunction::Md5),
                    Some(HashFunction::Crc15),
                    Some(HashFunction::Fnv1x64),
                    Some(HashFunction::Fnv1ax64),
                    Some(HashFunction::Fnv1x32),
                    Some(HashFunction::Fnv1ax32),
                    Some(HashFunction::Murmur),
                    Some(HashFunction::Jenkins),
                    Some(HashFunction::Murmur3),
                ],
            )?,
        })
    }
}

/// The configured hash, in the low 32 bits.
impl KeyHasher for Params {
    fn hash_key(&self, key: &[u8]) -> u64 {
        u64::from(self.hash_function().hash(key))
    }
}

/// A server of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    name: String,
    points: Points,
}

/// How a server's points are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Points {
    /// Not at all: it is not in the client's list.
    Absent,
    /// Modula: a slot of its own.
    Slot,
    /// [`POINTS_PER_SERVER`] hashes.
    Hashes,
    /// So many MD5 digests.
    Digests(u32),
}

impl Points {
    /// The bytes that the server takes up in the table.
    fn bytes(self) -> u64 {
        match self {
            Self::Absent => 0,
            Self::Slot => 4,
            Self::Hashes => u64::from(POINTS_PER_SERVER) * Ring::<u32>::POINT_BYTES,
            Self::Digests(digests) => 4 * u64::from(digests) * Ring::<u32>::POINT_BYTES,
        }
    }
}

impl Deployed for Libmemcached {
    const NAME: &'static str = "libmemcached";
    const SUMMARY: &'static str = "libmemcached 1.1.4 (pylibmc): modula, ketama, weighted ketama, spy";
    const SOURCE: &'static str = "https://awesomized.github.io/libmemcached/";
    const COMPLEXITY: &'static str = "modula: lookup O(1), 4 bytes a server; ketama: lookup O(log(160 N)), 8 bytes a point, 100 or about 160 points a server";
    const COLUMNS: &'static [Column] = &[Column::HOST, Column::PORT];

    type Params = Params;
    type Server = Server;
    type Table = RingOrSlots;

    fn read(params: &Params, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        let distribution = params.distribution;
        let total: u64 = rows.iter().map(|row| u64::from(row.node.weight)).sum();
        let listed = rows.iter().filter(|row| row.node.weight > 0).count();
        let weighted = distribution.is_weighted() || rows.iter().any(|row| row.node.weight > 1);
        require_some(listed > 0)?;
        points::limit(160 * listed as u64)?;
        rows.iter()
            .map(|row| {
                let endpoint = Endpoint::of(row)?;
                let name = match distribution.is_spy() {
                    true => format!("/{}", endpoint.with_port()),
                    false => endpoint.without_default_port(),
                };
                let points = match distribution {
                    _ if row.node.weight == 0 => Points::Absent,
                    Distribution::Modula => Points::Slot,
                    _ if weighted => Points::Digests(points::ketama_digests(row.node.weight, total, listed)),
                    _ => Points::Hashes,
                };
                Ok(Server { name, points })
            })
            .collect()
    }

    fn estimate(_: &Params, servers: &[Server]) -> u64 {
        servers.iter().map(|server| server.points.bytes()).sum()
    }

    fn place(params: &Params, servers: &[Server]) -> RingOrSlots {
        let mut slots = Vec::new();
        let mut points = Vec::new();
        for (server, index) in servers.iter().zip(0u32..) {
            match server.points {
                Points::Absent => {}
                Points::Slot => slots.push(index),
                Points::Hashes => points.extend((0..POINTS_PER_SERVER).map(|i| {
                    (params.hash_function().hash(format!("{}-{i}", server.name).as_bytes()), index)
                })),
                Points::Digests(digests) => {
                    points.extend(points::ketama(&server.name, digests, 4).map(|point| (point, index)));
                }
            }
        }
        match params.distribution {
            Distribution::Modula => RingOrSlots::Slots(Slots::of_32_bits(slots.into())),
            _ => RingOrSlots::Ring(Ring::new(points, Tie::First)),
        }
    }

    fn capabilities(params: &Params, _: &[Server]) -> Capabilities {
        let disruption = match params.distribution {
            Distribution::Modula => Disruption::Arbitrary,
            // Without weights only what must move moves; but the first weight above 1 changes every point.
            _ => Disruption::Approximate,
        };
        Capabilities::new(Removal::Any, disruption, Order::ListOrder).with_weights()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compat;
    use chash_core::{Build, ByteKeyed, Node, NodeId};

    fn build(distribution: Distribution, names: &[&str]) -> Compat<Libmemcached> {
        let nodes: Vec<Node> = names.iter().zip(0..).map(|(name, id)| Node::new(NodeId(id), *name)).collect();
        Compat::build(&Params { distribution, hash: None }, &nodes).unwrap()
    }

    /// Two hosts share point 1040363822, and the one listed first gets its keys.
    #[test]
    fn the_server_listed_first_owns_a_shared_point() {
        let mut names = ["mc135.example", "mc238.example", "mx2.example"];
        for _ in 0..2 {
            let client = build(Distribution::KetamaWeighted, &names);
            assert_eq!(client.coinciding_points(), 1);
            for key in ["user:772", "user:1134", "user:1389"] {
                assert_eq!(client.lookup_bytes(key.as_bytes()), NodeId(0), "{names:?}");
            }
            names.swap(0, 1);
        }
    }

    /// The default port is left out of the name.
    #[test]
    fn port_11211_is_not_hashed() {
        let names = ["10.1.0.1:11211", "10.1.0.2:11211", "10.1.0.3:11212"];
        let client = build(Distribution::KetamaWeighted, &names);
        let keys = ["session:2", "session:3", "session:8", "session:10"];
        assert_eq!(keys.map(|key| client.lookup_bytes(key.as_bytes()).0), [0, 2, 2, 1]);
    }
}
