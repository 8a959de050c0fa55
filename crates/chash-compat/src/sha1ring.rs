//! Two rings on SHA-1 as tutorials describe them; no deployed program.
//!
//! One reads the first four bytes of SHA-1 as a little-endian number of 32 bits and names its points
//! `node#VNi`; the other reads the last eight bytes as a signed big-endian number of 64 bits and names
//! them `node#i`. A key belongs to the first point at or after its hash, in signed order for the second.
//!
//! N nodes of V points: a lookup is a binary search over N V points of 8 or 12 bytes.

use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, Order, Removal};

use crate::hash::digest::{le32, sha1};
use crate::params::{ParamSpec, SystemParams, Values, defaults};
use crate::ring::{Ring, Tie};
use crate::row::require_unit_weights;
use crate::{Column, Deployed, ServerRow, points};

/// The ring of 32 bits.
#[derive(Clone, Copy, Debug)]
pub struct Sha1Ring32;

/// The ring of 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct Sha1Ring64;

const POINTS: &[ParamSpec] =
    &[ParamSpec::integer("points", "150", (1, 1 << 20), "a number from 1 to 1048576", "points of a node")];

/// The parameters of the 32-bit ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params32 {
    /// Points of a node; 150 by default.
    pub points: u32,
}

/// The parameters of the 64-bit ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params64 {
    /// Points of a node; 150 by default.
    pub points: u32,
}

impl Default for Params32 {
    fn default() -> Self {
        defaults()
    }
}

impl Default for Params64 {
    fn default() -> Self {
        defaults()
    }
}

impl SystemParams for Params32 {
    const SPECS: &'static [ParamSpec] = POINTS;

    fn from_values(values: &Values<'_>) -> Result<Self, BuildError> {
        Ok(Self { points: values.integer("points")? })
    }
}

impl SystemParams for Params64 {
    const SPECS: &'static [ParamSpec] = POINTS;

    fn from_values(values: &Values<'_>) -> Result<Self, BuildError> {
        Ok(Self { points: values.integer("points")? })
    }
}

/// The first four bytes of SHA-1, little-endian, in the low 32 bits.
impl KeyHasher for Params32 {
    fn hash_key(&self, key: &[u8]) -> u64 {
        u64::from(hash32(key))
    }
}

/// The last eight bytes of SHA-1, big-endian; the ring orders them as signed numbers.
impl KeyHasher for Params64 {
    fn hash_key(&self, key: &[u8]) -> u64 {
        hash64(key).cast_unsigned()
    }
}

fn hash32(bytes: &[u8]) -> u32 {
    le32(&sha1(bytes), 0)
}

fn hash64(bytes: &[u8]) -> i64 {
    let digest = sha1(bytes);
    i64::from_be_bytes(*digest.last_chunk().expect("SHA-1 has 20 bytes"))
}

/// A node of either ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    name: Box<str>,
}

fn read(points: u32, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
    require_unit_weights(rows)?;
    points::limit(rows.len() as u64 * u64::from(points))?;
    Ok(rows.iter().map(|row| Server { name: row.node.name.clone() }).collect())
}

/// The points of every server: the hash of the name, the separator and the point's number.
fn points_of<P>(
    servers: &[Server],
    separator: &str,
    points: u32,
    hash: impl Fn(&[u8]) -> P,
) -> Vec<(P, u32)> {
    let mut all = Vec::with_capacity(servers.len() * points as usize);
    for (server, index) in servers.iter().zip(0u32..) {
        all.extend((0..points).map(|i| (hash(format!("{}{separator}{i}", server.name).as_bytes()), index)));
    }
    all
}

impl Deployed for Sha1Ring32 {
    const NAME: &'static str = "sha1ring32";
    const SUMMARY: &'static str = "a tutorial's ring: 32 bits of SHA-1, little-endian";
    const SOURCE: &'static str = "Karger et al. 1997, as tutorials describe it";
    const COMPLEXITY: &'static str = "lookup O(log(V N)), 8 bytes a point, V = 150 points a node";
    const COLUMNS: &'static [Column] = &[];

    type Params = Params32;
    type Server = Server;
    type Table = Ring<u32>;

    fn read(params: &Params32, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        read(params.points, rows)
    }

    fn estimate(params: &Params32, servers: &[Server]) -> u64 {
        servers.len() as u64 * u64::from(params.points) * Ring::<u32>::POINT_BYTES
    }

    fn place(params: &Params32, servers: &[Server]) -> Ring<u32> {
        Ring::new(points_of(servers, "#VN", params.points, hash32), Tie::First)
    }

    fn capabilities(_: &Params32, _: &[Server]) -> Capabilities {
        // The order decides between nodes that share one of 2^32 points.
        Capabilities::new(Removal::Any, Disruption::Minimal, Order::ListOrder)
    }
}

impl Deployed for Sha1Ring64 {
    const NAME: &'static str = "sha1ring64";
    const SUMMARY: &'static str = "a tutorial's ring: 64 bits of SHA-1, big-endian, signed";
    const SOURCE: &'static str = "Karger et al. 1997, as tutorials describe it";
    const COMPLEXITY: &'static str = "lookup O(log(V N)), 12 bytes a point, V = 150 points a node";
    const COLUMNS: &'static [Column] = &[];

    type Params = Params64;
    type Server = Server;
    type Table = Ring<i64>;

    fn read(params: &Params64, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        read(params.points, rows)
    }

    fn estimate(params: &Params64, servers: &[Server]) -> u64 {
        servers.len() as u64 * u64::from(params.points) * Ring::<i64>::POINT_BYTES
    }

    fn place(params: &Params64, servers: &[Server]) -> Ring<i64> {
        // A sorted map: a point put later replaces an earlier one.
        Ring::new(points_of(servers, "#", params.points, hash64), Tie::Last)
    }

    fn capabilities(_: &Params64, _: &[Server]) -> Capabilities {
        Capabilities::new(Removal::Any, Disruption::Minimal, Order::ListOrder)
    }
}
