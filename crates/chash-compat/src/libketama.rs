//! libketama, the original C library, source of 2014-10-01 (18cf9a7): where ketama comes from.
//!
//! A server's weight is the memory that its line of the server list names. It gets digests in
//! proportion, 40 on average, and four points from each: MD5 of `address:port-i`, read as four
//! little-endian words. A key belongs to the first point at or after the first word of its MD5.
//!
//! N servers: about 160 N points of 8 bytes, a lookup is a binary search over them.
//!
//! The number of digests depends on the number of servers and on the sum of their memory, and is
//! rounded twice in single precision: a change of the list can add or take points of servers that did
//! not change, and with 61 or 122 equal servers each gets 39 digests. Keys end at a zero byte.

use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, Order, Removal};

use crate::hash::digest::md5_le32;
use crate::params::{ParamSpec, SystemParams, Values};
use crate::ring::{Ring, Tie};
use crate::row::require_some;
use crate::{Column, Deployed, ServerRow, points};

/// libketama.
#[derive(Clone, Copy, Debug)]
pub struct Libketama;

/// libketama has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params;

impl SystemParams for Params {
    const SPECS: &'static [ParamSpec] = &[];

    fn from_values(_: &Values<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }
}

/// The first word of the key's MD5, in the low 32 bits.
impl KeyHasher for Params {
    fn hash_key(&self, key: &[u8]) -> u64 {
        // The library takes C strings.
        let end = key.iter().position(|byte| *byte == 0).unwrap_or(key.len());
        u64::from(md5_le32(&key[..end]))
    }
}

/// A line of the server list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    address: Box<str>,
    digests: u32,
}

/// 40 digests on average, from the memory's share: single precision, a product in double, and single again.
fn digests(memory: u32, total: u64, servers: usize) -> u32 {
    let share = memory as f32 / total as f32;
    (f64::from(share) * 40.0 * servers as f64) as f32 as u32
}

impl Deployed for Libketama {
    const NAME: &'static str = "libketama";
    const SUMMARY: &'static str = "libketama, source of 2014-10-01: weights are the servers' memory";
    const SOURCE: &'static str = "https://github.com/RJ/ketama";
    const COMPLEXITY: &'static str = "lookup O(log(160 N)), 8 bytes a point, 160 points a server on average";
    const COLUMNS: &'static [Column] = &[];

    type Params = Params;
    type Server = Server;
    type Table = Ring<u32>;

    fn read(_: &Params, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        let total: u64 = rows.iter().map(|row| u64::from(row.node.weight)).sum();
        require_some(total > 0)?;
        points::limit(rows.len() as u64 * 160)?;
        let server = |row: &ServerRow| Server {
            address: row.node.name.clone(),
            digests: digests(row.node.weight, total, rows.len()),
        };
        Ok(rows.iter().map(server).collect())
    }

    fn estimate(_: &Params, servers: &[Server]) -> u64 {
        servers.iter().map(|server| u64::from(server.digests) * 4 * Ring::<u32>::POINT_BYTES).sum()
    }

    fn place(_: &Params, servers: &[Server]) -> Ring<u32> {
        let points = servers.iter().zip(0..).flat_map(|(server, index)| {
            points::ketama(&server.address, server.digests, 4).map(move |point| (point, index))
        });
        // The library leaves the order of equal points to an unstable sort.
        Ring::new(points.collect(), Tie::First)
    }

    fn capabilities(_: &Params, _: &[Server]) -> Capabilities {
        Capabilities::new(Removal::Any, Disruption::Approximate, Order::ListOrder).with_weights()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 40 digests for equal servers, but 39 for 61 and 122 of them, and small shares that round to nothing.
    #[test]
    fn rounds_as_the_library_does() {
        for servers in 1..=128u64 {
            let expected = if servers == 61 || servers == 122 { 39 } else { 40 };
            assert_eq!(digests(600, 600 * servers, servers as usize), expected, "{servers} servers");
        }
        assert_eq!([5, 1024, 1024].map(|memory| digests(memory, 2053, 3) * 4), [0, 236, 236]);
    }

    #[test]
    fn keys_end_at_a_zero_byte() {
        assert_eq!(Params.hash_key(b"key\0more"), Params.hash_key(b"key"));
    }
}
