//! A naive placement with one fault: what the laws must reject.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use chash_core::{
    BuildError, ByteKeyed, Capabilities, Change, Disruption, Distributor, Footprint, LoadAware,
    MembershipError, Node, NodeId, Order, Probes, Replicated, Work, apply_all_or_nothing,
};

use crate::naive::{Naive, Quirk, Rule};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing: the wrapper itself obeys the laws, so what is rejected is the fault.
    None,
    /// How a ring derives its points.
    Ring(Quirk),
    /// The highest key belongs to nobody.
    AnswersAbsentNode,
    /// The empty byte string belongs to nobody.
    ForgetsEmptyBytes,
    /// Work grows with the lookups made before.
    CountsEarlierLookups,
    /// The last key of a batch that is no multiple of eight gets the answer of the one before.
    BatchRepeatsInRemainder,
    /// A batch stops at the end of the shorter slice.
    BatchTakesUnequalLengths,
    /// Each build has a seed of its own.
    SeedsFromBuildNumber,
    /// Every build has the same seed.
    IgnoresSeed,
    /// A clone and its original see each other's additions.
    ClonesShareState,
    /// A clone holds no loads.
    ClonesForgetLoads,
    /// Names differ by more than their case, or not at all.
    FoldsCase,
    /// The ids are those of the build.
    IdsAreStale,
    /// Nodes of weight 0 are not counted.
    CountsChoosableNodesOnly,
    /// It says that few keys move.
    ClaimsMinimalDisruption,
    /// It says that only the set of nodes counts.
    ClaimsSetOnly,
    /// Half the keys are still looked up among the nodes of the build.
    LeavesStalePoints,
    /// Every key moves when a weight changes.
    ReweightingReseeds,
    /// Every key moves when a node leaves.
    RemovalReseeds,
    /// A node that comes back is another.
    ReturnsAsStranger,
    /// The second replica is the first.
    RepeatsReplica,
    /// The last node is no replica.
    MissesLastReplica,
    /// The first two replicas change places.
    SwapsFirstReplicas,
    /// Replicas behind the first are sorted by id.
    SortsReplicas,
    /// Replicas behind the first are in the order of a key that depends on the number of nodes.
    ReshufflesReplicas,
    /// The first node asked is not counted.
    CountsProbesFromZero,
    /// The first node is asked again.
    AsksTwice,
    /// The search ends before the last node.
    GivesUpEarly,
    /// Shares are a thousandth too large.
    SharesAddUpToMore,
    /// Each node says that it has an equal share.
    SharesAreEqual,
    /// Two of four values of the top bits are folded into one.
    BiasedMixer,
    /// Every weight above 0 is 1.
    IgnoresWeights,
    /// A weight of 0 is 1.
    ChoosesWeightZero,
    /// A repeated node is left out of the list.
    BuildsWithoutDuplicates,
    /// Every refusal of a list says that it is empty.
    RefusesWithWrongVariant,
    /// A name that is taken is an unknown node.
    AddsWithWrongVariant,
    /// A refused addition changes a weight.
    RefusedAdditionChangesWeight,
    /// The last node is an unknown one.
    RemovesWithWrongVariant,
    /// A refused removal forgets the loads.
    RefusedRemovalForgetsLoads,
    /// An absent node's weight can be changed.
    ReweightsAbsentNode,
    /// Changes before the one refused stay.
    AppliesHalf,
    /// One node more is accepted than declared.
    HoldsOneMore,
    /// One node less is accepted than declared.
    HoldsOneLess,
    /// Keys go to their first choice, full or not.
    AssignsAboveCapacity,
    /// The second choice gets the key that the first has room for, and no one is told.
    CountsAtTheWrongNode,
    /// Every fourth release is forgotten.
    LeaksReleases,
    /// What was not held can be released.
    ReleasesNothing,
    /// A node that comes back holds what it held.
    KeepsLeaversLoad,
    /// Capacities are rounded down.
    CapacityIsFloor,
    /// Capacities are one too many.
    CapacityIsOneMore,
    /// Capacities are computed in doubles.
    CapacityInDoubles,
    /// A reset keeps the loads.
    ResetKeepsLoads,
    /// A reset keeps the announced total.
    ResetKeepsTotal,
    /// The footprint is two bytes short.
    FootprintIsTwoShort,
    /// A lookup takes memory and returns it.
    LookupAllocates,
    /// A batch takes memory and returns it.
    BatchAllocates,
}

#[derive(Debug)]
pub(crate) struct Broken {
    fault: Fault,
    inner: Naive,
    /// As built, where the fault is to remember it.
    original: Option<Naive>,
    /// What clones share, where the fault is that they do.
    shared: Option<Arc<AtomicBool>>,
    lookups: AtomicU64,
    releases: u64,
    /// Where a leaver went, and what it held.
    left: Option<(NodeId, u64)>,
}

impl Clone for Broken {
    fn clone(&self) -> Self {
        let mut inner = self.inner.clone();
        if self.fault == Fault::ClonesForgetLoads {
            inner.loads.fill(0);
        }
        Self {
            fault: self.fault,
            inner,
            original: self.original.clone(),
            shared: self.shared.clone(),
            lookups: AtomicU64::new(self.lookups.load(Ordering::Relaxed)),
            releases: self.releases,
            left: self.left,
        }
    }
}

impl Broken {
    pub(crate) fn build(rule: Rule, fault: Fault, seed: u64, nodes: &[Node]) -> Result<Self, BuildError> {
        static BUILDS: AtomicU64 = AtomicU64::new(0);
        let quirk = if let Fault::Ring(quirk) = fault { quirk } else { Quirk::None };
        let seed = match fault {
            Fault::SeedsFromBuildNumber => BUILDS.fetch_add(1, Ordering::Relaxed),
            Fault::IgnoresSeed => 0,
            _ => seed,
        };
        let mut seen: Vec<Node> = nodes.iter().map(|node| translated(fault, node)).collect();
        if fault == Fault::BuildsWithoutDuplicates {
            seen.dedup_by(|later, earlier| later.name == earlier.name);
        }
        let inner = Naive::build(rule, quirk, seed, &seen).map_err(|error| {
            if fault == Fault::RefusesWithWrongVariant { BuildError::NoNodes } else { error }
        })?;
        let remembers = matches!(fault, Fault::IdsAreStale | Fault::LeavesStalePoints);
        let shares = fault == Fault::ClonesShareState;
        Ok(Self {
            fault,
            original: remembers.then(|| inner.clone()),
            shared: shares.then(|| Arc::new(AtomicBool::new(false))),
            inner,
            lookups: AtomicU64::new(0),
            releases: 0,
            left: None,
        })
    }

    fn reseed(&mut self) {
        self.inner.seed += 1;
        self.inner.rebuild();
    }

    fn order(&self, key: u64) -> Vec<NodeId> {
        let mut all = vec![NodeId::default(); self.inner.node_count()];
        let found = self.inner.replicas(key, &mut all);
        all.truncate(found);
        all
    }
}

/// The node as a fault sees it.
fn translated(fault: Fault, node: &Node) -> Node {
    let mut node = node.clone();
    match fault {
        Fault::IgnoresWeights => node.weight = node.weight.min(1),
        Fault::ChoosesWeightZero => node.weight = node.weight.max(1),
        Fault::FoldsCase => node.name = node.name.to_lowercase().into(),
        _ => {}
    }
    node
}

impl Distributor for Broken {
    fn lookup(&self, key: u64) -> NodeId {
        let key = if self.fault == Fault::BiasedMixer { key & !(key << 1 & 1 << 63) } else { key };
        let shared = self.shared.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
        match (self.fault, &self.original) {
            (Fault::AnswersAbsentNode, _) if key == u64::MAX => NodeId(u32::MAX),
            (Fault::LeavesStalePoints, Some(original)) if key >> 63 == 1 => original.lookup(key),
            (Fault::LookupAllocates, _) => *black_box(Box::new(self.inner.lookup(key))),
            (Fault::CountsEarlierLookups, _) => {
                self.lookups.fetch_add(1, Ordering::Relaxed);
                self.inner.lookup(key)
            }
            _ => self.inner.lookup(if shared { !key } else { key }),
        }
    }

    fn lookup_batch(&self, keys: &[u64], out: &mut [NodeId]) {
        assert!(
            keys.len() == out.len() || self.fault == Fault::BatchTakesUnequalLengths,
            "as many answers as keys"
        );
        let copy = if self.fault == Fault::BatchAllocates { black_box(keys.to_vec()) } else { Vec::new() };
        for (key, id) in keys.iter().zip(&mut *out) {
            *id = self.lookup(*key);
        }
        if self.fault == Fault::BatchRepeatsInRemainder && out.len() % 8 > 1 {
            out[out.len() - 1] = out[out.len() - 2];
        }
        drop(copy);
    }

    fn lookup_work(&self, key: u64) -> Work {
        let mut work = self.inner.lookup_work(key);
        work.probes += self.lookups.load(Ordering::Relaxed) as u32;
        work
    }

    fn node_count(&self) -> usize {
        if self.fault == Fault::CountsChoosableNodesOnly {
            return self.inner.nodes.iter().filter(|node| node.weight > 0).count();
        }
        self.inner.node_count()
    }

    fn node_ids(&self) -> Vec<NodeId> {
        match (self.fault, &self.original) {
            (Fault::IdsAreStale, Some(original)) => original.node_ids(),
            _ => self.inner.node_ids(),
        }
    }

    fn add(&mut self, node: &Node) -> Result<(), MembershipError> {
        let mut node = translated(self.fault, node);
        if self.fault == Fault::ReturnsAsStranger && self.left.is_some_and(|(id, _)| id == node.id) {
            node.name = format!("{} again", node.name).into();
        }
        let max = self.inner.capabilities().max_nodes;
        if self.fault == Fault::HoldsOneLess && self.inner.nodes.len() as u32 + 1 == max {
            return Err(MembershipError::CapacityExceeded { max });
        }
        let outcome = self.inner.add(&node);
        if let Some(flag) = &self.shared {
            flag.store(true, Ordering::Relaxed);
        }
        if outcome.is_ok() && self.fault == Fault::KeepsLeaversLoad {
            let held = self.left.filter(|(id, _)| *id == node.id).map_or(0, |(_, load)| load);
            self.inner.loads.pop();
            self.inner.loads.push(held);
        }
        if outcome.is_err() && self.fault == Fault::RefusedAdditionChangesWeight {
            self.inner.nodes[0].weight += 1;
            self.inner.rebuild();
        }
        let wrong = self.fault == Fault::AddsWithWrongVariant;
        outcome.map_err(|error| if wrong { MembershipError::UnknownNode } else { error })
    }

    fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        let load = self.inner.nodes.iter().zip(&self.inner.loads).find(|(node, _)| node.id == id);
        let leaver = (id, load.map_or(0, |(_, load)| *load));
        let outcome = self.inner.remove(id);
        match (self.fault, &outcome) {
            (Fault::RemovalReseeds, Ok(())) => self.reseed(),
            (Fault::RefusedRemovalForgetsLoads, Err(_)) => self.inner.loads.fill(0),
            (Fault::RemovesWithWrongVariant, Err(_)) => return Err(MembershipError::UnknownNode),
            (_, Ok(())) => self.left = Some(leaver),
            _ => {}
        }
        outcome
    }

    fn set_weight(&mut self, id: NodeId, weight: u32) -> Result<(), MembershipError> {
        let node = translated(self.fault, &Node::new(id, "").with_weight(weight));
        let outcome = self.inner.set_weight(id, node.weight);
        match (self.fault, outcome) {
            (Fault::ReweightingReseeds, Ok(())) => self.reseed(),
            (Fault::ReweightsAbsentNode, Err(MembershipError::UnknownNode)) => return Ok(()),
            _ => {}
        }
        outcome
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        if self.fault != Fault::AppliesHalf {
            return apply_all_or_nothing(self, changes);
        }
        changes.iter().try_for_each(|change| self.inner.apply(std::slice::from_ref(change)))
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.inner.capabilities();
        match self.fault {
            Fault::ClaimsMinimalDisruption => capabilities.disruption = Disruption::Minimal,
            Fault::ClaimsSetOnly => capabilities.order = Order::SetOnly,
            Fault::HoldsOneMore => capabilities.max_nodes -= 1,
            _ => {}
        }
        capabilities
    }

    fn footprint(&self) -> Footprint {
        let mut footprint = self.inner.footprint();
        if self.fault == Fault::FootprintIsTwoShort {
            footprint.membership_bytes -= 2;
        }
        footprint
    }

    fn key_share(&self, id: NodeId) -> Option<f64> {
        let share = self.inner.key_share(id)?;
        match self.fault {
            Fault::SharesAddUpToMore => Some(share * 1.001),
            Fault::SharesAreEqual => Some(1.0 / self.inner.node_count() as f64),
            _ => Some(share),
        }
    }

    fn clone_box(&self) -> Box<dyn Distributor> {
        Box::new(self.clone())
    }

    fn as_replicated(&self) -> Option<&dyn Replicated> {
        self.inner.as_replicated().map(|_| self as &dyn Replicated)
    }

    fn as_byte_keyed(&self) -> Option<&dyn ByteKeyed> {
        self.inner.as_byte_keyed().map(|_| self as &dyn ByteKeyed)
    }

    fn as_load_aware(&mut self) -> Option<&mut dyn LoadAware> {
        if self.inner.as_load_aware().is_some() { Some(self) } else { None }
    }
}

impl Replicated for Broken {
    fn replicas(&self, key: u64, out: &mut [NodeId]) -> usize {
        let mut order = self.order(key);
        if self.fault == Fault::ReshufflesReplicas {
            let others = self.order(key.wrapping_mul(self.inner.node_count() as u64 | 1));
            order.truncate(1);
            order.extend(others.into_iter().filter(|id| *id != self.lookup(key)));
        }
        let found = order.len().min(out.len());
        out[..found].copy_from_slice(&order[..found]);
        match self.fault {
            Fault::RepeatsReplica if found > 1 => out[1] = out[0],
            Fault::SwapsFirstReplicas if found > 1 => out.swap(0, 1),
            Fault::SortsReplicas if found > 1 => out[1..found].sort_unstable(),
            Fault::MissesLastReplica if found > 1 && found == order.len() => return found - 1,
            _ => {}
        }
        found
    }

    fn first_accepting(&self, key: u64, accept: &mut dyn FnMut(NodeId) -> bool) -> Option<(NodeId, Probes)> {
        let mut order = self.order(key);
        match self.fault {
            Fault::AsksTwice => order.insert(1, order[0]),
            Fault::GivesUpEarly => order.truncate(order.len().max(2) - 1),
            _ => {}
        }
        let first = usize::from(self.fault != Fault::CountsProbesFromZero);
        let rank = order.iter().position(|id| accept(*id))?;
        Some((order[rank], Probes((rank + first) as u32)))
    }
}

impl ByteKeyed for Broken {
    fn lookup_bytes(&self, key: &[u8]) -> NodeId {
        if self.fault == Fault::ForgetsEmptyBytes && key.is_empty() {
            return NodeId(u32::MAX);
        }
        self.inner.lookup_bytes(key)
    }
}

impl LoadAware for Broken {
    fn reset(&mut self, expected_total: Option<u64>) {
        match self.fault {
            Fault::ResetKeepsLoads => self.inner.expected_total = expected_total,
            Fault::ResetKeepsTotal => {
                let kept = expected_total.or(self.inner.expected_total);
                self.inner.reset(kept);
            }
            _ => self.inner.reset(expected_total),
        }
    }

    fn assign(&mut self, key: u64) -> (NodeId, Probes) {
        match self.fault {
            Fault::AssignsAboveCapacity => {
                let id = self.inner.lookup(key);
                let place =
                    self.inner.nodes.iter().position(|node| node.id == id).expect("an owner is there");
                self.inner.loads[place] += 1;
                (id, Probes(1))
            }
            Fault::CountsAtTheWrongNode => {
                let answer = self.inner.assign(key);
                self.inner.loads.rotate_right(1);
                answer
            }
            _ => self.inner.assign(key),
        }
    }

    fn release(&mut self, id: NodeId) -> Result<(), MembershipError> {
        self.releases += 1;
        match self.fault {
            Fault::LeaksReleases if self.releases.is_multiple_of(4) && self.inner.load(id) > Some(0) => {
                Ok(())
            }
            Fault::ReleasesNothing if self.inner.load(id) == Some(0) => Ok(()),
            _ => self.inner.release(id),
        }
    }

    fn load(&self, id: NodeId) -> Option<u64> {
        self.inner.load(id)
    }

    fn capacity(&self, id: NodeId) -> Option<u64> {
        let right = self.inner.capacity(id)?;
        let weight = self.inner.nodes.iter().find(|node| node.id == id)?.weight;
        let total_weight: u32 = self.inner.nodes.iter().map(|node| node.weight).sum();
        let total = self.inner.expected_total.unwrap_or(self.inner.loads.iter().sum::<u64>() + 1);
        match self.fault {
            Fault::CapacityIsFloor => Some(11 * total * u64::from(weight) / (10 * u64::from(total_weight))),
            Fault::CapacityIsOneMore => Some(right + u64::from(weight > 0)),
            Fault::CapacityInDoubles => {
                let share = total as f64 * f64::from(weight) / f64::from(total_weight);
                Some((1.1 * share).ceil() as u64)
            }
            _ => Some(right),
        }
    }

    fn factor(&self) -> Option<(u64, u64)> {
        self.inner.factor()
    }
}
