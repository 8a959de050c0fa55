//! `bounded.csv`: loads, spills and movement of placements whose nodes have capacities.
//!
//! # Protocol
//!
//! Every distinct key arrives once, in stream order, under two rules:
//!
//! - `static`: the capacities are those of all keys from the beginning (the paper's rule for a known total);
//! - `online`: the capacity counts the keys that have arrived, the arriving one included.
//!
//! A key goes to the first node of its preference order that is below its capacity, and stays there. The
//! capacity that binds an arrival is read by taking the key back and asking what its node may hold
//! when the next key arrives: this costs a second assignment, and gives the exact number under any rule.
//!
//! Movement is between two complete placements of all keys, before and after a change, each by the
//! same rule. The node that leaves is the random node of [`movement`](crate::movement), and the one that joins has
//! its weight. A store that keeps keys where they are moves fewer.
//!
//! # Known biases
//!
//! - With few keys for each node the ceiling dominates: factors 1.05 and 1.1 give 10 keys a node one capacity.
//! - Under `online` early keys meet small capacities and spill although the final ones would take them.

use chash_core::{Distributor, Probes};

use crate::case::{Case, Metric, MetricError, Observation};
use crate::events::Event;
use crate::keys::Counts;
use crate::place::{self, Placer};
use crate::record::{Class, Column, Row, Value};
use crate::stats;

/// One row for each rule of arrival.
pub static METRIC: Metric = Metric { name: "bounded", class: Class::Deterministic, columns: COLUMNS, run };

const COLUMNS: &[Column] = &[
    Column::text(
        "arrival",
        "static: capacities of the final number of keys from the beginning; online: capacities of the keys that have arrived, the arriving one included.",
    ),
    Column::real(
        "factor",
        "",
        "The factor c where a node's capacity is ceil(c*total*w/W); empty where capacities follow another rule.",
    ),
    Column::integer("capacity_max", "", "Largest capacity of a node when the last key arrives."),
    Column::integer("max_load", "", "Largest number of keys on a node at the end."),
    Column::integer(
        "cap_violations",
        "",
        "Arrivals that left their node above the capacity that bound them.",
    ),
    Column::real("spilled_frac", "", "Keys that examined more than one node, divided by all keys."),
    Column::real(
        "probes_mean",
        "",
        "Distinct nodes examined for a key, mean; 1 means that its first choice took it.",
    ),
    Column::integer("probes_p99", "", "The ceil(0.99*K)-th smallest number of nodes examined for a key."),
    Column::integer("probes_max", "", "Most nodes examined for a key."),
    Column::real(
        "moved_on_node_add_frac",
        "",
        "Keys whose node differs after one node joined and all keys were placed again by the same rule, divided by all keys; empty where the change is refused.",
    ),
    Column::real("moved_on_node_remove_frac", "", "The same after a seeded random node left."),
];

/// How capacities follow the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    Static,
    Online,
}

impl Arrival {
    const ALL: [Self; 2] = [Self::Static, Self::Online];

    const fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Online => "online",
        }
    }

    /// What a load-aware placement is reset to.
    const fn expected_total(self, keys: u64) -> Option<u64> {
        match self {
            Self::Static => Some(keys),
            Self::Online => None,
        }
    }
}

fn run(case: &Case<'_>) -> Result<Vec<Observation>, MetricError> {
    let mut placement = case.build_placement()?;
    if placement.as_load_aware().is_none() {
        return Err(MetricError::Unsupported("the placement has no capacities".to_owned()));
    }
    let row = |arrival| -> Result<Observation, MetricError> {
        let fill = fill(case, placement.clone(), arrival)?;
        let mut row = vec![arrival.name().into()];
        row.extend(fill.fields(case.keys.key_count()));
        row.extend(moved(case, &*placement, arrival)?);
        Ok(Observation::ok(row))
    };
    Arrival::ALL.into_iter().map(row).collect()
}

/// What was seen while all keys arrived.
#[derive(Clone, Debug, Default)]
struct Fill {
    factor: Option<(u64, u64)>,
    capacity_max: u64,
    max_load: u64,
    violations: u64,
    /// How many keys examined `index` nodes.
    probes: Vec<u64>,
}

fn fill(case: &Case<'_>, mut placement: Box<dyn Distributor>, arrival: Arrival) -> Result<Fill, MetricError> {
    let keys = case.keys.key_count();
    let aware = placement.as_load_aware().expect("asked for before");
    aware.reset(arrival.expected_total(keys));
    let mut fill = Fill { factor: aware.factor(), ..Fill::default() };
    let mut arrived = 0;
    place::for_each_block(case, &mut |block| {
        if matches!(block.counts, Counts::Requests) {
            return Ok(());
        }
        for key in block.hashes {
            arrived += 1;
            if arrived == keys {
                let capacities = case.nodes.iter().filter_map(|node| aware.capacity(node.id));
                fill.capacity_max = capacities.max().unwrap_or(0);
            }
            let (node, probes) = aware.assign(*key);
            aware.release(node)?;
            let capacity = aware.capacity(node);
            if aware.assign(*key) != (node, probes) {
                let message =
                    format!("key {key:#018x} came to another node after node {node} had released it");
                return Err(MetricError::Failed(message));
            }
            fill.note(aware.load(node), capacity, probes);
        }
        Ok(())
    })?;
    fill.max_load = case.nodes.iter().filter_map(|node| aware.load(node.id)).max().unwrap_or(0);
    Ok(fill)
}

impl Fill {
    fn note(&mut self, load: Option<u64>, capacity: Option<u64>, probes: Probes) {
        // A node without a capacity may hold nothing.
        self.violations += u64::from(load.unwrap_or(0) > capacity.unwrap_or(0));
        let probes = probes.0 as usize;
        if self.probes.len() <= probes {
            self.probes.resize(probes + 1, 0);
        }
        self.probes[probes] += 1;
    }

    /// The columns from `factor` to `probes_max`.
    fn fields(&self, keys: u64) -> Row {
        let spilled: u64 = self.probes.iter().skip(2).sum();
        let probed: u64 = self.probes.iter().zip(0..).map(|(keys, probes)| keys * probes).sum();
        vec![
            self.factor.map(|(numerator, denominator)| numerator as f64 / denominator as f64).into(),
            self.capacity_max.into(),
            self.max_load.into(),
            self.violations.into(),
            (spilled as f64 / keys as f64).into(),
            (probed as f64 / keys as f64).into(),
            self.probes_percentile(99, 100).into(),
            self.probes_percentile(1, 1).into(),
        ]
    }

    /// The quantile of the numbers of nodes examined; `None` without keys.
    fn probes_percentile(&self, numerator: u64, denominator: u64) -> Option<u64> {
        let keys: u64 = self.probes.iter().sum();
        let rank = (keys > 0).then(|| stats::nearest_rank(keys, numerator, denominator))?;
        let mut seen = 0;
        self.probes.iter().zip(0..).find_map(|(keys, probes)| {
            seen += keys;
            (seen > rank).then_some(probes)
        })
    }
}

/// The fractions of keys that differ after a node joined and after one left.
fn moved(case: &Case<'_>, placement: &dyn Distributor, arrival: Arrival) -> Result<[Value; 2], MetricError> {
    let total = arrival.expected_total(case.keys.key_count());
    let mut before = Placer::new(placement.clone_box(), total);
    let after = |event: Event| -> Option<Placer> {
        let changes = event.changes(case.nodes, placement.capabilities(), case.seed).ok()?;
        let mut changed = placement.clone_box();
        changed.apply(&changes).ok()?;
        Some(Placer::new(changed, total))
    };
    let mut trials = [Event::Add, Event::RemoveRandom].map(|event| after(event).map(|placer| (placer, 0u64)));
    place::for_each_block(case, &mut |block| {
        if let Some(old) = before.place(block) {
            for (placer, moved) in trials.iter_mut().flatten() {
                let new = placer.place(block).unwrap_or(&[]);
                *moved += old.iter().zip(new).filter(|(old, new)| old != new).count() as u64;
            }
        }
        Ok(())
    })?;
    let keys = case.keys.key_count() as f64;
    Ok(trials.map(|trial| trial.map(|(_, moved)| moved as f64 / keys).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_summed_exactly() {
        let mut fill = Fill::default();
        for _ in 0..99 {
            fill.note(Some(1), Some(1), Probes(1));
        }
        fill.note(Some(2), Some(1), Probes(5));
        fill.note(Some(2), Some(2), Probes(3));
        assert_eq!(fill.violations, 1);
        // 101 keys: the ⌈99.99⌉-th is the 100th.
        assert_eq!((fill.probes_percentile(99, 100), fill.probes_percentile(1, 1)), (Some(3), Some(5)));
        let fields = fill.fields(101);
        assert_eq!(fields[4..6], [Value::Real(2.0 / 101.0), Value::Real(107.0 / 101.0)]);
        assert_eq!(Fill::default().probes_percentile(1, 1), None);
    }
}
