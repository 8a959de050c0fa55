//! From nodes to points: the table of a set of nodes, and what a change of the set does to it.

use core::cmp::Ordering;
use core::ops::Range;

use chash_core::{Node, NodeId, Roster};

use crate::circle::Circle;
use crate::lines::Point;
use crate::params::{Params, Sizing};

/// How many points each node has, in the order of the names.
fn point_counts(params: &Params, roster: &Roster) -> Vec<u32> {
    params.point_counts(roster.by_name().map(|node| node.weight))
}

/// The same by ascending id where a node's weight does not tell.
pub(crate) fn allotted(params: &Params, roster: &Roster) -> Vec<(NodeId, u32)> {
    if params.sizing == Sizing::PointsPerNode {
        return Vec::new();
    }
    let ids = roster.by_name().map(|node| node.id);
    let mut counts: Vec<(NodeId, u32)> = ids.zip(point_counts(params, roster)).collect();
    counts.sort_unstable();
    counts
}

/// The table of all points of these nodes. O(P log P).
pub(crate) fn circle_of(params: &Params, roster: &Roster) -> Circle {
    let counts = point_counts(params, roster);
    let total: usize = counts.iter().map(|count| *count as usize).sum();
    let mut points = Vec::with_capacity(total);
    // For sorting, an owner is the rank of its name: (position, rank) is in the order of (position, name).
    for ((rank, node), count) in (0..).map(NodeId).zip(roster.by_name()).zip(counts) {
        points.extend((0..count).map(|i| Point { position: params.position(&node.name, i), owner: rank }));
    }
    points.sort_unstable_by_key(|point| (point.position, point.owner));
    let ids: Vec<NodeId> = roster.by_name().map(|node| node.id).collect();
    for point in &mut points {
        point.owner = ids[point.owner.index()];
    }
    Circle::from_sorted(&points)
}

/// What a change does to one node: how many points it had and will have, numbered from 0.
#[derive(Debug)]
pub(crate) struct Edit<'a> {
    pub(crate) node: &'a Node,
    pub(crate) before: u32,
    pub(crate) after: u32,
}

impl Edit<'_> {
    fn points(&self, params: &Params, numbers: Range<u32>) -> impl Iterator<Item = Point> {
        numbers.map(|i| Point { position: params.position(&self.node.name, i), owner: self.node.id })
    }
}

/// What leads from one set of nodes to another.
pub(crate) fn edits<'a>(params: &Params, before: &'a Roster, after: &'a Roster) -> Vec<Edit<'a>> {
    let mut old = before.by_name().zip(point_counts(params, before)).peekable();
    let mut new = after.by_name().zip(point_counts(params, after)).peekable();
    let mut edits = Vec::new();
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return edits,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            // A node under another id is another owner, whose points leave and arrive.
            (Some((a, _)), Some((b, _))) => (&a.name, a.id).cmp(&(&b.name, b.id)),
        };
        let gone = old.next_if(|_| order.is_le());
        let come = new.next_if(|_| order.is_ge());
        let count = |side: Option<(&Node, u32)>| side.map_or(0, |(_, count)| count);
        let (before, after) = (count(gone), count(come));
        if let Some((node, _)) = gone.or(come)
            && before != after
        {
            edits.push(Edit { node, before, after });
        }
    }
}

/// Makes these changes to the table; `roster` is already as it is after them.
///
/// In place where few points change, and anew where that is cheaper: what the table answers is the same.
pub(crate) fn edit(circle: &mut Circle, params: &Params, roster: &Roster, edits: &[Edit<'_>]) {
    let sum = |count: fn(&Edit<'_>) -> u32| edits.iter().map(|edit| count(edit) as usize).sum::<usize>();
    let leaving = sum(|edit| edit.before.saturating_sub(edit.after));
    let arriving = sum(|edit| edit.after.saturating_sub(edit.before));
    let points = circle.points() - leaving + arriving;
    // A point costs about twice as much in place as in a table built anew.
    let few = leaving + arriving <= points / 2;
    if !few || edits.iter().any(|edit| !circle.suits(points, edit.node.id)) {
        *circle = circle_of(params, roster);
        return;
    }
    for edit in edits {
        for point in edit.points(params, edit.after..edit.before) {
            circle.remove(point);
        }
    }
    // Only now does every id on the circle mean a node of `roster`: it may have changed hands.
    let name = |id| roster.get(id).map(|node| &*node.name);
    for edit in edits {
        for point in edit.points(params, edit.before..edit.after) {
            circle.insert(point, |present| name(present) < Some(&edit.node.name));
        }
    }
}
