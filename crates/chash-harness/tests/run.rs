//! Runs from end to end: every file against its schema, the same bytes on any number of threads, and
//! nothing lost when a run ends early.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use common::{chash, run_in, stderr};
use serde_json::Value;
use tempfile::tempdir;

/// Small, but with every metric, every algorithm, weights and two workloads.
const SMALL: &str = "--nodes 5 --nodes w.csv --keys 2000 --requests 3000 --reps 2 --quiet";

/// Files that must not differ between runs.
const DETERMINISTIC: [&str; 6] = ["balance", "node_load", "movement", "flow", "bounded", "work"];

fn weighted(dir: &Path) {
    fs::write(dir.join("w.csv"), "name,weight\n\"a,b\",1\nc,3\nd,0\ne,2\n").unwrap();
}

fn timing_plan(dir: &Path) {
    let text = "[timing]\nsamples = 2\nsample_ns = 1000\nwarm_up_ns = 1000\nsetting_ns = 10000\n\
                percentile_samples = 20\npercentile_ns = 1000000\nupdate_samples = 1\ncold_bytes = 65536\n";
    fs::write(dir.join("plan.toml"), text).unwrap();
}

/// RFC 4180 with `\n`, read without leniency: the header and the rows.
fn strict(path: &Path) -> (Vec<String>, Vec<Vec<String>>) {
    let bytes = fs::read(path).unwrap();
    assert!(!bytes.contains(&b'\r'), "{}", path.display());
    assert_eq!(bytes.last(), Some(&b'\n'), "{}", path.display());
    let mut reader = csv::ReaderBuilder::new().flexible(false).has_headers(false).from_reader(&bytes[..]);
    let mut rows: Vec<Vec<String>> =
        reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect();
    let header = rows.remove(0);
    (header, rows)
}

#[test]
fn every_file_keeps_its_schema() {
    let dir = tempdir().unwrap();
    weighted(dir.path());
    timing_plan(dir.path());
    run_in(dir.path(), "out", &format!("plan.toml {SMALL}"));
    let out = dir.path().join("out");
    // Without a scenario there is no flow.
    let schema: Value = serde_json::from_slice(&fs::read(out.join("schema.json")).unwrap()).unwrap();
    let record: Value = serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap();
    assert_eq!(record["complete"], Value::Bool(true));
    let mut expected: BTreeSet<String> = ["schema.json", "run.json"].map(str::to_owned).into();
    for file in schema["files"].as_array().unwrap() {
        let name = file["file"].as_str().unwrap();
        if name == "flow.csv" {
            continue;
        }
        expected.insert(name.to_owned());
        let (header, rows) = strict(&out.join(name));
        let columns = file["columns"].as_array().unwrap();
        let names: Vec<&str> = columns.iter().map(|column| column["name"].as_str().unwrap()).collect();
        assert_eq!(header, names, "{name}");
        assert!(!rows.is_empty(), "{name} has no row");
        for row in &rows {
            let status = &row[11];
            assert!(["ok", "unsupported"].contains(&status.as_str()), "{name}: {row:?}");
            assert_eq!(
                status == "ok",
                row[12].is_empty(),
                "{name}: a message is for what is not ok: {row:?}"
            );
            assert_eq!(row[0], record["run_id"].as_str().unwrap());
            for (column, field) in columns.iter().zip(row).filter(|(_, field)| !field.is_empty()) {
                let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                match column["type"].as_str().unwrap() {
                    "integer" => assert!(digits(field), "{name}: {field}"),
                    "real" => {
                        let (whole, fraction) = field.split_once('.').unwrap_or((field, "0"));
                        let whole = whole.strip_prefix('-').unwrap_or(whole);
                        assert!(digits(whole) && digits(fraction), "{name}: {field} is not a plain number");
                    }
                    _ => {}
                }
            }
        }
        let tried: BTreeSet<&str> = rows.iter().map(|row| row[1].as_str()).collect();
        let all: BTreeSet<&str> = chash_harness::registry::ALGORITHMS
            .iter()
            .filter(|row| row.system.is_none())
            .map(|row| row.name)
            .collect();
        assert_eq!(tried, all, "{name}: every algorithm has a row, if only one that says why not");
    }
    let found: BTreeSet<String> =
        fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(found, expected);
}

#[test]
fn deterministic_files_are_the_same_bytes_on_any_number_of_threads() {
    let dir = tempdir().unwrap();
    weighted(dir.path());
    let story = "[scenario]\nname = \"story\"\nsteps = [\"add x 2\", \"remove c\"]\n";
    fs::write(dir.path().join("story.toml"), story).unwrap();
    let metrics = DETERMINISTIC.map(|name| format!("--metric {name}")).join(" ");
    run_in(dir.path(), "one", &format!("story.toml {SMALL} {metrics} --jobs 1"));
    run_in(dir.path(), "two", &format!("story.toml {SMALL} {metrics} --jobs 2"));
    run_in(dir.path(), "again/below", &format!("story.toml {SMALL} {metrics} --jobs 7"));
    run_in(dir.path(), "other", &format!("story.toml {SMALL} {metrics} --jobs 2 --seed 2"));
    for name in DETERMINISTIC {
        let read = |run: &str| fs::read(dir.path().join(run).join(format!("{name}.csv"))).unwrap();
        assert!(read("one") == read("two"), "{name} depends on --jobs");
        assert!(read("one") == read("again/below"), "{name} depends on the directory");
        assert!(read("one") != read("other"), "{name} does not depend on the seed");
    }
}

/// The same keys under every placement: loads add up to the keys and to the requests.
#[test]
fn loads_add_up() {
    let dir = tempdir().unwrap();
    weighted(dir.path());
    run_in(dir.path(), "out", &format!("{SMALL} --metric node_load"));
    let (header, rows) = strict(&dir.path().join("out/node_load.csv"));
    let column = |name: &str| header.iter().position(|field| field == name).unwrap();
    let mut sums: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for row in rows.iter().filter(|row| row[11] == "ok") {
        let case = ["algorithm", "nodes", "weights", "workload", "rep", "load_kind"]
            .map(|name| row[column(name)].clone());
        *sums.entry(case.to_vec()).or_default() += row[column("load")].parse::<u64>().unwrap();
    }
    assert!(!sums.is_empty());
    for (case, sum) in sums {
        assert_eq!(sum, if case[5] == "keys" { 2000 } else { 3000 }, "{case:?}");
    }
}

#[test]
fn a_repetition_has_other_keys_and_another_placement() {
    let dir = tempdir().unwrap();
    run_in(
        dir.path(),
        "out",
        "--nodes 5 --keys 2000 --reps 2 --metric node_load --algorithm ring --workload uniform --quiet",
    );
    let (header, rows) = strict(&dir.path().join("out/node_load.csv"));
    let column = |name: &str| header.iter().position(|field| field == name).unwrap();
    let loads = |rep: &str| -> Vec<&String> {
        rows.iter().filter(|row| row[column("rep")] == rep).map(|row| &row[column("load")]).collect()
    };
    assert_eq!(loads("0").len(), loads("1").len());
    assert_ne!(loads("0"), loads("1"));
}

/// The five caches: with modulo a fifth of the keys would have to move, and far more do; the ring
/// moves what server 3 held, and nothing else.
#[test]
fn five_caches_shows_who_took_what() {
    let dir = tempdir().unwrap();
    let output = chash(dir.path(), "run --preset five-caches --keys 50000 --out out");
    assert!(output.status.success(), "{}", stderr(&output));
    let (header, rows) = strict(&dir.path().join("out/movement.csv"));
    let column = |name: &str| header.iter().position(|field| field == name).unwrap();
    let steps: Vec<&Vec<String>> =
        rows.iter().filter(|row| row[column("scenario")] == "five-caches").collect();
    assert_eq!(steps.len(), 4, "two steps for each of two algorithms");
    for row in steps {
        let moved: f64 = row[column("moved_frac")].parse().unwrap();
        let needless: u64 = row[column("needless_keys")].parse().unwrap();
        if row[column("algorithm")] == "ring" {
            assert_eq!(needless, 0);
            assert!(moved < 0.4, "{moved}");
        } else {
            assert!(needless > 0 && moved > 0.5, "{moved}");
        }
    }
    let text = common::stdout(&output);
    for server in ["server-1", "server-2", "server-3", "server-4", "server-5", "server-6"] {
        assert!(text.contains(server), "{server} is not in\n{text}");
    }
}

/// A run that is interrupted keeps its rows under `.part` and says that it is not complete.
#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_it_measured() {
    use std::process::{Command, Stdio};
    let dir = tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_chash"))
        .args(
            "run --preset full --algorithm rendezvous --nodes 1000 --reps 1000 --jobs 1 --out out".split(' '),
        )
        .current_dir(dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let part = dir.path().join("out/balance.csv.part");
    // Waits for the first row, however long the machine takes.
    while fs::read_to_string(&part).map_or(0, |text| text.lines().count()) < 2 {
        assert!(child.try_wait().unwrap().is_none(), "the run ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let record: Value = serde_json::from_slice(&fs::read(dir.path().join("out/run.json")).unwrap()).unwrap();
    assert_eq!(record["complete"], Value::Bool(false));
    let (_, rows) = strict(&part);
    assert!(!rows.is_empty());
    assert!(!dir.path().join("out/balance.csv").exists(), "half a file stands under its final name");
}
