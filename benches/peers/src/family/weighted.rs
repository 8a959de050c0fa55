//! Weighted rendezvous hashing: weights 1, 2 and 3 in turn.

use std::hash::BuildHasher;

use chash_rendezvous::{Params, Rendezvous};
use hash_rings::carp;
use hrw_hash::{HrwNode, HrwNodes};
use rendezvous_hash::{Capacity, IdNode, NodeHasher, RendezvousNodes, WeightedNode};

use super::Family;
use super::rendezvous::{PrehashedNodes, Rapid};
use crate::contender::{Contender, Entry};
use crate::hashers::{Fixed, Prehashed, Sip13};
use crate::nodes::{numbers, weight};
use crate::ours::{Ours, Setup};

pub static FAMILY: Family = Family {
    name: "rendezvous_weighted",
    what: "nodes of weight 1, 2 and 3 in turn",
    weighted: true,
    entries: &[
        Entry::ours::<Ours<OurRendezvous>>("chash-rendezvous", "weighted"),
        Entry::peer::<Logarithm<Prehashed>>("hash-rings", "weighted_rendezvous prehashed"),
        Entry::peer::<Logarithm<Sip13>>("hash-rings", "weighted_rendezvous sip13")
            .note("its own default is RandomState: other owners in every process"),
        Entry::peer::<Carp<Prehashed>>("hash-rings", "carp prehashed"),
        Entry::peer::<HrwHash<Prehashed>>("hrw-hash", "prehashed").note("sorts all nodes for every key"),
        Entry::peer::<HrwHash<Rapid>>("hrw-hash", "rapidhash*").note("sorts all nodes for every key"),
        Entry::peer::<Sorted<PrehashedNodes>>("rendezvous_hash", "prehashed")
            .note("sorts all nodes for every key"),
        Entry::peer::<Sorted<rendezvous_hash::DefaultNodeHasher>>("rendezvous_hash", "sip13*")
            .note("sorts all nodes for every key"),
    ],
};

struct OurRendezvous;

impl Setup for OurRendezvous {
    type Placement = Rendezvous;

    const WEIGHTED: bool = true;

    fn params() -> Params {
        Params::default()
    }
}

struct Logarithm<H>(hash_rings::weighted_rendezvous::Ring<'static, u32, H>);

impl<H: BuildHasher + Fixed> Contender for Logarithm<H> {
    fn build(nodes: u32) -> Self {
        let mut ring = Self(hash_rings::weighted_rendezvous::Ring::with_hasher(H::HASHER));
        (0..nodes).for_each(|node| ring.add(node));
        ring
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        *self.0.get_node(&key)
    }

    fn add(&mut self, node: u32) {
        self.0.insert_node(&numbers()[node as usize], weight(node).into());
    }

    fn remove(&mut self, node: u32) {
        self.0.remove_node(&node);
    }
}

struct Carp<H>(carp::Ring<'static, u32, H>);

fn carp_node(node: u32) -> carp::Node<'static, u32> {
    carp::Node::new(&numbers()[node as usize], weight(node).into())
}

impl<H: BuildHasher + Default + Fixed> Contender for Carp<H> {
    fn build(nodes: u32) -> Self {
        Self(carp::Ring::with_hasher(H::HASHER, (0..nodes).map(carp_node).collect()))
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        *self.0.get_node(&key)
    }

    fn add(&mut self, node: u32) {
        self.0.insert_node(carp_node(node));
    }

    fn remove(&mut self, node: u32) {
        self.0.remove_node(&node);
    }
}

/// A node that knows its weight.
#[derive(Hash, PartialEq, Eq)]
struct Weighted(u32);

impl HrwNode for Weighted {
    fn capacity(&self) -> usize {
        weight(self.0) as usize
    }
}

struct HrwHash<H>(HrwNodes<Weighted, H>);

impl<H: BuildHasher + Fixed> Contender for HrwHash<H> {
    const REBUILDS: bool = true;

    fn build(nodes: u32) -> Self {
        Self(HrwNodes::with_build_hasher(H::HASHER, (0..nodes).map(Weighted)))
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        self.0.sorted(&key).next().expect("there are nodes").0
    }
}

struct Sorted<H>(RendezvousNodes<WeightedNode<IdNode<u32>>, H>);

impl<H: NodeHasher<u32> + Default + 'static> Contender for Sorted<H> {
    fn build(nodes: u32) -> Self {
        let mut placement = Self(RendezvousNodes::new(H::default()));
        (0..nodes).for_each(|node| placement.add(node));
        placement
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        *self.0.calc_candidates(&key).next().expect("there are nodes").node
    }

    fn add(&mut self, node: u32) {
        let capacity = Capacity::new(weight(node).into()).expect("the weight is positive");
        self.0.insert(WeightedNode::new(IdNode::new(node), capacity));
    }

    fn remove(&mut self, node: u32) {
        self.0.remove(&node);
    }
}
