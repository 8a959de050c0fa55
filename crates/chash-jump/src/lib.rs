#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

#[expect(
    unsafe_code,
    reason = "vector loads and stores, instruction sets found at run time, an unchecked cast"
)]
mod arch;

use chash_core::mix::{seed_mask, seeded};
use chash_core::{
    Build, BuildError, Capabilities, Change, Disruption, Distributor, Footprint, MembershipError, Node,
    NodeId, NodeList, Order, Removal, Work, apply_all_or_nothing,
};

pub use arch::buckets_into;

/// The most buckets: a step of the generator yields 31 bits.
pub const MAX_BUCKETS: u32 = (1 << 31) - 1;

/// Multiplier of the generator (Lamping and Veach 2014, figure 1).
const MULTIPLIER: u64 = 2_862_933_555_777_941_757;

/// Numerator of a jump: the generator's 31 bits plus 1, divided by this, are a fraction in (0, 1].
const TWO_TO_31: f64 = (1u64 << 31) as f64;

/// The bucket of `key` among `buckets`: the published function, bit for bit.
///
/// A key's bucket at n + 1 buckets is its bucket at n, or n. About ln(`buckets`) steps of one multiplication
/// and one division each.
///
/// ```
/// assert_eq!(chash_jump::bucket(256, 1024), 520);
/// assert_eq!(chash_jump::bucket(10_854_522_570_966_120_577, 524_288), 524_287);
/// ```
///
/// # Panics
///
/// If `buckets` is 0 or more than [`MAX_BUCKETS`].
#[must_use]
#[inline]
pub fn bucket(key: u64, buckets: u32) -> u32 {
    bucket_and_jumps(key, buckets).0
}

/// The bucket, and how many jumps it took: H_n in the mean, the bucket 0 that every key starts from included.
#[inline]
fn bucket_and_jumps(key: u64, buckets: u32) -> (u32, u32) {
    assert_buckets(buckets);
    // The first jump of every key lands on bucket 0.
    let (mut key, mut bucket, mut jumps) = (key, 0, 1);
    loop {
        key = key.wrapping_mul(MULTIPLIER).wrapping_add(1);
        // Divided first, then multiplied, each rounded to a double: the other order rounds differently
        // for about one step in a thousand million, and gives other buckets.
        let next = (bucket + 1) as f64 * (TWO_TO_31 / ((key >> 33) + 1) as f64);
        // The paper truncates first and compares whole numbers; the number of buckets is whole, so that is
        // the same, and the loop's end is known before the conversion is.
        match arch::truncate_below(next, buckets) {
            Some(jump) => bucket = jump,
            None => return (bucket as u32, jumps),
        }
        jumps += 1;
    }
}

#[inline]
fn assert_buckets(buckets: u32) {
    assert!((1..=MAX_BUCKETS).contains(&buckets), "jump has from 1 to 2^31 - 1 buckets");
}

/// Parameters of [`Jump`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// Any value. With 0, the default, the published function is given the key as it is; with another
    /// seed the key is mixed first, since the function itself has no place for one.
    pub seed: u64,
}

/// Jump consistent hash as a placement: bucket b is node b of the list.
#[derive(Clone, Debug)]
pub struct Jump {
    /// From 1 to [`MAX_BUCKETS`] nodes; bucket b belongs to the id at place b.
    nodes: NodeList,
    /// The prepared seed; see [`seeded`].
    mask: u64,
}

impl Jump {
    /// The number of buckets, which [`room_for`] keeps in range.
    #[inline]
    fn buckets(&self) -> u32 {
        self.nodes.order().len() as u32
    }
}

/// Whether so many nodes can be numbered.
fn room_for(nodes: usize) -> Result<(), MembershipError> {
    if nodes <= MAX_BUCKETS as usize {
        Ok(())
    } else {
        Err(MembershipError::CapacityExceeded { max: MAX_BUCKETS })
    }
}

impl Build for Jump {
    type Params = Params;

    fn build(params: &Params, nodes: &[Node]) -> Result<Self, BuildError> {
        room_for(nodes.len())?;
        Ok(Self { nodes: NodeList::new(nodes)?, mask: seed_mask(params.seed) })
    }

    fn estimate_bytes(_: &Params, nodes: &[Node]) -> u64 {
        NodeList::estimate_bytes(nodes)
    }
}

impl Distributor for Jump {
    #[inline]
    fn lookup(&self, key: u64) -> NodeId {
        self.nodes.order()[bucket(seeded(key, self.mask), self.buckets()) as usize]
    }

    fn lookup_batch(&self, keys: &[u64], out: &mut [NodeId]) {
        /// Long enough to hide the ends of a block, short enough to stay in the first-level cache.
        const BLOCK: usize = 512;
        assert_eq!(keys.len(), out.len(), "lookup_batch needs as many answers as keys");
        let (buckets, order) = (self.buckets(), self.nodes.order());
        let (mut mixed, mut found) = ([0; BLOCK], [0; BLOCK]);
        for (keys, out) in keys.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            let found = &mut found[..keys.len()];
            if self.mask == 0 {
                buckets_into(keys, buckets, found);
            } else {
                let mixed = &mut mixed[..keys.len()];
                mixed.iter_mut().zip(keys).for_each(|(mixed, key)| *mixed = seeded(*key, self.mask));
                buckets_into(mixed, buckets, found);
            }
            for (id, bucket) in out.iter_mut().zip(found) {
                *id = order[*bucket as usize];
            }
        }
    }

    /// One evaluation of the generator for each jump, and one mix under a seed. No table is read: the
    /// list of ids only translates the answer.
    fn lookup_work(&self, key: u64) -> Work {
        let (_, jumps) = bucket_and_jumps(seeded(key, self.mask), self.buckets());
        Work { hash_evals: jumps + u32::from(self.mask != 0), probes: jumps, table_reads: 0 }
    }

    fn node_count(&self) -> usize {
        self.nodes.order().len()
    }

    fn node_ids(&self) -> Vec<NodeId> {
        self.nodes.ids()
    }

    fn add(&mut self, node: &Node) -> Result<(), MembershipError> {
        // The list refuses the node itself first; it holds one more than jump can number.
        self.nodes.push(node)?;
        room_for(self.nodes.order().len()).inspect_err(|_| {
            self.nodes.remove(node.id).expect("the node just added is not the only one");
        })
    }

    fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        if self.nodes.contains(id) && self.nodes.order().len() > 1 && self.nodes.order().last() != Some(&id) {
            return Err(MembershipError::NotLastAdded);
        }
        self.nodes.remove(id)
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        apply_all_or_nothing(self, changes)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::new(Removal::LastOnly, Disruption::Minimal, Order::ListOrder)
            .with_max_nodes(MAX_BUCKETS)
    }

    fn footprint(&self) -> Footprint {
        self.nodes.footprint()
    }

    /// 1/N: over the whole key space the shares differ by about one part in 10^8 (the paper's figure 2).
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

    fn jump(count: u32) -> Jump {
        Jump::build(&Params::default(), &Node::numbered(count)).unwrap()
    }

    #[test]
    fn only_the_last_leaves() {
        let mut placement = jump(3);
        assert_eq!(placement.remove(NodeId(0)), Err(MembershipError::NotLastAdded));
        assert_eq!(placement.remove(NodeId(9)), Err(MembershipError::UnknownNode));
        assert_eq!(placement.node_count(), 3);
        placement.remove(NodeId(2)).unwrap();
        placement.remove(NodeId(1)).unwrap();
        assert_eq!(placement.remove(NodeId(0)), Err(MembershipError::LastNode));
        assert_eq!(placement.lookup(u64::MAX), NodeId(0));
    }

    #[test]
    fn there_are_no_weights() {
        let heavy = Node::new(NodeId(3), "heavy").with_weight(2);
        let mut placement = jump(3);
        assert_eq!(placement.add(&heavy), Err(MembershipError::WeightUnsupported));
        assert_eq!(placement.add(&heavy.clone().with_weight(0)), Err(MembershipError::WeightUnsupported));
        assert_eq!(placement.set_weight(NodeId(0), 1), Err(MembershipError::WeightUnsupported));
        assert_eq!(placement.add(&Node::new(NodeId(2), "other")), Err(MembershipError::DuplicateNode));
        let refused = Jump::build(&Params::default(), &[Node::new(NodeId(0), "a"), heavy]).unwrap_err();
        assert_eq!(refused, BuildError::Membership(MembershipError::WeightUnsupported));
        assert_eq!(Jump::build(&Params::default(), &[]).unwrap_err(), BuildError::NoNodes);
    }

    /// Growth past the range is decided by this one check, which needs no 2^31 nodes to be tried.
    #[test]
    fn there_is_room_for_so_many() {
        assert_eq!(room_for(MAX_BUCKETS as usize), Ok(()));
        let refused = Err(MembershipError::CapacityExceeded { max: MAX_BUCKETS });
        assert_eq!(room_for(MAX_BUCKETS as usize + 1), refused);
        assert_eq!(room_for(usize::MAX), refused);
        assert_eq!(jump(1).capabilities().max_nodes, MAX_BUCKETS);
    }

    #[test]
    fn changes_are_all_or_nothing() {
        let mut placement = jump(3);
        let changes = [
            Change::Remove(NodeId(2)),
            Change::Add(Node::new(NodeId(7), "seven")),
            Change::Remove(NodeId(0)),
        ];
        assert_eq!(placement.apply(&changes), Err(MembershipError::NotLastAdded));
        assert_eq!(placement.node_ids(), [NodeId(0), NodeId(1), NodeId(2)]);
        placement.apply(&changes[..2]).unwrap();
        assert_eq!(placement.nodes.order(), [NodeId(0), NodeId(1), NodeId(7)]);
    }

    #[test]
    fn bucket_counts_out_of_range_panic() {
        for buckets in [0, MAX_BUCKETS + 1, u32::MAX] {
            assert!(std::panic::catch_unwind(|| bucket(1, buckets)).is_err());
            assert!(std::panic::catch_unwind(|| buckets_into(&[1], buckets, &mut [0])).is_err());
        }
        assert!(std::panic::catch_unwind(|| buckets_into(&[1], 1, &mut [])).is_err());
    }
}
