//! What a placement can do, declared so that scenarios and laws can be chosen without trying.

/// Which nodes may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Removal {
    /// Any node.
    Any,
    /// Only the node added last.
    LastOnly,
    /// None.
    None,
}

/// Which keys move when the membership or a weight changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Disruption {
    /// Only keys of nodes that left or lost weight, or to nodes that arrived or gained it.
    Minimal,
    /// Some further keys, by design.
    Approximate,
    /// Any key.
    Arbitrary,
}

/// What the placement of keys depends on besides the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// The set of nodes (names and weights) only.
    SetOnly,
    /// The order in which the nodes are listed.
    ListOrder,
    /// The sequence of changes that led to the present set.
    History,
}

/// What a placement can do. Checked by the laws, so that it cannot drift from behaviour.
///
/// ```
/// use chash_core::{Capabilities, Disruption, Order, Removal};
/// const RING: Capabilities =
///     Capabilities::new(Removal::Any, Disruption::Minimal, Order::SetOnly).with_weights();
/// assert!(RING.weighted);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Capabilities {
    /// Which nodes may leave.
    pub removal: Removal,
    /// Which keys move on a change.
    pub disruption: Disruption,
    /// What the table depends on.
    pub order: Order,
    /// Whether weights other than 1 are accepted, 0 included.
    pub weighted: bool,
    /// The most nodes it can hold.
    pub max_nodes: u32,
}

impl Capabilities {
    /// Without weights, up to `u32::MAX` nodes.
    #[must_use]
    pub const fn new(removal: Removal, disruption: Disruption, order: Order) -> Self {
        Self { removal, disruption, order, weighted: false, max_nodes: u32::MAX }
    }

    /// The same, and weights are accepted.
    #[must_use]
    pub const fn with_weights(mut self) -> Self {
        self.weighted = true;
        self
    }

    /// The same, for at most `max_nodes` nodes.
    #[must_use]
    pub const fn with_max_nodes(mut self, max_nodes: u32) -> Self {
        self.max_nodes = max_nodes;
        self
    }
}
