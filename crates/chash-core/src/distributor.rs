//! The trait that every placement implements, and the narrower ones for what only some can do.

use core::fmt::Debug;

use crate::{
    BuildError, Capabilities, Change, Footprint, KeyHasher, MembershipError, Node, NodeId, Probes, Work,
};

/// A placement: an algorithm with its nodes, answering which node a key belongs to.
///
/// Object-safe and for implementers; construction is [`Build`], conveniences are [`DistributorExt`],
/// and what only some placements can do is a subtrait behind an accessor that answers `None` by default.
///
/// # Implementing
///
/// - `key` is already a well-mixed 64-bit value: never hash it again for uniformity's sake.
/// - Equal parameters, nodes and (where [`Order`](crate::Order) says so) history give equal answers
///   on every platform and in every process. Identity is the node's name; ids, list positions,
///   pointers, clocks and the standard library's hasher must not influence an answer.
/// - [`lookup`](Self::lookup) never fails and does not allocate. There is always an answer, because a placement
///   without a node of positive weight cannot be built or reached.
/// - A method that returns an `Err` leaves the placement as it was.
/// - Whatever [`capabilities`](Self::capabilities) declares is tested by the laws of `chash-testkit`.
pub trait Distributor: Debug + Send + Sync {
    /// The node that owns `key`. Total and free of allocation; cost is the algorithm's.
    fn lookup(&self, key: u64) -> NodeId;

    /// Looks up many keys: `out[i]` becomes the owner of `keys[i]`, exactly as [`lookup`](Self::lookup) has it.
    ///
    /// Override it where several keys in flight are faster than one at a time. The provided body is
    /// compiled once for each type, so one virtual call serves the whole batch.
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    fn lookup_batch(&self, keys: &[u64], out: &mut [NodeId]) {
        assert_eq!(keys.len(), out.len(), "lookup_batch needs as many answers as keys");
        for (key, id) in keys.iter().zip(out) {
            *id = self.lookup(*key);
        }
    }

    /// The work of `lookup(key)` by the portable definition; see [`Work`].
    fn lookup_work(&self, key: u64) -> Work;

    /// How many nodes are present, those of weight 0 included. O(1).
    fn node_count(&self) -> usize;

    /// The ids of the nodes present, ascending. O(N log N) at most.
    fn node_ids(&self) -> Vec<NodeId>;

    /// Adds a node.
    ///
    /// # Errors
    ///
    /// `DuplicateNode`, `WeightUnsupported`, `CapacityExceeded`, `Unsupported`.
    fn add(&mut self, node: &Node) -> Result<(), MembershipError>;

    /// Removes the node with this id.
    ///
    /// # Errors
    ///
    /// `UnknownNode`, `LastNode`, `NotLastAdded`, `Unsupported`; the first that applies, in this order.
    fn remove(&mut self, id: NodeId) -> Result<(), MembershipError>;

    /// Changes a node's weight; the result equals a fresh build with that weight.
    ///
    /// # Errors
    ///
    /// `UnknownNode`; `WeightUnsupported` where there are no weights (the provided body, which has no
    /// way to tell whether the id is known); `LastNode` where no positive weight would remain;
    /// `CapacityExceeded`.
    fn set_weight(&mut self, id: NodeId, weight: u32) -> Result<(), MembershipError> {
        let _ = (id, weight);
        Err(MembershipError::WeightUnsupported)
    }

    /// Applies several changes in order, all or none.
    ///
    /// A type that is `Clone` implements it in one line with [`apply_all_or_nothing`]; a table
    /// builder does better by rebuilding once.
    ///
    /// # Errors
    ///
    /// The error of the first change that is refused; nothing is applied then.
    fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError>;

    /// What the placement can do.
    fn capabilities(&self) -> Capabilities;

    /// Heap bytes held, split by what needs them. Agrees with a counting allocator to the byte.
    fn footprint(&self) -> Footprint;

    /// The exact fraction of the key space that the node owns, where the placement can tell; `None`
    /// where it cannot, and for an id that is not present.
    fn key_share(&self, id: NodeId) -> Option<f64> {
        let _ = id;
        None
    }

    /// A copy behind a box: before and after side by side, a snapshot for readers.
    fn clone_box(&self) -> Box<dyn Distributor>;

    /// The k-replica view, where the algorithm defines one.
    fn as_replicated(&self) -> Option<&dyn Replicated> {
        None
    }

    /// The view by key bytes, where the system hashes keys itself.
    fn as_byte_keyed(&self) -> Option<&dyn ByteKeyed> {
        None
    }

    /// The view that counts loads, where answers depend on them.
    fn as_load_aware(&mut self) -> Option<&mut dyn LoadAware> {
        None
    }
}

impl Clone for Box<dyn Distributor> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

/// Applies `changes` to a copy and keeps the copy if every one was accepted: the body of
/// [`Distributor::apply`] for types that are cheap enough to clone.
///
/// # Errors
///
/// That of the first change refused; `placement` is untouched then.
pub fn apply_all_or_nothing<D: Distributor + Clone>(
    placement: &mut D,
    changes: &[Change],
) -> Result<(), MembershipError> {
    let mut copy = placement.clone();
    for change in changes {
        match change {
            Change::Add(node) => copy.add(node)?,
            Change::Remove(id) => copy.remove(*id)?,
            Change::SetWeight(id, weight) => copy.set_weight(*id, *weight)?,
        }
    }
    *placement = copy;
    Ok(())
}

/// A placement that gives each key an order of preference over the nodes.
pub trait Replicated: Distributor {
    /// Fills `out` with the first distinct nodes of the key's preference order and returns how many
    /// there are: the smaller of `out.len()` and the number of nodes with a weight above 0.
    ///
    /// The first is [`lookup`](Distributor::lookup)'s answer, and a longer list begins with every shorter one.
    fn replicas(&self, key: u64, out: &mut [NodeId]) -> usize;

    /// The first node of the key's preference order that `accept` takes, with the number of distinct
    /// nodes asked; `None` if every node was refused.
    ///
    /// `accept` is asked once for each node, in order. The provided body asks [`replicas`](Self::replicas)
    /// for longer and longer lists, so a long walk costs a small multiple of the longest list.
    fn first_accepting(&self, key: u64, accept: &mut dyn FnMut(NodeId) -> bool) -> Option<(NodeId, Probes)> {
        let mut short = [NodeId::default(); 4];
        let mut long = Vec::new();
        let mut asked = 0;
        let mut list: &mut [NodeId] = &mut short;
        loop {
            let wanted = list.len();
            let found = self.replicas(key, list);
            for id in &list[asked..found] {
                asked += 1;
                if accept(*id) {
                    return Some((*id, Probes(u32::try_from(asked).unwrap_or(u32::MAX))));
                }
            }
            if found < wanted {
                return None;
            }
            long.resize((wanted * 4).min(self.node_count() + 1), NodeId::default());
            list = &mut long;
        }
    }
}

/// A placement of a system that hashes the key's bytes itself, more than once or to more than 64 bits.
pub trait ByteKeyed: Distributor {
    /// The node that owns the key with these bytes.
    fn lookup_bytes(&self, key: &[u8]) -> NodeId;
}

/// A placement that counts what each node holds and refuses what would exceed its capacity.
///
/// For requests in flight: a capacity counts the arriving request, and binds at the moment it is
/// assigned; what a node already holds stays there when capacities shrink afterwards.
pub trait LoadAware: Distributor {
    /// Forgets every load. With `Some(total)` the capacities are those of `total` keys from now on
    /// (the paper's static rule); with `None` they follow the arrivals (the online rule).
    fn reset(&mut self, expected_total: Option<u64>);

    /// Places one arriving key and counts it.
    fn assign(&mut self, key: u64) -> (NodeId, Probes);

    /// Takes back one key of this node.
    ///
    /// # Errors
    ///
    /// `UnknownNode` if the node is not present or holds nothing.
    fn release(&mut self, id: NodeId) -> Result<(), MembershipError>;

    /// What the node holds; `None` if it is not present.
    fn load(&self, id: NodeId) -> Option<u64>;

    /// What the node may hold when the next key arrives; `None` if it is not present.
    fn capacity(&self, id: NodeId) -> Option<u64>;

    /// The factor c of the paper as an exact ratio, numerator and denominator, where capacities are
    /// ⌈c · total · weight / Σ weight⌉; `None` where they follow another rule.
    fn factor(&self) -> Option<(u64, u64)> {
        None
    }
}

/// Construction, apart from the object-safe trait because every family has its own parameters.
pub trait Build: Distributor + Sized {
    /// The parameters of the algorithm, every one with a documented default.
    type Params: Clone + Default + Debug;

    /// Builds a placement of these nodes.
    ///
    /// # Errors
    ///
    /// `NoNodes` if the list is empty or every weight is 0; `Parameter` if one is out of range;
    /// `Membership` if the list itself is refused, for example for a duplicate name.
    fn build(params: &Self::Params, nodes: &[Node]) -> Result<Self, BuildError>;

    /// The heap bytes that `build` would leave live, estimated without building.
    ///
    /// Within a few per cent for valid input, and never an overflow: it is what a plan is refused by.
    fn estimate_bytes(params: &Self::Params, nodes: &[Node]) -> u64;
}

/// Conveniences for users of placements.
pub trait DistributorExt: Distributor {
    /// Hashes a key and looks it up.
    fn locate(&self, hasher: &dyn KeyHasher, key: &[u8]) -> NodeId {
        self.lookup(hasher.hash_key(key))
    }

    /// The owners of many keys, in a new vector.
    fn lookup_all(&self, keys: &[u64]) -> Vec<NodeId> {
        let mut out = vec![NodeId::default(); keys.len()];
        self.lookup_batch(keys, &mut out);
        out
    }
}

impl<D: Distributor + ?Sized> DistributorExt for D {}
