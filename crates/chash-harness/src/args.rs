//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::plan::{CountOrText, NodeItem, Patch, PlanError, TimingPatch};

/// A laboratory for consistent hashing: place keys, compare placements, measure them.
#[derive(Debug, Parser)]
#[command(name = "chash", version, max_term_width = 100)]
#[command(after_help = "Data goes to standard output, progress and warnings to standard error. \
    Exit: 0 done, 1 a check or a row failed, 2 wrong use or input, 3 input or output failed, 130 interrupted.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show every algorithm, workload, metric, key hash and preset
    List(ListArgs),
    /// Say which node gets each key: CSV `key,node` on standard output
    ///
    /// Deployed systems (compat.NAME) hash the key's bytes themselves, and read further columns of the CSV of nodes:
    /// `chash list --filter compat` shows which. Where loads are counted (`bounded`, and the balance_factor of compat.haproxy and
    /// compat.envoy), each key in its order is an arrival that never ends.
    Place(PlaceArgs),
    /// Say what moves when the list of nodes changes
    Move(MoveArgs),
    /// Measure: a plan or preset in, a directory of CSVs out
    Run(Box<RunArgs>),
    /// Check the laws on every algorithm
    Verify(VerifyArgs),
}

/// How a table is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned, for people.
    #[default]
    Table,
    /// RFC 4180.
    Csv,
    /// One array of objects.
    Json,
}

/// Which keys, and how they are read.
#[derive(Clone, Debug, Args)]
pub struct KeyArgs {
    /// A count of generated keys, a file with one key a line or a table `key,count`, or - for standard input
    #[arg(long, value_name = "COUNT|FILE|-")]
    pub keys: Option<String>,
    /// Bytes of generated keys: binary (8 little-endian bytes), or a template with one {} for the id
    #[arg(long, value_name = "FORMAT")]
    pub key_format: Option<String>,
    /// How keys stand in a file: raw or hex
    #[arg(long, value_name = "ENCODING")]
    pub key_encoding: Option<String>,
    /// Layout of a key file: lines, counts (CSV `key,count`) or auto
    #[arg(long, value_name = "LAYOUT")]
    pub key_layout: Option<String>,
    /// Where bytes become 64 bits: xxh3[:seed=N], xxh64[:seed=N], sha1, md5
    #[arg(long, value_name = "HASH")]
    pub key_hash: Option<String>,
}

/// `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// How to write it
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Only rows containing this text
    #[arg(long, default_value = "")]
    pub filter: String,
}

/// `place`.
#[derive(Debug, Args)]
pub struct PlaceArgs {
    /// Algorithm spec, for example ring:vnodes=160
    #[arg(long, value_name = "SPEC")]
    pub algorithm: String,
    /// A count, or a CSV with a column `name`
    #[arg(long, value_name = "COUNT|FILE")]
    pub nodes: String,
    #[command(flatten)]
    #[expect(missing_docs, reason = "see KeyArgs")]
    pub keys: KeyArgs,
    /// Owners of each key, best first: writes key,rank,node
    #[arg(long, value_name = "K")]
    pub replicas: Option<u32>,
    /// The run's seed; the first repetition's placement is used
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// No warnings
    #[arg(long)]
    pub quiet: bool,
}

/// `move`.
#[derive(Debug, Args)]
pub struct MoveArgs {
    /// Algorithm spec, for example ring:vnodes=160
    #[arg(long, value_name = "SPEC")]
    pub algorithm: String,
    /// Nodes before: a count, or a CSV with a column `name`
    #[arg(long, value_name = "COUNT|FILE")]
    pub before: String,
    /// Nodes after
    #[arg(long, value_name = "COUNT|FILE")]
    pub after: String,
    #[command(flatten)]
    #[expect(missing_docs, reason = "see KeyArgs")]
    pub keys: KeyArgs,
    /// Requests drawn from the keys; as many as keys if not given
    #[arg(long)]
    pub requests: Option<u64>,
    /// Workload spec: which key a request asks for (a file's own requests if keys come from one)
    #[arg(long, value_name = "SPEC")]
    pub workload: Option<String>,
    /// Write from,to,keys,requests for every pair of nodes to this CSV
    #[arg(long, value_name = "FILE")]
    pub flow: Option<PathBuf>,
    /// The run's seed; the first repetition's placement is used
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How to write the table
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// No warnings
    #[arg(long)]
    pub quiet: bool,
}

/// `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Plan file (TOML); `chash run --reference` shows every setting with its default
    pub plan: Option<PathBuf>,
    /// Print the documented defaults of every setting and end
    #[arg(long)]
    pub reference: bool,
    /// quick, standard, full, five-caches, vnodes or deployed
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Algorithm spec; repeat for several; * is every one of our own, compat.* every deployed system
    #[arg(long, value_name = "SPEC")]
    pub algorithm: Vec<String>,
    /// A count, or a CSV with a column `name`; repeat for several
    #[arg(long, value_name = "COUNT|FILE")]
    pub nodes: Vec<String>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "see KeyArgs")]
    pub keys: KeyArgs,
    /// Requests drawn from the keys: a number, or `keys` for as many as keys
    #[arg(long, value_name = "COUNT|keys")]
    pub requests: Option<String>,
    /// Workload spec; repeat for several
    #[arg(long, value_name = "SPEC")]
    pub workload: Vec<String>,
    /// File to write (balance, movement, …); repeat for several; * is all
    #[arg(long, value_name = "NAME")]
    pub metric: Vec<String>,
    /// The run's seed
    #[arg(long)]
    pub seed: Option<u64>,
    /// Repetitions
    #[arg(long)]
    pub reps: Option<u32>,
    /// Threads for the deterministic cases; 0 is one for each core. Timings always run alone
    #[arg(long)]
    pub jobs: Option<u32>,
    /// Bytes touched before a cold sample; 0 is 8 times the second-level cache
    #[arg(long)]
    pub cold_bytes: Option<u64>,
    /// Any setting of a plan in its TOML form, for example 'timing.samples = 3'; repeat for several
    #[arg(long, value_name = "KEY = VALUE")]
    pub set: Vec<String>,
    /// Only cases whose line in --dry-run contains this text
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// Directory for the CSVs [default: results/DATE-PRESET]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the cases with estimates of time and memory, and end
    #[arg(long)]
    pub dry_run: bool,
    /// How to write the table at the end
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// No progress, no warnings, no table
    #[arg(long)]
    pub quiet: bool,
}

/// `verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Algorithm spec, or as `compat.*`; repeat for several; every one if none
    #[arg(long, value_name = "SPEC")]
    pub algorithm: Vec<String>,
    /// Only checks whose `algorithm law` contains this text
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub filter: String,
    /// How to write the table
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// No progress
    #[arg(long)]
    pub quiet: bool,
}

/// Digits are a count, anything else is text.
#[must_use]
pub fn count_or_text(text: &str) -> CountOrText {
    match text.parse() {
        Ok(count) if text.bytes().all(|byte| byte.is_ascii_digit()) => CountOrText::Count(count),
        _ => CountOrText::Text(text.to_owned()),
    }
}

impl KeyArgs {
    /// These flags as a layer of a plan.
    #[must_use]
    pub fn patch(&self) -> Patch {
        Patch {
            keys: self.keys.as_deref().map(count_or_text),
            key_format: self.key_format.clone(),
            key_encoding: self.key_encoding.clone(),
            key_layout: self.key_layout.clone(),
            key_hash: self.key_hash.clone(),
            ..Patch::default()
        }
    }
}

impl RunArgs {
    /// These flags as a layer of a plan.
    ///
    /// # Errors
    ///
    /// A `--set` that is no setting.
    pub fn patch(&self) -> Result<Patch, PlanError> {
        let given = |list: &Vec<String>| (!list.is_empty()).then(|| list.clone());
        let keys = self.keys.patch();
        // A key file brings its own requests, unless something else is asked for.
        let from_file = matches!(keys.keys, Some(CountOrText::Text(_)));
        let workloads = given(&self.workload).or_else(|| from_file.then(|| vec!["file".to_owned()]));
        let timing = TimingPatch { cold_bytes: self.cold_bytes, ..TimingPatch::default() };
        let nodes = given(&self.nodes).map(|list| list.into_iter().map(NodeItem::Text).collect());
        let flags = Patch {
            preset: self.preset.clone(),
            seed: self.seed,
            reps: self.reps,
            algorithms: given(&self.algorithm),
            nodes,
            requests: self.requests.as_deref().map(count_or_text),
            workloads,
            metrics: given(&self.metric),
            filter: self.filter.clone(),
            jobs: self.jobs,
            timing,
            ..keys
        };
        self.set.iter().try_fold(flags, |below, text| Ok(below.overlaid(Patch::parse("--set", text)?)))
    }
}
