//! The table of a system that has both a ring and a table of slots.

use chash_core::Work;

use crate::Table;
use crate::ring::Ring;
use crate::slots::Slots;

/// A ring of 32-bit points, or a table of slots.
#[derive(Clone, Debug)]
pub enum RingOrSlots {
    /// Points, each owning what lies before it.
    Ring(Ring<u32>),
    /// Slots, found by remainder.
    Slots(Slots),
}

impl Table for RingOrSlots {
    fn find(&self, key: u64) -> u32 {
        match self {
            Self::Ring(ring) => ring.find(key),
            Self::Slots(slots) => slots.find(key),
        }
    }

    fn work(&self, key: u64) -> Work {
        match self {
            Self::Ring(ring) => ring.work(key),
            Self::Slots(slots) => slots.work(key),
        }
    }

    fn shares(&self, count: usize) -> Option<Vec<f64>> {
        match self {
            Self::Ring(ring) => ring.shares(count),
            Self::Slots(slots) => slots.shares(count),
        }
    }

    fn coinciding_points(&self) -> usize {
        match self {
            Self::Ring(ring) => ring.coinciding_points(),
            Self::Slots(slots) => slots.coinciding_points(),
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Ring(ring) => ring.heap_bytes(),
            Self::Slots(slots) => slots.heap_bytes(),
        }
    }
}
