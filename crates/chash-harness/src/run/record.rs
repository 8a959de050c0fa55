//! `run.json`: what was run, on what, and whether it came to its end.

use std::io;
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use super::machine::Machine;
use super::output::write_whole;
use crate::plan::Plan;
use crate::schema::SCHEMA_VERSION;

/// The record of a run.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the names are the file's; METHODOLOGY explains them")]
pub struct RunRecord {
    pub schema_version: u32,
    pub run_id: String,
    pub command_line: Vec<String>,
    pub preset: String,
    pub seed: u64,
    pub plan: serde_json::Value,
    pub jobs: usize,
    pub cold_bytes: u64,
    pub tool_version: &'static str,
    pub machine: Machine,
    pub start: String,
    pub end: Option<String>,
    pub complete: bool,
}

impl RunRecord {
    /// A run that begins now.
    #[must_use]
    pub fn begin(plan: &Plan, fingerprint: &str, run_id: &str, jobs: usize, cold_bytes: u64) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            run_id: run_id.to_owned(),
            command_line: command_line(),
            preset: plan.preset.clone(),
            seed: plan.seed,
            plan: serde_json::from_str(fingerprint).unwrap_or_default(),
            jobs,
            cold_bytes,
            tool_version: env!("CARGO_PKG_VERSION"),
            machine: Machine::look(),
            start: Timestamp::now().to_string(),
            end: None,
            complete: false,
        }
    }

    /// Ends the run.
    pub fn end(&mut self, complete: bool) {
        self.end = Some(Timestamp::now().to_string());
        self.complete = complete;
    }

    /// Writes the record into the run's directory.
    ///
    /// # Errors
    ///
    /// Whatever the file system refuses.
    pub fn write(&self, dir: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        write_whole(&dir.join("run.json"), &text)
    }
}

/// The command as it was given; of the program only its name, since a path says nothing about the run.
fn command_line() -> Vec<String> {
    std::iter::once("chash".to_owned()).chain(std::env::args().skip(1)).collect()
}
