//! Placements that count what their nodes hold.

use std::collections::BTreeMap;

use chash_core::{Capabilities, Change, Distributor, LoadAware, MembershipError, Node, NodeId, Probes};

use crate::law::{Exit, Outcome, Subject, Violation, each, ensure};
use crate::model::{Model, make};
use crate::samples::{Draws, NOBODY, describe, few_keys, node_lists, one_list, random_keys};

fn applies_if_load_aware(subject: &Subject<'_>) -> Outcome {
    let counts = subject.build(0, &Node::numbered(1))?.as_load_aware().is_some();
    if counts { Ok(()) } else { Err(Exit::NotApplicable("it counts no loads".into())) }
}

fn view(placement: &mut dyn Distributor) -> Result<&mut dyn LoadAware, Violation> {
    placement.as_load_aware().ok_or_else(|| Violation::new("the view that counts loads comes and goes"))
}

/// Assigns a key and compares with what every node held and might hold just before.
fn assign(loads: &mut dyn LoadAware, nodes: &[Node], key: u64) -> Result<NodeId, Violation> {
    let (id, Probes(probes)) = {
        let before: BTreeMap<NodeId, (Option<u64>, Option<u64>)> =
            nodes.iter().map(|node| (node.id, (loads.load(node.id), loads.capacity(node.id)))).collect();
        let (id, probes) = loads.assign(key);
        let what = describe(nodes);
        let Some((Some(load), Some(capacity))) = before.get(&id) else {
            return Err(Violation::new(format!(
                "{what}: key {key:#018x} is assigned to id {id}, which is not there"
            )));
        };
        ensure!(
            load < capacity,
            "{what}: id {id} holds {load} of at most {capacity} and gets key {key:#018x}"
        );
        for (other, (load, _)) in &before {
            let expected = load.map(|load| load + u64::from(*other == id));
            let now = loads.load(*other);
            ensure!(
                now == expected,
                "{what}: id {id} gets key {key:#018x}, and id {other} holds {now:?} instead of {expected:?}"
            );
        }
        (id, probes)
    };
    let choosable = nodes.iter().filter(|node| node.weight > 0).count() as u32;
    ensure!(
        (1..=choosable).contains(&probes),
        "{}: key {key:#018x} took {probes} probes of {choosable} nodes",
        describe(nodes)
    );
    Ok(id)
}

pub(super) fn loads_stay_within_capacity(subject: &Subject<'_>) -> Outcome {
    applies_if_load_aware(subject)?;
    let capabilities = subject.capabilities()?;
    each(node_lists(&capabilities, 129), |nodes| {
        let mut placement = subject.build(27, &nodes)?;
        let loads = view(&mut *placement)?;
        let keys = few_keys(nodes.len()).into_iter().chain(random_keys(27, 200));
        let keys: Vec<u64> = keys.collect();
        // Arrivals one by one, then the same keys again with their number announced; the second time
        // one key comes again and again, which must spill over every node.
        for key in &keys {
            assign(loads, &nodes, *key)?;
        }
        loads.reset(Some(keys.len() as u64));
        let capacities = |loads: &dyn LoadAware| -> Vec<Option<u64>> {
            nodes.iter().map(|node| loads.capacity(node.id)).collect()
        };
        let announced = capacities(loads);
        for _ in &keys {
            // Before each announced key, not after the last: what binds a key beyond them is open, and
            // must be more where the announced capacities have no place left.
            ensure!(
                capacities(loads) == announced,
                "{}: capacities change although the total was announced",
                describe(&nodes)
            );
            assign(loads, &nodes, keys[0])?;
        }
        Ok(())
    })
}

pub(super) fn loads_are_conserved(subject: &Subject<'_>) -> Outcome {
    applies_if_load_aware(subject)?;
    let capabilities = subject.capabilities()?;
    each(1..=6u64, |history| random_operations(subject, capabilities, history))
}

/// Assignments, releases and changes of membership, against a map of what each node should hold.
fn random_operations(
    subject: &Subject<'_>,
    capabilities: Capabilities,
    history: u64,
) -> Result<(), Violation> {
    let mut model = Model::new(capabilities, 4, history);
    let mut placement = subject.build(history, &model.nodes)?;
    let mut held: BTreeMap<NodeId, u64> = model.nodes.iter().map(|node| (node.id, 0)).collect();
    let mut draws = Draws::new(history);
    for step in 0..600 {
        match draws.below(20) {
            0..=10 => {
                let id = assign(view(&mut *placement)?, &model.nodes, draws.word())?;
                *held.entry(id).or_default() += 1;
            }
            11..=17 => {
                let id = model.nodes[draws.below(model.nodes.len())].id;
                let load = held.entry(id).or_default();
                let expected = if *load > 0 { Ok(()) } else { Err(MembershipError::UnknownNode) };
                let outcome = view(&mut *placement)?.release(id);
                ensure!(outcome == expected, "releasing one of {load} at id {id} answers {outcome:?}");
                *load = load.saturating_sub(1);
            }
            18 => {
                let outcome = view(&mut *placement)?.release(NOBODY);
                ensure!(
                    outcome == Err(MembershipError::UnknownNode),
                    "releasing at an absent node answers {outcome:?}"
                );
            }
            _ => {
                let Some(change) = model.step() else { continue };
                make(&mut *placement, &change)
                    .map_err(|error| Violation::new(format!("{change:?} is refused: {error}")))?;
                match change {
                    Change::Add(node) => held.insert(node.id, 0),
                    Change::Remove(id) => held.remove(&id),
                    Change::SetWeight(..) => None,
                };
            }
        }
        let loads = view(&mut *placement)?;
        for (id, expected) in &held {
            let load = loads.load(*id);
            ensure!(
                load == Some(*expected),
                "after {step} operations id {id} holds {load:?} instead of {expected}"
            );
        }
        for id in (0..100).map(NodeId).chain([NOBODY]).filter(|id| !held.contains_key(id)) {
            ensure!(
                loads.load(id).is_none() && loads.capacity(id).is_none(),
                "after {step} operations the absent id {id} has a load or a capacity"
            );
        }
    }
    Ok(())
}

/// Whether every node's capacity is the paper's when `total` keys are counted, in exact arithmetic:
/// a factor below 2^40 and totals up to 10^12 keep the products below 2^128.
fn capacities_are_right(
    loads: &dyn LoadAware,
    (numerator, denominator): (u64, u64),
    nodes: &[Node],
    total: u64,
) -> Result<(), Violation> {
    let total_weight: u128 = nodes.iter().map(|node| u128::from(node.weight)).sum();
    for node in nodes {
        let share = u128::from(numerator) * u128::from(total) * u128::from(node.weight);
        let expected = u64::try_from(share.div_ceil(u128::from(denominator) * total_weight)).ok();
        let capacity = loads.capacity(node.id);
        ensure!(
            capacity == expected,
            "{}, {total} keys in all: id {} may hold {capacity:?} instead of {expected:?}",
            describe(nodes),
            node.id
        );
    }
    Ok(())
}

pub(super) fn capacities_are_the_papers(subject: &Subject<'_>) -> Outcome {
    applies_if_load_aware(subject)?;
    let capabilities = subject.capabilities()?;
    let mut one = subject.build(28, &Node::numbered(1))?;
    let Some(factor) = view(&mut *one)?.factor() else {
        return Err(Exit::NotApplicable("its capacities follow another rule than the paper's".into()));
    };
    each([factor], |(numerator, denominator)| {
        ensure!(0 < denominator && denominator <= numerator, "the factor is {numerator}/{denominator}");
        Ok(())
    })?;
    each([1, 2, 3, 8], |size| {
        for nodes in [Node::numbered(capabilities.max_nodes.min(size)), one_list(&capabilities, size)] {
            let mut placement = subject.build(28, &nodes)?;
            let loads = view(&mut *placement)?;
            ensure!(loads.factor() == Some(factor), "{}: the factor is another", describe(&nodes));
            for total in (1..=400).chain([1_000_000, 1_000_000_007, 1_000_000_000_000]) {
                loads.reset(Some(total));
                capacities_are_right(loads, factor, &nodes, total)?;
            }
            loads.reset(None);
            for arriving in 1..=100 {
                capacities_are_right(loads, factor, &nodes, arriving)?;
                loads.assign(arriving);
            }
            for arriving in (81..=100).rev() {
                let Some(node) = nodes.iter().find(|node| loads.load(node.id) > Some(0)) else {
                    return Err(Violation::new(format!("{}: nothing is held", describe(&nodes))));
                };
                loads.release(node.id).map_err(|error| Violation::new(format!("release: {error}")))?;
                capacities_are_right(loads, factor, &nodes, arriving)?;
            }
        }
        Ok(())
    })
}

pub(super) fn reset_forgets_loads(subject: &Subject<'_>) -> Outcome {
    applies_if_load_aware(subject)?;
    each(node_lists(&subject.capabilities()?, 17), |nodes| {
        let mut used = subject.build(29, &nodes)?;
        let used = view(&mut *used)?;
        used.reset(Some(1000));
        for key in random_keys(29, 100) {
            used.assign(key);
        }
        used.reset(None);
        let mut new = subject.build(29, &nodes)?;
        let new = view(&mut *new)?;
        for node in &nodes {
            let load = used.load(node.id);
            ensure!(load == Some(0), "{}: id {} holds {load:?} after a reset", describe(&nodes), node.id);
            ensure!(
                used.release(node.id).is_err(),
                "{}: a released load was forgotten before",
                describe(&nodes)
            );
        }
        for key in few_keys(100) {
            let (after_reset, as_new) = (used.assign(key), new.assign(key));
            ensure!(
                after_reset == as_new,
                "{}: key {key:#018x} goes to {after_reset:?} after a reset, to {as_new:?} in a new placement",
                describe(&nodes)
            );
        }
        Ok(())
    })
}
