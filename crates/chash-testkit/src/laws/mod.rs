//! The laws, one group a file. This is the list of all of them.

use crate::Law;
use crate::law::verdict;

mod answers;
mod batch;
mod determinism;
mod disruption;
mod errors;
mod limits;
mod loads;
mod membership;
mod memory;
mod names;
mod replicas;
mod seeds;
mod shares;

macro_rules! law {
    ($group:ident::$name:ident, $summary:literal) => {
        Law { name: stringify!($name), summary: $summary, check: |subject| verdict($group::$name(subject)) }
    };
}

/// Every law, in the order in which they are best read.
pub static LAWS: &[Law] = &[
    law!(
        answers::answers_are_members,
        "every key belongs to a node that is present and has a weight above 0"
    ),
    law!(answers::byte_keys_have_members, "every byte string belongs to such a node, the same one each time"),
    law!(answers::work_is_repeatable, "the work of a lookup depends on the key and the placement only"),
    law!(batch::batch_equals_single, "a batch answers what single lookups answer, at every length"),
    law!(batch::batch_refuses_unequal_lengths, "a batch with too few or too many answers panics"),
    law!(
        determinism::equal_builds_agree,
        "one seed and one list of nodes give one table, and clones share it"
    ),
    law!(
        determinism::list_order_is_ignored,
        "where only the set counts, any order of the list gives one table"
    ),
    law!(determinism::ids_are_only_labels, "other ids change no key's owner by name"),
    law!(
        determinism::history_leaves_no_trace,
        "after any changes the table equals a fresh build of the nodes present"
    ),
    law!(determinism::clones_are_independent, "changing a clone leaves the original as it was"),
    law!(seeds::seeds_make_tables, "another seed gives another table"),
    law!(
        names::every_name_is_a_node,
        "any two distinct names are two nodes, empty, long and foreign ones included"
    ),
    law!(
        membership::members_follow_the_history,
        "node count and ids are those of the nodes added and not removed"
    ),
    law!(
        disruption::additions_move_keys_to_the_newcomer_only,
        "where disruption is minimal, a newcomer takes keys and nothing else moves"
    ),
    law!(
        disruption::removals_move_keys_of_the_leaver_only,
        "where disruption is minimal, a leaver's keys move and nothing else"
    ),
    law!(
        disruption::reweighting_moves_keys_of_that_node_only,
        "where disruption is minimal, more weight takes keys, less weight gives keys, and nothing else moves"
    ),
    law!(disruption::adding_then_removing_restores, "a node that comes and goes leaves the table as it was"),
    law!(
        disruption::removing_then_adding_restores,
        "a node that goes and comes back finds the table as it was"
    ),
    law!(
        replicas::replicas_are_distinct_members,
        "the k replicas are distinct nodes, as many as there are up to k, the first of them the owner"
    ),
    law!(replicas::replicas_are_prefix_stable, "a longer list of replicas begins with every shorter one"),
    law!(
        replicas::first_accepting_walks_the_replicas,
        "the first replica that accepts is found, after asking those before it once each"
    ),
    law!(
        replicas::a_newcomer_only_inserts_itself,
        "where disruption is minimal, a newcomer changes no order among the others"
    ),
    law!(shares::shares_add_up, "the shares of the nodes are fractions of 1, all or none of them known"),
    law!(shares::counts_follow_shares, "keys are spread as the shares say"),
    law!(
        shares::shares_follow_weights,
        "averaged over placements, a node's share is its fraction of the weight"
    ),
    law!(
        shares::weight_zero_is_never_chosen,
        "a node of weight 0 is present and gets nothing until its weight is raised"
    ),
    law!(
        errors::builds_are_refused_exactly,
        "a list that cannot be placed is refused with the variant that says why"
    ),
    law!(
        errors::additions_are_refused_exactly,
        "an addition that cannot be made is refused with its variant and changes nothing"
    ),
    law!(
        errors::removals_are_refused_exactly,
        "a removal that cannot be made is refused with its variant and changes nothing"
    ),
    law!(
        errors::weights_are_refused_exactly,
        "a weight that cannot be had is refused with its variant and changes nothing"
    ),
    law!(errors::apply_is_all_or_nothing, "several changes are made together or not at all"),
    law!(limits::the_declared_maximum_binds, "as many nodes as declared are accepted, and not one more"),
    law!(
        loads::loads_stay_within_capacity,
        "no key is assigned above the capacity of the moment, and every key is placed"
    ),
    law!(
        loads::loads_are_conserved,
        "what is held is what was assigned and not released, node by node, through any changes"
    ),
    law!(
        loads::capacities_are_the_papers,
        "where a factor is declared, every capacity is ⌈factor·total·weight/Σweight⌉ exactly"
    ),
    law!(loads::reset_forgets_loads, "a reset placement is as new"),
    law!(
        memory::footprint_matches_the_allocator,
        "the footprint is what the allocator counts, to the byte, through any changes"
    ),
    law!(memory::lookups_do_not_allocate, "no lookup requests memory"),
];
