//! Deployed systems through the program: recorded answers, and commands that agree with one another.
//!
//! The recorded rows are copied from `crates/chash-compat/tests/data`, whose README says where they come from.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::{chash, run_in, stderr, stdout};
use tempfile::tempdir;

/// Of `nginx-consistent-3.csv`.
const NGINX: [(&str, &str); 10] = [
    ("product:7", "127.0.0.1:8003"),
    ("product:191", "127.0.0.1:8001"),
    ("product:369", "127.0.0.1:8001"),
    ("product:559", "127.0.0.1:8003"),
    ("user:273058604", "127.0.0.1:8001"),
    ("95b22c76-26dc-a4ed-f57b-c7003bf39bc0", "127.0.0.1:8001"),
    ("/images/1224/a.png?v=19", "127.0.0.1:8003"),
    ("session_c509e7a437516336c3c2fea90d519863cc301ab8", "127.0.0.1:8001"),
    ("bob.8878@mail5.example", "127.0.0.1:8002"),
    ("5", "127.0.0.1:8002"),
];

const NGINX_NODES: &str = "name\n127.0.0.1:8001\n127.0.0.1:8002\n127.0.0.1:8003\n";

/// Of `envoy-ring_hash-5-weighted.csv`.
const ENVOY: [(&str, &str); 10] = [
    ("product:6", "127.0.3.5:8080"),
    ("product:190", "127.0.3.5:8080"),
    ("product:367", "127.0.3.3:8080"),
    ("product:558", "127.0.3.5:8080"),
    ("user:912339622", "127.0.3.5:8080"),
    ("1300549f-2c69-6218-97aa-da4245e7f299", "127.0.3.5:8080"),
    ("/images/2710/b.png?v=27", "127.0.3.5:8080"),
    ("session_0daa70df4164a33384a6854aa78b0da923270131", "127.0.3.5:8080"),
    ("li.6066@mail6.example", "127.0.3.5:8080"),
    ("Q", "127.0.3.5:8080"),
];

/// Of `libmemcached-ketama-weighted-5-weights.csv`.
const LIBMEMCACHED: [(&str, &str); 10] = [
    ("product:8", "10.0.1.5:11211"),
    ("product:192", "10.0.1.5:11211"),
    ("product:370", "10.0.1.4:11211"),
    ("product:560", "10.0.1.3:11211"),
    ("user:367068023", "10.0.1.5:11211"),
    ("2b8a5470-04df-65f9-fc52-5adb5be23087", "10.0.1.2:11211"),
    ("/images/370/thumb.png?v=19", "10.0.1.5:11211"),
    ("session_c4641b8f55b3b39adb43bc3a700fcec82f02edf4", "10.0.1.3:11211"),
    ("eve.921@mail0.example", "10.0.1.2:11211"),
    ("6", "10.0.1.5:11211"),
];

/// Of `redis-keyslot.csv`: slots 12090, 6365, 2604, 1435, 13573, 12764, 5738, 264, 13747 and 4015; and of
/// `redis-create-ranges.csv`: three masters have 0-5460, 5461-10922 and 10923-16383.
const REDIS: [(&str, &str); 10] = [
    ("}", "c"),
    ("{user4082}.following", "b"),
    ("{user2774}.cart", "a"),
    ("order:{120166}:9", "a"),
    ("order:{336934}:86", "c"),
    ("aa}b", "c"),
    ("aa{}bb}}}a}", "b"),
    ("product:9", "a"),
    ("product:101", "c"),
    ("product:195", "a"),
];

/// Of `haproxy-bounded-125-crc32-6-weighted.csv`: the requests before the first one ends.
const HAPROXY: [(&str, &str); 5] = [
    ("product:614", "s6"),
    ("session_7be568be9f67d2aa082c2788e99f1f73ab9b89ae", "s3"),
    ("product:33", "s6"),
    ("product:23", "s5"),
    ("product:3", "s2"),
];

const HAPROXY_NODES: &str = "name,weight,id\ns1,1,1\ns2,2,2\ns3,3,3\ns4,1,4\ns5,5,5\ns6,10,6\n";

fn pairs(csv: &str) -> Vec<(String, String)> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    reader.records().map(|row| row.unwrap()).map(|row| (row[0].to_owned(), row[1].to_owned())).collect()
}

fn place(dir: &Path, arguments: &str) -> Vec<(String, String)> {
    let output = chash(dir, &format!("place {arguments}"));
    assert!(output.status.success(), "{arguments}: {}", stderr(&output));
    pairs(&stdout(&output))
}

#[test]
fn place_gives_the_recorded_servers() {
    let dir = tempdir().unwrap();
    let weighted = |prefix: &str, port: u16| {
        let rows = [1, 2, 3, 5, 10].iter().enumerate();
        let rows: String = rows.map(|(at, weight)| format!("{prefix}{}:{port},{weight}\n", at + 1)).collect();
        format!("name,weight\n{rows}")
    };
    let cases: [(&str, &str, &[(&str, &str)]); 5] = [
        ("compat.nginx", NGINX_NODES, &NGINX),
        ("compat.envoy", &weighted("127.0.3.", 8080), &ENVOY),
        ("compat.libmemcached:distribution=ketama_weighted", &weighted("10.0.1.", 11211), &LIBMEMCACHED),
        ("compat.redis", "name,slots\na,0-5460\nb,5461-10922\nc,10923-16383\n", &REDIS),
        ("compat.haproxy:function=crc32,avalanche=yes,balance_factor=125", HAPROXY_NODES, &HAPROXY),
    ];
    for (spec, nodes, recorded) in cases {
        fs::write(dir.path().join("nodes.csv"), nodes).unwrap();
        let keys: String = recorded.iter().map(|(key, _)| format!("{key}\n")).collect();
        fs::write(dir.path().join("keys"), keys).unwrap();
        let found = place(dir.path(), &format!("--algorithm {spec} --nodes nodes.csv --keys keys"));
        let found: Vec<(&str, &str)> = found.iter().map(|(key, node)| (&**key, &**node)).collect();
        assert_eq!(found, recorded, "{spec}");
    }
}

/// Where loads are counted, requests for one hot key go on to other servers as soon as the first is full.
#[test]
fn place_counts_arrivals() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("keys"), "hot\n".repeat(40)).unwrap();
    let owners = |spec: &str| {
        let mut loads: BTreeMap<String, u64> = BTreeMap::new();
        for (_, node) in place(dir.path(), &format!("--algorithm {spec} --nodes 4 --keys keys")) {
            *loads.entry(node).or_default() += 1;
        }
        loads
    };
    for (bounded, unbounded) in [
        ("compat.haproxy:balance_factor=150", "compat.haproxy"),
        ("compat.envoy:balance_factor=150", "compat.envoy"),
        ("bounded:factor=1.5", "ring"),
    ] {
        assert_eq!(owners(unbounded).into_values().collect::<Vec<_>>(), [40], "{unbounded}");
        let loads = owners(bounded);
        // 1.5 times the mean of 10, and one more where the limit is asked before the request counts.
        assert!(loads.len() > 1 && loads.values().all(|load| *load <= 16), "{bounded}: {loads:?}");
    }
}

/// A server that is down is a column of the list: `move` counts what two placements show.
#[test]
fn move_agrees_with_two_placements() {
    let dir = tempdir().unwrap();
    let (before, after) = ("before.csv", "after.csv");
    fs::write(dir.path().join(before), NGINX_NODES).unwrap();
    let down = "name,state\n127.0.0.1:8001,\n127.0.0.1:8002,down\n127.0.0.1:8003,\n";
    fs::write(dir.path().join(after), down).unwrap();
    let keys = "--keys 3000 --key-format product:{}";
    for method in ["consistent", "plain"] {
        let spec = format!("compat.nginx:method={method}");
        let owners = |nodes: &str| place(dir.path(), &format!("--algorithm {spec} --nodes {nodes} {keys}"));
        let mut lost: BTreeMap<String, u64> = BTreeMap::new();
        for ((_, old), (_, new)) in owners(before).into_iter().zip(owners(after)) {
            assert_ne!(new, "127.0.0.1:8002", "it is down");
            *lost.entry(old.clone()).or_default() += u64::from(old != new);
        }
        assert!(lost["127.0.0.1:8002"] > 0);
        let arguments = format!("move --algorithm {spec} --before {before} --after {after} {keys}");
        let output = chash(dir.path(), &format!("{arguments} --format csv --quiet"));
        let mut reader = csv::Reader::from_reader(&output.stdout[..]);
        assert_eq!(&reader.headers().unwrap()[2], "keys_lost");
        let rows = reader.records().map(|row| row.unwrap());
        let moved: BTreeMap<String, u64> =
            rows.map(|row| (row[0].to_owned(), row[2].parse().unwrap())).collect();
        assert_eq!(moved, lost, "{method}");
    }
}

/// `run` counts what `place` shows, and says whose hash it was.
#[test]
fn run_agrees_with_place() {
    let dir = tempdir().unwrap();
    let down = "name,state\n127.0.0.1:8001,\n127.0.0.1:8002,down\n127.0.0.1:8003,\n127.0.0.1:8004,\n";
    fs::write(dir.path().join("nodes.csv"), down).unwrap();
    let keys: String = (0..2000).map(|id| format!("/page/{id}\n")).collect();
    fs::write(dir.path().join("keys"), keys).unwrap();
    let metrics = "--metric node_load --metric movement --metric bounded --metric work";
    let files = "--nodes nodes.csv --keys keys";
    run_in(
        dir.path(),
        "out",
        &format!("--algorithm compat.nginx --algorithm ring {files} {metrics} --reps 1 --quiet"),
    );

    let mut reader = csv::Reader::from_path(dir.path().join("out/node_load.csv")).unwrap();
    let header = reader.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|field| field == name).unwrap();
    let mut loads: BTreeMap<(String, String), u64> = BTreeMap::new();
    for row in reader.records() {
        let row = row.unwrap();
        let hash = if &row[column("algorithm")] == "ring" { "xxh3" } else { "compat.nginx" };
        assert_eq!(&row[column("key_hash")], hash);
        if &row[column("load_kind")] == "keys" {
            let case = (row[column("algorithm")].to_owned(), row[column("node")].to_owned());
            loads.insert(case, row[column("load")].parse().unwrap());
        }
    }
    for algorithm in ["compat.nginx", "ring"] {
        let mut counted: BTreeMap<(String, String), u64> = BTreeMap::new();
        for name in ["127.0.0.1:8001", "127.0.0.1:8002", "127.0.0.1:8003", "127.0.0.1:8004"] {
            counted.insert((algorithm.to_owned(), name.to_owned()), 0);
        }
        for (_, node) in place(dir.path(), &format!("--algorithm {algorithm} {files}")) {
            *counted.get_mut(&(algorithm.to_owned(), node)).unwrap() += 1;
        }
        let found: BTreeMap<(String, String), u64> = loads
            .iter()
            .filter(|((name, _), _)| name == algorithm)
            .map(|(case, load)| (case.clone(), *load))
            .collect();
        assert_eq!(found, counted, "{algorithm}");
    }
    assert_eq!(loads[&("compat.nginx".to_owned(), "127.0.0.1:8002".to_owned())], 0);
}

/// Every system in every deterministic metric, with and without names and weights: rows are measured, or say why not.
#[test]
fn every_system_runs_under_every_metric() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("w.csv"), "name,weight\n10.0.0.1:80,1\n10.0.0.2:80,3\n").unwrap();
    let metrics = ["balance", "node_load", "movement", "bounded", "work"];
    let flags = metrics.map(|name| format!("--metric {name}")).join(" ");
    let algorithms = "--algorithm compat.* --algorithm compat.haproxy:balance_factor=125";
    let lists = "--nodes 3 --nodes w.csv --keys 500 --key-format k{} --reps 1";
    run_in(dir.path(), "out", &format!("{algorithms} {lists} {flags} --quiet"));
    for name in metrics {
        let mut reader = csv::Reader::from_path(dir.path().join(format!("out/{name}.csv"))).unwrap();
        let mut measured = 0;
        for row in reader.records() {
            let row = row.unwrap();
            assert!(["ok", "unsupported"].contains(&&row[11]), "{name}: {row:?}");
            measured += usize::from(&row[11] == "ok");
        }
        assert!(measured > 0, "{name}");
    }
}

#[test]
fn specs_of_systems_are_read_and_refused() {
    let dir = tempdir().unwrap();
    let refusals = [
        ("compat.nginx:method=none", "consistent, plain"),
        ("compat.cilium:table_size=8", "prime"),
        ("compat.twemproxy:hash_tag=abc", "two ASCII characters"),
        ("compat.haproxy:balance=url_param", "url_param"),
        ("compat.nginy", "did you mean `compat.nginx`?"),
        ("compat.x*", "no algorithm is called `compat.x*`"),
    ];
    for (spec, says) in refusals {
        let output = chash(dir.path(), &format!("run --algorithm {spec} --nodes 3 --keys 5 --dry-run"));
        assert_eq!(output.status.code(), Some(2), "{spec}");
        assert!(stderr(&output).contains(says), "{spec}: {}", stderr(&output));
    }
    let spec = chash_harness::registry::algorithm_spec("compat.twemproxy:hash_tag={}").unwrap();
    assert_eq!(spec.to_string(), "compat.twemproxy:distribution=ketama,hash=fnv1a_64,hash_tag={}");
    assert_eq!(chash_harness::registry::brief(&spec), "compat.twemproxy:hash_tag={}");
}
