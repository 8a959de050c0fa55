//! `chash list`: what there is, straight from the registry.

use chash_core::{Capabilities, Disruption, Node, Order, Removal};
use chash_hash::HashFunction;

use super::print;
use crate::args::{Format, ListArgs};
use crate::exit::Failure;
use crate::plan::PRESETS;
use crate::registry::{ALGORITHMS, Algorithm, METRICS, WORKLOADS, algorithm_spec, build};
use crate::spec::ParamSpec;
use crate::table::Table;

/// Prints the registry.
///
/// # Errors
///
/// Standard output that cannot be written.
pub fn run(args: &ListArgs) -> Result<(), Failure> {
    let mut table = Table::new(
        "",
        &[
            "kind",
            "name",
            "summary",
            "parameters",
            "capabilities",
            "lookup",
            "memory",
            "change",
            "source",
            "node_columns",
        ],
    );
    let mut row = |fields: [String; 10]| {
        if fields.iter().any(|field| field.contains(&args.filter)) {
            table.rows.push(fields.into());
        }
    };
    for algorithm in ALGORITHMS.iter() {
        let cost = algorithm.complexity;
        row([
            "algorithm".into(),
            algorithm.name.into(),
            algorithm.summary.into(),
            params(algorithm.params),
            capabilities(algorithm),
            cost.lookup.into(),
            cost.memory.into(),
            cost.change.into(),
            algorithm.source.into(),
            columns(algorithm),
        ]);
    }
    let mut plain = |kind: &str, name: &str, summary: &str, params: String| {
        let empty = String::new;
        let head = [kind.into(), name.into(), summary.into(), params];
        let [kind, name, summary, params] = head;
        row([kind, name, summary, params, empty(), empty(), empty(), empty(), empty(), empty()]);
    };
    for workload in WORKLOADS {
        plain("workload", workload.name, workload.summary, params(workload.params));
    }
    for metric in METRICS {
        let columns: Vec<&str> = metric.columns.iter().map(|column| column.name).collect();
        plain("metric", metric.name, &format!("{}.csv: {}", metric.name, columns.join(", ")), String::new());
    }
    for function in HashFunction::ALL {
        let seed = if function.is_seedable() { "seed=0 (a whole number from 0)" } else { "" };
        plain("key hash", function.name(), "turns a key's bytes into 64 bits", seed.to_owned());
    }
    for (name, text) in PRESETS {
        let comment = text.lines().take_while(|line| line.starts_with('#'));
        let summary: Vec<&str> = comment.map(|line| line.trim_start_matches(['#', ' '])).collect();
        plain("preset", name, &summary.join(" "), String::new());
    }
    if args.format == Format::Table { print(&paragraphs(&table)) } else { print(&table.render(args.format)) }
}

/// A paragraph for each row: ten columns do not fit on a screen.
fn paragraphs(table: &Table) -> String {
    let mut text = String::new();
    let mut kind = "";
    for row in &table.rows {
        if kind != row[0] {
            text.push_str(&format!("{}{}\n\n", if kind.is_empty() { "" } else { "\n" }, heading(&row[0])));
            kind = &row[0];
        }
        text.push_str(&format!("  {:<21}{}\n", row[1], row[2]));
        let costs = [("lookup", &row[5]), ("memory", &row[6]), ("change", &row[7])];
        let costs: Vec<String> = costs
            .iter()
            .filter(|(_, cost)| !cost.is_empty())
            .map(|(name, cost)| format!("{name} {cost}"))
            .collect();
        for part in row[3]
            .split(" | ")
            .chain(row[9].split(" | "))
            .chain([row[4].as_str(), &costs.join(", "), &row[8]])
            .filter(|part| !part.is_empty())
        {
            text.push_str(&format!("  {:<21}  {part}\n", ""));
        }
    }
    text
}

fn heading(kind: &str) -> String {
    format!("{kind}{}", if kind.ends_with("sh") { "es" } else { "s" }).to_uppercase()
}

fn params(params: &[ParamSpec]) -> String {
    let describe =
        |param: &ParamSpec| format!("{}={} ({}): {}", param.name, param.default, param.kind, param.meaning);
    params.iter().map(describe).collect::<Vec<_>>().join(" | ")
}

/// The further columns of a node list that it reads.
fn columns(algorithm: &Algorithm) -> String {
    let columns = algorithm.columns().iter();
    columns
        .map(|column| format!("column {}: {}", column.name, column.summary))
        .collect::<Vec<_>>()
        .join(" | ")
}

/// What a placement with default parameters declares of itself.
fn capabilities(algorithm: &Algorithm) -> String {
    let placement =
        algorithm_spec(algorithm.name).ok().and_then(|spec| build(&spec, &Node::numbered(2), 0).ok());
    placement.map_or(String::new(), |placement| {
        let mut words = vec![describe(placement.capabilities())];
        words.extend(placement.as_replicated().map(|_| "replicas".to_owned()));
        words.extend(placement.as_byte_keyed().map(|_| "hashes keys itself".to_owned()));
        words.join(", ")
    })
}

fn describe(capabilities: Capabilities) -> String {
    let removal = match capabilities.removal {
        Removal::Any => "any node may leave",
        Removal::LastOnly => "only the last node may leave",
        Removal::None => "no node may leave",
    };
    let disruption = match capabilities.disruption {
        Disruption::Minimal => "moves only what must move",
        Disruption::Approximate => "moves some further keys",
        Disruption::Arbitrary => "moves any key",
    };
    let order = match capabilities.order {
        Order::SetOnly => "depends on the set of nodes",
        Order::ListOrder => "depends on the list's order",
        Order::History => "depends on history",
    };
    let weights = if capabilities.weighted { "weights" } else { "no weights" };
    let max = if capabilities.max_nodes == u32::MAX {
        String::new()
    } else {
        format!(", at most {} nodes", capabilities.max_nodes)
    };
    format!("{removal}, {disruption}, {order}, {weights}{max}")
}
