//! What else a user could take for the same job: algorithms of which this workspace has none.

use std::hash::BuildHasher;

use anchorhash::AnchorHash;

use super::Family;
use crate::contender::{Contender, Entry};
use crate::hashers::{Fixed, Prehashed, Sip13};
use crate::nodes::numbers;

pub static FAMILY: Family = Family {
    name: "other",
    what: "FlipHash, AnchorHash with twice the capacity it uses, multi-probe rings",
    weighted: false,
    entries: &[
        Entry::peer::<FlipHash>("fliphash", "prehashed*").note("as jump: only the last node comes and goes"),
        Entry::peer::<Anchor<Prehashed>>("anchorhash", "cap2N prehashed")
            .note("about 5 % uneven up to 100 nodes; reads 32 bits of the key")
            .up_to(32_000),
        Entry::peer::<Anchor<Sip13>>("anchorhash", "cap2N sip13")
            .note("its own default is RandomState: other owners in every process")
            .up_to(32_000),
        Entry::peer::<MultiProbe>("hash-rings", "mpc k21 sip24*"),
        Entry::peer::<Mpchash>("mpchash", "k23* xxh3*").wrong(
            "its probes are multiples of one hash: the fullest of 100 nodes has 1.45 times its share, \
             against 1.05 as documented",
        ),
    ],
};

struct FlipHash(u32);

impl Contender for FlipHash {
    fn build(nodes: u32) -> Self {
        Self(nodes)
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        fliphash::fliphash_64(key, ..=u64::from(self.0 - 1)) as u32
    }

    fn add(&mut self, node: u32) {
        self.0 = node + 1;
    }

    fn remove(&mut self, node: u32) {
        self.0 = node;
    }
}

struct Anchor<H: BuildHasher>(AnchorHash<u64, u32, H>);

impl<H: BuildHasher + Fixed> Contender for Anchor<H> {
    fn build(nodes: u32) -> Self {
        let capacity = u16::try_from(2 * nodes).expect("the list says how many nodes it takes");
        Self(anchorhash::Builder::with_hasher(H::HASHER).with_resources(0..nodes).build(capacity))
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        *self.0.get_resource(key).expect("there are nodes")
    }

    fn add(&mut self, node: u32) {
        self.0.add_resource(node).expect("there is room for twice as many");
    }

    fn remove(&mut self, node: u32) {
        self.0.remove_resource(&node).expect("the node is present");
    }
}

struct MultiProbe(hash_rings::mpc::Ring<'static, u32, Sip13>);

impl Contender for MultiProbe {
    fn build(nodes: u32) -> Self {
        let mut ring = Self(hash_rings::mpc::Ring::with_hasher(Sip13::HASHER, 21));
        (0..nodes).for_each(|node| ring.add(node));
        ring
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        *self.0.get_node(&key)
    }

    fn add(&mut self, node: u32) {
        self.0.insert_node(&numbers()[node as usize]);
    }

    fn remove(&mut self, node: u32) {
        self.0.remove_node(&node);
    }
}

struct Mpchash(mpchash::HashRing<u32>);

impl Contender for Mpchash {
    fn build(nodes: u32) -> Self {
        let ring = mpchash::HashRing::new();
        (0..nodes).for_each(|node| ring.add(node));
        Self(ring)
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        *self.0.node(&key).expect("there are nodes").node()
    }

    fn add(&mut self, node: u32) {
        self.0.add(node);
    }

    fn remove(&mut self, node: u32) {
        self.0.remove(&node);
    }
}
