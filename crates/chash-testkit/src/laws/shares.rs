//! Who gets how much.

use chash_core::mix::mix64;
use chash_core::{DistributorExt, Node, NodeId, Removal};

use crate::law::{Outcome, Subject, Violation, applies_if, each, ensure};
use crate::samples::{NOBODY, describe, keys, node_lists, random_keys};
use crate::state::table;
use crate::statistics::{LEVEL, fit_to_shares, mean_test};

/// What adding up doubles may lose: far above their rounding, far below what any count could show.
const ROUNDING: f64 = 1e-9;

pub(super) fn shares_add_up(subject: &Subject<'_>) -> Outcome {
    let lists = node_lists(&subject.capabilities()?, 1000);
    applies_if_shares_are_known(subject)?;
    each(lists, |nodes| {
        let placement = subject.build(19, &nodes)?;
        let what = describe(&nodes);
        let mut sum = 0.0;
        for node in &nodes {
            let Some(share) = placement.key_share(node.id) else {
                return Err(Violation::new(format!("{what}: no share is known for id {}", node.id)));
            };
            ensure!((0.0..=1.0).contains(&share), "{what}: id {} has a share of {share}", node.id);
            ensure!(
                node.weight > 0 || share == 0.0,
                "{what}: id {} has weight 0 and a share of {share}",
                node.id
            );
            sum += share;
        }
        ensure!((sum - 1.0).abs() <= ROUNDING, "{what}: the shares add up to {sum}");
        ensure!(placement.key_share(NOBODY).is_none(), "{what}: an absent node has a share");
        Ok(())
    })
}

fn applies_if_shares_are_known(subject: &Subject<'_>) -> Outcome {
    let known = subject.build(0, &Node::numbered(1))?.key_share(NodeId(0)).is_some();
    applies_if(known, "it cannot tell its shares")
}

fn counts(owners: &[NodeId], nodes: &[Node]) -> Vec<u64> {
    nodes.iter().map(|node| owners.iter().filter(|owner| **owner == node.id).count() as u64).collect()
}

/// Pearson's test for each list, at the law's level divided by the number of lists.
pub(super) fn counts_follow_shares(subject: &Subject<'_>) -> Outcome {
    applies_if_shares_are_known(subject)?;
    let lists = node_lists(&subject.capabilities()?, 129);
    let level = LEVEL / lists.len() as f64;
    each(lists, |nodes| {
        let placement = subject.build(20, &nodes)?;
        let keys = random_keys(20, if nodes.len() <= 17 { 100_000 } else { 20_000 });
        let counts = counts(&placement.lookup_all(&keys), &nodes);
        let shares: Vec<f64> = nodes.iter().map(|node| placement.key_share(node.id).unwrap_or(0.0)).collect();
        let Some(fit) = fit_to_shares(&counts, &shares) else { return Ok(()) };
        let fits = fit.p_value >= level;
        if !fits {
            let total = keys.len() as f64;
            let excess = |place: &usize| (counts[*place] as f64 - shares[*place] * total).abs();
            let worst = (0..nodes.len()).max_by(|a, b| excess(a).total_cmp(&excess(b))).unwrap_or(0);
            let (id, count, expected) = (nodes[worst].id, counts[worst], shares[worst] * total);
            return Err(Violation::new(format!(
                "{}: of {total} keys id {id} gets {count}, its share is {expected:.1} (chi-squared {:.1}, {} degrees of freedom, p {:.1e})",
                describe(&nodes),
                fit.statistic,
                fit.dof,
                fit.p_value
            )));
        }
        Ok(())
    })
}

/// How many placements the average goes over.
const PLACEMENTS: u64 = 40;

/// The weights of each case of [`shares_follow_weights`].
const EQUAL: [&[u32]; 3] = [&[1, 1], &[1, 1, 1], &[1, 1, 1, 1, 1, 1, 1, 1]];
const MIXED: [&[u32]; 3] = [&[1, 2], &[3, 0, 1, 2], &[1, 4, 2, 1, 1, 8, 2, 1]];

/// Names that differ in an appended number, as those that are glued to a point's number do.
const SUFFIXES: [&str; 8] = ["", "1", "11", "10", "2", "12", "111", "100"];

/// Student's test for each node of each case, at the law's level divided by the number of tests.
///
/// A placement differs from the next in its seed and in its nodes' names, so that placements without
/// a seed differ too. Counts are tested, not shares: slots and points that are dealt out whole make
/// every table's shares uneven by design, by less than counts of so few keys can show.
pub(super) fn shares_follow_weights(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    applies_if(subject.shares_follow_weights, "it is said to follow weights only roughly")?;
    let mut cases = EQUAL.to_vec();
    if capabilities.weighted {
        cases.extend(MIXED);
    }
    cases.retain(|weights| weights.len() <= capabilities.max_nodes as usize);
    let tests: usize = cases.iter().map(|weights| weights.len()).sum();
    let level = LEVEL / tests as f64;
    each(cases, |weights| {
        let mut fractions = vec![Vec::new(); weights.len()];
        for placement_number in 0..PLACEMENTS {
            let nodes = named(placement_number, weights);
            let placement = subject.build(placement_number, &nodes)?;
            let keys = random_keys(placement_number, 2048);
            let owners = placement.lookup_all(&keys);
            for (count, fractions) in counts(&owners, &nodes).into_iter().zip(&mut fractions) {
                fractions.push(count as f64 / keys.len() as f64);
            }
        }
        let total: u32 = weights.iter().sum();
        for ((fractions, weight), suffix) in fractions.iter().zip(weights).zip(SUFFIXES) {
            let fair = f64::from(*weight) / f64::from(total);
            let p_value = mean_test(fractions, fair);
            ensure!(
                p_value >= level,
                "weights {weights:?}: the node …m{suffix} of weight {weight} gets {:.4} of the keys of {PLACEMENTS} placements instead of {fair:.4} (p {p_value:.1e}); \
                 if that is by design, say shares_follow_weights = false",
                fractions.iter().sum::<f64>() / PLACEMENTS as f64
            );
        }
        Ok(())
    })
}

fn named(placement_number: u64, weights: &[u32]) -> Vec<Node> {
    let prefix = mix64(placement_number + 1);
    let named = weights.iter().zip(SUFFIXES).enumerate();
    named
        .map(|(id, (weight, suffix))| {
            Node::new(NodeId(id as u32), format!("{prefix:016x}-m{suffix}")).with_weight(*weight)
        })
        .collect()
}

pub(super) fn weight_zero_is_never_chosen(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    applies_if(capabilities.weighted, "it declares no weights")?;
    let lists = node_lists(&capabilities, 1000).into_iter();
    each(lists.filter(|nodes| (2..capabilities.max_nodes as usize).contains(&nodes.len())), |nodes| {
        let keys = keys(nodes.len());
        let mut silenced = nodes.clone();
        let silent = silenced.last_mut().expect("at least two nodes");
        silent.weight = 0;
        let id = silent.id;
        let what = describe(&silenced);
        let mut placement = subject.build(21, &silenced)?;
        ensure!(!table(&*placement, &keys).contains(&id), "{what}: the last one owns keys after a build");
        let refused = |error| Violation::new(format!("{what}: the change is refused: {error}"));
        placement.set_weight(id, 3).map_err(refused)?;
        placement.set_weight(id, 0).map_err(refused)?;
        ensure!(
            !table(&*placement, &keys).contains(&id),
            "{what}: the last one owns keys after set_weight to 0"
        );
        if capabilities.removal == Removal::Any {
            placement.remove(id).map_err(refused)?;
            placement.add(&Node::new(id, "silent").with_weight(0)).map_err(refused)?;
            ensure!(!table(&*placement, &keys).contains(&id), "{what}: one added with weight 0 owns keys");
        }
        Ok(())
    })
}
