//! Apache Cassandra, as its drivers see it (cassandra-driver 3.30.1 for Python): token rings under
//! Murmur3Partitioner and RandomPartitioner, and the replicas of SimpleStrategy and NetworkTopologyStrategy.
//!
//! A node owns, for each of its tokens, what lies after the token before and up to its own. SimpleStrategy
//! takes the next distinct nodes around the ring; NetworkTopologyStrategy does so in each data centre by
//! itself, racks that have no replica yet first.
//!
//! T tokens: a lookup is a binary search over them, 12 or 20 bytes a token; under NetworkTopologyStrategy it
//! also walks to the first token of the first data centre.
//!
//! A real node draws its tokens at random when it joins. Where the column `tokens` does not state them, they
//! are those of the texts `name-0`, `name-1`, … here, so that a placement repeats.

mod replicas;
mod token;

use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, Order, Removal, Replicated, Work};

pub use self::replicas::Topology;
pub use self::token::{Partitioner, composite_key, murmur3_token, random_token};
use crate::params::{ParamSpec, SystemParams, Values, defaults};
use crate::ring::{Position as _, Ring, Tie};
use crate::row::{require_some, require_unit_weights};
use crate::{Column, Compat, Deployed, ServerRow, Table, points};

/// Apache Cassandra.
#[derive(Clone, Copy, Debug)]
pub struct Cassandra;

/// The replication strategy of a keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Replication {
    /// `SimpleStrategy`; the factor is what the caller asks for.
    Simple,
    /// `NetworkTopologyStrategy`: data centres, each once, with their factors.
    NetworkTopology(Box<[(Box<str>, u32)]>),
}

/// The settings of a cluster and a keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// The partitioner.
    pub partitioner: Partitioner,
    /// The strategy.
    pub replication: Replication,
    /// Tokens of a node that states none; 16 since Cassandra 4.0.
    pub num_tokens: u32,
}

impl Default for Params {
    fn default() -> Self {
        defaults()
    }
}

impl SystemParams for Params {
    const SPECS: &'static [ParamSpec] = &[
        ParamSpec::choice(
            "partitioner",
            &["murmur3", "random"],
            "murmur3 or random",
            "the cluster's partitioner",
        ),
        ParamSpec::text(
            "replication",
            "simple",
            "simple, or data centres with factors such as dc1:3+dc2:2",
            "SimpleStrategy, or the factors of NetworkTopologyStrategy",
        ),
        ParamSpec::integer(
            "num_tokens",
            "16",
            (1, 1 << 16),
            "a number from 1 to 65536",
            "tokens of a node whose column `tokens` is empty",
        ),
    ];

    fn from_values(values: &Values<'_>) -> Result<Self, BuildError> {
        let replication = match values.text("replication") {
            "simple" => Replication::Simple,
            text => factors(text).ok_or_else(|| values.refused("replication"))?,
        };
        Ok(Self {
            partitioner: values.choice("partitioner", &[Partitioner::Murmur3, Partitioner::Random])?,
            replication,
            num_tokens: values.integer("num_tokens")?,
        })
    }

    fn heap_bytes(&self) -> usize {
        match &self.replication {
            Replication::Simple => 0,
            Replication::NetworkTopology(factors) => {
                size_of_val(&**factors) + factors.iter().map(|(dc, _)| dc.len()).sum::<usize>()
            }
        }
    }
}

/// `dc1:3+dc2:2`, each data centre once and with a factor of at least 1.
fn factors(text: &str) -> Option<Replication> {
    let mut factors: Vec<(Box<str>, u32)> = Vec::new();
    for part in text.split('+') {
        let (dc, factor) = part.rsplit_once(':')?;
        let factor = factor.parse().ok().filter(|factor| *factor > 0)?;
        if dc.is_empty() || factors.iter().any(|(other, _)| &**other == dc) {
            return None;
        }
        factors.push((dc.into(), factor));
    }
    Some(Replication::NetworkTopology(factors.into()))
}

/// The token. Murmur3: the signed token's bits. Random: the token's top 64 of 128 bits, where the token of
/// 127 bits is shifted left by one.
impl KeyHasher for Params {
    fn hash_key(&self, key: &[u8]) -> u64 {
        match self.partitioner {
            Partitioner::Murmur3 => murmur3_token(key).cast_unsigned(),
            Partitioner::Random => (token::position(random_token(key)) >> 64) as u64,
        }
    }
}

/// A node of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Each as the bits of its position on the ring.
    tokens: Vec<u128>,
    dc: Box<str>,
    rack: Box<str>,
}

/// The ring of a cluster, and what NetworkTopologyStrategy has to know of its nodes.
#[derive(Clone, Debug)]
pub struct Tokens {
    ring: TokenRing,
    /// Absent under SimpleStrategy.
    topology: Option<Topology>,
}

#[derive(Clone, Debug)]
enum TokenRing {
    Murmur3(Ring<i64>),
    Random(Ring<u128>),
}

impl TokenRing {
    /// The point of the node that owns a hashed key.
    fn point(&self, key: u64) -> usize {
        match self {
            Self::Murmur3(ring) => ring.at_or_after(i64::from_key(key)),
            Self::Random(ring) => ring.at_or_after(u128::from_key(key)),
        }
    }

    fn owner(&self, point: usize) -> u32 {
        match self {
            Self::Murmur3(ring) => ring.owner(point),
            Self::Random(ring) => ring.owner(point),
        }
    }

    /// The owners of every token, from this one on and around the ring.
    fn owners_from(&self, point: usize) -> impl Iterator<Item = u32> {
        let len = match self {
            Self::Murmur3(ring) => ring.len(),
            Self::Random(ring) => ring.len(),
        };
        (point..len).chain(0..point).map(|point| self.owner(point))
    }
}

impl Tokens {
    /// The first replica of the keys that a token's range holds.
    fn first_replica(&self, point: usize) -> u32 {
        match &self.topology {
            None => self.ring.owner(point),
            Some(topology) => topology.first_replica(self.ring.owners_from(point)),
        }
    }
}

/// The tokens of the column, or those that stand in for random ones.
fn tokens(params: &Params, row: &ServerRow) -> Result<Vec<u128>, BuildError> {
    let partitioner = params.partitioner;
    let Some(column) = row.column("tokens") else {
        let text = |i| format!("{}-{i}", row.node.name);
        return Ok((0..params.num_tokens).map(|i| partitioner.bits_of_key(text(i).as_bytes())).collect());
    };
    let texts = column.split([' ', ',', ';']).filter(|text| !text.is_empty());
    let error = || row.refused("tokens", "tokens of the partitioner, separated by spaces");
    texts.map(|text| partitioner.bits_of_token(text).ok_or_else(error)).collect()
}

/// Refuses a token that two nodes have.
fn require_distinct(rows: &[ServerRow], servers: &[Server]) -> Result<(), BuildError> {
    let owners = servers.iter().zip(rows);
    let mut all: Vec<(u128, &ServerRow)> =
        owners.flat_map(|(server, row)| server.tokens.iter().map(move |token| (*token, row))).collect();
    all.sort_by_key(|(token, _)| *token);
    match all.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(pair[1].1.refused("tokens", "tokens that no other node has")),
        None => require_some(!all.is_empty()),
    }
}

impl Deployed for Cassandra {
    const NAME: &'static str = "cassandra";
    const SUMMARY: &'static str =
        "Apache Cassandra as cassandra-driver 3.30.1 sees it: partitioners, token rings, replicas";
    const SOURCE: &'static str = "https://cassandra.apache.org/doc/latest/cassandra/architecture/dynamo.html";
    const COMPLEXITY: &'static str = "lookup O(log T), 12 bytes a token (murmur3) or 20 (random)";
    const COLUMNS: &'static [Column] = &[
        Column::new(
            "tokens",
            "the node's tokens, separated by spaces; absent: num_tokens made from its name",
        ),
        Column::new("dc", "the data centre; absent: datacenter1"),
        Column::new("rack", "the rack; absent: rack1"),
    ];

    type Params = Params;
    type Server = Server;
    type Table = Tokens;

    fn read(params: &Params, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        require_unit_weights(rows)?;
        let servers = rows
            .iter()
            .map(|row| {
                Ok(Server {
                    tokens: tokens(params, row)?,
                    dc: row.column("dc").unwrap_or("datacenter1").into(),
                    rack: row.column("rack").unwrap_or("rack1").into(),
                })
            })
            .collect::<Result<Vec<Server>, BuildError>>()?;
        points::limit(servers.iter().map(|server| server.tokens.len() as u64).sum())?;
        require_distinct(rows, &servers)?;
        if let Replication::NetworkTopology(factors) = &params.replication {
            let replicates = |server: &Server| factors.iter().any(|(dc, _)| *dc == server.dc);
            require_some(servers.iter().any(|server| !server.tokens.is_empty() && replicates(server)))?;
        }
        Ok(servers)
    }

    fn estimate(params: &Params, servers: &[Server]) -> u64 {
        let tokens: u64 = servers.iter().map(|server| server.tokens.len() as u64).sum();
        let ring = match params.partitioner {
            Partitioner::Murmur3 => tokens * Ring::<i64>::POINT_BYTES,
            Partitioner::Random => tokens * Ring::<u128>::POINT_BYTES,
        };
        let topology = match &params.replication {
            Replication::Simple => 0,
            Replication::NetworkTopology(factors) => Topology::estimate(servers.len(), factors.len()),
        };
        ring + topology
    }

    fn place(params: &Params, servers: &[Server]) -> Tokens {
        let points = servers.iter().zip(0u32..);
        let points =
            points.flat_map(|(server, index)| server.tokens.iter().map(move |token| (*token, index)));
        let ring = match params.partitioner {
            Partitioner::Murmur3 => {
                let points = points.map(|(token, index)| ((token as u64).cast_signed(), index));
                TokenRing::Murmur3(Ring::new(points.collect(), Tie::First))
            }
            Partitioner::Random => TokenRing::Random(Ring::new(points.collect(), Tie::First)),
        };
        let topology = match &params.replication {
            Replication::Simple => None,
            Replication::NetworkTopology(factors) => {
                Some(Topology::new(factors, servers, ring.owners_from(0)))
            }
        };
        Tokens { ring, topology }
    }

    fn capabilities(params: &Params, _: &[Server]) -> Capabilities {
        let disruption = match params.replication {
            Replication::Simple => Disruption::Minimal,
            // Which data centre comes first hangs on the least token of all.
            Replication::NetworkTopology(_) => Disruption::Arbitrary,
        };
        Capabilities::new(Removal::Any, disruption, Order::SetOnly)
    }

    fn find_bytes(table: &Tokens, params: &Params, key: &[u8]) -> u32 {
        match &table.ring {
            TokenRing::Murmur3(_) => table.find(params.hash_key(key)),
            TokenRing::Random(ring) => {
                table.first_replica(ring.at_or_after(token::position(random_token(key))))
            }
        }
    }

    fn as_replicated(placement: &Compat<Self>) -> Option<&dyn Replicated> {
        Some(placement)
    }
}

impl Table for Tokens {
    fn find(&self, key: u64) -> u32 {
        self.first_replica(self.ring.point(key))
    }

    /// Without the steps to the first data centre.
    fn work(&self, key: u64) -> Work {
        match &self.ring {
            TokenRing::Murmur3(ring) => ring.work(key),
            TokenRing::Random(ring) => ring.work(key),
        }
    }

    fn shares(&self, count: usize) -> Option<Vec<f64>> {
        let owner = |point| self.first_replica(point);
        Some(match &self.ring {
            TokenRing::Murmur3(ring) => ring.arcs(count, owner),
            TokenRing::Random(ring) => ring.arcs(count, owner),
        })
    }

    fn heap_bytes(&self) -> usize {
        let ring = match &self.ring {
            TokenRing::Murmur3(ring) => ring.heap_bytes(),
            TokenRing::Random(ring) => ring.heap_bytes(),
        };
        ring + self.topology.as_ref().map_or(0, Topology::heap_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chash_core::{Distributor, Node, NodeId};

    fn row(id: u32, tokens: &str) -> ServerRow {
        ServerRow::new(Node::new(NodeId(id), format!("10.0.0.{id}"))).with("tokens", tokens)
    }

    /// Ranges are open on the left and closed on the right.
    #[test]
    fn a_token_belongs_to_its_node() {
        let rows = vec![row(0, "100"), row(1, "200"), row(2, "-999")];
        let ring = Compat::<Cassandra>::from_rows(&Params::default(), rows).unwrap();
        let owner = |token: i64| ring.lookup(token.cast_unsigned()).0;
        assert_eq!([-1000, -999, -998, 100, 101, 200, 201].map(owner), [2, 2, 0, 0, 1, 1, 2]);
    }

    #[test]
    fn refuses_what_is_no_ring() {
        let build = |params: &Params, rows| Compat::<Cassandra>::from_rows(params, rows).map(|_| ());
        let refused =
            |requirement| Err(BuildError::Node { node: "10.0.0.1".into(), column: "tokens", requirement });
        let murmur3 = Params::default();
        assert_eq!(
            build(&murmur3, vec![row(0, "5 6"), row(1, "6")]),
            refused("tokens that no other node has")
        );
        let form = "tokens of the partitioner, separated by spaces";
        assert_eq!(build(&murmur3, vec![row(1, "9223372036854775808")]), refused(form));
        let random = Params { partitioner: Partitioner::Random, ..Params::default() };
        assert_eq!(build(&random, vec![row(1, "-1")]), refused(form));
        assert_eq!(build(&random, vec![row(1, "9223372036854775808")]), Ok(()));
        let elsewhere = Params { replication: factors("dc9:3").unwrap(), ..Params::default() };
        assert_eq!(build(&elsewhere, vec![row(1, "1")]), Err(BuildError::NoNodes));
    }

    #[test]
    fn factors_are_read() {
        let read = |text| {
            factors(text).map(|replication| match replication {
                Replication::NetworkTopology(factors) => factors.len(),
                Replication::Simple => 0,
            })
        };
        assert_eq!([read("dc1:3"), read("dc1:3+dc2:2"), read("a:b:1")], [Some(1), Some(2), Some(1)]);
        for wrong in ["", "dc1", "dc1:0", "dc1:x", "dc1:1+dc1:2", ":1", "dc1:1+"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
