//! Criterion's estimates as one tidy CSV.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use serde_json::Value;

/// The columns: what was asked, of which algorithm or hash, at which size (nodes, or bytes of a key),
/// how many elements one iteration handles, and nanoseconds for each element with 95 % intervals.
const COLUMNS: [&str; 11] = [
    "question",
    "subject",
    "size",
    "elements_count",
    "mean_ns",
    "mean_low_ns",
    "mean_high_ns",
    "median_ns",
    "median_low_ns",
    "median_high_ns",
    "std_dev_ns",
];

/// The workspace's directory.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Where criterion keeps its estimates: told to it, so that both look in one place however the bench is started.
pub(crate) fn home() -> PathBuf {
    let target = || std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    std::env::var_os("CRITERION_HOME").map_or_else(|| target().join("criterion"), PathBuf::from)
}

/// Writes what criterion has measured since `start`; `None` if that is nothing.
pub(crate) fn export(start: SystemTime) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    collect(&home(), start, &mut found)?;
    if found.is_empty() {
        return Ok(None);
    }
    let mut rows = Vec::new();
    for dir in found {
        rows.push(row(&dir)?);
    }
    rows.sort_by(|a, b| (&a[0], &a[1], a[2].len(), &a[2]).cmp(&(&b[0], &b[1], b[2].len(), &b[2])));

    let dir = root().join("results").join(format!("{}-bench", Timestamp::now().strftime("%Y-%m-%d")));
    fs::create_dir_all(&dir)?;
    let (path, part) = (dir.join("estimates.csv"), dir.join("estimates.csv.part"));
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_path(&part)?;
    writer.write_record(COLUMNS)?;
    for row in rows {
        writer.write_record(row)?;
    }
    writer.flush()?;
    fs::rename(part, &path)?;
    Ok(Some(path.canonicalize()?))
}

/// The directories below `dir` with estimates written since `start`.
fn collect(dir: &Path, start: SystemTime, found: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    let Ok(entries) = fs::read_dir(dir) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name == "new") {
            let written = fs::metadata(path.join("estimates.json")).and_then(|file| file.modified());
            if written.is_ok_and(|written| written >= start) {
                found.push(path);
            }
        } else if path.is_dir() {
            collect(&path, start, found)?;
        }
    }
    Ok(())
}

fn row(dir: &Path) -> Result<[String; 11], Box<dyn Error>> {
    let read = |name: &str| -> Result<Value, Box<dyn Error>> {
        Ok(serde_json::from_slice(&fs::read(dir.join(name))?)?)
    };
    let (benchmark, estimates) = (read("benchmark.json")?, read("estimates.json")?);
    let text = |name: &str| benchmark[name].as_str().unwrap_or_default().to_owned();
    let elements = benchmark["throughput"]["Elements"].as_u64().unwrap_or(1);
    // A build is one thing, however many nodes it takes.
    let divisor = if text("group_id") == "build" { 1.0 } else { elements as f64 };
    let estimate = |name: &str, field: &[&str]| -> String {
        let value = field.iter().fold(&estimates[name], |value, key| &value[*key]);
        value.as_f64().map_or(String::new(), |ns| (ns / divisor).to_string())
    };
    let low = ["confidence_interval", "lower_bound"];
    let high = ["confidence_interval", "upper_bound"];
    Ok([
        text("group_id"),
        text("function_id"),
        text("value_str"),
        elements.to_string(),
        estimate("mean", &["point_estimate"]),
        estimate("mean", &low),
        estimate("mean", &high),
        estimate("median", &["point_estimate"]),
        estimate("median", &low),
        estimate("median", &high),
        estimate("std_dev", &["point_estimate"]),
    ])
}
