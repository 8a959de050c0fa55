//! Modulo: the key's remainder by the number of nodes, and so the worst of movement.

use chash_core::mix::{seed_mask, seeded};
use chash_core::{
    Build, BuildError, Capabilities, Change, Disruption, Distributor, Footprint, MembershipError, Node,
    NodeId, NodeList, Order, Removal, Work, apply_all_or_nothing,
};

/// Parameters of [`Modulo`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuloParams {
    /// Mixed into the key, any value; with 0, the default, the key is divided as it is.
    pub seed: u64,
}

/// Node number `key mod N` of the list: O(1) lookups, perfect balance, and a change of N moves
/// `1 − gcd(N, M) / max(N, M)` of the keys.
///
/// A real division on purpose: this is what people write first, and what its cost and its movement
/// are compared with. A removed node's successors move up by one.
///
/// ```
/// use chash_baseline::{Modulo, ModuloParams};
/// use chash_core::{Build, Distributor, Node, NodeId};
///
/// let mut modulo = Modulo::build(&ModuloParams::default(), &Node::numbered(10))?;
/// assert_eq!(modulo.lookup(1_234_567), NodeId(7));
/// modulo.remove(NodeId(0))?;
/// assert_eq!(modulo.lookup(18), NodeId(1), "place 0 of the 9 that are left");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Modulo {
    nodes: NodeList,
    /// The prepared seed; see [`seeded`].
    mask: u64,
}

impl Build for Modulo {
    type Params = ModuloParams;

    fn build(params: &ModuloParams, nodes: &[Node]) -> Result<Self, BuildError> {
        Ok(Self { nodes: NodeList::new(nodes)?, mask: seed_mask(params.seed) })
    }

    fn estimate_bytes(_: &ModuloParams, nodes: &[Node]) -> u64 {
        NodeList::estimate_bytes(nodes)
    }
}

impl Distributor for Modulo {
    #[inline]
    fn lookup(&self, key: u64) -> NodeId {
        let order = self.nodes.order();
        order[(seeded(key, self.mask) % order.len() as u64) as usize]
    }

    fn lookup_work(&self, _key: u64) -> Work {
        Work { hash_evals: u32::from(self.mask != 0), probes: 1, table_reads: 0 }
    }

    fn node_count(&self) -> usize {
        self.nodes.order().len()
    }

    fn node_ids(&self) -> Vec<NodeId> {
        self.nodes.ids()
    }

    fn add(&mut self, node: &Node) -> Result<(), MembershipError> {
        self.nodes.push(node)
    }

    fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        self.nodes.remove(id)
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        apply_all_or_nothing(self, changes)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::new(Removal::Any, Disruption::Arbitrary, Order::ListOrder)
    }

    fn footprint(&self) -> Footprint {
        self.nodes.footprint()
    }

    /// 1/N: the remainders differ by less than N/2^64.
    fn key_share(&self, id: NodeId) -> Option<f64> {
        self.nodes.contains(id).then(|| 1.0 / self.nodes.order().len() as f64)
    }

    fn clone_box(&self) -> Box<dyn Distributor> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modulo(count: u32) -> Modulo {
        Modulo::build(&ModuloParams::default(), &Node::numbered(count)).unwrap()
    }

    #[test]
    fn is_the_remainder() {
        for count in [1u32, 2, 3, 7, 8, 9, 1000] {
            let placement = modulo(count);
            for key in (0..200).chain([u64::MAX, u64::MAX - 1, 1 << 63]) {
                assert_eq!(placement.lookup(key).0, (key % u64::from(count)) as u32);
            }
        }
    }

    /// Going from N to M nodes moves exactly 1 − gcd/max of a whole number of periods
    /// (here by the residues of one period, lcm(N, M) keys).
    #[test]
    fn movement_is_one_minus_gcd_over_max() {
        fn gcd(a: u32, b: u32) -> u32 {
            if b == 0 { a } else { gcd(b, a % b) }
        }
        for (n, m) in [(10u32, 11u32), (10, 20), (12, 18), (7, 3), (100, 101)] {
            let (before, after) = (modulo(n), modulo(m));
            let period = u64::from(n / gcd(n, m) * m);
            let kept = (0..period).filter(|key| before.lookup(*key) == after.lookup(*key)).count() as u64;
            assert_eq!(kept * u64::from(n.max(m)), period * u64::from(gcd(n, m)));
        }
    }

    #[test]
    fn removal_keeps_the_list_order() {
        let mut placement = modulo(5);
        placement.remove(NodeId(1)).unwrap();
        placement.add(&Node::new(NodeId(1), "node-1")).unwrap();
        let answers: Vec<u32> = (0..5).map(|key| placement.lookup(key).0).collect();
        assert_eq!(answers, [0, 2, 3, 4, 1]);
    }

    #[test]
    fn refusals_leave_it_unchanged() {
        let mut placement = modulo(2);
        let heavy = Node::new(NodeId(9), "heavy").with_weight(3);
        assert_eq!(placement.add(&heavy), Err(MembershipError::WeightUnsupported));
        assert_eq!(placement.set_weight(NodeId(0), 2), Err(MembershipError::WeightUnsupported));
        assert_eq!(placement.remove(NodeId(7)), Err(MembershipError::UnknownNode));
        let changes = [Change::Remove(NodeId(0)), Change::Remove(NodeId(1))];
        assert_eq!(placement.apply(&changes), Err(MembershipError::LastNode));
        assert_eq!(placement.node_ids(), [NodeId(0), NodeId(1)]);
        assert_eq!(placement.lookup(2), NodeId(0));
    }

    #[test]
    fn the_seed_is_used() {
        let seeded = |seed| Modulo::build(&ModuloParams { seed }, &Node::numbered(1000)).unwrap();
        let answers = |placement: Modulo| (0..100).map(|key| placement.lookup(key)).collect::<Vec<_>>();
        assert_ne!(answers(seeded(1)), answers(seeded(2)));
        assert_ne!(answers(seeded(1)), answers(seeded(0)));
        assert_eq!(answers(seeded(1)), answers(seeded(1)));
    }
}
