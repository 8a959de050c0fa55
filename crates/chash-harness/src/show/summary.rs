//! One row for each algorithm and number of nodes: balance, movement, memory, lookup time.

use super::{Files, Record, mean, median, number, shown};
use crate::exit::Failure;
use crate::plan::Plan;
use crate::registry;
use crate::table::Table;

const HEADINGS: &[&str] = &[
    "algorithm",
    "keys max/mean",
    "cv",
    "requests max/mean",
    "add moves %",
    "needless %",
    "remove moves %",
    "bytes/node",
    "lookup ns",
    "batch ns",
    "build us",
];

/// A table for each list of nodes. Means over repetitions (medians for times), under the last workload
/// for requests and the first for times.
pub(super) fn tables(plan: &Plan, [first, hot]: [&str; 2], files: &Files<'_>) -> Result<Vec<Table>, Failure> {
    let balance = files.read("balance")?;
    let movement = files.read("movement")?;
    let memory = files.read("memory")?;
    let latency = files.read("latency")?;
    let update = files.read("update")?;
    let mut tables = Vec::new();
    for list in &plan.nodes {
        let nodes = list.nodes.len().to_string();
        let title = format!(
            "{nodes} nodes, weights {}; requests {hot}; means over repetitions, medians of times",
            list.weights
        );
        let mut table = Table::new(title, HEADINGS);
        for spec in &plan.algorithms {
            let config = spec.to_string();
            let of = |rows: &'_ [Record]| -> Vec<Record> {
                let mine = |row: &&Record| {
                    row["config"] == config && row["nodes"] == nodes && row["weights"] == list.weights
                };
                rows.iter().filter(mine).cloned().collect()
            };
            let (balance, movement, memory, latency, update) =
                (of(&balance), of(&movement), of(&memory), of(&latency), of(&update));
            let pick = |rows: &[Record], filters: &[(&str, &str)], column: &str| -> Vec<f64> {
                let wanted = |row: &&Record| {
                    filters.iter().all(|(name, value)| row.get(*name).is_some_and(|field| field == value))
                };
                rows.iter().filter(wanted).filter_map(|row| number(row, column)).collect()
            };
            let average = |rows: &[Record], filters: &[(&str, &str)], column: &str| {
                mean(pick(rows, filters, column).into_iter())
            };
            let middle = |rows: &[Record], filters: &[(&str, &str)], column: &str| {
                median(pick(rows, filters, column).into_iter())
            };
            let percent = |value: Option<f64>| shown(value.map(|fraction| fraction * 100.0), 2);
            let single = [
                ("mode", "throughput"),
                ("api", "single"),
                ("cache_state", "hot"),
                ("threads", "1"),
                ("workload", first),
            ];
            let batch = [
                ("mode", "throughput"),
                ("api", "batch"),
                ("cache_state", "hot"),
                ("threads", "1"),
                ("workload", first),
            ];
            let row = vec![
                registry::brief(spec),
                shown(average(&balance, &[("load_kind", "keys")], "max_over_mean"), 3),
                shown(average(&balance, &[("load_kind", "keys")], "cv"), 4),
                shown(average(&balance, &[("load_kind", "requests"), ("workload", hot)], "max_over_mean"), 3),
                percent(average(&movement, &[("event", "add"), ("scenario", "single")], "moved_frac")),
                percent(average(&movement, &[("event", "add"), ("scenario", "single")], "needless_frac")),
                percent(average(
                    &movement,
                    &[("event", "remove_last"), ("scenario", "single")],
                    "moved_frac",
                )),
                shown(average(&memory, &[], "bytes_per_node"), 0),
                shown(middle(&latency, &single, "ns_per_lookup"), 1),
                shown(middle(&latency, &batch, "ns_per_lookup"), 1),
                shown(middle(&update, &[("op", "build")], "elapsed_ns").map(|ns| ns / 1e3), 0),
            ];
            if row[1..].iter().any(|field| field != "-") {
                table.rows.push(row);
            }
        }
        tables.push(table);
    }
    Ok(tables)
}
