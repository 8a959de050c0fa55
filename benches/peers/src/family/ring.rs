//! Rings of points: the owner is the first point at or after the key.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::LazyLock;

use chash_ring::{Params, Ring};
use pingora_ketama::{Bucket, Continuum, Version};

use super::Family;
use crate::contender::{Contender, Entry};
use crate::hashers::{Fixed, Mixing, Prehashed, Sip13};
use crate::nodes::{MAX_NODES, numbers};
use crate::ours::{Ours, Setup};

/// Points of a node.
const VNODES: u32 = 100;

pub static FAMILY: Family = Family {
    name: "ring",
    what: "100 points a node (v100), except where the crate fixes 160",
    weighted: false,
    entries: &[
        Entry::ours::<Ours<OurRing>>("chash-ring", "v100"),
        Entry::peer::<HashRing<Prehashed>>("hashring", "v100 prehashed"),
        Entry::peer::<HashRing<hashring::DefaultHashBuilder>>("hashring", "v100 sip24*"),
        Entry::peer::<Ketama<2>>("pingora-ketama", "V2 v100 crc32*").note("32-bit points"),
        Entry::peer::<Ketama<1>>("pingora-ketama", "V1 v160* crc32*").wrong(
            "of points that collide in 32 bits one is dropped, which one depends on the order of the list: \
             at 10000 nodes an added node moves as many keys between old nodes as to itself",
        ),
        Entry::peer::<StaticRing<PrehashedRing>>("consistent_hash", "v100 prehashed")
            .note("allocates in every lookup"),
        Entry::peer::<StaticRing<consistent_hash::DefaultHash>>("consistent_hash", "v100 sip13*")
            .note("allocates in every lookup"),
        Entry::peer::<VecRing<Mixing>>("consistent_hash_ring", "v100 mix64")
            .note("its points are hashes of hashes, so that the identity will not do")
            .up_to(1000),
        Entry::peer::<VecRing<fnv::FnvBuildHasher>>("consistent_hash_ring", "v100 fnv*").up_to(1000),
        Entry::peer::<TreeRing<Prehashed>>("hash-rings", "consistent v100 prehashed"),
        Entry::peer::<TreeRing<Sip13>>("hash-rings", "consistent v100 sip13")
            .note("its own default is RandomState: another ring in every process"),
        Entry::peer::<Conhash<true>>("conhash", "v100 prehashed").note("allocates in every lookup"),
        Entry::peer::<Conhash<false>>("conhash", "v100 md5*").note("allocates in every lookup"),
        Entry::peer::<StdRing>("std", "BTreeMap v100 prehashed")
            .note("the ring of a tutorial, in a dozen lines"),
    ],
};

struct OurRing;

impl Setup for OurRing {
    type Placement = Ring;

    fn params() -> Params {
        Params { vnodes: VNODES, ..Params::default() }
    }
}

/// A virtual node, where the peer leaves them to its user.
#[derive(Clone, Copy, Debug, Hash)]
struct Point {
    node: u32,
    replica: u32,
}

fn points(node: u32) -> impl Iterator<Item = Point> {
    (0..VNODES).map(move |replica| Point { node, replica })
}

struct HashRing<H>(hashring::HashRing<Point, H>);

impl<H: BuildHasher + Fixed> Contender for HashRing<H> {
    fn build(nodes: u32) -> Self {
        let mut ring = hashring::HashRing::with_hasher(H::HASHER);
        ring.batch_add((0..nodes).flat_map(points).collect());
        Self(ring)
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        self.0.get(&key).expect("the ring has points").node
    }

    fn add(&mut self, node: u32) {
        self.0.batch_add(points(node).collect());
    }

    fn remove(&mut self, node: u32) {
        for point in points(node) {
            self.0.remove(&point);
        }
    }
}

impl Fixed for hashring::DefaultHashBuilder {
    const HASHER: Self = Self;
}

/// The node's number is its address.
static BUCKETS: LazyLock<Vec<Bucket>> = LazyLock::new(|| {
    let address = |node| SocketAddr::new(IpAddr::V4(Ipv4Addr::from(node)), 11211);
    (0..=MAX_NODES).map(|node| Bucket::new(address(node), 1)).collect()
});

struct Ketama<const VERSION: u8>(Continuum);

impl<const VERSION: u8> Contender for Ketama<VERSION> {
    const REBUILDS: bool = true;

    fn build(nodes: u32) -> Self {
        let version = if VERSION == 1 { Version::V1 } else { Version::V2 { point_multiple: VNODES } };
        Self(Continuum::new_with_version(&BUCKETS[..nodes as usize], version))
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        match self.0.node(&key.to_le_bytes()).expect("the ring has points").ip() {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(_) => unreachable!("every address is of version 4"),
        }
    }
}

struct PrehashedRing;

impl consistent_hash::RingHash for PrehashedRing {
    #[inline]
    fn hash_item<T: Hash>(&self, item: &T) -> u64 {
        Prehashed::default().hash_one(item)
    }

    fn hash_vnode<K: Hash>(&self, node: &K, replica: usize) -> u64 {
        Prehashed::default().hash_one((node, replica as u32))
    }
}

struct StaticRing<H>(consistent_hash::StaticHashRing<'static, u32, (), H>);

impl Fixed for PrehashedRing {
    const HASHER: Self = Self;
}

impl Fixed for consistent_hash::DefaultHash {
    const HASHER: Self = Self;
}

impl<H: consistent_hash::RingHash + Fixed> Contender for StaticRing<H> {
    const REBUILDS: bool = true;

    fn build(nodes: u32) -> Self {
        let nodes = (0..nodes).map(|node| consistent_hash::Node::new(node).quantity(VNODES as usize));
        Self(consistent_hash::StaticHashRing::new(H::HASHER, nodes))
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        self.0.calc_candidates(&key).next().expect("the ring has points").key
    }
}

struct VecRing<H>(consistent_hash_ring::Ring<u32, H>);

impl<H: BuildHasher + Default + Fixed> Contender for VecRing<H> {
    fn build(nodes: u32) -> Self {
        let builder = consistent_hash_ring::RingBuilder::new(H::HASHER);
        Self(builder.vnodes(VNODES as usize).nodes_iter(0..nodes).build())
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        *self.0.get(key)
    }

    fn add(&mut self, node: u32) {
        self.0.insert(node);
    }

    fn remove(&mut self, node: u32) {
        self.0.remove(&node);
    }
}

struct TreeRing<H>(hash_rings::consistent::Ring<'static, u32, H>);

impl<H: BuildHasher + Default + Fixed> Contender for TreeRing<H> {
    fn build(nodes: u32) -> Self {
        let mut ring = Self(hash_rings::consistent::Ring::with_hasher(H::HASHER));
        (0..nodes).for_each(|node| ring.add(node));
        ring
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        *self.0.get_node(&key)
    }

    fn add(&mut self, node: u32) {
        self.0.insert_node(&numbers()[node as usize], VNODES as usize);
    }

    fn remove(&mut self, node: u32) {
        self.0.remove_node(&node);
    }
}

#[derive(Clone)]
struct Server(u32);

impl conhash::Node for Server {
    fn name(&self) -> String {
        format!("server-{}", self.0)
    }
}

struct Conhash<const PREHASHED: bool>(conhash::ConsistentHash<Server>);

/// Keys are 8 bytes and stay as they are; names are longer and are hashed.
fn prehashed_bytes(bytes: &[u8]) -> Vec<u8> {
    let hash = match bytes.try_into() {
        Ok(key) => u64::from_le_bytes(key),
        Err(_) => Prehashed::default().hash_one(bytes),
    };
    hash.to_be_bytes().to_vec()
}

impl<const PREHASHED: bool> Contender for Conhash<PREHASHED> {
    fn build(nodes: u32) -> Self {
        let ring = if PREHASHED {
            conhash::ConsistentHash::with_hash(prehashed_bytes)
        } else {
            conhash::ConsistentHash::new()
        };
        let mut ring = Self(ring);
        (0..nodes).for_each(|node| ring.add(node));
        ring
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        self.0.get(&key.to_le_bytes()).expect("the ring has points").0
    }

    fn add(&mut self, node: u32) {
        self.0.add(&Server(node), VNODES as usize);
    }

    fn remove(&mut self, node: u32) {
        self.0.remove(&Server(node));
    }
}

struct StdRing(BTreeMap<u64, u32>);

impl Contender for StdRing {
    fn build(nodes: u32) -> Self {
        let mut ring = Self(BTreeMap::new());
        (0..nodes).for_each(|node| ring.add(node));
        ring
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        *self.0.range(key..).next().or_else(|| self.0.iter().next()).expect("the ring has points").1
    }

    fn add(&mut self, node: u32) {
        self.0.extend(points(node).map(|point| (Prehashed::default().hash_one(point), node)));
    }

    fn remove(&mut self, node: u32) {
        for point in points(node) {
            self.0.remove(&Prehashed::default().hash_one(point));
        }
    }
}
