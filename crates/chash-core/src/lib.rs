#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod capabilities;
mod distributor;
mod error;
mod hasher;
mod list;
pub mod mix;
mod node;
mod roster;
mod work;

pub use capabilities::{Capabilities, Disruption, Order, Removal};
pub use distributor::{
    Build, ByteKeyed, Distributor, DistributorExt, LoadAware, Replicated, apply_all_or_nothing,
};
pub use error::{BuildError, MembershipError};
pub use hasher::KeyHasher;
pub use list::NodeList;
pub use node::{Change, Node, NodeId};
pub use roster::Roster;
pub use work::{Footprint, Probes, Work};
