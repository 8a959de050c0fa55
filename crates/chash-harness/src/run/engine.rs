//! Runs the cases of a plan: the deterministic ones on all cores, then memory and timings one at a time.

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use chash_core::{BuildError, Change, MembershipError, Node, NodeId};
use chash_metrics::case::{Case, Metric, MetricError, Observation, Outcome};
use chash_metrics::events::{Scenario, Step};
use chash_metrics::keys::KeyStream;
use chash_metrics::random::RandomReference;
use chash_metrics::record::{Class, Value};
use chash_metrics::timing::Timing;
use chash_workloads::seed::{Seed, Stream};
use thiserror::Error;

use super::cases::{CaseSpec, Group, cases, groups};
use super::estimate;
use super::output::{Identity, Table};
use super::progress::Progress;
use crate::keys::{KeyError, OwnHashes, Population, Prepared};
use crate::nodes::NodeSet;
use crate::plan::{self, Plan};
use crate::registry::{self, METRICS, Role};

/// How many rows came out how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Measured.
    pub ok: u64,
    /// Not possible for this placement.
    pub unsupported: u64,
    /// Wrong.
    pub failed: u64,
}

/// Why a run ended early.
#[derive(Debug, Error)]
pub enum RunError {
    /// A file could not be written.
    #[error("{path}: {source}")]
    Output {
        /// The run's directory.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The keys could not be had.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// Interrupted by the user.
    #[error("interrupted; rows measured so far are in the .part files")]
    Interrupted,
}

/// A run under way.
#[derive(Debug)]
pub struct Engine<'a> {
    /// What to run.
    pub plan: &'a Plan,
    /// The keys.
    pub population: &'a Population,
    /// The run's identity.
    pub run_id: &'a str,
    /// Where the files go.
    pub dir: &'a Path,
    /// Threads for the deterministic cases.
    pub jobs: usize,
    /// How timings are taken.
    pub timing: Timing,
    /// Set by Ctrl-C.
    pub cancelled: &'a AtomicBool,
    /// What the user sees meanwhile.
    pub progress: &'a Progress,
}

impl Engine<'_> {
    /// Measures everything and leaves the files, each whole under its final name.
    ///
    /// # Errors
    ///
    /// A file that cannot be written, a workload that cannot be made, an interruption; the rows
    /// measured until then are in the `.part` files.
    pub fn run(&mut self) -> Result<Tally, RunError> {
        let mut tally = Tally::default();
        self.phase(false, &mut tally)?;
        self.phase(true, &mut tally)?;
        Ok(tally)
    }

    fn phase(&mut self, timings: bool, tally: &mut Tally) -> Result<(), RunError> {
        let metrics = self.plan.metrics.iter().map(|at| METRICS[*at]);
        let metrics: Vec<&Metric> =
            metrics.filter(|m| (m.class != Class::Deterministic) == timings).collect();
        if metrics.is_empty() {
            return Ok(());
        }
        let mut tables = Vec::new();
        for metric in metrics {
            tables.push((
                metric.name,
                Table::create(self.dir, metric).map_err(|error| self.output_error(error))?,
            ));
        }
        let jobs = if timings { 1 } else { self.jobs };
        if timings {
            self.measure_null()?;
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
        let pool = pool.map_err(|error| self.output_error(io::Error::other(error)))?;
        for group in groups(self.plan) {
            let cases: Vec<CaseSpec<'_>> = cases(self.plan, group, timings).collect();
            if !cases.is_empty() {
                self.group(group, &cases, timings, &pool, &mut tables, tally)?;
            }
        }
        for (_, table) in tables {
            table.finish().map_err(|error| self.output_error(error))?;
        }
        Ok(())
    }

    /// What the harness itself takes, for the `net` column: `null` at every setting of latency.
    fn measure_null(&mut self) -> Result<(), RunError> {
        let latency = &chash_metrics::latency::METRIC;
        let spec = registry::algorithm_spec("null").expect("null is in the registry");
        let Some(group) = groups(self.plan).next().filter(|_| self.plan.measures(latency)) else {
            return Ok(());
        };
        let prepared = self.population.prepare(self.plan, group)?;
        // Its cost does not depend on the nodes, and it takes no weights.
        let list = NodeSet::numbered(10);
        let case = CaseSpec { group, algorithm: &spec, list: &list, metric: latency };
        let random = RandomReference::default();
        let rows = self.measure(&case, &prepared, &random);
        let rows = rows.ok_or(RunError::Interrupted)?;
        self.timing.null = chash_metrics::latency::null_table(&rows, &self.timing.threads);
        Ok(())
    }

    /// Measures the cases of a group and writes their rows in plan order; the deterministic ones on the
    /// pool, the longest first.
    fn group(
        &self,
        group: Group<'_>,
        cases: &[CaseSpec<'_>],
        timings: bool,
        pool: &rayon::ThreadPool,
        tables: &mut [(&'static str, Table)],
        tally: &mut Tally,
    ) -> Result<(), RunError> {
        let prepared = self.population.prepare(self.plan, group)?;
        let keys = prepared.stream();
        let seed = Seed(self.plan.seed);
        let random_seed = seed.stream(group.rep, Stream::Sampling);
        let randoms: Vec<RandomReference> = pool.install(|| {
            use rayon::prelude::*;
            let lists = self.plan.nodes.par_iter();
            lists.map(|list| self.random_reference(&list.nodes, cases, keys, random_seed)).collect()
        });
        let random_of = |case: &CaseSpec<'_>| {
            let at = self.plan.nodes.iter().position(|list| std::ptr::eq(list, case.list));
            &randoms[at.unwrap_or_default()]
        };

        let estimates: Vec<f64> = cases
            .iter()
            .map(|case| {
                estimate::case(case, &self.plan.timing, keys.key_count(), keys.request_count()).time_ns
            })
            .collect();
        let mut writer = InOrder {
            engine: self,
            group,
            cases,
            keys,
            tables,
            tally,
            waiting: vec![None; cases.len()],
            next: 0,
        };
        let mut accept = |at: usize, rows: Option<Vec<Observation>>| {
            let rows = rows.ok_or(RunError::Interrupted)?;
            self.progress.advance((estimates[at] / 1e3) as u64);
            writer.accept(at, rows)
        };
        if timings {
            // Nothing beside a measurement, not even the writing of the rows before it.
            return (0..cases.len())
                .try_for_each(|at| accept(at, self.measure(&cases[at], &prepared, random_of(&cases[at]))));
        }
        let mut order: Vec<usize> = (0..cases.len()).collect();
        order.sort_by(|a, b| estimates[*b].total_cmp(&estimates[*a]));
        let (sender, results) = mpsc::channel();
        pool.in_place_scope_fifo(|scope| {
            for at in order {
                let (sender, case, random) = (sender.clone(), &cases[at], random_of(&cases[at]));
                let prepared = &prepared;
                scope.spawn_fifo(move |_| {
                    // The receiver is gone only after a file could not be written.
                    let _ = sender.send((at, self.measure(case, prepared, random)));
                });
            }
            drop(sender);
            let written = results.into_iter().try_for_each(|(at, rows)| accept(at, rows));
            if written.is_err() {
                self.cancelled.store(true, Ordering::Relaxed);
            }
            written
        })
    }

    /// The rows of a case; `None` if the run was interrupted meanwhile.
    fn measure(
        &self,
        spec: &CaseSpec<'_>,
        prepared: &Prepared,
        random: &RandomReference,
    ) -> Option<Vec<Observation>> {
        if self.cancelled.load(Ordering::Relaxed) {
            return None;
        }
        self.progress.say(format!("{} {} {}", spec.metric.name, spec.algorithm.name, spec.list.nodes.len()));
        let row = registry::algorithm(spec.algorithm.name);
        let without_numbers = |outcome| {
            Some(vec![Observation { row: vec![Value::Missing; spec.metric.columns.len()], outcome }])
        };
        if row.role == Role::HarnessCost && spec.metric.class == Class::Deterministic {
            return without_numbers(Outcome::Unsupported(
                "it measures the harness and places nothing".to_owned(),
            ));
        }
        let seed = Seed(self.plan.seed);
        let placement_seed = placement_seed(self.plan.seed, spec.list.named, spec.group.rep);
        let build = |nodes: &[Node]| registry::build(spec.algorithm, spec.list.with(nodes), placement_seed);
        let estimate = |nodes: &[Node]| (row.estimate)(spec.algorithm, spec.list.with(nodes));
        let hasher = registry::own_hasher(spec.algorithm);
        let own = hasher.as_deref().map(|hasher| OwnHashes::new(prepared.stream(), hasher));
        let keys = own.as_ref().map_or(prepared.stream(), |own| own as &dyn KeyStream);
        let requests = prepared.request_sample(hasher.as_deref());
        let (share_theory, move_theory) = (row.theory)(spec.algorithm);
        let scenario = scenario(self.plan, &spec.list.nodes);
        let case = Case {
            nodes: &spec.list.nodes,
            build: &build,
            estimate: &estimate,
            keys,
            requests: &requests,
            scenario: &scenario,
            share_theory,
            move_theory,
            seed: seed.stream(spec.group.rep, Stream::Events),
            timing: &self.timing,
            random,
            cancelled: self.cancelled,
        };
        match catch_unwind(AssertUnwindSafe(|| (spec.metric.run)(&case))) {
            Ok(Ok(rows)) => Some(rows),
            Ok(Err(MetricError::Interrupted)) => None,
            Ok(Err(MetricError::Unsupported(why))) => without_numbers(Outcome::Unsupported(why)),
            Ok(Err(MetricError::Build(BuildError::Membership(
                error @ (MembershipError::WeightUnsupported
                | MembershipError::CapacityExceeded { .. }
                | MembershipError::Unsupported),
            )))) => without_numbers(Outcome::Unsupported(error.to_string())),
            Ok(Err(error)) => without_numbers(Outcome::Failed(error.to_string())),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
                without_numbers(Outcome::Failed(format!("panicked: {text}")))
            }
        }
    }

    fn random_reference(
        &self,
        nodes: &[Node],
        cases: &[CaseSpec<'_>],
        keys: &dyn KeyStream,
        seed: u64,
    ) -> RandomReference {
        // Only balance has the column, and it is not cheap.
        if cases.iter().any(|case| case.metric.name == "balance") {
            RandomReference::new(nodes, keys, seed)
        } else {
            RandomReference::default()
        }
    }

    fn identity(&self, group: Group<'_>, case: &CaseSpec<'_>, keys: &dyn KeyStream) -> Identity {
        Identity {
            run_id: self.run_id.to_owned(),
            algorithm: case.algorithm.name,
            config: case.algorithm.to_string(),
            key_hash: match registry::algorithm(case.algorithm.name).system {
                Some(_) => case.algorithm.name.to_owned(),
                None => registry::key_hash_label(&self.plan.key_hash),
            },
            nodes: case.list.nodes.len() as u64,
            weights: case.list.weights.clone(),
            workload: self.population.workload_label(group.workload),
            keys: keys.key_count(),
            requests: keys.request_count(),
            seed: self.plan.seed,
            rep: group.rep,
        }
    }

    fn output_error(&self, source: io::Error) -> RunError {
        RunError::Output { path: self.dir.display().to_string(), source }
    }
}

/// Writes the rows of a group in the order of its cases, in whatever order they come.
struct InOrder<'a> {
    engine: &'a Engine<'a>,
    group: Group<'a>,
    cases: &'a [CaseSpec<'a>],
    keys: &'a dyn KeyStream,
    tables: &'a mut [(&'static str, Table)],
    tally: &'a mut Tally,
    /// Rows whose turn has not come.
    waiting: Vec<Option<Vec<Observation>>>,
    /// The case whose turn it is.
    next: usize,
}

impl InOrder<'_> {
    fn accept(&mut self, at: usize, rows: Vec<Observation>) -> Result<(), RunError> {
        self.waiting[at] = Some(rows);
        while let Some(rows) = self.waiting.get_mut(self.next).and_then(Option::take) {
            let case = &self.cases[self.next];
            let identity = self.engine.identity(self.group, case, self.keys);
            let table = self.tables.iter_mut().find(|(name, _)| *name == case.metric.name);
            let (_, table) = table.expect("a phase opens the table of each of its metrics");
            for observation in &rows {
                match &observation.outcome {
                    Outcome::Ok => self.tally.ok += 1,
                    Outcome::Unsupported(_) => self.tally.unsupported += 1,
                    Outcome::Failed(why) => {
                        self.tally.failed += 1;
                        self.engine.progress.warn(&format!("chash: failed: {case}: {why}"));
                    }
                }
                table.write(&identity, observation).map_err(|error| self.engine.output_error(error))?;
            }
            self.next += 1;
        }
        Ok(())
    }
}

/// The seed of a placement: its own for each repetition, so that the spread over placements is
/// measured; the same for all where the nodes have names, because then it is that placement which
/// is asked about.
#[must_use]
pub fn placement_seed(run_seed: u64, named: bool, rep: u32) -> u64 {
    Seed(run_seed).stream(if named { 0 } else { rep }, Stream::Placement)
}

/// The plan's scenario on these nodes: names become ids, and newcomers get the next ones. A name that
/// is not there becomes an id that is not, which the placement refuses.
fn scenario(plan: &Plan, nodes: &[Node]) -> Scenario {
    let mut ids: BTreeMap<&str, NodeId> = nodes.iter().map(|node| (&*node.name, node.id)).collect();
    let mut steps = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        let next = NodeId(ids.len() as u32);
        let id_of = |ids: &BTreeMap<&str, NodeId>, name: &str| ids.get(name).copied().unwrap_or(next);
        let change = match step {
            plan::Step::Add { name, weight } => {
                let id = *ids.entry(name).or_insert(next);
                Change::Add(Node::new(id, name.as_str()).with_weight(*weight))
            }
            plan::Step::Remove { name } => Change::Remove(id_of(&ids, name)),
            plan::Step::Weight { name, weight } => Change::SetWeight(id_of(&ids, name), *weight),
        };
        steps.push(Step { event: step.event(), changes: vec![change] });
    }
    Scenario { name: plan.scenario_name.clone(), steps }
}
