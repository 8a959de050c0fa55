//! Naive placements obey every law that applies to them; a placement with a fault breaks the law about it.

mod broken;
mod naive;

use std::collections::BTreeSet;

use broken::{Broken, Fault};
use chash_core::Distributor;
use chash_metrics::alloc::CountingAllocator;
use chash_testkit::{LAWS, Subject, Verdict, conformance};
use naive::{Naive, Quirk, Rule};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

const RING: Rule = Rule::Ring { bits: 64 };
/// So few positions that most points collide.
const TIGHT_RING: Rule = Rule::Ring { bits: 8 };

conformance!(ring, |seed, nodes| Naive::build(RING, Quirk::None, seed, nodes));
conformance!(tight_ring, |seed, nodes| Naive::build(TIGHT_RING, Quirk::None, seed, nodes);
    shares_follow_weights = false);
conformance!(rendezvous, |seed, nodes| Naive::build(Rule::Rendezvous, Quirk::None, seed, nodes));
conformance!(modulo, |seed, nodes| Naive::build(Rule::Modulo, Quirk::None, seed, nodes));
conformance!(staircase, |seed, nodes| Naive::build(Rule::Staircase, Quirk::None, seed, nodes));
conformance!(bounded_ring, |seed, nodes| Naive::build(Rule::BoundedRing, Quirk::None, seed, nodes));
// The wrapper with its fault switched off: what it breaks otherwise is the fault's doing.
conformance!(unbroken, |seed, nodes| Broken::build(Rule::BoundedRing, Fault::None, seed, nodes));

#[test]
fn every_law_is_a_test() {
    let laws: Vec<&str> = LAWS.iter().map(|law| law.name).collect();
    assert_eq!(laws, ring::TESTED);
}

/// What declarations exempt from, they exempt from: a law that does not apply says so.
#[test]
fn declarations_exempt() {
    let exempt = |rule, name: &str, change: fn(&mut Subject<'_>)| {
        let build = |seed, nodes: &[_]| {
            Naive::build(rule, Quirk::None, seed, nodes).map(|naive| Box::new(naive) as Box<dyn Distributor>)
        };
        let mut subject = Subject::new("naive", &build);
        change(&mut subject);
        let law = LAWS.iter().find(|law| law.name == name).expect("a law of LAWS");
        let verdict = law.run(&subject);
        assert!(matches!(verdict, Verdict::NotApplicable(_)), "{rule:?}, `{name}`: {verdict:?}");
    };
    exempt(Rule::Modulo, "list_order_is_ignored", |_| {});
    exempt(Rule::Modulo, "additions_move_keys_to_the_newcomer_only", |_| {});
    exempt(Rule::Modulo, "removals_move_keys_of_the_leaver_only", |_| {});
    exempt(Rule::Modulo, "reweighting_moves_keys_of_that_node_only", |_| {});
    exempt(Rule::Modulo, "weight_zero_is_never_chosen", |_| {});
    exempt(Rule::Staircase, "replicas_are_prefix_stable", |_| {});
    exempt(Rule::Staircase, "byte_keys_have_members", |_| {});
    exempt(Rule::Staircase, "the_declared_maximum_binds", |_| {});
    exempt(Rule::BoundedRing, "a_newcomer_only_inserts_itself", |_| {});
    exempt(RING, "loads_are_conserved", |_| {});
    exempt(RING, "seeds_make_tables", |subject| subject.seeded = false);
    exempt(RING, "shares_follow_weights", |subject| subject.shares_follow_weights = false);
}

/// Which law must reject which fault, and in which placement.
const REJECTIONS: &[(&str, Rule, Fault)] = &[
    ("answers_are_members", RING, Fault::AnswersAbsentNode),
    ("byte_keys_have_members", RING, Fault::ForgetsEmptyBytes),
    ("work_is_repeatable", RING, Fault::CountsEarlierLookups),
    ("batch_equals_single", RING, Fault::BatchRepeatsInRemainder),
    ("batch_refuses_unequal_lengths", RING, Fault::BatchTakesUnequalLengths),
    ("equal_builds_agree", Rule::Modulo, Fault::SeedsFromBuildNumber),
    ("list_order_is_ignored", TIGHT_RING, Fault::Ring(Quirk::TiesByList)),
    ("list_order_is_ignored", TIGHT_RING, Fault::Ring(Quirk::DropsCollidingPoints)),
    ("list_order_is_ignored", Rule::Modulo, Fault::ClaimsSetOnly),
    ("ids_are_only_labels", RING, Fault::Ring(Quirk::IdentityIsId)),
    ("history_leaves_no_trace", TIGHT_RING, Fault::Ring(Quirk::TiesByList)),
    ("history_leaves_no_trace", TIGHT_RING, Fault::Ring(Quirk::DropsCollidingPoints)),
    ("history_leaves_no_trace", TIGHT_RING, Fault::Ring(Quirk::ProbesForFreePositions)),
    ("history_leaves_no_trace", Rule::Staircase, Fault::RemovalReseeds),
    ("clones_are_independent", RING, Fault::ClonesShareState),
    ("clones_are_independent", Rule::BoundedRing, Fault::ClonesForgetLoads),
    ("seeds_make_tables", RING, Fault::IgnoresSeed),
    ("every_name_is_a_node", RING, Fault::Ring(Quirk::CutsNames)),
    ("every_name_is_a_node", Rule::Rendezvous, Fault::FoldsCase),
    ("members_follow_the_history", RING, Fault::IdsAreStale),
    ("members_follow_the_history", RING, Fault::CountsChoosableNodesOnly),
    ("additions_move_keys_to_the_newcomer_only", Rule::Modulo, Fault::ClaimsMinimalDisruption),
    ("removals_move_keys_of_the_leaver_only", RING, Fault::Ring(Quirk::IdentityIsIndex)),
    ("removals_move_keys_of_the_leaver_only", Rule::Modulo, Fault::ClaimsMinimalDisruption),
    ("removals_move_keys_of_the_leaver_only", RING, Fault::LeavesStalePoints),
    ("reweighting_moves_keys_of_that_node_only", RING, Fault::ReweightingReseeds),
    ("adding_then_removing_restores", RING, Fault::RemovalReseeds),
    ("adding_then_removing_restores", TIGHT_RING, Fault::Ring(Quirk::DropsCollidingPoints)),
    ("removing_then_adding_restores", RING, Fault::ReturnsAsStranger),
    ("removing_then_adding_restores", TIGHT_RING, Fault::Ring(Quirk::DropsCollidingPoints)),
    ("replicas_are_distinct_members", RING, Fault::RepeatsReplica),
    ("replicas_are_distinct_members", RING, Fault::MissesLastReplica),
    ("replicas_are_distinct_members", Rule::Rendezvous, Fault::SwapsFirstReplicas),
    ("replicas_are_prefix_stable", Rule::Rendezvous, Fault::SortsReplicas),
    ("first_accepting_walks_the_replicas", RING, Fault::CountsProbesFromZero),
    ("first_accepting_walks_the_replicas", RING, Fault::AsksTwice),
    ("first_accepting_walks_the_replicas", RING, Fault::GivesUpEarly),
    ("a_newcomer_only_inserts_itself", RING, Fault::ReshufflesReplicas),
    ("shares_add_up", RING, Fault::SharesAddUpToMore),
    ("counts_follow_shares", RING, Fault::SharesAreEqual),
    ("counts_follow_shares", RING, Fault::BiasedMixer),
    ("shares_follow_weights", RING, Fault::IgnoresWeights),
    ("shares_follow_weights", RING, Fault::Ring(Quirk::GluesNameAndIndex)),
    ("weight_zero_is_never_chosen", RING, Fault::ChoosesWeightZero),
    ("builds_are_refused_exactly", RING, Fault::BuildsWithoutDuplicates),
    ("builds_are_refused_exactly", Rule::Modulo, Fault::RefusesWithWrongVariant),
    ("additions_are_refused_exactly", RING, Fault::AddsWithWrongVariant),
    ("additions_are_refused_exactly", RING, Fault::RefusedAdditionChangesWeight),
    ("removals_are_refused_exactly", Rule::Staircase, Fault::RemovesWithWrongVariant),
    ("removals_are_refused_exactly", Rule::BoundedRing, Fault::RefusedRemovalForgetsLoads),
    ("weights_are_refused_exactly", RING, Fault::ReweightsAbsentNode),
    ("apply_is_all_or_nothing", RING, Fault::AppliesHalf),
    ("the_declared_maximum_binds", Rule::Modulo, Fault::HoldsOneMore),
    ("the_declared_maximum_binds", Rule::Modulo, Fault::HoldsOneLess),
    ("loads_stay_within_capacity", Rule::BoundedRing, Fault::AssignsAboveCapacity),
    ("loads_stay_within_capacity", Rule::BoundedRing, Fault::CountsAtTheWrongNode),
    ("loads_are_conserved", Rule::BoundedRing, Fault::LeaksReleases),
    ("loads_are_conserved", Rule::BoundedRing, Fault::ReleasesNothing),
    ("loads_are_conserved", Rule::BoundedRing, Fault::KeepsLeaversLoad),
    ("capacities_are_the_papers", Rule::BoundedRing, Fault::CapacityIsFloor),
    ("capacities_are_the_papers", Rule::BoundedRing, Fault::CapacityIsOneMore),
    ("capacities_are_the_papers", Rule::BoundedRing, Fault::CapacityInDoubles),
    ("reset_forgets_loads", Rule::BoundedRing, Fault::ResetKeepsLoads),
    ("reset_forgets_loads", Rule::BoundedRing, Fault::ResetKeepsTotal),
    ("footprint_matches_the_allocator", RING, Fault::FootprintIsTwoShort),
    ("lookups_do_not_allocate", RING, Fault::LookupAllocates),
    ("lookups_do_not_allocate", RING, Fault::BatchAllocates),
];

#[test]
fn every_fault_is_rejected() {
    for (name, rule, fault) in REJECTIONS {
        let law = LAWS.iter().find(|law| law.name == *name).expect("a law of LAWS");
        let build = |seed, nodes: &[_]| {
            Broken::build(*rule, *fault, seed, nodes).map(|broken| Box::new(broken) as Box<dyn Distributor>)
        };
        let verdict = (law.check)(&Subject::new("broken", &build));
        assert!(matches!(verdict, Verdict::Failed(_)), "{rule:?} with {fault:?}, `{name}`: {verdict:?}");
    }
}

#[test]
fn every_law_rejects_something() {
    let laws: BTreeSet<&str> = LAWS.iter().map(|law| law.name).collect();
    let rejecting: BTreeSet<&str> = REJECTIONS.iter().map(|(law, ..)| *law).collect();
    assert_eq!(laws, rejecting);
}
