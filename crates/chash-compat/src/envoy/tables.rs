//! The ring and the Maglev table, built in the program's own double precision.

use chash_core::Work;
use xxhash_rust::xxh64::xxh64;

use super::bounded::Bounds;
use super::{Params, Server};
use crate::Table;
use crate::ring::{Ring, Tie};
use crate::slots::{Filling, Preference, Slots, exact_choice};

/// Envoy's table for one cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub(super) lookup: Lookup,
    /// What the bounded loads are reckoned from; without hosts if loads are not bounded.
    pub(super) bounds: Bounds,
}

/// The two ways of finding a host.
#[derive(Clone, Debug)]
pub(super) enum Lookup {
    RingHash(Ring<u64>),
    Maglev(Slots),
}

impl Table for Cluster {
    /// The first choice, whatever the loads.
    fn find(&self, key: u64) -> u32 {
        match &self.lookup {
            Lookup::RingHash(ring) => ring.find(key),
            Lookup::Maglev(slots) => slots.find(key),
        }
    }

    fn work(&self, key: u64) -> Work {
        match &self.lookup {
            Lookup::RingHash(ring) => ring.work(key),
            Lookup::Maglev(slots) => slots.work(key),
        }
    }

    fn shares(&self, count: usize) -> Option<Vec<f64>> {
        match &self.lookup {
            Lookup::RingHash(ring) => ring.shares(count),
            Lookup::Maglev(slots) => slots.shares(count),
        }
    }

    fn coinciding_points(&self) -> usize {
        match &self.lookup {
            Lookup::RingHash(ring) => ring.coinciding_points(),
            Lookup::Maglev(slots) => slots.coinciding_points(),
        }
    }

    fn heap_bytes(&self) -> usize {
        self.bounds.heap_bytes()
            + match &self.lookup {
                Lookup::RingHash(ring) => ring.heap_bytes(),
                Lookup::Maglev(slots) => slots.heap_bytes(),
            }
    }
}

/// A host in use: what was read of it, its index in the list, and its share of the weight.
type Host<'a> = (&'a Server, u32, f64);

/// The hosts in use with their share of the weight, in double precision.
pub(super) fn weighted(servers: &[Server]) -> Vec<Host<'_>> {
    let used = || servers.iter().zip(0u32..).filter(|(server, _)| server.used);
    let total: u64 = used().map(|(server, _)| u64::from(server.weight)).sum();
    used().map(|(server, index)| (server, index, f64::from(server.weight) / total as f64)).collect()
}

/// The points of the ring if every host had its exact share.
pub(super) fn ring_size(params: &Params, hosts: &[Host<'_>]) -> f64 {
    let least = hosts.iter().map(|(_, _, share)| *share).fold(1.0, f64::min);
    let wanted = (least * params.minimum_ring_size as f64).ceil() / least;
    wanted.min(params.maximum_ring_size as f64)
}

/// The ring of points.
pub(super) fn ring(params: &Params, hosts: &[Host<'_>]) -> Ring<u64> {
    let size = ring_size(params, hosts);
    let mut points = Vec::with_capacity(size.ceil() as usize);
    let mut target = 0.0;
    for (server, index, share) in hosts {
        target += size * share;
        let mut i = 0u32;
        // The running counts go on from host to host, so that fractions are made up for later.
        while (points.len() as f64) < target {
            points.push((params.hash_function.hash(format!("{}_{i}", server.name).as_bytes()), *index));
            i += 1;
        }
    }
    Ring::new(points, Tie::First)
}

/// The table of slots.
pub(super) fn maglev(params: &Params, mut hosts: Vec<Host<'_>>) -> Slots {
    hosts.sort_by_key(|(server, _, _)| &server.name);
    let order = |(server, _, _): &Host<'_>| {
        let name = server.name.as_bytes();
        Preference::new(xxh64(name, 0), xxh64(name, 1), params.table_size)
    };
    let mut filling = Filling::new(hosts.iter().map(order).collect(), params.table_size, exact_choice);
    let greatest = hosts.iter().map(|(_, _, share)| *share).fold(0.0, f64::max);
    let mut targets = vec![0.0; hosts.len()];
    let mut round = 0.0;
    'rounds: loop {
        round += 1.0;
        for (host, (_, _, share)) in hosts.iter().enumerate() {
            if filling.is_full() {
                break 'rounds;
            }
            if round * share >= targets[host] {
                targets[host] += greatest;
                filling.take(host);
            }
        }
    }
    Slots::of_64_bits(filling.finish(|host| hosts[host].1))
}
