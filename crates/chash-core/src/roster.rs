//! The bookkeeping that placements share: who is present, under which name, id and weight.

use crate::{BuildError, Change, Footprint, MembershipError, Node, NodeId};

/// The nodes of a placement, found by name and by id.
///
/// Names and ids are unique, and at least one weight is above 0: a placement that keeps a roster
/// inherits both invariants. Positions are dense and not stable: removal moves the last node into
/// the gap.
#[derive(Clone, Debug)]
pub struct Roster {
    /// In no particular order; the two indexes hold positions in here.
    nodes: Vec<Node>,
    /// Positions sorted by name.
    by_name: Vec<u32>,
    /// Positions sorted by id.
    by_id: Vec<u32>,
    /// Sum of the weights; a `u32` count of `u32` weights cannot overflow it.
    total_weight: u64,
}

impl Roster {
    /// A roster of these nodes. O(N log N).
    ///
    /// # Errors
    ///
    /// `NoNodes` for an empty list or all-zero weights, `DuplicateNode` for a repeated name or id,
    /// `CapacityExceeded` for more than 2^32 − 1 nodes.
    pub fn new(nodes: &[Node]) -> Result<Self, BuildError> {
        let count = u32::try_from(nodes.len())
            .map_err(|_| BuildError::Membership(MembershipError::CapacityExceeded { max: u32::MAX }))?;
        let total_weight = nodes.iter().map(|node| u64::from(node.weight)).sum();
        if total_weight == 0 {
            return Err(BuildError::NoNodes);
        }
        let name = |position: u32| &*nodes[position as usize].name;
        let id = |position: u32| nodes[position as usize].id;
        let by_name = positions_by_name(nodes);
        let mut by_id: Vec<u32> = (0..count).collect();
        by_id.sort_unstable_by_key(|position| id(*position));
        let repeated = by_name.windows(2).any(|pair| name(pair[0]) == name(pair[1]))
            || by_id.windows(2).any(|pair| id(pair[0]) == id(pair[1]));
        if repeated {
            return Err(MembershipError::DuplicateNode.into());
        }
        Ok(Self { nodes: nodes.to_vec(), by_name, by_id, total_weight })
    }

    /// How many nodes are present, at least 1.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The sum of all weights, above 0.
    #[must_use]
    pub fn total_weight(&self) -> u64 {
        self.total_weight
    }

    /// The node with this id. O(log N).
    #[must_use]
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.find_id(id).ok().map(|rank| self.at(self.by_id[rank]))
    }

    /// Whether a node with this name or this id is present. O(log N).
    #[must_use]
    pub fn conflicts_with(&self, node: &Node) -> bool {
        self.find_name(&node.name).is_ok() || self.find_id(node.id).is_ok()
    }

    /// The nodes in ascending order of their names, byte by byte.
    #[must_use]
    pub fn by_name(&self) -> impl ExactSizeIterator<Item = &Node> + Clone {
        self.by_name.iter().map(|position| self.at(*position))
    }

    /// The ids, ascending.
    #[must_use]
    pub fn ids(&self) -> Vec<NodeId> {
        self.by_id.iter().map(|position| self.at(*position).id).collect()
    }

    /// Adds a node. O(log N) comparisons and a shift of the indexes.
    ///
    /// # Errors
    ///
    /// `DuplicateNode` if the name or the id is present, `CapacityExceeded` at 2^32 − 1 nodes.
    pub fn insert(&mut self, node: &Node) -> Result<(), MembershipError> {
        let (Err(name_rank), Err(id_rank)) = (self.find_name(&node.name), self.find_id(node.id)) else {
            return Err(MembershipError::DuplicateNode);
        };
        if self.nodes.len() >= u32::MAX as usize {
            return Err(MembershipError::CapacityExceeded { max: u32::MAX });
        }
        let position = self.nodes.len() as u32;
        self.nodes.push(node.clone());
        self.by_name.insert(name_rank, position);
        self.by_id.insert(id_rank, position);
        self.total_weight += u64::from(node.weight);
        Ok(())
    }

    /// Removes the node with this id and returns it. O(log N) comparisons and a shift of the indexes.
    ///
    /// # Errors
    ///
    /// `UnknownNode`, or `LastNode` if no weight above 0 would remain.
    #[expect(clippy::missing_panics_doc, reason = "the indexes hold every node: the lookups cannot miss")]
    pub fn remove(&mut self, id: NodeId) -> Result<Node, MembershipError> {
        let id_rank = self.find_id(id).map_err(|_| MembershipError::UnknownNode)?;
        let position = self.by_id[id_rank];
        let weight = u64::from(self.at(position).weight);
        if self.total_weight == weight {
            return Err(MembershipError::LastNode);
        }
        let last = self.nodes.len() as u32 - 1;
        let name_rank = self.rank_by_name(position);
        if position != last {
            let (last_name_rank, last_id) = (self.rank_by_name(last), self.at(last).id);
            let last_id_rank = self.find_id(last_id).expect("the last node is indexed by its id");
            self.by_name[last_name_rank] = position;
            self.by_id[last_id_rank] = position;
        }
        self.by_name.remove(name_rank);
        self.by_id.remove(id_rank);
        self.total_weight -= weight;
        Ok(self.nodes.swap_remove(position as usize))
    }

    /// Changes a weight and returns the old one. O(log N).
    ///
    /// # Errors
    ///
    /// `UnknownNode`, or `LastNode` if no weight above 0 would remain.
    pub fn set_weight(&mut self, id: NodeId, weight: u32) -> Result<u32, MembershipError> {
        let rank = self.find_id(id).map_err(|_| MembershipError::UnknownNode)?;
        let node = &mut self.nodes[self.by_id[rank] as usize];
        let total_weight = self.total_weight - u64::from(node.weight) + u64::from(weight);
        if total_weight == 0 {
            return Err(MembershipError::LastNode);
        }
        self.total_weight = total_weight;
        Ok(core::mem::replace(&mut node.weight, weight))
    }

    /// Makes one change: the step of a [`Distributor::apply`](crate::Distributor::apply) that works on a
    /// copy of the roster and rebuilds once.
    ///
    /// # Errors
    ///
    /// Those of [`insert`](Self::insert), [`remove`](Self::remove) and [`set_weight`](Self::set_weight).
    pub fn apply(&mut self, change: &Change) -> Result<(), MembershipError> {
        match change {
            Change::Add(node) => self.insert(node),
            Change::Remove(id) => self.remove(*id).map(drop),
            Change::SetWeight(id, weight) => self.set_weight(*id, *weight).map(drop),
        }
    }

    /// The heap bytes of the roster, all of them membership.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        let names: usize = self.nodes.iter().map(|node| node.name.len()).sum();
        let rows = self.nodes.capacity() * size_of::<Node>();
        let indexes = (self.by_name.capacity() + self.by_id.capacity()) * size_of::<u32>();
        Footprint { lookup_bytes: 0, membership_bytes: (names + rows + indexes) as u64 }
    }

    /// The heap bytes of a roster of these nodes, before it is built.
    #[must_use]
    pub fn estimate_bytes(nodes: &[Node]) -> u64 {
        let names: usize = nodes.iter().map(|node| node.name.len()).sum();
        (names + nodes.len() * (size_of::<Node>() + 2 * size_of::<u32>())) as u64
    }

    fn at(&self, position: u32) -> &Node {
        &self.nodes[position as usize]
    }

    fn find_name(&self, name: &str) -> Result<usize, usize> {
        self.by_name.binary_search_by(|position| (*self.at(*position).name).cmp(name))
    }

    fn find_id(&self, id: NodeId) -> Result<usize, usize> {
        self.by_id.binary_search_by_key(&id, |position| self.at(*position).id)
    }

    fn rank_by_name(&self, position: u32) -> usize {
        self.find_name(&self.at(position).name).expect("every node is indexed by its name")
    }
}

/// The positions of `nodes` in ascending order of their names.
///
/// Names are mostly alike at the front, and comparing them through two indirections is what takes the time
/// of a build; so they are sorted by the eight bytes behind the front that all share, and only where these
/// are equal by the whole.
fn positions_by_name(nodes: &[Node]) -> Vec<u32> {
    let first = nodes.first().map_or("", |node| &node.name).as_bytes();
    let shared = nodes.iter().fold(first.len(), |shared, node| {
        first[..shared].iter().zip(node.name.as_bytes()).take_while(|(a, b)| a == b).count()
    });
    let mut keyed: Vec<(u64, u32)> = (0..)
        .zip(nodes)
        .map(|(position, node)| {
            let rest = &node.name.as_bytes()[shared..];
            let mut key = [0; 8];
            let length = rest.len().min(key.len());
            key[..length].copy_from_slice(&rest[..length]);
            (u64::from_be_bytes(key), position)
        })
        .collect();
    let name = |position: u32| &*nodes[position as usize].name;
    keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| name(a.1).cmp(name(b.1))));
    keyed.into_iter().map(|(_, position)| position).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(roster: &Roster) -> Vec<&str> {
        roster.by_name().map(|node| &*node.name).collect()
    }

    #[test]
    fn refuses_what_cannot_be_placed() {
        let node = |id, name: &str, weight| Node::new(NodeId(id), name).with_weight(weight);
        assert_eq!(Roster::new(&[]).unwrap_err(), BuildError::NoNodes);
        assert_eq!(Roster::new(&[node(0, "a", 0)]).unwrap_err(), BuildError::NoNodes);
        let duplicate = BuildError::Membership(MembershipError::DuplicateNode);
        assert_eq!(Roster::new(&[node(0, "a", 1), node(1, "a", 1)]).unwrap_err(), duplicate);
        assert_eq!(Roster::new(&[node(0, "a", 1), node(0, "b", 1)]).unwrap_err(), duplicate);
    }

    /// Short and long names, shared fronts, zero bytes, and differences before, in and after the eight bytes.
    #[test]
    fn names_are_in_byte_order() {
        let sets: [&[&str]; 6] = [
            &["node-10", "node-9", "node-1", "node-", "node-100"],
            &["b", "a\0", "a", "", "a\0\0", "é", "z"],
            &["shared-12345678-b", "shared-12345678-a", "shared-12345678", "shared-1234567"],
            &["x12345678", "x123456780", "x1234567", "x12345678\0"],
            &["only"],
            &["same-front", "same-front-longer", "same"],
        ];
        for set in sets {
            let nodes: Vec<Node> = (0..).zip(set).map(|(id, name)| Node::new(NodeId(id), *name)).collect();
            let mut expected = set.to_vec();
            expected.sort_unstable();
            assert_eq!(names(&Roster::new(&nodes).unwrap()), expected);
        }
    }

    #[test]
    fn keeps_a_positive_weight() {
        let mut roster =
            Roster::new(&[Node::new(NodeId(7), "b"), Node::new(NodeId(3), "a").with_weight(0)]).unwrap();
        assert_eq!(roster.remove(NodeId(7)).unwrap_err(), MembershipError::LastNode);
        assert_eq!(roster.set_weight(NodeId(7), 0), Err(MembershipError::LastNode));
        assert_eq!(roster.set_weight(NodeId(3), 5), Ok(0));
        assert_eq!(roster.remove(NodeId(7)).unwrap().id, NodeId(7));
        assert_eq!((roster.node_count(), roster.total_weight()), (1, 5));
        assert_eq!(roster.remove(NodeId(7)).unwrap_err(), MembershipError::UnknownNode);
    }

    /// After any history the roster answers like one built afresh from the nodes present.
    #[test]
    fn history_leaves_no_trace() {
        let all = Node::numbered(40);
        let mut roster = Roster::new(&all[..3]).unwrap();
        let mut present: Vec<usize> = vec![0, 1, 2];
        let mut state = 1u64;
        for _ in 0..2000 {
            state = crate::mix::mix64(state.wrapping_add(crate::mix::GOLDEN));
            let pick = (state % 40) as usize;
            if let Some(at) = present.iter().position(|i| *i == pick) {
                if present.len() > 1 {
                    roster.remove(all[pick].id).unwrap();
                    present.swap_remove(at);
                }
            } else {
                roster.insert(&all[pick]).unwrap();
                present.push(pick);
            }
            let nodes: Vec<Node> = present.iter().map(|i| all[*i].clone()).collect();
            let fresh = Roster::new(&nodes).unwrap();
            assert_eq!(names(&roster), names(&fresh));
            assert_eq!(roster.ids(), fresh.ids());
            assert_eq!(roster.total_weight(), fresh.total_weight());
            for node in &nodes {
                assert_eq!(roster.get(node.id), Some(node));
            }
        }
    }
}
