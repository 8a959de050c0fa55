//! The worked example of `tests/data/bounded_constructed.csv`.

use chash_bounded::{Bounded, Factor};
use chash_core::{LoadAware, Node, NodeId, Probes};

use crate::naive_ring::NaiveRing;

/// A circle of length 160.
fn points(node: &Node) -> Vec<u64> {
    match &*node.name {
        "A" => vec![10, 95],
        "B" => vec![40, 150],
        "C" => vec![70, 120],
        other => panic!("the example has no node {other}"),
    }
}

#[test]
fn equals_the_worked_example() {
    let nodes = ["A", "B", "C"].map(|name| Node::new(NodeId(u32::from(name.as_bytes()[0])), name));
    let mut reader = csv::Reader::from_path("tests/data/bounded_constructed.csv").unwrap();
    let mut bounded = None;
    let mut rows = 0;
    for record in reader.records() {
        let record = record.unwrap();
        let number = |column: usize| record[column].parse::<u64>().unwrap();
        if number(4) == 0 {
            // The factor is 1 + ε, added in the digits.
            let (whole, fraction) = record[0].split_once('.').unwrap();
            let factor: Factor = format!("{}.{fraction}", whole.parse::<u32>().unwrap() + 1).parse().unwrap();
            let ring = NaiveRing::new(points, &nodes);
            let mut fresh = Bounded::new(factor, &nodes, Box::new(ring)).unwrap();
            fresh.reset(Some(number(1)));
            bounded = Some(fresh);
        }
        let bounded = bounded.as_mut().expect("a case begins with arrival 0");
        assert_eq!(bounded.capacity(NodeId(u32::from(b'A'))), Some(number(3)), "{record:?}");
        let (id, probes) = bounded.assign(number(5));
        assert_eq!(id, NodeId(u32::from(record[6].as_bytes()[0])), "{record:?}");
        // No point that is skipped here belongs to a node that was skipped before.
        assert_eq!(probes, Probes(number(7) as u32 + 1), "{record:?}");
        rows += 1;
    }
    assert_eq!(rows, 40);
}
