//! One row of the operator's server list.

use core::str::FromStr;

use chash_core::{BuildError, Node};

/// A server as the operator lists it: the node, and the further columns of its row as text.
///
/// Which columns a system reads is said by [`System::columns`](crate::System::columns); others are ignored.
/// A column that is absent and one that is empty mean the same.
///
/// ```
/// use chash_compat::ServerRow;
/// use chash_core::{Node, NodeId};
/// let row = ServerRow::new(Node::new(NodeId(0), "127.0.0.1:8001")).with("state", "down");
/// assert_eq!(row.column("state"), Some("down"));
/// assert_eq!(row.column("id"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerRow {
    /// The node: label, name and weight.
    pub node: Node,
    /// The further columns, name and text.
    pub columns: Vec<(Box<str>, Box<str>)>,
}

impl ServerRow {
    /// A row without further columns.
    #[must_use]
    pub fn new(node: Node) -> Self {
        Self { node, columns: Vec::new() }
    }

    /// The same row with one more column.
    #[must_use]
    pub fn with(mut self, column: impl Into<Box<str>>, text: impl Into<Box<str>>) -> Self {
        self.columns.push((column.into(), text.into()));
        self
    }

    /// The text of a column, if it is there and not empty.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&str> {
        let (_, text) = self.columns.iter().find(|(column, _)| &**column == name)?;
        (!text.is_empty()).then_some(text)
    }

    /// The column's text as a value; `requirement` is what the error says it must be.
    pub(crate) fn parsed<T: FromStr>(
        &self,
        column: &'static str,
        requirement: &'static str,
    ) -> Result<Option<T>, BuildError> {
        let Some(text) = self.column(column) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| self.refused(column, requirement))
    }

    /// The error for a column of this row.
    pub(crate) fn refused(&self, column: &'static str, requirement: &'static str) -> BuildError {
        BuildError::Node { node: self.node.name.clone(), column, requirement }
    }

    /// The heap bytes of the row, the row itself not included.
    pub(crate) fn heap_bytes(&self) -> usize {
        let texts: usize = self.columns.iter().map(|(column, text)| column.len() + text.len()).sum();
        self.node.name.len() + self.columns.capacity() * size_of::<(Box<str>, Box<str>)>() + texts
    }
}

/// Host and port of a server: from the columns `host` and `port` where they are given, otherwise
/// from the name, which is then `host:port`, `host` alone (the default port), or the path of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
}

/// The port of memcached.
pub(crate) const MEMCACHED_PORT: u16 = 11211;

impl<'a> Endpoint<'a> {
    const PORT: &'static str = "a number from 0 to 65535";

    /// Of a memcached server.
    pub(crate) fn of(row: &'a ServerRow) -> Result<Self, BuildError> {
        let (host, port) = match split_port(&row.node.name) {
            (host, "") => (host, if host.starts_with('/') { 0 } else { MEMCACHED_PORT }),
            (host, port) => (host, port.parse().map_err(|_| row.refused("name", Self::PORT))?),
        };
        Ok(Self {
            host: row.column("host").unwrap_or(host),
            port: row.parsed("port", Self::PORT)?.unwrap_or(port),
        })
    }

    /// `host` on the default port, `host:port` otherwise: what most clients hash.
    pub(crate) fn without_default_port(self) -> String {
        if self.port == MEMCACHED_PORT { self.host.to_owned() } else { self.with_port() }
    }

    /// `host:port`.
    pub(crate) fn with_port(self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// Splits `host:digits` at the last colon; the port is empty where there is none.
pub(crate) fn split_port(text: &str) -> (&str, &str) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            (host, port)
        }
        _ => (text, ""),
    }
}

/// Refuses every weight but 1, for a system without weights.
pub(crate) fn require_unit_weights(rows: &[ServerRow]) -> Result<(), BuildError> {
    if rows.iter().all(|row| row.node.weight == 1) {
        Ok(())
    } else {
        Err(chash_core::MembershipError::WeightUnsupported.into())
    }
}

/// Refuses a list in which nothing can be chosen.
pub(crate) fn require_some(any: bool) -> Result<(), BuildError> {
    if any { Ok(()) } else { Err(BuildError::NoNodes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chash_core::NodeId;

    fn row(name: &str) -> ServerRow {
        ServerRow::new(Node::new(NodeId(0), name))
    }

    #[test]
    fn splits_host_and_port() {
        let endpoint = |row: &ServerRow| Endpoint::of(row).map(|e| (e.host.to_owned(), e.port));
        assert_eq!(endpoint(&row("10.0.1.1:11212")), Ok(("10.0.1.1".into(), 11212)));
        assert_eq!(endpoint(&row("cache-a")), Ok(("cache-a".into(), 11211)));
        assert_eq!(endpoint(&row("/run/memcached.sock")), Ok(("/run/memcached.sock".into(), 0)));
        assert_eq!(endpoint(&row("x").with("host", "a").with("port", "7")), Ok(("a".into(), 7)));
        let wrong = row("x").with("port", "70000");
        assert_eq!(endpoint(&wrong), Err(wrong.refused("port", Endpoint::PORT)));
        assert_eq!(endpoint(&row("a:70000")), Err(row("a:70000").refused("name", Endpoint::PORT)));
    }

    #[test]
    fn an_empty_column_is_an_absent_one() {
        assert_eq!(row("a").with("id", "").parsed::<u32>("id", "a number"), Ok(None));
        assert_eq!(row("a").with("id", "7").parsed::<u32>("id", "a number"), Ok(Some(7)));
    }
}
