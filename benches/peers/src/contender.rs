//! What is compared, and the loops that time it.
//!
//! Everything that runs once for each key is generic over the contender, so that the compiler sees the
//! lookup itself; the one virtual call is around a whole loop.

use std::hint::black_box;

use chash_core::NodeId;
use chash_metrics::alloc::{self, Usage};
use chash_metrics::timing::monotonic_ns;

/// Keys of one batch call.
const BATCH: usize = 2048;

/// A placement of the nodes 0, 1, 2, … by one crate, with one choice of hash function and parameters.
pub trait Contender: Sized + 'static {
    /// Whether a change of membership is a build: true where the provided `add` and `remove` are used.
    const REBUILDS: bool = false;

    /// Whether `lookup_batch` does more than call `lookup`.
    const BATCHES: bool = false;

    /// A placement of the nodes 0 to `nodes` − 1.
    fn build(nodes: u32) -> Self;

    /// The number of the node that owns `key`, a uniform 64-bit value.
    fn lookup(&self, key: u64) -> u32;

    /// The owners of many keys, into a slice as long as theirs.
    fn lookup_batch(&self, keys: &[u64], out: &mut [NodeId]) {
        for (key, id) in keys.iter().zip(out) {
            *id = NodeId(self.lookup(*key));
        }
    }

    /// Adds `node` to a placement of the nodes 0 to `node` − 1.
    fn add(&mut self, node: u32) {
        *self = Self::build(node + 1);
    }

    /// Takes `node`, the last one, from a placement of the nodes 0 to `node`.
    fn remove(&mut self, node: u32) {
        *self = Self::build(node);
    }
}

/// A contender behind one virtual call for each loop. Durations are nanoseconds.
pub trait Timed {
    /// Looks up each key on its own; no lookup waits for another.
    fn single(&self, keys: &[u64]) -> u64;

    /// Looks up blocks of keys; `None` where the contender has no batch of its own.
    fn batch(&self, keys: &[u64]) -> Option<u64>;

    /// Looks up each key after the answer before it.
    fn dependent(&self, keys: &[u64]) -> u64;

    /// The owners of `keys`, looked up one by one.
    fn owners(&self, keys: &[u64]) -> Vec<u32>;

    /// The owners of `keys`, looked up in blocks.
    fn batch_owners(&self, keys: &[u64]) -> Vec<u32>;

    /// Adds a node; see [`Contender::add`].
    fn add(&mut self, node: u32) -> u64;

    /// Removes the last node; see [`Contender::remove`].
    fn remove(&mut self, node: u32) -> u64;
}

impl<C: Contender> Timed for C {
    fn single(&self, keys: &[u64]) -> u64 {
        let begin = monotonic_ns();
        let mut sum = 0u32;
        for key in keys {
            sum = sum.wrapping_add(self.lookup(*key));
        }
        black_box(sum);
        monotonic_ns() - begin
    }

    fn batch(&self, keys: &[u64]) -> Option<u64> {
        let mut out = [NodeId::default(); BATCH];
        C::BATCHES.then(|| {
            let begin = monotonic_ns();
            for block in keys.chunks(BATCH) {
                let out = &mut out[..block.len()];
                self.lookup_batch(block, out);
                black_box(out);
            }
            monotonic_ns() - begin
        })
    }

    fn dependent(&self, keys: &[u64]) -> u64 {
        // Always 0, which the compiler does not know: the keys stay the same, and each waits for the
        // answer before.
        let nothing = black_box(0u64);
        let begin = monotonic_ns();
        let mut previous = 0;
        for key in keys {
            previous = self.lookup(key ^ (u64::from(previous) & nothing));
        }
        black_box(previous);
        monotonic_ns() - begin
    }

    fn owners(&self, keys: &[u64]) -> Vec<u32> {
        keys.iter().map(|key| self.lookup(*key)).collect()
    }

    fn batch_owners(&self, keys: &[u64]) -> Vec<u32> {
        let mut out = vec![NodeId::default(); keys.len()];
        for (keys, out) in keys.chunks(BATCH).zip(out.chunks_mut(BATCH)) {
            self.lookup_batch(keys, out);
        }
        out.into_iter().map(|id| id.0).collect()
    }

    fn add(&mut self, node: u32) -> u64 {
        let begin = monotonic_ns();
        Contender::add(self, node);
        monotonic_ns() - begin
    }

    fn remove(&mut self, node: u32) -> u64 {
        let begin = monotonic_ns();
        Contender::remove(self, node);
        monotonic_ns() - begin
    }
}

/// A finished build: what it made, how long it took, and what it asked of the heap.
pub struct Built {
    pub contender: Box<dyn Timed>,
    pub elapsed_ns: u64,
    pub usage: Usage,
}

fn build<C: Contender>(nodes: u32) -> Built {
    let ((contender, elapsed_ns), usage) = alloc::measure(|| {
        let begin = monotonic_ns();
        let contender = C::build(black_box(nodes));
        (contender, monotonic_ns() - begin)
    });
    Built { contender: Box::new(contender), elapsed_ns, usage }
}

/// Which side a contender is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A crate of this workspace.
    Ours,
    /// A crate that does what it says.
    Peer,
    /// A crate that does not: it is timed and shown, and is nobody's best peer.
    Wrong,
    /// What no placement can beat.
    Floor,
}

/// A contender in the list of its family.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name of its package.
    pub package: &'static str,
    /// Parameters and hash function; `*` behind what is the package's own default.
    pub setup: &'static str,
    pub side: Side,
    /// What is wrong, or what to know when reading its numbers; may be empty.
    pub note: &'static str,
    /// Larger sets of nodes are skipped: it would take minutes or gigabytes, or is refused.
    pub max_nodes: u32,
    /// Whether a change of membership is a build.
    pub rebuilds: bool,
    /// Whether every key has the owner that ours gives it.
    pub answers_as_ours: bool,
    pub build: fn(u32) -> Built,
}

impl Entry {
    const fn new<C: Contender>(side: Side, package: &'static str, setup: &'static str) -> Self {
        let (rebuilds, build) = (C::REBUILDS, build::<C> as fn(u32) -> Built);
        Self { package, setup, side, note: "", max_nodes: u32::MAX, rebuilds, answers_as_ours: false, build }
    }

    pub const fn ours<C: Contender>(package: &'static str, setup: &'static str) -> Self {
        Self::new::<C>(Side::Ours, package, setup)
    }

    pub const fn peer<C: Contender>(package: &'static str, setup: &'static str) -> Self {
        Self::new::<C>(Side::Peer, package, setup)
    }

    pub const fn floor<C: Contender>(package: &'static str, setup: &'static str) -> Self {
        Self::new::<C>(Side::Floor, package, setup)
    }

    pub const fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    pub const fn wrong(self, note: &'static str) -> Self {
        Self { note, side: Side::Wrong, ..self }
    }

    pub const fn answers_as_ours(self) -> Self {
        Self { answers_as_ours: true, ..self }
    }

    pub const fn up_to(self, max_nodes: u32) -> Self {
        Self { max_nodes, ..self }
    }

    /// Package and setup.
    pub fn name(&self) -> String {
        format!("{} {}", self.package, self.setup).trim_end().to_owned()
    }

    /// The version of the package, as the manifest pins it; empty for the standard library and the floor.
    pub fn version(&self) -> &'static str {
        include_str!("../Cargo.toml")
            .lines()
            .filter(|line| line.split(" = ").next() == Some(self.package))
            .find_map(|line| line.split("\"=").nth(1)?.split('"').next())
            .unwrap_or("")
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.name())
    }
}
