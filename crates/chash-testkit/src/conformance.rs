//! The macro that makes tests of the laws.

use std::env;
use std::process::Command;

use crate::{LAWS, Subject, Verdict, digest};

/// Fails the running test if the subject breaks the law with this name.
///
/// # Panics
///
/// If it does, with the smallest violations found; or if no law has this name.
pub fn enforce(law: &str, subject: &Subject<'_>) {
    let law = LAWS.iter().find(|candidate| candidate.name == law).expect("a law of LAWS");
    match (law.check)(subject) {
        Verdict::Passed => {}
        Verdict::NotApplicable(why) => println!("not applicable to {}: {why}", subject.name),
        Verdict::Failed(violations) => {
            let shown: Vec<String> =
                violations.iter().take(5).map(|violation| format!("- {violation}")).collect();
            panic!(
                "{} breaks `{}`: {}\n{} cases, the smallest first:\n{}",
                subject.name,
                law.name,
                law.summary,
                violations.len(),
                shown.join("\n")
            );
        }
    }
}

/// Tells a child process to print its digest instead of starting a child of its own.
const IN_CHILD: &str = "CHASH_TESTKIT_PRINT_DIGEST";

/// What stands before the digest in the output of a child.
const MARK: &str = "digest of the tables: ";

/// Fails the running test, which must be named `test`, if another process has other tables.
///
/// The other process is this test program, told to run this test alone.
///
/// # Panics
///
/// If the digests differ, or the subject cannot be built or the program not be run again.
pub fn enforce_across_processes(test: &str, subject: &Subject<'_>) {
    let ours = digest(subject).expect("the subject can be built").to_string();
    if env::var_os(IN_CHILD).is_some() {
        println!("{MARK}{ours}");
        return;
    }
    // The path of a test begins behind the name of its program.
    let test = test.split_once("::").map_or(test, |(_, path)| path);
    for _ in 0..2 {
        let program = env::current_exe().expect("a test program knows where it is");
        let child = Command::new(program).args([test, "--exact", "--nocapture"]).env(IN_CHILD, "1").output();
        let output = child.expect("a test program can be run again").stdout;
        let output = String::from_utf8_lossy(&output);
        let theirs = output.split(MARK).nth(1).and_then(|rest| rest.split_whitespace().next());
        assert_eq!(theirs, Some(&*ours), "{} has other tables in another process", subject.name);
    }
}

/// Makes a module of tests of a placement: one for each law, and one across processes.
///
/// ```text
/// conformance!(ring, |seed, nodes| Ring::build(&Params { seed, ..Params::default() }, nodes));
/// conformance!(nginx, |_seed, nodes| Nginx::build(&Params::default(), nodes);
///     seeded = false, shares_follow_weights = false);
/// ```
///
/// The expression is of type `Result<impl Distributor + 'static, BuildError>`, with `seed: u64` and
/// `nodes: &[Node]`. What capabilities cannot tell comes behind a semicolon, in the words of
/// [`Subject`](crate::Subject). The test target installs the counting allocator of `chash-metrics`.
#[macro_export]
macro_rules! conformance {
    ($name:ident, |$seed:pat_param, $nodes:pat_param| $build:expr $(; $($fact:ident = $value:expr),+)?) => {
        mod $name {
            #[allow(unused_imports, reason = "only what the expression names is used")]
            use super::*;

            fn build(
                $seed: u64,
                $nodes: &[$crate::reexport::Node],
            ) -> Result<Box<dyn $crate::reexport::Distributor>, $crate::reexport::BuildError> {
                let placement = $build?;
                Ok(Box::new(placement))
            }

            fn subject() -> $crate::Subject<'static> {
                #[allow(unused_mut, reason = "most subjects state no further fact")]
                let mut subject = $crate::Subject::new(stringify!($name), &build);
                $($(subject.$fact = $value;)+)?
                subject
            }

            #[test]
            fn another_process_has_the_same_tables() {
                let test = concat!(module_path!(), "::another_process_has_the_same_tables");
                $crate::enforce_across_processes(test, &subject());
            }

            $crate::__tests_of_laws! {
                answers_are_members
                byte_keys_have_members
                work_is_repeatable
                batch_equals_single
                batch_refuses_unequal_lengths
                equal_builds_agree
                list_order_is_ignored
                ids_are_only_labels
                history_leaves_no_trace
                clones_are_independent
                seeds_make_tables
                every_name_is_a_node
                members_follow_the_history
                additions_move_keys_to_the_newcomer_only
                removals_move_keys_of_the_leaver_only
                reweighting_moves_keys_of_that_node_only
                adding_then_removing_restores
                removing_then_adding_restores
                replicas_are_distinct_members
                replicas_are_prefix_stable
                first_accepting_walks_the_replicas
                a_newcomer_only_inserts_itself
                shares_add_up
                counts_follow_shares
                shares_follow_weights
                weight_zero_is_never_chosen
                builds_are_refused_exactly
                additions_are_refused_exactly
                removals_are_refused_exactly
                weights_are_refused_exactly
                apply_is_all_or_nothing
                the_declared_maximum_binds
                loads_stay_within_capacity
                loads_are_conserved
                capacities_are_the_papers
                reset_forgets_loads
                footprint_matches_the_allocator
                lookups_do_not_allocate
            }
        }
    };
}

/// One test for each law named, and the list of their names.
#[doc(hidden)]
#[macro_export]
macro_rules! __tests_of_laws {
    ($($law:ident)+) => {
        /// The laws that have a test here.
        #[allow(dead_code, reason = "only the testkit compares it with the laws there are")]
        pub(crate) const TESTED: &[&str] = &[$(stringify!($law)),+];

        $(
            #[test]
            fn $law() {
                $crate::enforce(stringify!($law), &subject());
            }
        )+
    };
}
