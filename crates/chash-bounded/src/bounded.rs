//! Bounded loads for requests in flight.

use chash_core::{
    BuildError, Capabilities, Change, Disruption, Distributor, Footprint, LoadAware, MembershipError, Node,
    NodeId, Order, Probes, Replicated, Work,
};

use crate::Factor;
use crate::factor::Capacities;
use crate::loads::Loads;

/// The name of the parameter that chooses the placement underneath.
const OVER: &str = "over";

/// A placement whose nodes refuse keys beyond c times their fair share: for requests in flight.
///
/// An arriving key goes to the first node of its preference order, which is the inner placement's,
/// that has room: whose load is below ⌈c · total · w / W⌉, w being its weight and W the sum of all.
///
/// - Without an expected total (the online rule) `total` is the keys present and the arriving one.
/// - With an expected total (the static rule) it is that number, until every place that it gives is
///   taken; then the online rule takes over, so that keys beyond the expectation are still placed.
///
/// Every arrival counts: a key assigned twice is two requests. A capacity binds when a key is
/// assigned; keys that a node already holds stay when capacities shrink. A node that leaves takes
/// its load out of the total; a node that joins starts empty; a node of weight 0 holds nothing new
/// and counts for nothing in W.
///
/// [`lookup`](Distributor::lookup) tells where an arriving key would go now, without counting it.
/// With no key assigned that is the inner placement's own answer.
///
/// A lookup or an assignment costs an inner lookup and one read of a load if the first choice has
/// room, and otherwise a walk by the inner placement's
/// [`first_accepting`](Replicated::first_accepting) as well, with one read and two multiplications
/// for each node asked; never more nodes than there are. Release is O(1), membership is the inner
/// placement's cost, and O(N) more under the static rule.
///
/// ```
/// use chash_bounded::{Bounded, Factor};
/// use chash_core::{Build, Distributor, LoadAware, Node};
/// use chash_ring::{Params, Ring};
///
/// let nodes = Node::numbered(3);
/// let ring = Ring::build(&Params::default(), &nodes)?;
/// let mut bounded = Bounded::new(Factor::default(), &nodes, Box::new(ring))?;
/// // One hot key: the first request may use one place on one node, and so on.
/// for _ in 0..90 {
///     bounded.assign(0x0123_4567_89ab_cdef);
/// }
/// let loads: Vec<u64> = bounded.node_ids().iter().filter_map(|id| bounded.load(*id)).collect();
/// assert_eq!(loads.iter().sum::<u64>(), 90);
/// assert!(loads.iter().all(|load| *load <= 38)); // ⌈1.25 · 90 / 3⌉
/// # Ok::<(), chash_core::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bounded {
    factor: Factor,
    /// Replicated, and of the same nodes as `loads`.
    inner: Box<dyn Distributor>,
    loads: Loads,
    /// The total that capacities are for while there are places left; 0 under the online rule.
    expected: u64,
    /// The sum of the capacities for `expected` keys, `u64::MAX` if it exceeds that; 0 under the
    /// online rule.
    places: u64,
    /// What binds the next arrival: a function of all the above, kept up to date because every
    /// lookup needs it.
    capacities: Capacities,
}

impl Bounded {
    /// Bounds the loads of `inner`, a placement of exactly these nodes. O(N log N).
    ///
    /// # Errors
    ///
    /// `Parameter` named `over` if the inner placement has no
    /// [replicas](Distributor::as_replicated), and so no order of preference; `Parameter` named
    /// `nodes` if the ids it holds are not those of `nodes`; `NoNodes` if every weight is 0.
    pub fn new(factor: Factor, nodes: &[Node], inner: Box<dyn Distributor>) -> Result<Self, BuildError> {
        check_inner(nodes, &*inner)?;
        let loads = Loads::new(nodes);
        let capacities = Capacities::new(factor, 1, loads.total_weight());
        Ok(Self { factor, inner, loads, expected: 0, places: 0, capacities })
    }

    /// The placement underneath.
    #[must_use]
    pub fn inner(&self) -> &dyn Distributor {
        &*self.inner
    }

    /// How many keys are present: assigned, not released, and their node not removed.
    #[must_use]
    pub fn total_load(&self) -> u64 {
        self.loads.total_load()
    }

    /// The heap bytes that `new` would leave live for so many nodes, over an inner placement of so
    /// many heap bytes.
    #[must_use]
    pub fn estimate_bytes(nodes: usize, inner_bytes: u64) -> u64 {
        Loads::estimate_bytes(nodes).saturating_add(inner_bytes)
    }

    /// Works out the capacities that bind the next arrival. Some node of positive weight is below
    /// its own then:
    ///
    /// - Places left of the expected total: if every node were full, its load would be at least its
    ///   capacity, and the total load at least the sum of them, which is `places`.
    /// - Otherwise, with `present` keys: the capacities sum to at least c · (present + 1), which is
    ///   more than `present` as c ≥ 1, so not every load reaches its capacity.
    ///
    /// And the preference order holds every node of positive weight, so a walk ends there or sooner.
    #[inline]
    fn bind(&mut self) {
        let present = self.loads.total_load();
        if present >= self.places {
            self.capacities.set_total(present + 1);
        } else if self.capacities.total() != self.expected {
            self.capacities.set_total(self.expected);
        }
    }

    /// The same after a change of the weights or of the expected total. O(N) if one is expected.
    fn bind_anew(&mut self) {
        self.capacities = Capacities::new(self.factor, self.expected, self.loads.total_weight());
        self.places = if self.expected > 0 { self.loads.places(&self.capacities) } else { 0 };
        self.bind();
    }

    /// Where an arriving key goes.
    #[inline(always)]
    fn place(&self, key: u64) -> Place {
        // Most keys stop at their first choice: the lookup alone is cheaper than beginning a walk.
        let id = self.inner.lookup(key);
        match self.loads.find_room(id, &self.capacities) {
            Some(position) => Place { id, position, probes: Probes(1) },
            None => self.walk(key),
        }
    }

    /// Where a key goes that its first choice has no room for. Apart, so that the others need not
    /// make ready for a walk.
    #[inline(never)]
    fn walk(&self, key: u64) -> Place {
        let mut found = None;
        let mut has_room = |id| {
            found = self.loads.find_room(id, &self.capacities);
            found.is_some()
        };
        let stop = replicated(&*self.inner).first_accepting(key, &mut has_room);
        let ((id, probes), position) =
            stop.zip(found).expect("a node has room, and the order holds every node");
        Place { id, position, probes }
    }
}

/// Where a key goes.
#[derive(Clone, Copy, Debug)]
struct Place {
    id: NodeId,
    /// The node's position in the table of loads.
    position: usize,
    probes: Probes,
}

/// Refuses a placement that loads cannot be bounded over.
pub(crate) fn check_inner(nodes: &[Node], inner: &dyn Distributor) -> Result<(), BuildError> {
    if inner.as_replicated().is_none() {
        let requirement = "a placement with an order of preference over its nodes (replicas)";
        return Err(BuildError::Parameter { name: OVER, requirement });
    }
    let mut ids: Vec<NodeId> = nodes.iter().map(|node| node.id).collect();
    ids.sort_unstable();
    if ids != inner.node_ids() {
        let requirement = "the nodes that the inner placement was built of";
        return Err(BuildError::Parameter { name: "nodes", requirement });
    }
    if nodes.iter().all(|node| node.weight == 0) {
        return Err(BuildError::NoNodes);
    }
    Ok(())
}

/// The preference order of a placement that `check_inner` has accepted.
pub(crate) fn replicated(inner: &dyn Distributor) -> &dyn Replicated {
    inner.as_replicated().expect("the constructor refuses a placement without replicas")
}

impl Distributor for Bounded {
    fn lookup(&self, key: u64) -> NodeId {
        self.place(key).id
    }

    /// The inner placement's batch, then a walk for each key whose first choice is full.
    fn lookup_batch(&self, keys: &[u64], out: &mut [NodeId]) {
        self.inner.lookup_batch(keys, out);
        for (key, id) in keys.iter().zip(out) {
            if self.loads.find_room(*id, &self.capacities).is_none() {
                *id = self.walk(*key).id;
            }
        }
    }

    /// The inner lookup's work, one probe for each further node asked, and one table read for the
    /// load of each node asked. What the inner placement reads to find the further nodes is not in it.
    fn lookup_work(&self, key: u64) -> Work {
        let inner = self.inner.lookup_work(key);
        let asked = self.place(key).probes.0;
        Work {
            hash_evals: inner.hash_evals,
            probes: inner.probes + (asked - 1),
            table_reads: inner.table_reads + asked,
        }
    }

    fn node_count(&self) -> usize {
        self.inner.node_count()
    }

    fn node_ids(&self) -> Vec<NodeId> {
        self.inner.node_ids()
    }

    fn add(&mut self, node: &Node) -> Result<(), MembershipError> {
        self.inner.add(node)?;
        self.loads.insert(node.id, node.weight);
        self.bind_anew();
        Ok(())
    }

    /// Removes a node together with its load, which is no longer part of the total.
    fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        self.inner.remove(id)?;
        self.loads.remove(id);
        self.bind_anew();
        Ok(())
    }

    fn set_weight(&mut self, id: NodeId, weight: u32) -> Result<(), MembershipError> {
        self.inner.set_weight(id, weight)?;
        self.loads.set_weight(id, weight);
        self.bind_anew();
        Ok(())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        self.inner.apply(changes)?;
        changes.iter().for_each(|change| self.loads.apply(change));
        self.bind_anew();
        Ok(())
    }

    /// The inner placement's, except that disruption is at best `Approximate`, because a change of
    /// membership changes the capacities of all nodes, and that the order is `History` as soon as a
    /// key is present: which nodes are full depends on what has arrived.
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.inner.capabilities();
        if capabilities.disruption == Disruption::Minimal {
            capabilities.disruption = Disruption::Approximate;
        }
        if self.loads.total_load() > 0 {
            capabilities.order = Order::History;
        }
        capabilities
    }

    fn footprint(&self) -> Footprint {
        let inner = self.inner.footprint();
        let boxed = size_of_val(&*self.inner) as u64;
        Footprint { lookup_bytes: inner.lookup_bytes + boxed + self.loads.bytes(), ..inner }
    }

    fn clone_box(&self) -> Box<dyn Distributor> {
        Box::new(self.clone())
    }

    fn as_load_aware(&mut self) -> Option<&mut dyn LoadAware> {
        Some(self)
    }
}

impl LoadAware for Bounded {
    /// `Some(0)` is the online rule, as `None` is. O(N).
    fn reset(&mut self, expected_total: Option<u64>) {
        self.loads.clear();
        self.expected = expected_total.unwrap_or(0);
        self.bind_anew();
    }

    fn assign(&mut self, key: u64) -> (NodeId, Probes) {
        let place = self.place(key);
        self.loads.increment(place.position);
        self.bind();
        (place.id, place.probes)
    }

    fn release(&mut self, id: NodeId) -> Result<(), MembershipError> {
        match self.loads.find(id) {
            Some(position) if self.loads.at(position).load > 0 => {
                self.loads.decrement(position);
                self.bind();
                Ok(())
            }
            _ => Err(MembershipError::UnknownNode),
        }
    }

    fn load(&self, id: NodeId) -> Option<u64> {
        self.loads.find(id).map(|position| self.loads.at(position).load)
    }

    fn capacity(&self, id: NodeId) -> Option<u64> {
        self.loads.find(id).map(|position| self.capacities.of(self.loads.at(position).weight))
    }

    fn factor(&self) -> Option<(u64, u64)> {
        Some(self.factor.ratio())
    }
}
