//! Share spread against points per node, for each point hash, with the exact theory beside.

use std::collections::{BTreeMap, BTreeSet};

use super::{Files, Record, mean, number, shown};
use crate::exit::Failure;
use crate::plan::Plan;
use crate::table::Table;

/// A table for each number of nodes: a row for each number of points, a column for each hash.
pub(super) fn tables(plan: &Plan, files: &Files<'_>) -> Result<Vec<Table>, Failure> {
    let rows = files.read("balance")?;
    let mut spread: BTreeMap<(u64, u64, &str), Vec<&Record>> = BTreeMap::new();
    let mut hashes = BTreeSet::new();
    for spec in plan.algorithms.iter().filter(|spec| spec.name == "ring") {
        let (config, hash) = (spec.to_string(), spec.text("hash"));
        hashes.insert(hash);
        for row in rows.iter().filter(|row| row["config"] == config && row["load_kind"] == "keys") {
            let nodes = row["nodes"].parse().unwrap_or_default();
            spread.entry((nodes, spec.integer("vnodes"), hash)).or_default().push(row);
        }
    }
    let mut tables = Vec::new();
    for list in &plan.nodes {
        let nodes = list.nodes.len() as u64;
        let mut headings = vec!["points/node", "theory cv"];
        headings.extend(&hashes);
        let title = format!(
            "Spread of key-space shares on a ring of {nodes} nodes: root mean square cv over {} placements, \
             and its 99 % interval (none below 10 placements), beside the exact sqrt((N-1)/(NV+1))",
            plan.reps
        );
        let mut table = Table::new(title, &headings);
        let points: BTreeSet<u64> = spread.keys().filter(|(n, ..)| *n == nodes).map(|(_, v, _)| *v).collect();
        for vnodes in points {
            let of = |hash| spread.get(&(nodes, vnodes, hash)).map_or(&[][..], Vec::as_slice);
            let theory = hashes.iter().find_map(|hash| number(of(hash).first()?, "share_cv_theory"));
            let mut row = vec![vnodes.to_string(), shown(theory, 4)];
            for hash in &hashes {
                let squares = || of(hash).iter().filter_map(|row| number(row, "share_cv")).map(|cv| cv * cv);
                row.push(interval(squares().collect()));
            }
            table.rows.push(row);
        }
        tables.push(table);
    }
    Ok(tables)
}

/// The root of the mean of these squares, with half the width of its 99 % interval (normal, by the
/// spread of the squares) from ten values on.
fn interval(squares: Vec<f64>) -> String {
    let Some(center) = mean(squares.iter().copied()) else { return "-".to_owned() };
    let count = squares.len() as f64;
    if squares.len() < 10 {
        return shown(Some(center.sqrt()), 4);
    }
    let variance =
        squares.iter().map(|square| (square - center) * (square - center)).sum::<f64>() / (count - 1.0);
    // d sqrt(x) = dx / (2 sqrt(x)); 2.576 is the 99.5 % point of the normal distribution.
    let half = 2.576 * (variance / count).sqrt() / (2.0 * center.sqrt());
    format!("{:.4} ±{half:.4}", center.sqrt())
}
