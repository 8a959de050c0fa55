//! The table of a ring, as narrow as the labels of its nodes allow.

use core::ops::{ControlFlow, Range};

use chash_core::NodeId;

use crate::grid;
use crate::line::ROOM;
use crate::lines::{Lines, Point, lines_for};

/// The points on the circle; see [`Lines`], whose methods these are.
#[derive(Clone, Debug)]
pub(crate) enum Circle {
    /// Every label is below 2^16: a line is a cache line.
    Narrow(Lines<u16>),
    /// Any label.
    Wide(Lines<u32>),
}

/// Evaluates the same expression on either.
macro_rules! on {
    ($circle:expr, $lines:ident => $body:expr) => {
        match $circle {
            Circle::Narrow($lines) => $body,
            Circle::Wide($lines) => $body,
        }
    };
}

/// Whether a label fits in a narrow table.
fn is_narrow(id: NodeId) -> bool {
    u16::try_from(id.0).is_ok()
}

impl Circle {
    /// The table of these points, at least one, sorted by (position, name of the owner).
    pub(crate) fn from_sorted(points: &[Point]) -> Self {
        if points.iter().all(|point| is_narrow(point.owner)) {
            Self::Narrow(Lines::from_sorted(points))
        } else {
            Self::Wide(Lines::from_sorted(points))
        }
    }

    pub(crate) fn points(&self) -> usize {
        on!(self, lines => lines.points())
    }

    #[inline]
    pub(crate) fn owner(&self, key: u64) -> NodeId {
        on!(self, lines => lines.owner(key))
    }

    pub(crate) fn owners(&self, keys: &[u64], out: &mut [NodeId]) {
        on!(self, lines => lines.owners(keys, out));
    }

    /// Shows `visit` the owners of all points, from the first at or after the key once round the circle,
    /// until it breaks off.
    pub(crate) fn walk<B>(&self, key: u64, visit: impl FnMut(NodeId) -> ControlFlow<B>) -> ControlFlow<B> {
        on!(self, lines => lines.walk(key).try_for_each(visit))
    }

    /// How many points a search looks at that starts at the beginning of the key's segment and ends at the
    /// first point at or after the key; the segments being those of a table just built.
    pub(crate) fn scanned(&self, key: u64) -> usize {
        let segments = lines_for(self.points());
        let start = grid::start(grid::segment(key, segments), segments);
        self.count(start..key) + 1
    }

    fn count(&self, range: Range<u64>) -> usize {
        on!(self, lines => lines.count(range))
    }

    pub(crate) fn gap_before(&self, position: u64) -> u128 {
        on!(self, lines => lines.gap_before(position))
    }

    /// Whether the table can be changed in place to hold this many points, new ones of this owner among them.
    pub(crate) fn suits(&self, points: usize, owner: NodeId) -> bool {
        let fits = matches!(self, Self::Wide(_)) || is_narrow(owner);
        fits && on!(self, lines => lines.suits(points))
    }

    pub(crate) fn insert(&mut self, point: Point, precedes: impl Fn(NodeId) -> bool) {
        on!(self, lines => lines.insert(point, precedes));
    }

    pub(crate) fn remove(&mut self, point: Point) {
        on!(self, lines => lines.remove(point));
    }

    pub(crate) fn bytes(&self) -> u64 {
        (on!(self, lines => lines.bytes())) as u64
    }

    /// The heap bytes of a table of this many points at positions of `hash_bits` bits.
    pub(crate) fn estimate_bytes(points: u64, hash_bits: u32, owners: impl Iterator<Item = NodeId>) -> u64 {
        let spilled = points.saturating_sub(expected_in_lines(points, hash_bits));
        if { owners }.all(is_narrow) {
            Lines::<u16>::estimate_bytes(points, spilled)
        } else {
            Lines::<u32>::estimate_bytes(points, spilled)
        }
    }
}

/// How many points find room in their line, on average.
///
/// With few bits a segment has a whole number of the positions that there are, some one more than
/// others; each position gets its share of the points.
fn expected_in_lines(points: u64, hash_bits: u32) -> u64 {
    let lines = lines_for(usize::try_from(points).unwrap_or(usize::MAX)) as f64;
    let positions = (1u128 << hash_bits) as f64;
    let fewer = (positions / lines).floor();
    let with_more = positions - fewer * lines;
    let in_line = |positions_in_line: f64| expected_up_to_room(points as f64 * positions_in_line / positions);
    // Back to whole points; a float to integer cast saturates.
    (with_more * in_line(fewer + 1.0) + (lines - with_more) * in_line(fewer)) as u64
}

/// The mean of min(X, [`ROOM`]) for X distributed as Poisson with this mean: terms in proportion, added up
/// far into the tail, so that no exponential is needed.
fn expected_up_to_room(mean: f64) -> f64 {
    let room = ROOM as f64;
    if mean > 100.0 {
        return room;
    }
    let (mut term, mut terms, mut sum) = (1.0, 1.0, 0.0);
    for k in (1..300).map(f64::from) {
        term *= mean / k;
        terms += term;
        sum += term * room.min(k);
    }
    sum / terms
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Poisson with mean 1/2, cut at 15, is as good as uncut; with mean 40 hardly any is below 15.
    #[test]
    fn room_is_rarely_or_always_exhausted() {
        assert!((expected_up_to_room(0.5) - 0.5).abs() < 1e-12);
        assert!((expected_up_to_room(40.0) - 15.0).abs() < 1e-4);
        assert_eq!(expected_up_to_room(1e9), 15.0);
        assert_eq!(expected_up_to_room(0.0), 0.0);
        assert_eq!(expected_in_lines(1 << 20, 1), 30);
    }
}
