//! The program under test.

#![allow(dead_code, reason = "each test target uses some of it")]

use std::path::Path;
use std::process::{Command, Output};

/// Runs `chash` in `dir` with these arguments, words separated by spaces.
pub(crate) fn chash(dir: &Path, arguments: &str) -> Output {
    chash_words(dir, &arguments.split_whitespace().collect::<Vec<_>>())
}

/// Runs `chash` in `dir` with these arguments.
pub(crate) fn chash_words(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_chash"))
        .args(arguments)
        .current_dir(dir)
        .output()
        .expect("the program starts")
}

/// Standard output as text.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// Standard error as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// A run that ends well, with its directory's name.
pub(crate) fn run_in(dir: &Path, out: &str, arguments: &str) {
    let output = chash(dir, &format!("run {arguments} --out {out}"));
    assert!(output.status.success(), "{}", stderr(&output));
}
