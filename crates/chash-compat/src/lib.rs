#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod catalogue;
mod deployed;
mod hash;
mod params;
mod points;
mod ring;
mod row;
mod slots;
mod table;

pub mod cassandra;
pub mod cilium;
pub mod envoy;
pub mod ex_hash_ring;
pub mod guava;
pub mod haproxy;
pub mod ingress_nginx;
pub mod katran;
pub mod libketama;
pub mod libmemcached;
pub mod nginx;
pub mod node_hashring;
pub mod redis;
pub mod sha1ring;
pub mod spymemcached;
pub mod twemproxy;
pub mod uhashring;

pub use catalogue::{Column, Given, SYSTEMS, System};
pub use deployed::{Compat, Deployed, Table};
pub use hash::memcached::HashFunction as MemcachedHash;
pub use params::{ParamSpec, ParamValues, SystemParams, Values};
pub use ring::{Position, Ring, RingAfter};
pub use row::ServerRow;
pub use slots::Slots;
pub use table::RingOrSlots;
