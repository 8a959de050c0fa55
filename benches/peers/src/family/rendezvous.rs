//! Rendezvous hashing: every node has a score for the key, and the highest wins.

use std::hash::{BuildHasher, Hash};

use chash_rendezvous::{Params, Rendezvous};
use hrw_hash::HrwNodes;
use rendezvous_hash::{IdNode, NodeHasher, RendezvousNodes};
use simplehash::RendezvousHasher;

use super::Family;
use crate::contender::{Contender, Entry};
use crate::hashers::{Fixed, Fnv1a, Prehashed, Sip13};
use crate::nodes::numbers;
use crate::ours::{Ours, Setup};

pub static FAMILY: Family = Family {
    name: "rendezvous",
    what: "every node of weight 1",
    weighted: false,
    entries: &[
        Entry::ours::<Ours<OurRendezvous>>("chash-rendezvous", ""),
        Entry::peer::<Slice<Prehashed>>("simplehash", "prehashed"),
        Entry::peer::<Slice<Fnv1a>>("simplehash", "fnv1a").wrong(
            "the hash of its README leaves the nodes badly uneven: the fullest of 100 has three times its share",
        ),
        Entry::peer::<Hrw<Prehashed>>("hrw", "prehashed"),
        Entry::peer::<Hrw<Sip13>>("hrw", "sip13")
            .note("its own default is RandomState: other owners in every process"),
        Entry::peer::<HashRings<Prehashed>>("hash-rings", "rendezvous prehashed"),
        Entry::peer::<HashRings<Sip13>>("hash-rings", "rendezvous sip13")
            .note("its own default is RandomState: other owners in every process"),
        Entry::peer::<HrwHash<Prehashed>>("hrw-hash", "prehashed").note("sorts all nodes for every key"),
        Entry::peer::<HrwHash<Rapid>>("hrw-hash", "rapidhash*").note("sorts all nodes for every key"),
        Entry::peer::<Sorted<PrehashedNodes>>("rendezvous_hash", "prehashed").note("sorts all nodes for every key"),
        Entry::peer::<Sorted<rendezvous_hash::DefaultNodeHasher>>("rendezvous_hash", "sip13*")
            .note("sorts all nodes for every key"),
    ],
};

struct OurRendezvous;

impl Setup for OurRendezvous {
    type Placement = Rendezvous;

    fn params() -> Params {
        Params::default()
    }
}

struct Slice<H: BuildHasher> {
    hasher: RendezvousHasher<H::Hasher, H>,
    nodes: Vec<u32>,
}

impl<H: BuildHasher + Fixed> Contender for Slice<H> {
    fn build(nodes: u32) -> Self {
        Self { hasher: RendezvousHasher::new(H::HASHER), nodes: (0..nodes).collect() }
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        *self.hasher.select(&key, &self.nodes).expect("there are nodes")
    }

    fn add(&mut self, node: u32) {
        self.nodes.push(node);
    }

    fn remove(&mut self, node: u32) {
        self.nodes.retain(|other| *other != node);
    }
}

struct Hrw<H>(hrw::Rendezvous<u32, H>);

impl<H: BuildHasher + Clone + Fixed> Contender for Hrw<H> {
    fn build(nodes: u32) -> Self {
        Self(hrw::Rendezvous::from_nodes_and_hasher(0..nodes, H::HASHER))
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        *self.0.pick_top(&key).expect("there are nodes")
    }

    fn add(&mut self, node: u32) {
        self.0.add_node(node);
    }

    fn remove(&mut self, node: u32) {
        self.0.remove_node(&node);
    }
}

struct HashRings<H>(hash_rings::rendezvous::Ring<'static, u32, H>);

impl<H: BuildHasher + Fixed> Contender for HashRings<H> {
    fn build(nodes: u32) -> Self {
        let mut ring = Self(hash_rings::rendezvous::Ring::with_hasher(H::HASHER));
        (0..nodes).for_each(|node| ring.add(node));
        ring
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        *self.0.get_node(&key)
    }

    fn add(&mut self, node: u32) {
        self.0.insert_node(&numbers()[node as usize], 1);
    }

    fn remove(&mut self, node: u32) {
        self.0.remove_node(&node);
    }
}

/// The default of `hrw-hash`.
pub(super) type Rapid = std::hash::BuildHasherDefault<hrw_hash::DefaultHasher>;

struct HrwHash<H>(HrwNodes<u32, H>);

impl<H: BuildHasher + Fixed> Contender for HrwHash<H> {
    const REBUILDS: bool = true;

    fn build(nodes: u32) -> Self {
        Self(HrwNodes::with_build_hasher(H::HASHER, 0..nodes))
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        *self.0.sorted(&key).next().expect("there are nodes")
    }
}

/// [`Prehashed`] for `rendezvous_hash`.
#[derive(Default)]
pub(super) struct PrehashedNodes;

impl<N: Hash> NodeHasher<N> for PrehashedNodes {
    #[inline]
    fn hash<T: Hash>(&self, node: &N, item: &T) -> u64 {
        Prehashed::default().hash_one((item, node))
    }
}

struct Sorted<H>(RendezvousNodes<IdNode<u32>, H>);

impl<H: NodeHasher<u32> + Default + 'static> Contender for Sorted<H> {
    fn build(nodes: u32) -> Self {
        let mut placement = Self(RendezvousNodes::new(H::default()));
        (0..nodes).for_each(|node| placement.add(node));
        placement
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        **self.0.calc_candidates(&key).next().expect("there are nodes")
    }

    fn add(&mut self, node: u32) {
        self.0.insert(IdNode::new(node));
    }

    fn remove(&mut self, node: u32) {
        self.0.remove(&node);
    }
}
