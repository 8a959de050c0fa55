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
    let mut keys = Tally::new(case.nodes);
    let mut requests = Some(Tally::new(case.nodes));
    for_each_block(case, &mut |block| {
        match (placer.place(block), block.counts) {
            (Some(owners), Counts::Distinct(counts)) => {
                keys.count(owners);
                if let Some(requests) = &mut requests {
                    requests.add(owners, counts);
                }
            }
            (Some(owners), Counts::DistinctOnly) => keys.count(owners),
            (Some(owners), Counts::Requests) => {
                if let Some(requests) = &mut requests {
                    requests.count(owners);
                }
            }
            (None, _) => requests = None,
        }
        Ok(())
    })?;
    Ok(Loads {
        keys: keys.by_node(case.nodes)?,
        requests: requests.map(|tally| tally.by_node(case.nodes)).transpose()?,
    })
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
#[derive(Clone, Debug)]
pub struct Tally {
    counters: Vec<u64>,
    /// Answers beyond every known id.
    strays: u64,
}

impl Tally {
    /// Counters at 0 for every id up to the highest of these nodes.
    #[must_use]
    pub fn new(nodes: &[Node]) -> Self {
        let ids = nodes.iter().map(|node| node.id.index() + 1).max().unwrap_or(0);
        Self { counters: vec![0; ids], strays: 0 }
    }

    /// Counts each owner once.
    pub fn count(&mut self, owners: &[NodeId]) {
        for owner in owners {
            match self.counters.get_mut(owner.index()) {
                Some(counter) => *counter += 1,
                None => self.strays += 1,
            }
        }
    }

    /// Counts each owner as often as `counts` says.
    pub fn add(&mut self, owners: &[NodeId], counts: &[u64]) {
        for (owner, count) in owners.iter().zip(counts) {
            match self.counters.get_mut(owner.index()) {
                Some(counter) => *counter += count,
                None => self.strays += 1,
            }
        }
    }

    /// The counts in the order of `nodes`.
    ///
    /// # Errors
    ///
    /// `Failed` where an answer was none of these nodes, or one of weight 0, which is never chosen.
    pub fn by_node(&self, nodes: &[Node]) -> Result<Vec<u64>, MetricError> {
        let loads: Vec<u64> = nodes.iter().map(|node| self.counters[node.id.index()]).collect();
        if let Some(node) =
            nodes.iter().zip(&loads).find_map(|(node, load)| (node.weight == 0 && *load > 0).then_some(node))
        {
            return Err(MetricError::Failed(format!("node {:?} of weight 0 was chosen", node.name)));
        }
        let (counted, known): (u64, u64) = (self.counters.iter().sum(), loads.iter().sum());
        if self.strays > 0 || counted > known {
            let strays = self.strays + counted - known;
            return Err(MetricError::Failed(format!("{strays} lookups answered a node that is not present")));
        }
        Ok(loads)
    }
}
