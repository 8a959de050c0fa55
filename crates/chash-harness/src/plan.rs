//! Plans: what a run does, layered from the reference defaults, a preset, a plan file and flags.

use std::path::PathBuf;

use chash_metrics::case::Metric;
use serde::Serialize;
use thiserror::Error;

use crate::nodes::{NodeSet, NodeSource, NodesError};
use crate::registry::METRICS;
use crate::spec::{Spec, SpecError, choices};

mod patch;
mod step;

pub use patch::{CountOrText, NodeItem, Patch, ScenarioPatch, Show, TimingPatch};
pub use step::Step;

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

/// A setting, which reference.toml gives if nothing else does.
fn need<T>(name: &'static str, value: Option<T>) -> Result<T, PlanError> {
    value.ok_or_else(|| PlanError::Setting { name, what: "has no default in reference.toml".to_owned() })
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
