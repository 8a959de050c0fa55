//! Discord's ex_hash_ring 7.0.0 (Elixir).
//!
//! Each node has a number of points, 512 unless it names its own: bytes 8 to 15 of MD5 of the name
//! followed by the point's number, as a little-endian number of 64 bits. A key belongs to the first
//! point strictly after its own such hash, and its further nodes to the next points of other nodes.
//!
//! V points: a lookup is a binary search over them, 12 bytes a point.
//!
//! Nothing separates name and number, so names that differ by trailing digits share points: `redis-1` with
//! 12 and `redis-11` with 2 are one text. The program leaves open who owns such a point; here it is the
//! node listed first, and [`Compat::coinciding_points`] counts them.

use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, NodeId, Order, Removal, Replicated};

use crate::hash::digest::md5;
use crate::params::{ParamSpec, SystemParams, Values, defaults};
use crate::ring::{Ring, RingAfter, Tie};
use crate::row::require_some;
use crate::{Column, Compat, Deployed, ServerRow, points};

/// ex_hash_ring.
#[derive(Clone, Copy, Debug)]
pub struct ExHashRing;

/// The arguments of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// `replicas`: points of a node that does not name its own number; 512 in the library.
    pub replicas: u32,
}

impl Default for Params {
    fn default() -> Self {
        defaults()
    }
}

impl SystemParams for Params {
    const SPECS: &'static [ParamSpec] = &[ParamSpec::integer(
        "replicas",
        "512",
        (1, 1 << 20),
        "a number from 1 to 1048576",
        "points of a node for each unit of weight",
    )];

    fn from_values(values: &Values<'_>) -> Result<Self, BuildError> {
        Ok(Self { replicas: values.integer("replicas")? })
    }
}

/// Bytes 8 to 15 of MD5, little-endian.
impl KeyHasher for Params {
    fn hash_key(&self, key: &[u8]) -> u64 {
        hash(key)
    }
}

fn hash(bytes: &[u8]) -> u64 {
    (u128::from_le_bytes(md5(bytes)) >> 64) as u64
}

/// A node of the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    name: Box<str>,
    points: u64,
}

impl Deployed for ExHashRing {
    const NAME: &'static str = "ex_hash_ring";
    const SUMMARY: &'static str = "Discord's ex_hash_ring 7.0.0 (Elixir), with replicas";
    const SOURCE: &'static str = "https://github.com/discord/ex_hash_ring";
    const COMPLEXITY: &'static str = "lookup O(log(512 W)), 12 bytes a point, 512 points a unit of weight";
    const COLUMNS: &'static [Column] =
        &[Column::new("replicas", "the node's own number of points, times its weight; absent: the ring's")];

    type Params = Params;
    type Server = Server;
    type Table = RingAfter<u64>;

    fn read(params: &Params, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        let servers = rows
            .iter()
            .map(|row| {
                let replicas: u32 = row.parsed("replicas", "a number of points")?.unwrap_or(params.replicas);
                let points = u64::from(replicas) * u64::from(row.node.weight);
                Ok(Server { name: row.node.name.clone(), points })
            })
            .collect::<Result<Vec<Server>, BuildError>>()?;
        let points = servers.iter().fold(0u64, |sum, server| sum.saturating_add(server.points));
        require_some(points > 0)?;
        points::limit(points)?;
        Ok(servers)
    }

    fn estimate(_: &Params, servers: &[Server]) -> u64 {
        servers.iter().map(|server| server.points * Ring::<u64>::POINT_BYTES).sum()
    }

    fn place(_: &Params, servers: &[Server]) -> RingAfter<u64> {
        let points = servers.iter().zip(0u32..).flat_map(|(server, index)| {
            (0..server.points).map(move |i| (hash(format!("{}{i}", server.name).as_bytes()), index))
        });
        RingAfter(Ring::new(points.collect(), Tie::First))
    }

    fn capabilities(_: &Params, _: &[Server]) -> Capabilities {
        Capabilities::new(Removal::Any, Disruption::Minimal, Order::ListOrder).with_weights()
    }

    fn as_replicated(placement: &Compat<Self>) -> Option<&dyn Replicated> {
        Some(placement)
    }
}

impl Replicated for Compat<ExHashRing> {
    fn replicas(&self, key: u64, out: &mut [NodeId]) -> usize {
        let RingAfter(ring) = &self.table;
        self.collect_distinct(out, ring.walk(ring.after(key)).map(|point| ring.owner(point)))
    }
}
