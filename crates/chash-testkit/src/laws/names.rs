//! Names that are easily taken for others.

use std::collections::BTreeMap;

use chash_core::{BuildError, Node, NodeId, Order};

use crate::law::{Outcome, Subject, ensure};
use crate::samples::random_keys;
use crate::state::{same_table, table};

/// Distinct names that trimming, cutting, folding case, normalising, stopping at a zero byte or
/// gluing a number behind them would make equal.
fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "", " ", "m", "M", "m ", " m", "m\0", "m\n", "m1", "m10", "m11", "m1-0", "1", "01", "a,b", "\"a\"",
        "é", "e\u{301}", "節点",
    ]
    .map(String::from)
    .to_vec();
    for length in [8, 16, 64, 127, 128, 255, 256, 300] {
        names.push("x".repeat(length));
        names.push("x".repeat(length - 1) + "y");
    }
    names
}

/// Over eight placements and all their keys each node is chosen. With shares that follow weights even
/// roughly, a node would be missed by chance with a probability far below 1e-6.
pub(super) fn every_name_is_a_node(subject: &Subject<'_>) -> Outcome {
    let capabilities = subject.capabilities()?;
    let nodes: Vec<Node> = names()
        .into_iter()
        .enumerate()
        .map(|(id, name)| Node::new(NodeId(id as u32), name))
        // Formats of deployed systems cannot express every name; a typed refusal is an answer.
        .filter(|node| {
            !matches!((subject.build)(0, std::slice::from_ref(node)), Err(BuildError::Node { .. }))
        })
        .take(capabilities.max_nodes as usize)
        .collect();
    ensure!(!nodes.is_empty(), "every name is refused");
    let mut counts: BTreeMap<NodeId, u32> = BTreeMap::new();
    for seed in 0..8 {
        let placement = subject.build(seed, &nodes)?;
        ensure!(
            placement.node_count() == nodes.len(),
            "{} names make {} nodes",
            nodes.len(),
            placement.node_count()
        );
        let keys = random_keys(seed, 2000);
        let owners = table(&*placement, &keys);
        for owner in &owners {
            *counts.entry(*owner).or_default() += 1;
        }
        if capabilities.order == Order::SetOnly {
            let mut reversed = nodes.clone();
            reversed.reverse();
            let again = table(&*subject.build(seed, &reversed)?, &keys);
            same_table("odd names, reversed", &keys, &owners, &again)?;
        }
    }
    for node in &nodes {
        ensure!(counts.contains_key(&node.id), "the node named {:?} is never chosen", node.name);
    }
    Ok(())
}
