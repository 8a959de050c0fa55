//! Every recorded answer of every system, through the catalogue: parameters and server lists as the
//! recordings describe them, keys as bytes.
//!
//! `CHASH_GOLDEN_DIR` may name a directory with the full recordings; without it the thinned ones
//! in `tests/data` are checked. See `tests/data/README.md`.

mod golden {
    pub(crate) mod config;
    pub(crate) mod files;
}

use golden::files::{Outcome, check_all};

#[test]
fn every_recorded_row_is_matched() {
    let outcomes = check_all();
    for Outcome { file, matched, rows, first_mismatch } in &outcomes {
        println!(
            "{matched:>6} of {rows:>6}  {file}{}",
            first_mismatch.as_deref().map_or(String::new(), |row| format!("  {row}"))
        );
    }
    let wrong: Vec<&str> = outcomes.iter().filter(|o| o.matched != o.rows).map(|o| &*o.file).collect();
    assert!(wrong.is_empty(), "rows that differ in {wrong:?}");
    let empty: Vec<&str> = outcomes.iter().filter(|o| o.rows == 0).map(|o| &*o.file).collect();
    assert!(empty.is_empty(), "no row in {empty:?}");
}
