//! Cilium (table builder of commit e0cc421): the Maglev tables of its load balancer.
//!
//! Backends are sorted by their textual form, `[ip:port/TCP,State:active]`, whose MurmurHash3 under the
//! cluster's seed gives offset and step. They take turns; where the mean weight is 2 or more, a backend is
//! passed over until the turns have caught up with what it took, in proportion to its weight.
//!
//! M slots: a lookup is one read in 4 M bytes.
//!
//! Weights count for nothing while their sum is less than twice the number of backends. The program finds a flow's slot
//! with a Jenkins hash; lookup3 of the key's bytes stands in for that here.

use base64::Engine as _;
use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, Order, Removal};

use crate::hash::jenkins::lookup3;
use crate::hash::murmur::{Tail, murmur3_x64_128};
use crate::params::{ParamSpec, SystemParams, Values, defaults};
use crate::row::require_some;
use crate::slots::{Filling, MAX_TABLE_SIZE, Preference, Slots, exact_choice, is_prime};
use crate::{Column, Deployed, ServerRow};

/// Cilium.
#[derive(Clone, Copy, Debug)]
pub struct Cilium;

/// The settings of the load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The slots, a prime number; 16381 in the program.
    pub table_size: u32,
    /// The part of `maglev.hashSeed` that is used.
    pub seed: u32,
}

impl Default for Params {
    fn default() -> Self {
        defaults()
    }
}

impl SystemParams for Params {
    const SPECS: &'static [ParamSpec] = &[
        ParamSpec::integer(
            "table_size",
            "16381",
            (2, MAX_TABLE_SIZE),
            "a prime number up to 5000011",
            "`maglev.tableSize`",
        ),
        ParamSpec::text("hash_seed", "JLfvgnHc2kaSUFaI", "12 bytes in base64", "`maglev.hashSeed`"),
    ];

    fn from_values(values: &Values<'_>) -> Result<Self, BuildError> {
        let seed = base64::engine::general_purpose::STANDARD.decode(values.text("hash_seed"));
        let seed = seed.ok().and_then(|bytes| <[u8; 12]>::try_from(bytes).ok());
        let seed = seed.ok_or_else(|| values.refused("hash_seed"))?;
        let table_size = values.integer("table_size")?;
        if !is_prime(table_size) {
            return Err(values.refused("table_size"));
        }
        let head = seed.first_chunk().expect("the seed has 12 bytes");
        Ok(Self { table_size, seed: u32::from_be_bytes(*head) })
    }
}

/// lookup3 of the key, in the low 32 bits.
impl KeyHasher for Params {
    fn hash_key(&self, key: &[u8]) -> u64 {
        u64::from(lookup3(key, 0))
    }
}

/// A backend of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    name: String,
    weight: u32,
}

/// The textual form of a backend; a name that has it already stays as it is.
fn textual(name: &str) -> String {
    if name.starts_with('[') && name.contains(",State:") {
        name.to_owned()
    } else {
        format!("[{name}/TCP,State:active]")
    }
}

impl Deployed for Cilium {
    const NAME: &'static str = "cilium";
    const SUMMARY: &'static str = "Cilium's Maglev tables, source of e0cc421";
    const SOURCE: &'static str =
        "https://docs.cilium.io/en/stable/network/kubernetes/kubeproxy-free/#maglev-consistent-hashing";
    const COMPLEXITY: &'static str = "lookup O(1), 4 bytes a slot";
    const COLUMNS: &'static [Column] = &[];

    type Params = Params;
    type Server = Server;
    type Table = Slots;

    fn read(_: &Params, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        require_some(rows.iter().any(|row| row.node.weight > 0))?;
        let server = |row: &ServerRow| Server { name: textual(&row.node.name), weight: row.node.weight };
        Ok(rows.iter().map(server).collect())
    }

    fn estimate(params: &Params, _: &[Server]) -> u64 {
        4 * u64::from(params.table_size)
    }

    fn place(params: &Params, servers: &[Server]) -> Slots {
        // A backend of weight 0 is in maintenance: not in the table.
        let mut backends: Vec<(&Server, u32)> =
            servers.iter().zip(0..).filter(|(s, _)| s.weight > 0).collect();
        backends.sort_by_key(|(server, _)| &server.name);
        let order = |(server, _): &(&Server, u32)| {
            let (h1, h2) = murmur3_x64_128(server.name.as_bytes(), u64::from(params.seed), Tail::Unsigned);
            Preference::new(h1, h2, params.table_size)
        };
        let mut filling = Filling::new(backends.iter().map(order).collect(), params.table_size, exact_choice);
        let count = backends.len();
        let total: u64 = backends.iter().map(|(server, _)| u64::from(server.weight)).sum();
        let weights_count = total / count as u64 > 1;
        // What a backend has taken, in units in which every turn of all of them together adds `total`.
        let mut taken: Vec<f64> =
            backends.iter().map(|(server, _)| f64::from(server.weight) / count as f64).collect();
        for turn in 0..u64::from(params.table_size) {
            let mut backend = (turn % count as u64) as usize;
            if weights_count {
                while (turn + 1) * u64::from(backends[backend].0.weight) < taken[backend] as u64 {
                    backend = (backend + 1) % count;
                }
                taken[backend] += total as f64;
            }
            filling.take(backend);
        }
        Slots::of_32_bits(filling.finish(|backend| backends[backend].1))
    }

    fn capabilities(_: &Params, _: &[Server]) -> Capabilities {
        Capabilities::new(Removal::Any, Disruption::Approximate, Order::SetOnly).with_weights()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_a_backend_as_the_program_does() {
        assert_eq!(textual("10.0.0.1:80"), "[10.0.0.1:80/TCP,State:active]");
        assert_eq!(textual("[10.0.0.1:80/UDP,State:active]"), "[10.0.0.1:80/UDP,State:active]");
        assert_eq!(textual("[::1]:80"), "[[::1]:80/TCP,State:active]");
    }

    #[test]
    fn the_seed_is_base64() {
        let read = |seed: &str| {
            let given = [("hash_seed", seed)];
            Params::from_values(&Values::new(Params::SPECS, &given).unwrap())
        };
        assert_eq!(read("AAAAAQAAAAAAAAAA").map(|params| params.seed), Ok(1));
        let refused = BuildError::Parameter { name: "hash_seed", requirement: "12 bytes in base64" };
        for wrong in ["", "AAAA", "not base64!", "AAAAAQAAAAAAAAAAAAAA"] {
            assert_eq!(read(wrong), Err(refused.clone()), "{wrong}");
        }
    }
}
