//! The numbers as aligned tables for reading and as a CSV for everything else.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::contender::Side;
use crate::family::Family;
use crate::measure::{Mode, Outcome, Ratio, best_peer};

const HEADER: [&str; 17] = [
    "family",
    "contender",
    "version",
    "side",
    "path",
    "nodes",
    "mode",
    "value",
    "unit",
    "ratio_to_best_peer",
    "ratio_min",
    "ratio_max",
    "best_peer",
    "rounds",
    "lookups",
    "rebuilds",
    "note",
];

/// Which code of ours ran: `portable` where `--cfg chash_portable` left every instruction-set backend out.
pub const PATH: &str = if cfg!(chash_portable) { "portable" } else { "auto" };

/// The CSV on its way: under its final name only when it is complete.
pub struct Csv {
    writer: csv::Writer<File>,
    part: PathBuf,
    path: PathBuf,
}

impl Csv {
    /// # Errors
    ///
    /// If the file cannot be made.
    pub fn create(path: &Path) -> Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        let part = PathBuf::from(name);
        let mut writer =
            csv::Writer::from_path(&part).with_context(|| format!("cannot write {}", part.display()))?;
        writer.write_record(HEADER)?;
        Ok(Self { writer, part, path: path.to_owned() })
    }

    /// Writes what a family reached at one number of nodes.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(&mut self, family: &Family, outcomes: &[Outcome]) -> Result<()> {
        for outcome in outcomes {
            for (mode, rounds) in &outcome.rounds {
                let best = best_peer(outcomes, *mode);
                let ratio = best.and_then(|best| rounds.ratio_to(best.of(*mode)?));
                let column = |part: fn(Ratio) -> f64| {
                    ratio.map_or(String::new(), |ratio| format!("{:.4}", part(ratio)))
                };
                let entry = outcome.entry;
                self.writer.write_record([
                    family.name,
                    &entry.name(),
                    entry.version(),
                    side(entry.side),
                    PATH,
                    &outcome.nodes.to_string(),
                    mode.name(),
                    &decimal(rounds.median()),
                    mode.unit(),
                    &column(|ratio| ratio.median),
                    &column(|ratio| ratio.min),
                    &column(|ratio| ratio.max),
                    &best.map_or(String::new(), |best| best.entry.name()),
                    &rounds.values.len().to_string(),
                    &if rounds.lookups == 0 { String::new() } else { rounds.lookups.to_string() },
                    if entry.rebuilds { "true" } else { "false" },
                    entry.note,
                ])?;
            }
        }
        self.writer.flush().context("cannot write the report")
    }

    /// Gives the file its name.
    ///
    /// # Errors
    ///
    /// If the file cannot be written or renamed.
    pub fn finish(mut self) -> Result<()> {
        self.writer.flush()?;
        std::fs::rename(&self.part, &self.path)
            .with_context(|| format!("cannot rename {} to {}", self.part.display(), self.path.display()))
    }
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Ours => "ours",
        Side::Peer => "peer",
        Side::Wrong => "wrong",
        Side::Floor => "floor",
    }
}

/// Four decimals where they say something.
fn decimal(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.4}") }
}

/// Three significant digits with a unit.
fn human(mode: Mode, value: f64, nodes: u32) -> String {
    let digits = |value: f64| match value {
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    };
    match mode.unit() {
        "ns" => match value {
            ..1e3 => format!("{} ns", digits(value)),
            ..1e6 => format!("{} µs", digits(value / 1e3)),
            ..1e9 => format!("{} ms", digits(value / 1e6)),
            _ => format!("{} s", digits(value / 1e9)),
        },
        "bytes" => format!("{} B", digits(value / f64::from(nodes))),
        _ => digits(value),
    }
}

fn times(ratio: f64) -> String {
    match ratio {
        ..10.0 => format!("{ratio:.2}x"),
        ..100.0 => format!("{ratio:.1}x"),
        _ => format!("{ratio:.0}x"),
    }
}

/// Pads every column; the first to the left, the others to the right.
pub fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    rows.iter().fold(String::new(), |mut text, row| {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let padding = " ".repeat(width - cell.chars().count());
            if column == 0 {
                let _ = write!(line, "{cell}{padding}");
            } else {
                let _ = write!(line, "  {padding}{cell}");
            }
        }
        let _ = writeln!(text, "{}", line.trim_end());
        text
    })
}

fn title(mode: Mode) -> &'static str {
    match mode {
        Mode::Single => "single lookups, time a key",
        Mode::Batch => "batch lookups, time a key (peers, which have none: single)",
        Mode::Dependent => "dependent lookups, time a key",
        Mode::Build => "build",
        Mode::Add => "one node comes (~ by a rebuild)",
        Mode::Remove => "one node goes (~ by a rebuild)",
        Mode::MemoryLive => "heap held, bytes a node",
        Mode::MemoryPeak => "heap at the peak of the build, bytes a node",
        Mode::Balance => "fullest node, over its fair share",
        Mode::Movement => "keys moved when a node comes, over the unavoidable",
    }
}

/// Everything about one family: a table for each mode, then what is to know about its members.
pub fn tables(family: &Family, by_nodes: &[Vec<Outcome>]) -> String {
    let mut text = format!("== {}: {}\n", family.name, family.what);
    for mode in Mode::ALL {
        let _ = write!(text, "\n{} · {}\n{}", family.name, title(mode), table(family, by_nodes, mode));
    }
    text.push('\n');
    for entry in family.entries().filter(|entry| !entry.note.is_empty()) {
        let mark = if entry.side == Side::Wrong { "! wrong: " } else { "" };
        let _ = writeln!(text, "{}: {mark}{}", entry.name(), entry.note);
    }
    text
}

/// A row for each member, a column for each number of nodes; behind a peer's value how many times as good ours is.
fn table(family: &Family, by_nodes: &[Vec<Outcome>], mode: Mode) -> String {
    let nodes = by_nodes.iter().filter_map(|outcomes| outcomes.first()).map(|outcome| outcome.nodes);
    let mut rows = vec![vec![String::new(), "version".to_owned()]];
    rows[0].extend(nodes.flat_map(|nodes| [format!("N={nodes}"), String::new()]));
    for entry in family.entries() {
        let mark = match (entry.side, mode, entry.rebuilds) {
            (Side::Wrong, ..) => "! ",
            (_, Mode::Add | Mode::Remove, true) => "~ ",
            _ => "  ",
        };
        let mut row = vec![format!("{mark}{}", entry.name()), entry.version().to_owned()];
        for outcomes in by_nodes {
            let of = |wanted: &dyn Fn(&Outcome) -> bool| outcomes.iter().find(|outcome| wanted(outcome));
            let this = of(&|outcome| std::ptr::eq(outcome.entry, entry));
            let ours = of(&|outcome| outcome.entry.side == Side::Ours);
            let rounds = this.and_then(|outcome| outcome.of(mode));
            let shown = matches!(entry.side, Side::Peer | Side::Wrong) && mode.is_cost();
            let ratio = rounds.and_then(|rounds| ours?.of(mode)?.ratio_to(rounds)).filter(|_| shown);
            let nodes = outcomes.first().map_or(1, |outcome| outcome.nodes);
            row.push(rounds.map_or("-".to_owned(), |rounds| human(mode, rounds.median(), nodes)));
            row.push(ratio.map_or(String::new(), |ratio| times(ratio.median)));
        }
        rows.push(row);
    }
    let mut best = vec!["  ours over the best peer".to_owned(), String::new()];
    for outcomes in by_nodes {
        let ours = outcomes.iter().find(|outcome| outcome.entry.side == Side::Ours);
        let peer = best_peer(outcomes, mode);
        let ratio = ours.and_then(|ours| ours.of(mode)?.ratio_to(peer?.of(mode)?));
        best.push(ratio.map_or(String::new(), |ratio| format!("{:.2}..{:.2}", ratio.min, ratio.max)));
        best.push(ratio.map_or(String::new(), |ratio| times(ratio.median)));
    }
    if best.iter().skip(1).any(|cell| !cell.is_empty()) {
        rows.push(best);
    }
    align(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        assert_eq!(human(Mode::Single, 2.345, 10), "2.35 ns");
        assert_eq!(human(Mode::Single, 45.67, 10), "45.7 ns");
        assert_eq!(human(Mode::Build, 1.234e6, 10), "1.23 ms");
        assert_eq!(human(Mode::MemoryLive, 12_340.0, 10), "1234 B");
        assert_eq!(human(Mode::Movement, 1.0, 10), "1.00");
        assert_eq!((decimal(3.0), decimal(2.5)), ("3".to_owned(), "2.5000".to_owned()));
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [["a", "1"], ["long", "22"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(align(&rows), "a      1\nlong  22\n");
    }
}
