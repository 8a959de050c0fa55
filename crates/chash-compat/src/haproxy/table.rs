//! What lookups in a backend read: the ring with its nearest-point rule, or the map.

use chash_core::Work;

use super::bounded::Bounds;
use crate::Table;
use crate::ring::Ring;
use crate::slots::Slots;

/// HAProxy's table for one backend.
#[derive(Clone, Debug)]
pub struct Backend {
    pub(super) lookup: Lookup,
    /// What the bounded loads are reckoned from; without servers if loads are not bounded.
    pub(super) bounds: Bounds,
}

/// The two ways of finding a server.
#[derive(Clone, Debug)]
pub(super) enum Lookup {
    Consistent(Ring<u32>),
    MapBased(Slots),
}

impl Table for Backend {
    /// The first choice, whatever the loads.
    fn find(&self, key: u64) -> u32 {
        match &self.lookup {
            Lookup::Consistent(ring) => ring.owner(nearest(ring, key as u32)),
            Lookup::MapBased(slots) => slots.find(key),
        }
    }

    fn work(&self, key: u64) -> Work {
        match &self.lookup {
            Lookup::Consistent(ring) => ring.work(key),
            Lookup::MapBased(slots) => slots.work(key),
        }
    }

    /// Half of each gap between two points goes to either side, the odd middle to the one before.
    fn shares(&self, count: usize) -> Option<Vec<f64>> {
        match &self.lookup {
            Lookup::Consistent(ring) => {
                let mut values = vec![0u64; count];
                for point in 0..ring.len() {
                    let before = ring.before(point);
                    let (start, end) = (ring.position(before), ring.position(point));
                    // Of the positions start + 1 ..= end. A ring of one point spans them all.
                    let gap = match end.wrapping_sub(start) {
                        0 => 1 << 32,
                        gap => u64::from(gap),
                    };
                    values[ring.owner(before) as usize] += gap / 2;
                    values[ring.owner(point) as usize] += gap - gap / 2;
                }
                Some(values.into_iter().map(|values| values as f64 / 4_294_967_296.0).collect())
            }
            Lookup::MapBased(slots) => slots.shares(count),
        }
    }

    fn coinciding_points(&self) -> usize {
        match &self.lookup {
            Lookup::Consistent(ring) => ring.coinciding_points(),
            Lookup::MapBased(slots) => slots.coinciding_points(),
        }
    }

    fn heap_bytes(&self) -> usize {
        self.bounds.heap_bytes()
            + match &self.lookup {
                Lookup::Consistent(ring) => ring.heap_bytes(),
                Lookup::MapBased(slots) => slots.heap_bytes(),
            }
    }
}

/// The point nearest to a hash; of two at the same distance the one before it.
pub(super) fn nearest(ring: &Ring<u32>, hash: u32) -> usize {
    let next = ring.at_or_after(hash);
    let previous = ring.before(next);
    let before = hash.wrapping_sub(ring.position(previous));
    let after = ring.position(next).wrapping_sub(hash);
    if before <= after { previous } else { next }
}

/// The slots of the map: each goes to the server that has waited longest in proportion to its weight.
pub(super) fn map(weights: &[(u32, u32)]) -> Box<[u32]> {
    let total: i64 = weights.iter().map(|(weight, _)| i64::from(*weight)).sum();
    let mut scores = vec![0i64; weights.len()];
    let slot = |_| {
        let mut best = (0, i64::MIN);
        for (at, (score, (weight, _))) in scores.iter_mut().zip(weights).enumerate() {
            *score += i64::from(*weight);
            let value = (*score + total) / total;
            if value > best.1 {
                best = (at, value);
            }
        }
        scores[best.0] -= total;
        weights[best.0].1
    };
    (0..total).map(slot).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::Tie;

    /// Points 100 (A) and 200 (B): a hash in the middle goes to the lower one.
    #[test]
    fn the_nearest_point_wins() {
        let ring = Ring::new(vec![(100, 0), (200, 1)], Tie::First);
        let owner = |hash| ring.owner(nearest(&ring, hash));
        assert_eq!([140, 150, 151, 160].map(owner), [0, 0, 1, 1]);
        assert_eq!([99, 201, u32::MAX].map(owner), [0, 1, 0]);
    }

    /// Weights 1 and 2, worked out by hand: scores (1, 2) are worth 1 each, so the first server takes
    /// the first slot; then (-1, 4) and (0, 3) are worth (0, 2) and (1, 2).
    #[test]
    fn the_map_interleaves() {
        assert_eq!(&*map(&[(1, 7), (2, 8)]), [7, 8, 8]);
        assert_eq!(&*map(&[(1, 0), (1, 1), (1, 2)]), [0, 1, 2]);
    }
}
