//! uhashring 2.5 (Python): the default hash and the `ketama` mode.
//!
//! Both have a key belong to the first point strictly after its hash. The default mode has points of
//! 128 bits, MD5 of `node-i` as a big-endian number, 160 for each unit of weight; the ketama mode has
//! 40 digests on average, in proportion to the weight, with four 32-bit points each.
//!
//! V points: a lookup is a binary search over them; 20 bytes a point by default, 8 in ketama mode.
//!
//! The ketama mode's points depend on the number of nodes and the sum of the weights.

use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, Order, Removal, Work};

use crate::hash::digest::{md5, md5_le32};
use crate::params::{ParamSpec, SystemParams, Values, defaults};
use crate::ring::{Position as _, Ring, RingAfter, Tie};
use crate::row::require_some;
use crate::{Column, Deployed, ServerRow, Table, points};

/// uhashring.
#[derive(Clone, Copy, Debug)]
pub struct Uhashring;

/// `hash_fn` of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// None: MD5 in 128 bits.
    Default,
    /// `ketama`.
    Ketama,
}

/// The arguments of `HashRing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// `hash_fn`.
    pub mode: Mode,
    /// `vnodes` of the default mode; 160 in the library. The ketama mode always has 40 digests.
    pub vnodes: u32,
}

impl Default for Params {
    fn default() -> Self {
        defaults()
    }
}

impl SystemParams for Params {
    const SPECS: &'static [ParamSpec] = &[
        ParamSpec::choice("mode", &["default", "ketama"], "default or ketama", "the ring's `hash_fn`"),
        ParamSpec::integer(
            "vnodes",
            "160",
            (1, 1 << 20),
            "a number from 1 to 1048576",
            "points of a node for each unit of weight, in the default mode",
        ),
    ];

    fn from_values(values: &Values<'_>) -> Result<Self, BuildError> {
        Ok(Self {
            mode: values.choice("mode", &[Mode::Default, Mode::Ketama])?,
            vnodes: values.integer("vnodes")?,
        })
    }
}

/// By default the first 8 bytes of the key's MD5, big-endian, which are the top half of its position; in
/// ketama mode the first word, little-endian, in the low 32 bits.
impl KeyHasher for Params {
    fn hash_key(&self, key: &[u8]) -> u64 {
        match self.mode {
            Mode::Default => (position(key) >> 64) as u64,
            Mode::Ketama => u64::from(md5_le32(key)),
        }
    }
}

/// MD5 as a number.
fn position(bytes: &[u8]) -> u128 {
    u128::from_be_bytes(md5(bytes))
}

/// A node of the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    name: Box<str>,
    /// Points by default, digests in ketama mode.
    count: u64,
}

/// uhashring's ring.
#[derive(Clone, Debug)]
pub enum Points {
    /// Positions of 128 bits.
    Default(RingAfter<u128>),
    /// Positions of 32 bits.
    Ketama(RingAfter<u32>),
}

impl Deployed for Uhashring {
    const NAME: &'static str = "uhashring";
    const SUMMARY: &'static str = "uhashring 2.5 (Python): default and ketama rings";
    const SOURCE: &'static str = "https://github.com/ultrabug/uhashring";
    const COMPLEXITY: &'static str = "lookup O(log(160 W)), 20 bytes a point, or 8 in ketama mode";
    const COLUMNS: &'static [Column] =
        &[Column::new("vnodes", "the node's own `vnodes`; absent: the ring's")];

    type Params = Params;
    type Server = Server;
    type Table = Points;

    fn read(params: &Params, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        let total: u64 = rows.iter().map(|row| u64::from(row.node.weight)).sum();
        require_some(total > 0)?;
        let servers = rows
            .iter()
            .map(|row| {
                let weight = u64::from(row.node.weight);
                let vnodes: Option<u32> = row.parsed("vnodes", "a number of points")?;
                let count = match params.mode {
                    Mode::Default => u64::from(vnodes.unwrap_or(params.vnodes)) * weight,
                    Mode::Ketama => (u128::from(weight) * 40 * rows.len() as u128 / u128::from(total)) as u64,
                };
                Ok(Server { name: row.node.name.clone(), count })
            })
            .collect::<Result<Vec<Server>, BuildError>>()?;
        let count = servers.iter().fold(0u64, |sum, server| sum.saturating_add(server.count));
        require_some(count > 0)?;
        points::limit(count)?;
        Ok(servers)
    }

    fn estimate(params: &Params, servers: &[Server]) -> u64 {
        let count: u64 = servers.iter().map(|server| server.count).sum();
        match params.mode {
            Mode::Default => count * Ring::<u128>::POINT_BYTES,
            Mode::Ketama => count * 4 * Ring::<u32>::POINT_BYTES,
        }
    }

    fn place(params: &Params, servers: &[Server]) -> Points {
        let servers = servers.iter().zip(0u32..);
        match params.mode {
            Mode::Default => {
                let points = servers.flat_map(|(server, index)| {
                    (0..server.count)
                        .map(move |i| (position(format!("{}-{i}", server.name).as_bytes()), index))
                });
                Points::Default(RingAfter(Ring::new(points.collect(), Tie::Last)))
            }
            Mode::Ketama => {
                let points = servers.flat_map(|(server, index)| {
                    points::ketama(&server.name, server.count as u32, 4).map(move |point| (point, index))
                });
                Points::Ketama(RingAfter(Ring::new(points.collect(), Tie::Last)))
            }
        }
    }

    fn capabilities(params: &Params, _: &[Server]) -> Capabilities {
        match params.mode {
            // Two MD5 digests would have to be equal for the order to matter.
            Mode::Default => Capabilities::new(Removal::Any, Disruption::Minimal, Order::SetOnly),
            Mode::Ketama => Capabilities::new(Removal::Any, Disruption::Approximate, Order::ListOrder),
        }
        .with_weights()
    }

    fn find_bytes(table: &Points, params: &Params, key: &[u8]) -> u32 {
        match table {
            Points::Default(RingAfter(ring)) => ring.owner(ring.after(position(key))),
            Points::Ketama(ring) => ring.find(params.hash_key(key)),
        }
    }
}

impl Table for Points {
    /// By default the lower half of the position is taken as 0.
    fn find(&self, key: u64) -> u32 {
        match self {
            Self::Default(RingAfter(ring)) => ring.owner(ring.after(u128::from_key(key))),
            Self::Ketama(ring) => ring.find(key),
        }
    }

    fn work(&self, key: u64) -> Work {
        match self {
            Self::Default(ring) => ring.work(key),
            Self::Ketama(ring) => ring.work(key),
        }
    }

    fn shares(&self, count: usize) -> Option<Vec<f64>> {
        match self {
            Self::Default(ring) => ring.shares(count),
            Self::Ketama(ring) => ring.shares(count),
        }
    }

    fn coinciding_points(&self) -> usize {
        match self {
            Self::Default(ring) => ring.coinciding_points(),
            Self::Ketama(ring) => ring.coinciding_points(),
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Default(ring) => ring.heap_bytes(),
            Self::Ketama(ring) => ring.heap_bytes(),
        }
    }
}
