//! Placements so simple that they are obviously right, and a case around them.

use std::sync::atomic::AtomicBool;

use chash_core::{
    ByteKeyed, Capabilities, Change, Disruption, Distributor, Footprint, LoadAware, MembershipError, Node,
    NodeId, Order, Probes, Removal, Work, apply_all_or_nothing, mix,
};
use chash_metrics::case::{
    Builder, Case, Metric, MetricError, MoveTheory, Observation, Outcome, ShareTheory,
};
use chash_metrics::events::Scenario;
use chash_metrics::keys::{CountedKeys, Counts, KeyBlock, KeyStream};
use chash_metrics::random::RandomReference;
use chash_metrics::record::Value;
use chash_metrics::timing::Timing;

/// How a key finds its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Turn number `key mod W` of turns dealt out by weight in list order: moves anything.
    Turns,
    /// The highest of `weight` scores for each name: minimal disruption.
    Scores,
    /// As `Turns`, and only the last node may leave.
    Stack,
    /// As `Turns`, but the last node is never taken: one node of the list is empty.
    SkipsLast,
    /// Answers an id nobody has.
    Stray,
}

/// A list of nodes with a rule.
#[derive(Clone, Debug)]
pub(crate) struct Naive {
    pub(crate) rule: Rule,
    pub(crate) nodes: Vec<Node>,
    /// Whether keys are found by their bytes: the sum of the bytes is the key.
    pub(crate) by_bytes: bool,
}

pub(crate) fn owner(rule: Rule, nodes: &[Node], key: u64) -> &Node {
    let total: u64 = nodes.iter().map(|node| u64::from(node.weight)).sum();
    match rule {
        Rule::Scores => nodes
            .iter()
            .filter(|node| node.weight > 0)
            .max_by_key(|node| {
                let name = node.name.bytes().fold(7, |state, byte| mix::combine(state, u64::from(byte)));
                (0..node.weight).map(|copy| mix::combine(mix::combine(name, u64::from(copy)), key)).max()
            })
            .unwrap(),
        Rule::SkipsLast if nodes.len() > 1 => owner(Rule::Turns, &nodes[..nodes.len() - 1], key),
        _ => {
            let mut turn = key % total;
            nodes
                .iter()
                .find(|node| {
                    let found = turn < u64::from(node.weight);
                    turn = turn.wrapping_sub(u64::from(node.weight));
                    found
                })
                .unwrap()
        }
    }
}

impl Distributor for Naive {
    fn lookup(&self, key: u64) -> NodeId {
        if self.rule == Rule::Stray { NodeId(1000) } else { owner(self.rule, &self.nodes, key).id }
    }

    fn lookup_work(&self, key: u64) -> Work {
        Work { hash_evals: 0, probes: 1 + (key % 4) as u32, table_reads: 2 }
    }

    fn node_count(&self) -> usize {
        self.nodes.len()
    }

    fn node_ids(&self) -> Vec<NodeId> {
        let mut ids: Vec<NodeId> = self.nodes.iter().map(|node| node.id).collect();
        ids.sort_unstable();
        ids
    }

    fn add(&mut self, node: &Node) -> Result<(), MembershipError> {
        if self.nodes.iter().any(|present| present.id == node.id || present.name == node.name) {
            return Err(MembershipError::DuplicateNode);
        }
        self.nodes.push(node.clone());
        Ok(())
    }

    fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        let position =
            self.nodes.iter().position(|node| node.id == id).ok_or(MembershipError::UnknownNode)?;
        if self.nodes.iter().all(|node| node.id == id || node.weight == 0) {
            return Err(MembershipError::LastNode);
        }
        if self.rule == Rule::Stack && position + 1 < self.nodes.len() {
            return Err(MembershipError::NotLastAdded);
        }
        self.nodes.remove(position);
        Ok(())
    }

    fn set_weight(&mut self, id: NodeId, weight: u32) -> Result<(), MembershipError> {
        if self.rule == Rule::Stack {
            return Err(MembershipError::WeightUnsupported);
        }
        let node = self.nodes.iter_mut().find(|node| node.id == id).ok_or(MembershipError::UnknownNode)?;
        node.weight = weight;
        Ok(())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        apply_all_or_nothing(self, changes)
    }

    fn capabilities(&self) -> Capabilities {
        match self.rule {
            Rule::Scores => {
                Capabilities::new(Removal::Any, Disruption::Minimal, Order::SetOnly).with_weights()
            }
            Rule::Stack => Capabilities::new(Removal::LastOnly, Disruption::Arbitrary, Order::ListOrder),
            _ => Capabilities::new(Removal::Any, Disruption::Arbitrary, Order::ListOrder).with_weights(),
        }
    }

    fn footprint(&self) -> Footprint {
        let names: usize = self.nodes.iter().map(|node| node.name.len()).sum();
        let rows = self.nodes.capacity() * size_of::<Node>();
        Footprint { lookup_bytes: rows as u64, membership_bytes: names as u64 }
    }

    fn key_share(&self, id: NodeId) -> Option<f64> {
        let total: f64 = self.nodes.iter().map(|node| f64::from(node.weight)).sum();
        self.nodes.iter().find(|node| node.id == id).map(|node| f64::from(node.weight) / total)
    }

    fn clone_box(&self) -> Box<dyn Distributor> {
        Box::new(self.clone())
    }

    fn as_byte_keyed(&self) -> Option<&dyn ByteKeyed> {
        self.by_bytes.then_some(self)
    }
}

impl ByteKeyed for Naive {
    fn lookup_bytes(&self, key: &[u8]) -> NodeId {
        self.lookup(key.iter().map(|byte| u64::from(*byte)).sum())
    }
}

/// Nodes with room: the next in list order from `key mod N` that holds less than
/// ⌈numerator · total · w/(denominator · W)⌉, or one more for a `lax` placement.
#[derive(Clone, Debug)]
pub(crate) struct Capped {
    pub(crate) list: Naive,
    pub(crate) factor: (u64, u64),
    pub(crate) lax: bool,
    pub(crate) loads: Vec<u64>,
    pub(crate) expected_total: Option<u64>,
}

impl Capped {
    pub(crate) fn new(nodes: &[Node], factor: (u64, u64), lax: bool) -> Self {
        let list = Naive { rule: Rule::Turns, nodes: nodes.to_vec(), by_bytes: false };
        Self { list, factor, lax, loads: vec![0; nodes.len()], expected_total: None }
    }

    fn position(&self, id: NodeId) -> Option<usize> {
        self.list.nodes.iter().position(|node| node.id == id)
    }
}

impl Distributor for Capped {
    fn lookup(&self, key: u64) -> NodeId {
        self.list.lookup(key)
    }

    fn lookup_work(&self, key: u64) -> Work {
        self.list.lookup_work(key)
    }

    fn node_count(&self) -> usize {
        self.list.node_count()
    }

    fn node_ids(&self) -> Vec<NodeId> {
        self.list.node_ids()
    }

    fn add(&mut self, node: &Node) -> Result<(), MembershipError> {
        self.list.add(node)?;
        self.loads.push(0);
        Ok(())
    }

    fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        let position = self.position(id).ok_or(MembershipError::UnknownNode)?;
        self.list.remove(id)?;
        self.loads.remove(position);
        Ok(())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        apply_all_or_nothing(self, changes)
    }

    fn capabilities(&self) -> Capabilities {
        self.list.capabilities()
    }

    fn footprint(&self) -> Footprint {
        self.list.footprint()
    }

    fn clone_box(&self) -> Box<dyn Distributor> {
        Box::new(self.clone())
    }

    fn as_load_aware(&mut self) -> Option<&mut dyn LoadAware> {
        Some(self)
    }
}

impl LoadAware for Capped {
    fn reset(&mut self, expected_total: Option<u64>) {
        self.loads.fill(0);
        self.expected_total = expected_total;
    }

    fn assign(&mut self, key: u64) -> (NodeId, Probes) {
        let count = self.list.nodes.len();
        for step in 0..count {
            let at = (key as usize + step) % count;
            let id = self.list.nodes[at].id;
            if self.loads[at] < self.capacity(id).unwrap() + u64::from(self.lax) {
                self.loads[at] += 1;
                return (id, Probes(step as u32 + 1));
            }
        }
        unreachable!("a factor of at least 1 leaves room")
    }

    fn release(&mut self, id: NodeId) -> Result<(), MembershipError> {
        let at = self.position(id).ok_or(MembershipError::UnknownNode)?;
        self.loads[at] = self.loads[at].checked_sub(1).ok_or(MembershipError::UnknownNode)?;
        Ok(())
    }

    fn load(&self, id: NodeId) -> Option<u64> {
        self.position(id).map(|at| self.loads[at])
    }

    fn capacity(&self, id: NodeId) -> Option<u64> {
        let total = self.expected_total.unwrap_or_else(|| self.loads.iter().sum::<u64>() + 1);
        let weights: u64 = self.list.nodes.iter().map(|node| u64::from(node.weight)).sum();
        let weight = u64::from(self.list.nodes[self.position(id)?].weight);
        Some((self.factor.0 * total * weight).div_ceil(self.factor.1 * weights))
    }

    fn factor(&self) -> Option<(u64, u64)> {
        Some(self.factor)
    }
}

/// A stream that is not counted: the keys first, then every request as a record of its own.
#[derive(Debug)]
pub(crate) struct Regenerated {
    pub(crate) keys: Vec<u64>,
    pub(crate) requests: Vec<u64>,
}

impl KeyStream for Regenerated {
    fn key_count(&self) -> u64 {
        self.keys.len() as u64
    }

    fn request_count(&self) -> u64 {
        self.requests.len() as u64
    }

    fn request_collision(&self) -> Option<f64> {
        None
    }

    fn for_each_block(&self, visit: &mut dyn FnMut(KeyBlock<'_>)) {
        for hashes in self.keys.chunks(3) {
            visit(KeyBlock { hashes, bytes: None, counts: Counts::DistinctOnly });
        }
        for hashes in self.requests.chunks(3) {
            visit(KeyBlock { hashes, bytes: None, counts: Counts::Requests });
        }
    }
}

/// What a case is made of, with defaults for what a test does not care about.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) nodes: Vec<Node>,
    pub(crate) share_theory: ShareTheory,
    pub(crate) move_theory: MoveTheory,
    pub(crate) seed: u64,
    pub(crate) timing: Timing,
    pub(crate) cancelled: bool,
    pub(crate) scenario: Scenario,
}

impl Setup {
    pub(crate) fn new(weights: &[u32]) -> Self {
        let nodes = Node::numbered(weights.len() as u32).into_iter().zip(weights);
        Self {
            nodes: nodes.map(|(node, weight)| node.with_weight(*weight)).collect(),
            share_theory: ShareTheory::Even,
            move_theory: MoveTheory::Unknown,
            seed: 1,
            timing: Timing::default(),
            cancelled: false,
            scenario: Scenario::default(),
        }
    }

    /// Runs a metric on the placement that `build` makes.
    pub(crate) fn run<D: Distributor + 'static>(
        &self,
        metric: &Metric,
        keys: &dyn KeyStream,
        build: impl Fn(&[Node]) -> D + Sync,
    ) -> Result<Vec<Observation>, MetricError> {
        self.run_fallible(metric, keys, &|nodes| Ok(Box::new(build(nodes))))
    }

    pub(crate) fn run_fallible(
        &self,
        metric: &Metric,
        keys: &dyn KeyStream,
        build: &Builder<'_>,
    ) -> Result<Vec<Observation>, MetricError> {
        let cancelled = AtomicBool::new(self.cancelled);
        let random = RandomReference::new(&self.nodes, keys, self.seed);
        (metric.run)(&Case {
            nodes: &self.nodes,
            build,
            estimate: &|nodes| 100 * nodes.len() as u64,
            keys,
            requests: &chash_metrics::keys::sample(keys, 1 << 16),
            scenario: &self.scenario,
            share_theory: self.share_theory,
            move_theory: self.move_theory,
            seed: self.seed,
            timing: &self.timing,
            random: &random,
            cancelled: &cancelled,
        })
    }
}

pub(crate) fn naive(rule: Rule) -> impl Fn(&[Node]) -> Naive + Sync {
    move |nodes| Naive { rule, nodes: nodes.to_vec(), by_bytes: false }
}

/// The stream of these keys, each asked for once.
pub(crate) fn once(keys: Vec<u64>) -> CountedKeys {
    let counts = vec![1; keys.len()];
    CountedKeys::new(keys, counts, None)
}

/// Mixed keys with requests 0, 1, …, 4 in turn.
pub(crate) fn mixed(count: u64) -> CountedKeys {
    CountedKeys::new((0..count).map(mix::mix64).collect(), (0..count).map(|i| i % 5).collect(), None)
}

/// The field of a row.
pub(crate) fn field(metric: &Metric, observation: &Observation, column: &str) -> Value {
    let index = metric.columns.iter().position(|known| known.name == column);
    observation.row[index.unwrap_or_else(|| panic!("no column {column}"))].clone()
}

pub(crate) fn integer(metric: &Metric, observation: &Observation, column: &str) -> u64 {
    match field(metric, observation, column) {
        Value::Integer(number) => number,
        other => panic!("{column} is {other:?}"),
    }
}

pub(crate) fn real(metric: &Metric, observation: &Observation, column: &str) -> f64 {
    match field(metric, observation, column) {
        Value::Real(number) | Value::Special(number) => number,
        other => panic!("{column} is {other:?}"),
    }
}

pub(crate) fn is_unsupported(observation: &Observation) -> bool {
    matches!(observation.outcome, Outcome::Unsupported(_))
}
