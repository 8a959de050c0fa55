//! `movement.csv`: which keys change node when the membership or a weight changes.
//!
//! # Protocol
//!
//! For each [`Event`] the changes are applied to a copy of the placement, and every distinct key is
//! placed before and after ([`place`] says how). Nodes are the same if they have one name;
//! list positions play no part. A change that the placement refuses gives an `unsupported` row.
//!
//! A move is *needless* unless its old node left or lost weight, or its new node arrived or gained
//! weight: a placement of minimal disruption makes none.
//!
//! # What theory says
//!
//! - Minimal disruption, change of membership: 1 − W(A∩B)/W(A∪B) of the weights before (A) and after (B), which is
//!   Karger's Theorem 4.4 with weights (replacing one of N nodes moves 2/(N + 1), not 1/N).
//! - Minimal disruption, change of one weight: ½Σ|π_after − π_before|. The sets A and B are the same then, so the
//!   formula above would say 0. On a ring the added points take w/(W + w) of the circle, of which the node
//!   itself held w/W; a rendezvous score of one node rises, so that keys move to it only: either way its
//!   gain of share is all that moves.
//! - Modulo from m to n nodes: 1 − gcd(m, n)/max(m, n). Not for a replacement, where it depends on which
//!   position of the list the new node takes.
//! - Jump from m to n nodes: |m − n|/max(m, n).
//!
//! # Known biases
//!
//! - `moved_frac_min` is for fair shares: a measured value can be lower where a node that left held
//!   less than its share.
//! - Over K keys a fraction f has a sampling error of sqrt(f(1 − f)/K), and on a ring the spread
//!   of shares comes on top.
//! - A load-aware placement places all keys in stream order before and after: keys that a store would keep
//!   where they are may move here.

use chash_core::{Change, Distributor, MembershipError, Node, NodeId};

use crate::case::{Case, Metric, MetricError, MoveTheory, Observation};
use crate::events::{self, Event, Step};
use crate::keys::Counts;
use crate::place::{self, Placer, Tally};
use crate::record::{Class, Column, Row, Value};
use crate::spread::Spread;

/// One row for each event.
pub static METRIC: Metric = Metric { name: "movement", class: Class::Deterministic, columns: COLUMNS, run };

const COLUMNS: &[Column] = &[
    Column::text(
        "scenario",
        "The sequence of changes the step belongs to: single for one event on the case's nodes, otherwise the name of the plan's scenario.",
    ),
    Column::integer("step", "", "Which step of the scenario, from 1."),
    Column::text(
        "event",
        "add: one node joins; remove_last: the last of the list leaves; remove_random: a seeded random one leaves; replace: that one leaves and a new one of its weight joins; double: every node gets a twin; halve: the last floor(N/2) leave; weight: the weight of a seeded random node doubles. In a scenario: add, remove or weight of the node that the plan names.",
    ),
    Column::integer("nodes_after", "", "Nodes after the change, those of weight 0 included."),
    Column::integer(
        "moved_keys",
        "",
        "Distinct keys whose node before and after differ, by the node's name.",
    ),
    Column::real("moved_frac", "", "moved_keys divided by all distinct keys."),
    Column::real(
        "moved_frac_min",
        "",
        "Half the sum over nodes of |pi_after - pi_before|, pi being a node's part of all weight: what must move from fair shares to fair shares.",
    ),
    Column::real(
        "moved_frac_theory",
        "",
        "Expected moved_frac by the algorithm's theory: 1 - W(A and B)/W(A or B) for minimal disruption (half the sum of |pi_after - pi_before| for a change of weight), 1 - gcd/max of the numbers of nodes for modulo, their difference over the larger for jump; empty where none is known.",
    ),
    Column::integer(
        "needless_keys",
        "",
        "Moved keys whose old node neither left nor lost weight and whose new node neither arrived nor gained weight.",
    ),
    Column::real("needless_frac", "", "needless_keys divided by all distinct keys."),
    Column::real(
        "moved_requests_frac",
        "",
        "Requests for moved keys divided by all requests; empty where requests cannot be placed.",
    ),
    Column::integer("nodes_losing", "", "Nodes from which at least one key moved away."),
    Column::integer("nodes_gaining", "", "Nodes to which at least one key moved."),
    Column::real(
        "max_over_mean_after",
        "",
        "Largest keys_i/(K*pi_i) after the change, over nodes of positive weight.",
    ),
];

/// The copies that are measured in one reading of the keys may take this much memory together.
const COPIES_BYTES: u64 = 256 << 20;

fn run(case: &Case<'_>) -> Result<Vec<Observation>, MetricError> {
    let before = case.build_placement()?;
    let mut observations = single_events(case, &*before)?;
    observations.extend(scenario(case, before)?);
    Ok(observations)
}

/// A row for each event on the case's nodes.
fn single_events(case: &Case<'_>, before: &dyn Distributor) -> Result<Vec<Observation>, MetricError> {
    let capabilities = before.capabilities();
    let mut observations = Vec::with_capacity(Event::ALL.len());
    for events in Event::ALL.chunks(copies_at_once(before.footprint().total_bytes())) {
        let mut trials: Vec<_> = events
            .iter()
            .map(|event| {
                let changes = event.changes(case.nodes, capabilities, case.seed)?;
                let after = before.clone_box();
                Trial::new(["single", event.name()], 1, case, case.nodes, after, &changes)
            })
            .collect();
        let loads_before = observe(case, before.clone_box(), trials.iter_mut().flatten())?;
        loads_before.loads(case.nodes)?;
        for (event, trial) in events.iter().zip(trials) {
            observations.push(match trial {
                Ok(trial) => Observation::ok(trial.row(case)?),
                Err(refusal) => {
                    Observation::unsupported(tried(["single", event.name()], 1), COLUMNS, refusal)
                }
            });
        }
    }
    Ok(observations)
}

/// A row for each step of the case's scenario; the steps after one that is refused are refused as well.
fn scenario(case: &Case<'_>, mut before: Box<dyn Distributor>) -> Result<Vec<Observation>, MetricError> {
    let mut nodes = case.nodes.to_vec();
    let mut observations = Vec::new();
    let mut refused = None;
    for (step, Step { event, changes }) in (1..).zip(&case.scenario.steps) {
        let label = [case.scenario.name.as_str(), event];
        let trial = match refused {
            Some(refusal) => Err(refusal),
            None => Trial::new(label, step, case, &nodes, before.clone(), changes),
        };
        match trial {
            Ok(mut trial) => {
                observe(case, before, std::iter::once(&mut trial))?;
                observations.push(Observation::ok(trial.row(case)?));
                (nodes, before) = (trial.nodes_after, trial.after.into_placement());
            }
            Err(refusal) => {
                refused = Some(refusal);
                observations.push(Observation::unsupported(tried(label, step), COLUMNS, refusal));
            }
        }
    }
    Ok(observations)
}

/// All events, or fewer where copies of this many bytes would take too much memory.
fn copies_at_once(bytes: u64) -> usize {
    let fitting = COPIES_BYTES / bytes.max(1);
    fitting.clamp(1, Event::ALL.len() as u64) as usize
}

/// The columns that say what was tried: scenario, step, event.
fn tried([scenario, event]: [&str; 2], step: u64) -> Row {
    vec![scenario.into(), step.into(), event.into()]
}

/// Places every key before and after and notes what moves; the loads before.
fn observe<'t>(
    case: &Case<'_>,
    before: Box<dyn Distributor>,
    trials: impl Iterator<Item = &'t mut Trial>,
) -> Result<Tally, MetricError> {
    let mut before = Placer::new(before, Some(case.keys.key_count()));
    let mut trials: Vec<&mut Trial> = trials.collect();
    let mut loads = Tally::new(case.nodes);
    place::for_each_block(case, &mut |block| {
        let Some(old) = before.place(block) else { return Ok(()) };
        loads.count(old, block.counts);
        for trial in &mut trials {
            if let Some(new) = trial.after.place(block) {
                trial.flow.note(old, new, block.counts);
            }
        }
        Ok(())
    })?;
    Ok(loads)
}

/// One change under measurement.
#[derive(Debug)]
struct Trial {
    /// The first columns.
    tried: Row,
    nodes_before: Vec<Node>,
    nodes_after: Vec<Node>,
    after: Placer,
    flow: Flow,
    /// Whether the requests of the stream can be placed.
    requests_known: bool,
}

impl Trial {
    /// Applies the changes to `placement`, a copy of the one before.
    fn new(
        label: [&str; 2],
        step: u64,
        case: &Case<'_>,
        nodes: &[Node],
        mut placement: Box<dyn Distributor>,
        changes: &[Change],
    ) -> Result<Self, MembershipError> {
        placement.apply(changes)?;
        let requests_known = case.keys.request_collision().is_some() || placement.as_load_aware().is_none();
        let nodes_after = events::apply(nodes, changes);
        Ok(Self {
            tried: tried(label, step),
            flow: Flow::new(nodes, &nodes_after),
            nodes_before: nodes.to_vec(),
            nodes_after,
            after: Placer::new(placement, Some(case.keys.key_count())),
            requests_known,
        })
    }

    fn row(&self, case: &Case<'_>) -> Result<Row, MetricError> {
        let loads = self.flow.loads_after.loads(&self.nodes_after)?;
        let (flow, keys) = (&self.flow, case.keys.key_count() as f64);
        let requests = case.keys.request_count() as f64;
        let mut row = self.tried.clone();
        row.extend([
            (self.nodes_after.len() as u64).into(),
            flow.moved_keys.into(),
            // Without keys or requests these are not numbers, and their fields empty.
            (flow.moved_keys as f64 / keys).into(),
            fair_movement(&self.nodes_before, &self.nodes_after).into(),
            theory(case.move_theory, &self.nodes_before, &self.nodes_after)
                .map_or(Value::Missing, Value::Special),
            flow.needless_keys.into(),
            (flow.needless_keys as f64 / keys).into(),
            self.requests_known.then(|| flow.moved_requests as f64 / requests).into(),
            flow.losing().into(),
            flow.gaining().into(),
            Spread::new(&self.nodes_after, &loads.keys).max_over_mean().into(),
        ]);
        Ok(row)
    }
}

/// What moved between two placements of the same keys.
#[derive(Clone, Debug)]
struct Flow {
    /// By id: what may happen to the node's keys, and what did.
    sides: Vec<Side>,
    moved_keys: u64,
    needless_keys: u64,
    moved_requests: u64,
    loads_after: Tally,
}

/// One node's part in a change.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    /// It left or lost weight.
    may_lose: bool,
    /// It arrived or gained weight.
    may_gain: bool,
    /// A key moved away from it.
    lost: bool,
    /// A key moved to it.
    gained: bool,
}

impl Flow {
    fn new(before: &[Node], after: &[Node]) -> Self {
        let weights = Weights::new(before, after);
        let side = |(old, new): &(Option<u32>, Option<u32>)| Side {
            may_lose: new < old,
            may_gain: new > old,
            ..Side::default()
        };
        Self {
            sides: weights.0.iter().map(side).collect(),
            moved_keys: 0,
            needless_keys: 0,
            moved_requests: 0,
            loads_after: Tally::new(after),
        }
    }

    fn note(&mut self, old: &[NodeId], new: &[NodeId], counts: Counts<'_>) {
        let are_keys = !matches!(counts, Counts::Requests);
        self.loads_after.count(new, counts);
        for (index, (old, new)) in old.iter().zip(new).enumerate().filter(|(_, (old, new))| old != new) {
            self.moved_requests += match counts {
                Counts::Distinct(counts) => counts[index],
                Counts::DistinctOnly => 0,
                Counts::Requests => 1,
            };
            if are_keys {
                self.moved_keys += 1;
                let (from, to) = (self.sides.get(old.index()), self.sides.get(new.index()));
                let needed = from.is_some_and(|side| side.may_lose) || to.is_some_and(|side| side.may_gain);
                self.needless_keys += u64::from(!needed);
                // An unknown node is found in the counts of loads.
                if let Some(side) = self.sides.get_mut(old.index()) {
                    side.lost = true;
                }
                if let Some(side) = self.sides.get_mut(new.index()) {
                    side.gained = true;
                }
            }
        }
    }

    fn losing(&self) -> u64 {
        self.sides.iter().filter(|side| side.lost).count() as u64
    }

    fn gaining(&self) -> u64 {
        self.sides.iter().filter(|side| side.gained).count() as u64
    }
}

/// The weight of every node before and after, by id; `None` where it is absent. An absent node orders
/// below one of weight 0: arriving counts as gaining even without weight.
#[derive(Debug)]
struct Weights(Vec<(Option<u32>, Option<u32>)>);

impl Weights {
    fn new(before: &[Node], after: &[Node]) -> Self {
        let ids = before.iter().chain(after).map(|node| node.id.index() + 1).max().unwrap_or(0);
        let mut weights = vec![(None, None); ids];
        for node in before {
            weights[node.id.index()].0 = Some(node.weight);
        }
        for node in after {
            weights[node.id.index()].1 = Some(node.weight);
        }
        Self(weights)
    }

    /// Weights as numbers, 0 where absent.
    fn pairs(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|(old, new)| (u64::from(old.unwrap_or(0)), u64::from(new.unwrap_or(0))))
    }

    fn totals(&self) -> (u64, u64) {
        self.pairs().fold((0, 0), |(before, after), (old, new)| (before + old, after + new))
    }
}

/// ½Σ|π_after − π_before|, rounded once.
fn fair_movement(before: &[Node], after: &[Node]) -> f64 {
    let weights = Weights::new(before, after);
    let (total_before, total_after) = weights.totals();
    let (total_before, total_after) = (u128::from(total_before), u128::from(total_after));
    let cross = |(old, new)| (u128::from(new) * total_before).abs_diff(u128::from(old) * total_after);
    let sum: u128 = weights.pairs().map(cross).sum();
    sum as f64 / (2 * total_before * total_after) as f64
}

/// 1 − W(A∩B)/W(A∪B) of node sets whose common members have one weight.
fn set_movement(before: &[Node], after: &[Node]) -> f64 {
    let (common, all) = Weights::new(before, after)
        .pairs()
        .fold((0, 0), |(common, all), (old, new)| (common + old.min(new), all + old.max(new)));
    (all - common) as f64 / all as f64
}

fn theory(theory: MoveTheory, before: &[Node], after: &[Node]) -> Option<f64> {
    let (m, n) = (before.len() as u64, after.len() as u64);
    match theory {
        MoveTheory::Unknown => None,
        MoveTheory::Minimal if weights_change(before, after) => Some(fair_movement(before, after)),
        MoveTheory::Minimal => Some(set_movement(before, after)),
        // The number of nodes stays, and the formula says nothing.
        MoveTheory::Modulo | MoveTheory::Jump if m == n => None,
        MoveTheory::Modulo => Some((m.max(n) - gcd(m, n)) as f64 / m.max(n) as f64),
        MoveTheory::Jump => Some(m.abs_diff(n) as f64 / m.max(n) as f64),
    }
}

/// Whether a node that stays has another weight.
fn weights_change(before: &[Node], after: &[Node]) -> bool {
    Weights::new(before, after).0.iter().any(|pair| matches!(pair, (Some(old), Some(new)) if old != new))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(weights: &[u32]) -> Vec<Node> {
        Node::numbered(weights.len() as u32)
            .into_iter()
            .zip(weights)
            .map(|(node, weight)| node.with_weight(*weight))
            .collect()
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-14, "{found} is not {expected}");
    }

    #[test]
    fn minimal_movement_by_hand() {
        let before = nodes(&[1; 10]);
        close(set_movement(&before, &nodes(&[1; 11])), 1.0 / 11.0);
        close(fair_movement(&before, &nodes(&[1; 11])), 1.0 / 11.0);
        close(set_movement(&before, &before[..9]), 0.1);
        close(set_movement(&before, &before[..5]), 0.5);
        // Replacing one: 2/(N + 1) of a monotone placement, although shares change by 1/N only.
        let mut replaced = before[1..].to_vec();
        replaced.push(Node::new(NodeId(10), "new"));
        close(set_movement(&before, &replaced), 2.0 / 11.0);
        close(fair_movement(&before, &replaced), 0.1);
        // Weights 1, 3 and then 2, 3: shares 1/4, 3/4 and 2/5, 3/5.
        close(fair_movement(&nodes(&[1, 3]), &nodes(&[2, 3])), 0.15);
    }

    /// Every row of the published table of modulo movement, and its minimal fraction, which is jump's.
    #[test]
    fn modulo_and_jump_equal_the_table() {
        let mut table = csv::Reader::from_path(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/data/theory_modulo_moves.csv"
        ))
        .unwrap();
        let mut rows = 0;
        for row in table.deserialize() {
            let (from, to, moved, minimal): (u32, u32, f64, f64) = row.unwrap();
            let (before, after) = (Node::numbered(from), Node::numbered(to));
            let found = |kind| theory(kind, &before, &after).unwrap();
            assert!((found(MoveTheory::Modulo) - moved).abs() <= 5e-7, "{from} {to}");
            assert!((found(MoveTheory::Jump) - minimal).abs() <= 5e-7, "{from} {to}");
            assert!((found(MoveTheory::Minimal) - minimal).abs() <= 5e-7, "{from} {to}");
            rows += 1;
        }
        assert_eq!(rows, 15);
    }

    #[test]
    fn formulas_that_do_not_apply_are_empty() {
        let before = nodes(&[1; 4]);
        for kind in [MoveTheory::Modulo, MoveTheory::Jump] {
            assert_eq!(theory(kind, &before, &before), None);
        }
        assert_eq!(theory(MoveTheory::Unknown, &before, &before), None);
        let heavier = nodes(&[2, 1, 1, 1]);
        // w/(W + w)·(1 − w/W) = 1/5 · 3/4.
        close(theory(MoveTheory::Minimal, &before, &heavier).unwrap(), 0.15);
    }

    #[test]
    fn a_large_placement_is_copied_less_often() {
        assert_eq!(copies_at_once(0), 7);
        assert_eq!(copies_at_once(COPIES_BYTES / 3), 3);
        assert_eq!(copies_at_once(u64::MAX), 1);
    }

    /// Keys of nodes 0 and 1; node 1 leaves, node 2 arrives with weight, node 0 stays.
    #[test]
    fn needless_moves_by_hand() {
        let before = nodes(&[1, 1]);
        let mut after = vec![before[0].clone(), Node::new(NodeId(2), "c"), Node::new(NodeId(3), "d")];
        after[2].weight = 1;
        let id = NodeId;
        let mut flow = Flow::new(&before, &after);
        let old = [id(0), id(0), id(1), id(1), id(0)];
        let new = [id(0), id(2), id(0), id(3), id(0)];
        flow.note(&old, &new, Counts::Distinct(&[10, 20, 30, 40, 50]));
        assert_eq!((flow.moved_keys, flow.needless_keys, flow.moved_requests), (3, 0, 90));
        assert_eq!((flow.losing(), flow.gaining()), (2, 3));

        // Nothing changes but one weight: 0 gains, so only moves to it are needed.
        let mut flow = Flow::new(&nodes(&[1, 1, 1]), &nodes(&[2, 1, 1]));
        flow.note(&[id(1), id(1), id(0)], &[id(0), id(2), id(2)], Counts::DistinctOnly);
        assert_eq!((flow.moved_keys, flow.needless_keys, flow.moved_requests), (3, 2, 0));
        flow.note(&[id(1), id(0)], &[id(2), id(0)], Counts::Requests);
        assert_eq!((flow.moved_keys, flow.moved_requests), (3, 1));
    }
}
