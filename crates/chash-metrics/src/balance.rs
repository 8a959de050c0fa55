//! `balance.csv`: how evenly keys and requests lie on the nodes.
//!
//! # Protocol
//!
//! Every distinct key of the stream is placed once ([`place`] says how) and counted for its
//! node: `load_kind` `keys`. The requests for a key are counted at the same node: `load_kind` `requests`.
//! The definitions are those of [`spread`](crate::spread).
//!
//! # Known biases
//!
//! - A finite number of keys spreads even over perfect shares: `cv` is read beside `cv_theory`, and
//!   `max_over_mean` beside `max_over_mean_random`, which both contain that floor.
//! - `cv_theory` is an expectation over placements and keys (a root mean square); one case is one draw.
//! - The hottest key bounds the balance of requests from below, whatever the placement:
//!   `max_over_mean` cannot be below N times its part of the requests.
//! - `p_value` of a ring is 0 for enough keys, because its shares are uneven by design; whether its
//!   lookups follow its own shares is what `share_p_value` says.

use chash_core::Distributor;

use crate::case::{Case, Metric, MetricError, Observation, ShareTheory};
use crate::place::{self, Loads};
use crate::record::{Class, Column, Row, Value};
use crate::spread::{Relative, Spread};
use crate::stats;

/// One row for keys and one for requests.
pub static METRIC: Metric = Metric { name: "balance", class: Class::Deterministic, columns: COLUMNS, run };

const COLUMNS: &[Column] = &[
    Column::text(
        "load_kind",
        "What is counted: keys (every distinct key once) or requests (every key as often as it is asked for).",
    ),
    Column::real("mean_load", "", "T/N: mean load of the N nodes of positive weight; T is the total load."),
    Column::integer("min_load", "", "Smallest load of a node of positive weight."),
    Column::integer("max_load", "", "Largest load of a node of positive weight."),
    Column::real(
        "stddev_load",
        "",
        "Population standard deviation of the loads of the nodes of positive weight.",
    ),
    Column::real(
        "cv",
        "",
        "sqrt(mean (x_i - 1)^2) over nodes of positive weight, where x_i = load_i/(T*pi_i) and pi_i = w_i/W is the node's part of all weight.",
    ),
    Column::real(
        "cv_theory",
        "",
        "Expected cv (root mean square): sqrt(S2*A + (1-S2)*q^2) with S2 the sum of (count/T)^2 over keys, A = mean (1-pi_i)/pi_i, and q^2 the mean squared relative deviation of shares from pi_i by the algorithm's theory; empty where none is known.",
    ),
    Column::real("max_over_mean", "", "Largest x_i."),
    Column::real(
        "max_over_mean_random",
        "",
        "Expected largest x_i if every key went to node i with probability pi_i independently, keeping its count: exact for equal counts (independent binomials), else the mean of 64 seeded assignments; empty for different counts above 10^7 keys, and for requests that are not counted by key.",
    ),
    Column::real("min_over_mean", "", "Smallest x_i."),
    Column::real("p99_over_mean", "", "The ceil(0.99*N)-th smallest x_i."),
    Column::real(
        "gini",
        "",
        "Gini coefficient of the x_i: sum |x_i - x_j| / (2*N^2*mean x); 0 is even, 1 - 1/N all on one node.",
    ),
    Column::integer("empty_nodes", "", "Nodes of positive weight with load 0."),
    Column::real(
        "chi2",
        "",
        "Pearson's statistic of the loads against T*pi_i; keys only, because the requests for one key are not independent.",
    ),
    Column::integer("dof", "", "Degrees of freedom of chi2: nodes of positive weight less 1."),
    Column::real(
        "p_value",
        "",
        "Probability of a chi2 at least as large if every key went to node i with probability pi_i.",
    ),
    Column::real(
        "share_chi2",
        "",
        "Pearson's statistic of the loads against T times the placement's own exact shares of key space; keys only, empty where the placement cannot tell its shares.",
    ),
    Column::integer("share_dof", "", "Degrees of freedom of share_chi2: nodes with a share above 0 less 1."),
    Column::real(
        "share_p_value",
        "",
        "Probability of a share_chi2 at least as large if lookups follow those shares.",
    ),
    Column::real(
        "share_cv",
        "",
        "sqrt(mean (s_i/pi_i - 1)^2) of the placement's exact shares s_i of key space, over nodes of positive weight: its spread without the noise of finite keys; keys only, empty where the placement cannot tell its shares.",
    ),
    Column::real(
        "share_cv_theory",
        "",
        "Expected share_cv (root mean square over placements) by the algorithm's theory, the q of cv_theory; keys only, empty where none is known.",
    ),
];

fn run(case: &Case<'_>) -> Result<Vec<Observation>, MetricError> {
    let placement = case.build_placement()?;
    let shares = key_shares(case, &*placement);
    let loads = place::count_loads(case, placement)?;
    let q2 = share_deviation(case, shares.as_deref());
    Ok(rows(case, &loads, shares.as_deref(), q2))
}

/// The exact share of every node, in order; `None` unless all are known.
fn key_shares(case: &Case<'_>, placement: &dyn Distributor) -> Option<Vec<f64>> {
    case.nodes.iter().map(|node| placement.key_share(node.id)).collect()
}

fn rows(case: &Case<'_>, loads: &Loads, shares: Option<&[f64]>, q2: Option<f64>) -> Vec<Observation> {
    let keys = Spread::new(case.nodes, &loads.keys);
    let key_count = case.keys.key_count();
    let key_collision = (key_count > 0).then(|| 1.0 / key_count as f64);
    let against_weights = stats::chi_squared(keys.loads(), &keys.expected());
    let against_shares = shares.and_then(|shares| {
        let expected: Vec<f64> = shares.iter().map(|share| share * keys.total_load() as f64).collect();
        stats::chi_squared(&loads.keys, &expected)
    });
    let fits = [against_weights, against_shares];
    let theory = |collision: Option<f64>| Some(cv_theory(&keys.fair_shares(), collision?, q2?));
    let mut key_row = figures("keys", &keys, theory(key_collision), case.random.keys);
    for fit in fits {
        key_row.push(fit.map(|fit| fit.statistic).into());
        key_row.push(fit.map(|fit| fit.dof).into());
        key_row.push(special(fit.map(|fit| fit.p_value)));
    }
    key_row.push(shares.map(|shares| deviation_of_shares(case, shares).sqrt()).into());
    key_row.push(special(q2.map(f64::sqrt)));
    let requests = match &loads.requests {
        Some(requests) => {
            let theory = theory(case.keys.request_collision());
            let mut row =
                figures("requests", &Spread::new(case.nodes, requests), theory, case.random.requests);
            row.resize(COLUMNS.len(), Value::Missing);
            Observation::ok(row)
        }
        None => Observation::unsupported(vec!["requests".into()], COLUMNS, place::REQUESTS_UNKNOWN),
    };
    vec![Observation::ok(key_row), requests]
}

/// The columns up to `empty_nodes`.
fn figures(load_kind: &str, spread: &Spread, cv_theory: Option<f64>, random: Option<f64>) -> Row {
    let summary = spread.summary();
    let relative = |figure: fn(&Relative) -> f64| Value::from(summary.relative.as_ref().map(figure));
    vec![
        load_kind.into(),
        summary.mean_load.into(),
        summary.min_load.into(),
        summary.max_load.into(),
        summary.stddev_load.into(),
        relative(|x| x.cv),
        special(cv_theory),
        relative(|x| x.max_over_mean),
        special(random),
        relative(|x| x.min_over_mean),
        relative(|x| x.p99_over_mean),
        relative(|x| x.gini),
        summary.empty_nodes.into(),
    ]
}

fn special(number: Option<f64>) -> Value {
    number.map_or(Value::Missing, Value::Special)
}

/// q²: the expected mean squared relative deviation of shares of key space from fair shares.
fn share_deviation(case: &Case<'_>, shares: Option<&[f64]>) -> Option<f64> {
    match case.share_theory {
        ShareTheory::Even => Some(0.0),
        // A share of the circle is Beta(V·w, V·(W − w)).
        ShareTheory::Ring { vnodes } => Some(mean_over_chosen(case, |_, weight, total| {
            (total - weight) / (weight * (vnodes as f64 * total + 1.0))
        })),
        ShareTheory::FromShares => shares.map(|shares| deviation_of_shares(case, shares)),
        ShareTheory::Unknown => None,
    }
}

/// The mean squared relative deviation of these shares from fair ones.
fn deviation_of_shares(case: &Case<'_>, shares: &[f64]) -> f64 {
    mean_over_chosen(case, |index, weight, total| {
        let deviation = shares[index] * total / weight - 1.0;
        deviation * deviation
    })
}

/// The mean of a figure of position, weight and total weight over the nodes of positive weight, in node order.
fn mean_over_chosen(case: &Case<'_>, figure: impl Fn(usize, f64, f64) -> f64) -> f64 {
    let total: f64 = case.nodes.iter().map(|node| f64::from(node.weight)).sum();
    let chosen = || case.nodes.iter().enumerate().filter(|(_, node)| node.weight > 0);
    chosen().map(|(index, node)| figure(index, f64::from(node.weight), total)).sum::<f64>()
        / chosen().count() as f64
}

/// sqrt(S2·A + (1 − S2)·q²): finite keys, popularity and uneven shares together.
///
/// `collision` is S2, the sum of the squared frequencies of the keys.
fn cv_theory(fair_shares: &[f64], collision: f64, q2: f64) -> f64 {
    let a = fair_shares.iter().map(|share| (1.0 - share) / share).sum::<f64>() / fair_shares.len() as f64;
    (collision * a + (1.0 - collision) * q2).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ideal floor sqrt((N − 1)/K), and with a
    /// ring's q² = (N − 1)/(N·V + 1).
    #[test]
    fn cv_theory_of_equal_weights() {
        let fair = vec![0.01; 100];
        assert!((cv_theory(&fair, 1e-4, 0.0) - 0.099_499).abs() < 5e-7);
        let q2: f64 = 99.0 / (100.0 * 160.0 + 1.0);
        let expected = (99.0 / 1e4 + (1.0 - 1e-4) * q2).sqrt();
        assert!((cv_theory(&fair, 1e-4, q2) - expected).abs() < 1e-12);
        assert_eq!(cv_theory(&[1.0], 0.5, 0.0), 0.0);
    }

    /// Every row of the published table of ideally random keys, to its 6 decimals.
    #[test]
    fn cv_theory_equals_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/theory_ideal_balance.csv");
        for row in csv::Reader::from_path(path).unwrap().deserialize() {
            let (nodes, keys, cv, _max, _min): (usize, u64, f64, f64, f64) = row.unwrap();
            let found = cv_theory(&vec![1.0 / nodes as f64; nodes], 1.0 / keys as f64, 0.0);
            assert!((found - cv).abs() <= 5.000_001e-7, "{nodes} nodes, {keys} keys: {found} is not {cv}");
        }
    }

    /// Weights 1 and 3: A = mean(3, 1/3).
    #[test]
    fn cv_theory_of_weights() {
        assert!(
            (cv_theory(&[0.25, 0.75], 0.1, 0.0) - (0.1 * (3.0 + 1.0 / 3.0) / 2.0f64).sqrt()).abs() < 1e-15
        );
    }
}
