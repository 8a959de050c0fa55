//! HAProxy 2.6.12: `balance hash`, `uri`, `url_param` and `source` under `hash-type consistent` and
//! `map-based`, and bounded loads by `hash-balance-factor`.
//!
//! The consistent type puts 16 points for each unit of weight on a 32-bit ring, mixed from the server's number,
//! and a key belongs to the *nearest* point on either side. The map-based type fills a table in the
//! proportion of the weights and takes a remainder. Servers that are disabled are taken off; backups
//! serve only when nobody else can.
//!
//! W the sum of the weights: a lookup is a binary search over 16 W points of 8 bytes, or one remainder in a
//! table of at most 4 W bytes.
//!
//! Points come from the number `id`, not from the name: where the configuration names none, servers are numbered by their
//! place in the list, and removing one in the middle renumbers all behind it, whose keys then move for
//! no other reason. The map moves nearly every key on any change.
//!
//! Where HAProxy falls back on round robin (no `url_param` in the request), the whole key is hashed.

mod bounded;
mod key;
mod table;

use std::collections::BTreeSet;

use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, LoadAware, Order, Removal};

use self::bounded::Bounds;
pub use self::key::Balance;
pub use self::table::Backend;
use self::table::{Lookup, map};
use crate::hash::bernstein::{djb2, full_hash, sdbm, wt6};
use crate::hash::crc::crc32;
use crate::params::{NO_YES, ParamSpec, SystemParams, Values, defaults};
use crate::ring::{Ring, Tie};
use crate::row::require_some;
use crate::slots::Slots;
use crate::{Column, Compat, Deployed, ServerRow};

/// Points of a server for each unit of its weight.
const POINTS_PER_WEIGHT: u32 = 16;

/// The largest weight HAProxy accepts.
const MAX_WEIGHT: u32 = 256;

/// HAProxy.
#[derive(Clone, Copy, Debug)]
pub struct Haproxy;

/// The method of `hash-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashType {
    /// `consistent`.
    Consistent,
    /// `map-based`, the default of the program.
    MapBased,
}

/// The function of `hash-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Function {
    /// `sdbm`, the default.
    Sdbm,
    /// `djb2`.
    Djb2,
    /// `crc32`.
    Crc32,
    /// `wt6`.
    Wt6,
}

impl Function {
    fn hash(self, bytes: &[u8]) -> u32 {
        match self {
            Self::Sdbm => sdbm(bytes),
            Self::Djb2 => djb2(bytes),
            Self::Crc32 => crc32(bytes),
            Self::Wt6 => wt6(bytes),
        }
    }
}

/// The settings of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// `balance`: what of a request is the key.
    pub balance: Balance,
    /// The method of `hash-type`; consistent by default, as that is what the laboratory is about.
    pub hash_type: HashType,
    /// The function of `hash-type`.
    pub function: Function,
    /// Whether the hash is mixed once more.
    pub avalanche: bool,
    /// `hash-balance-factor` in per cent, at least 101.
    pub balance_factor: Option<u32>,
    /// `option allbackups`.
    pub allbackups: bool,
}

impl Default for Params {
    fn default() -> Self {
        defaults()
    }
}

impl SystemParams for Params {
    const SPECS: &'static [ParamSpec] = &[
        ParamSpec::choice(
            "hash_type",
            &["consistent", "map-based"],
            "consistent or map-based",
            "the method of `hash-type`",
        ),
        ParamSpec::choice(
            "function",
            &["default", "sdbm", "djb2", "crc32", "wt6"],
            "default, sdbm, djb2, crc32 or wt6",
            "the function of `hash-type`; default: sdbm, with avalanche if consistent",
        ),
        ParamSpec::choice("avalanche", NO_YES, "no or yes", "the modifier of `hash-type`"),
        ParamSpec::choice(
            "balance",
            &["hash", "uri", "url_param", "source"],
            "hash, uri, url_param or source",
            "what a key is: the sample itself, a request target (uri, url_param) or an address",
        ),
        ParamSpec::integer("len", "0", (0, 1 << 20), "a length, or 0 for none", "`len` of `balance uri`"),
        ParamSpec::integer("depth", "0", (0, 1 << 20), "a depth, or 0 for none", "`depth` of `balance uri`"),
        ParamSpec::choice("whole", NO_YES, "no or yes", "`whole` of `balance uri`"),
        ParamSpec::text("url_param", "", "the name of a parameter", "the parameter of `balance url_param`"),
        ParamSpec::integer(
            "balance_factor",
            "0",
            (0, 65535),
            "0 for none, or a percentage from 101 to 65535 under hash_type consistent",
            "`hash-balance-factor`: the load a server may have, in per cent of the mean",
        ),
        ParamSpec::choice("allbackups", NO_YES, "no or yes", "`option allbackups`"),
    ];

    fn from_values(values: &Values<'_>) -> Result<Self, BuildError> {
        let hash_type = values.choice("hash_type", &[HashType::Consistent, HashType::MapBased])?;
        let named = values.choice(
            "function",
            &[None, Some(Function::Sdbm), Some(Function::Djb2), Some(Function::Crc32), Some(Function::Wt6)],
        )?;
        let default_avalanche = named.is_none() && hash_type == HashType::Consistent;
        let balance_factor = match values.integer("balance_factor")? {
            0 => None,
            factor if factor > 100 && hash_type == HashType::Consistent => Some(factor),
            _ => return Err(values.refused("balance_factor")),
        };
        Ok(Self {
            balance: Balance::from_values(values)?,
            hash_type,
            function: named.unwrap_or(Function::Sdbm),
            avalanche: values.flag("avalanche")? || default_avalanche,
            balance_factor,
            allbackups: values.flag("allbackups")?,
        })
    }

    fn heap_bytes(&self) -> usize {
        self.balance.heap_bytes()
    }
}

/// The hash that HAProxy takes of the part of a request that `balance` names, in the low 32 bits.
impl KeyHasher for Params {
    fn hash_key(&self, key: &[u8]) -> u64 {
        let hash = match &self.balance {
            Balance::Source => key::address(key),
            balance => self.function.hash(balance.hashed_part(key)),
        };
        u64::from(if self.avalanche { full_hash(hash) } else { hash })
    }
}

/// A server of the backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    id: u32,
    weight: u32,
    /// Whether it is on the ring or in the map: usable, and a backup only if backups have to.
    serves: bool,
    /// Whether its place in the list decides anything.
    by_place: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Up,
    Down,
    Backup,
}

/// The numbers of the servers: those configured, and for each other one the smallest unused number that
/// is at least its place in the list, counted from 1.
fn ids(rows: &[ServerRow]) -> Result<Vec<u32>, BuildError> {
    const ID: &str = "a number from 1 to 2147483647 that no other server has";
    let mut used = BTreeSet::new();
    let mut ids = Vec::with_capacity(rows.len());
    for row in rows {
        let id: Option<u32> = row.parsed("id", ID)?;
        if id.is_some_and(|id| id == 0 || id > i32::MAX.cast_unsigned() || !used.insert(id)) {
            return Err(row.refused("id", ID));
        }
        ids.push(id);
    }
    let mut last = 0;
    let number = |(place, id): (u32, Option<u32>)| {
        id.unwrap_or_else(|| {
            last = place.max(last + 1);
            while used.contains(&last) {
                last += 1;
            }
            last
        })
    };
    Ok((1..).zip(ids).map(number).collect())
}

impl Deployed for Haproxy {
    const NAME: &'static str = "haproxy";
    const SUMMARY: &'static str = "HAProxy 2.6.12: hash-type consistent and map-based, hash-balance-factor";
    const SOURCE: &'static str = "https://docs.haproxy.org/2.6/configuration.html#4.2-hash-type";
    const COMPLEXITY: &'static str = "consistent: lookup O(log(16 W)), 8 bytes a point, 16 points a unit of weight; map-based: lookup O(1), 4 bytes a slot";
    const COLUMNS: &'static [Column] = &[
        Column::new("id", "the server's number; absent: by its place in the list"),
        Column::new("state", "`disabled`, `down` or `maint`: taken off; `backup`: a backup; absent: in use"),
    ];

    type Params = Params;
    type Server = Server;
    type Table = Backend;

    fn read(params: &Params, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        let states = rows
            .iter()
            .map(|row| match row.column("state") {
                _ if row.node.weight > MAX_WEIGHT => Err(row.refused("weight", "a number from 0 to 256")),
                None | Some("up") => Ok(State::Up),
                Some("disabled" | "down" | "maint") => Ok(State::Down),
                Some("backup") => Ok(State::Backup),
                Some(_) => Err(row.refused("state", "up, disabled, down, maint or backup")),
            })
            .collect::<Result<Vec<State>, BuildError>>()?;
        let ids = ids(rows)?;
        let usable = |wanted: State| {
            let states = states.iter();
            states.zip(rows).position(move |(state, row)| *state == wanted && row.node.weight > 0)
        };
        let first_backup = if usable(State::Up).is_some() { None } else { usable(State::Backup) };
        require_some(usable(State::Up).is_some() || first_backup.is_some())?;
        let listed = rows.iter().zip(&states).zip(ids).enumerate();
        Ok(listed
            .map(|(index, ((row, state), id))| Server {
                id,
                weight: row.node.weight,
                serves: match state {
                    // A server of weight 0 is not usable.
                    _ if row.node.weight == 0 => false,
                    State::Up => true,
                    State::Down => false,
                    State::Backup => first_backup.is_some_and(|first| params.allbackups || first == index),
                },
                by_place: row.column("id").is_none() || *state == State::Backup,
            })
            .collect())
    }

    fn estimate(params: &Params, servers: &[Server]) -> u64 {
        let total = total_weight(servers);
        let table = match params.hash_type {
            HashType::Consistent => total * u64::from(POINTS_PER_WEIGHT) * Ring::<u32>::POINT_BYTES,
            HashType::MapBased => 4 * total / u64::from(common_divisor(servers)),
        };
        table + if params.balance_factor.is_some() { Bounds::estimate(servers.len()) } else { 0 }
    }

    fn place(params: &Params, servers: &[Server]) -> Backend {
        let serving = servers.iter().zip(0u32..).filter(|(server, _)| server.serves);
        let lookup = match params.hash_type {
            HashType::Consistent => {
                let points = serving.flat_map(|(server, index)| {
                    (0..POINTS_PER_WEIGHT * server.weight)
                        .map(move |j| (full_hash(server.id.wrapping_mul(4096).wrapping_add(j)), index))
                });
                Lookup::Consistent(Ring::new(points.collect(), Tie::First))
            }
            HashType::MapBased => {
                let divisor = common_divisor(servers);
                let weights = serving.map(|(server, index)| (server.weight / divisor, index));
                Lookup::MapBased(Slots::of_32_bits(map(&weights.collect::<Vec<_>>())))
            }
        };
        let bounds = match params.balance_factor {
            Some(factor) => Bounds::new(factor, servers),
            None => Bounds::default(),
        };
        Backend { lookup, bounds }
    }

    fn capabilities(params: &Params, servers: &[Server]) -> Capabilities {
        let by_place = servers.iter().any(|server| server.by_place);
        let (disruption, order) = match params.hash_type {
            HashType::MapBased => (Disruption::Arbitrary, Order::ListOrder),
            // A server that leaves renumbers those behind it.
            HashType::Consistent if by_place => (Disruption::Arbitrary, Order::ListOrder),
            HashType::Consistent if params.balance_factor.is_some() => {
                (Disruption::Approximate, Order::ListOrder)
            }
            // Numbers below 2^20 share no points.
            HashType::Consistent if servers.iter().all(|server| server.id < 1 << 20) => {
                (Disruption::Minimal, Order::SetOnly)
            }
            HashType::Consistent => (Disruption::Minimal, Order::ListOrder),
        };
        Capabilities::new(Removal::Any, disruption, order).with_weights()
    }

    fn counts_loads(params: &Params) -> bool {
        params.balance_factor.is_some()
    }

    fn as_load_aware(placement: &mut Compat<Self>) -> Option<&mut dyn LoadAware> {
        if placement.params.balance_factor.is_some() { Some(placement) } else { None }
    }
}

fn total_weight(servers: &[Server]) -> u64 {
    servers.iter().filter(|server| server.serves).map(|server| u64::from(server.weight)).sum()
}

/// The greatest common divisor of all weights, those of servers that do not serve included.
fn common_divisor(servers: &[Server]) -> u32 {
    servers.iter().fold(0, |mut divisor, server| {
        let mut rest = server.weight;
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        divisor
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use chash_core::{Build, Distributor, Node, NodeId};

    fn rows(ids: &[&str]) -> Vec<ServerRow> {
        let row = |(id, index): (&&str, u32)| {
            ServerRow::new(Node::new(NodeId(index), format!("s{index}"))).with("id", *id)
        };
        ids.iter().zip(0..).map(row).collect()
    }

    #[test]
    fn numbers_servers_by_their_place() {
        assert_eq!(ids(&rows(&["", "", ""])), Ok(vec![1, 2, 3]));
        assert_eq!(ids(&rows(&["2", "", ""])), Ok(vec![2, 3, 4]));
        assert_eq!(ids(&rows(&["", "1", ""])), Ok(vec![2, 1, 3]));
        assert_eq!(ids(&rows(&["10", "7", ""])), Ok(vec![10, 7, 3]));
        for wrong in ["0", "x", "2147483648", "10"] {
            let list = rows(&["10", wrong]);
            let error = list[1].refused("id", "a number from 1 to 2147483647 that no other server has");
            assert_eq!(ids(&list), Err(error), "{wrong}");
        }
    }

    #[test]
    fn backups_wait_for_the_others() {
        let build = |allbackups, states: &[&str]| {
            let nodes = Node::numbered(states.len() as u32).into_iter();
            let rows = nodes.zip(states).map(|(node, state)| ServerRow::new(node).with("state", *state));
            let params = Params { allbackups, ..Params::default() };
            let backend = Compat::<Haproxy>::from_rows(&params, rows.collect()).unwrap();
            let owners = (0..200u64).map(|i| backend.lookup(chash_core::mix::mix64(i)).0);
            owners.collect::<BTreeSet<u32>>().into_iter().collect::<Vec<u32>>()
        };
        assert_eq!(build(false, &["up", "backup", "backup"]), [0]);
        assert_eq!(build(false, &["down", "backup", "backup"]), [1]);
        assert_eq!(build(true, &["down", "backup", "backup"]), [1, 2]);
    }

    #[test]
    fn shares_add_up() {
        let backend = Compat::<Haproxy>::build(&Params::default(), &Node::numbered(9)).unwrap();
        let total: f64 = (0..9).map(|id| backend.key_share(NodeId(id)).unwrap()).sum();
        assert!((total - 1.0).abs() < 1e-12, "{total}");
    }
}
