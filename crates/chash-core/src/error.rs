//! Why a placement could not be built or changed.

use core::fmt;

/// Why a change of membership or weight was refused. The placement is as it was before the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MembershipError {
    /// A node with this name or this id is present.
    DuplicateNode,
    /// No node with this id is present.
    UnknownNode,
    /// The change would leave no node with a weight above 0.
    LastNode,
    /// Only the node added last can be removed.
    NotLastAdded,
    /// The placement has no weights, and the weight is not 1.
    WeightUnsupported,
    /// The change would exceed the most nodes, points or slots that the placement can hold.
    CapacityExceeded {
        /// The most it can hold.
        max: u32,
    },
    /// The placement does not support this change at all.
    Unsupported,
}

impl fmt::Display for MembershipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateNode => f.write_str("a node with this name or id is already present"),
            Self::UnknownNode => f.write_str("no node with this id is present"),
            Self::LastNode => f.write_str("no node with a weight above 0 would remain"),
            Self::NotLastAdded => f.write_str("only the node added last can be removed"),
            Self::WeightUnsupported => f.write_str("this placement has no weights: every weight is 1"),
            Self::CapacityExceeded { max } => write!(f, "this placement holds at most {max}"),
            Self::Unsupported => f.write_str("this placement does not support the change"),
        }
    }
}

impl core::error::Error for MembershipError {}

/// Why a placement could not be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The node list is empty, or every weight is 0.
    NoNodes,
    /// A parameter is out of its range.
    Parameter {
        /// The parameter's name.
        name: &'static str,
        /// What it must be.
        requirement: &'static str,
    },
    /// A column of a node is missing or out of its range.
    Node {
        /// The node's name.
        node: Box<str>,
        /// The column.
        column: &'static str,
        /// What it must be.
        requirement: &'static str,
    },
    /// The node list itself is refused.
    Membership(MembershipError),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNodes => f.write_str("a placement needs at least one node with a weight above 0"),
            Self::Parameter { name, requirement } => write!(f, "parameter {name} must be {requirement}"),
            Self::Node { node, column, requirement } => {
                write!(f, "node {node:?}: {column} must be {requirement}")
            }
            Self::Membership(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for BuildError {}

impl From<MembershipError> for BuildError {
    fn from(error: MembershipError) -> Self {
        Self::Membership(error)
    }
}
