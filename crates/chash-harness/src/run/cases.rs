//! The cases of a plan, in the order of their rows.

use std::fmt;

use chash_metrics::case::Metric;
use chash_metrics::record::Class;

use crate::nodes::NodeSet;
use crate::plan::Plan;
use crate::registry::{self, METRICS, Scope};
use crate::spec::Spec;

/// One workload in one repetition: the keys that its cases share.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// The workload.
    pub workload: &'a Spec,
    /// Whether it is the plan's first: metrics that do not look at requests run there only.
    pub first: bool,
    /// The repetition, from 0.
    pub rep: u32,
}

/// One placement under one metric.
#[derive(Clone, Copy, Debug)]
pub struct CaseSpec<'a> {
    /// The keys.
    pub group: Group<'a>,
    /// The algorithm.
    pub algorithm: &'a Spec,
    /// The nodes.
    pub list: &'a NodeSet,
    /// The metric.
    pub metric: &'static Metric,
}

impl fmt::Display for CaseSpec<'_> {
    /// The line of `--dry-run`, which `--filter` looks into.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} nodes={} weights={} workload={} rep={}",
            self.metric.name,
            self.algorithm,
            self.list.nodes.len(),
            self.list.weights,
            self.group.workload,
            self.group.rep
        )
    }
}

/// The groups of a plan in row order: workload by workload, repetition by repetition.
pub fn groups(plan: &Plan) -> impl Iterator<Item = Group<'_>> {
    plan.workloads
        .iter()
        .enumerate()
        .flat_map(|(at, workload)| (0..plan.reps).map(move |rep| Group { workload, first: at == 0, rep }))
}

/// The cases of a group in row order, those of the given classes: nodes, then algorithm, then metric.
pub fn cases<'a>(plan: &'a Plan, group: Group<'a>, timings: bool) -> impl Iterator<Item = CaseSpec<'a>> {
    plan.nodes.iter().flat_map(move |list| {
        plan.algorithms.iter().flat_map(move |algorithm| {
            plan.metrics
                .iter()
                .map(move |at| CaseSpec { group, algorithm, list, metric: METRICS[*at] })
                .filter(move |case| {
                    (case.metric.class != Class::Deterministic) == timings
                        && (group.first || registry::scope(case.metric) == Scope::Requests)
                        && case.to_string().contains(&plan.filter)
                })
        })
    })
}
