//! A run's directory: CSVs that are whole under their final name and partial under `.part`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use chash_metrics::case::{Metric, Observation, Outcome};
use chash_metrics::record::Value;

use crate::schema::IDENTITY;

/// What identifies a row, except its status.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "schema::IDENTITY explains every column, once")]
pub struct Identity {
    pub run_id: String,
    pub algorithm: &'static str,
    pub config: String,
    pub key_hash: String,
    pub nodes: u64,
    pub weights: String,
    pub workload: String,
    pub keys: u64,
    pub requests: u64,
    pub seed: u64,
    pub rep: u32,
}

/// One CSV being written: `NAME.csv.part` until [`finish`](Self::finish) gives it its name.
#[derive(Debug)]
pub struct Table {
    writer: csv::Writer<File>,
    part: PathBuf,
    path: PathBuf,
    columns: usize,
}

impl Table {
    /// Opens the file and writes its header.
    ///
    /// # Errors
    ///
    /// Whatever the file system refuses.
    pub fn create(dir: &Path, metric: &Metric) -> io::Result<Self> {
        let path = dir.join(format!("{}.csv", metric.name));
        let part = dir.join(format!("{}.csv.part", metric.name));
        let mut writer = csv::WriterBuilder::new()
            .terminator(csv::Terminator::Any(b'\n'))
            .from_writer(File::create(&part)?);
        writer.write_record(IDENTITY.iter().chain(metric.columns).map(|column| column.name))?;
        writer.flush()?;
        Ok(Self { writer, part, path, columns: metric.columns.len() })
    }

    /// Writes one row and flushes it, so that a kill loses no row that was measured.
    ///
    /// # Errors
    ///
    /// Whatever the file system refuses, a full disk for one.
    ///
    /// # Panics
    ///
    /// If the row does not have the metric's columns: a mistake in the metric.
    pub fn write(&mut self, identity: &Identity, observation: &Observation) -> io::Result<()> {
        assert_eq!(
            observation.row.len(),
            self.columns,
            "{} has {} columns",
            self.path.display(),
            self.columns
        );
        let (status, message) = match &observation.outcome {
            Outcome::Ok => ("ok", ""),
            Outcome::Unsupported(why) => ("unsupported", why.as_str()),
            Outcome::Failed(why) => ("failed", why.as_str()),
        };
        let number = |n: u64| n.to_string();
        let identity = [
            identity.run_id.clone(),
            identity.algorithm.to_owned(),
            identity.config.clone(),
            identity.key_hash.clone(),
            number(identity.nodes),
            identity.weights.clone(),
            identity.workload.clone(),
            number(identity.keys),
            number(identity.requests),
            number(identity.seed),
            number(identity.rep.into()),
            status.to_owned(),
            message.replace(['\n', '\r'], " "),
        ];
        self.writer.write_record(identity.into_iter().chain(observation.row.iter().map(Value::to_field)))?;
        self.writer.flush()
    }

    /// Gives the file its final name.
    ///
    /// # Errors
    ///
    /// Whatever the file system refuses.
    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()?;
        self.writer.get_ref().sync_all()?;
        fs::rename(&self.part, &self.path)
    }
}

/// Writes a whole file under a passing name and renames it: never half a file under `path`.
///
/// # Errors
///
/// Whatever the file system refuses.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let write = || {
        let mut file = File::create(&part)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().inspect_err(|_| {
        // There is no row to keep in half of it; if it cannot be removed either, the first error says why.
        let _ = fs::remove_file(&part);
    })
}
