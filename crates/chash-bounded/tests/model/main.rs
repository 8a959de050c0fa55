//! Both types against models so simple that they are obviously right, and against given vectors.

mod bounded;
mod naive_ring;
mod store;
mod vectors;

use chash_bounded::Factor;
use chash_core::mix::{GOLDEN, mix64};
use chash_core::{Distributor, Node, NodeId};

/// ⌈c · total · weight / total_weight⌉ for c in hundredths.
fn ceiling(hundredths: u64, total: u64, weight: u32, total_weight: u64) -> u64 {
    let exact = u128::from(hundredths) * u128::from(total) * u128::from(weight);
    exact.div_ceil(100 * u128::from(total_weight)) as u64
}

fn factor(hundredths: u64) -> Factor {
    format!("{}.{:02}", hundredths / 100, hundredths % 100).parse().unwrap()
}

/// The whole preference order of a key.
fn order(inner: &dyn Distributor, key: u64) -> Vec<NodeId> {
    let mut out = vec![NodeId(0); inner.node_count()];
    let found = inner.as_replicated().unwrap().replicas(key, &mut out);
    out.truncate(found);
    out
}

/// One of sixteen nodes that scripts add and remove; ids are far apart.
fn candidate(pick: u64) -> Node {
    let pick = (pick % 16) as u32;
    Node::new(NodeId(pick * 0x0fff_fff1), format!("node-{pick}"))
}

/// Draws for long scripts.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix64(self.0)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}
