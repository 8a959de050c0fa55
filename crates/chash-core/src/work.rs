//! What a lookup costs, and what a placement occupies.

/// The work of one lookup by the portable definition of the algorithm.
///
/// Counted by definition, not by the fast path taken: a vectorised lookup reports the same numbers
/// as its scalar twin, so that the figures compare with the papers and repeat on every machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Evaluations of a hash or mixing function, the key's own hash not included.
    pub hash_evals: u32,
    /// Candidates examined before the answer: points compared, scores taken, jumps made.
    pub probes: u32,
    /// Reads of a table that grows with the placement.
    pub table_reads: u32,
}

/// Heap bytes a placement holds, as requested from the allocator (capacities, not lengths).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// What lookups read.
    pub lookup_bytes: u64,
    /// What only membership changes need: names, weights, indexes by name and id.
    pub membership_bytes: u64,
}

impl Footprint {
    /// Both together: what a counting allocator sees live.
    #[must_use]
    pub fn total_bytes(self) -> u64 {
        self.lookup_bytes + self.membership_bytes
    }
}

/// How many distinct nodes a placement examined for one key; 1 means that the first choice took it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Probes(pub u32);

impl Probes {
    /// Whether the key went past its first choice.
    #[must_use]
    pub fn spilled(self) -> bool {
        self.0 > 1
    }
}
