//! The families: which contenders answer the same question.

mod jump;
mod maglev;
mod other;
mod rendezvous;
mod ring;
mod weighted;

use crate::contender::Entry;
use crate::nodes::weight;
use crate::ours::MultiplyHigh;

/// Contenders that are compared with each other: at most one of ours, and peers of the same sizes.
pub struct Family {
    pub name: &'static str,
    /// What its members have in common.
    pub what: &'static str,
    /// Whether nodes have the weights of [`weight`].
    pub weighted: bool,
    entries: &'static [Entry],
}

/// Every family, in the order of the report.
pub static FAMILIES: [&Family; 7] = [
    &ring::FAMILY,
    &jump::FAMILY,
    &rendezvous::FAMILY,
    &weighted::FAMILY,
    &maglev::FAMILY,
    &maglev::LARGE,
    &other::FAMILY,
];

/// Every list ends with it.
static FLOOR: Entry =
    Entry::floor::<MultiplyHigh>("floor", "multiply-high").note("no placement: half of the keys move");

impl Family {
    /// The members, ours first, the floor last.
    pub fn entries(&self) -> impl Iterator<Item = &'static Entry> {
        self.entries.iter().chain([&FLOOR])
    }

    /// The fraction of the keys that node `node` of `nodes` ought to have.
    pub fn fair_share(&self, node: u32, nodes: u32) -> f64 {
        if self.weighted {
            let total: u64 = (0..nodes).map(|node| u64::from(weight(node))).sum();
            f64::from(weight(node)) / total as f64
        } else {
            1.0 / f64::from(nodes)
        }
    }
}
