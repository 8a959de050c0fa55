//! What each node holds, found by its id in one or two memory reads.

use chash_core::mix::GOLDEN;
use chash_core::{Change, Node, NodeId};

use crate::factor::Capacities;

/// The load of an empty slot: more keys than can ever be counted one by one.
const VACANT: u64 = u64::MAX;

/// One node, 16 bytes, so that a probe reads one cache line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) id: NodeId,
    pub(crate) weight: u32,
    /// Keys held, or `VACANT`.
    pub(crate) load: u64,
}

/// Loads and weights by node id, with their sums.
///
/// Ids are dense as a rule but need not be, so this is a table with open addressing: a slot's home
/// is its id times the golden ratio, which spreads consecutive ids without collisions to speak of.
#[derive(Clone, Debug)]
pub(crate) struct Loads {
    /// A power of two of slots, at most three quarters taken. No vacant slot lies between a node's
    /// home and its place.
    slots: Vec<Slot>,
    /// 64 minus the logarithm of the number of slots.
    shift: u32,
    nodes: usize,
    total_weight: u64,
    /// The sum of the loads.
    total_load: u64,
}

impl Loads {
    /// A table of these nodes, which have distinct ids, all loads 0. O(N).
    pub(crate) fn new(nodes: &[Node]) -> Self {
        let mut loads = Self { slots: Vec::new(), shift: 0, nodes: 0, total_weight: 0, total_load: 0 };
        loads.make_slots(slots_for(nodes.len()));
        for node in nodes {
            loads.insert(node.id, node.weight);
        }
        loads
    }

    pub(crate) fn total_weight(&self) -> u64 {
        self.total_weight
    }

    pub(crate) fn total_load(&self) -> u64 {
        self.total_load
    }

    /// The position of this node, valid until a node is inserted or removed. Expected O(1).
    #[inline(always)]
    pub(crate) fn find(&self, id: NodeId) -> Option<usize> {
        let mut at = self.home(id);
        loop {
            let slot = &self.slots[at];
            if slot.load == VACANT {
                return None;
            }
            if slot.id == id {
                return Some(at);
            }
            at = self.after(at);
        }
    }

    /// The node at a position that [`find`](Self::find) gave.
    pub(crate) fn at(&self, position: usize) -> Slot {
        self.slots[position]
    }

    /// The position of this node if it has room for one more.
    ///
    /// The node must be present.
    #[inline(always)]
    pub(crate) fn find_room(&self, id: NodeId, capacities: &Capacities) -> Option<usize> {
        let position = self.find(id).expect("the inner placement answers with nodes it was given");
        let Slot { load, weight, .. } = self.slots[position];
        capacities.admit(load, weight).then_some(position)
    }

    /// Counts one more key at a position.
    #[inline]
    pub(crate) fn increment(&mut self, position: usize) {
        self.slots[position].load += 1;
        self.total_load += 1;
    }

    /// Takes one key back at a position, where there must be one.
    pub(crate) fn decrement(&mut self, position: usize) {
        self.slots[position].load -= 1;
        self.total_load -= 1;
    }

    /// Forgets every load. O(N).
    pub(crate) fn clear(&mut self) {
        for slot in self.slots.iter_mut().filter(|slot| slot.load != VACANT) {
            slot.load = 0;
        }
        self.total_load = 0;
    }

    /// Adds a node, which must not be present, with load 0. Amortised O(1).
    pub(crate) fn insert(&mut self, id: NodeId, weight: u32) {
        let wanted = slots_for(self.nodes + 1);
        if wanted > self.slots.len() {
            for slot in self.make_slots(wanted).into_iter().filter(|slot| slot.load != VACANT) {
                self.put(slot);
            }
        }
        self.put(Slot { id, weight, load: 0 });
        self.nodes += 1;
        self.total_weight += u64::from(weight);
    }

    /// Removes a node, which must be present, with whatever it holds. Expected O(1).
    pub(crate) fn remove(&mut self, id: NodeId) {
        let mut gap = self.find(id).expect("only a node that is present is removed");
        let Slot { weight, load, .. } = self.slots[gap];
        self.nodes -= 1;
        self.total_weight -= u64::from(weight);
        self.total_load -= load;
        // What was pushed past the gap moves back into it, so that no tombstone is needed.
        let mut at = self.after(gap);
        while self.slots[at].load != VACANT {
            let mask = self.slots.len() - 1;
            let displacement = at.wrapping_sub(self.home(self.slots[at].id)) & mask;
            if displacement >= at.wrapping_sub(gap) & mask {
                self.slots[gap] = self.slots[at];
                gap = at;
            }
            at = self.after(at);
        }
        self.slots[gap].load = VACANT;
    }

    /// Changes the weight of a node, which must be present; its load stays. Expected O(1).
    pub(crate) fn set_weight(&mut self, id: NodeId, weight: u32) {
        let position = self.find(id).expect("only a node that is present is reweighted");
        let old = core::mem::replace(&mut self.slots[position].weight, weight);
        self.total_weight = self.total_weight - u64::from(old) + u64::from(weight);
    }

    /// Follows a change that is known to be possible.
    pub(crate) fn apply(&mut self, change: &Change) {
        match change {
            Change::Add(node) => self.insert(node.id, node.weight),
            Change::Remove(id) => self.remove(*id),
            Change::SetWeight(id, weight) => self.set_weight(*id, *weight),
        }
    }

    /// The nodes, in the order of their positions.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| slot.load != VACANT)
    }

    /// One more than the largest position that there can be before the next insertion.
    pub(crate) fn positions(&self) -> usize {
        self.slots.len()
    }

    /// The sum of the capacities, at most `u64::MAX`. O(N).
    pub(crate) fn places(&self, capacities: &Capacities) -> u64 {
        self.iter().fold(0, |sum, slot| capacities.of(slot.weight).saturating_add(sum))
    }

    /// Heap bytes held.
    pub(crate) fn bytes(&self) -> u64 {
        (self.slots.capacity() * size_of::<Slot>()) as u64
    }

    /// Heap bytes of a fresh table of this many nodes.
    pub(crate) fn estimate_bytes(nodes: usize) -> u64 {
        (slots_for(nodes) * size_of::<Slot>()) as u64
    }

    /// Starts over with this many vacant slots, a power of two, and returns the old ones.
    fn make_slots(&mut self, count: usize) -> Vec<Slot> {
        self.shift = u64::BITS - count.trailing_zeros();
        core::mem::replace(&mut self.slots, vec![Slot { id: NodeId(0), weight: 0, load: VACANT }; count])
    }

    fn put(&mut self, slot: Slot) {
        let mut at = self.home(slot.id);
        while self.slots[at].load != VACANT {
            at = self.after(at);
        }
        self.slots[at] = slot;
    }

    #[inline]
    fn home(&self, id: NodeId) -> usize {
        // The top bits of the product, as many as the table has: below its length.
        (u64::from(id.0).wrapping_mul(GOLDEN) >> self.shift) as usize
    }

    #[inline]
    fn after(&self, position: usize) -> usize {
        (position + 1) & (self.slots.len() - 1)
    }
}

fn slots_for(nodes: usize) -> usize {
    (nodes + nodes / 3 + 1).next_power_of_two().max(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Ids that crowd: dense, all with equal low bits, and the ends of the range.
    fn ids() -> impl Strategy<Value = u32> {
        prop_oneof![0u32..12, (0u32..12).prop_map(|i| i << 28), (0u32..12).prop_map(|i| u32::MAX - i)]
    }

    proptest! {
        #[test]
        fn equals_a_map(script in prop::collection::vec((0..5u8, ids(), 0u32..4), 0..400)) {
            let mut loads = Loads::new(&[]);
            let mut model: BTreeMap<u32, (u32, u64)> = BTreeMap::new();
            for (op, raw, weight) in script {
                let (id, present) = (NodeId(raw), model.contains_key(&raw));
                match op {
                    0 if !present => {
                        loads.insert(id, weight);
                        model.insert(raw, (weight, 0));
                    }
                    1 if present => {
                        loads.remove(id);
                        model.remove(&raw);
                    }
                    2 if present => {
                        loads.increment(loads.find(id).unwrap());
                        model.get_mut(&raw).unwrap().1 += 1;
                    }
                    3 if present => {
                        loads.set_weight(id, weight);
                        model.get_mut(&raw).unwrap().0 = weight;
                    }
                    4 if present && model[&raw].1 > 0 => {
                        loads.decrement(loads.find(id).unwrap());
                        model.get_mut(&raw).unwrap().1 -= 1;
                    }
                    _ => prop_assert_eq!(loads.find(id).is_some(), present),
                }
                for (raw, (weight, load)) in &model {
                    let slot = loads.at(loads.find(NodeId(*raw)).expect("present"));
                    prop_assert_eq!((slot.id, slot.weight, slot.load), (NodeId(*raw), *weight, *load));
                }
                prop_assert_eq!(loads.total_weight(), model.values().map(|(weight, _)| u64::from(*weight)).sum::<u64>());
                prop_assert_eq!(loads.total_load(), model.values().map(|(_, load)| load).sum::<u64>());
            }
            loads.clear();
            prop_assert!(model.keys().all(|raw| loads.at(loads.find(NodeId(*raw)).unwrap()).load == 0));
        }
    }
}
