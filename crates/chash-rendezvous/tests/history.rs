//! After any history a placement answers like a fresh build of the nodes present, whatever becomes
//! equal, unequal or 0 on the way.

use chash_core::mix::mix64;
use chash_core::{Build, Change, Distributor, DistributorExt, Node, NodeId, Replicated};
use chash_rendezvous::{Params, Rendezvous};
use proptest::prelude::*;

/// Steps: which of a few nodes, and its new weight; `None` takes it out.
fn steps() -> impl Strategy<Value = Vec<(u32, Option<u32>)>> {
    let weight =
        prop_oneof![Just(None), Just(Some(0)), Just(Some(1)), Just(Some(u32::MAX)), (2u32..5).prop_map(Some)];
    prop::collection::vec((0u32..40, weight), 1..120)
}

fn assert_same(left: &Rendezvous, right: &Rendezvous) {
    let keys: Vec<u64> = (0..70).map(mix64).collect();
    assert_eq!(left.node_ids(), right.node_ids());
    assert_eq!(left.lookup_all(&keys), right.lookup_all(&keys));
    for key in &keys[..8] {
        let (mut of_left, mut of_right) = ([NodeId(99); 50], [NodeId(99); 50]);
        assert_eq!(left.replicas(*key, &mut of_left), right.replicas(*key, &mut of_right));
        assert_eq!(of_left, of_right);
    }
    for id in left.node_ids() {
        assert_eq!(left.key_share(id), right.key_share(id));
    }
}

proptest! {
    #[test]
    fn equals_a_fresh_build(steps in steps(), hash_bits in prop_oneof![Just(32u32), Just(4)]) {
        let params = Params { seed: 5, hash_bits };
        let all = Node::numbered(40);
        let mut present = vec![all[0].clone()];
        let mut placement = Rendezvous::build(&params, &present).unwrap();
        let mut at_once = placement.clone();
        let mut changes = Vec::new();
        for (id, weight) in steps {
            let id = NodeId(id);
            let mut next = present.clone();
            let change = match (next.iter().position(|node| node.id == id), weight) {
                (None, None) => continue,
                (None, Some(weight)) => {
                    let node = all[id.index()].clone().with_weight(weight);
                    next.push(node.clone());
                    Change::Add(node)
                }
                (Some(at), None) => {
                    next.swap_remove(at);
                    Change::Remove(id)
                }
                (Some(at), Some(weight)) => {
                    next[at].weight = weight;
                    Change::SetWeight(id, weight)
                }
            };
            let done = match &change {
                Change::Add(node) => placement.add(node),
                Change::Remove(id) => placement.remove(*id),
                Change::SetWeight(id, weight) => placement.set_weight(*id, *weight),
            };
            prop_assert_eq!(done.is_ok(), next.iter().any(|node| node.weight > 0));
            if done.is_ok() {
                present = next;
                changes.push(change);
            }
        }
        let fresh = Rendezvous::build(&params, &present).unwrap();
        assert_same(&placement, &fresh);
        at_once.apply(&changes).unwrap();
        assert_same(&at_once, &fresh);
    }
}
