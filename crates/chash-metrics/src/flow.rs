//! `flow.csv`: who gives how many keys to whom at each step of a scenario.
//!
//! # Protocol
//!
//! Every key is placed before and after the step; a row for each pair of nodes with at least one key,
//! pairs of a node with itself included, so that the rows of a step add up to all keys. Without a scenario there is
//! nothing to observe, and the file is not written.

use std::collections::BTreeMap;

use chash_core::{Distributor, Node, NodeId};

use crate::case::{Case, Metric, MetricError, Observation};
use crate::events;
use crate::keys::{Counts, KeyStream};
use crate::place::Placer;
use crate::record::{Class, Column};

/// One row for each pair of nodes at each step.
pub static METRIC: Metric = Metric { name: "flow", class: Class::Deterministic, columns: COLUMNS, run };

const COLUMNS: &[Column] = &[
    Column::text("scenario", "The plan's name for the sequence of changes."),
    Column::integer("step", "", "Which step of the scenario, from 1."),
    Column::text("event", "add, remove or weight."),
    Column::text("from", "The node before the step."),
    Column::text("to", "The node after it; the same where the keys stay."),
    Column::integer("flow_keys", "", "Distinct keys of the pair."),
    Column::integer("flow_requests", "", "Requests for them."),
];

fn run(case: &Case<'_>) -> Result<Vec<Observation>, MetricError> {
    let mut nodes = case.nodes.to_vec();
    let mut placement = case.build_placement()?;
    let mut rows = Vec::new();
    for (step, events::Step { event, changes }) in (1u64..).zip(&case.scenario.steps) {
        case.check_cancelled()?;
        let before = placement.clone();
        let label = || vec![case.scenario.name.as_str().into(), step.into(), (*event).into()];
        if let Err(refusal) = placement.apply(changes) {
            // The steps behind it have nothing to start from.
            rows.push(Observation::unsupported(label(), COLUMNS, refusal));
            break;
        }
        let after = events::apply(&nodes, changes);
        let names: BTreeMap<NodeId, &str> =
            nodes.iter().chain(&after).map(|node: &Node| (node.id, &*node.name)).collect();
        let name = |id: NodeId| {
            names
                .get(&id)
                .copied()
                .ok_or_else(|| MetricError::Failed(format!("{id} is not the id of a node")))
        };
        for (from, to, amount) in Flow::between(case.keys, before, placement.clone()).pairs() {
            let mut row = label();
            row.extend([name(from)?.into(), name(to)?.into(), amount.keys.into(), amount.requests.into()]);
            rows.push(Observation::ok(row));
        }
        nodes = after;
    }
    Ok(rows)
}

/// Keys and requests, by the node before and the node after; keys that stay are there too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    pairs: BTreeMap<(NodeId, NodeId), Amount>,
}

/// How much goes from one node to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Distinct keys.
    pub keys: u64,
    /// Requests for them; `None` where a stream has requests of its own that the placement cannot place
    /// (see [`place`](crate::place)).
    pub requests: Option<u64>,
}

impl Flow {
    /// Places every key before and after. Ids name nodes across the change: a node that stays keeps its id.
    #[must_use]
    pub fn between(keys: &dyn KeyStream, before: Box<dyn Distributor>, after: Box<dyn Distributor>) -> Self {
        let total = Some(keys.key_count());
        let (mut before, mut after) = (Placer::new(before, total), Placer::new(after, total));
        let mut flow = Self::default();
        keys.for_each_block(&mut |block| {
            let (Some(old), Some(new)) = (before.place(&block), after.place(&block)) else {
                flow.pairs.values_mut().for_each(|amount| amount.requests = None);
                return;
            };
            for (at, pair) in old.iter().copied().zip(new.iter().copied()).enumerate() {
                let amount = flow.pairs.entry(pair).or_insert(Amount { keys: 0, requests: Some(0) });
                let (keys, requests) = match block.counts {
                    Counts::Distinct(counts) => (1, counts[at]),
                    Counts::DistinctOnly => (1, 0),
                    Counts::Requests => (0, 1),
                };
                amount.keys += keys;
                amount.requests = amount.requests.map(|sum| sum + requests);
            }
        });
        flow
    }

    /// Every pair with its amount, in order of the ids.
    pub fn pairs(&self) -> impl Iterator<Item = (NodeId, NodeId, Amount)> {
        self.pairs.iter().map(|((from, to), amount)| (*from, *to, *amount))
    }
}
