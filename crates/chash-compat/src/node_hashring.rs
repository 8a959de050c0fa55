//! node-hashring 3.2.0 (npm `hashring`, which the npm `memcached` client uses), with MD5.
//!
//! A server gets 40 digests on average, in proportion to its weight, and four points from each (three in
//! the `hash_ring` compatibility mode): MD5 of `host:port-i`, where a default port is left out. A key belongs
//! to the first point at or after the first word of its MD5.
//!
//! N servers: about 160 N points of 8 bytes, a lookup is a binary search over them.
//!
//! The number of points depends on the number of servers and the sum of the weights.

use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, Order, Removal};

use crate::hash::digest::md5_le32;
use crate::params::{ParamSpec, SystemParams, Values, defaults};
use crate::ring::{Ring, Tie};
use crate::row::{require_some, split_port};
use crate::{Column, Deployed, ServerRow, points};

/// node-hashring.
#[derive(Clone, Copy, Debug)]
pub struct NodeHashring;

/// The options of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// `vnode count`: digests of a server of average weight; 40 in the library.
    pub vnode_count: u32,
    /// `replicas`: points of a digest; 4, or 3 with `compatibility: hash_ring`.
    pub replicas: u32,
    /// `default port`: the port that is left out of the name.
    pub default_port: Option<u16>,
}

impl Default for Params {
    fn default() -> Self {
        defaults()
    }
}

impl SystemParams for Params {
    const SPECS: &'static [ParamSpec] = &[
        ParamSpec::integer(
            "vnode_count",
            "40",
            (1, 1 << 20),
            "a number from 1 to 1048576",
            "digests of a server of average weight",
        ),
        ParamSpec::integer(
            "replicas",
            "4",
            (1, 4),
            "a number from 1 to 4",
            "points of a digest; 3 with `compatibility: hash_ring`",
        ),
        ParamSpec::integer(
            "default_port",
            "0",
            (0, 65535),
            "a port, or 0 for none",
            "the port that is left out of a server's name",
        ),
    ];

    fn from_values(values: &Values<'_>) -> Result<Self, BuildError> {
        let port: u16 = values.integer("default_port")?;
        Ok(Self {
            vnode_count: values.integer("vnode_count")?,
            replicas: values.integer("replicas")?,
            default_port: (port != 0).then_some(port),
        })
    }
}

/// The first word of the key's MD5, in the low 32 bits.
impl KeyHasher for Params {
    fn hash_key(&self, key: &[u8]) -> u64 {
        u64::from(md5_le32(key))
    }
}

/// A server of the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    name: Box<str>,
    digests: u32,
}

impl Deployed for NodeHashring {
    const NAME: &'static str = "node-hashring";
    const SUMMARY: &'static str = "node-hashring 3.2.0 (npm hashring, memcached) with MD5";
    const SOURCE: &'static str = "https://github.com/3rd-Eden/node-hashring";
    const COMPLEXITY: &'static str = "lookup O(log(160 N)), 8 bytes a point, 160 points a server on average";
    const COLUMNS: &'static [Column] = &[];

    type Params = Params;
    type Server = Server;
    type Table = Ring<u32>;

    fn read(params: &Params, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        let total: u64 = rows.iter().map(|row| u64::from(row.node.weight)).sum();
        require_some(total > 0)?;
        points::limit(rows.len() as u64 * u64::from(params.vnode_count * params.replicas))?;
        let server = |row: &ServerRow| {
            let (host, port) = split_port(&row.node.name);
            let is_default = params.default_port.is_some_and(|default| port.parse() == Ok(default));
            // Double precision throughout, from left to right.
            let share = f64::from(row.node.weight) / total as f64;
            let digests = share * f64::from(params.vnode_count) * rows.len() as f64;
            Server { name: if is_default { host } else { &row.node.name }.into(), digests: digests as u32 }
        };
        let servers: Vec<Server> = rows.iter().map(server).collect();
        require_some(servers.iter().any(|server| server.digests > 0))?;
        Ok(servers)
    }

    fn estimate(params: &Params, servers: &[Server]) -> u64 {
        let digests: u64 = servers.iter().map(|server| u64::from(server.digests)).sum();
        digests * u64::from(params.replicas) * Ring::<u32>::POINT_BYTES
    }

    fn place(params: &Params, servers: &[Server]) -> Ring<u32> {
        let points = servers.iter().zip(0..).flat_map(|(server, index)| {
            points::ketama(&server.name, server.digests, params.replicas as usize)
                .map(move |point| (point, index))
        });
        Ring::new(points.collect(), Tie::First)
    }

    fn capabilities(_: &Params, _: &[Server]) -> Capabilities {
        Capabilities::new(Removal::Any, Disruption::Approximate, Order::ListOrder).with_weights()
    }
}
