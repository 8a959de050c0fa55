//! Each node of a walk once.

use chash_core::{NodeId, Roster};

/// How many nodes are remembered without allocating: beyond the usual 3 to 5 replicas.
const FEW: usize = 16;

/// The nodes met so far on a walk round the circle.
///
/// The first few are searched one by one. A longer walk gets one flag for each node of the ring, so that
/// a step costs O(log N) however long it is.
#[derive(Debug)]
pub(crate) struct Seen<'a> {
    roster: &'a Roster,
    few: [NodeId; FEW],
    count: u32,
    /// Empty until there are more than `few` holds; then every id, ascending, and whether it was met.
    many: Vec<(NodeId, bool)>,
}

impl<'a> Seen<'a> {
    pub(crate) fn new(roster: &'a Roster) -> Self {
        Self { roster, few: [NodeId::default(); FEW], count: 0, many: Vec::new() }
    }

    /// How many distinct nodes were met.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Remembers a node, and tells whether it is new.
    pub(crate) fn insert(&mut self, id: NodeId) -> bool {
        if self.many.is_empty() {
            let met = self.count as usize;
            if self.few[..met].contains(&id) {
                return false;
            }
            if let Some(place) = self.few.get_mut(met) {
                *place = id;
                self.count += 1;
                return true;
            }
            self.many = self.roster.ids().into_iter().map(|id| (id, self.few.contains(&id))).collect();
        }
        let at = self.many.binary_search_by_key(&id, |(id, _)| *id).expect("points belong to present nodes");
        let new = !core::mem::replace(&mut self.many[at].1, true);
        self.count += u32::from(new);
        new
    }
}
