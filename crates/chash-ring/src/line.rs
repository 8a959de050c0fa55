//! One segment of the circle in one cache line: the heads of its points and their owners.

use core::fmt::Debug;

use chash_core::NodeId;

use crate::scan::{self, Heads};

/// Points that a line has room for. A sixteenth place is kept free: it is where a search ends that finds
/// no point, and it names the owner of the first point of the following segments.
pub(crate) const ROOM: usize = 15;

/// The head of a place without a point: never below a key's.
const FREE: i16 = i16::MAX;

/// A node's label, as narrow as the table has it.
pub(crate) trait Owner: Copy + Debug + Send + Sync {
    /// A type without content whose alignment keeps a line from straddling more cache lines than it must.
    type Aligned: Copy + Debug + Send + Sync;

    /// The label of this node, which is in range.
    fn from_id(id: NodeId) -> Self;

    /// The node.
    fn id(self) -> NodeId;
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct CacheLine;

impl Owner for u16 {
    /// A line is one cache line.
    type Aligned = CacheLine;

    #[inline(always)]
    fn from_id(id: NodeId) -> Self {
        debug_assert!(u16::try_from(id.0).is_ok());
        id.0 as u16
    }

    #[inline(always)]
    fn id(self) -> NodeId {
        NodeId(u32::from(self))
    }
}

impl Owner for u32 {
    /// 96 bytes: no more than the heads ask for.
    type Aligned = ();

    #[inline(always)]
    fn from_id(id: NodeId) -> Self {
        id.0
    }

    #[inline(always)]
    fn id(self) -> NodeId {
        NodeId(self)
    }
}

/// The first [`ROOM`] points of a segment, in order. How many there are is not in here, but beside.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Line<O: Owner> {
    aligned: [O::Aligned; 0],
    /// Ascending; `FREE` from the first free place on, the last place always.
    heads: Heads,
    /// In the free places: the owner of the first point of the next segment that has one.
    owners: [O; ROOM + 1],
}

impl<O: Owner> Line<O> {
    /// A line without points.
    pub(crate) fn new(next: NodeId) -> Self {
        Self { aligned: [], heads: Heads([FREE; ROOM + 1]), owners: [O::from_id(next); ROOM + 1] }
    }

    /// The owner of the first point at or after a key with this head; `None` where the heads cannot
    /// tell, or where points beyond the line have to be looked at.
    #[inline(always)]
    pub(crate) fn owner(&self, head: i16) -> Option<NodeId> {
        let rank = scan::below(&self.heads, head);
        // Also the bounds check.
        if rank < ROOM && self.heads.0[rank] != head { Some(self.owners[rank].id()) } else { None }
    }

    /// How many heads are below this one.
    pub(crate) fn below(&self, head: i16) -> usize {
        scan::below(&self.heads, head)
    }

    pub(crate) fn head_at(&self, rank: usize) -> i16 {
        self.heads.0[rank]
    }

    /// The owner of a point, or in a free place that of the first point of the following segments.
    pub(crate) fn owner_at(&self, rank: usize) -> NodeId {
        self.owners[rank].id()
    }

    /// Puts a point at `rank`, moving those from there on up; one that no longer has room falls off.
    pub(crate) fn insert(&mut self, rank: usize, head: i16, owner: NodeId) {
        self.heads.0.copy_within(rank..ROOM - 1, rank + 1);
        self.owners.copy_within(rank..ROOM - 1, rank + 1);
        self.set(rank, head, owner);
    }

    /// Puts a point at `rank`, where there is none.
    pub(crate) fn set(&mut self, rank: usize, head: i16, owner: NodeId) {
        self.heads.0[rank] = head;
        self.owners[rank] = O::from_id(owner);
    }

    /// Takes the point at `rank` out, moving those behind it down.
    pub(crate) fn remove(&mut self, rank: usize) {
        // The last place is free, so a free place follows the last point.
        self.heads.0.copy_within(rank + 1.., rank);
        self.owners.copy_within(rank + 1.., rank);
    }

    /// Names the owner of the first point of the following segments in the places from `points` on.
    pub(crate) fn set_next(&mut self, points: usize, next: NodeId) {
        self.owners[points..].fill(O::from_id(next));
    }
}
