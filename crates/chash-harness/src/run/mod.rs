//! `chash run`: from a plan to a directory of CSVs.

pub mod cases;
pub mod engine;
pub mod estimate;
pub mod machine;
pub mod output;
pub mod progress;
pub mod record;
pub mod timing;
