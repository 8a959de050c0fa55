//! Our own answers, kept from changing unnoticed: a change here is a breaking change.

use chash_baseline::{Modulo, ModuloParams, Random, RandomParams};
use chash_core::mix::mix64;
use chash_core::{Build, Distributor, Node};

fn answers(placement: &dyn Distributor) -> Vec<u32> {
    (0..12).map(|i| placement.lookup(mix64(i)).0).collect()
}

#[test]
fn modulo_under_a_seed() {
    let placement = Modulo::build(&ModuloParams { seed: 7 }, &Node::numbered(100)).unwrap();
    assert_eq!(answers(&placement), [91, 0, 14, 59, 40, 65, 27, 0, 1, 9, 21, 26]);
}

#[test]
fn random_with_weights() {
    let mut nodes = Node::numbered(100);
    nodes[3].weight = 50;
    nodes[4].weight = 0;
    let placement = Random::build(&RandomParams { seed: 7 }, &nodes).unwrap();
    assert_eq!(answers(&placement), [3, 3, 16, 93, 3, 48, 13, 58, 86, 3, 28, 90]);
}
