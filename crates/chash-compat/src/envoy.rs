//! Envoy 1.40.0: the load balancers `RING_HASH` and `MAGLEV`, and bounded loads by `hash_balance_factor`.
//!
//! The ring has at least 1024 points of 64 bits in all, shared in proportion to the weights; a key
//! belongs to the first point at or after its XXH64. Maglev fills a table of 65537 slots, hosts in
//! the order of their hashed names; a key's slot is the remainder of its hash.
//! Unhealthy hosts are left out first, unless fewer than half are healthy.
//!
//! V points, N hosts, M slots: a lookup is a binary search over 12 V bytes, or one read in 4 M bytes.
//!
//! The ring's size depends on the number of hosts and their weights, and a host's first point on the
//! fractions of those before it: a change of the list adds or takes points of hosts that did not
//! change. Maglev moves some keys of unchanged hosts by design.

mod bounded;
mod tables;

use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, LoadAware, Order, Removal};
use xxhash_rust::xxh64::xxh64;

use self::bounded::Bounds;
pub use self::tables::Cluster;
use self::tables::{Lookup, maglev, ring, ring_size, weighted};
use crate::hash::murmur::murmur2_64_libstdcxx;
use crate::params::{NO_YES, ParamSpec, SystemParams, Values, defaults};
use crate::ring::Ring;
use crate::row::require_some;
use crate::slots::{MAX_TABLE_SIZE, is_prime};
use crate::{Column, Compat, Deployed, ServerRow};

/// The largest ring that Envoy builds.
const MAX_RING_SIZE: u64 = 8_388_608;

/// Envoy.
#[derive(Clone, Copy, Debug)]
pub struct Envoy;

/// `lb_policy` of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// `RING_HASH`.
    RingHash,
    /// `MAGLEV`.
    Maglev,
}

/// `hash_function` of a ring: that of its points, not of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashFunction {
    /// `XX_HASH`.
    XxHash,
    /// `MURMUR_HASH_2`.
    MurmurHash2,
}

impl HashFunction {
    fn hash(self, bytes: &[u8]) -> u64 {
        match self {
            Self::XxHash => xxh64(bytes, 0),
            Self::MurmurHash2 => murmur2_64_libstdcxx(bytes),
        }
    }
}

/// The settings of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// `lb_policy`.
    pub policy: Policy,
    /// `hash_function` of the ring.
    pub hash_function: HashFunction,
    /// `minimum_ring_size`.
    pub minimum_ring_size: u64,
    /// `maximum_ring_size`, at least the minimum.
    pub maximum_ring_size: u64,
    /// `table_size` of Maglev, a prime number.
    pub table_size: u32,
    /// `use_hostname_for_hashing`.
    pub use_hostname: bool,
    /// `hash_balance_factor` in per cent, at least 100.
    pub balance_factor: Option<u32>,
    /// `healthy_panic_threshold`: below this percentage of healthy hosts all are used.
    pub panic_threshold: u32,
}

impl Default for Params {
    fn default() -> Self {
        defaults()
    }
}

impl SystemParams for Params {
    const SPECS: &'static [ParamSpec] = &[
        ParamSpec::choice(
            "policy",
            &["ring_hash", "maglev"],
            "ring_hash or maglev",
            "the cluster's `lb_policy`",
        ),
        ParamSpec::choice(
            "hash_function",
            &["xx_hash", "murmur_hash_2"],
            "xx_hash or murmur_hash_2",
            "the function of the ring's points; keys are always hashed by XXH64",
        ),
        ParamSpec::integer(
            "minimum_ring_size",
            "1024",
            (1, MAX_RING_SIZE),
            "a number from 1 to 8388608, at most maximum_ring_size",
            "the ring has at least so many points",
        ),
        ParamSpec::integer(
            "maximum_ring_size",
            "8388608",
            (1, MAX_RING_SIZE),
            "a number from 1 to 8388608",
            "the ring has at most so many points",
        ),
        ParamSpec::integer(
            "table_size",
            "65537",
            (2, MAX_TABLE_SIZE),
            "a prime number up to 5000011",
            "slots of the Maglev table",
        ),
        ParamSpec::choice("use_hostname", NO_YES, "no or yes", "`use_hostname_for_hashing`"),
        ParamSpec::integer(
            "balance_factor",
            "0",
            (0, u32::MAX as u64),
            "0 for none, or a percentage of at least 100",
            "`hash_balance_factor`: the load a host may have, in per cent of its share",
        ),
        ParamSpec::integer(
            "panic_threshold",
            "50",
            (0, 100),
            "a percentage",
            "`healthy_panic_threshold`: with fewer healthy hosts all are used",
        ),
    ];

    fn from_values(values: &Values<'_>) -> Result<Self, BuildError> {
        let params = Self {
            policy: values.choice("policy", &[Policy::RingHash, Policy::Maglev])?,
            hash_function: values
                .choice("hash_function", &[HashFunction::XxHash, HashFunction::MurmurHash2])?,
            minimum_ring_size: values.integer("minimum_ring_size")?,
            maximum_ring_size: values.integer("maximum_ring_size")?,
            table_size: values.integer("table_size")?,
            use_hostname: values.flag("use_hostname")?,
            balance_factor: match values.integer("balance_factor")? {
                0 => None,
                factor @ 100.. => Some(factor),
                _ => return Err(values.refused("balance_factor")),
            },
            panic_threshold: values.integer("panic_threshold")?,
        };
        if params.minimum_ring_size > params.maximum_ring_size {
            return Err(values.refused("minimum_ring_size"));
        }
        if !is_prime(params.table_size) {
            return Err(values.refused("table_size"));
        }
        Ok(params)
    }
}

/// XXH64 of the key, seed 0: the hash of a policy with one header.
impl KeyHasher for Params {
    fn hash_key(&self, key: &[u8]) -> u64 {
        xxh64(key, 0)
    }
}

/// The hash of a request under several policies, in order: the value that each yields, or `None`.
///
/// `None` if no policy yields one; Envoy then takes a random host.
///
/// ```
/// use chash_compat::envoy::request_hash;
/// use chash_compat::{System, envoy::Params};
/// use chash_core::KeyHasher;
/// assert_eq!(request_hash([None, Some(&b"key"[..])]), Some(Params::default().hash_key(b"key")));
/// assert_eq!(request_hash([]), None);
/// ```
#[must_use]
pub fn request_hash<'a>(values: impl IntoIterator<Item = Option<&'a [u8]>>) -> Option<u64> {
    let hashes = values.into_iter().flatten().map(|value| xxh64(value, 0));
    hashes.reduce(|hash, value| hash.rotate_left(1) ^ value)
}

/// A host of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The text that is hashed.
    name: Box<str>,
    weight: u32,
    /// Whether requests can go to it.
    used: bool,
}

impl Deployed for Envoy {
    const NAME: &'static str = "envoy";
    const SUMMARY: &'static str = "Envoy 1.40.0: RING_HASH, MAGLEV, hash_balance_factor";
    const SOURCE: &'static str = "https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/load_balancing/load_balancers";
    const COMPLEXITY: &'static str = "ring_hash: lookup O(log V), 12 bytes a point, V >= 1024 points in all; maglev: lookup O(1), 4 bytes a slot";
    const COLUMNS: &'static [Column] = &[
        Column::new("hash_key", "the endpoint metadata `envoy.lb` `hash_key`: hashed instead of the name"),
        Column::new("hostname", "the host name, hashed instead of the name under use_hostname"),
        Column::new(
            "health_status",
            "UNHEALTHY, DRAINING or TIMEOUT: left out; HEALTHY, UNKNOWN or absent: used",
        ),
    ];

    type Params = Params;
    type Server = Server;
    type Table = Cluster;

    fn read(params: &Params, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        let healthy = rows
            .iter()
            .map(|row| match row.column("health_status") {
                None | Some("HEALTHY" | "UNKNOWN") => Ok(true),
                Some("UNHEALTHY" | "DRAINING" | "TIMEOUT") => Ok(false),
                Some(_) => {
                    Err(row.refused("health_status", "HEALTHY, UNKNOWN, UNHEALTHY, DRAINING or TIMEOUT"))
                }
            })
            .collect::<Result<Vec<bool>, BuildError>>()?;
        // A weight of 0, which Envoy does not accept, is a host that is not in the cluster.
        let listed = || rows.iter().zip(&healthy).filter(|(row, _)| row.node.weight > 0);
        require_some(listed().count() > 0)?;
        let well = listed().filter(|(_, healthy)| **healthy).count() as u64;
        let panic = 100 * well < u64::from(params.panic_threshold) * listed().count() as u64;
        require_some(panic || well > 0)?;
        let server = |(row, healthy): (&ServerRow, bool)| {
            let host_name = if params.use_hostname { row.column("hostname") } else { None };
            Server {
                name: row.column("hash_key").or(host_name).unwrap_or(&row.node.name).into(),
                weight: row.node.weight,
                used: row.node.weight > 0 && (healthy || panic),
            }
        };
        Ok(rows.iter().zip(healthy).map(server).collect())
    }

    fn estimate(params: &Params, servers: &[Server]) -> u64 {
        let hosts = weighted(servers);
        let table = match params.policy {
            Policy::RingHash => ring_size(params, &hosts).ceil() as u64 * Ring::<u64>::POINT_BYTES,
            Policy::Maglev => 4 * u64::from(params.table_size),
        };
        table + if params.balance_factor.is_some() { Bounds::estimate(hosts.len()) } else { 0 }
    }

    fn place(params: &Params, servers: &[Server]) -> Cluster {
        let hosts = weighted(servers);
        let bounds = match params.balance_factor {
            Some(factor) => Bounds::new(factor, hosts.iter().map(|(_, index, share)| (*index, *share))),
            None => Bounds::default(),
        };
        let lookup = match params.policy {
            Policy::RingHash => Lookup::RingHash(ring(params, &hosts)),
            Policy::Maglev => Lookup::Maglev(maglev(params, hosts)),
        };
        Cluster { lookup, bounds }
    }

    fn capabilities(params: &Params, servers: &[Server]) -> Capabilities {
        let mut names: Vec<&str> = servers.iter().map(|server| &*server.name).collect();
        names.sort_unstable();
        let unique = names.windows(2).all(|pair| pair[0] != pair[1]);
        // The order of the list decides for the ring, under bounded loads, and between equal hash keys.
        let order = match params.policy {
            Policy::Maglev if unique && params.balance_factor.is_none() => Order::SetOnly,
            _ => Order::ListOrder,
        };
        Capabilities::new(Removal::Any, Disruption::Approximate, order).with_weights()
    }

    fn counts_loads(params: &Params) -> bool {
        params.balance_factor.is_some()
    }

    fn as_load_aware(placement: &mut Compat<Self>) -> Option<&mut dyn LoadAware> {
        if placement.params.balance_factor.is_some() { Some(placement) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chash_core::{Build, Distributor, Node, NodeId};

    fn cluster(params: &Params, hosts: &[(&str, u32)]) -> Compat<Envoy> {
        let node =
            |((name, weight), id): (&(&str, u32), u32)| Node::new(NodeId(id), *name).with_weight(*weight);
        let nodes: Vec<Node> = hosts.iter().zip(0..).map(node).collect();
        Compat::build(params, &nodes).unwrap()
    }

    fn points(params: &Params, weights: &[u32]) -> Vec<usize> {
        let names = ["a", "b", "c", "d", "e"];
        let hosts: Vec<(&str, u32)> = names.into_iter().zip(weights.iter().copied()).collect();
        let Lookup::RingHash(ring) = cluster(params, &hosts).table.lookup else { unreachable!() };
        (0..weights.len() as u32)
            .map(|host| (0..ring.len()).filter(|p| ring.owner(*p) == host).count())
            .collect()
    }

    /// Equal hosts get more points than the minimum asks for, and a light one beside a heavy one gets few or none.
    #[test]
    fn the_ring_size_depends_on_the_hosts() {
        assert_eq!(points(&Params::default(), &[1; 5]), [205; 5]);
        assert_eq!(points(&Params::default(), &[1; 4]), [256; 4]);
        let small = Params { minimum_ring_size: 1, maximum_ring_size: 10, ..Params::default() };
        assert_eq!(points(&small, &[1, 1, 1000]), [1, 0, 9]);
    }

    const SIX: [(&str, u32); 6] = [
        ("127.0.0.1:90", 1),
        ("127.0.0.1:91", 1),
        ("127.0.0.1:92", 1),
        ("127.0.0.1:93", 1),
        ("127.0.0.1:94", 1),
        ("127.0.0.1:95", 1),
    ];

    /// From Envoy's own unit tests: the largest hash wraps around to :94.
    #[test]
    fn the_ring_wraps() {
        let ring = cluster(&Params { minimum_ring_size: 12, ..Params::default() }, &SIX);
        assert_eq!(ring.lookup(u64::MAX), NodeId(4));
        assert_eq!(ring.lookup(833_437_586_790_550_860), NodeId(4));
        assert_ne!(ring.lookup(833_437_586_790_550_861), NodeId(4));
    }

    /// From Envoy's own unit tests: a table of 7 slots, in any order of the list.
    #[test]
    fn maglev_sorts_by_name() {
        let params = Params { policy: Policy::Maglev, table_size: 7, ..Params::default() };
        let mut hosts = SIX;
        for rotation in 0..6 {
            let table = cluster(&params, &hosts);
            let names = (0..7).map(|slot| hosts[table.lookup(slot).index()].0).collect::<Vec<_>>();
            let ports = [92, 94, 90, 91, 95, 90, 93].map(|port| format!("127.0.0.1:{port}"));
            assert_eq!(names, ports, "rotated by {rotation}");
            hosts.rotate_left(1);
        }
    }

    #[test]
    fn maglev_weights_are_shares_of_the_table() {
        let params = Params { policy: Policy::Maglev, table_size: 101, ..Params::default() };
        let table = cluster(&params, &[("a", 1), ("b", 10)]);
        assert_eq!((0..101).filter(|slot| table.lookup(*slot) == NodeId(0)).count(), 10);
    }

    /// With fewer than half of the hosts healthy, all are used.
    #[test]
    fn panics_below_the_threshold() {
        let build = |unhealthy: usize| {
            let row = |node: Node| {
                let status = if node.id.index() < unhealthy { "UNHEALTHY" } else { "HEALTHY" };
                ServerRow::new(node).with("health_status", status)
            };
            let rows = Node::numbered(4).into_iter().map(row).collect();
            Compat::<Envoy>::from_rows(&Params::default(), rows).unwrap()
        };
        assert_eq!(build(2).key_share(NodeId(0)), Some(0.0));
        assert!(build(3).key_share(NodeId(0)).unwrap() > 0.1);
    }
}
