//! `chash move`: what moves when the list of nodes changes.

use std::collections::BTreeMap;
use std::path::Path;

use chash_core::{Node, NodeId};
use chash_metrics::flow::Flow;
use chash_metrics::keys::KeyStream;

use super::print;
use crate::args::MoveArgs;
use crate::exit::Failure;
use crate::keys::{OwnHashes, Population};
use crate::nodes::NodeSet;
use crate::plan::{CountOrText, NodeItem, Patch, Plan};
use crate::registry;
use crate::run::cases::Group;
use crate::run::engine::placement_seed;
use crate::run::output::write_whole;
use crate::table::Table;

/// Prints a row for each server: keys and requests lost, gained and kept, and what moved needlessly.
///
/// # Errors
///
/// Whatever is wrong with the specs, the nodes or the keys; output that cannot be written.
pub fn run(args: &MoveArgs) -> Result<(), Failure> {
    if args.keys.keys.is_none() {
        return Err(Failure::Input("move needs --keys: a count, a file, or - for standard input".to_owned()));
    }
    let keys = args.keys.patch();
    let from_file = matches!(keys.keys, Some(CountOrText::Text(_)));
    let default_workload = if from_file { "file" } else { "sequential" };
    let flags = Patch {
        seed: Some(args.seed),
        reps: Some(1),
        algorithms: Some(vec![args.algorithm.clone()]),
        nodes: Some(vec![NodeItem::Text(args.before.clone()), NodeItem::Text(args.after.clone())]),
        requests: Some(args.requests.map_or(CountOrText::Text("keys".to_owned()), CountOrText::Count)),
        workloads: Some(vec![args.workload.clone().unwrap_or_else(|| default_workload.to_owned())]),
        ..keys
    };
    let plan = Plan::resolve(Patch::default(), flags).map_err(Failure::input)?;
    let (before, after) = (&plan.nodes[0], &plan.nodes[1]);
    let change = Change::between(before, after);
    let spec = &plan.algorithms[0];
    let build = |which: &str, list: &NodeSet, nodes: &[Node]| {
        let seed = placement_seed(plan.seed, list.named, 0);
        let built = registry::build(spec, list.with(nodes), seed);
        built.map_err(|error| Failure::Input(format!("{which}: {spec} with these nodes: {error}")))
    };
    let placement_before = build("--before", before, &before.nodes)?;
    let placement_after = build("--after", after, &change.after)?;
    let population = Population::read(&plan, args.quiet)?;
    let group = Group { workload: &plan.workloads[0], first: true, rep: 0 };
    let prepared = population.prepare(&plan, group).map_err(Failure::input)?;
    let hasher = registry::own_hasher(spec);
    let own = hasher.as_deref().map(|hasher| OwnHashes::new(prepared.stream(), hasher));
    let keys = own.as_ref().map_or(prepared.stream(), |own| own as &dyn KeyStream);
    let flow = Flow::between(keys, placement_before, placement_after);

    if let Some(path) = &args.flow {
        write_flow(path, &flow, &change)?;
    }
    print(&servers(&flow, &change).render(args.format))?;
    if !args.quiet {
        eprintln!("{}", summary(&flow, &change));
    }
    Ok(())
}

/// The nodes on both sides of a change, under ids that go with names.
struct Change {
    /// By id: the name, and the weight before and after where the node is there.
    sides: Vec<(Box<str>, Option<u32>, Option<u32>)>,
    /// The nodes after, in their list order, with the ids of the nodes before where the names are theirs.
    after: Vec<Node>,
}

impl Change {
    fn between(before: &NodeSet, after: &NodeSet) -> Self {
        let mut sides: Vec<(Box<str>, Option<u32>, Option<u32>)> =
            before.nodes.iter().map(|node| (node.name.clone(), Some(node.weight), None)).collect();
        let ids: BTreeMap<Box<str>, usize> =
            sides.iter().enumerate().map(|(id, side)| (side.0.clone(), id)).collect();
        let mut nodes = Vec::with_capacity(after.nodes.len());
        for node in &after.nodes {
            let id = ids.get(&node.name).copied().unwrap_or_else(|| {
                sides.push((node.name.clone(), None, None));
                sides.len() - 1
            });
            sides[id].2 = Some(node.weight);
            let id = NodeId(u32::try_from(id).expect("two lists of 2^32 names do not fit in memory"));
            nodes.push(Node::new(id, node.name.clone()).with_weight(node.weight));
        }
        Self { sides, after: nodes }
    }

    fn name(&self, id: NodeId) -> &str {
        &self.sides[id.index()].0
    }

    /// A move is needless unless its old node left or lost weight, or its new node arrived or gained weight.
    fn is_needless(&self, from: NodeId, to: NodeId) -> bool {
        let ((_, from_before, from_after), (_, to_before, to_after)) =
            (&self.sides[from.index()], &self.sides[to.index()]);
        // An absent weight orders below every present one.
        from != to && from_after >= from_before && to_after <= to_before
    }
}

fn servers(flow: &Flow, change: &Change) -> Table {
    // Keys lost, gained, kept; needless moves away or here; requests lost and gained.
    let mut rows = vec![[0u64; 6]; change.sides.len()];
    for (from, to, amount) in flow.pairs() {
        if from == to {
            rows[from.index()][2] += amount.keys;
            continue;
        }
        rows[from.index()][0] += amount.keys;
        rows[from.index()][4] += amount.requests.unwrap_or(0);
        rows[to.index()][1] += amount.keys;
        rows[to.index()][5] += amount.requests.unwrap_or(0);
        if change.is_needless(from, to) {
            rows[from.index()][3] += amount.keys;
        }
    }
    let headings = [
        "node",
        "change",
        "keys_lost",
        "keys_gained",
        "keys_kept",
        "keys_needless",
        "requests_lost",
        "requests_gained",
    ];
    let mut table = Table::new("", &headings);
    for ((name, before, after), row) in change.sides.iter().zip(rows) {
        let what = match (before, after) {
            (None, _) => "arrives".to_owned(),
            (_, None) => "leaves".to_owned(),
            (Some(old), Some(new)) if old != new => format!("weight {old} to {new}"),
            _ => "stays".to_owned(),
        };
        let mut fields = vec![name.to_string(), what];
        fields.extend(row.iter().map(ToString::to_string));
        table.rows.push(fields);
    }
    table
}

fn summary(flow: &Flow, change: &Change) -> String {
    let (mut keys, mut moved, mut needless) = (0, 0, 0);
    for (from, to, amount) in flow.pairs() {
        keys += amount.keys;
        moved += if from == to { 0 } else { amount.keys };
        needless += if change.is_needless(from, to) { amount.keys } else { 0 };
    }
    let percent = |part: u64| 100.0 * part as f64 / keys as f64;
    format!(
        "{moved} of {keys} keys move ({:.2} %), {needless} of them needlessly ({:.2} %): \
         keys_needless counts moves away from a node between nodes that the change does not touch",
        percent(moved),
        percent(needless)
    )
}

fn write_flow(path: &Path, flow: &Flow, change: &Change) -> Result<(), Failure> {
    let mut table = Table::new("", &["from", "to", "keys", "requests"]);
    for (from, to, amount) in flow.pairs() {
        let names = [change.name(from).to_owned(), change.name(to).to_owned()];
        table.rows.push(
            [
                &names[..],
                &[
                    amount.keys.to_string(),
                    amount.requests.map_or(String::new(), |requests| requests.to_string()),
                ],
            ]
            .concat(),
        );
    }
    write_whole(path, table.render(crate::args::Format::Csv).as_bytes())
        .map_err(|error| Failure::output(&format!("--flow {}", path.display()), &error))
}
