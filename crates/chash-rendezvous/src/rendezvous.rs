//! The placement.

use std::collections::BinaryHeap;

use chash_core::{
    Build, BuildError, Capabilities, Change, Disruption, Distributor, Footprint, MembershipError, Node,
    NodeId, Order, Removal, Replicated, Roster, Work,
};

use crate::arch::Backend;
use crate::candidates::{CANDIDATE_BYTES, Candidates, Rank};
use crate::score::{HASH_BITS, Precision, Words};

/// Parameters of [`Rendezvous`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Hashed with every name, any value, 0 by default: another seed is another placement.
    pub seed: u64,
    /// How many bits of a node's hash for a key count, 1 to 32, 32 by default. Fewer make ties
    /// certain, which is what they are for: tests. Shares follow the weights at 32 bits only.
    pub hash_bits: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { seed: 0, hash_bits: HASH_BITS }
    }
}

/// Rendezvous hashing, also called highest random weight: every node has a hash for the key, and the
/// highest wins; with weights, the earliest of exponential clocks that run at the weights' rates.
///
/// ```
/// use chash_core::{Build, Distributor, Node, NodeId, Replicated};
/// use chash_rendezvous::{Params, Rendezvous};
///
/// let mut nodes = Node::numbered(5);
/// nodes[0].weight = 3;
/// let mut placement = Rendezvous::build(&Params::default(), &nodes)?;
/// assert_eq!(placement.key_share(NodeId(0)), Some(3.0 / 7.0));
///
/// // Whoever is second inherits the key when the first leaves.
/// let mut two = [NodeId(0); 2];
/// assert_eq!(placement.replicas(42, &mut two), 2);
/// assert_eq!(placement.lookup(42), two[0]);
/// placement.remove(two[0])?;
/// assert_eq!(placement.lookup(42), two[1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rendezvous {
    roster: Roster,
    /// The nodes of the roster that have a weight above 0.
    candidates: Candidates,
    backend: Backend,
}

impl Rendezvous {
    /// The place of this name among the candidates: where it is, or where it would be. O(log² N).
    fn place_of(&self, name: &str) -> usize {
        let before = |id: &NodeId| self.roster.get(*id).is_some_and(|node| *node.name < *name);
        self.candidates.ids().partition_point(before)
    }
}

impl Build for Rendezvous {
    type Params = Params;

    /// O(N log N).
    fn build(params: &Params, nodes: &[Node]) -> Result<Self, BuildError> {
        if !(1..=HASH_BITS).contains(&params.hash_bits) {
            return Err(BuildError::Parameter { name: "hash_bits", requirement: "between 1 and 32" });
        }
        let roster = Roster::new(nodes)?;
        let candidates = Candidates::new(&roster, Precision::new(params.hash_bits), params.seed);
        Ok(Self { roster, candidates, backend: Backend::best() })
    }

    fn estimate_bytes(_: &Params, nodes: &[Node]) -> u64 {
        let candidates = nodes.iter().filter(|node| node.weight > 0).count() as u64;
        Roster::estimate_bytes(nodes) + candidates * CANDIDATE_BYTES
    }
}

impl Distributor for Rendezvous {
    /// O(N).
    fn lookup(&self, key: u64) -> NodeId {
        self.backend.lookup(&self.candidates, key)
    }

    fn lookup_batch(&self, keys: &[u64], out: &mut [NodeId]) {
        assert_eq!(keys.len(), out.len(), "lookup_batch needs as many answers as keys");
        self.backend.lookup_batch(&self.candidates, keys, out);
    }

    /// A hash, a probe and a table read for every node of a weight above 0. Logarithms are not counted.
    fn lookup_work(&self, _key: u64) -> Work {
        let count = self.candidates.len() as u32;
        Work { hash_evals: count, probes: count, table_reads: count }
    }

    fn node_count(&self) -> usize {
        self.roster.node_count()
    }

    fn node_ids(&self) -> Vec<NodeId> {
        self.roster.ids()
    }

    /// O(N) words shifted, O(log² N) names compared.
    fn add(&mut self, node: &Node) -> Result<(), MembershipError> {
        self.roster.insert(node)?;
        if node.weight > 0 {
            self.candidates.insert(self.place_of(&node.name), node);
        }
        Ok(())
    }

    /// O(N) words shifted, O(log² N) names compared.
    fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        let node = self.roster.get(id).ok_or(MembershipError::UnknownNode)?;
        let place = self.place_of(&node.name);
        if self.roster.remove(id)?.weight > 0 {
            self.candidates.remove(place);
        }
        Ok(())
    }

    /// O(N) words shifted, O(log² N) names compared.
    fn set_weight(&mut self, id: NodeId, weight: u32) -> Result<(), MembershipError> {
        let before = self.roster.set_weight(id, weight)?;
        let node = self.roster.get(id).ok_or(MembershipError::UnknownNode)?;
        let place = self.place_of(&node.name);
        if before > 0 {
            self.candidates.remove(place);
        }
        if weight > 0 {
            self.candidates.insert(place, node);
        }
        Ok(())
    }

    /// O(N) for the whole list of changes, plus the roster's cost for each.
    fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        let mut roster = self.roster.clone();
        for change in changes {
            roster.apply(change)?;
        }
        self.candidates = self.candidates.rebuilt(&roster);
        self.roster = roster;
        Ok(())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::new(Removal::Any, Disruption::Minimal, Order::SetOnly).with_weights()
    }

    fn footprint(&self) -> Footprint {
        Footprint { lookup_bytes: self.candidates.heap_bytes(), ..self.roster.footprint() }
    }

    /// The node's part of the sum of weights: exact to 2^-32, see the crate's documentation. `None` if
    /// fewer than 32 bits of the hash count.
    fn key_share(&self, id: NodeId) -> Option<f64> {
        let node = self.roster.get(id).filter(|_| self.candidates.precision().is_full())?;
        Some(f64::from(node.weight) / self.roster.total_weight() as f64)
    }

    fn clone_box(&self) -> Box<dyn Distributor> {
        Box::new(self.clone())
    }

    fn as_replicated(&self) -> Option<&dyn Replicated> {
        Some(self)
    }
}

impl Replicated for Rendezvous {
    /// O(N + k·log k·log(N/k)) for k = `out.len()`, with a heap of at most k entries.
    fn replicas(&self, key: u64, out: &mut [NodeId]) -> usize {
        let key = Words::of_key(key);
        let wanted = out.len().min(self.candidates.len());
        let mut first: BinaryHeap<(Rank, u32)> =
            (0..wanted).map(|place| (self.candidates.rank(key, place), place as u32)).collect();
        for place in wanted..self.candidates.len() {
            let Some((limit, _)) = first.peek() else { break };
            if let Some(rank) = self.candidates.rank_below(key, place, *limit)
                && let Some(mut last) = first.peek_mut()
            {
                *last = (rank, place as u32);
            }
        }
        for (out, (_, place)) in out.iter_mut().zip(first.into_sorted_vec()) {
            *out = self.candidates.ids()[place as usize];
        }
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(hash_bits: u32, nodes: &[Node]) -> Result<Rendezvous, BuildError> {
        Rendezvous::build(&Params { seed: 0, hash_bits }, nodes)
    }

    #[test]
    fn refuses_hashes_of_no_bits_and_of_too_many() {
        for hash_bits in [0, 33, u32::MAX] {
            let refused = BuildError::Parameter { name: "hash_bits", requirement: "between 1 and 32" };
            assert_eq!(build(hash_bits, &Node::numbered(2)).unwrap_err(), refused);
        }
        assert!(build(1, &Node::numbered(2)).is_ok());
        assert!(build(32, &Node::numbered(2)).is_ok());
    }

    #[test]
    fn has_the_capabilities_of_its_definition() {
        let capabilities = build(32, &Node::numbered(2)).unwrap().capabilities();
        assert_eq!(
            capabilities,
            Capabilities::new(Removal::Any, Disruption::Minimal, Order::SetOnly).with_weights()
        );
    }

    /// Whole for full hashes, unknown for cut ones.
    #[test]
    fn shares_are_parts_of_the_weight() {
        let mut nodes = Node::numbered(3);
        nodes[0].weight = 0;
        nodes[2].weight = u32::MAX;
        let placement = build(32, &nodes).unwrap();
        assert_eq!(placement.key_share(NodeId(0)), Some(0.0));
        assert_eq!(placement.key_share(NodeId(1)), Some(1.0 / (1u64 << 32) as f64));
        assert_eq!(placement.key_share(NodeId(2)), Some(f64::from(u32::MAX) / (1u64 << 32) as f64));
        assert_eq!(placement.key_share(NodeId(3)), None);
        assert_eq!(build(31, &nodes).unwrap().key_share(NodeId(1)), None);
    }

    #[test]
    fn work_counts_the_nodes_that_can_win() {
        let mut nodes = Node::numbered(4);
        nodes[3].weight = 0;
        let placement = build(32, &nodes).unwrap();
        assert_eq!(placement.lookup_work(1), Work { hash_evals: 3, probes: 3, table_reads: 3 });
        assert_eq!((placement.node_count(), placement.node_ids().len()), (4, 4));
    }

    #[test]
    fn a_weight_of_zero_leaves_and_returns() {
        let mut placement = build(32, &Node::numbered(2)).unwrap();
        placement.set_weight(NodeId(0), 0).unwrap();
        assert!((0..1000).all(|key| placement.lookup(key << 40 | key) == NodeId(1)));
        assert_eq!(placement.set_weight(NodeId(1), 0), Err(MembershipError::LastNode));
        assert_eq!(placement.remove(NodeId(1)), Err(MembershipError::LastNode));
        assert_eq!(placement.set_weight(NodeId(2), 1), Err(MembershipError::UnknownNode));
        assert_eq!(placement.remove(NodeId(2)), Err(MembershipError::UnknownNode));
        placement.set_weight(NodeId(0), 1).unwrap();
        assert!((0..1000).any(|key| placement.lookup(key << 40 | key) == NodeId(0)));
    }
}
