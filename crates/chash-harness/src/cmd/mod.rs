//! One file for each subcommand.

use std::io::{self, Write};

use crate::exit::Failure;

pub mod list;
pub mod moves;
pub mod place;
pub mod run;
pub mod verify;

/// Writes text to standard output.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::output("standard output", &error))
}
