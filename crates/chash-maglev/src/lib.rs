#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod arithmetic;
mod populate;
mod preference;
mod turns;

use chash_core::mix::reduce;
use chash_core::{
    Build, BuildError, Capabilities, Change, Disruption, Distributor, Footprint, MembershipError, Node,
    NodeId, Order, Removal, Replicated, Roster, Work,
};
use chash_hash::{HashFunction, name_hash};

use arithmetic::{Divisor, is_prime};
pub use populate::{Permutation, populate};

/// The greatest table size: 2^31 − 1, a prime. Two slot numbers add up in 32 bits below it.
pub const MAX_TABLE_SIZE: u32 = (1 << 31) - 1;

/// Parameters of [`Maglev`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Slots in the table: a prime up to [`MAX_TABLE_SIZE`], and at least the number of nodes with a
    /// weight above 0. Default 65537, the smaller size of the paper, which advises more than 100 slots a node.
    pub table_size: u32,
    /// Seed of the name hashes, any value. Default 0.
    pub seed: u64,
    /// Bits kept of each name hash, from 1 to 64. Default 64; fewer make nodes meet in offset and skip, which
    /// tests want and nobody else.
    pub hash_bits: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { table_size: 65_537, seed: 0, hash_bits: 64 }
    }
}

impl Params {
    fn check(&self) -> Result<(), BuildError> {
        if self.table_size > MAX_TABLE_SIZE || !is_prime(self.table_size) {
            return Err(BuildError::Parameter {
                name: "table_size",
                requirement: "a prime from 2 to 2147483647",
            });
        }
        if !(1..=64).contains(&self.hash_bits) {
            return Err(BuildError::Parameter { name: "hash_bits", requirement: "from 1 to 64" });
        }
        Ok(())
    }

    /// The permutations of these nodes: of each a function of its name, the seed and the table size.
    fn permutations<'a>(&self, nodes: impl Iterator<Item = &'a Node>) -> Vec<Permutation> {
        let (size, skips) = (Divisor::new(self.table_size), Divisor::new(self.table_size - 1));
        let hash = |node: &Node, index| {
            name_hash(HashFunction::Xxh3, self.seed, index, &node.name) & (u64::MAX >> (64 - self.hash_bits))
        };
        nodes
            .map(|node| Permutation {
                offset: size.remainder(hash(node, 0)),
                skip: skips.remainder(hash(node, 1)) + 1,
                weight: node.weight,
            })
            .collect()
    }
}

/// Maglev hashing as a placement: a table of slots, shared out among the nodes in turns.
#[derive(Clone, Debug)]
pub struct Maglev {
    params: Params,
    /// At most `table_size` of its nodes have a weight above 0.
    roster: Roster,
    table: Table,
}

/// What lookups read, and what each node has of it; a function of the parameters and the roster.
#[derive(Clone, Debug)]
struct Table {
    slots: Slots,
    /// The nodes with a weight above 0 and their numbers of slots, in the order of ids.
    owned: Box<[(NodeId, u32)]>,
    /// How many of them have a slot: all, unless the table is full before the lightest have a turn.
    owners: usize,
}

/// The owner of every slot, in the narrowest type that holds the ids: half the memory of a large table
/// stays in a closer cache, and one read gives the answer.
#[derive(Clone, Debug)]
enum Slots {
    Narrow(Box<[u16]>),
    Wide(Box<[NodeId]>),
}

impl Slots {
    #[inline]
    fn owner(&self, slot: u32) -> NodeId {
        match self {
            Self::Narrow(slots) => NodeId(u32::from(slots[slot as usize])),
            Self::Wide(slots) => slots[slot as usize],
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Narrow(slots) => size_of_val(&**slots),
            Self::Wide(slots) => size_of_val(&**slots),
        }
    }
}

/// Whether a slot of 16 bits can hold the ids of all nodes that can be chosen.
fn is_narrow<'a>(mut nodes: impl Iterator<Item = &'a Node>) -> bool {
    nodes.all(|node| node.weight == 0 || node.id.0 <= u32::from(u16::MAX))
}

impl Table {
    fn new(params: &Params, roster: &Roster) -> Self {
        let size = params.table_size as usize;
        let players = || roster.by_name().filter(|node| node.weight > 0);
        let permutations = params.permutations(players());
        let ids: Vec<NodeId> = players().map(|node| node.id).collect();
        let turns = turns::schedule(&permutations, params.table_size);
        let slots = if is_narrow(players()) {
            let narrow: Vec<u16> = ids.iter().map(|id| id.0 as u16).collect();
            let mut slots = vec![0; size].into_boxed_slice();
            populate::fill(params.table_size, &permutations, &turns, |slot, player| {
                slots[slot] = narrow[player];
            });
            Slots::Narrow(slots)
        } else {
            let mut slots = vec![NodeId(0); size].into_boxed_slice();
            populate::fill(params.table_size, &permutations, &turns, |slot, player| {
                slots[slot] = ids[player];
            });
            Slots::Wide(slots)
        };
        let counts = turns::count(&turns, ids.len(), params.table_size);
        let mut owned: Box<[(NodeId, u32)]> = ids.into_iter().zip(counts).collect();
        owned.sort_unstable();
        let owners = owned.iter().filter(|(_, slots)| *slots > 0).count();
        Self { slots, owned, owners }
    }

    /// The place of the node in `owned`.
    fn find(&self, id: NodeId) -> Option<usize> {
        self.owned.binary_search_by_key(&id, |(id, _)| *id).ok()
    }
}

impl Maglev {
    /// The slot of a key: the key as a fraction of 2^64, times the table size. No division.
    #[inline]
    fn slot(&self, key: u64) -> u32 {
        reduce(key, u64::from(self.params.table_size)) as u32
    }

    fn rebuild(&mut self) {
        self.table = Table::new(&self.params, &self.roster);
    }
}

/// Refuses more nodes with a weight above 0 than there are slots.
fn room_for(params: &Params, roster: &Roster) -> Result<(), MembershipError> {
    let players = roster.by_name().filter(|node| node.weight > 0).count();
    if players <= params.table_size as usize {
        Ok(())
    } else {
        Err(MembershipError::CapacityExceeded { max: params.table_size })
    }
}

impl Build for Maglev {
    type Params = Params;

    fn build(params: &Params, nodes: &[Node]) -> Result<Self, BuildError> {
        params.check()?;
        let roster = Roster::new(nodes)?;
        room_for(params, &roster)?;
        Ok(Self { table: Table::new(params, &roster), params: params.clone(), roster })
    }

    fn estimate_bytes(params: &Params, nodes: &[Node]) -> u64 {
        let slot = if is_narrow(nodes.iter()) { size_of::<u16>() } else { size_of::<NodeId>() };
        let players = nodes.iter().filter(|node| node.weight > 0).count();
        u64::from(params.table_size) * slot as u64
            + (players * size_of::<(NodeId, u32)>()) as u64
            + Roster::estimate_bytes(nodes)
    }
}

impl Distributor for Maglev {
    #[inline]
    fn lookup(&self, key: u64) -> NodeId {
        self.table.slots.owner(self.slot(key))
    }

    fn lookup_work(&self, _key: u64) -> Work {
        Work { hash_evals: 0, probes: 1, table_reads: 1 }
    }

    fn node_count(&self) -> usize {
        self.roster.node_count()
    }

    fn node_ids(&self) -> Vec<NodeId> {
        self.roster.ids()
    }

    fn add(&mut self, node: &Node) -> Result<(), MembershipError> {
        self.roster.insert(node)?;
        if let Err(refused) = room_for(&self.params, &self.roster) {
            self.roster.remove(node.id).expect("the node was just added to others");
            return Err(refused);
        }
        self.rebuild();
        Ok(())
    }

    fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        self.roster.remove(id)?;
        self.rebuild();
        Ok(())
    }

    fn set_weight(&mut self, id: NodeId, weight: u32) -> Result<(), MembershipError> {
        let before = self.roster.set_weight(id, weight)?;
        if let Err(refused) = room_for(&self.params, &self.roster) {
            self.roster.set_weight(id, before).expect("the weight was accepted before");
            return Err(refused);
        }
        self.rebuild();
        Ok(())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        let mut roster = self.roster.clone();
        for change in changes {
            roster.apply(change)?;
            room_for(&self.params, &roster)?;
        }
        self.roster = roster;
        self.rebuild();
        Ok(())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::new(Removal::Any, Disruption::Approximate, Order::SetOnly)
            .with_weights()
            .with_max_nodes(self.params.table_size)
    }

    fn footprint(&self) -> Footprint {
        let roster = self.roster.footprint();
        Footprint {
            lookup_bytes: self.table.slots.bytes() as u64,
            membership_bytes: roster.membership_bytes + size_of_val(&*self.table.owned) as u64,
        }
    }

    /// The node's slots over the table size.
    fn key_share(&self, id: NodeId) -> Option<f64> {
        self.roster.get(id)?;
        let slots = self.table.find(id).map_or(0, |place| self.table.owned[place].1);
        Some(f64::from(slots) / f64::from(self.params.table_size))
    }

    fn clone_box(&self) -> Box<dyn Distributor> {
        Box::new(self.clone())
    }

    fn as_replicated(&self) -> Option<&dyn Replicated> {
        Some(self)
    }
}
