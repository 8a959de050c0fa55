//! Tells the program which compiler and commit it was built from, for `run.json`.

use std::process::Command;

fn main() {
    let line = |program: &str, arguments: &[&str]| {
        let output =
            Command::new(program).args(arguments).output().ok().filter(|output| output.status.success());
        output.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    println!("cargo::rustc-env=CHASH_RUSTC={}", line(&rustc, &["--version"]));
    println!("cargo::rustc-env=CHASH_COMMIT={}", line("git", &["rev-parse", "--short=12", "HEAD"]));
    println!("cargo::rerun-if-changed=build.rs");
    // The log of HEAD grows with every commit; outside a repository there is nothing to watch.
    let log = line("git", &["rev-parse", "--git-path", "logs/HEAD"]);
    if !log.is_empty() {
        println!("cargo::rerun-if-changed={log}");
    }
}
