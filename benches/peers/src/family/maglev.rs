//! Maglev hashing: a table of slots, at the two sizes of the paper.

use std::hash::BuildHasher;

use chash_maglev::Params;
use maglev::ConsistentHasher;
use maglev_hash::MaglevTable;

use super::Family;
use crate::contender::{Contender, Entry};
use crate::hashers::{Fixed, Prehashed, Sip13};
use crate::nodes::numbers;
use crate::ours::{Ours, Setup};

/// The sizes of the paper.
const SMALL: u32 = 65_537;
const LARGE_SIZE: u32 = 655_373;

const STORES_PERMUTATIONS: &str = "stores every permutation while building: 8 bytes a slot and node";

pub static FAMILY: Family = Family {
    name: "maglev",
    what: "65537 slots",
    weighted: false,
    entries: &[
        Entry::ours::<Ours<OurMaglev<SMALL>>>("chash-maglev", "M65537"),
        Entry::peer::<Maglev<Prehashed, SMALL>>("maglev", "M65537 prehashed").note(STORES_PERMUTATIONS),
        Entry::peer::<Maglev<Sip13, SMALL>>("maglev", "M65537 sip13*").note(STORES_PERMUTATIONS).up_to(1000),
        Entry::peer::<MaglevHash<SMALL>>("maglev-hash", "M65537 sip13*"),
        Entry::peer::<HashRings<SMALL>>("hash-rings", "maglev M65537 sip24*")
            .note(STORES_PERMUTATIONS)
            .up_to(1000),
    ],
};

pub static LARGE: Family = Family {
    name: "maglev_large",
    what: "655373 slots",
    weighted: false,
    entries: &[
        Entry::ours::<Ours<OurMaglev<LARGE_SIZE>>>("chash-maglev", "M655373"),
        Entry::peer::<Maglev<Prehashed, LARGE_SIZE>>("maglev", "M655373 prehashed")
            .note(STORES_PERMUTATIONS)
            .up_to(100),
        Entry::peer::<MaglevHash<LARGE_SIZE>>("maglev-hash", "M655373 sip13*"),
    ],
};

struct OurMaglev<const SLOTS: u32>;

impl<const SLOTS: u32> Setup for OurMaglev<SLOTS> {
    type Placement = chash_maglev::Maglev;

    fn params() -> Params {
        Params { table_size: SLOTS, ..Params::default() }
    }
}

struct Maglev<H, const SLOTS: u32>(maglev::Maglev<u32, H>);

impl<H: BuildHasher + Fixed, const SLOTS: u32> Contender for Maglev<H, SLOTS> {
    const REBUILDS: bool = true;

    fn build(nodes: u32) -> Self {
        Self(maglev::Maglev::with_capacity_and_hasher(0..nodes, SLOTS as usize, H::HASHER))
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        *self.0.get(&key).expect("there are nodes")
    }
}

struct MaglevHash<const SLOTS: u32>(MaglevTable<u32>);

impl<const SLOTS: u32> Contender for MaglevHash<SLOTS> {
    const REBUILDS: bool = true;

    fn build(nodes: u32) -> Self {
        Self(MaglevTable::with_capacity((0..nodes).collect(), SLOTS as usize))
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        *self.0.get(&key).expect("there are nodes")
    }
}

struct HashRings<const SLOTS: u32>(hash_rings::maglev::Ring<'static, u32>);

impl<const SLOTS: u32> Contender for HashRings<SLOTS> {
    const REBUILDS: bool = true;

    fn build(nodes: u32) -> Self {
        let nodes = numbers()[..nodes as usize].iter().collect();
        Self(hash_rings::maglev::Ring::with_capacity_hint(nodes, SLOTS as usize))
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        *self.0.get_node(&key)
    }
}
