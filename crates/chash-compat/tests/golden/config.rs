//! From a recording's description to a system's parameters and server list.

use chash_compat::{ServerRow, System};
use chash_core::{Distributor, KeyHasher, Node, NodeId};
use serde_json::Value;

/// A placement built as a description says.
pub(crate) struct Setup {
    system: &'static System,
    params: Vec<(&'static str, String)>,
    pub(crate) rows: Vec<ServerRow>,
}

impl Setup {
    /// Reads the description of one configuration.
    pub(crate) fn read(config: &Value) -> Self {
        match text(config, "system") {
            "nginx" => nginx(config),
            "resty-chash" => Self::plain("ingress-nginx", config),
            "haproxy" => haproxy(config),
            "envoy" => envoy(config),
            "cilium" => {
                let mut setup = Self::plain("cilium", config);
                setup.set("table_size", config["table_size"].to_string());
                setup.set("hash_seed", text(config, "hash_seed"));
                setup
            }
            "katran" => {
                let mut setup = Self::plain("katran", config);
                setup.set("ring_size", config["ring_size"].to_string());
                setup.set("version", if text(config, "variant") == "MaglevHash" { "v1" } else { "v2" });
                setup
            }
            "redis" => Self::plain("redis", config),
            "cassandra" => {
                let mut setup = Self::plain("cassandra", config);
                let partitioner = text(config, "partitioner").strip_suffix("Partitioner").unwrap();
                setup.set("partitioner", partitioner.to_lowercase());
                setup
            }
            "libketama" => Self::plain("libketama", config),
            "libmemcached" => libmemcached(config),
            "twemproxy" => twemproxy(config),
            "spymemcached" => {
                let mut setup = Self::plain("spymemcached", config);
                setup.set("format", text(config, "format").to_lowercase());
                setup
            }
            "uhashring" => {
                let mut setup = Self::plain("uhashring", config);
                setup.set("mode", text(config, "mode"));
                setup
            }
            "node-hashring" => {
                let mut setup = Self::plain("node-hashring", config);
                setup.set("replicas", config["replicas"].to_string());
                if let Some(port) = config.get("default_port") {
                    setup.set("default_port", port.to_string());
                }
                setup
            }
            "ex_hash_ring" => {
                let mut setup = Self::plain("ex_hash_ring", config);
                setup.set("replicas", config["replicas"].to_string());
                setup
            }
            "sha1-ring-32" => {
                let mut setup = Self::plain("sha1ring32", config);
                setup.set("points", config["points_per_node"].to_string());
                setup
            }
            "sha1-ring-64" => Self::plain("sha1ring64", config),
            other => panic!("no system is recorded as {other}"),
        }
    }

    /// A system with its defaults and the list of the description.
    fn plain(system: &str, config: &Value) -> Self {
        let lists = ["servers", "nodes", "backends", "endpoints"];
        let list = lists.iter().find_map(|name| config.get(name)?.as_array());
        let entries = list.map_or(&[][..], Vec::as_slice);
        let rows = entries.iter().zip(0..).map(|(entry, index)| row(entry, index)).collect();
        Self { system: System::named(system).unwrap(), params: Vec::new(), rows }
    }

    /// The same system and parameters with another list.
    pub(crate) fn with_rows(self, rows: Vec<ServerRow>) -> Self {
        Self { rows, ..self }
    }

    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.params.push((name, value.into()));
    }

    fn given(&self) -> Vec<(&str, &str)> {
        self.params.iter().map(|(name, value)| (*name, &**value)).collect()
    }

    pub(crate) fn build(&self) -> Box<dyn Distributor> {
        self.system.build(&self.given(), self.rows.clone()).unwrap()
    }

    pub(crate) fn hasher(&self) -> Box<dyn KeyHasher> {
        self.system.hasher(&self.given()).unwrap()
    }

    /// The name of the server with this id.
    pub(crate) fn name(&self, id: NodeId) -> &str {
        &self.rows[id.index()].node.name
    }
}

fn text<'a>(config: &'a Value, name: &str) -> &'a str {
    config[name].as_str().unwrap_or_default()
}

/// An entry of the list: the recording's further fields become columns.
fn row(entry: &Value, index: u32) -> ServerRow {
    let Some(fields) = entry.as_object() else {
        return ServerRow::new(Node::new(NodeId(index), entry.as_str().unwrap()));
    };
    let scalar = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let is_node = fields.get("server").is_none();
    let name = ["server", "num", "name"].iter().find_map(|field| fields.get(*field)).unwrap();
    let mut node = Node::new(NodeId(index), scalar(name));
    if let Some(weight) = fields.get("weight").or(fields.get("memory")) {
        node = node.with_weight(weight.as_u64().unwrap() as u32);
    }
    let mut row = ServerRow::new(node);
    for (field, value) in fields {
        let column = match &**field {
            "server" | "num" | "weight" | "memory" => continue,
            "name" if is_node => continue,
            "name" => "server_name",
            field => field,
        };
        row = row.with(column, scalar(value));
    }
    row
}

fn nginx(config: &Value) -> Setup {
    let mut setup = Setup::plain("nginx", config);
    let method = if text(config, "method") == "hash consistent" { "consistent" } else { "plain" };
    setup.set("method", method);
    for row in &mut setup.rows {
        for (_, state) in row.columns.iter_mut().filter(|(column, _)| &**column == "state") {
            if state.starts_with("refuses connections") {
                *state = "refused".into();
            }
        }
    }
    setup
}

fn libmemcached(config: &Value) -> Setup {
    let mut setup = Setup::plain("libmemcached", config);
    let behaviors = text(config, "behaviors");
    let distribution = match (behaviors.contains("KETAMA_WEIGHTED"), behaviors.contains("KETAMA_SPY")) {
        (false, false) if behaviors.contains("KETAMA") => "ketama",
        (false, false) => "modula",
        (false, true) => "ketama_spy",
        (true, false) => "ketama_weighted",
        (true, true) => "ketama_spy_weighted",
    };
    setup.set("distribution", distribution);
    if let Some((_, hash)) = behaviors.rsplit_once("HASH=") {
        setup.set("hash", hash.split(',').next().unwrap().to_lowercase());
    }
    setup
}

fn twemproxy(config: &Value) -> Setup {
    let mut setup = Setup::plain("twemproxy", config);
    setup.set("distribution", text(config, "distribution"));
    setup.set("hash", text(config, "hash"));
    setup.set("hash_tag", text(config, "hash_tag"));
    setup
}

fn haproxy(config: &Value) -> Setup {
    let mut setup = Setup::plain("haproxy", config);
    let mut balance = text(config, "balance").split(' ');
    let method = balance.next().unwrap();
    setup.set("balance", method);
    match method {
        "url_param" => setup.set("url_param", balance.next().unwrap()),
        "uri" => {
            while let Some(option) = balance.next() {
                match option {
                    "len" => setup.set("len", balance.next().unwrap()),
                    "depth" => setup.set("depth", balance.next().unwrap()),
                    "whole" => setup.set("whole", "yes"),
                    other => panic!("balance uri {other}"),
                }
            }
        }
        "hash" | "source" => {}
        other => panic!("balance {other}"),
    }
    let mut hash_type = text(config, "hash_type").split(' ');
    setup.set("hash_type", hash_type.next().unwrap());
    if let Some(function) = hash_type.next() {
        setup.set("function", function);
    }
    if let Some(modifier) = hash_type.next() {
        assert_eq!(modifier, "avalanche");
        setup.set("avalanche", "yes");
    }
    if let Some(factor) = config.get("hash_balance_factor") {
        setup.set("balance_factor", factor.to_string());
    }
    setup
}

fn envoy(config: &Value) -> Setup {
    let mut setup = Setup::plain("envoy", config);
    setup.set("policy", text(config, "lb_policy").to_lowercase());
    for (field, param) in [
        ("minimum_ring_size", "minimum_ring_size"),
        ("maximum_ring_size", "maximum_ring_size"),
        ("table_size", "table_size"),
        ("hash_balance_factor", "balance_factor"),
    ] {
        if let Some(number) = config.get(field) {
            setup.set(param, number.to_string());
        }
    }
    if let Some(function) = config.get("hash_function") {
        setup.set("hash_function", function.as_str().unwrap().to_lowercase());
    }
    if config.get("use_hostname_for_hashing").is_some_and(|used| *used == true) {
        setup.set("use_hostname", "yes");
    }
    setup
}
