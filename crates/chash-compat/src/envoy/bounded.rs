//! `hash_balance_factor`: a host above its share of the requests in flight is passed over.

use chash_core::{LoadAware, MembershipError, NodeId, Probes};
use rand_mt::Mt;

use super::Envoy;
use crate::{Compat, Table as _};

/// What the limits are reckoned from.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// In per cent.
    factor: u64,
    /// The hosts in use in list order, each with its share of the weight.
    hosts: Box<[(u32, f64)]>,
}

impl Bounds {
    pub(super) fn new(factor: u32, hosts: impl Iterator<Item = (u32, f64)>) -> Self {
        Self { factor: u64::from(factor), hosts: hosts.collect() }
    }

    pub(super) fn estimate(hosts: usize) -> u64 {
        hosts as u64 * size_of::<(u32, f64)>() as u64
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.hosts)
    }

    /// A host's slots among `requests` in flight, the arriving one included.
    fn slots(&self, share: f64, requests: u64) -> u64 {
        let total = requests.saturating_mul(self.factor).saturating_add(99) / 100;
        ((total as f64 * share).ceil() as u64).max(1)
    }

    /// The order in which hosts are tried, as indexes into `hosts`: a shuffle that depends on the hash alone.
    fn order(&self, hash: u64) -> Vec<usize> {
        let mut draws = Mt::new(hash as u32);
        let count = self.hosts.len();
        let mut order: Vec<usize> = (0..count).collect();
        for place in 0..count {
            let left = (count - place) as u64;
            let step = (1 << 32) / left;
            let draw =
                core::iter::repeat_with(|| u64::from(draws.next_u32()) / step).find(|draw| *draw < left);
            order.swap(place, place + draw.expect("the generator does not end") as usize);
        }
        order
    }
}

impl Compat<Envoy> {
    /// The requests that slots are made for, with one more arriving.
    fn requests(&self) -> u64 {
        self.expected.unwrap_or_else(|| self.open().iter().sum::<u64>() + 1)
    }

    /// The host that takes a request, and how many were asked.
    fn choose(&self, key: u64) -> (u32, u32) {
        let bounds = &self.table.bounds;
        let requests = self.requests();
        let load =
            |host: u32, share: f64| self.open()[host as usize] as f64 / bounds.slots(share, requests) as f64;
        let first = self.table.find(key);
        let at = bounds.hosts.iter().find(|(host, _)| *host == first);
        let (_, share) = at.expect("a table holds hosts in use");
        let (mut best, mut least) = (first, load(first, *share));
        if least <= 1.0 {
            return (first, 1);
        }
        let mut asked = 1;
        for host in bounds.order(key) {
            let (host, share) = bounds.hosts[host];
            if host == first {
                continue;
            }
            asked += 1;
            let load = load(host, share);
            if load <= 1.0 {
                return (host, asked);
            }
            if load < least {
                (best, least) = (host, load);
            }
        }
        (best, asked)
    }
}

/// Requests in flight. A host that holds exactly its slots still takes one more, so its capacity is one
/// above them. If every host is above its slots, which only an expected total that is exceeded can bring
/// about, the one with the least load takes the request.
impl LoadAware for Compat<Envoy> {
    fn reset(&mut self, expected_total: Option<u64>) {
        self.open_mut().fill(0);
        self.expected = expected_total;
    }

    fn assign(&mut self, key: u64) -> (NodeId, Probes) {
        let (host, asked) = self.choose(key);
        self.open_mut()[host as usize] += 1;
        (self.ids[host as usize], Probes(asked))
    }

    fn release(&mut self, id: NodeId) -> Result<(), MembershipError> {
        self.release_one(id)
    }

    fn load(&self, id: NodeId) -> Option<u64> {
        Some(self.open()[self.index_of(id)?])
    }

    /// 0 for a host that is not in use.
    fn capacity(&self, id: NodeId) -> Option<u64> {
        let index = self.index_of(id)?;
        let bounds = &self.table.bounds;
        let host = bounds.hosts.iter().find(|(host, _)| *host as usize == index);
        Some(host.map_or(0, |(_, share)| bounds.slots(*share, self.requests()) + 1))
    }
}
