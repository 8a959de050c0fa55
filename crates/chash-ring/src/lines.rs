//! The table behind the ring: the points of each segment of the circle in a line of its own.

use core::cmp::Ordering;
use core::fmt;
use core::ops::Range;

use chash_core::NodeId;

use crate::grid;
use crate::line::{Line, Owner, ROOM};
use crate::scan;
use crate::tails::{LINES_PER_BLOCK, Tails};

/// Points for each line of a table just built. At 9 of 15 places 2 % of the lines overflow, and 0.5 % of
/// the keys lie behind what is in their line; a line and its tails come to about 11.5 bytes a point.
const POINTS_PER_LINE: usize = 9;

/// Beyond this size of the lines a batch asks for them ahead: they do not stay in the caches near the core.
const NEAR_BYTES: usize = 256 << 10;

/// How many lookups ahead: as many as hide a read from memory behind the ones before it.
const AHEAD: usize = 24;

/// A position on the circle, and the node that put a point there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) position: u64,
    pub(crate) owner: NodeId,
}

/// How many lines a table of this many points is built with.
pub(crate) fn lines_for(points: usize) -> usize {
    (points / POINTS_PER_LINE).max(1)
}

/// A multiset of points ordered by (position, name of the owner). The names are the caller's: sorted input on
/// building, a comparison on insertion.
///
/// What it holds depends on the points alone, but for the number of lines, which nothing it answers depends on.
#[derive(Clone)]
pub(crate) struct Lines<O: Owner> {
    /// One for each segment, at least one.
    lines: Vec<Line<O>>,
    /// How many points are in each line: all of the segment's, or [`ROOM`].
    lens: Vec<u8>,
    /// The tails of the points in lines.
    tails: Tails,
    /// The points of all segments that found no room in their line, sorted like the rest.
    spill: Vec<Point>,
    /// How many points there are.
    points: usize,
}

impl<O: Owner> fmt::Debug for Lines<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("points", &self.points).finish_non_exhaustive()
    }
}

impl<O: Owner> Lines<O> {
    /// The table of these points, at least one. O(P).
    pub(crate) fn from_sorted(points: &[Point]) -> Self {
        let count = lines_for(points.len());
        let mut table = Self {
            lines: vec![Line::new(points[0].owner); count],
            lens: vec![0; count],
            tails: Tails::new(grid::tail_bytes(count), count),
            spill: Vec::new(),
            points: points.len(),
        };
        let block_of = |point: &Point| grid::segment(point.position, count) / LINES_PER_BLOCK;
        let mut tails = Vec::new();
        for block in points.chunk_by(|a, b| block_of(a) == block_of(b)) {
            tails.clear();
            for point in block {
                let (segment, head) = grid::place(point.position, count);
                let len = usize::from(table.lens[segment]);
                if len < ROOM {
                    table.lines[segment].set(len, head, point.owner);
                    table.lens[segment] += 1;
                    tails.push(grid::tail(point.position, count));
                } else {
                    table.spill.push(*point);
                }
            }
            table.tails.fill(block_of(&block[0]), &tails);
        }
        table.spill.shrink_to_fit();
        let mut next = points[0].owner;
        for (line, len) in table.lines.iter_mut().zip(&table.lens).rev() {
            line.set_next(usize::from(*len), next);
            next = line.owner_at(0);
        }
        table
    }

    pub(crate) fn points(&self) -> usize {
        self.points
    }

    /// Whether this many points would still be at home: not so crowded that many find no room, and not
    /// mostly free places.
    pub(crate) fn suits(&self, points: usize) -> bool {
        let (wanted, lines) = (lines_for(points), self.lines.len());
        5 * wanted <= 6 * lines && lines <= 2 * wanted
    }

    /// The owner of the first point at or after the key. O(1) expected: one line is read, unless a point
    /// shares the key's top bits or the key lies behind a full line (some keys in a thousand).
    #[inline(always)]
    pub(crate) fn owner(&self, key: u64) -> NodeId {
        let (segment, head) = grid::place(key, self.lines.len());
        match self.lines[segment].owner(head) {
            Some(owner) => owner,
            None => self.owner_by_all_bits(key),
        }
    }

    #[cold]
    #[inline(never)]
    fn owner_by_all_bits(&self, key: u64) -> NodeId {
        let segment = self.segment(key);
        let rank = self.rank(segment, key);
        match self.first_spilled(segment, key) {
            Some(spilled) if rank == ROOM => self.spill[spilled].owner,
            _ => self.lines[segment].owner_at(rank),
        }
    }

    /// The owners of many keys.
    pub(crate) fn owners(&self, keys: &[u64], out: &mut [NodeId]) {
        let near = size_of_val(&*self.lines) <= NEAR_BYTES;
        let ahead = if near { &[] } else { keys.get(AHEAD..).unwrap_or(&[]) };
        // Two loops, so that neither has to ask which one it is.
        let (far, last) = out.split_at_mut(ahead.len());
        for ((key, later), id) in keys.iter().zip(ahead).zip(far) {
            scan::prefetch(&self.lines, self.segment(*later));
            *id = self.owner(*key);
        }
        for (key, id) in keys[ahead.len()..].iter().zip(last) {
            *id = self.owner(*key);
        }
    }

    /// The owners of all points, from the first at or after the key once round the circle.
    pub(crate) fn walk(&self, key: u64) -> Walk<'_, O> {
        let segment = self.segment(key);
        let spilled = match self.first_spilled(segment, key) {
            Some(first) => &self.spill[first..self.spilled(segment).end],
            None => &[],
        };
        Walk { table: self, segment, rank: self.rank(segment, key), spilled, left: self.points }
    }

    /// How many points there are from one position up to another that is not before it, the last excluded.
    pub(crate) fn count(&self, range: Range<u64>) -> usize {
        let (first, last) = (self.segment(range.start), self.segment(range.end));
        let whole: usize = (first..last).map(|segment| self.len(segment) + self.spilled(segment).len()).sum();
        whole + self.rank_with_spill(last, range.end) - self.rank_with_spill(first, range.start)
    }

    /// How far it is from the last point before `position` to there, once round where there is no other.
    pub(crate) fn gap_before(&self, position: u64) -> u128 {
        let previous = self.last_before(position);
        if previous == position { 1 << 64 } else { u128::from(position.wrapping_sub(previous)) }
    }

    /// The position of the last point before this one, round the circle if need be; at or after it if there is none before.
    fn last_before(&self, position: u64) -> u64 {
        let count = self.lines.len();
        let here = self.segment(position);
        let spilled = self.spill.partition_point(|point| point.position < position);
        match self.rank(here, position) {
            ROOM if spilled > self.spilled(here).start => return self.spill[spilled - 1].position,
            0 => {}
            rank => return self.position(here, rank - 1),
        }
        for segment in (0..here).rev().chain((here..count).rev()) {
            if let Some(last) = self.spilled(segment).last() {
                return self.spill[last].position;
            }
            if let Some(rank) = self.len(segment).checked_sub(1) {
                return self.position(segment, rank);
            }
        }
        position
    }

    /// Puts a point where it belongs: behind the ones at the same position whose owners `precede` it.
    /// O(1) expected, while the table [`suits`](Self::suits).
    pub(crate) fn insert(&mut self, point: Point, precedes: impl Fn(NodeId) -> bool) {
        let (segment, head) = grid::place(point.position, self.lines.len());
        let mut rank = self.rank(segment, point.position);
        while rank < self.len(segment)
            && self.lines[segment].head_at(rank) == head
            && self.position(segment, rank) == point.position
            && precedes(self.lines[segment].owner_at(rank))
        {
            rank += 1;
        }
        self.points += 1;
        if rank == ROOM {
            let place = self.spill.partition_point(|other| match other.position.cmp(&point.position) {
                Ordering::Less => true,
                Ordering::Equal => precedes(other.owner),
                Ordering::Greater => false,
            });
            self.spill.insert(place, point);
            return;
        }
        if self.len(segment) == ROOM {
            let last = Point {
                position: self.position(segment, ROOM - 1),
                owner: self.lines[segment].owner_at(ROOM - 1),
            };
            self.spill.insert(self.spilled(segment).start, last);
            self.tails.remove(segment / LINES_PER_BLOCK, self.tail_index(segment, ROOM - 1));
        } else {
            self.lens[segment] += 1;
        }
        self.lines[segment].insert(rank, head, point.owner);
        let tail = grid::tail(point.position, self.lines.len());
        self.tails.insert(segment / LINES_PER_BLOCK, self.tail_index(segment, rank), tail);
        if rank == 0 {
            self.publish(segment);
        }
    }

    /// Takes out a point that is present. O(1) expected.
    pub(crate) fn remove(&mut self, point: Point) {
        self.points -= 1;
        let segment = self.segment(point.position);
        let mut rank = self.rank(segment, point.position);
        while rank < self.len(segment) && self.lines[segment].owner_at(rank) != point.owner {
            rank += 1;
        }
        let spilled = self.spilled(segment);
        if rank == ROOM {
            let first = self.spill.partition_point(|other| other.position < point.position);
            let place = self.spill[first..].iter().position(|other| *other == point);
            self.spill.remove(first + place.expect("only points that are present are removed"));
            return;
        }
        let block = segment / LINES_PER_BLOCK;
        self.tails.remove(block, self.tail_index(segment, rank));
        self.lines[segment].remove(rank);
        if spilled.is_empty() {
            self.lens[segment] -= 1;
        } else {
            let last = self.spill.remove(spilled.start);
            let (_, head) = grid::place(last.position, self.lines.len());
            self.lines[segment].set(ROOM - 1, head, last.owner);
            let tail = grid::tail(last.position, self.lines.len());
            self.tails.insert(block, self.tail_index(segment, ROOM - 1), tail);
        }
        if rank == 0 {
            self.publish(segment);
        }
    }

    /// Tells the lines before this one, as far back as they are empty and to one that is not, which owner
    /// comes first here.
    fn publish(&mut self, segment: usize) {
        let first = self.lines[segment].owner_at(0);
        let count = self.lines.len();
        for before in (0..segment).rev().chain((segment..count).rev()) {
            let len = self.len(before);
            self.lines[before].set_next(len, first);
            if len > 0 {
                break;
            }
        }
    }

    /// The heap bytes held. O(lines).
    pub(crate) fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line<O>>()
            + self.lens.capacity()
            + self.tails.bytes()
            + self.spill.capacity() * size_of::<Point>()
    }

    /// The heap bytes of a table of this many points, of which `spilled` find no room in their line.
    pub(crate) fn estimate_bytes(points: u64, spilled: u64) -> u64 {
        let lines = (points / POINTS_PER_LINE as u64).max(1);
        let width = grid::tail_bytes(usize::try_from(lines).unwrap_or(usize::MAX).min(1 << 25));
        (lines.saturating_mul(size_of::<Line<O>>() as u64 + 1))
            .saturating_add(Tails::estimate_bytes(width, lines, points.saturating_sub(spilled)))
            .saturating_add(spilled.saturating_mul(size_of::<Point>() as u64))
    }

    #[inline(always)]
    fn segment(&self, position: u64) -> usize {
        grid::segment(position, self.lines.len())
    }

    /// How many points are in the line of a segment.
    fn len(&self, segment: usize) -> usize {
        usize::from(self.lens[segment])
    }

    /// How many points of the line are before a position in this segment, all bits compared.
    fn rank(&self, segment: usize, position: u64) -> usize {
        let (_, head) = grid::place(position, self.lines.len());
        let line = &self.lines[segment];
        let mut rank = line.below(head);
        // Free places come last, and may have the same head.
        if rank < self.len(segment) && line.head_at(rank) == head {
            let tail = grid::tail(position, self.lines.len());
            let block = segment / LINES_PER_BLOCK;
            let first = self.tail_index(segment, 0);
            while rank < self.len(segment)
                && line.head_at(rank) == head
                && self.tails.get(block, first + rank) < tail
            {
                rank += 1;
            }
        }
        rank
    }

    /// The same with the segment's points beyond the line.
    fn rank_with_spill(&self, segment: usize, position: u64) -> usize {
        let spilled = self.spilled(segment);
        let before = self.spill[spilled].iter().filter(|point| point.position < position).count();
        self.rank(segment, position) + before
    }

    /// The position of a point in a line.
    fn position(&self, segment: usize, rank: usize) -> u64 {
        let tail = self.tails.get(segment / LINES_PER_BLOCK, self.tail_index(segment, rank));
        grid::position(segment, self.lines[segment].head_at(rank), tail, self.lines.len())
    }

    /// Where in its block the tail of a point in a line is.
    fn tail_index(&self, segment: usize, rank: usize) -> usize {
        let block = segment / LINES_PER_BLOCK * LINES_PER_BLOCK;
        self.lens[block..segment].iter().map(|len| usize::from(*len)).sum::<usize>() + rank
    }

    /// The points of a segment that are not in its line.
    fn spilled(&self, segment: usize) -> Range<usize> {
        if self.len(segment) < ROOM {
            return 0..0;
        }
        let count = self.lines.len();
        let start = self.spill.partition_point(|point| grid::segment(point.position, count) < segment);
        let beyond = &self.spill[start..];
        start..start + beyond.partition_point(|point| grid::segment(point.position, count) == segment)
    }

    /// The first of them at or after a position in this segment.
    fn first_spilled(&self, segment: usize, position: u64) -> Option<usize> {
        let first = self.spill.partition_point(|point| point.position < position);
        let in_segment = self.spill.get(first).is_some_and(|point| self.segment(point.position) == segment);
        in_segment.then_some(first)
    }
}

/// See [`Lines::walk`].
#[derive(Debug)]
pub(crate) struct Walk<'a, O: Owner> {
    table: &'a Lines<O>,
    segment: usize,
    /// The next point of the segment's line.
    rank: usize,
    /// The points of the segment beyond the line that are still to come.
    spilled: &'a [Point],
    /// How many points are still to come in all.
    left: usize,
}

impl<O: Owner> Iterator for Walk<'_, O> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        self.left = self.left.checked_sub(1)?;
        loop {
            if self.rank < self.table.len(self.segment) {
                self.rank += 1;
                return Some(self.table.lines[self.segment].owner_at(self.rank - 1));
            }
            if let Some((point, rest)) = self.spilled.split_first() {
                self.spilled = rest;
                return Some(point.owner);
            }
            self.segment = if self.segment + 1 == self.table.lines.len() { 0 } else { self.segment + 1 };
            self.rank = 0;
            self.spilled = &self.table.spill[self.table.spilled(self.segment)];
        }
    }
}
