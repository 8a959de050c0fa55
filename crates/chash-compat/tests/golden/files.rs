//! One recording against the placement its description builds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chash_compat::cassandra::{composite_key, murmur3_token, random_token};
use chash_compat::{ServerRow, System, envoy};
use chash_core::{Distributor, DistributorExt as _, Node, NodeId};
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
        .filter_map(|entry| {
            entry.unwrap().file_name().into_string().ok()?.strip_suffix(".csv").map(str::to_owned)
        })
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
        first_mismatch: wrong
            .map(|at| format!("row {at}: {}, {:?}", answers[at].as_ref().unwrap_err(), rows[at])),
        file: name,
    }
}

fn answers(directory: &Path, configs: &BTreeMap<String, Value>, name: &str, rows: &[Record]) -> Vec<Answer> {
    // Some files belong to the configuration of another one.
    let mut owners =
        ["-table", "-ring", "-counts", "-150-counts"].iter().filter_map(|suffix| name.strip_suffix(suffix));
    let config = configs.get(name).filter(|config| config.get("system").is_some());
    let dumped = |config: &Value| {
        let of = config.get("ring_dump").or(config.get("table_dump"))?;
        configs.get(of.as_str()?)
    };
    let config = config.and_then(|config| dumped(config).or(Some(config)));
    let config = config
        .or_else(|| owners.find_map(|owner| configs.get(owner)))
        .unwrap_or_else(|| panic!("no description of {name}"));
    let system = config["system"].as_str().unwrap();
    let columns: Vec<&str> = rows[0].keys().map(|column| &**column).collect();
    match (system, name) {
        ("libmemcached", "libmemcached-hashes") => rows.iter().map(memcached_hashes).collect(),
        ("redis", "redis-keyslot") => rows.iter().map(redis_slot).collect(),
        ("redis", "redis-create-ranges") => rows.iter().map(redis_range).collect(),
        ("jump", _) => rows.iter().map(guava).collect(),
        ("ex_hash_ring", _) => with_replicas(&Setup::read(config), rows),
        ("sha1-ring-32" | "sha1-ring-64", _) if name.ends_with("-counts") => counts(config, rows),
        ("sha1-ring-32" | "sha1-ring-64", _) => sha1_rings(config, rows),
        ("cassandra", _) => cassandra(directory, config, &columns, rows),
        _ if columns.contains(&"slot") => by_slot(&Setup::read(config), rows),
        _ if columns.contains(&"position") => by_arc(&Setup::read(config), rows),
        _ if columns.contains(&"step") => in_flight(&Setup::read(config), rows),
        _ if columns.contains(&"tenant") => two_headers(&Setup::read(config), rows),
        _ => by_key(&Setup::read(config), rows),
    }
}

fn key(row: &Record) -> Vec<u8> {
    let digits = &row["key_hex"];
    let key = bytes(digits);
    assert!(row["key"].is_empty() || row["key"].as_bytes() == key);
    key
}

fn bytes(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2));
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    hex.as_bytes().chunks(2).map(byte).collect()
}

fn equal(answer: &str, recorded: &str) -> Answer {
    if answer == recorded { Ok(()) } else { Err(format!("answered {answer}")) }
}

/// The usual file: a key and its server, by the key's bytes and by its hash.
fn by_key(setup: &Setup, rows: &[Record]) -> Vec<Answer> {
    let placement = setup.build();
    let by_bytes = placement.as_byte_keyed().unwrap();
    let answer = |row: &Record| {
        let key = row.get("source_ip").map_or_else(|| key(row), |address| address.as_bytes().to_vec());
        let found = by_bytes.lookup_bytes(&key);
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
        equal(&hasher.hash_key(&key(row)).to_string(), recorded)
            .map_err(|answer| format!("{hash}: {answer}"))?;
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
                let node = Node::new(NodeId(5), "redis-6");
                list.push(ServerRow::new(node));
            }
            _ => {}
        }
        if let Some(points) =
            column.strip_prefix("server_").and_then(|rest| rest.split('_').next()?.parse::<u32>().ok())
        {
            setup.set("points", points.to_string());
        }
        setup.with_rows(list)
    };
    let columns: Vec<&str> =
        rows[0].keys().map(|column| &**column).filter(|column| column.starts_with("server")).collect();
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
            equal(setup.name(placement.lookup(hash)), &row[*column])
                .map_err(|answer| format!("{column}: {answer}"))?;
        }
        Ok(())
    };
    rows.iter().map(answer).collect()
}

/// How many of the keys `product:0`, `product:1`, … each node owns, and how many move from where to where.
fn counts(config: &Value, rows: &[Record]) -> Vec<Answer> {
    let keys: u32 = rows[0]["keys"].parse().unwrap();
    let node = |i: u32| ServerRow::new(Node::new(NodeId(i - 1), format!("redis-{i}")));
    let owners = |list: &[u32]| {
        let mut setup = Setup::read(config);
        if config["system"] == "sha1-ring-64" {
            setup.set("points", "150");
        }
        let setup = setup.with_rows(list.iter().map(|i| node(*i)).collect());
        let (placement, hasher) = (setup.build(), setup.hasher());
        let key = |i| format!("product:{i}");
        (0..keys).map(|i| placement.locate(&*hasher, key(i).as_bytes()).0 + 1).collect::<Vec<u32>>()
    };
    let before = owners(&[1, 2, 3, 4, 5]);
    let fewer = owners(&[1, 2, 4, 5]);
    let more = owners(&[1, 2, 3, 4, 5, 6]);
    let number = |text: &str| text.strip_prefix("redis-").unwrap().parse::<u32>().unwrap();
    let answer = |row: &Record| {
        let to = number(&row["to"]);
        let count = match (&*row["metric"], &*row["nodes"]) {
            ("owned", nodes) => {
                let owners = match nodes {
                    "redis-1..redis-5" => &before,
                    "redis-1..redis-5 without redis-3" => &fewer,
                    "redis-1..redis-6" => &more,
                    other => panic!("nodes {other}"),
                };
                owners.iter().filter(|owner| **owner == to).count()
            }
            ("moved", change) => {
                let after = if change == "removing redis-3" { &fewer } else { &more };
                let from = number(&row["from"]);
                before.iter().zip(after).filter(|(a, b)| **a == from && **b == to).count()
            }
            (other, _) => panic!("metric {other}"),
        };
        equal(&count.to_string(), &row["count"])
    };
    rows.iter().map(answer).collect()
}

fn redis_slot(row: &Record) -> Answer {
    equal(&chash_compat::redis::key_slot(&key(row)).to_string(), &row["slot"])
}

fn redis_range(row: &Record) -> Answer {
    let ranges = chash_compat::redis::create_ranges(row["masters"].parse().unwrap());
    let (first, last) = ranges[row["index"].parse::<usize>().unwrap()].unwrap();
    equal(&first.to_string(), &row["first_slot"])?;
    equal(&last.to_string(), &row["last_slot"])
}

fn guava(row: &Record) -> Answer {
    let (key, buckets) = (row["key_u64"].parse().unwrap(), row["buckets"].parse().unwrap());
    equal(&chash_compat::guava::consistent_hash(key, buckets).to_string(), &row["guava"])
}

/// A whole table of slots; the hash of a key is its slot here.
fn by_slot(setup: &Setup, rows: &[Record]) -> Vec<Answer> {
    let placement = setup.build();
    let answer = |row: &Record| {
        let found = placement.lookup(row["slot"].parse().unwrap());
        let of_node = &setup.rows[found.index()];
        let recorded =
            ["server", "endpoint", "backend_id"].iter().find_map(|column| row.get(*column)).unwrap();
        let name =
            if row.contains_key("backend_id") { of_node.column("id").unwrap() } else { setup.name(found) };
        equal(name, recorded)
    };
    rows.iter().map(answer).collect()
}

/// A whole ring: each point owns itself and everything after the point before it.
fn by_arc(setup: &Setup, rows: &[Record]) -> Vec<Answer> {
    let placement = setup.build();
    let hash = |row: &Record| row["hash"].parse::<u64>().unwrap();
    let answer = |(index, row): (usize, &Record)| {
        let before = &rows[index.checked_sub(1).unwrap_or(rows.len() - 1)];
        let (first, last) = (hash(before).wrapping_add(1), hash(row));
        equal(setup.name(placement.lookup(first)), &row["server"])?;
        equal(setup.name(placement.lookup(last)), &row["server"])
    };
    rows.iter().enumerate().map(answer).collect()
}

/// Requests that begin, stay open and end.
fn in_flight(setup: &Setup, rows: &[Record]) -> Vec<Answer> {
    let (mut placement, hasher) = (setup.build(), setup.hasher());
    let loads = placement.as_load_aware().unwrap();
    let mut begun = BTreeMap::new();
    let mut answers = Vec::new();
    for row in rows {
        let answer = match &*row["op"] {
            "begin" => {
                let (id, _) = loads.assign(hasher.hash_key(&key(row)));
                begun.insert(row["step"].clone(), id);
                equal(setup.name(id), &row["server"])
            }
            "end" => {
                let id = begun[&row["begun_at_step"]];
                loads.release(id).unwrap();
                equal(setup.name(id), &row["server"])
            }
            other => panic!("operation {other}"),
        };
        answers.push(answer);
    }
    answers
}

/// A key of two headers, the first of which may be absent.
fn two_headers(setup: &Setup, rows: &[Record]) -> Vec<Answer> {
    let placement = setup.build();
    let answer = |row: &Record| {
        let (tenant, key) = (row["tenant"].as_bytes(), key(row));
        let hash = envoy::request_hash([(!tenant.is_empty()).then_some(tenant), Some(&key)]).unwrap();
        equal(setup.name(placement.lookup(hash)), &row["server"])
    };
    rows.iter().map(answer).collect()
}

/// Tokens, token rings and replicas.
fn cassandra(directory: &Path, config: &Value, columns: &[&str], rows: &[Record]) -> Vec<Answer> {
    let random = config["partitioner"] == "RandomPartitioner";
    let token =
        |key: &[u8]| if random { random_token(key).to_string() } else { murmur3_token(key).to_string() };
    if columns.contains(&"parts_hex") {
        let composite = |row: &Record| {
            let parts: Vec<Vec<u8>> = row["parts_hex"].split(':').map(bytes).collect();
            let key = composite_key(&parts.iter().map(|part| &**part).collect::<Vec<&[u8]>>());
            if key != bytes(&row["routing_key_hex"]) {
                return Err(format!("serialised as {key:?}"));
            }
            equal(&token(&key), &row["token"])
        };
        return rows.iter().map(composite).collect();
    }
    if config.get("ring_file").is_none() {
        return rows.iter().map(|row| equal(&token(&key(row)), &row["token"])).collect();
    }
    let ring = records(&directory.join(config["ring_file"].as_str().unwrap()));
    if columns.contains(&"node") {
        let setup = cluster(config, &ring);
        let placement = setup.build();
        let owner = |row: &Record| {
            let token = row["token"].parse::<i64>().unwrap().cast_unsigned();
            equal(setup.name(placement.lookup(token)), &row["node"])
        };
        return rows.iter().map(owner).collect();
    }
    let strategies = config["strategies"].as_object().unwrap();
    let keyspace = |(column, strategy): (&String, &Value)| {
        let mut setup = cluster(config, &ring);
        let fields = strategy.as_object().unwrap().iter();
        let factors: Vec<(&String, u64)> =
            fields.filter_map(|(name, value)| Some((name, value.as_u64()?))).collect();
        if strategy["class"] == "NetworkTopologyStrategy" {
            let texts: Vec<String> = factors.iter().map(|(dc, factor)| format!("{dc}:{factor}")).collect();
            setup.set("replication", texts.join("+"));
        }
        let replicas: u64 = factors.iter().map(|(_, factor)| factor).sum();
        let placement = setup.build();
        (column.clone(), replicas as usize, setup, placement)
    };
    let keyspaces: Vec<(String, usize, Setup, Box<dyn Distributor>)> =
        strategies.iter().map(keyspace).collect();
    let answer = |row: &Record| {
        let key = key(row);
        equal(&token(&key), &row["token"])?;
        for (column, replicas, setup, placement) in &keyspaces {
            let mut out = vec![NodeId::default(); *replicas];
            let hash = setup.hasher().hash_key(&key);
            let found = placement.as_replicated().unwrap().replicas(hash, &mut out);
            let names: Vec<&str> = out[..found].iter().map(|id| setup.name(*id)).collect();
            equal(&names.join(" "), &row[column]).map_err(|answer| format!("{column}: {answer}"))?;
            let first = placement.as_byte_keyed().unwrap().lookup_bytes(&key);
            equal(setup.name(first), names[0])?;
        }
        Ok(())
    };
    rows.iter().map(answer).collect()
}

/// The nodes of a token ring, each with its tokens.
fn cluster(config: &Value, ring: &[Record]) -> Setup {
    let mut tokens: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for row in ring {
        tokens.entry(&row["node"]).or_default().push(row);
    }
    let mut rows = Vec::new();
    for ((name, records), id) in tokens.into_iter().zip(0..) {
        let tokens: Vec<&str> = records.iter().map(|record| &*record["token"]).collect();
        let node = ServerRow::new(Node::new(NodeId(id), name)).with("tokens", tokens.join(" "));
        rows.push(node.with("dc", &*records[0]["dc"]).with("rack", &*records[0]["rack"]));
    }
    Setup::read(config).with_rows(rows)
}
