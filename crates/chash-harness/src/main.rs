//! The `chash` program.
fn main() {}
