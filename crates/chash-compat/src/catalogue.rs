//! Every system, as plain data with function pointers: what a registry needs to list and build them.

use chash_core::{BuildError, Distributor, KeyHasher};

use crate::deployed::hasher;
use crate::{Compat, Deployed, ParamSpec, ServerRow, SystemParams, Values};

/// A column of a server's row that a system reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it says, and what its absence means.
    pub summary: &'static str,
}

impl Column {
    pub(crate) const fn new(name: &'static str, summary: &'static str) -> Self {
        Self { name, summary }
    }

    pub(crate) const HOST: Self =
        Self::new("host", "the host; absent: that of the name, `host` or `host:port`");
    pub(crate) const PORT: Self = Self::new("port", "the port; absent: that of the name, or 11211");
}

/// Parameter values as name and text, each name once.
pub type Given<'a> = &'a [(&'a str, &'a str)];

type Builder = fn(Given<'_>, Vec<ServerRow>) -> Result<Box<dyn Distributor>, BuildError>;

/// A system in the catalogue.
///
/// ```
/// use chash_compat::{ServerRow, System};
/// use chash_core::{Node, NodeId};
/// let redis = System::named("redis").unwrap();
/// let rows = Node::numbered(3).into_iter().map(ServerRow::new).collect();
/// let cluster = redis.build(&[], rows)?;
/// let hasher = redis.hasher(&[])?;
/// assert_eq!(cluster.lookup(hasher.hash_key(b"foo{bar}")), NodeId(0));
/// # Ok::<(), chash_core::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct System {
    /// Its name; a registry puts `compat.` before it.
    pub name: &'static str,
    /// What is reproduced, in one line, with the version that the recorded answers come from.
    pub summary: &'static str,
    /// Where the rules are described.
    pub source: &'static str,
    /// Time of a lookup and memory, in named variables.
    pub complexity: &'static str,
    /// Its parameters.
    pub params: &'static [ParamSpec],
    /// The further columns of a server's row that it reads.
    pub columns: &'static [Column],
    hasher: fn(Given<'_>) -> Result<Box<dyn KeyHasher>, BuildError>,
    estimate: fn(Given<'_>, &[ServerRow]) -> Result<u64, BuildError>,
    build: Builder,
}

impl System {
    /// The row of a system.
    pub(crate) const fn of<S: Deployed>() -> Self {
        Self {
            name: S::NAME,
            summary: S::SUMMARY,
            source: S::SOURCE,
            complexity: S::COMPLEXITY,
            params: S::Params::SPECS,
            columns: S::COLUMNS,
            hasher: |given| Ok(hasher::<S>(params::<S>(given)?)),
            estimate: |given, rows| Ok(Compat::<S>::estimate_bytes(&params::<S>(given)?, rows)),
            build: |given, rows| Ok(Box::new(Compat::<S>::from_rows(&params::<S>(given)?, rows)?)),
        }
    }

    /// The system with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        SYSTEMS.iter().find(|system| system.name == name)
    }

    /// The hasher of the system's keys: what turns a key's bytes into what its placement looks up.
    ///
    /// # Errors
    ///
    /// `Parameter` for a value out of range, a name that is not listed or one given twice.
    pub fn hasher(&self, given: Given<'_>) -> Result<Box<dyn KeyHasher>, BuildError> {
        (self.hasher)(given)
    }

    /// The heap bytes of a placement of these rows, without building it; 0 for rows that are refused.
    ///
    /// # Errors
    ///
    /// As [`hasher`](Self::hasher).
    pub fn estimate_bytes(&self, given: Given<'_>, rows: &[ServerRow]) -> Result<u64, BuildError> {
        (self.estimate)(given, rows)
    }

    /// Builds the placement of these rows.
    ///
    /// # Errors
    ///
    /// As [`hasher`](Self::hasher) for the parameters and [`Compat::from_rows`] for the rows.
    pub fn build(&self, given: Given<'_>, rows: Vec<ServerRow>) -> Result<Box<dyn Distributor>, BuildError> {
        (self.build)(given, rows)
    }
}

fn params<S: Deployed>(given: Given<'_>) -> Result<S::Params, BuildError> {
    S::Params::from_values(&Values::new(S::Params::SPECS, given)?)
}

/// Every system, in the order in which they are listed.
pub static SYSTEMS: &[System] = &[
    System::of::<crate::nginx::Nginx>(),
    System::of::<crate::ingress_nginx::IngressNginx>(),
    System::of::<crate::haproxy::Haproxy>(),
    System::of::<crate::envoy::Envoy>(),
    System::of::<crate::libketama::Libketama>(),
    System::of::<crate::libmemcached::Libmemcached>(),
    System::of::<crate::twemproxy::Twemproxy>(),
    System::of::<crate::spymemcached::Spymemcached>(),
    System::of::<crate::uhashring::Uhashring>(),
    System::of::<crate::node_hashring::NodeHashring>(),
    System::of::<crate::redis::RedisCluster>(),
    System::of::<crate::cassandra::Cassandra>(),
    System::of::<crate::ex_hash_ring::ExHashRing>(),
    System::of::<crate::guava::Guava>(),
    System::of::<crate::katran::Katran>(),
    System::of::<crate::cilium::Cilium>(),
    System::of::<crate::sha1ring::Sha1Ring32>(),
    System::of::<crate::sha1ring::Sha1Ring64>(),
];
