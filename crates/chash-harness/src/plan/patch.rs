//! Layers of a plan: what the reference, a preset, a file and the flags say, before it is checked.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{PRESETS, PlanError};
use crate::spec::choices;

/// A layer of a plan: what it names overrides the layer below.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "reference.toml documents every field, once")]
pub struct Patch {
    pub preset: Option<String>,
    pub seed: Option<u64>,
    pub reps: Option<u32>,
    pub algorithms: Option<Vec<String>>,
    pub nodes: Option<Vec<NodeItem>>,
    pub keys: Option<CountOrText>,
    pub key_format: Option<String>,
    pub key_encoding: Option<String>,
    pub key_layout: Option<String>,
    pub key_hash: Option<String>,
    pub requests: Option<CountOrText>,
    pub workloads: Option<Vec<String>>,
    pub metrics: Option<Vec<String>>,
    pub filter: Option<String>,
    pub jobs: Option<u32>,
    pub show: Option<Show>,
    #[serde(default)]
    pub scenario: ScenarioPatch,
    #[serde(default)]
    pub timing: TimingPatch,
}

/// One entry of `nodes`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a count, a path, or { names = [...] }")]
pub enum NodeItem {
    /// `node-0 … node-(n−1)`.
    Count(u32),
    /// A path, or digits as after `--nodes`.
    Text(String),
    /// The names themselves.
    Names {
        /// In list order.
        names: Vec<String>,
    },
}

/// A number, or a word or path.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged, expecting = "expected a whole number or text")]
pub enum CountOrText {
    /// A number.
    Count(u64),
    /// A word or path.
    Text(String),
}

/// What the terminal shows at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Show {
    /// One row for each algorithm and number of nodes.
    Summary,
    /// A table for each step of the scenario.
    Scenario,
    /// Share spread against points per node.
    Spread,
}

/// `[scenario]` of a layer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "reference.toml documents every field, once")]
pub struct ScenarioPatch {
    pub name: Option<String>,
    pub steps: Option<Vec<String>>,
}

/// `[timing]` of a layer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "reference.toml documents every field, once")]
pub struct TimingPatch {
    pub samples: Option<u32>,
    pub sample_ns: Option<u64>,
    pub warm_up_ns: Option<u64>,
    pub setting_ns: Option<u64>,
    pub percentile_samples: Option<u32>,
    pub percentile_ns: Option<u64>,
    pub update_samples: Option<u32>,
    pub update_ns: Option<u64>,
    pub cold_lookups: Option<u32>,
    pub cold_bytes: Option<u64>,
    pub threads: Option<Vec<u32>>,
}

/// A struct of options in which what `upper` names overrides `lower`; fields after the second semicolon
/// are taken from variables of their name.
macro_rules! overlay {
    ($type:ident, $lower:expr, $upper:expr; $($field:ident),* $(; $($given:ident),*)?) => {
        $type { $($field: $upper.$field.or($lower.$field),)* $($($given,)*)? }
    };
}

impl Patch {
    /// Reads a layer from TOML text; `path` is what messages call it.
    ///
    /// # Errors
    ///
    /// An unknown key or a value of the wrong type, with its line and column.
    pub fn parse(path: &str, text: &str) -> Result<Self, PlanError> {
        toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            let before = &text[..offset];
            PlanError::Content {
                path: path.to_owned(),
                line: before.matches('\n').count() + 1,
                column: offset - before.rfind('\n').map_or(0, |at| at + 1) + 1,
                what: for_people(error.message()),
            }
        })
    }

    /// Reads a plan file.
    ///
    /// # Errors
    ///
    /// An unreadable file, and as [`parse`](Self::parse).
    pub fn read(path: &Path) -> Result<Self, PlanError> {
        let name = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|source| PlanError::Io { path: name.clone(), source })?;
        Self::parse(&name, &text)
    }

    /// The shipped preset with this name.
    ///
    /// # Errors
    ///
    /// An unknown name.
    pub fn preset(name: &str) -> Result<Self, PlanError> {
        let Some((known, text)) = PRESETS.iter().find(|(known, _)| *known == name) else {
            let names: Vec<&str> = PRESETS.iter().map(|(known, _)| *known).collect();
            return Err(PlanError::Preset { name: name.to_owned(), choices: choices(name, &names) });
        };
        Self::parse(known, text)
    }

    /// This layer with `upper` on top.
    #[must_use]
    pub fn overlaid(self, upper: Self) -> Self {
        let scenario = overlay!(ScenarioPatch, self.scenario, upper.scenario; name, steps);
        let timing = overlay!(TimingPatch, self.timing, upper.timing;
            samples, sample_ns, warm_up_ns, setting_ns, percentile_samples, percentile_ns, update_samples,
            update_ns, cold_lookups, cold_bytes, threads);
        overlay!(Self, self, upper;
            preset, seed, reps, algorithms, nodes, keys, key_format, key_encoding, key_layout, key_hash,
            requests, workloads, metrics, filter, jobs, show; scenario, timing)
    }
}

/// A parser's message on one line, without the names of Rust's types.
fn for_people(message: &str) -> String {
    let message = message.replace('\n', "; ");
    message
        .replace("expected u32", "expected a whole number")
        .replace("expected u64", "expected a whole number")
}
