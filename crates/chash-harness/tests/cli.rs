//! The program as a user meets it: what it prints, how it ends, and what it says of every mistake.

mod common;

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use common::{chash, chash_words, run_in, stderr, stdout};
use tempfile::tempdir;

#[test]
fn list_names_every_row_of_the_registry() {
    let dir = tempdir().unwrap();
    let text = stdout(&chash(dir.path(), "list"));
    let names = chash_harness::registry::ALGORITHMS.iter().map(|row| row.name);
    let names = names.chain(chash_harness::registry::WORKLOADS.iter().map(|row| row.name));
    let names = names.chain(chash_harness::registry::METRICS.iter().map(|row| row.name));
    for name in names.chain(chash_harness::plan::PRESETS.iter().map(|(name, _)| *name)) {
        assert!(text.contains(&format!("\n  {name} ")), "{name} is not listed:\n{text}");
    }
    let csv = stdout(&chash(dir.path(), "list --format csv --filter ring"));
    assert!(csv.starts_with("kind,name,summary,"));
}

#[test]
fn place_writes_a_row_for_each_key_in_order() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("keys"), b"b\n\na,\"q\"\n\xff\xfe\n last").unwrap();
    let output = chash(dir.path(), "place --algorithm ring --nodes 3 --keys keys");
    let mut reader = csv::Reader::from_reader(&output.stdout[..]);
    assert_eq!(reader.byte_headers().unwrap(), &csv::ByteRecord::from(vec!["key", "node"]));
    let keys: Vec<Vec<u8>> = reader.byte_records().map(|record| record.unwrap()[0].to_vec()).collect();
    assert_eq!(keys, [&b"b"[..], b"", b"a,\"q\"", b"\xff\xfe", b" last"]);
}

#[test]
fn place_does_not_depend_on_how_keys_arrive() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("raw"), "product:0\nproduct:1\nproduct:2\n").unwrap();
    fs::write(dir.path().join("hex"), "70726f647563743a30\n70726F647563743A31\n70726f647563743a32\n")
        .unwrap();
    let nodes = |arguments: &[&str]| -> Vec<String> {
        let output = chash_words(dir.path(), arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        let mut reader = csv::Reader::from_reader(&output.stdout[..]);
        reader.records().map(|record| record.unwrap()[1].to_owned()).collect()
    };
    let base = ["place", "--algorithm", "ring", "--nodes", "5"];
    let raw = nodes(&[&base[..], &["--keys", "raw"]].concat());
    assert_eq!(raw.len(), 3);
    assert_eq!(nodes(&[&base[..], &["--keys", "hex", "--key-encoding", "hex"]].concat()), raw);
    assert_eq!(nodes(&[&base[..], &["--keys", "3", "--key-format", "product:{}"]].concat()), raw);
    let mut child = Command::new(env!("CARGO_BIN_EXE_chash"))
        .args([&base[..], &["--keys", "-"]].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"product:0\nproduct:1\nproduct:2").unwrap();
    let output = child.wait_with_output().unwrap();
    let mut reader = csv::Reader::from_reader(&output.stdout[..]);
    let piped: Vec<String> = reader.records().map(|record| record.unwrap()[1].to_owned()).collect();
    assert_eq!(piped, raw);
}

#[test]
fn replicas_are_ranked_and_begin_with_the_owner() {
    let dir = tempdir().unwrap();
    let owners =
        stdout(&chash(dir.path(), "place --algorithm rendezvous --nodes 4 --keys 50 --key-format k{}"));
    let ranked = stdout(&chash(
        dir.path(),
        "place --algorithm rendezvous --nodes 4 --keys 50 --key-format k{} --replicas 9",
    ));
    let mut lines = ranked.lines();
    assert_eq!(lines.next(), Some("key,rank,node"));
    let lines: Vec<&str> = lines.collect();
    assert_eq!(lines.len(), 50 * 4, "as many as there are nodes, and no more");
    for (owner, ranks) in owners.lines().skip(1).zip(lines.chunks(4)) {
        let (key, node) = owner.split_once(',').unwrap();
        assert_eq!(ranks[0], format!("{key},1,{node}"));
    }
}

#[test]
fn move_agrees_with_two_placements() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("before.csv"), "name,weight\na,1\nb,1\nc,2\n").unwrap();
    fs::write(dir.path().join("after.csv"), "name,weight\nd,1\nc,2\na,1\n").unwrap();
    let place = |nodes: &str| -> Vec<String> {
        let output = chash(
            dir.path(),
            &format!("place --algorithm ring --nodes {nodes} --keys 20000 --key-format k{{}}"),
        );
        csv::Reader::from_reader(&output.stdout[..])
            .records()
            .map(|record| record.unwrap()[1].to_owned())
            .collect()
    };
    let (before, after) = (place("before.csv"), place("after.csv"));
    let output = chash(
        dir.path(),
        "move --algorithm ring --before before.csv --after after.csv --keys 20000 --key-format k{} --flow flow.csv --format csv",
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let mut reader = csv::Reader::from_reader(&output.stdout[..]);
    let header = reader.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|field| field == name).unwrap();
    let mut servers = Vec::new();
    for record in reader.records() {
        let record = record.unwrap();
        let count = |name: &str| record[column(name)].parse::<usize>().unwrap();
        let server = record[column("node")].to_owned();
        let pairs = || before.iter().zip(&after);
        assert_eq!(count("keys_lost"), pairs().filter(|(b, a)| **b == server && b != a).count(), "{server}");
        assert_eq!(
            count("keys_gained"),
            pairs().filter(|(b, a)| **a == server && b != a).count(),
            "{server}"
        );
        assert_eq!(count("keys_kept"), pairs().filter(|(b, a)| **b == server && b == a).count(), "{server}");
        assert_eq!(count("keys_needless"), 0, "a ring moves nothing needlessly");
        servers.push(server);
    }
    servers.sort();
    assert_eq!(servers, ["a", "b", "c", "d"]);
    let flow = fs::read_to_string(dir.path().join("flow.csv")).unwrap();
    assert!(flow.starts_with("from,to,keys,requests\n"));
    let total: usize = csv::Reader::from_reader(flow.as_bytes())
        .records()
        .map(|r| r.unwrap()[2].parse::<usize>().unwrap())
        .sum();
    assert_eq!(total, 20_000, "every key is in the flow, those that stay as well");
}

/// Each mistake: its arguments, its exit status, and what its one line must say.
#[test]
fn every_mistake_is_one_line_that_says_what_and_where() {
    let dir = tempdir().unwrap();
    let file = |name: &str, content: &[u8]| fs::write(dir.path().join(name), content).unwrap();
    file("empty", b"");
    file("header.csv", b"name,weight\n");
    file("twice.csv", b"name\na\na\n");
    file("zero.csv", b"name,weight\na,0\nb,0\n");
    file("heavy.csv", b"name,weight\na,1\nb,3\n");
    file("bad.hex", b"00ff\n0g\n");
    file("odd.hex", b"abc\n");
    file("cut.gz", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b]);
    file("counts.csv", b"key,count\na,1\nb,many\n");
    file("plan.toml", b"reps = 1\nrepz = 2\n");
    file("type.toml", b"reps = \"one\"\n");
    fs::create_dir(dir.path().join("used")).unwrap();
    file("used/run.json", b"{}");
    let ring = "place --algorithm ring --nodes 3 --keys";
    let cases: &[(&str, i32, &[&str])] = &[
        (
            "place --algorithm rinq --nodes 3 --keys 5",
            2,
            &["unknown algorithm `rinq`", "did you mean `ring`?"],
        ),
        ("place --algorithm ring:vnode=3 --nodes 3 --keys 5", 2, &["no parameter `vnode`", "`vnodes`"]),
        (
            "place --algorithm ring:vnodes=0 --nodes 3 --keys 5",
            2,
            &["`vnodes` must be a whole number from 1", "`0`"],
        ),
        ("place --algorithm ring:vnodes=1,vnodes=2 --nodes 3 --keys 5", 2, &["given twice"]),
        ("place --algorithm bounded:factor=0.9 --nodes 3 --keys 5", 2, &["`factor`", "from 1"]),
        ("place --algorithm bounded:over=jump --nodes 3 --keys 5", 2, &["`over`", "ring"]),
        ("place --algorithm maglev:table_size=65536 --nodes 3 --keys 5", 2, &["table_size", "prime"]),
        ("place --algorithm maglev:table_size=7 --nodes 8 --keys 5", 2, &["7"]),
        ("place --algorithm jump --nodes heavy.csv --keys 5", 2, &["weight"]),
        ("place --algorithm jump --nodes 3 --keys 5 --replicas 2", 2, &["--replicas", "jump"]),
        ("place --algorithm ring --nodes 3 --keys 5 --replicas 0", 2, &["--replicas", "at least 1"]),
        ("place --algorithm ring --nodes 3", 2, &["--keys"]),
        ("place --algorithm ring --nodes 0 --keys 5", 2, &["--nodes 0", "from 1 to 4294967295"]),
        ("place --algorithm ring --nodes -3 --keys 5", 2, &["-3"]),
        ("place --algorithm ring --nodes missing.csv --keys 5", 2, &["missing.csv"]),
        ("place --algorithm ring --nodes empty --keys 5", 2, &["empty", "header"]),
        ("place --algorithm ring --nodes header.csv --keys 5", 2, &["header.csv", "no nodes"]),
        ("place --algorithm ring --nodes twice.csv --keys 5", 2, &["twice.csv, line 3", "line 2"]),
        ("place --algorithm ring --nodes zero.csv --keys 5", 2, &["zero.csv", "every weight is 0"]),
        (&format!("{ring} 0"), 2, &["keys", "0"]),
        (&format!("{ring} missing.txt"), 2, &["missing.txt"]),
        (&format!("{ring} bad.hex --key-encoding hex"), 2, &["bad.hex", "line 2"]),
        (&format!("{ring} odd.hex --key-encoding hex"), 2, &["odd.hex", "line 1"]),
        (&format!("{ring} cut.gz"), 2, &["cut.gz"]),
        (&format!("{ring} counts.csv"), 2, &["counts.csv", "line 3", "many"]),
        (&format!("{ring} 5 --key-format nothing"), 2, &["key", "{}"]),
        (&format!("{ring} 5 --key-encoding base64"), 2, &["key_encoding", "hex"]),
        (&format!("{ring} 5 --key-hash sha1:seed=1"), 2, &["key hash `sha1` has no parameter `seed`"]),
        (&format!("{ring} 5 --key-hash sha2"), 2, &["unknown key hash `sha2`", "sha1"]),
        ("move --algorithm ring --before 3 --after 0 --keys 5", 2, &["0"]),
        ("run --keys empty", 2, &["empty", "no key"]),
        ("run --preset quik", 2, &["unknown preset `quik`", "`quick`"]),
        ("run --metric balanced", 2, &["balanced", "`balance`"]),
        ("run --workload zipf:s=-1", 2, &["`s`", "from 0"]),
        ("run --workload file", 2, &["file", "--keys"]),
        ("run --filter nothing-like-this", 2, &["nothing-like-this", "--dry-run"]),
        ("run --reps 0", 2, &["reps", "1 to 1000"]),
        ("run --requests few", 2, &["requests", "few"]),
        ("run plan.toml", 2, &["plan.toml, line 2, column 1", "repz"]),
        ("run type.toml", 2, &["type.toml, line 1", "expected a whole number"]),
        ("run missing.toml", 2, &["missing.toml"]),
        ("run --set timing.sample=3", 2, &["--set, line 1, column 8", "unknown field `sample`"]),
        ("run --out used", 2, &["used", "a run is there already"]),
        ("run --nodes 4000000000 --algorithm ring", 2, &["memory", "GiB"]),
        ("verify --filter nothing-like-this", 2, &["nothing-like-this"]),
        ("verify --algorithm rinq", 2, &["rinq"]),
        ("frobnicate", 2, &["frobnicate"]),
        ("place --algorithm ring --nodes 3 --keys 5 --frobnicate", 2, &["--frobnicate"]),
    ];
    for (arguments, status, needles) in cases {
        let output = chash(dir.path(), arguments);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(*status), "chash {arguments}\n{text}");
        assert!(!text.contains("panicked"), "chash {arguments}\n{text}");
        for needle in *needles {
            assert!(text.contains(needle), "chash {arguments}: {needle:?} is not in\n{text}");
        }
        let of_clap = text.starts_with("error:");
        assert!(of_clap || text.trim_end().lines().count() == 1, "chash {arguments}: not one line\n{text}");
    }
    assert!(!dir.path().join("results").exists(), "a refused run leaves nothing behind");
}

#[test]
fn keys_ending_in_a_carriage_return_are_warned_about_once() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("dos"), "a\r\nb\r\nc\n").unwrap();
    let output = chash(dir.path(), "place --algorithm ring --nodes 3 --keys dos");
    assert!(output.status.success());
    let text = stderr(&output);
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("2 keys end in a carriage return"), "{text}");
    assert_eq!(stderr(&chash(dir.path(), "place --algorithm ring --nodes 3 --keys dos --quiet")), "");
}

#[test]
fn one_node_takes_everything() {
    let dir = tempdir().unwrap();
    for row in chash_harness::registry::ALGORITHMS.iter() {
        let output = chash(
            dir.path(),
            &format!("place --algorithm {} --nodes 1 --keys 20 --key-format k{{}}", row.name),
        );
        assert!(output.status.success(), "{}: {}", row.name, stderr(&output));
        assert!(stdout(&output).lines().skip(1).all(|line| line.ends_with(",node-0")), "{}", row.name);
    }
}

/// Whoever stops reading early is no error.
#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_quietly() {
    let dir = tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_chash"))
        .args(["place", "--algorithm", "ring", "--nodes", "3", "--keys", "3000000", "--key-format", "k{}"])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
}

/// A device that is always full stands for a disk that is.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said() {
    let dir = tempdir().unwrap();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_chash"))
        .args(["place", "--algorithm", "ring", "--nodes", "3", "--keys", "50000", "--key-format", "k{}"])
        .current_dir(dir.path())
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).starts_with("chash: standard output: "), "{}", stderr(&output));
}

#[test]
fn verify_passes_and_says_what_does_not_apply() {
    let dir = tempdir().unwrap();
    let output = chash(dir.path(), "verify --algorithm jump --algorithm modulo --format csv");
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("algorithm,law,verdict,why\n"));
    assert!(text.contains(",passed,"));
    for line in text.lines().filter(|line| line.contains(",not applicable,")) {
        assert!(!line.ends_with(','), "no reason: {line}");
    }
}

#[test]
fn dry_run_prints_the_cases_and_writes_nothing() {
    let dir = tempdir().unwrap();
    let output = chash(dir.path(), "run --dry-run --nodes 10 --set reps=1 --filter ring");
    assert!(output.status.success());
    let text = stdout(&output);
    assert!(text.lines().filter(|line| line.starts_with("balance ring:")).count() >= 2, "{text}");
    assert!(text.lines().last().unwrap().starts_with("all, on "), "{text}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_default_directory_is_dated_and_never_reused() {
    let dir = tempdir().unwrap();
    for _ in 0..2 {
        let output = chash(
            dir.path(),
            "run --nodes 3 --keys 100 --requests 100 --reps 1 --metric balance --algorithm ring",
        );
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let mut names: Vec<String> = fs::read_dir(dir.path().join("results"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names[0].ends_with("-quick") && names[1].ends_with("-quick-2"), "{names:?}");
}

#[test]
fn a_word_list_is_a_workload_of_its_own() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("words.txt"), "x\ny\nx\nz\nx\n").unwrap();
    run_in(
        dir.path(),
        "out",
        "--keys words.txt --nodes 3 --reps 1 --metric balance --algorithm ring --quiet",
    );
    let mut reader = csv::Reader::from_path(dir.path().join("out/balance.csv")).unwrap();
    let header = reader.headers().unwrap().clone();
    for record in reader.records() {
        let record = record.unwrap();
        let field = |name: &str| record[header.iter().position(|h| h == name).unwrap()].to_owned();
        assert_eq!((field("keys"), field("requests")), ("3".to_owned(), "5".to_owned()));
        assert!(field("workload").starts_with("words.txt@"), "{}", field("workload"));
    }
}
