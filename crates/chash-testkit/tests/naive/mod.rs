//! Placements so simple that they are obviously right, to which every law that applies must agree.
//!
//! One struct holds the nodes in a list and rebuilds what it derives from them on every change.

use chash_core::mix::{combine, reduce};
use chash_core::{
    BuildError, ByteKeyed, Capabilities, Change, Disruption, Distributor, Footprint, LoadAware,
    MembershipError, Node, NodeId, Order, Probes, Removal, Replicated, Work, apply_all_or_nothing,
};
use chash_hash::{HashFunction, name_hash};

/// How a naive placement chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The first of `POINTS` points per unit of weight at or after the key, on positions of so many bits.
    Ring { bits: u32 },
    /// The ring, passing over nodes that hold ⌈11/10 of their share⌉.
    BoundedRing,
    /// The best score, with as many draws as the node has weight.
    Rendezvous,
    /// The key's remainder by the length of the list.
    Modulo,
    /// The last node of the list that wins the key from those before it.
    Staircase,
}

/// How a ring goes wrong when it derives its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quirk {
    /// Not at all.
    None,
    /// The name and the point's number are written one behind the other.
    GluesNameAndIndex,
    /// Points come from the id.
    IdentityIsId,
    /// Points come from the place in the list.
    IdentityIsIndex,
    /// Only the first eight bytes of the name count.
    CutsNames,
    /// Points on one position stay in the order of the list.
    TiesByList,
    /// As in a map: the later point replaces the earlier, and a leaver takes the position with it.
    DropsCollidingPoints,
    /// A point on a taken position goes to the next free one.
    ProbesForFreePositions,
}

const POINTS: u32 = 12;

/// Positions, each with the place of its node in the list.
type Points = Vec<(u64, u32)>;

#[derive(Clone, Debug)]
pub(crate) struct Naive {
    rule: Rule,
    quirk: Quirk,
    pub(crate) seed: u64,
    pub(crate) nodes: Vec<Node>,
    /// Sorted; empty unless the rule is a ring.
    points: Points,
    /// As the nodes; empty unless the rule is bounded.
    pub(crate) loads: Vec<u64>,
    pub(crate) expected_total: Option<u64>,
}

impl Naive {
    pub(crate) fn build(rule: Rule, quirk: Quirk, seed: u64, nodes: &[Node]) -> Result<Self, BuildError> {
        let mut naive = Self {
            rule,
            quirk,
            seed,
            nodes: Vec::new(),
            points: Vec::new(),
            loads: Vec::new(),
            expected_total: None,
        };
        if nodes.iter().all(|node| node.weight == 0) {
            return Err(BuildError::NoNodes);
        }
        for node in nodes {
            naive.insert(node)?;
        }
        naive.rebuild();
        Ok(naive)
    }

    fn is_ring(&self) -> bool {
        matches!(self.rule, Rule::Ring { .. } | Rule::BoundedRing)
    }

    /// Whether points stay from change to change instead of being derived again.
    fn keeps_points(&self) -> bool {
        matches!(self.quirk, Quirk::DropsCollidingPoints | Quirk::ProbesForFreePositions)
    }

    fn max_nodes(&self) -> usize {
        // One rule is limited, so that the law about limits has a subject.
        if self.rule == Rule::Modulo { 100 } else { u32::MAX as usize }
    }

    /// A word from the node's identity and a number.
    fn word(&self, place: usize, number: u32) -> u64 {
        let node = &self.nodes[place];
        let hash = |number, name: &str| name_hash(HashFunction::Xxh3, self.seed, number, name);
        match self.quirk {
            Quirk::GluesNameAndIndex => hash(0, &format!("{}{number}", node.name)),
            Quirk::IdentityIsId => hash(number, &node.id.to_string()),
            Quirk::IdentityIsIndex => hash(number, &place.to_string()),
            Quirk::CutsNames => combine(
                hash(number, ""),
                HashFunction::Xxh3.hash(&node.name.as_bytes()[..node.name.len().min(8)]),
            ),
            _ => hash(number, &node.name),
        }
    }

    /// The points of one node alone.
    fn points_of(&self, place: usize) -> Points {
        let bits = if let Rule::Ring { bits } = self.rule { bits } else { 64 };
        let count = POINTS * self.nodes[place].weight;
        let position = |number| self.word(place, number) >> (64 - bits) << (64 - bits);
        (0..count).map(|number| (position(number), place as u32)).collect()
    }

    pub(crate) fn rebuild(&mut self) {
        if !self.is_ring() || self.keeps_points() {
            return;
        }
        let mut points = Points::new();
        for place in 0..self.nodes.len() {
            points.extend(self.points_of(place));
        }
        let tie = |place: &u32| &self.nodes[*place as usize].name;
        match self.quirk {
            Quirk::TiesByList => points.sort_by_key(|(position, _)| *position),
            _ => points.sort_by(|(p, a), (q, b)| (p, tie(a)).cmp(&(q, tie(b)))),
        }
        points.shrink_to_fit();
        self.points = points;
    }

    fn insert(&mut self, node: &Node) -> Result<(), MembershipError> {
        if self.nodes.iter().any(|other| other.name == node.name || other.id == node.id) {
            return Err(MembershipError::DuplicateNode);
        }
        if node.weight != 1 && !self.capabilities().weighted {
            return Err(MembershipError::WeightUnsupported);
        }
        if self.nodes.len() == self.max_nodes() {
            return Err(MembershipError::CapacityExceeded { max: self.max_nodes() as u32 });
        }
        self.nodes.push(node.clone());
        if self.rule == Rule::BoundedRing {
            self.loads.push(0);
        }
        self.put_points(self.nodes.len() - 1);
        Ok(())
    }

    /// Inserts the points of one node, where points stay from change to change.
    fn put_points(&mut self, place: usize) {
        if !self.keeps_points() {
            return;
        }
        for (mut position, owner) in self.points_of(place) {
            let taken = |position| self.points.iter().position(|(taken, _)| *taken == position);
            if self.quirk == Quirk::ProbesForFreePositions {
                while taken(position).is_some() {
                    position = position.wrapping_add(1);
                }
            } else if let Some(earlier) = taken(position) {
                self.points.remove(earlier);
            }
            self.points.push((position, owner));
        }
        self.points.sort_unstable();
    }

    /// Takes out the points of one node, where points stay from change to change.
    fn take_points(&mut self, place: usize) {
        if !self.keeps_points() {
            return;
        }
        let own = self.points_of(place);
        let as_a_map = self.quirk == Quirk::DropsCollidingPoints;
        self.points.retain(|(position, owner)| {
            *owner != place as u32 && !(as_a_map && own.iter().any(|(taken, _)| taken == position))
        });
    }

    fn place(&self, id: NodeId) -> Result<usize, MembershipError> {
        self.nodes.iter().position(|node| node.id == id).ok_or(MembershipError::UnknownNode)
    }

    fn another_counts(&self, without: usize) -> bool {
        self.nodes.iter().enumerate().any(|(place, node)| place != without && node.weight > 0)
    }

    /// Places of all nodes that can be chosen, in the key's order of preference, each once.
    fn walk(&self, key: u64, visit: &mut dyn FnMut(usize) -> bool) {
        let start = self.points.partition_point(|(position, _)| *position < key);
        let mut seen = vec![false; self.nodes.len()];
        for (_, place) in self.points[start..].iter().chain(&self.points[..start]) {
            let place = *place as usize;
            if !std::mem::replace(&mut seen[place], true) && visit(place) {
                return;
            }
        }
    }

    fn score(&self, place: usize, key: u64) -> u64 {
        (0..self.nodes[place].weight).map(|draw| combine(self.word(place, draw), key)).max().unwrap_or(0)
    }

    fn owner(&self, key: u64) -> usize {
        let places = 0..self.nodes.len();
        match self.rule {
            Rule::Ring { .. } | Rule::BoundedRing => {
                let next = self.points.partition_point(|(position, _)| *position < key);
                self.points[next % self.points.len()].1 as usize
            }
            Rule::Rendezvous => places
                .filter(|place| self.nodes[*place].weight > 0)
                .max_by_key(|place| (self.score(*place, key), &self.nodes[*place].name))
                .expect("one can be chosen"),
            Rule::Modulo => (combine(self.seed, key) % self.nodes.len() as u64) as usize,
            Rule::Staircase => places
                .rev()
                .find(|place| {
                    reduce(combine(self.seed, key ^ combine(0, *place as u64)), *place as u64 + 1) == 0
                })
                .expect("the first node wins every key from nobody"),
        }
    }

    fn total_weight(&self) -> u64 {
        self.nodes.iter().map(|node| u64::from(node.weight)).sum()
    }
}

impl Distributor for Naive {
    fn lookup(&self, key: u64) -> NodeId {
        self.nodes[self.owner(key)].id
    }

    fn lookup_work(&self, _key: u64) -> Work {
        Work { hash_evals: 1, probes: 1, table_reads: 0 }
    }

    fn node_count(&self) -> usize {
        self.nodes.len()
    }

    fn node_ids(&self) -> Vec<NodeId> {
        let mut ids: Vec<NodeId> = self.nodes.iter().map(|node| node.id).collect();
        ids.sort_unstable();
        ids
    }

    fn add(&mut self, node: &Node) -> Result<(), MembershipError> {
        self.insert(node)?;
        self.rebuild();
        Ok(())
    }

    fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        let place = self.place(id)?;
        if !self.another_counts(place) {
            return Err(MembershipError::LastNode);
        }
        if self.capabilities().removal == Removal::LastOnly && place + 1 != self.nodes.len() {
            return Err(MembershipError::NotLastAdded);
        }
        self.take_points(place);
        self.nodes.remove(place);
        for (_, owner) in &mut self.points {
            *owner -= u32::from(*owner > place as u32);
        }
        self.rebuild();
        if self.rule == Rule::BoundedRing {
            self.loads.remove(place);
        }
        Ok(())
    }

    fn set_weight(&mut self, id: NodeId, weight: u32) -> Result<(), MembershipError> {
        let place = self.place(id)?;
        if !self.capabilities().weighted {
            return Err(MembershipError::WeightUnsupported);
        }
        if weight == 0 && !self.another_counts(place) {
            return Err(MembershipError::LastNode);
        }
        self.take_points(place);
        self.nodes[place].weight = weight;
        self.put_points(place);
        self.rebuild();
        Ok(())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        apply_all_or_nothing(self, changes)
    }

    fn capabilities(&self) -> Capabilities {
        let any = |disruption, order| Capabilities::new(Removal::Any, disruption, order);
        match self.rule {
            Rule::Ring { .. } | Rule::Rendezvous => any(Disruption::Minimal, Order::SetOnly).with_weights(),
            Rule::BoundedRing => any(Disruption::Approximate, Order::SetOnly).with_weights(),
            Rule::Modulo => {
                any(Disruption::Arbitrary, Order::ListOrder).with_max_nodes(self.max_nodes() as u32)
            }
            Rule::Staircase => Capabilities::new(Removal::LastOnly, Disruption::Minimal, Order::ListOrder),
        }
    }

    fn footprint(&self) -> Footprint {
        let names: usize = self.nodes.iter().map(|node| node.name.len()).sum();
        let rows = self.nodes.capacity() * size_of::<Node>();
        let lookup =
            self.points.capacity() * size_of::<(u64, u32)>() + self.loads.capacity() * size_of::<u64>();
        Footprint { lookup_bytes: lookup as u64, membership_bytes: (names + rows) as u64 }
    }

    fn key_share(&self, id: NodeId) -> Option<f64> {
        let place = self.place(id).ok()?;
        if !self.is_ring() {
            return Some(f64::from(self.nodes[place].weight) / self.total_weight() as f64);
        }
        let before = self.points.last().map(|(position, _)| *position)?;
        let mut arcs = 0u128;
        let mut previous = u128::from(before);
        for (position, owner) in &self.points {
            let position = u128::from(*position);
            // A single point owns the whole circle, as does a point that all others share.
            let arc = if position > previous { position - previous } else { position + (1 << 64) - previous };
            let arc = if position == previous && self.points[0].0 != before { 0 } else { arc };
            arcs += if *owner as usize == place { arc } else { 0 };
            previous = position;
        }
        Some(arcs as f64 / 2f64.powi(64))
    }

    fn clone_box(&self) -> Box<dyn Distributor> {
        Box::new(self.clone())
    }

    fn as_replicated(&self) -> Option<&dyn Replicated> {
        (self.is_ring() || self.rule == Rule::Rendezvous).then_some(self)
    }

    fn as_byte_keyed(&self) -> Option<&dyn ByteKeyed> {
        (self.is_ring() || self.rule == Rule::Rendezvous).then_some(self)
    }

    fn as_load_aware(&mut self) -> Option<&mut dyn LoadAware> {
        (self.rule == Rule::BoundedRing).then_some(self)
    }
}

impl Replicated for Naive {
    fn replicas(&self, key: u64, out: &mut [NodeId]) -> usize {
        let mut order = Vec::new();
        if self.is_ring() {
            self.walk(key, &mut |place| {
                order.push(place);
                order.len() >= out.len()
            });
        } else {
            order = (0..self.nodes.len()).filter(|place| self.nodes[*place].weight > 0).collect();
            order.sort_by_key(|place| std::cmp::Reverse((self.score(*place, key), &self.nodes[*place].name)));
        }
        let found = order.len().min(out.len());
        for (out, place) in out.iter_mut().zip(order) {
            *out = self.nodes[place].id;
        }
        found
    }
}

impl ByteKeyed for Naive {
    fn lookup_bytes(&self, key: &[u8]) -> NodeId {
        self.lookup(HashFunction::Xxh3.hash(key))
    }
}

impl LoadAware for Naive {
    fn reset(&mut self, expected_total: Option<u64>) {
        self.loads.fill(0);
        self.expected_total = expected_total;
    }

    fn assign(&mut self, key: u64) -> (NodeId, Probes) {
        let mut probes = 0;
        let mut taker = None;
        self.walk(key, &mut |place| {
            probes += 1;
            let free = Some(self.loads[place]) < self.capacity(self.nodes[place].id);
            taker = free.then_some(place);
            free
        });
        let place = taker.expect("a factor of at least 1 leaves room for every key");
        self.loads[place] += 1;
        (self.nodes[place].id, Probes(probes))
    }

    fn release(&mut self, id: NodeId) -> Result<(), MembershipError> {
        let place = self.place(id)?;
        self.loads[place] = self.loads[place].checked_sub(1).ok_or(MembershipError::UnknownNode)?;
        Ok(())
    }

    fn load(&self, id: NodeId) -> Option<u64> {
        Some(self.loads[self.place(id).ok()?])
    }

    fn capacity(&self, id: NodeId) -> Option<u64> {
        let weight = self.nodes[self.place(id).ok()?].weight;
        let total = self.expected_total.unwrap_or(self.loads.iter().sum::<u64>() + 1);
        let share = 11 * u128::from(total) * u128::from(weight);
        Some(share.div_ceil(10 * u128::from(self.total_weight())) as u64)
    }

    fn factor(&self) -> Option<(u64, u64)> {
        Some((11, 10))
    }
}
