//! Katran (commit 19f08fe, 2026-08-22): the Maglev rings of the L4 load balancer, both versions.
//!
//! Each real server has a 64-bit hash, from which MurmurHash3 makes its offset and step. Version 2 lets a
//! server take a slot whenever its weights add up to the greatest one; version 1 gives each its whole
//! weight in slots in the first round and one slot in every later round.
//!
//! M slots: a lookup is one read in 4 M bytes.
//!
//! The table depends on the order of the list; the load balancer sorts by hash beforehand, which
//! `order=hash` does here. Its hash of a server's address is its own: without the column `hash` the first
//! half of MurmurHash3 of the name stands in. It finds a packet's slot with a Jenkins hash of the
//! flow; lookup3 of the key's bytes stands in for that.

use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, Order, Removal};

use crate::hash::jenkins::lookup3;
use crate::hash::murmur::{Tail, murmur3_x64_128};
use crate::params::{ParamSpec, SystemParams, Values, defaults};
use crate::row::require_some;
use crate::slots::{Filling, MAX_TABLE_SIZE, Preference, Slots, choice_cut_to_32_bits, is_prime};
use crate::{Column, Deployed, ServerRow};

/// Katran.
#[derive(Clone, Copy, Debug)]
pub struct Katran;

/// Which ring builder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Version {
    /// `MaglevHashV2`.
    V2,
    /// `MaglevHash`.
    V1,
}

/// The settings of a virtual server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The ring builder.
    pub version: Version,
    /// The slots, a prime number.
    pub ring_size: u32,
    /// Whether servers are sorted by hash first.
    pub sorted: bool,
}

impl Default for Params {
    fn default() -> Self {
        defaults()
    }
}

impl SystemParams for Params {
    const SPECS: &'static [ParamSpec] = &[
        ParamSpec::choice("version", &["v2", "v1"], "v2 or v1", "MaglevHashV2 or MaglevHash"),
        ParamSpec::integer(
            "ring_size",
            "65537",
            (2, MAX_TABLE_SIZE),
            "a prime number up to 5000011",
            "slots",
        ),
        ParamSpec::choice(
            "order",
            &["listed", "hash"],
            "listed or hash",
            "the order in which servers take turns; the load balancer sorts by hash",
        ),
    ];

    fn from_values(values: &Values<'_>) -> Result<Self, BuildError> {
        let params = Self {
            version: values.choice("version", &[Version::V2, Version::V1])?,
            ring_size: values.integer("ring_size")?,
            sorted: values.choice("order", &[false, true])?,
        };
        if is_prime(params.ring_size) { Ok(params) } else { Err(values.refused("ring_size")) }
    }
}

/// lookup3 of the key, in the low 32 bits.
impl KeyHasher for Params {
    fn hash_key(&self, key: &[u8]) -> u64 {
        u64::from(lookup3(key, 0))
    }
}

/// A real server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    hash: u64,
    weight: u32,
}

/// The first half of MurmurHash3 of two words.
fn mix(a: u64, b: u64, seed: u64) -> u64 {
    let mut words = [0; 16];
    words[..8].copy_from_slice(&a.to_le_bytes());
    words[8..].copy_from_slice(&b.to_le_bytes());
    murmur3_x64_128(&words, seed, Tail::Unsigned).0
}

impl Deployed for Katran {
    const NAME: &'static str = "katran";
    const SUMMARY: &'static str = "Katran's Maglev rings, source of 2026-08-22 (19f08fe)";
    const SOURCE: &'static str = "https://github.com/facebookincubator/katran";
    const COMPLEXITY: &'static str = "lookup O(1), 4 bytes a slot";
    const COLUMNS: &'static [Column] =
        &[Column::new("hash", "the server's 64-bit hash; absent: MurmurHash3 of its name")];

    type Params = Params;
    type Server = Server;
    type Table = Slots;

    fn read(_: &Params, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        require_some(rows.iter().any(|row| row.node.weight > 0))?;
        rows.iter()
            .map(|row| {
                let hash = row.parsed("hash", "an unsigned number of 64 bits")?;
                let of_name = || murmur3_x64_128(row.node.name.as_bytes(), 0, Tail::Unsigned).0;
                Ok(Server { hash: hash.unwrap_or_else(of_name), weight: row.node.weight })
            })
            .collect()
    }

    fn estimate(params: &Params, _: &[Server]) -> u64 {
        4 * u64::from(params.ring_size)
    }

    fn place(params: &Params, servers: &[Server]) -> Slots {
        let mut turns: Vec<(&Server, u32)> = servers.iter().zip(0..).filter(|(s, _)| s.weight > 0).collect();
        if params.sorted {
            turns.sort_by_key(|(server, _)| server.hash);
        }
        let order = |(server, _): &(&Server, u32)| {
            let offset = mix(server.hash, 42, 0);
            let skip = mix(server.hash, 2_718_281_828, 2307);
            Preference::new(offset, skip, params.ring_size)
        };
        let orders = turns.iter().map(order).collect();
        let mut filling = Filling::new(orders, params.ring_size, choice_cut_to_32_bits);
        let weights: Vec<u32> = turns.iter().map(|(server, _)| server.weight).collect();
        match params.version {
            Version::V1 => fill_v1(&mut filling, &weights),
            Version::V2 => fill_v2(&mut filling, &weights),
        }
        Slots::of_32_bits(filling.finish(|turn| turns[turn].1))
    }

    fn capabilities(params: &Params, servers: &[Server]) -> Capabilities {
        let mut hashes: Vec<u64> = servers.iter().map(|server| server.hash).collect();
        hashes.sort_unstable();
        let unique = hashes.windows(2).all(|pair| pair[0] != pair[1]);
        let order = if params.sorted && unique { Order::SetOnly } else { Order::ListOrder };
        Capabilities::new(Removal::Any, Disruption::Approximate, order).with_weights()
    }
}

fn fill_v1(filling: &mut Filling, weights: &[u32]) {
    for round in 0.. {
        for (server, weight) in weights.iter().enumerate() {
            for _ in 0..if round == 0 { *weight } else { 1 } {
                if filling.is_full() {
                    return;
                }
                filling.take(server);
            }
        }
    }
}

fn fill_v2(filling: &mut Filling, weights: &[u32]) {
    let greatest = weights.iter().copied().max().map_or(0, u64::from);
    let mut sums = vec![0; weights.len()];
    loop {
        for (server, weight) in weights.iter().enumerate() {
            if filling.is_full() {
                return;
            }
            sums[server] += u64::from(*weight);
            if sums[server] >= greatest {
                sums[server] -= greatest;
                filling.take(server);
            }
        }
    }
}
