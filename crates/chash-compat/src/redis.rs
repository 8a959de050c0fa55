//! Redis Cluster 7.0.15: 16384 slots, hash tags, and the ranges that `redis-cli --cluster create` gives out.
//!
//! A key's slot is CRC-16 (XMODEM) of its hash tag, or of the whole key, modulo 16384. Which master serves
//! a slot is the operator's choice: the column `slots` states it, and a list without that column is a
//! cluster just created from its masters in list order.
//!
//! A lookup is one read in a table of 64 KiB.
//!
//! A cluster just created with one master more or less has nearly all its ranges elsewhere; a living one
//! moves only what the operator reshards, which a new list with its `slots` says. Therefore a master with
//! stated slots cannot be removed here, and one that is added holds none.

use chash_core::{BuildError, Capabilities, Disruption, KeyHasher, MembershipError, Order, Removal};

use crate::hash::crc::crc16_xmodem;
use crate::params::{ParamSpec, SystemParams, Values};
use crate::row::require_unit_weights;
use crate::slots::Slots;
use crate::{Column, Deployed, ServerRow};

/// The slots of every cluster.
pub const SLOTS: u32 = 16384;

/// Redis Cluster.
#[derive(Clone, Copy, Debug)]
pub struct RedisCluster;

/// Redis Cluster has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params;

impl SystemParams for Params {
    const SPECS: &'static [ParamSpec] = &[];

    fn from_values(_: &Values<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }
}

/// CRC-16 of the part of the key that counts; the slot is its remainder by 16384.
impl KeyHasher for Params {
    fn hash_key(&self, key: &[u8]) -> u64 {
        u64::from(crc16_xmodem(hashed_part(key)))
    }
}

/// The hash tag: what stands between the first `{` and the first `}` after it, if anything does;
/// otherwise the whole key.
#[must_use]
pub fn hashed_part(key: &[u8]) -> &[u8] {
    let tag = || {
        let start = key.iter().position(|byte| *byte == b'{')? + 1;
        let length = key[start..].iter().position(|byte| *byte == b'}')?;
        (length > 0).then(|| &key[start..start + length])
    };
    tag().unwrap_or(key)
}

/// The slot of a key, below [`SLOTS`]: what `CLUSTER KEYSLOT` answers.
///
/// ```
/// use chash_compat::redis::key_slot;
/// assert_eq!(key_slot(b"foo{bar}{zap}"), 5061);
/// assert_eq!(key_slot(b"foo{}{bar}"), 8363);
/// ```
#[must_use]
pub fn key_slot(key: &[u8]) -> u32 {
    u32::from(crc16_xmodem(hashed_part(key))) % SLOTS
}

/// The ranges, first and last slot, that `redis-cli --cluster create` gives so many masters without
/// replicas, in the order of the command line; `None` for a master that gets nothing.
#[must_use]
pub fn create_ranges(masters: u32) -> Vec<Option<(u32, u32)>> {
    let per_master = SLOTS as f32 / masters as f32;
    let mut cursor = 0f32;
    let mut first = 0;
    let range = |index| {
        let end = if index + 1 == masters { SLOTS - 1 } else { (cursor + per_master - 1.0).round() as u32 };
        let range = (first <= end).then_some((first, end));
        cursor += per_master;
        first = first.max(end + 1);
        range
    };
    (0..masters).map(range).collect()
}

/// A master, with the slots it serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    ranges: Vec<(u32, u32)>,
    /// Whether the ranges are the operator's, and not those of a cluster just created.
    stated: bool,
}

/// The ranges of the column `slots`: numbers and `first-last`, as `CLUSTER NODES` writes them.
fn ranges(row: &ServerRow) -> Result<Vec<(u32, u32)>, BuildError> {
    let range = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last && last < SLOTS).then_some((first, last))
    };
    let column = row.column("slots").unwrap_or_default();
    let texts = column.split([' ', ',', ';']).filter(|text| !text.is_empty());
    let error = || row.refused("slots", "slots and ranges such as `0-5460 7000`, below 16384");
    texts.map(|text| range(text).ok_or_else(error)).collect()
}

/// Refuses ranges that leave a slot out or give it twice.
fn require_cover(rows: &[ServerRow], servers: &[Server]) -> Result<(), BuildError> {
    let mut served = vec![false; SLOTS as usize];
    for (row, server) in rows.iter().zip(servers) {
        for slot in server.ranges.iter().flat_map(|(first, last)| *first..=*last) {
            if core::mem::replace(&mut served[slot as usize], true) {
                return Err(row.refused("slots", "slots that no other master serves"));
            }
        }
    }
    match served.contains(&false) {
        true => Err(rows[0].refused("slots", "ranges that together with the other masters' cover all slots")),
        false => Ok(()),
    }
}

impl Deployed for RedisCluster {
    const NAME: &'static str = "redis";
    const SUMMARY: &'static str = "Redis Cluster 7.0.15: slots, hash tags, ranges of `--cluster create`";
    const SOURCE: &'static str = "https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/";
    const COMPLEXITY: &'static str = "lookup O(1), 64 KiB";
    const COLUMNS: &'static [Column] = &[Column::new(
        "slots",
        "slots and ranges that the master serves, as `0-5460 7000`; absent everywhere: those of a new cluster",
    )];

    type Params = Params;
    type Server = Server;
    type Table = Slots;

    fn read(_: &Params, rows: &[ServerRow]) -> Result<Vec<Server>, BuildError> {
        require_unit_weights(rows)?;
        if rows.len() > SLOTS as usize {
            return Err(MembershipError::CapacityExceeded { max: SLOTS }.into());
        }
        let stated = rows.iter().any(|row| row.column("slots").is_some());
        if stated {
            let servers = rows
                .iter()
                .map(|row| Ok(Server { ranges: ranges(row)?, stated }))
                .collect::<Result<Vec<Server>, BuildError>>()?;
            require_cover(rows, &servers)?;
            Ok(servers)
        } else {
            let created = create_ranges(rows.len() as u32).into_iter();
            Ok(created.map(|range| Server { ranges: range.into_iter().collect(), stated }).collect())
        }
    }

    fn estimate(_: &Params, _: &[Server]) -> u64 {
        4 * u64::from(SLOTS)
    }

    fn place(_: &Params, servers: &[Server]) -> Slots {
        let mut table = vec![0; SLOTS as usize].into_boxed_slice();
        for (server, index) in servers.iter().zip(0..) {
            for (first, last) in &server.ranges {
                table[*first as usize..=*last as usize].fill(index);
            }
        }
        Slots::of_32_bits(table)
    }

    fn capabilities(_: &Params, servers: &[Server]) -> Capabilities {
        if servers.iter().any(|server| server.stated) {
            Capabilities::new(Removal::None, Disruption::Minimal, Order::SetOnly)
        } else {
            Capabilities::new(Removal::Any, Disruption::Arbitrary, Order::ListOrder)
        }
        .with_max_nodes(SLOTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compat;
    use chash_core::{Distributor, Node, NodeId};

    #[test]
    fn hash_tags() {
        let slots = ["foo{}{bar}", "foo{bar}{zap}", "foo{{bar}}zap", "user1000.cart{user1000}", "123456789"];
        let expected = [8363, 5061, 4015, 3443, 0x31c3];
        assert_eq!(slots.map(|key| key_slot(key.as_bytes())), expected);
        assert_eq!(hashed_part(b"a}b{c"), b"a}b{c");
    }

    #[test]
    fn created_ranges_cover_every_slot_once() {
        for masters in (1..=300).chain([1000, 9999, SLOTS]) {
            let mut next = 0;
            for (first, last) in create_ranges(masters).into_iter().flatten() {
                assert_eq!(first, next, "{masters} masters");
                next = last + 1;
            }
            assert_eq!(next, SLOTS, "{masters} masters");
        }
    }

    #[test]
    fn stated_slots_are_read_and_checked() {
        let cluster = |slots: &[&str]| {
            let nodes = Node::numbered(slots.len() as u32).into_iter();
            let rows = nodes.zip(slots).map(|(node, slots)| ServerRow::new(node).with("slots", *slots));
            Compat::<RedisCluster>::from_rows(&Params, rows.collect())
        };
        let mut stated = cluster(&["0-99 200", "100-199,201-16383", ""]).unwrap();
        assert_eq!([99, 100, 200, 201].map(|slot| stated.lookup(slot).0), [0, 1, 0, 1]);
        assert_eq!(stated.remove(NodeId(2)), Err(MembershipError::Unsupported));
        assert_eq!(stated.add(&Node::new(NodeId(9), "late")), Ok(()));
        let refused = |slots: &[&str], node: &str, requirement| {
            let error = BuildError::Node { node: node.into(), column: "slots", requirement };
            assert_eq!(cluster(slots).unwrap_err(), error, "{slots:?}");
        };
        let form = "slots and ranges such as `0-5460 7000`, below 16384";
        refused(&["0-16384"], "node-0", form);
        refused(&["0-", "5-3"], "node-0", form);
        refused(&["0-100", "100-16383"], "node-1", "slots that no other master serves");
        refused(
            &["0-100", "102-16383"],
            "node-0",
            "ranges that together with the other masters' cover all slots",
        );
    }
}
