//! A small table for a terminal, a spreadsheet or a program.

use comfy_table::{CellAlignment, ContentArrangement, presets};

use crate::args::Format;

/// Rows of text under headings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What stands above, in the format for people.
    pub title: String,
    /// The headings.
    pub headings: Vec<String>,
    /// As many fields a row as there are headings.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(title: impl Into<String>, headings: &[&str]) -> Self {
        Self {
            title: title.into(),
            headings: headings.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
        }
    }

    /// The table as text that ends with a newline.
    #[must_use]
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Table => self.aligned(),
            Format::Csv => self.csv(),
            Format::Json => self.json(),
        }
    }

    fn aligned(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(&self.headings);
        for row in &self.rows {
            table.add_row(row);
        }
        for (at, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            let is_number = |row: &Vec<String>| {
                row[at].is_empty() || row[at].starts_with(|c: char| c.is_ascii_digit() || c == '-')
            };
            if self.rows.iter().all(is_number) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
        let title = if self.title.is_empty() { String::new() } else { format!("{}\n", self.title) };
        format!("{title}{}\n", lines.join("\n"))
    }

    fn csv(&self) -> String {
        let mut writer =
            csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(Vec::new());
        let written =
            std::iter::once(&self.headings).chain(&self.rows).try_for_each(|row| writer.write_record(row));
        let bytes = written.ok().and_then(|()| writer.into_inner().ok()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn json(&self) -> String {
        let rows: Vec<serde_json::Map<String, serde_json::Value>> = self
            .rows
            .iter()
            .map(|row| self.headings.iter().cloned().zip(row.iter().cloned().map(Into::into)).collect())
            .collect();
        format!("{}\n", serde_json::json!(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("Title", &["name", "n"]);
        table.rows = vec![vec!["a,b".into(), "5".into()], vec!["c".into(), "10".into()]];
        table
    }

    #[test]
    fn three_formats() {
        assert_eq!(table().render(Format::Table), "Title\nname   n\na,b    5\nc     10\n");
        assert_eq!(table().render(Format::Csv), "name,n\n\"a,b\",5\nc,10\n");
        assert_eq!(
            table().render(Format::Json),
            "[{\"n\":\"5\",\"name\":\"a,b\"},{\"n\":\"10\",\"name\":\"c\"}]\n"
        );
    }
}
