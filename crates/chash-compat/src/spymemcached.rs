//! spymemcached 2.12.3: `KetamaNodeLocator` with `KETAMA_HASH`.
//!
//! A server gets 40 digests of four points each: MD5 of its name in one of two formats, a dash and a
//! number. With weights the digests are in proportion, 40 on average. A key belongs to the first
//! point at or after the first word of its MD5.
//!
//! N servers: about 160 N points of 8 bytes, a lookup is a binary search over them.
//!
//! With weights the points depend on the number of servers and the sum of the weights. A server listed
//! later takes a point that it shares with an earlier one.

use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, Order, Removal};

use crate::hash::digest::md5_le32;
use crate::params::{ParamSpec, SystemParams, Values, defaults};
use crate::ring::{Ring, Tie};
use crate::row::{Endpoint, require_some};
use crate::{Column, Deployed, ServerRow, points};

/// Digests of a server without weights.
const DIGESTS: u32 = 40;

/// spymemcached.
#[derive(Clone, Copy, Debug)]
pub struct Spymemcached;

/// How a server's name is written for its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `SPYMEMCACHED`, the default of the library: `hostname/ip:port`, or `ip:port` without a host name.
    Spymemcached,
    /// `LIBMEMCACHED`: the host, with the port unless it is 11211.
    Libmemcached,
}

/// The locator's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The format of names.
    pub format: Format,
    /// Whether the locator is given weights even if all are 1; a weight other than 1 says so by itself.
    pub weighted: bool,
}

impl Default for Params {
    fn default() -> Self {
        defaults()
    }
}

impl SystemParams for Params {
    const SPECS: &'static [ParamSpec] = &[
        ParamSpec::choice(
            "format",
            &["spymemcached", "libmemcached"],
            "spymemcached or libmemcached",
            "the format of node keys",
        ),
        ParamSpec::choice(
            "weighted",
            crate::params::NO_YES,
            "no or yes",
            "whether the locator has weights even if all are 1",
        ),
    ];

    fn from_values(values: &Values<'_>) -> Result<Self, BuildError> {
        Ok(Self {
            format: values.choice("format", &[Format::Spymemcached, Format::Libmemcached])?,
            weighted: values.flag("weighted")?,
        })
    }
}

/// The first word of the key's MD5, in the low 32 bits.
impl KeyHasher for Params {
    fn hash_key(&self, key: &[u8]) -> u64 {
        u64::from(md5_le32(key))
    }
}

/// A memcached node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    name: String,
    digests: u32,
}

impl Deployed for Spymemcached {
    const NAME: &'static str = "spymemcached";
    const SUMMARY: &'static str = "spymemcached 2.12.3, KetamaNodeLocator with KETAMA_HASH";
    const SOURCE: &'static str = "https://github.com/couchbase/spymemcached";
    const COMPLEXITY: &'static str = "lookup O(log(160 N)), 8 bytes a point, 160 points a server on average";
    const COLUMNS: &'static [Column] = &[
        Column::HOST,
        Column::PORT,
        Column::new("ip", "the address that a host name resolved to; absent: the host is the address"),
    ];

    type Params = Params;
    type Server = Server;
    type Table = Ring<u32>;

    fn read(params: &Params, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        let total: u64 = rows.iter().map(|row| u64::from(row.node.weight)).sum();
        let weighted = params.weighted || rows.iter().any(|row| row.node.weight != 1);
        require_some(total > 0)?;
        points::limit(rows.len() as u64 * 160)?;
        rows.iter()
            .map(|row| {
                let endpoint = Endpoint::of(row)?;
                let name = match (params.format, row.column("ip")) {
                    (Format::Libmemcached, _) => endpoint.without_default_port(),
                    (Format::Spymemcached, None) => endpoint.with_port(),
                    (Format::Spymemcached, Some(ip)) => format!("{}/{ip}:{}", endpoint.host, endpoint.port),
                };
                let digests = match weighted {
                    true => points::ketama_digests(row.node.weight, total, rows.len()),
                    false => DIGESTS,
                };
                Ok(Server { name, digests })
            })
            .collect()
    }

    fn estimate(_: &Params, servers: &[Server]) -> u64 {
        servers.iter().map(|server| u64::from(server.digests) * 4 * Ring::<u32>::POINT_BYTES).sum()
    }

    fn place(_: &Params, servers: &[Server]) -> Ring<u32> {
        let points = servers.iter().zip(0..).flat_map(|(server, index)| {
            points::ketama(&server.name, server.digests, 4).map(move |point| (point, index))
        });
        Ring::new(points.collect(), Tie::Last)
    }

    fn capabilities(_: &Params, _: &[Server]) -> Capabilities {
        // Without weights only what must move moves; but a weight other than 1 changes every count.
        Capabilities::new(Removal::Any, Disruption::Approximate, Order::ListOrder).with_weights()
    }
}
