//! A table for each algorithm of who holds what before and after each step of a scenario, and one of
//! what each step costs.

use std::collections::BTreeMap;

use super::{Files, Record, number, shown};
use crate::exit::Failure;
use crate::plan::Plan;
use crate::registry;
use crate::table::Table;

/// Keys per server at every step, who took the keys of those that left, and what moved in all. First
/// repetition, first workload.
pub(super) fn tables(plan: &Plan, files: &Files<'_>) -> Result<Vec<Table>, Failure> {
    let first = |rows: Vec<Record>| -> Vec<Record> {
        let workload = rows.first().map_or(String::new(), |row| row["workload"].clone());
        rows.into_iter().filter(|row| row["rep"] == "0" && row["workload"] == workload).collect()
    };
    let (movement, flow) = (first(files.read("movement")?), first(files.read("flow")?));
    let mut tables = Vec::new();
    for spec in &plan.algorithms {
        let config = spec.to_string();
        let mine = |row: &&Record| row["config"] == config && row["scenario"] == plan.scenario_name;
        let flow: Vec<&Record> = flow.iter().filter(mine).collect();
        let movement: Vec<&Record> = movement.iter().filter(mine).collect();
        tables.push(holdings(plan, &registry::brief(spec), &flow));
        tables.push(costs(plan, &registry::brief(spec), &movement));
    }
    Ok(tables)
}

/// A row for each server: its keys before the first step and after every one, and what it gained at each.
fn holdings(plan: &Plan, algorithm: &str, flow: &[&Record]) -> Table {
    let steps = plan.steps.len();
    // By server: keys at each moment, and keys that came from others at each step.
    let mut servers: BTreeMap<&str, (Vec<u64>, Vec<u64>)> = BTreeMap::new();
    for row in flow {
        let step = number(row, "step").unwrap_or(1.0) as usize;
        let keys = number(row, "flow_keys").unwrap_or(0.0) as u64;
        let blank = || (vec![0; steps + 1], vec![0; steps]);
        if step == 1 {
            servers.entry(&row["from"]).or_insert_with(blank).0[0] += keys;
        }
        let to = servers.entry(&row["to"]).or_insert_with(blank);
        to.0[step] += keys;
        if row["from"] != row["to"] {
            to.1[step - 1] += keys;
        }
    }
    let mut headings = vec!["server".to_owned(), "keys before".to_owned()];
    for step in &plan.steps {
        headings.push(format!("after {step}"));
        headings.push("of them new".to_owned());
    }
    let mut table = Table::new(format!("{algorithm}: keys per server"), &[]);
    table.headings = headings;
    for (server, (held, gained)) in servers {
        let mut row = vec![server.to_owned(), held[0].to_string()];
        for step in 0..steps {
            row.push(held[step + 1].to_string());
            row.push(gained[step].to_string());
        }
        table.rows.push(row);
    }
    table
}

/// A row for each step: keys moved, the least that could, those moved needlessly, and cache misses.
fn costs(plan: &Plan, algorithm: &str, movement: &[&Record]) -> Table {
    let headings = [
        "step",
        "keys moved",
        "moved %",
        "least possible %",
        "needless keys",
        "cache misses %",
        "servers losing",
        "servers gaining",
    ];
    let mut table = Table::new(
        format!("{algorithm}: what each step costs (a request misses where its key has moved)"),
        &headings,
    );
    for (row, step) in movement.iter().zip(&plan.steps) {
        let percent = |column: &str| shown(number(row, column).map(|fraction| fraction * 100.0), 2);
        table.rows.push(vec![
            step.to_string(),
            row["moved_keys"].clone(),
            percent("moved_frac"),
            percent("moved_frac_min"),
            row["needless_keys"].clone(),
            percent("moved_requests_frac"),
            row["nodes_losing"].clone(),
            row["nodes_gaining"].clone(),
        ]);
    }
    table
}
