//! One recording against the placement its description builds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chash_compat::System;
use chash_core::NodeId;
use serde_json::Value;

use super::config::Setup;

/// How a file went.
pub(crate) struct Outcome {
    pub(crate) file: String,
    pub(crate) matched: usize,
    pub(crate) rows: usize,
    pub(crate) first_mismatch: Option<String>,
}

/// The rows of a CSV: column name to text.
type Record = BTreeMap<String, String>;

/// What a row must equal and does: `Ok`, or what was answered instead.
type Answer = Result<(), String>;

fn directory() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    std::env::var_os("CHASH_GOLDEN_DIR").map_or_else(default, PathBuf::from)
}

fn records(path: &Path) -> Vec<Record> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

/// Checks every CSV of the directory.
pub(crate) fn check_all() -> Vec<Outcome> {
    let directory = directory();
    let configs = std::fs::read_to_string(directory.join("configs.json")).unwrap();
    let configs: BTreeMap<String, Value> = serde_json::from_str(&configs).unwrap();
    let mut names: Vec<String> = std::fs::read_dir(&directory)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok()?.strip_suffix(".csv").map(str::to_owned))
        .collect();
    names.sort();
    names.into_iter().map(|name| check_file(&directory, &configs, name)).collect()
}

fn check_file(directory: &Path, configs: &BTreeMap<String, Value>, name: String) -> Outcome {
    let rows = records(&directory.join(format!("{name}.csv")));
    let answers = answers(directory, configs, &name, &rows);
    assert_eq!(answers.len(), rows.len(), "{name}: one answer a row");
    let wrong = answers.iter().position(Result::is_err);
    Outcome {
        matched: answers.iter().filter(|answer| answer.is_ok()).count(),
        rows: rows.len(),
        first_mismatch: wrong.map(|at| format!("row {at}: {}, {:?}", answers[at].as_ref().unwrap_err(), rows[at])),
        file: name,
    }
}

fn answers(directory: &Path, configs: &BTreeMap<String, Value>, name: &str, rows: &[Record]) -> Vec<Answer> {
    let _ = directory;
    let Some(config) = configs.get(name) else { panic!("no description of {name}") };
    let system = config["system"].as_str().unwrap_or_default();
    match (system, name) {
        ("libmemcached", "libmemcached-hashes") => rows.iter().map(memcached_hashes).collect(),
        ("ex_hash_ring", _) => with_replicas(&Setup::read(config), rows),
        ("sha1-ring-32" | "sha1-ring-64", _) => sha1_rings(config, rows),
        _ => by_key(&Setup::read(config), rows),
    }
}

fn key(row: &Record) -> Vec<u8> {
    let digits = row["key_hex"].as_bytes();
    assert!(digits.len().is_multiple_of(2));
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let key: Vec<u8> = digits.chunks(2).map(byte).collect();
    assert!(row["key"].is_empty() || row["key"].as_bytes() == key);
    key
}

fn equal(answer: &str, recorded: &str) -> Answer {
    if answer == recorded { Ok(()) } else { Err(format!("answered {answer}")) }
}

/// The usual file: a key and its server, by the key's bytes and by its hash.
fn by_key(setup: &Setup, rows: &[Record]) -> Vec<Answer> {
    let placement = setup.build();
    let by_bytes = placement.as_byte_keyed().unwrap();
    let answer = |row: &Record| {
        let found = by_bytes.lookup_bytes(&key(row));
        if let Some(index) = row.get("index") {
            equal(&found.to_string(), index)?;
        }
        equal(setup.name(found), row.get("server").or(row.get("node")).unwrap())
    };
    rows.iter().map(answer).collect()
}

/// A key's value under every hash function, each in a column of its name.
fn memcached_hashes(row: &Record) -> Answer {
    let libmemcached = System::named("libmemcached").unwrap();
    let columns = row.iter().filter(|(column, _)| !column.starts_with("key"));
    let mut count = 0;
    for (hash, recorded) in columns {
        let hasher = libmemcached.hasher(&[("hash", hash)]).unwrap();
        equal(&hasher.hash_key(&key(row)).to_string(), recorded).map_err(|answer| format!("{hash}: {answer}"))?;
        count += 1;
    }
    assert_eq!(count, 10);
    Ok(())
}

/// The first three nodes of a key, empty where there are fewer.
fn with_replicas(setup: &Setup, rows: &[Record]) -> Vec<Answer> {
    let (placement, hasher) = (setup.build(), setup.hasher());
    let replicated = placement.as_replicated().unwrap();
    let answer = |row: &Record| {
        let mut nodes = [NodeId::default(); 3];
        let hash = hasher.hash_key(&key(row));
        let found = replicated.replicas(hash, &mut nodes);
        for (rank, column) in ["node", "node_2", "node_3"].into_iter().enumerate() {
            let name = if rank < found { setup.name(nodes[rank]) } else { "" };
            equal(name, &row[column]).map_err(|answer| format!("{column}: {answer}"))?;
        }
        Ok(())
    };
    rows.iter().map(answer).collect()
}

/// One placement for each column, and the key's hash itself.
fn sha1_rings(config: &Value, rows: &[Record]) -> Vec<Answer> {
    let setup = |column: &str| {
        let mut setup = Setup::read(config);
        let mut list = std::mem::take(&mut setup.rows);
        match column {
            "server_without_redis3" | "server_100_without_redis3" => {
                list.remove(2);
                for (row, id) in list.iter_mut().zip(0..) {
                    row.node.id = NodeId(id);
                }
            }
            "server_with_redis6" => {
                let node = chash_core::Node::new(NodeId(5), "redis-6");
                list.push(chash_compat::ServerRow::new(node));
            }
            _ => {}
        }
        if let Some(points) = column.strip_prefix("server_").and_then(|rest| rest.split('_').next()?.parse::<u32>().ok()) {
            setup.set("points", points.to_string());
        }
        setup.with_rows(list)
    };
    let columns: Vec<&str> = rows[0].keys().map(|column| &**column).filter(|column| column.starts_with("server")).collect();
    let setups: Vec<(&str, Setup)> = columns.iter().map(|column| (*column, setup(column))).collect();
    let placements: Vec<_> = setups.iter().map(|(column, setup)| (*column, setup, setup.build())).collect();
    let hasher = setups[0].1.hasher();
    let answer = |row: &Record| {
        let hash = hasher.hash_key(&key(row));
        if let Some(recorded) = row.get("hash_u32") {
            equal(&hash.to_string(), recorded)?;
        }
        if let Some(recorded) = row.get("hash_i64") {
            equal(&hash.cast_signed().to_string(), recorded)?;
        }
        for (column, setup, placement) in &placements {
            equal(setup.name(placement.lookup(hash)), &row[*column]).map_err(|answer| format!("{column}: {answer}"))?;
        }
        Ok(())
    };
    rows.iter().map(answer).collect()
}
