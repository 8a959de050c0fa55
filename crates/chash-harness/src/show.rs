//! The tables at the end of a run, made from the CSVs it left: what is shown is what is in the files.

use std::collections::BTreeMap;
use std::path::Path;

use crate::exit::Failure;
use crate::keys::Population;
use crate::plan::{Plan, Show};
use crate::table::Table;

mod scenario;
mod spread;
mod summary;

/// The tables that the plan asks for.
///
/// # Errors
///
/// A file that cannot be read back.
pub fn tables(plan: &Plan, population: &Population, dir: &Path) -> Result<Vec<Table>, Failure> {
    let files = Files { dir };
    match plan.show {
        Show::Summary => {
            let labels: Vec<String> =
                plan.workloads.iter().map(|workload| population.workload_label(workload)).collect();
            summary::tables(plan, [&labels[0], &labels[labels.len() - 1]], &files)
        }
        Show::Scenario => scenario::tables(plan, &files),
        Show::Spread => spread::tables(plan, &files),
    }
}

/// The CSVs of a run.
struct Files<'a> {
    dir: &'a Path,
}

/// One row, by column name.
type Record = BTreeMap<String, String>;

impl Files<'_> {
    /// The measured rows of a file, those whose status is `ok`; none if the run did not write it.
    fn read(&self, name: &str) -> Result<Vec<Record>, Failure> {
        let path = self.dir.join(format!("{name}.csv"));
        if !path.exists() {
            return Ok(Vec::new());
        }
        let failed = |error: csv::Error| Failure::InputOutput(format!("{}: {error}", path.display()));
        let rows = csv::Reader::from_path(&path)
            .map_err(failed)?
            .into_deserialize()
            .collect::<Result<Vec<Record>, _>>();
        let mut rows = rows.map_err(failed)?;
        rows.retain(|row| row["status"] == "ok");
        Ok(rows)
    }
}

/// The number in a column, if there is one.
fn number(row: &Record, column: &str) -> Option<f64> {
    row.get(column)?.parse().ok()
}

/// The mean of what is there.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// The median of what is there.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[n / 2]),
        n => Some((values[n / 2 - 1] + values[n / 2]) / 2.0),
    }
}

/// A number for people, or a dash.
fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}
