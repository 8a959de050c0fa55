//! Plans: what a run does, layered from the reference defaults, a preset, a plan file and flags.

use std::fmt;
use std::path::{Path, PathBuf};

use chash_metrics::case::Metric;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::nodes::{NodeSet, NodeSource, NodesError};
use crate::registry::METRICS;
use crate::spec::{Spec, SpecError, choices};

/// The presets: their names and their text.
pub const PRESETS: &[(&str, &str)] = &[
    ("quick", include_str!("../presets/quick.toml")),
    ("standard", include_str!("../presets/standard.toml")),
    ("full", include_str!("../presets/full.toml")),
    ("five-caches", include_str!("../presets/five-caches.toml")),
    ("vnodes", include_str!("../presets/vnodes.toml")),
    ("deployed", include_str!("../presets/deployed.toml")),
];

/// Every default, with its documentation.
pub const REFERENCE: &str = include_str!("../presets/reference.toml");

/// The most repetitions of a run.
const MAX_REPS: u32 = 1000;

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

/// One step of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Step {
    /// A node joins.
    Add {
        /// Its name.
        name: String,
        /// Its weight.
        weight: u32,
    },
    /// A node leaves.
    Remove {
        /// Its name.
        name: String,
    },
    /// A weight changes.
    Weight {
        /// The node.
        name: String,
        /// Its new weight.
        weight: u32,
    },
}

/// A run, resolved and checked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The preset it started from.
    pub preset: String,
    /// The run's seed.
    pub seed: u64,
    /// Repetitions.
    pub reps: u32,
    /// The algorithms.
    pub algorithms: Vec<Spec>,
    /// The node lists.
    pub nodes: Vec<NodeSet>,
    /// A count of generated keys, or the path of a file.
    pub keys: CountOrText,
    /// The bytes of generated keys.
    pub key_format: String,
    /// How keys stand in a file.
    pub key_encoding: String,
    /// The layout of a key file.
    pub key_layout: String,
    /// The key hash.
    pub key_hash: Spec,
    /// Requests to draw; `None` for as many as keys.
    pub requests: Option<u64>,
    /// The workloads.
    pub workloads: Vec<Spec>,
    /// The metrics, by position in the registry.
    pub metrics: Vec<usize>,
    /// Text that a case must contain.
    pub filter: String,
    /// Threads; 0 is one for each core.
    pub jobs: u32,
    /// What to show at the end.
    pub show: Show,
    /// The scenario's name.
    pub scenario_name: String,
    /// The scenario's steps.
    pub steps: Vec<Step>,
    /// The bounds of the timings.
    pub timing: TimingPlan,
}

/// `[timing]`, resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "reference.toml documents every field, once")]
pub struct TimingPlan {
    pub samples: u32,
    pub sample_ns: u64,
    pub warm_up_ns: u64,
    pub setting_ns: u64,
    pub percentile_samples: u32,
    pub percentile_ns: u64,
    pub update_samples: u32,
    pub update_ns: u64,
    pub cold_lookups: u32,
    pub cold_bytes: u64,
    pub threads: Vec<u32>,
}

/// Why a plan was refused.
#[derive(Debug, Error)]
pub enum PlanError {
    /// A preset that does not exist.
    #[error("unknown preset `{name}`{choices}")]
    Preset {
        /// What was asked for.
        name: String,
        /// What there is.
        choices: String,
    },
    /// A plan file that cannot be read.
    #[error("plan {path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A plan file that is not what it should be.
    #[error("plan {path}, line {line}, column {column}: {what}")]
    Content {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// A setting out of its range.
    #[error("{name}: {what}")]
    Setting {
        /// The setting, as in the reference file.
        name: &'static str,
        /// What it must be.
        what: String,
    },
    /// A spec.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A node list.
    #[error(transparent)]
    Nodes(#[from] NodesError),
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

impl Plan {
    /// Resolves the layers: reference, then the preset that `file` or `flags` name (`quick` if none),
    /// then `file`, then `flags`.
    ///
    /// # Errors
    ///
    /// Whatever is unknown, out of range or unreadable.
    pub fn resolve(file: Patch, flags: Patch) -> Result<Self, PlanError> {
        let preset =
            flags.preset.clone().or_else(|| file.preset.clone()).unwrap_or_else(|| "quick".to_owned());
        let reference = Patch::parse("reference.toml", REFERENCE)?;
        let patch = reference.overlaid(Patch::preset(&preset)?).overlaid(file).overlaid(flags);
        Self::check(preset, patch)
    }

    fn check(preset: String, patch: Patch) -> Result<Self, PlanError> {
        let at_least_one = |name, empty: bool| {
            if empty {
                Err(PlanError::Setting { name, what: "names nothing; at least one is needed".to_owned() })
            } else {
                Ok(())
            }
        };
        let range = |name, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                Ok(value)
            } else {
                Err(PlanError::Setting { name, what: format!("{value} is not from {low} to {high}") })
            }
        };

        let reps = need("reps", patch.reps)?;
        range("reps", u64::from(reps), 1, u64::from(MAX_REPS))?;

        let mut algorithms = Vec::new();
        for text in need("algorithms", patch.algorithms)? {
            algorithms.extend(crate::registry::algorithm_specs(&text)?);
        }
        let mut distinct = Vec::new();
        algorithms.retain(|spec| {
            let new = !distinct.contains(spec);
            distinct.push(spec.clone());
            new
        });
        at_least_one("algorithms", algorithms.is_empty())?;

        let mut nodes = Vec::new();
        for item in need("nodes", patch.nodes)? {
            nodes.push(match item {
                NodeItem::Count(count) => NodeSet::read(&NodeSource::parse(&count.to_string())?)?,
                NodeItem::Text(text) => NodeSet::read(&NodeSource::parse(&text)?)?,
                NodeItem::Names { names } => NodeSet::named(&names)?,
            });
        }
        at_least_one("nodes", nodes.is_empty())?;

        let keys = need("keys", patch.keys)?;
        if let CountOrText::Count(count) = keys {
            range("keys", count, 1, 1 << 40)?;
        }
        let requests = match need("requests", patch.requests)? {
            CountOrText::Count(count) => Some(range("requests", count, 1, 1 << 40)?),
            CountOrText::Text(word) if word == "keys" => None,
            CountOrText::Text(word) => {
                return Err(PlanError::Setting {
                    name: "requests",
                    what: format!("`{word}` is not a whole number or `keys`"),
                });
            }
        };
        let word = |name, value: Option<String>, known: &[&str]| -> Result<String, PlanError> {
            let value = need(name, value)?;
            if known.contains(&value.as_str()) {
                Ok(value)
            } else {
                Err(PlanError::Setting { name, what: format!("unknown `{value}`{}", choices(&value, known)) })
            }
        };

        let mut workloads = Vec::new();
        for text in need("workloads", patch.workloads)? {
            workloads.push(crate::registry::workload_spec(&text)?);
        }
        at_least_one("workloads", workloads.is_empty())?;
        let from_file = matches!(keys, CountOrText::Text(_));
        if let Some(spec) = workloads.iter().find(|spec| spec.name == "file" && !from_file) {
            let what = format!("`{spec}` repeats the requests of a key file; name one with --keys PATH");
            return Err(PlanError::Setting { name: "workloads", what });
        }

        let metric_names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        let mut metrics = Vec::new();
        for text in need("metrics", patch.metrics)? {
            if text == "*" {
                metrics.extend(0..METRICS.len());
            } else {
                let at =
                    metric_names.iter().position(|name| *name == text).ok_or_else(|| PlanError::Setting {
                        name: "metrics",
                        what: format!("unknown metric `{text}`{}", choices(&text, &metric_names)),
                    })?;
                metrics.push(at);
            }
        }
        let scenario = patch.scenario;
        let steps: Vec<Step> = scenario
            .steps
            .unwrap_or_default()
            .iter()
            .map(|text| Step::parse(text))
            .collect::<Result<_, _>>()?;

        metrics.sort_unstable();
        metrics.dedup();
        // Without a scenario there is no flow to write.
        metrics.retain(|at| !steps.is_empty() || METRICS[*at].name != "flow");
        at_least_one("metrics", metrics.is_empty())?;

        let timing = patch.timing;
        let count = |name, value: Option<u32>| {
            range(name, need(name, value)?.into(), 1, 10_000_000).map(|n| n as u32)
        };
        let time = |name, value: Option<u64>| range(name, need(name, value)?, 0, 3_600_000_000_000);
        let timing = TimingPlan {
            samples: count("timing.samples", timing.samples)?,
            sample_ns: time("timing.sample_ns", timing.sample_ns)?,
            warm_up_ns: time("timing.warm_up_ns", timing.warm_up_ns)?,
            setting_ns: time("timing.setting_ns", timing.setting_ns)?,
            percentile_samples: count("timing.percentile_samples", timing.percentile_samples)?,
            percentile_ns: time("timing.percentile_ns", timing.percentile_ns)?,
            update_samples: count("timing.update_samples", timing.update_samples)?,
            update_ns: time("timing.update_ns", timing.update_ns)?,
            cold_lookups: count("timing.cold_lookups", timing.cold_lookups)?,
            cold_bytes: range(
                "timing.cold_bytes",
                need("timing.cold_bytes", timing.cold_bytes)?,
                0,
                1 << 34,
            )?,
            threads: need("timing.threads", timing.threads)?,
        };
        for threads in &timing.threads {
            range("timing.threads", u64::from(*threads), 1, 1024)?;
        }
        at_least_one("timing.threads", timing.threads.is_empty())?;

        Ok(Self {
            preset,
            seed: need("seed", patch.seed)?,
            reps,
            algorithms,
            nodes,
            keys,
            key_format: need("key_format", patch.key_format)?,
            key_encoding: word("key_encoding", patch.key_encoding, &["raw", "hex"])?,
            key_layout: word("key_layout", patch.key_layout, &["auto", "lines", "counts"])?,
            key_hash: crate::registry::key_hash_spec(&need("key_hash", patch.key_hash)?)?,
            requests,
            workloads,
            metrics,
            filter: patch.filter.unwrap_or_default(),
            jobs: need("jobs", patch.jobs)?,
            show: need("show", patch.show)?,
            scenario_name: scenario.name.unwrap_or_default(),
            steps,
            timing,
        })
    }

    /// Whether keys keep their bytes: if an algorithm of the plan hashes them itself.
    #[must_use]
    pub fn keeps_bytes(&self) -> bool {
        self.algorithms.iter().any(|spec| crate::registry::algorithm(spec.name).system.is_some())
    }

    /// Whether the plan measures this metric.
    #[must_use]
    pub fn measures(&self, metric: &Metric) -> bool {
        self.metrics.iter().any(|at| std::ptr::eq(METRICS[*at], metric))
    }

    /// The resolved plan as one text: what `run_id` is a hash of.
    ///
    /// Paths, `jobs`, `show` and the output folder are not in it; file contents are, as hashes.
    #[must_use]
    pub fn fingerprint(&self, schema_version: u32, key_source: &str) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(NodeSet::fingerprint).collect();
        let algorithms: Vec<String> = self.algorithms.iter().map(ToString::to_string).collect();
        let workloads: Vec<String> = self.workloads.iter().map(ToString::to_string).collect();
        let metrics: Vec<&str> = self.metrics.iter().map(|at| METRICS[*at].name).collect();
        serde_json::json!({
            "schema": schema_version, "seed": self.seed, "reps": self.reps, "algorithms": algorithms,
            "nodes": nodes, "keys": key_source, "key_format": self.key_format, "key_encoding": self.key_encoding, "key_layout": self.key_layout,
            "key_hash": self.key_hash.to_string(), "requests": self.requests, "workloads": workloads,
            "metrics": metrics, "filter": self.filter, "scenario": self.scenario_name, "steps": self.steps,
            "timing": self.timing,
        })
        .to_string()
    }

    /// The path of the key file, if the keys come from one; `-` is standard input.
    #[must_use]
    pub fn key_file(&self) -> Option<PathBuf> {
        match &self.keys {
            CountOrText::Count(_) => None,
            CountOrText::Text(path) => Some(PathBuf::from(path)),
        }
    }
}

impl Step {
    fn parse(text: &str) -> Result<Self, PlanError> {
        let problem = || PlanError::Setting {
            name: "scenario.steps",
            what: format!(
                "`{text}` is not `add NAME`, `add NAME WEIGHT`, `remove NAME` or `weight NAME WEIGHT`"
            ),
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let weight = |word: &str| word.parse::<u32>().map_err(|_| problem());
        match words[..] {
            ["add", name] => Ok(Self::Add { name: name.to_owned(), weight: 1 }),
            ["add", name, w] => Ok(Self::Add { name: name.to_owned(), weight: weight(w)? }),
            ["remove", name] => Ok(Self::Remove { name: name.to_owned() }),
            ["weight", name, w] => Ok(Self::Weight { name: name.to_owned(), weight: weight(w)? }),
            _ => Err(problem()),
        }
    }

    /// The word in the `event` column.
    #[must_use]
    pub fn event(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Remove { .. } => "remove",
            Self::Weight { .. } => "weight",
        }
    }
}

/// A parser's message on one line, without the names of Rust's types.
fn for_people(message: &str) -> String {
    let message = message.replace('\n', "; ");
    message
        .replace("expected u32", "expected a whole number")
        .replace("expected u64", "expected a whole number")
}

/// A setting, which reference.toml gives if nothing else does.
fn need<T>(name: &'static str, value: Option<T>) -> Result<T, PlanError> {
    value.ok_or_else(|| PlanError::Setting { name, what: "has no default in reference.toml".to_owned() })
}

impl fmt::Display for Step {
    /// The step as it stands in a plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add { name, weight: 1 } => write!(f, "add {name}"),
            Self::Add { name, weight } => write!(f, "add {name} {weight}"),
            Self::Remove { name } => write!(f, "remove {name}"),
            Self::Weight { name, weight } => write!(f, "weight {name} {weight}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_resolves() {
        for (name, _) in PRESETS {
            let flags = Patch { preset: Some((*name).to_owned()), ..Patch::default() };
            let plan = Plan::resolve(Patch::default(), flags).unwrap();
            assert_eq!(plan.preset, *name);
        }
    }

    #[test]
    fn a_flag_wins_over_the_file_and_the_file_over_the_preset() {
        let file = Patch::parse("p.toml", "preset = \"standard\"\nreps = 4\nseed = 2\n").unwrap();
        let flags = Patch { seed: Some(3), ..Patch::default() };
        let plan = Plan::resolve(file, flags).unwrap();
        assert_eq!((plan.reps, plan.seed, plan.nodes.len()), (4, 3, 4));
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| match Patch::parse("p.toml", text) {
            Err(error) => error.to_string(),
            Ok(patch) => Plan::resolve(patch, Patch::default()).unwrap_err().to_string(),
        };
        assert!(
            error("reps = 1\nrep = 2\n").starts_with("plan p.toml, line 2, column 1: unknown field `rep`")
        );
        assert!(error("reps = \"x\"").starts_with("plan p.toml, line 1, column 8: invalid type"));
        assert_eq!(error("reps = 0"), "reps: 0 is not from 1 to 1000");
        assert_eq!(error("keys = 0"), format!("keys: 0 is not from 1 to {}", 1u64 << 40));
        assert!(error("algorithms = []").starts_with("algorithms: names nothing"));
        assert!(error("metrics = [\"balanced\"]").contains("did you mean `balance`?"));
        assert!(error("workloads = [\"file\"]").contains("--keys PATH"));
        assert!(error("preset = \"quik\"").contains("did you mean `quick`?"));
        assert!(error("[scenario]\nsteps = [\"kill a\"]").contains("`kill a` is not `add NAME`"));
        assert!(error("requests = \"many\"").contains("`many` is not a whole number or `keys`"));
    }
}
