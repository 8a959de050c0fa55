//! Replicas: the owners along the key's own permutation of the slots.

use core::ops::ControlFlow;

use chash_core::mix::{mix64, reduce};
use chash_core::{NodeId, Probes, Replicated};

use crate::Maglev;
use crate::arithmetic::add;

/// Nodes met before a set of bits takes over from comparing with each.
const FEW: usize = 16;

impl Maglev {
    /// Shows `visit` every node with a weight above 0 once, in the key's order of preference, until it breaks.
    fn prefer<B>(&self, key: u64, mut visit: impl FnMut(NodeId) -> ControlFlow<B>) -> Option<B> {
        let size = self.params.table_size;
        // The table size is prime, so that any step visits every slot.
        let step = reduce(mix64(key), u64::from(size) - 1) as u32 + 1;
        let mut slot = self.slot(key);
        let mut met = Met { count: 0, few: [NodeId::default(); FEW], many: Vec::new() };
        while met.count < self.table.owners {
            let owner = self.table.slots.owner(slot);
            slot = add(slot, step, size);
            if self.insert(&mut met, owner)
                && let ControlFlow::Break(broken) = visit(owner)
            {
                return Some(broken);
            }
        }
        // So light that the table was full before their first turn.
        let slotless = |id: NodeId| self.table.find(id).is_some_and(|place| self.table.owned[place].1 == 0);
        let rest = self.roster.by_name().map(|node| node.id).filter(|id| slotless(*id));
        for id in rest.take(self.table.owned.len() - self.table.owners) {
            if let ControlFlow::Break(broken) = visit(id) {
                return Some(broken);
            }
        }
        None
    }

    /// Whether `owner` had not been met before.
    fn insert(&self, met: &mut Met, owner: NodeId) -> bool {
        if met.count < FEW {
            if met.few[..met.count].contains(&owner) {
                return false;
            }
            met.few[met.count] = owner;
        } else {
            let place = |id| self.table.find(id).expect("every owner of a slot is in the list");
            if met.many.is_empty() {
                met.many = vec![0; self.table.owned.len().div_ceil(64)];
                for id in met.few {
                    met.many[place(id) / 64] |= 1 << (place(id) % 64);
                }
            }
            let (word, bit) = (&mut met.many[place(owner) / 64], 1 << (place(owner) % 64));
            if *word & bit != 0 {
                return false;
            }
            *word |= bit;
        }
        met.count += 1;
        true
    }
}

/// The nodes met so far: the first few one by one, without allocating; all of them as bits after that.
struct Met {
    count: usize,
    few: [NodeId; FEW],
    /// By place in `owned`; empty until there are more than a few.
    many: Vec<u64>,
}

impl Replicated for Maglev {
    fn replicas(&self, key: u64, out: &mut [NodeId]) -> usize {
        let mut found = 0;
        if !out.is_empty() {
            self.prefer(key, |id| {
                out[found] = id;
                found += 1;
                if found < out.len() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
        }
        found
    }

    /// Walks the key's slots once, however many nodes refuse.
    fn first_accepting(&self, key: u64, accept: &mut dyn FnMut(NodeId) -> bool) -> Option<(NodeId, Probes)> {
        let mut asked = 0;
        self.prefer(key, |id| {
            asked += 1;
            if accept(id) { ControlFlow::Break((id, Probes(asked))) } else { ControlFlow::Continue(()) }
        })
    }
}
