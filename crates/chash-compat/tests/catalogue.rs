//! What holds for every row of the catalogue.

use std::collections::BTreeSet;

use chash_compat::{ParamValues, SYSTEMS, ServerRow, System};
use chash_core::{BuildError, Change, Distributor, DistributorExt as _, Node, NodeId};

fn rows(count: u32) -> Vec<ServerRow> {
    Node::numbered(count).into_iter().map(ServerRow::new).collect()
}

fn build(system: &System, count: u32) -> Box<dyn Distributor> {
    system.build(&[], rows(count)).unwrap_or_else(|error| panic!("{}: {error}", system.name))
}

#[test]
fn names_are_unique_and_found() {
    let names: BTreeSet<&str> = SYSTEMS.iter().map(|system| system.name).collect();
    assert_eq!(names.len(), SYSTEMS.len());
    for name in names {
        assert_eq!(System::named(name).unwrap().name, name);
    }
    assert!(System::named("compat.nginx").is_none());
}

/// The specs describe the parameters truly: every word and both ends of every range are accepted by
/// themselves or need another parameter, and what lies outside is refused with the spec's own words.
#[test]
fn parameters_are_what_their_specs_say() {
    for system in SYSTEMS {
        for spec in system.params {
            let refused = BuildError::Parameter { name: spec.name, requirement: spec.requirement };
            let read = |value: &str| system.hasher(&[(spec.name, value)]).map(|_| ());
            assert_eq!(read(spec.default), Ok(()), "{}: {}", system.name, spec.name);
            match spec.values {
                ParamValues::Choice(words) => {
                    assert_eq!(spec.default, words[0]);
                    for word in words {
                        assert!(spec.requirement.contains(word), "{}: {}", system.name, spec.name);
                        // `balance=url_param` alone lacks the name of the parameter.
                        assert!(read(word).is_ok() || *word == "url_param", "{}: {word}", system.name);
                    }
                    assert_eq!(read("no such word"), Err(refused.clone()));
                }
                ParamValues::Integer(least, most) => {
                    if let Some(below) = least.checked_sub(1) {
                        assert_eq!(read(&below.to_string()), Err(refused.clone()));
                    }
                    assert_eq!(read(&(most + 1).to_string()), Err(refused.clone()));
                    for wrong in ["", "x", "-1", "1.5"] {
                        assert_eq!(read(wrong), Err(refused.clone()), "{}: {}", system.name, spec.name);
                    }
                }
                other => assert_eq!(other, ParamValues::Text),
            }
        }
        let unlisted = BuildError::Parameter {
            name: "parameters",
            requirement: "names of the system's list, each once",
        };
        assert_eq!(system.hasher(&[("no such parameter", "1")]).unwrap_err(), unlisted);
        if let Some(spec) = system.params.first() {
            let twice = [(spec.name, spec.default), (spec.name, spec.default)];
            assert_eq!(system.hasher(&twice).unwrap_err(), unlisted);
        }
    }
}

/// A key's bytes and its hash find the same node, where 64 bits hold the hash or nearly so.
#[test]
fn hashes_and_bytes_agree() {
    for system in SYSTEMS {
        let (placement, hasher) = (build(system, 20), system.hasher(&[]).unwrap());
        let by_bytes = placement.as_byte_keyed().unwrap();
        for i in 0..2000 {
            let key = format!("product:{i}");
            let found = placement.locate(&*hasher, key.as_bytes());
            assert_eq!(by_bytes.lookup_bytes(key.as_bytes()), found, "{}: {key}", system.name);
        }
    }
}

/// The estimate is within 5 per cent of what is held. Names end in a letter: points that coincide, as
/// those of `node-1` and `node-11` do where no boundary stands before their number, are counted twice.
#[test]
fn estimates_are_close() {
    for system in SYSTEMS {
        for count in [1, 10, 500] {
            let node = |id| ServerRow::new(Node::new(NodeId(id), format!("node-{id}-a")));
            let rows: Vec<ServerRow> = (0..count).map(node).collect();
            let estimate = system.estimate_bytes(&[], &rows).unwrap() as f64;
            let held = system.build(&[], rows).unwrap().footprint().total_bytes() as f64;
            assert!((estimate / held - 1.0).abs() < 0.05, "{}: {estimate} for {held} bytes", system.name);
        }
        assert_eq!(system.estimate_bytes(&[], &[]), Ok(0), "{}", system.name);
    }
}

/// Many changes at once end where a fresh build begins, and the first refused one names the error.
#[test]
fn changes_at_once_equal_a_fresh_build() {
    let keys: Vec<u64> = (0..2000).map(chash_core::mix::mix64).collect();
    for system in SYSTEMS {
        let mut placement = build(system, 5);
        let late: Vec<Change> = Node::numbered(12).into_iter().skip(5).map(Change::Add).collect();
        placement.apply(&late).unwrap();
        assert_eq!(placement.lookup_all(&keys), build(system, 12).lookup_all(&keys), "{}", system.name);
        let leave: Vec<Change> = (3..12).rev().map(|id| Change::Remove(NodeId(id))).collect();
        placement.apply(&leave).unwrap();
        assert_eq!(placement.lookup_all(&keys), build(system, 3).lookup_all(&keys), "{}", system.name);
        let refused = placement.apply(&[leave[0].clone(), Change::Remove(NodeId(0))]);
        assert_eq!(refused, Err(chash_core::MembershipError::UnknownNode), "{}", system.name);
        assert_eq!(placement.lookup_all(&keys), build(system, 3).lookup_all(&keys), "{}", system.name);
    }
}
