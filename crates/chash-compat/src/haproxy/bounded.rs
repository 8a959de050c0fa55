//! `hash-balance-factor`: a server that has its share of the requests in flight is passed over.

use chash_core::{LoadAware, MembershipError, NodeId, Probes};

use super::table::{Lookup, nearest};
use super::{Haproxy, POINTS_PER_WEIGHT, Server};
use crate::Compat;

/// What the limits are reckoned from.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// In per cent.
    factor: u64,
    /// The number of points of all servers.
    total: u64,
    /// For each server in list order its points, and those of the servers before it.
    servers: Box<[(u64, u64)]>,
}

impl Bounds {
    pub(super) fn new(factor: u32, servers: &[Server]) -> Self {
        let mut before = 0;
        let bound = |server: &Server| {
            let points = if server.serves { u64::from(server.weight * POINTS_PER_WEIGHT) } else { 0 };
            let bound = (points, before);
            before += points;
            bound
        };
        let servers = servers.iter().map(bound).collect();
        Self { factor: u64::from(factor), total: before, servers }
    }

    pub(super) fn estimate(servers: usize) -> u64 {
        servers as u64 * size_of::<(u64, u64)>() as u64
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.servers)
    }

    /// What a server may hold among `requests` in flight, the arriving one included; 0 for one without points.
    fn limit(&self, server: usize, requests: u64) -> u64 {
        let slots = (u128::from(requests) * u128::from(self.factor)).div_ceil(100);
        let (points, before) = self.servers[server];
        if points == 0 {
            return 0;
        }
        let (total, points, before) = (u128::from(self.total), u128::from(points), u128::from(before));
        let (whole, rest) = (slots / total, slots % total);
        // The rest is dealt out so that all limits together are exactly `slots`.
        let limit = points * whole + (before + points) * rest / total - before * rest / total;
        u64::try_from(limit).unwrap_or(u64::MAX).max(1)
    }
}

impl Compat<Haproxy> {
    /// The requests that limits are made for, with one more arriving.
    fn requests(&self) -> u64 {
        self.expected.unwrap_or_else(|| self.open().iter().sum::<u64>() + 1)
    }
}

/// Requests in flight. If every server is at its limit, which only an expected total that is exceeded can
/// bring about, a request goes to its first choice.
impl LoadAware for Compat<Haproxy> {
    fn reset(&mut self, expected_total: Option<u64>) {
        self.open_mut().fill(0);
        self.expected = expected_total;
    }

    fn assign(&mut self, key: u64) -> (NodeId, Probes) {
        let Lookup::Consistent(ring) = &self.table.lookup else {
            unreachable!("a factor is refused for the map")
        };
        let start = nearest(ring, key as u32);
        let requests = self.requests();
        let mut asked: Vec<u32> = Vec::new();
        let mut chosen = ring.owner(start);
        for point in ring.walk(start) {
            let server = ring.owner(point);
            if asked.contains(&server) {
                continue;
            }
            asked.push(server);
            if self.open()[server as usize] < self.table.bounds.limit(server as usize, requests) {
                chosen = server;
                break;
            }
        }
        self.open_mut()[chosen as usize] += 1;
        (self.ids[chosen as usize], Probes(asked.len() as u32))
    }

    fn release(&mut self, id: NodeId) -> Result<(), MembershipError> {
        self.release_one(id)
    }

    fn load(&self, id: NodeId) -> Option<u64> {
        Some(self.open()[self.index_of(id)?])
    }

    fn capacity(&self, id: NodeId) -> Option<u64> {
        Some(self.table.bounds.limit(self.index_of(id)?, self.requests()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Limits add up to the slots for any number of requests, as long as none is raised to 1.
    #[test]
    fn limits_add_up() {
        let server = |weight| Server { id: 1, weight, serves: true, by_place: true };
        let bounds = Bounds::new(125, &[1, 2, 3, 5, 10].map(server));
        for requests in [100u64, 101, 777, 12345] {
            let sum: u64 = (0..5).map(|server| bounds.limit(server, requests)).sum();
            assert_eq!(sum, (requests * 125).div_ceil(100), "{requests}");
        }
        assert_eq!(bounds.limit(0, 1), 1);
    }
}
