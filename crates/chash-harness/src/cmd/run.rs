//! `chash run`: a plan in, a directory of CSVs out.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use xxhash_rust::xxh3::xxh3_128;

use super::print;
use crate::args::RunArgs;
use crate::exit::Failure;
use crate::keys::Population;
use crate::plan::{Patch, Plan, REFERENCE};
use crate::run::cases::{CaseSpec, cases, groups};
use crate::run::engine::{Engine, RunError, Tally};
use crate::run::estimate::{self, Estimate};
use crate::run::machine;
use crate::run::output::write_whole;
use crate::run::progress::Progress;
use crate::run::record::RunRecord;
use crate::run::timing;
use crate::schema::{SCHEMA_VERSION, schema};
use crate::show;
use crate::table::Table;

/// Runs a plan.
///
/// # Errors
///
/// Whatever is wrong with the plan or its inputs, output that cannot be written, an interruption, a
/// row that failed.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    if args.reference {
        return print(REFERENCE);
    }
    let file = args.plan.as_deref().map_or(Ok(Patch::default()), Patch::read).map_err(Failure::input)?;
    let flags = args.patch().map_err(Failure::input)?;
    let plan = Plan::resolve(file, flags).map_err(Failure::input)?;
    let population = Population::read(&plan, args.quiet)?;
    let jobs = if plan.jobs == 0 { machine::cores() } else { plan.jobs as usize };
    let work = Work::of(&plan, &population)?;
    if args.dry_run {
        return print(&work.table(&plan, jobs).render(args.format));
    }
    work.refuse_what_does_not_fit(jobs, &population)?;

    let dir = directory(args.out.as_deref(), &plan.preset)?;
    let failed = |error: io::Error| Failure::output(&dir.display().to_string(), &error);
    let fingerprint = plan.fingerprint(SCHEMA_VERSION, &population.fingerprint());
    let run_id = format!("{:016x}", xxh3_128(fingerprint.as_bytes()) as u64);
    let timing = timing::of(&plan);
    let mut record = RunRecord::begin(&plan, &fingerprint, &run_id, jobs, timing.cold_bytes as u64);
    record.write(&dir).map_err(failed)?;
    let mut text = serde_json::to_vec_pretty(&schema()).map_err(|error| failed(error.into()))?;
    text.push(b'\n');
    write_whole(&dir.join("schema.json"), &text).map_err(failed)?;

    let cancelled = Arc::new(AtomicBool::new(false));
    watch_for_interruption(&cancelled)?;
    let progress = Progress::new(work.units(), args.quiet);
    let mut engine = Engine {
        plan: &plan,
        population: &population,
        run_id: &run_id,
        dir: &dir,
        jobs,
        timing,
        cancelled: &cancelled,
        progress: &progress,
    };
    let outcome = engine.run();
    progress.finish();
    record.end(outcome.is_ok());
    let recorded = record.write(&dir);
    let tally = outcome.map_err(|error| match error {
        RunError::Interrupted => {
            Failure::Interrupted(format!(": the rows measured so far are in {}/*.part", dir.display()))
        }
        RunError::Output { path, source } => Failure::output(&path, &source),
        RunError::Keys(error) => Failure::input(error),
    })?;
    recorded.map_err(failed)?;
    if !args.quiet {
        print(
            &show::tables(&plan, &population, &dir)?
                .iter()
                .map(|table| table.render(args.format))
                .collect::<Vec<_>>()
                .join("\n"),
        )?;
        eprintln!("{} in {}", describe(tally), dir.display());
    }
    if tally.failed > 0 {
        return Err(Failure::Check(format!("{} rows failed; their message column says why", tally.failed)));
    }
    Ok(())
}

fn describe(tally: Tally) -> String {
    let failed = if tally.failed > 0 { format!(", {} failed", tally.failed) } else { String::new() };
    format!("{} rows, {} more unsupported{failed}", tally.ok, tally.unsupported)
}

/// All cases with what they are expected to cost.
struct Work {
    /// Deterministic cases first, then timings, as they run.
    lines: Vec<(String, bool, Estimate)>,
    /// What the keys take.
    key_bytes: u64,
}

impl Work {
    fn of(plan: &Plan, population: &Population) -> Result<Self, Failure> {
        let mut lines = Vec::new();
        let keys = population.key_count();
        for timings in [false, true] {
            for group in groups(plan) {
                let requests = population.request_count(plan, group.workload);
                let add = |case: CaseSpec<'_>| {
                    (case.to_string(), timings, estimate::case(&case, &plan.timing, keys, requests))
                };
                lines.extend(cases(plan, group, timings).map(add));
            }
        }
        if lines.is_empty() {
            return Err(Failure::Input(format!(
                "filter `{}` leaves no case; --dry-run shows them",
                plan.filter
            )));
        }
        Ok(Self { lines, key_bytes: estimate::key_bytes(keys, plan.keeps_bytes()) })
    }

    /// Estimated work in microseconds, the progress bar's unit.
    fn units(&self) -> u64 {
        self.lines.iter().map(|(_, _, estimate)| (estimate.time_ns / 1e3) as u64).sum()
    }

    fn table(&self, plan: &Plan, jobs: usize) -> Table {
        let mut table = Table::new(
            format!("Preset {}, {} cases", plan.preset, self.lines.len()),
            &["case", "seconds", "mebibytes"],
        );
        let seconds = |ns: f64| format!("{:.3}", ns / 1e9);
        let mebibytes = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << 20));
        for (line, _, estimate) in &self.lines {
            table.rows.push(vec![line.clone(), seconds(estimate.time_ns), mebibytes(estimate.memory_bytes)]);
        }
        let sum = |timings: bool| -> f64 {
            self.lines.iter().filter(|line| line.1 == timings).map(|(_, _, estimate)| estimate.time_ns).sum()
        };
        let all = sum(false) / jobs as f64 + sum(true);
        table.rows.push(vec![
            format!("all, on {jobs} threads"),
            seconds(all),
            mebibytes(self.peak_bytes(jobs)),
        ]);
        table
    }

    fn peak_bytes(&self, jobs: usize) -> u64 {
        let estimates: Vec<Estimate> = self.lines.iter().map(|(_, _, estimate)| *estimate).collect();
        estimate::peak_bytes(&estimates, jobs, self.key_bytes)
    }

    fn refuse_what_does_not_fit(&self, jobs: usize, population: &Population) -> Result<(), Failure> {
        let needed = self.peak_bytes(jobs).saturating_sub(population.bytes_held());
        let advice = "fewer nodes, points or --jobs need less (see --dry-run)";
        machine::require_bytes(needed, "the plan", advice).map_err(Failure::Input)
    }
}

/// Makes the run's directory; one that holds a run already is left alone.
fn directory(out: Option<&Path>, preset: &str) -> Result<PathBuf, Failure> {
    let holds_a_run = |dir: &Path| dir.join("run.json").exists();
    let dir = match out {
        Some(dir) if holds_a_run(dir) => {
            return Err(Failure::Input(format!(
                "--out {}: a run is there already; name another directory, or remove that one",
                dir.display()
            )));
        }
        Some(dir) => dir.to_owned(),
        None => {
            let base = format!("{}-{preset}", Timestamp::now().strftime("%Y-%m-%d"));
            let candidates = (1..).map(|n| if n == 1 { base.clone() } else { format!("{base}-{n}") });
            let mut free =
                candidates.map(|name| Path::new("results").join(name)).filter(|dir| !holds_a_run(dir));
            free.next().unwrap_or_default()
        }
    };
    fs::create_dir_all(&dir).map_err(|error| Failure::output(&format!("--out {}", dir.display()), &error))?;
    Ok(dir)
}

/// The first interruption lets the run end in order, the second ends it at once.
fn watch_for_interruption(cancelled: &Arc<AtomicBool>) -> Result<(), Failure> {
    let flag = Arc::clone(cancelled);
    let handler = move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    ctrlc::set_handler(handler).map_err(Failure::input)
}
