//! NGINX 1.22.1: `hash KEY consistent` and `hash KEY` of an `upstream` block.
//!
//! The consistent method puts 160 points for each unit of weight on a 32-bit ring, chained CRC-32
//! values of the server's text; the plain one takes a remainder by the total weight, and hashes again
//! with the attempt's number in front while the server found is down.
//! Servers that are down stay on the ring and in the total: their keys go to the next usable server,
//! and nobody else's move.
//!
//! V points, N servers: a lookup is a binary search (plus up to 21 points past servers that are
//! down), 8 bytes a point; the plain method scans up to N weights, 21 times at most.
//!
//! Known limits: CRC-32 of names that differ in one digit spreads unevenly over the ring, so shares
//! are far from equal; the plain method moves nearly every key when the total weight changes.
//!
//! Where NGINX falls back on round robin, which has a state, the answer here is that of a worker
//! that has served nothing yet. `backup` is refused, as NGINX refuses it beside `hash`.
//! A weight of 0, which NGINX does not accept, means a server that is listed but never chosen.

use core::cmp::Reverse;

use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, Order, Removal, Work};

use crate::hash::crc::{Crc32, crc32};
use crate::params::{ParamSpec, SystemParams, Values, defaults};
use crate::ring::{Ring, Tie};
use crate::row::{require_some, split_port};
use crate::{Column, Deployed, ServerRow, Table, points};

/// Points of a server for each unit of its weight.
const POINTS_PER_WEIGHT: u64 = 160;

/// Points or attempts after which NGINX gives up on the hash: more than 20 tries.
const MAX_TRIES: usize = 21;

/// Which of the two methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// `hash KEY consistent`.
    Consistent,
    /// `hash KEY`.
    Plain,
}

/// The parameters of an NGINX upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The method; consistent by default, as that is what the laboratory is about.
    pub method: Method,
}

impl Default for Params {
    fn default() -> Self {
        defaults()
    }
}

impl SystemParams for Params {
    const SPECS: &'static [ParamSpec] = &[ParamSpec::choice(
        "method",
        &["consistent", "plain"],
        "consistent or plain",
        "`hash KEY consistent` or `hash KEY`",
    )];

    fn from_values(values: &Values<'_>) -> Result<Self, BuildError> {
        Ok(Self { method: values.choice("method", &[Method::Consistent, Method::Plain])? })
    }
}

/// CRC-32 of the key, in the low 32 bits.
impl KeyHasher for Params {
    fn hash_key(&self, key: &[u8]) -> u64 {
        u64::from(crc32(key))
    }
}

/// A line `server` of the upstream block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    text: Box<str>,
    weight: u32,
    usable: bool,
}

/// NGINX.
#[derive(Clone, Copy, Debug)]
pub struct Nginx;

/// NGINX's table for one upstream.
#[derive(Clone, Debug)]
pub struct Upstream {
    method: Lookup,
    /// Where a request goes that the hash cannot place.
    fallback: u32,
    /// Whether each server can be used; empty if all can.
    usable: Box<[bool]>,
}

#[derive(Clone, Debug)]
enum Lookup {
    Consistent(Ring<u32>),
    /// The weights, and their sum.
    Plain(Box<[u32]>, u64),
}

impl Upstream {
    fn is_usable(&self, server: u32) -> bool {
        self.usable.is_empty() || self.usable[server as usize]
    }

    /// The server of the first usable point from this one on.
    fn walk(&self, ring: &Ring<u32>, from: usize) -> u32 {
        let mut owners = ring.walk(from).take(MAX_TRIES).map(|point| ring.owner(point));
        owners.find(|server| self.is_usable(*server)).unwrap_or(self.fallback)
    }

    /// The plain method; `hash` gives the CRC-32 of an attempt.
    fn attempts(&self, weights: &[u32], total: u64, hash: impl Fn(usize) -> u32) -> u32 {
        let mut sum = 0;
        for attempt in 0..MAX_TRIES {
            sum += u64::from((hash(attempt) >> 16) & 0x7fff);
            let mut rest = sum % total;
            let mut candidates = weights.iter().zip(0u32..);
            let found = candidates.find(|(weight, _)| {
                let weight = u64::from(**weight);
                let here = rest < weight;
                rest = rest.saturating_sub(weight);
                here
            });
            let (_, server) = found.expect("a remainder by the total is below the sum of the weights");
            if self.is_usable(server) {
                return server;
            }
        }
        self.fallback
    }
}

/// CRC-32 of the key with an attempt's number in front; attempt 0 has none.
fn attempt_hash(attempt: usize, key: &[u8]) -> u32 {
    let mut crc = Crc32::new();
    // Below 100, and written without allocating: this is part of a lookup.
    let digits = [b'0' + (attempt / 10) as u8, b'0' + (attempt % 10) as u8];
    match attempt {
        0 => {}
        1..10 => crc.update(&digits[1..]),
        _ => crc.update(&digits),
    }
    crc.update(key);
    crc.finalize()
}

/// Host and port as they go into the points: as written, never resolved.
fn host_and_port(text: &str) -> (&str, &str) {
    match text.split_at_checked(5) {
        Some((scheme, path)) if scheme.eq_ignore_ascii_case("unix:") => (path, ""),
        _ => split_port(text),
    }
}

impl Deployed for Nginx {
    const NAME: &'static str = "nginx";
    const SUMMARY: &'static str = "NGINX 1.22.1, `hash KEY [consistent]` of an upstream block";
    const SOURCE: &'static str = "https://nginx.org/en/docs/http/ngx_http_upstream_module.html#hash";
    const COMPLEXITY: &'static str =
        "consistent: lookup O(log(160 W)), 8 bytes a point, 160 points a unit of weight; plain: lookup O(N)";
    const COLUMNS: &'static [Column] = &[Column::new(
        "state",
        "`down`: marked so; `refused`: refuses connections (the same answers); absent: in use",
    )];

    type Params = Params;
    type Server = Server;
    type Table = Upstream;

    fn read(params: &Params, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        let servers: Vec<Server> = rows
            .iter()
            .map(|row| {
                let usable = match row.column("state") {
                    None | Some("up") => true,
                    Some("down" | "refused") => false,
                    Some(_) => return Err(row.refused("state", "up, down or refused")),
                };
                Ok(Server { text: row.node.name.clone(), weight: row.node.weight, usable })
            })
            .collect::<Result<_, _>>()?;
        require_some(servers.iter().any(|server| server.usable && server.weight > 0))?;
        if params.method == Method::Consistent {
            points::limit(total_weight(&servers).saturating_mul(POINTS_PER_WEIGHT))?;
        }
        Ok(servers)
    }

    fn estimate(params: &Params, servers: &[Server]) -> u64 {
        let flags = if servers.iter().all(|server| server.usable) { 0 } else { servers.len() as u64 };
        flags
            + match params.method {
                Method::Consistent => total_weight(servers) * POINTS_PER_WEIGHT * Ring::<u32>::POINT_BYTES,
                Method::Plain => 4 * servers.len() as u64,
            }
    }

    fn place(params: &Params, servers: &[Server]) -> Upstream {
        let method = match params.method {
            Method::Consistent => {
                let mut points = Vec::with_capacity((total_weight(servers) * POINTS_PER_WEIGHT) as usize);
                for (server, index) in servers.iter().zip(0u32..) {
                    let (host, port) = host_and_port(&server.text);
                    let mut base = Crc32::new();
                    base.update(host.as_bytes());
                    base.update(&[0]);
                    base.update(port.as_bytes());
                    let count = u64::from(server.weight) * POINTS_PER_WEIGHT;
                    points.extend(
                        points::chained_crc32(&base).take(count as usize).map(|point| (point, index)),
                    );
                }
                Lookup::Consistent(Ring::new(points, Tie::First))
            }
            Method::Plain => {
                let weights = servers.iter().map(|server| server.weight).collect();
                Lookup::Plain(weights, total_weight(servers))
            }
        };
        // The first choice of a smooth weighted round robin that starts from nothing: the greatest
        // weight, and of equal ones the first.
        let candidates = servers.iter().zip(0u32..).filter(|(server, _)| server.usable);
        let first_choice = candidates.max_by_key(|(server, index)| (server.weight, Reverse(*index)));
        let (_, fallback) = first_choice.expect("a list without a usable server is refused");
        let usable = if servers.iter().all(|server| server.usable) {
            Box::default()
        } else {
            servers.iter().map(|server| server.usable).collect()
        };
        Upstream { method, fallback, usable }
    }

    fn capabilities(params: &Params, servers: &[Server]) -> Capabilities {
        let disruption = match params.method {
            Method::Plain => Disruption::Arbitrary,
            Method::Consistent if servers.iter().all(|server| server.usable) => Disruption::Minimal,
            // A new point can be the 22nd on the way past servers that are down.
            Method::Consistent => Disruption::Approximate,
        };
        // The consistent ring depends on the order only where two servers share a point.
        Capabilities::new(Removal::Any, disruption, Order::ListOrder).with_weights()
    }

    fn find_bytes(table: &Upstream, params: &Params, key: &[u8]) -> u32 {
        match &table.method {
            _ if key.is_empty() => table.fallback,
            Lookup::Consistent(_) => table.find(params.hash_key(key)),
            Lookup::Plain(weights, total) => {
                table.attempts(weights, *total, |attempt| attempt_hash(attempt, key))
            }
        }
    }
}

impl Table for Upstream {
    /// `key` is the hash in its low 32 bits. Further attempts of the plain method hash the key itself,
    /// for which the eight little-endian bytes of `key` stand in.
    fn find(&self, key: u64) -> u32 {
        match &self.method {
            Lookup::Consistent(ring) => self.walk(ring, ring.at_or_after(key as u32)),
            Lookup::Plain(weights, total) => self.attempts(weights, *total, |attempt| match attempt {
                0 => key as u32,
                _ => attempt_hash(attempt, &key.to_le_bytes()),
            }),
        }
    }

    /// Without the steps past servers that are down.
    fn work(&self, key: u64) -> Work {
        match &self.method {
            Lookup::Consistent(ring) => ring.work(key),
            Lookup::Plain(..) => {
                let probes = self.find(key) + 1;
                Work { hash_evals: 0, probes, table_reads: probes }
            }
        }
    }

    fn shares(&self, count: usize) -> Option<Vec<f64>> {
        match &self.method {
            Lookup::Consistent(ring) => Some(ring.arcs(count, |point| self.walk(ring, point))),
            Lookup::Plain(weights, total) if self.usable.is_empty() => {
                // 15 bits of hash, a remainder, and runs of it as long as the weights.
                let below = |bound: u64| {
                    let (whole, part) = (0x8000 / total, 0x8000 % total);
                    (whole * bound + part.min(bound)) as f64 / 32768.0
                };
                let mut end = 0;
                let share = |weight: &u32| {
                    let start = end;
                    end += u64::from(*weight);
                    below(end) - below(start)
                };
                Some(weights.iter().map(share).collect())
            }
            Lookup::Plain(..) => None,
        }
    }

    fn coinciding_points(&self) -> usize {
        match &self.method {
            Lookup::Consistent(ring) => ring.coinciding_points(),
            Lookup::Plain(..) => 0,
        }
    }

    fn heap_bytes(&self) -> usize {
        size_of_val(&*self.usable)
            + match &self.method {
                Lookup::Consistent(ring) => ring.heap_bytes(),
                Lookup::Plain(weights, _) => size_of_val(&**weights),
            }
    }
}

fn total_weight(servers: &[Server]) -> u64 {
    servers.iter().map(|server| u64::from(server.weight)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compat;
    use chash_core::{Build, ByteKeyed, Distributor, MembershipError, Node, NodeId};

    fn rows(names: &[&str]) -> Vec<ServerRow> {
        let nodes = names.iter().zip(0..).map(|(name, id)| Node::new(NodeId(id), *name));
        nodes.map(ServerRow::new).collect()
    }

    #[test]
    fn reads_the_text_as_configured() {
        assert_eq!(host_and_port("[::1]:8090"), ("[::1]", "8090"));
        assert_eq!(host_and_port("a:08080"), ("a", "08080"));
        assert_eq!(host_and_port("cache-b.example"), ("cache-b.example", ""));
        assert_eq!(host_and_port("UNIX:/run/a.sock"), ("/run/a.sock", ""));
        assert_eq!(host_and_port("[::1]"), ("[::1]", ""));
    }

    #[test]
    fn refuses_what_nginx_refuses() {
        let mut list = rows(&["a", "b"]);
        list[1] = list[1].clone().with("state", "backup");
        let refused = list[1].refused("state", "up, down or refused");
        let build = |list: &[ServerRow]| Compat::<Nginx>::from_rows(&Params::default(), list.to_vec());
        assert_eq!(build(&list).unwrap_err(), refused);
        assert_eq!(build(&[rows(&["a"])[0].clone().with("state", "down")]).unwrap_err(), BuildError::NoNodes);
        list[1] = rows(&["a", "b"])[1].clone();
        list[1].node.weight = 1 << 24;
        let too_many = BuildError::Membership(MembershipError::CapacityExceeded { max: points::MAX });
        assert_eq!(build(&list).unwrap_err(), too_many);
    }

    /// An empty key, and a key that meets 21 points of servers that are down, go to the first choice
    /// of round robin.
    #[test]
    fn falls_back_on_round_robin() {
        for method in [Method::Consistent, Method::Plain] {
            let mut list = rows(&["a", "b", "c"]);
            list[0] = list[0].clone().with("state", "down");
            list[0].node.weight = 10_000;
            list[2].node.weight = 2;
            let nginx = Compat::<Nginx>::from_rows(&Params { method }, list).unwrap();
            assert_eq!(nginx.lookup_bytes(b""), NodeId(2));
            assert_eq!(nginx.lookup_bytes(b"key"), NodeId(2));
            assert!((0..100_000).all(|key| nginx.lookup(key) != NodeId(0)));
        }
    }

    #[test]
    fn attempts_are_numbered_in_decimal() {
        for attempt in 0..MAX_TRIES {
            let text = if attempt == 0 { String::new() } else { attempt.to_string() };
            assert_eq!(attempt_hash(attempt, b"key"), crc32(format!("{text}key").as_bytes()));
        }
    }

    #[test]
    fn shares_add_up() {
        for method in [Method::Consistent, Method::Plain] {
            let nginx = Compat::<Nginx>::build(&Params { method }, &Node::numbered(7)).unwrap();
            let total: f64 = (0..7).map(|id| nginx.key_share(NodeId(id)).unwrap()).sum();
            assert!((total - 1.0).abs() < 1e-12, "{total}");
        }
    }
}
