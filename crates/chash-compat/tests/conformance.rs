//! The laws, on every system. None takes a seed, and all round shares in their own ways.
//!
//! Tables are made small where a system lets them be: the laws build thousands of them.

use chash_compat::cassandra::Cassandra;
use chash_compat::cilium::Cilium;
use chash_compat::envoy::Envoy;
use chash_compat::ex_hash_ring::ExHashRing;
use chash_compat::guava::Guava;
use chash_compat::haproxy::Haproxy;
use chash_compat::ingress_nginx::IngressNginx;
use chash_compat::katran::Katran;
use chash_compat::libketama::Libketama;
use chash_compat::libmemcached::Libmemcached;
use chash_compat::nginx::Nginx;
use chash_compat::node_hashring::NodeHashring;
use chash_compat::redis::RedisCluster;
use chash_compat::sha1ring::{Sha1Ring32, Sha1Ring64};
use chash_compat::spymemcached::Spymemcached;
use chash_compat::twemproxy::Twemproxy;
use chash_compat::uhashring::Uhashring;
use chash_compat::{Compat, Deployed, ServerRow, SystemParams as _, Values};
use chash_core::{Build as _, BuildError, Disruption, Distributor, Node};
use chash_metrics::alloc::CountingAllocator;
use chash_testkit::{Subject, enforce};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// A placement of a system under parameters as they would be written.
fn built<S: Deployed>(given: &[(&str, &str)], nodes: &[Node]) -> Result<Compat<S>, BuildError> {
    Compat::build(&S::Params::from_values(&Values::new(S::Params::SPECS, given)?)?, nodes)
}

macro_rules! laws {
    ($($name:ident: $system:ty, $given:expr;)+) => {
        $(
            chash_testkit::conformance!($name, |_seed, nodes| built::<$system>(&$given, nodes);
                seeded = false, shares_follow_weights = false);
        )+
    };
}

laws! {
    nginx: Nginx, [];
    nginx_plain: Nginx, [("method", "plain")];
    ingress_nginx: IngressNginx, [];
    haproxy: Haproxy, [];
    haproxy_map: Haproxy, [("hash_type", "map-based")];
    haproxy_bounded: Haproxy, [("balance_factor", "125")];
    envoy_ring: Envoy, [];
    envoy_maglev: Envoy, [("policy", "maglev"), ("table_size", "2039")];
    envoy_bounded: Envoy, [("policy", "maglev"), ("table_size", "2039"), ("balance_factor", "125")];
    libketama: Libketama, [];
    libmemcached: Libmemcached, [];
    libmemcached_ketama: Libmemcached, [("distribution", "ketama")];
    libmemcached_weighted: Libmemcached, [("distribution", "ketama_weighted")];
    twemproxy: Twemproxy, [];
    twemproxy_modula: Twemproxy, [("distribution", "modula")];
    spymemcached: Spymemcached, [];
    uhashring: Uhashring, [("vnodes", "10")];
    uhashring_ketama: Uhashring, [("mode", "ketama")];
    node_hashring: NodeHashring, [("vnode_count", "8")];
    redis: RedisCluster, [];
    cassandra: Cassandra, [("num_tokens", "4")];
    cassandra_random: Cassandra, [("num_tokens", "4"), ("partitioner", "random")];
    ex_hash_ring: ExHashRing, [("replicas", "16")];
    guava: Guava, [];
    katran: Katran, [("ring_size", "2039")];
    katran_sorted_v1: Katran, [("ring_size", "2039"), ("version", "v1"), ("order", "hash")];
    cilium: Cilium, [("table_size", "2039")];
    sha1ring32: Sha1Ring32, [("points", "20")];
    sha1ring64: Sha1Ring64, [("points", "20")];
}

/// HAProxy where the configuration numbers every server: then the list's order is nothing, and only what
/// must move moves. A node that is added has no number, so the laws about additions do not speak of it.
#[test]
fn haproxy_with_ids() {
    let build = |_: u64, nodes: &[Node]| {
        let row = |node: &Node| {
            let number: u32 = node.name.strip_prefix("node-").map_or(0, |digits| digits.parse().unwrap());
            ServerRow::new(node.clone()).with("id", (number + 1).to_string())
        };
        let rows = nodes.iter().map(row).collect();
        let placement = Compat::<Haproxy>::from_rows(&Default::default(), rows)?;
        let placement: Box<dyn Distributor> = Box::new(placement);
        Ok(placement)
    };
    let subject = Subject::new("haproxy with ids", &build);
    assert_eq!(build(0, &Node::numbered(3)).unwrap().capabilities().disruption, Disruption::Minimal);
    for law in [
        "answers_are_members",
        "list_order_is_ignored",
        "removals_move_keys_of_the_leaver_only",
        "reweighting_moves_keys_of_that_node_only",
    ] {
        enforce(law, &subject);
    }
}
