//! The placement against its definition as the README has it, step by step and with libm's logarithm.

use chash_core::mix::mix64;
use chash_core::{Build, Distributor, DistributorExt, Node, NodeId, Replicated};
use chash_hash::{HashFunction, name_hash};
use chash_rendezvous::{Params, Rendezvous};

const WORD: u64 = 1 << 32;

/// The hash of a key and a node, in arithmetic that cannot overflow.
fn hash(key: u64, name: &str, params: &Params) -> u64 {
    let seed = name_hash(HashFunction::Xxh3, params.seed, 0, name);
    let (key_low, key_high) = (key % WORD, key / WORD);
    let rotated = key_high * 65536 % WORD + key_high / 65536;
    let x = key_low ^ rotated ^ (seed % WORD);
    let y = (key_high | 1) ^ (seed / WORD / 2 * 2);
    let product = (u128::from(x) * u128::from(y) % u128::from(WORD)) as u64;
    let step = WORD >> params.hash_bits;
    product / step * step
}

/// Every node of a weight above 0, in the key's order of preference.
fn order(key: u64, nodes: &[Node], params: &Params) -> Vec<NodeId> {
    let step = (WORD >> params.hash_bits) as f64;
    let arrival = |node: &Node| {
        let below_one = (WORD as f64 - hash(key, &node.name, params) as f64 - step / 2.0) / WORD as f64;
        -libm::log1p(-below_one) / f64::from(node.weight)
    };
    let mut ranked: Vec<(f64, &Node)> =
        nodes.iter().filter(|node| node.weight > 0).map(|node| (arrival(node), node)).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.name.cmp(&b.1.name)));
    ranked.into_iter().map(|(_, node)| node.id).collect()
}

fn assert_as_defined(nodes: &[Node], params: &Params, keys: u64) {
    let placement = Rendezvous::build(params, nodes).unwrap();
    let keys: Vec<u64> = (0..keys).map(mix64).chain([0, 1, u64::MAX, 1 << 32, u64::MAX << 32]).collect();
    for (key, batched) in keys.iter().zip(placement.lookup_all(&keys)) {
        let expected = order(*key, nodes, params);
        assert_eq!((placement.lookup(*key), batched), (expected[0], expected[0]), "key {key}");
        for wanted in [0, 1, 2, 5, nodes.len(), nodes.len() + 3] {
            let mut replicas = vec![NodeId(u32::MAX); wanted];
            let found = placement.replicas(*key, &mut replicas);
            assert_eq!(replicas[..found], expected[..wanted.min(expected.len())], "key {key}");
        }
    }
}

fn weighted(count: u32, weight: impl Fn(u32) -> u32) -> Vec<Node> {
    let mut nodes = Node::numbered(count);
    for node in &mut nodes {
        node.weight = weight(node.id.0);
    }
    nodes
}

/// The rule for weights and the rule without them are one rule.
#[test]
fn equal_weights_of_any_size() {
    for count in [1, 2, 3, 31, 32, 33, 64, 100, 600] {
        for weight in [1, 7, u32::MAX] {
            assert_as_defined(&weighted(count, |_| weight), &Params::default(), 50);
        }
    }
}

#[test]
fn different_weights() {
    let other = Params { seed: 9, ..Params::default() };
    for count in [2, 3, 31, 32, 33, 64, 100, 600] {
        assert_as_defined(&weighted(count, |i| i % 4), &Params::default(), 50);
        assert_as_defined(&weighted(count, |i| mix64(u64::from(i)) as u32), &other, 50);
        assert_as_defined(&weighted(count, |i| if i == 1 { u32::MAX } else { i % 2 }), &other, 50);
    }
}

#[test]
fn short_hashes() {
    for hash_bits in [1, 4, 10, 31] {
        assert_as_defined(&weighted(70, |_| 1), &Params { seed: 0, hash_bits }, 100);
    }
}

/// Four bits for five nodes: ties for many keys. In whatever order the nodes come, the key has one owner.
#[test]
fn ties_do_not_depend_on_the_order_of_the_list() {
    let params = Params { seed: 0, hash_bits: 4 };
    let mut nodes = weighted(5, |i| 1 + i / 3);
    let keys: Vec<u64> = (0..500).map(mix64).collect();
    let expected: Vec<NodeId> = keys.iter().map(|key| strongest(*key, &nodes, &params)).collect();
    every_order(&mut nodes, 0, &mut |nodes| {
        let built = Rendezvous::build(&params, nodes).unwrap();
        let mut grown = Rendezvous::build(&params, &nodes[..1]).unwrap();
        for node in &nodes[1..] {
            grown.add(node).unwrap();
        }
        assert_eq!(built.lookup_all(&keys), expected);
        assert_eq!(grown.lookup_all(&keys), expected);
    });
}

/// The owner among nodes of the weights 1 and 2 at 4 bits, in integers: u is n/32, and u at weight 1
/// beats v at weight 2 where u² > v.
fn strongest(key: u64, nodes: &[Node], params: &Params) -> NodeId {
    let strength = |node: &Node| {
        let n = 2 * (hash(key, &node.name, params) >> 28) + 1;
        if node.weight == 1 { n * n } else { 32 * n }
    };
    let best = nodes.iter().map(strength).max().unwrap();
    nodes.iter().filter(|node| strength(node) == best).min_by_key(|node| &node.name).unwrap().id
}

/// Calls `visit` with every order of the nodes from `at` on.
fn every_order(nodes: &mut [Node], at: usize, visit: &mut impl FnMut(&[Node])) {
    if at == nodes.len() {
        return visit(nodes);
    }
    for i in at..nodes.len() {
        nodes.swap(at, i);
        every_order(nodes, at + 1, visit);
        nodes.swap(at, i);
    }
}
