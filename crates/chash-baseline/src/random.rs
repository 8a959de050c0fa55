//! Random: every key's owner drawn independently, afresh for every set of nodes.

use chash_core::mix::{combine, mix64, reduce};
use chash_core::{
    Build, BuildError, Capabilities, Change, Disruption, Distributor, Footprint, MembershipError, Node,
    NodeId, Order, Removal, Roster, Work,
};
use chash_hash::{HashFunction, name_hash};

/// Parameters of [`Random`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RandomParams {
    /// Any value, 0 by default; another seed is another independent assignment.
    pub seed: u64,
}

/// The ideal of balance without memory of the past: each key goes to node i with probability w_i/W,
/// independently of every other key and of every other set of nodes.
///
/// The counts are multinomial, which is the floor that a hashed placement can reach; and any change
/// of the set draws every key again, so that only about 1/N of them stay. A lookup mixes the key with a
/// digest of seed, names and weights, and finds the node in a table of cumulative weights: O(log N).
///
/// ```
/// use chash_baseline::{Random, RandomParams};
/// use chash_core::{Build, Distributor, Node, NodeId};
///
/// let nodes = [Node::new(NodeId(0), "a").with_weight(3), Node::new(NodeId(1), "b")];
/// let random = Random::build(&RandomParams::default(), &nodes)?;
/// assert_eq!(random.key_share(NodeId(0)), Some(0.75));
/// # Ok::<(), chash_core::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    roster: Roster,
    draw: Draw,
}

/// What a lookup needs; a function of the seed and the roster.
#[derive(Clone, Debug)]
struct Draw {
    /// Of the seed and of every name and weight above 0, in the order of names.
    digest: u64,
    /// The owners in the order of names; nodes of weight 0 are not among them.
    owners: Box<[NodeId]>,
    /// `ends[i]` is the sum of the weights of `owners[..=i]`: strictly ascending, the last one is the total.
    ends: Box<[u64]>,
}

impl Draw {
    fn new(seed: u64, roster: &Roster) -> Self {
        let chosen: Vec<&Node> = roster.by_name().filter(|node| node.weight > 0).collect();
        let mut digest = mix64(seed);
        for node in &chosen {
            let name = name_hash(HashFunction::Xxh3, seed, 0, &node.name);
            digest = combine(combine(digest, name), u64::from(node.weight));
        }
        let ends = chosen.iter().scan(0, |end, node| {
            *end += u64::from(node.weight);
            Some(*end)
        });
        Self { digest, ends: ends.collect(), owners: chosen.iter().map(|node| node.id).collect() }
    }
}

impl Build for Random {
    type Params = RandomParams;

    fn build(params: &RandomParams, nodes: &[Node]) -> Result<Self, BuildError> {
        let roster = Roster::new(nodes)?;
        Ok(Self { seed: params.seed, draw: Draw::new(params.seed, &roster), roster })
    }

    fn estimate_bytes(_: &RandomParams, nodes: &[Node]) -> u64 {
        let owners = nodes.iter().filter(|node| node.weight > 0).count();
        Roster::estimate_bytes(nodes) + (owners * (size_of::<NodeId>() + size_of::<u64>())) as u64
    }
}

impl Distributor for Random {
    fn lookup(&self, key: u64) -> NodeId {
        let draw = reduce(mix64(key ^ self.draw.digest), self.roster.total_weight());
        self.draw.owners[self.draw.ends.partition_point(|end| *end <= draw)]
    }

    /// One mix, and one node drawn: the search among the weights is not part of the definition.
    fn lookup_work(&self, _key: u64) -> Work {
        Work { hash_evals: 1, probes: 1, table_reads: 1 }
    }

    fn node_count(&self) -> usize {
        self.roster.node_count()
    }

    fn node_ids(&self) -> Vec<NodeId> {
        self.roster.ids()
    }

    fn add(&mut self, node: &Node) -> Result<(), MembershipError> {
        self.roster.insert(node)?;
        self.draw = Draw::new(self.seed, &self.roster);
        Ok(())
    }

    fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        self.roster.remove(id)?;
        self.draw = Draw::new(self.seed, &self.roster);
        Ok(())
    }

    fn set_weight(&mut self, id: NodeId, weight: u32) -> Result<(), MembershipError> {
        self.roster.set_weight(id, weight)?;
        self.draw = Draw::new(self.seed, &self.roster);
        Ok(())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        let mut roster = self.roster.clone();
        changes.iter().try_for_each(|change| roster.apply(change))?;
        self.draw = Draw::new(self.seed, &roster);
        self.roster = roster;
        Ok(())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::new(Removal::Any, Disruption::Arbitrary, Order::SetOnly).with_weights()
    }

    fn footprint(&self) -> Footprint {
        let lookup_bytes = (size_of_val(&*self.draw.owners) + size_of_val(&*self.draw.ends)) as u64;
        Footprint { lookup_bytes, ..self.roster.footprint() }
    }

    /// w/W: the draw differs from it by less than W/2^64.
    fn key_share(&self, id: NodeId) -> Option<f64> {
        self.roster.get(id).map(|node| f64::from(node.weight) / self.roster.total_weight() as f64)
    }

    fn clone_box(&self) -> Box<dyn Distributor> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: u64, nodes: &[Node]) -> Random {
        Random::build(&RandomParams { seed }, nodes).unwrap()
    }

    /// Chi-squared of `counts` against probabilities `shares`.
    fn chi_squared(counts: &[u32], shares: &[f64]) -> f64 {
        let total = f64::from(counts.iter().sum::<u32>());
        counts
            .iter()
            .zip(shares)
            .map(|(count, share)| (f64::from(*count) - total * share).powi(2) / (total * share))
            .sum()
    }

    /// Chi-squared with 4 degrees of freedom exceeds 33.38 with probability 1e-6.
    #[test]
    fn shares_follow_weights() {
        let weights = [1u32, 2, 3, 10, 4];
        let nodes: Vec<Node> = Node::numbered(5)
            .into_iter()
            .zip(weights)
            .map(|(node, weight)| node.with_weight(weight))
            .collect();
        let placement = random(1, &nodes);
        let mut counts = [0u32; 5];
        for i in 0..100_000u64 {
            counts[placement.lookup(mix64(i)).index()] += 1;
        }
        let shares = weights.map(|weight| f64::from(weight) / 20.0);
        for (node, share) in nodes.iter().zip(shares) {
            assert_eq!(placement.key_share(node.id), Some(share));
        }
        assert!(chi_squared(&counts, &shares) < 33.38, "{counts:?}");
    }

    /// After a change of the set the owners are independent of those before: of 10,000 keys on 10 then
    /// 11 nodes about 1/11 keep their node. 4.9 standard deviations, two-sided 1e-6.
    #[test]
    fn every_change_draws_afresh() {
        let mut placement = random(0, &Node::numbered(10));
        let before: Vec<NodeId> = (0..10_000).map(|i| placement.lookup(mix64(i))).collect();
        placement.add(&Node::new(NodeId(10), "node-10")).unwrap();
        let kept = (0..10_000).filter(|i| placement.lookup(mix64(*i)) == before[*i as usize]).count() as f64;
        let (mean, deviation) = (10_000.0 / 11.0, (10_000.0 * 10.0 / 121.0f64).sqrt());
        assert!((kept - mean).abs() < 4.9 * deviation, "{kept}");
    }

    #[test]
    fn depends_on_the_set_alone() {
        let nodes = Node::numbered(20);
        let mut reversed = nodes.clone();
        reversed.reverse();
        let mut grown = random(3, &nodes[..7]);
        let changes: Vec<Change> = nodes[7..].iter().rev().cloned().map(Change::Add).collect();
        grown.apply(&changes).unwrap();
        grown.set_weight(NodeId(4), 9).unwrap();
        grown.set_weight(NodeId(4), 1).unwrap();
        grown.remove(NodeId(2)).unwrap();
        grown.add(&nodes[2]).unwrap();
        let (a, b) = (random(3, &nodes), random(3, &reversed));
        for key in (0..500).map(mix64) {
            assert_eq!(a.lookup(key), b.lookup(key));
            assert_eq!(a.lookup(key), grown.lookup(key));
        }
    }

    #[test]
    fn weight_0_is_never_chosen_and_moves_nothing() {
        let mut placement = random(0, &Node::numbered(3));
        let before: Vec<NodeId> = (0..500).map(|i| placement.lookup(mix64(i))).collect();
        placement.add(&Node::new(NodeId(3), "idle").with_weight(0)).unwrap();
        let after: Vec<NodeId> = (0..500).map(|i| placement.lookup(mix64(i))).collect();
        assert_eq!(before, after);
        assert_eq!(placement.key_share(NodeId(3)), Some(0.0));
        assert_eq!(placement.key_share(NodeId(4)), None);
    }

    #[test]
    fn refusals_leave_it_unchanged() {
        let mut placement = random(0, &Node::numbered(2));
        let before = placement.lookup(7);
        let changes = [Change::SetWeight(NodeId(0), 0), Change::Remove(NodeId(1))];
        assert_eq!(placement.apply(&changes), Err(MembershipError::LastNode));
        assert_eq!(placement.add(&Node::new(NodeId(5), "node-1")), Err(MembershipError::DuplicateNode));
        assert_eq!(placement.set_weight(NodeId(5), 1), Err(MembershipError::UnknownNode));
        assert_eq!((placement.lookup(7), placement.node_count()), (before, 2));
    }

    #[test]
    fn weights_up_to_the_greatest() {
        let nodes: Vec<Node> = Node::numbered(3).into_iter().map(|node| node.with_weight(u32::MAX)).collect();
        let placement = random(0, &nodes);
        let used: std::collections::BTreeSet<NodeId> = (0..100).map(|i| placement.lookup(mix64(i))).collect();
        assert_eq!(used.len(), 3);
    }
}
