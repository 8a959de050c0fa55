//! `chash verify`: the laws, on every algorithm.

use chash_core::Node;
use chash_testkit::{LAWS, Law, Subject, Verdict};
use rayon::prelude::*;

use super::print;
use crate::args::VerifyArgs;
use crate::exit::Failure;
use crate::registry::{ALGORITHMS, Role, algorithm, algorithm_specs, build, law_spec};
use crate::run::progress::Progress;
use crate::spec::Spec;
use crate::table::Table;

/// Checks every law on every algorithm and prints what came out.
///
/// # Errors
///
/// An algorithm spec that is none, a law that is broken, standard output that cannot be written.
pub fn run(args: &VerifyArgs) -> Result<(), Failure> {
    let mut specs = Vec::new();
    for text in &args.algorithm {
        specs.extend(algorithm_specs(text).map_err(Failure::input)?);
    }
    if specs.is_empty() {
        let placements = ALGORITHMS.iter().filter(|row| row.role == Role::Placement);
        specs = placements.map(law_spec).collect::<Result<_, _>>().map_err(Failure::input)?;
    }
    let checks: Vec<(&Spec, &Law)> = specs
        .iter()
        .flat_map(|spec| LAWS.iter().map(move |law| (spec, law)))
        .filter(|(spec, law)| format!("{} {}", spec, law.name).contains(&args.filter))
        .collect();
    if checks.is_empty() {
        return Err(Failure::Input(format!("--filter `{}` leaves no check", args.filter)));
    }
    let progress = Progress::new(checks.len() as u64, args.quiet);
    let verdicts: Vec<Verdict> = checks
        .par_iter()
        .map(|(spec, law)| {
            progress.say(format!("{} {}", spec.name, law.name));
            let verdict = check(spec, law);
            progress.advance(1);
            verdict
        })
        .collect();
    progress.finish();

    let mut table = Table::new("", &["algorithm", "law", "verdict", "why"]);
    let (mut passed, mut failed, mut not_applicable) = (0, 0, 0);
    for ((spec, law), verdict) in checks.iter().zip(&verdicts) {
        let (word, why) = match verdict {
            Verdict::Passed => {
                passed += 1;
                ("passed", String::new())
            }
            Verdict::NotApplicable(why) => {
                not_applicable += 1;
                ("not applicable", why.clone())
            }
            Verdict::Failed(violations) => {
                failed += 1;
                let all: Vec<String> = violations.iter().map(ToString::to_string).collect();
                ("FAILED", all.join("; "))
            }
        };
        table.rows.push(vec![spec.to_string(), law.name.to_owned(), word.to_owned(), why]);
    }
    print(&table.render(args.format))?;
    let summary = format!("{passed} passed, {failed} failed, {not_applicable} not applicable");
    if failed > 0 {
        return Err(Failure::Check(summary));
    }
    if !args.quiet {
        eprintln!("{summary}");
    }
    Ok(())
}

/// One law on one algorithm.
#[must_use]
pub fn check(spec: &Spec, law: &Law) -> Verdict {
    let row = algorithm(spec.name);
    let build = |seed: u64, nodes: &[Node]| build(spec, nodes, seed);
    let mut subject = Subject::new(row.name, &build);
    // Deployed systems have no seed, and round points and counts each in its own way.
    subject.seeded = row.system.is_none();
    subject.shares_follow_weights = row.system.is_none();
    law.run(&subject)
}
