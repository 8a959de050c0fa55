//! Points on a circle: the structure that most of the systems share.

use core::fmt::Debug;

use chash_core::Work;

use crate::Table;

/// A position on a circle: an integer type, all of whose values make up the circle.
pub trait Position: Copy + Ord + Debug + Send + Sync + 'static {
    /// The position that a 64-bit key stands for.
    fn from_key(key: u64) -> Self;

    /// How far `self` lies after `from`, as a fraction of the circle; 0 for equal positions.
    fn fraction_after(self, from: Self) -> f64;
}

/// The low 32 bits of a key.
impl Position for u32 {
    fn from_key(key: u64) -> Self {
        key as Self
    }

    fn fraction_after(self, from: Self) -> f64 {
        f64::from(self.wrapping_sub(from)) / 4_294_967_296.0
    }
}

/// The key itself.
impl Position for u64 {
    fn from_key(key: u64) -> Self {
        key
    }

    fn fraction_after(self, from: Self) -> f64 {
        self.wrapping_sub(from) as f64 / 18_446_744_073_709_551_616.0
    }
}

/// The key's bits as a signed number.
impl Position for i64 {
    fn from_key(key: u64) -> Self {
        key.cast_signed()
    }

    fn fraction_after(self, from: Self) -> f64 {
        u64::fraction_after(self.cast_unsigned(), from.cast_unsigned())
    }
}

/// The key as the top 64 bits.
impl Position for u128 {
    fn from_key(key: u64) -> Self {
        Self::from(key) << 64
    }

    fn fraction_after(self, from: Self) -> f64 {
        self.wrapping_sub(from) as f64 / 340_282_366_920_938_463_463_374_607_431_768_211_456.0
    }
}

/// Who owns a position on which several points fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tie {
    /// The server listed first.
    First,
    /// The server listed last: every point replaces the one before it.
    Last,
}

/// Points in ascending order, each position once, each with the index of its server.
#[derive(Clone, Debug)]
pub struct Ring<P> {
    /// Ascending, without repeats, at least one.
    positions: Box<[P]>,
    /// The owner of each position.
    owners: Box<[u32]>,
    /// How many points lost their position to another one.
    coinciding: usize,
}

impl<P: Position> Ring<P> {
    /// The heap bytes of one point.
    pub(crate) const POINT_BYTES: u64 = (size_of::<P>() + size_of::<u32>()) as u64;

    /// A ring of these points, which stand in list order. O(points log points).
    pub(crate) fn new(mut points: Vec<(P, u32)>, tie: Tie) -> Self {
        let requested = points.len();
        assert!(requested > 0, "a ring is made of a list in which a server can be chosen");
        // Stable: points of one position stay in list order.
        points.sort_by_key(|(position, _)| *position);
        points.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same && tie == Tie::Last {
                kept.1 = later.1;
            }
            same
        });
        Self {
            positions: points.iter().map(|(position, _)| *position).collect(),
            owners: points.iter().map(|(_, owner)| *owner).collect(),
            coinciding: requested - points.len(),
        }
    }

    /// How many positions there are.
    pub(crate) fn len(&self) -> usize {
        self.positions.len()
    }

    /// The position of a point.
    pub(crate) fn position(&self, point: usize) -> P {
        self.positions[point]
    }

    /// The owner of a point.
    pub(crate) fn owner(&self, point: usize) -> u32 {
        self.owners[point]
    }

    /// The first point at or after this position.
    pub(crate) fn at_or_after(&self, position: P) -> usize {
        self.wrapped(self.positions.partition_point(|point| *point < position))
    }

    /// The first point after this position.
    pub(crate) fn after(&self, position: P) -> usize {
        self.wrapped(self.positions.partition_point(|point| *point <= position))
    }

    /// The point before this one.
    pub(crate) fn before(&self, point: usize) -> usize {
        point.checked_sub(1).unwrap_or(self.len() - 1)
    }

    /// Every point once, from this one on and around the circle.
    pub(crate) fn walk(&self, from: usize) -> impl Iterator<Item = usize> {
        (from..self.len()).chain(0..from)
    }

    /// The share of the circle that each of `count` servers owns, where the keys up to a point go to
    /// `owner(point)`.
    pub(crate) fn arcs(&self, count: usize, owner: impl Fn(usize) -> u32) -> Vec<f64> {
        let mut shares = vec![0.0; count];
        if self.len() == 1 {
            shares[owner(0) as usize] = 1.0;
            return shares;
        }
        for point in 0..self.len() {
            let arc = self.position(point).fraction_after(self.position(self.before(point)));
            shares[owner(point) as usize] += arc;
        }
        // Rounding must not lift the sum of all arcs above the whole circle.
        shares.into_iter().map(|share| share.min(1.0)).collect()
    }

    fn wrapped(&self, point: usize) -> usize {
        if point == self.len() { 0 } else { point }
    }
}

/// The rule of most systems: a key belongs to the first point at or after it.
impl<P: Position> Table for Ring<P> {
    fn find(&self, key: u64) -> u32 {
        self.owner(self.at_or_after(P::from_key(key)))
    }

    /// The comparisons of a binary search, each reading one position, and the read of the owner.
    fn work(&self, _: u64) -> Work {
        let comparisons = usize::BITS - self.len().leading_zeros();
        Work { hash_evals: 0, probes: comparisons, table_reads: comparisons + 1 }
    }

    fn shares(&self, count: usize) -> Option<Vec<f64>> {
        Some(self.arcs(count, |point| self.owner(point)))
    }

    fn coinciding_points(&self) -> usize {
        self.coinciding
    }

    fn heap_bytes(&self) -> usize {
        size_of_val(&*self.positions) + size_of_val(&*self.owners)
    }
}

/// The other rule: a key belongs to the first point after it, and not to one that it falls on.
#[derive(Clone, Debug)]
pub struct RingAfter<P>(pub(crate) Ring<P>);

impl<P: Position> Table for RingAfter<P> {
    fn find(&self, key: u64) -> u32 {
        self.0.owner(self.0.after(P::from_key(key)))
    }

    fn work(&self, key: u64) -> Work {
        self.0.work(key)
    }

    /// The arcs are closed at their other end, and as long.
    fn shares(&self, count: usize) -> Option<Vec<f64>> {
        self.0.shares(count)
    }

    fn coinciding_points(&self) -> usize {
        self.0.coinciding
    }

    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wraps_at_both_ends() {
        let ring = Ring::new(vec![(200u32, 1), (100, 0), (300, 2)], Tie::First);
        let owners = |search: fn(&Ring<u32>, u32) -> usize| {
            [0, 100, 101, 300, 301, u32::MAX].map(|position| ring.owner(search(&ring, position)))
        };
        assert_eq!(owners(Ring::at_or_after), [0, 0, 1, 2, 0, 0]);
        assert_eq!(owners(Ring::after), [0, 1, 1, 0, 0, 0]);
        assert_eq!((ring.before(0), ring.before(1)), (2, 0));
        assert_eq!(ring.walk(1).collect::<Vec<_>>(), [1, 2, 0]);
    }

    #[test]
    fn ties_go_by_the_rule() {
        let points = vec![(5u64, 0), (7, 1), (5, 2), (5, 3)];
        let first = Ring::new(points.clone(), Tie::First);
        let last = Ring::new(points, Tie::Last);
        assert_eq!((first.owner(0), last.owner(0)), (0, 3));
        assert_eq!((first.len(), first.coinciding), (2, 2));
    }

    proptest! {
        /// Binary search against a scan, kept + dropped = requested, and shares that add up to 1.
        #[test]
        fn equals_a_scan(
            points in prop::collection::vec((0u32..64, 0u32..8), 1..60),
            key in 0u32..70,
        ) {
            let points: Vec<(u32, u32)> = points;
            for tie in [Tie::First, Tie::Last] {
                let ring = Ring::new(points.clone(), tie);
                prop_assert_eq!(ring.len() + ring.coinciding, points.len());
                let scan = |accept: &dyn Fn(u32) -> bool| {
                    let candidates = || points.iter().filter(|(position, _)| accept(*position));
                    let nearest = candidates().map(|(position, _)| *position).min();
                    let position = nearest.or(points.iter().map(|(position, _)| *position).min()).unwrap();
                    let mut there = points.iter().filter(|(at, _)| *at == position);
                    let owner = match tie { Tie::First => there.next(), Tie::Last => there.next_back() };
                    owner.unwrap().1
                };
                prop_assert_eq!(ring.owner(ring.at_or_after(key)), scan(&|at| at >= key));
                prop_assert_eq!(ring.owner(ring.after(key)), scan(&|at| at > key));
                let total: f64 = ring.shares(8).unwrap().iter().sum();
                // At most 60 sums of fractions that are exact in binary.
                prop_assert!((total - 1.0).abs() < 1e-12);
            }
        }
    }
}
