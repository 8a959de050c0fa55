//! ingress-nginx `upstream-hash-by`: lua-resty-balancer's `chash`, commit 1cd4363 (2023-05-24).
//!
//! 160 points for each unit of weight, chained CRC-32 values of the node's whole name, on a 32-bit ring:
//! nearly NGINX's own ring, but without the zero byte between host and port, so no point is the same.
//! A key belongs to the first point at or after its CRC-32. ingress-nginx names a node `address:port`; with
//! `upstream-hash-by-subset` the nodes are `set1`, `set2`, … instead.
//!
//! V points: a lookup is a binary search over them, 8 bytes a point.
//!
//! Where two nodes share a point, the program's choice hangs on the order of a hash table; here the node
//! listed first has it.

use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, Order, Removal};

use crate::hash::crc::{Crc32, crc32};
use crate::params::{ParamSpec, SystemParams, Values};
use crate::ring::{Ring, Tie};
use crate::row::require_some;
use crate::{Column, Deployed, ServerRow, points};

/// Points of a node for each unit of its weight.
const POINTS_PER_WEIGHT: u64 = 160;

/// ingress-nginx, or lua-resty-balancer by itself.
#[derive(Clone, Copy, Debug)]
pub struct IngressNginx;

/// The balancer has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params;

impl SystemParams for Params {
    const SPECS: &'static [ParamSpec] = &[];

    fn from_values(_: &Values<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }
}

/// CRC-32 of the key, in the low 32 bits.
impl KeyHasher for Params {
    fn hash_key(&self, key: &[u8]) -> u64 {
        u64::from(crc32(key))
    }
}

/// A node of the balancer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    name: Box<str>,
    points: u64,
}

impl Deployed for IngressNginx {
    const NAME: &'static str = "ingress-nginx";
    const SUMMARY: &'static str = "ingress-nginx upstream-hash-by (lua-resty-balancer chash, 2023-05-24)";
    const SOURCE: &'static str = "https://github.com/openresty/lua-resty-balancer";
    const COMPLEXITY: &'static str = "lookup O(log(160 W)), 8 bytes a point, 160 points a unit of weight";
    const COLUMNS: &'static [Column] = &[];

    type Params = Params;
    type Server = Server;
    type Table = Ring<u32>;

    fn read(_: &Params, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        let server = |row: &ServerRow| Server {
            name: row.node.name.clone(),
            points: u64::from(row.node.weight) * POINTS_PER_WEIGHT,
        };
        let servers: Vec<Server> = rows.iter().map(server).collect();
        let points = servers.iter().map(|server| server.points).sum();
        require_some(points > 0)?;
        points::limit(points)?;
        Ok(servers)
    }

    fn estimate(_: &Params, servers: &[Server]) -> u64 {
        servers.iter().map(|server| server.points * Ring::<u32>::POINT_BYTES).sum()
    }

    fn place(_: &Params, servers: &[Server]) -> Ring<u32> {
        let mut points = Vec::new();
        for (server, index) in servers.iter().zip(0u32..) {
            let mut base = Crc32::new();
            base.update(server.name.as_bytes());
            points.extend(
                points::chained_crc32(&base).take(server.points as usize).map(|point| (point, index)),
            );
        }
        Ring::new(points, Tie::First)
    }

    fn capabilities(_: &Params, _: &[Server]) -> Capabilities {
        Capabilities::new(Removal::Any, Disruption::Minimal, Order::ListOrder).with_weights()
    }
}
