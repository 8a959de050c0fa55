//! The table behind the ring: a sorted multiset of points that answers which is the first at or after a key.

use core::fmt;

use chash_core::{NodeId, mix::reduce};

/// A position on the circle, and the node that put a point there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) position: u64,
    pub(crate) owner: NodeId,
}

/// Points on the circle of 2^64 positions, ordered by (position, owner's name). The names are the
/// caller's: sorted input on building, a comparison on insertion.
#[derive(Clone)]
pub(crate) struct Circle {
    positions: Vec<u64>,
    owners: Vec<NodeId>,
    index: Vec<u32>,
}

impl fmt::Debug for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Circle").field("points", &self.len()).finish_non_exhaustive()
    }
}

impl Circle {
    pub(crate) fn from_sorted(points: impl ExactSizeIterator<Item = Point>) -> Self {
        let mut circle = Self {
            positions: Vec::with_capacity(points.len()),
            owners: Vec::with_capacity(points.len()),
            index: vec![0; points.len().div_ceil(2)],
        };
        for point in points {
            circle.positions.push(point.position);
            circle.owners.push(point.owner);
        }
        circle.reindex();
        circle
    }

    fn reindex(&mut self) {
        let segments = self.index.len() as u64;
        let mut at = 0;
        for segment in 0..self.index.len() {
            while self.positions.get(at).is_some_and(|p| (reduce(*p, segments) as usize) < segment) {
                at += 1;
            }
            self.index[segment] = at as u32;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.positions.len()
    }

    #[inline]
    fn rank(&self, key: u64) -> usize {
        let mut at = self.index[reduce(key, self.index.len() as u64) as usize] as usize;
        while at < self.positions.len() && self.positions[at] < key {
            at += 1;
        }
        at
    }

    #[inline]
    pub(crate) fn owner(&self, key: u64) -> NodeId {
        let at = self.rank(key);
        self.owners[if at == self.owners.len() { 0 } else { at }]
    }

    pub(crate) fn owners(&self, keys: &[u64], out: &mut [NodeId]) {
        for (key, id) in keys.iter().zip(out) {
            *id = self.owner(*key);
        }
    }

    pub(crate) fn insert(&mut self, point: Point, precedes: impl Fn(NodeId) -> bool) {
        let mut at = self.rank(point.position);
        while self.positions.get(at) == Some(&point.position) && precedes(self.owners[at]) {
            at += 1;
        }
        self.positions.insert(at, point.position);
        self.owners.insert(at, point.owner);
        self.reindex();
    }

    pub(crate) fn remove(&mut self, point: Point) {
        let mut at = self.rank(point.position);
        while self.owners[at] != point.owner {
            at += 1;
        }
        self.positions.remove(at);
        self.owners.remove(at);
        self.reindex();
    }

    pub(crate) fn walk(&self, key: u64) -> impl Iterator<Item = NodeId> {
        let (before, after) = self.owners.split_at(self.rank(key));
        after.iter().chain(before).copied()
    }

    pub(crate) fn scanned(&self, key: u64) -> u32 {
        let segments = (self.len() / 9).max(1) as u64;
        let segment = reduce(key, segments);
        let start = ((u128::from(segment) << 64).div_ceil(u128::from(segments))) as u64;
        (self.rank(key) - self.rank(start)) as u32 + 1
    }

    pub(crate) fn is_narrow(id: NodeId) -> bool {
        id.0 <= 0xffff
    }

    pub(crate) fn estimate_bytes(points: u64, _hash_bits: u32, _wide: bool) -> u64 {
        points.saturating_mul(12)
    }

    pub(crate) fn gap_before(&self, position: u64) -> u128 {
        let at = self.rank(position);
        let previous = self.positions[if at == 0 { self.positions.len() - 1 } else { at - 1 }];
        if previous == position { 1 << 64 } else { u128::from(position.wrapping_sub(previous)) }
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.positions.capacity() * 8 + self.owners.capacity() * 4 + self.index.capacity() * 4) as u64
    }
}
