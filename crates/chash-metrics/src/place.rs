//! How keys get their nodes, and how loads are counted: the same for every metric.
//!
//! | placement | a key's node |
//! |---|---|
//! | counts loads (`as_load_aware`) | capacities of all distinct keys (the static rule), then `assign` in stream order: every key is stored once |
//! | hashes bytes itself (`as_byte_keyed`), and the stream keeps bytes | `lookup_bytes` |
//! | any other | `lookup_batch` of the block's hashes |
//!
//! The requests for a key are served where the key is. Where requests come as records of their own
//! (a stream that is not counted), the owner of a key stored by a load-aware placement is no
//! longer known: such loads are unsupported.

use chash_core::{Distributor, Node, NodeId};

use crate::case::{Case, MetricError};
use crate::keys::{Counts, KeyBlock};

/// Why the requests of a stream that is not counted cannot be placed by a load-aware placement.
pub(crate) const REQUESTS_UNKNOWN: &str =
    "a placement that stores keys by load serves requests only of a stream with counted keys";

/// A placement that is read block by block.
#[derive(Debug)]
pub struct Placer {
    placement: Box<dyn Distributor>,
    /// The owners of the last block; its capacity is kept from block to block.
    owners: Vec<NodeId>,
}

impl Placer {
    /// Reads `placement` from the beginning of a stream: a load-aware one forgets its loads and takes the
    /// capacities of `expected_total` keys, or those of the arrivals so far with `None`.
    #[must_use]
    pub fn new(mut placement: Box<dyn Distributor>, expected_total: Option<u64>) -> Self {
        if let Some(aware) = placement.as_load_aware() {
            aware.reset(expected_total);
        }
        Self { placement, owners: Vec::new() }
    }

    /// The placement, with whatever it counted.
    #[must_use]
    pub fn into_placement(self) -> Box<dyn Distributor> {
        self.placement
    }

    /// The owners of the records of the next block; `None` for requests that come as records of
    /// their own to a load-aware placement.
    ///
    /// Allocates only where a block is longer than every one before it.
    pub fn place(&mut self, block: &KeyBlock<'_>) -> Option<&[NodeId]> {
        self.owners.resize(block.hashes.len(), NodeId::default());
        if let Some(aware) = self.placement.as_load_aware() {
            if matches!(block.counts, Counts::Requests) {
                return None;
            }
            for (key, owner) in block.hashes.iter().zip(&mut self.owners) {
                (*owner, _) = aware.assign(*key);
            }
        } else if let (Some(byte_keyed), Some(bytes)) = (self.placement.as_byte_keyed(), block.bytes) {
            for (index, owner) in self.owners.iter_mut().enumerate() {
                *owner = byte_keyed.lookup_bytes(bytes.get(index));
            }
        } else {
            self.placement.lookup_batch(block.hashes, &mut self.owners);
        }
        Some(&self.owners)
    }
}

/// What every node holds, in the order of the case's nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loads {
    /// Distinct keys.
    pub keys: Vec<u64>,
    /// Requests; `None` where they cannot be placed: see the module.
    pub requests: Option<Vec<u64>>,
}

/// Places every key of the case and counts.
///
/// # Errors
///
/// `Interrupted`, or `Failed` where an answer is not a node that may be chosen.
pub fn count_loads(case: &Case<'_>, placement: Box<dyn Distributor>) -> Result<Loads, MetricError> {
    let mut placer = Placer::new(placement, Some(case.keys.key_count()));
    let mut tally = Tally::new(case.nodes);
    let mut requests_known = true;
    for_each_block(case, &mut |block| {
        match placer.place(block) {
            Some(owners) => tally.count(owners, block.counts),
            None => requests_known = false,
        }
        Ok(())
    })?;
    let loads = tally.loads(case.nodes)?;
    Ok(Loads { requests: loads.requests.filter(|_| requests_known), ..loads })
}

/// Passes every block of the case's keys to `visit` until it fails or the run should end.
///
/// # Errors
///
/// The first of `visit`, or `Interrupted`.
pub fn for_each_block(
    case: &Case<'_>,
    visit: &mut dyn FnMut(&KeyBlock<'_>) -> Result<(), MetricError>,
) -> Result<(), MetricError> {
    let mut outcome = Ok(());
    // A stream cannot be left early: once it is over, the remaining blocks pass unread.
    case.keys.for_each_block(&mut |block| {
        if outcome.is_ok() {
            outcome = case.check_cancelled().and_then(|()| visit(&block));
        }
    });
    outcome
}

/// Counters by node id.
///
/// Where there are few nodes, consecutive keys often have one owner, and each addition would wait for
/// the one before: 3 ns a key where all have. With four counters for each node, used in turn, they do not.
#[derive(Clone, Debug)]
pub struct Tally {
    /// For each id `lanes` counters, side by side.
    counters: Vec<Counter>,
    /// [`LANES`], or 1 for many nodes.
    lanes: usize,
    /// Answers beyond every known id.
    strays: u64,
}

/// Counters for each node where nodes are few.
const LANES: usize = 4;

/// Owners counted in one round of the loop.
const ROUND: usize = 4;

/// The most ids with lanes: beyond, they would leave the first-level cache.
const MOST_IDS_WITH_LANES: usize = 256;

#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    keys: u64,
    requests: u64,
}

impl Tally {
    /// Counters at 0 for every id up to the highest of these nodes.
    #[must_use]
    pub fn new(nodes: &[Node]) -> Self {
        let ids = nodes.iter().map(|node| node.id.index() + 1).max().unwrap_or(0);
        let lanes = if ids <= MOST_IDS_WITH_LANES { LANES } else { 1 };
        Self { counters: vec![Counter::default(); ids * lanes], lanes, strays: 0 }
    }

    /// Counts the owners of the records of a block for what they count for.
    ///
    /// # Panics
    ///
    /// If a block has fewer counts than owners.
    pub fn count(&mut self, owners: &[NodeId], counts: Counts<'_>) {
        match counts {
            Counts::Distinct(counts) => {
                assert_eq!(owners.len(), counts.len(), "every key has its count");
                self.add(owners, |index| (1, counts[index]));
            }
            Counts::DistinctOnly => self.add(owners, |_| (1, 0)),
            Counts::Requests => self.add(owners, |_| (0, 1)),
        }
    }

    fn add(&mut self, owners: &[NodeId], amounts: impl Fn(usize) -> (u64, u64)) {
        self.strays += if self.lanes == LANES {
            add_in_lanes::<LANES>(&mut self.counters, owners, amounts)
        } else {
            add_in_lanes::<1>(&mut self.counters, owners, amounts)
        };
    }

    /// The counts in the order of `nodes`.
    ///
    /// # Errors
    ///
    /// `Failed` where an answer was none of these nodes, or one of weight 0, which is never chosen.
    pub fn loads(&self, nodes: &[Node]) -> Result<Loads, MetricError> {
        let of_id = |id: NodeId| {
            let lanes = &self.counters[id.index() * self.lanes..][..self.lanes];
            lanes.iter().fold((0, 0), |(keys, requests), lane| (keys + lane.keys, requests + lane.requests))
        };
        let loads: Vec<(u64, u64)> = nodes.iter().map(|node| of_id(node.id)).collect();
        for (node, load) in nodes.iter().zip(&loads) {
            if node.weight == 0 && *load != (0, 0) {
                return Err(MetricError::Failed(format!("node {:?} of weight 0 was chosen", node.name)));
            }
        }
        let (keys, requests): (Vec<u64>, Vec<u64>) = loads.into_iter().unzip();
        let counted: u64 = self.counters.iter().map(|counter| counter.keys + counter.requests).sum();
        let known: u64 = keys.iter().chain(&requests).sum();
        if self.strays > 0 || counted > known {
            let message = "a lookup answered a node that is not present".to_owned();
            return Err(MetricError::Failed(message));
        }
        Ok(Loads { keys, requests: Some(requests) })
    }
}

/// Adds the keys and requests of each owner; how many owners have no counter.
#[inline]
fn add_in_lanes<const LANES: usize>(
    counters: &mut [Counter],
    owners: &[NodeId],
    amounts: impl Fn(usize) -> (u64, u64),
) -> u64 {
    let (counters, _) = counters.as_chunks_mut::<LANES>();
    let mut strays = 0;
    let mut add = |owner: NodeId, index: usize, lane: usize| match counters.get_mut(owner.index()) {
        Some(lanes) => {
            let (keys, requests) = amounts(index);
            lanes[lane].keys += keys;
            lanes[lane].requests += requests;
        }
        None => strays += 1,
    };
    // Rounds of a fixed length are unrolled, and the lane is known in each place.
    let (rounds, rest) = owners.as_chunks::<ROUND>();
    for (round, owners) in rounds.iter().enumerate() {
        for (place, owner) in owners.iter().enumerate() {
            add(*owner, round * ROUND + place, place % LANES);
        }
    }
    for (place, owner) in rest.iter().enumerate() {
        add(*owner, rounds.len() * ROUND + place, place % LANES);
    }
    strays
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[u32]) -> Vec<NodeId> {
        ids.iter().map(|id| NodeId(*id)).collect()
    }

    /// With lanes and without, blocks of every kind.
    #[test]
    fn counts_by_hand() {
        for highest in [3, 1000] {
            let nodes: Vec<Node> =
                [2, 0, highest].iter().map(|id| Node::new(NodeId(*id), format!("n{id}"))).collect();
            let mut tally = Tally::new(&nodes);
            tally.count(&ids(&[0, 0, 2, highest, 0]), Counts::Distinct(&[1, 10, 100, 1000, 0]));
            tally.count(&ids(&[2, 2]), Counts::DistinctOnly);
            tally.count(&ids(&[highest, highest, 2]), Counts::Requests);
            let loads = tally.loads(&nodes).unwrap();
            assert_eq!(loads, Loads { keys: vec![3, 3, 1], requests: Some(vec![101, 11, 1002]) });
        }
    }

    #[test]
    fn answers_that_are_not_nodes_fail() {
        let nodes = [Node::new(NodeId(0), "a"), Node::new(NodeId(2), "b").with_weight(0)];
        for (wrong, reason) in [
            (1, "a lookup answered a node that is not present"),
            (3, "a lookup answered a node that is not present"),
            (2, "node \"b\" of weight 0 was chosen"),
        ] {
            let mut tally = Tally::new(&nodes);
            tally.count(&ids(&[0, wrong]), Counts::DistinctOnly);
            let Err(MetricError::Failed(message)) = tally.loads(&nodes) else { panic!("{wrong} passed") };
            assert_eq!(message, reason);
        }
    }
}
