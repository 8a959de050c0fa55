//! The `chash` program: parse, dispatch, say what went wrong, exit.

use std::process::ExitCode;

use chash_harness::args::{Cli, Command};
use chash_harness::cmd;
use chash_harness::exit::Failure;
use chash_metrics::alloc::CountingAllocator;
use clap::Parser;

// `memory.csv` counts what a placement requests; the cost elsewhere is a few instructions an allocation.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::List(args) => cmd::list::run(&args),
        Command::Place(args) => cmd::place::run(&args),
        Command::Move(args) => cmd::moves::run(&args),
        Command::Run(args) => cmd::run::run(&args),
        Command::Verify(args) => cmd::verify::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !matches!(failure, Failure::BrokenPipe) {
                eprintln!("chash: {failure}");
            }
            failure.status()
        }
    }
}
