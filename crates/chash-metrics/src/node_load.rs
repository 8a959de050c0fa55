//! `node_load.csv`: the load of every node.
//!
//! # Protocol
//!
//! As in [`balance`](crate::balance): every key is placed once, requests are counted where their key is.
//! One row for each node and kind of load, in the order of the node list, nodes of weight 0 included.

use crate::case::{Case, Metric, MetricError, Observation};
use crate::place;
use crate::record::{Class, Column, Value};
use crate::spread::expected_load;

/// One row for each node and kind of load.
pub static METRIC: Metric = Metric { name: "node_load", class: Class::Deterministic, columns: COLUMNS, run };

const COLUMNS: &[Column] = &[
    Column::text("node", "The node's name."),
    Column::integer("weight", "", "The node's weight w_i."),
    Column::text(
        "load_kind",
        "What is counted: keys (every distinct key once) or requests (every key as often as it is asked for).",
    ),
    Column::integer("load", "", "What the node holds."),
    Column::real(
        "expected_load",
        "",
        "Its fair part T*w_i/W of the total load T, where W is the sum of all weights.",
    ),
    Column::real("rel_error", "", "load/expected_load - 1; empty where nothing is expected."),
];

fn run(case: &Case<'_>) -> Result<Vec<Observation>, MetricError> {
    let loads = place::count_loads(case, case.build_placement()?)?;
    let total_weight = case.nodes.iter().map(|node| u64::from(node.weight)).sum();
    let mut rows = Vec::with_capacity(2 * case.nodes.len());
    for (kind, loads) in [("keys", Some(&loads.keys)), ("requests", loads.requests.as_ref())] {
        let Some(loads) = loads else {
            let tried = vec![Value::Missing, Value::Missing, kind.into()];
            rows.push(Observation::unsupported(tried, COLUMNS, place::REQUESTS_UNKNOWN));
            continue;
        };
        let total = loads.iter().sum();
        rows.extend(case.nodes.iter().zip(loads).map(|(node, load)| {
            let expected = expected_load(total, node.weight, total_weight);
            Observation::ok(vec![
                (&*node.name).into(),
                u64::from(node.weight).into(),
                kind.into(),
                (*load).into(),
                expected.into(),
                (expected > 0.0).then(|| (*load as f64 - expected) / expected).into(),
            ])
        }));
    }
    Ok(rows)
}
