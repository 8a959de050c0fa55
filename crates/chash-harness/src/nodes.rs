//! Node lists: a count, or a CSV with a header.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chash_core::{Node, NodeId};
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use crate::run::machine;

/// Bytes of a numbered node with its name, and of the copy that a placement keeps.
const NODE_BYTES: u64 = 96;

/// What a file says of its nodes beyond name and weight: texts by node name and column.
pub type Columns = BTreeMap<String, BTreeMap<String, String>>;

/// Nodes to build a placement of. Nodes that are in no file, as those that join later, have no columns.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// The nodes, in list order.
    pub nodes: &'a [Node],
    /// Their further columns, by name: deployed systems read them.
    pub columns: &'a Columns,
}

impl<'a> From<&'a [Node]> for Listed<'a> {
    fn from(nodes: &'a [Node]) -> Self {
        static NONE: Columns = Columns::new();
        Self { nodes, columns: &NONE }
    }
}

impl<'a> From<&'a Vec<Node>> for Listed<'a> {
    fn from(nodes: &'a Vec<Node>) -> Self {
        Self::from(nodes.as_slice())
    }
}

impl<'a> From<&'a NodeSet> for Listed<'a> {
    fn from(set: &'a NodeSet) -> Self {
        set.with(&set.nodes)
    }
}

/// A node list as a user gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeSource {
    /// `node-0 … node-(n−1)`, weight 1.
    Count(u32),
    /// A CSV file with a column `name`.
    File(PathBuf),
}

impl NodeSource {
    /// Reads what stands after `--nodes`: digits mean a count, anything else is a path.
    ///
    /// # Errors
    ///
    /// A count of 0, or one past the largest.
    pub fn parse(text: &str) -> Result<Self, NodesError> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(Self::File(PathBuf::from(text)));
        }
        match text.parse() {
            Ok(0) | Err(_) => Err(NodesError::Count { text: text.to_owned() }),
            Ok(count) => Ok(Self::Count(count)),
        }
    }
}

/// A list of nodes with whatever else their file says of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSet {
    /// The nodes in list order, labelled 0, 1, 2, …
    pub nodes: Vec<Node>,
    /// The `weights` column: `equal` where every weight is 1, otherwise the file's base name and the hash of
    /// its content.
    pub weights: String,
    /// Whether the nodes have names of their own, so that their placement is not drawn again for
    /// each repetition.
    pub named: bool,
    /// Columns beyond `name` and `weight`, by node name and column.
    pub columns: Columns,
}

/// Why a node list was refused.
#[derive(Debug, Error)]
pub enum NodesError {
    /// A count that is not one.
    #[error("--nodes {text}: a count is a whole number from 1 to {max}", max = u32::MAX)]
    Count {
        /// What was given.
        text: String,
    },
    /// More nodes than fit in memory.
    #[error("{0}")]
    Memory(String),
    /// The file could not be read.
    #[error("nodes file {path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not the CSV it should be.
    #[error("nodes file {path}{at}: {what}")]
    Content {
        /// The file.
        path: String,
        /// `, line N` or nothing.
        at: String,
        /// What is wrong and what would be right.
        what: String,
    },
}

impl NodeSet {
    /// The nodes of a source.
    ///
    /// # Errors
    ///
    /// An unreadable file, a missing `name` column, a name that is empty or repeated, a weight that is
    /// not a whole number, a list without nodes or with weights that are all 0.
    pub fn read(source: &NodeSource) -> Result<Self, NodesError> {
        match source {
            NodeSource::Count(count) => {
                let needed = u64::from(*count) * NODE_BYTES;
                machine::require_bytes(needed, &format!("--nodes {count}"), "fewer nodes need less")
                    .map_err(NodesError::Memory)?;
                Ok(Self::numbered(*count))
            }
            NodeSource::File(path) => {
                let text = std::fs::read(path)
                    .map_err(|source| NodesError::Io { path: path.display().to_string(), source })?;
                Self::parse(path, &text)
            }
        }
    }

    /// Nodes, some of them perhaps changed or new, with the columns of this list.
    #[must_use]
    pub fn with<'a>(&'a self, nodes: &'a [Node]) -> Listed<'a> {
        Listed { nodes, columns: &self.columns }
    }

    /// `count` nodes of weight 1, named by number.
    #[must_use]
    pub fn numbered(count: u32) -> Self {
        Self {
            nodes: Node::numbered(count),
            weights: "equal".to_owned(),
            named: false,
            columns: BTreeMap::new(),
        }
    }

    /// Nodes of weight 1 with these names.
    ///
    /// # Errors
    ///
    /// An empty list, or a name that is empty or repeated.
    pub fn named(names: &[String]) -> Result<Self, NodesError> {
        let error = |what: String| NodesError::Content { path: "names".to_owned(), at: String::new(), what };
        if names.is_empty() {
            return Err(error("at least one name is needed".to_owned()));
        }
        for (at, name) in names.iter().enumerate() {
            if name.is_empty() || names[..at].contains(name) {
                return Err(error(format!("`{name}` is empty or stands twice; names are unique")));
            }
        }
        let nodes = (0..).zip(names).map(|(id, name)| Node::new(NodeId(id), name.as_str())).collect();
        Ok(Self { nodes, weights: "equal".to_owned(), named: true, columns: BTreeMap::new() })
    }

    /// Everything that decides a placement of these nodes, as text.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let rows: Vec<String> = self
            .nodes
            .iter()
            .map(|node| format!("{:?}:{}:{:?}", node.name, node.weight, self.columns.get(&*node.name)))
            .collect();
        let named = if self.named { "named" } else { "numbered" };
        format!("{} {named} {:016x}", self.nodes.len(), xxh3_64(rows.join("\n").as_bytes()))
    }

    fn parse(path: &Path, content: &[u8]) -> Result<Self, NodesError> {
        let error = |line: Option<u64>, what: String| NodesError::Content {
            path: path.display().to_string(),
            at: line.map_or(String::new(), |line| format!(", line {line}")),
            what,
        };
        // A byte-order mark is no part of the first column's name.
        let body = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
        let mut reader = csv::ReaderBuilder::new().from_reader(body);
        let csv_error = |problem: csv::Error| {
            let line = problem.position().map(csv::Position::line);
            let what = match problem.kind() {
                csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                    format!("{len} fields, but the header has {expected_len}")
                }
                csv::ErrorKind::Utf8 { .. } => "node names are UTF-8 text".to_owned(),
                _ => problem.to_string(),
            };
            error(line, what)
        };
        let header = reader.headers().map_err(csv_error)?.clone();
        if header.is_empty() {
            return Err(error(None, "the file is empty; a header with a column `name` is needed".to_owned()));
        }
        let column = |name: &str| header.iter().position(|field| field == name);
        let Some(name_column) = column("name") else {
            let found: Vec<&str> = header.iter().collect();
            return Err(error(Some(1), format!("no column `name`; the header has {}", found.join(", "))));
        };
        if let Some(twice) = header.iter().enumerate().find(|(at, field)| column(field) != Some(*at)) {
            return Err(error(Some(1), format!("column `{}` stands twice", twice.1)));
        }
        let weight_column = column("weight");
        let mut list =
            Self { nodes: Vec::new(), weights: String::new(), named: true, columns: BTreeMap::new() };
        let mut seen: BTreeMap<String, u64> = BTreeMap::new();
        for record in reader.records() {
            let record = record.map_err(csv_error)?;
            let line = record.position().map_or(0, csv::Position::line);
            let name = record[name_column].to_owned();
            if name.is_empty() {
                return Err(error(Some(line), "the name is empty".to_owned()));
            }
            if let Some(first) = seen.insert(name.clone(), line) {
                return Err(error(
                    Some(line),
                    format!("node `{name}` stands already in line {first}; names are unique"),
                ));
            }
            let weight = match weight_column.map(|column| &record[column]) {
                None | Some("") => 1,
                Some(text) => text.parse::<u32>().map_err(|_| {
                    error(
                        Some(line),
                        format!("weight `{text}` of `{name}` is not a whole number from 0 to {}", u32::MAX),
                    )
                })?,
            };
            let id = u32::try_from(list.nodes.len())
                .map_err(|_| error(Some(line), "too many nodes".to_owned()))?;
            list.nodes.push(Node::new(NodeId(id), name.as_str()).with_weight(weight));
            let further = header.iter().zip(&record).enumerate();
            let further: BTreeMap<String, String> = further
                .filter(|(at, _)| *at != name_column && Some(*at) != weight_column)
                .map(|(_, (column, value))| (column.to_owned(), value.to_owned()))
                .collect();
            if !further.is_empty() {
                list.columns.insert(name, further);
            }
        }
        if list.nodes.is_empty() {
            return Err(error(None, "no nodes after the header".to_owned()));
        }
        if list.nodes.iter().all(|node| node.weight == 0) {
            return Err(error(
                None,
                "every weight is 0; at least one node must be able to take keys".to_owned(),
            ));
        }
        let base = path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
        let equal = list.nodes.iter().all(|node| node.weight == 1);
        list.weights = if equal { "equal".to_owned() } else { format!("{base}@{:016x}", xxh3_64(content)) };
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<NodeSet, String> {
        NodeSet::parse(Path::new("dir/n.csv"), text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn reads_names_weights_and_further_columns() {
        let list = parse("id,name,weight\n7,\"a,b\",2\n8,c,0\n").unwrap();
        assert_eq!(&*list.nodes[0].name, "a,b");
        assert_eq!((list.nodes[0].weight, list.nodes[1].weight), (2, 0));
        assert_eq!(list.columns["c"]["id"], "8");
        assert!(list.weights.starts_with("n.csv@"));
        assert_eq!(parse("name\r\na\r\nb\r\n").unwrap().weights, "equal");
        assert_eq!(&*parse("\u{feff}name\na\n").unwrap().nodes[0].name, "a");
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        let cases = [
            ("", "nodes file dir/n.csv: the file is empty; a header with a column `name` is needed"),
            ("name\n", "nodes file dir/n.csv: no nodes after the header"),
            (
                "host,weight\na,1\n",
                "nodes file dir/n.csv, line 1: no column `name`; the header has host, weight",
            ),
            ("name,name\na,b\n", "nodes file dir/n.csv, line 1: column `name` stands twice"),
            (
                "name\na\nb\na\n",
                "nodes file dir/n.csv, line 4: node `a` stands already in line 2; names are unique",
            ),
            (
                "name,weight\na,-1\n",
                "nodes file dir/n.csv, line 2: weight `-1` of `a` is not a whole number from 0 to 4294967295",
            ),
            (
                "name,weight\na,x\n",
                "nodes file dir/n.csv, line 2: weight `x` of `a` is not a whole number from 0 to 4294967295",
            ),
            ("name,weight\na\n", "nodes file dir/n.csv, line 2: 1 fields, but the header has 2"),
            ("name,weight\n,1\n", "nodes file dir/n.csv, line 2: the name is empty"),
            (
                "name,weight\na,0\n",
                "nodes file dir/n.csv: every weight is 0; at least one node must be able to take keys",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(parse(text).unwrap_err(), message);
        }
    }

    #[test]
    fn digits_are_a_count_and_anything_else_a_path() {
        assert_eq!(NodeSource::parse("100").unwrap(), NodeSource::Count(100));
        assert_eq!(NodeSource::parse("./100").unwrap(), NodeSource::File("./100".into()));
        assert!(NodeSource::parse("0").is_err());
        assert!(NodeSource::parse("4294967296").is_err());
        assert_eq!(NodeSet::numbered(3).nodes[2].name.as_ref(), "node-2");
    }
}
