//! The placements of this workspace beside the crates that a Rust user would pick today. See README.md.

mod bars;
mod contender;
mod family;
mod hashers;
mod measure;
mod nodes;
mod ours;
mod report;

use std::path::PathBuf;

use anyhow::Result;
use chash_metrics::alloc::CountingAllocator;
use clap::Parser;
use clap::builder::PossibleValuesParser;

use family::{FAMILIES, Family};
use measure::{Effort, measure};
use nodes::MAX_NODES;
use report::Csv;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// Times our placements and their peers side by side, in one process and on the same keys.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Numbers of nodes [default: 10,100,1000,10000; with --quick 10,100,1000]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_NODES)))]
    nodes: Vec<u32>,

    /// Rounds, in each of which everyone is timed once [default: 9; with --quick 3]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,

    /// Families to compare [default: all]
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(FAMILIES.map(|family| family.name)))]
    family: Vec<String>,

    /// Where to write the CSV; none is written without
    #[arg(long, value_name = "FILE.csv")]
    out: Option<PathBuf>,

    /// Fewer nodes, rounds and keys, and less time for each: to see that it works, not to quote
    #[arg(long)]
    quick: bool,
}

impl Args {
    fn effort(&self) -> Effort {
        let effort = if self.quick { Effort::QUICK } else { Effort::FULL };
        Effort { rounds: self.rounds.map_or(effort.rounds, |rounds| rounds as usize), ..effort }
    }

    fn nodes(&self) -> Vec<u32> {
        match (self.nodes.is_empty(), self.quick) {
            (false, _) => self.nodes.clone(),
            (true, false) => vec![10, 100, 1000, 10_000],
            (true, true) => vec![10, 100, 1000],
        }
    }

    fn families(&self) -> impl Iterator<Item = &'static Family> {
        let wanted =
            |family: &&Family| self.family.is_empty() || self.family.iter().any(|name| name == family.name);
        FAMILIES.into_iter().filter(wanted)
    }
}

/// How busy the machine is, as far as it can be told: work for as many processors in the last minute.
fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

fn main() -> Result<()> {
    let args = Args::parse();
    let effort = args.effort();
    let keys = effort.make_keys();
    let mut csv = args.out.as_deref().map(Csv::create).transpose()?;
    println!(
        "path {}, instructions {}, {} keys, {} rounds, load {} on {} processors\n",
        report::PATH,
        bars::instruction_set(),
        keys.len(),
        effort.rounds,
        load(),
        std::thread::available_parallelism().map_or(0, usize::from),
    );
    let mut all = Vec::new();
    for family in args.families() {
        // A first placement of each makes the lists of nodes that builds are given.
        for entry in family.entries() {
            drop((entry.build)(1));
        }
        let mut by_nodes = Vec::new();
        for nodes in args.nodes() {
            eprintln!("{} at {nodes} nodes, load {}", family.name, load());
            let outcomes = measure(family, nodes, &effort, &keys)?;
            if let Some(csv) = &mut csv {
                csv.write(family, &outcomes)?;
            }
            by_nodes.push(outcomes);
        }
        println!("{}", report::tables(family, &by_nodes));
        all.extend(by_nodes.into_iter().map(|outcomes| (family.name, outcomes)));
    }
    let bars = bars::table(&all);
    if !bars.is_empty() {
        println!("== bars: ours over the peer that each is set against\n\n{bars}");
    }
    println!("load {} at the end", load());
    csv.map_or(Ok(()), Csv::finish)
}
