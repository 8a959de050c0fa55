//! What a system is to this crate, and the adapter that makes a placement of it.

use core::fmt::Debug;

use chash_core::{
    Build, BuildError, ByteKeyed, Capabilities, Change, Distributor, Footprint, KeyHasher, LoadAware,
    MembershipError, Node, NodeId, Removal, Replicated, Work,
};

use crate::{Column, ServerRow, SystemParams};

/// A deployed system: how it reads its server list, what it makes of it, and how it finds a key's server.
///
/// Servers are known by their index in the list; [`Compat`] does the rest. To add a system, implement
/// this in a file of its own and put one line into [`SYSTEMS`](crate::SYSTEMS).
pub trait Deployed: Copy + Debug + Send + Sync + Sized + 'static {
    /// Its name in the catalogue.
    const NAME: &'static str;
    /// What is reproduced, in one line, with the version that the recorded answers come from.
    const SUMMARY: &'static str;
    /// Where the rules are described.
    const SOURCE: &'static str;
    /// Time of a lookup and memory, in named variables.
    const COMPLEXITY: &'static str;
    /// The further columns of a row that it reads.
    const COLUMNS: &'static [Column];

    /// Its parameters, which also hash its keys.
    type Params: SystemParams;

    /// A server with its columns read.
    type Server;

    /// What its lookups read.
    type Table: Table;

    /// Reads the rows. Everything that can be refused is refused here: names and ids are unique already.
    ///
    /// # Errors
    ///
    /// `NoNodes` if no server could ever be chosen, `Node` for a column, `Membership` for the list.
    fn read(params: &Self::Params, rows: &[ServerRow]) -> Result<Vec<Self::Server>, BuildError>;

    /// The heap bytes of the table.
    fn estimate(params: &Self::Params, servers: &[Self::Server]) -> u64;

    /// Builds the table.
    fn place(params: &Self::Params, servers: &[Self::Server]) -> Self::Table;

    /// What the placement of these servers can do.
    fn capabilities(params: &Self::Params, servers: &[Self::Server]) -> Capabilities;

    /// The index of the server that owns a key, from the key's bytes; another answer than by the hash
    /// only where 64 bits do not hold it, or one hash is not enough.
    fn find_bytes(table: &Self::Table, params: &Self::Params, key: &[u8]) -> u32 {
        table.find(params.hash_key(key))
    }

    /// Whether requests in flight are counted, as [`as_load_aware`](Self::as_load_aware) then says.
    fn counts_loads(params: &Self::Params) -> bool {
        let _ = params;
        false
    }

    /// The k-replica view of a placement, where the system defines one.
    fn as_replicated(placement: &Compat<Self>) -> Option<&dyn Replicated> {
        let _ = placement;
        None
    }

    /// The view that counts loads, where the system has bounded loads and the parameters ask for them.
    fn as_load_aware(placement: &mut Compat<Self>) -> Option<&mut dyn LoadAware> {
        let _ = placement;
        None
    }
}

/// What the lookups of a system read: a ring of points, a table of slots, or whatever else it has.
///
/// Servers are known by their index in the list.
pub trait Table: Clone + Debug + Send + Sync + 'static {
    /// The index of the server that owns a hashed key.
    fn find(&self, key: u64) -> u32;

    /// The work of [`find`](Self::find).
    fn work(&self, key: u64) -> Work;

    /// The share of uniformly hashed keys that each of `count` servers gets, where it can be told.
    fn shares(&self, count: usize) -> Option<Vec<f64>>;

    /// How many points lost their position on a ring to another server's.
    fn coinciding_points(&self) -> usize {
        0
    }

    /// The heap bytes held.
    fn heap_bytes(&self) -> usize;
}

/// A placement that equals a deployed system: the operator's list, and what the system makes of it.
///
/// A change of membership is the same change of the operator's list, followed by a restart: a node
/// added comes last and has no further columns, and the table is that of a fresh build.
///
/// ```
/// use chash_compat::{Compat, nginx};
/// use chash_core::{Build, ByteKeyed, Node, NodeId};
/// let nodes: Vec<Node> = (0..3).map(|i| Node::new(NodeId(i), format!("127.0.0.1:800{}", i + 1))).collect();
/// let nginx = Compat::<nginx::Nginx>::build(&nginx::Params::default(), &nodes)?;
/// assert_eq!(nginx.lookup_bytes(b"product:0"), NodeId(0));
/// # Ok::<(), chash_core::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Compat<S: Deployed> {
    pub(crate) params: S::Params,
    list: List,
    /// The ids of the list, in its order.
    pub(crate) ids: Box<[NodeId]>,
    /// What each server gets, in list order; empty where it cannot be told.
    shares: Box<[f64]>,
    capabilities: Capabilities,
    pub(crate) table: S::Table,
    /// Requests that capacities are made for, if not for those that arrive.
    pub(crate) expected: Option<u64>,
}

/// The operator's list.
#[derive(Clone, Debug)]
struct List {
    rows: Vec<ServerRow>,
    /// Requests in flight at each server; empty where they are not counted.
    open: Vec<u64>,
}

impl<S: Deployed> Compat<S> {
    /// Builds the placement from the operator's list.
    ///
    /// # Errors
    ///
    /// `NoNodes` if the list is empty or nothing in it can be chosen; `Node` for a column that is missing
    /// or out of range; `Membership` for a repeated name or id, or what the system cannot hold.
    pub fn from_rows(params: &S::Params, rows: Vec<ServerRow>) -> Result<Self, BuildError> {
        let servers = read::<S>(params, &rows)?;
        let open = if S::counts_loads(params) { vec![0; rows.len()] } else { Vec::new() };
        let table = S::place(params, &servers);
        Ok(Self {
            params: params.clone(),
            ids: ids(&rows),
            shares: shares(&table, rows.len()),
            capabilities: S::capabilities(params, &servers),
            list: List { rows, open },
            table,
            expected: None,
        })
    }

    /// The heap bytes of a placement of this list, before it is built; 0 for a list that is refused.
    #[must_use]
    pub fn estimate_bytes(params: &S::Params, rows: &[ServerRow]) -> u64 {
        let Ok(servers) = read::<S>(params, rows) else { return 0 };
        let texts: usize = rows.iter().map(ServerRow::heap_bytes).sum();
        let row = size_of::<ServerRow>() + size_of::<NodeId>() + size_of::<f64>();
        let membership = texts + rows.len() * row + params.heap_bytes();
        (membership as u64).saturating_add(S::estimate(params, &servers))
    }

    /// The operator's list as it is now.
    #[must_use]
    pub fn rows(&self) -> &[ServerRow] {
        &self.list.rows
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &S::Params {
        &self.params
    }

    /// How many points lost their position on the ring to another server's; 0 where there is no ring.
    #[must_use]
    pub fn coinciding_points(&self) -> usize {
        self.table.coinciding_points()
    }

    /// The index of a node in the list.
    pub(crate) fn index_of(&self, id: NodeId) -> Option<usize> {
        self.ids.iter().position(|present| *present == id)
    }

    /// Fills `out` with the ids of distinct servers in the order given, and returns how many there are.
    pub(crate) fn collect_distinct(&self, out: &mut [NodeId], servers: impl Iterator<Item = u32>) -> usize {
        let mut found = 0;
        for server in servers {
            if found == out.len() {
                break;
            }
            let id = self.ids[server as usize];
            if !out[..found].contains(&id) {
                out[found] = id;
                found += 1;
            }
        }
        found
    }

    /// The requests in flight at each server, in list order.
    pub(crate) fn open(&self) -> &[u64] {
        &self.list.open
    }

    /// The same, to be changed.
    pub(crate) fn open_mut(&mut self) -> &mut [u64] {
        &mut self.list.open
    }

    /// Takes back one request of this node.
    pub(crate) fn release_one(&mut self, id: NodeId) -> Result<(), MembershipError> {
        let index = self.index_of(id).ok_or(MembershipError::UnknownNode)?;
        let open = &mut self.open_mut()[index];
        *open = open.checked_sub(1).ok_or(MembershipError::UnknownNode)?;
        Ok(())
    }

    /// Edits the list; what the system says to it, [`check`](Self::check) tells.
    fn edit(&self, list: &mut List, change: &Change) -> Result<(), MembershipError> {
        let index = |id: &NodeId, rows: &[ServerRow]| {
            rows.iter().position(|row| row.node.id == *id).ok_or(MembershipError::UnknownNode)
        };
        match change {
            Change::Add(node) => {
                list.rows.push(ServerRow::new(node.clone()));
                if S::counts_loads(&self.params) {
                    list.open.push(0);
                }
            }
            Change::Remove(id) => {
                let index = index(id, &list.rows)?;
                let last = list.rows.len() - 1;
                match self.capabilities.removal {
                    _ if last == 0 => return Err(MembershipError::LastNode),
                    Removal::LastOnly if index != last => return Err(MembershipError::NotLastAdded),
                    Removal::None => return Err(MembershipError::Unsupported),
                    _ => {}
                }
                list.rows.remove(index);
                if S::counts_loads(&self.params) {
                    list.open.remove(index);
                }
            }
            Change::SetWeight(id, weight) => {
                let index = index(id, &list.rows)?;
                if !self.capabilities.weighted {
                    return Err(MembershipError::WeightUnsupported);
                }
                list.rows[index].node.weight = *weight;
            }
        }
        Ok(())
    }

    /// Edits the list, and asks the system after every change.
    fn edit_stepwise(&self, list: &mut List, changes: &[Change]) -> Result<(), MembershipError> {
        changes.iter().try_for_each(|change| {
            self.edit(list, change)?;
            self.check(list).map(|_| ())
        })
    }

    /// Edits the list, and asks the system once.
    ///
    /// Only for changes that all add or all remove: if the list is good after them, it was good after
    /// each of them.
    fn edit_at_once(&self, list: &mut List, changes: &[Change]) -> Result<(), MembershipError> {
        changes.iter().try_for_each(|change| self.edit(list, change))?;
        self.check(list).map(|_| ())
    }

    fn check(&self, list: &List) -> Result<Vec<S::Server>, MembershipError> {
        read::<S>(&self.params, &list.rows).map_err(|error| match error {
            BuildError::NoNodes => MembershipError::LastNode,
            BuildError::Membership(error) => error,
            _ => MembershipError::Unsupported,
        })
    }
}

/// Checks the list and reads it.
fn read<S: Deployed>(params: &S::Params, rows: &[ServerRow]) -> Result<Vec<S::Server>, BuildError> {
    if u32::try_from(rows.len()).is_err() {
        return Err(MembershipError::CapacityExceeded { max: u32::MAX }.into());
    }
    let mut nodes: Vec<&Node> = rows.iter().map(|row| &row.node).collect();
    nodes.sort_unstable_by_key(|node| &node.name);
    let repeated_name = nodes.windows(2).any(|pair| pair[0].name == pair[1].name);
    nodes.sort_unstable_by_key(|node| node.id);
    if repeated_name || nodes.windows(2).any(|pair| pair[0].id == pair[1].id) {
        return Err(MembershipError::DuplicateNode.into());
    }
    if rows.is_empty() {
        return Err(BuildError::NoNodes);
    }
    S::read(params, rows)
}

fn ids(rows: &[ServerRow]) -> Box<[NodeId]> {
    rows.iter().map(|row| row.node.id).collect()
}

fn shares(table: &impl Table, count: usize) -> Box<[f64]> {
    table.shares(count).unwrap_or_default().into()
}

impl<S: Deployed> Distributor for Compat<S> {
    fn lookup(&self, key: u64) -> NodeId {
        self.ids[self.table.find(key) as usize]
    }

    fn lookup_work(&self, key: u64) -> Work {
        self.table.work(key)
    }

    fn node_count(&self) -> usize {
        self.ids.len()
    }

    fn node_ids(&self) -> Vec<NodeId> {
        let mut ids = self.ids.to_vec();
        ids.sort_unstable();
        ids
    }

    fn add(&mut self, node: &Node) -> Result<(), MembershipError> {
        self.apply(&[Change::Add(node.clone())])
    }

    fn remove(&mut self, id: NodeId) -> Result<(), MembershipError> {
        self.apply(&[Change::Remove(id)])
    }

    fn set_weight(&mut self, id: NodeId, weight: u32) -> Result<(), MembershipError> {
        self.apply(&[Change::SetWeight(id, weight)])
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), MembershipError> {
        let mut list = self.list.clone();
        let alike = |a: &Change, b: &Change| {
            matches!((a, b), (Change::Add(_), Change::Add(_)) | (Change::Remove(_), Change::Remove(_)))
        };
        for run in changes.chunk_by(alike) {
            let before = list.clone();
            if self.edit_at_once(&mut list, run).is_err() {
                // Something in the run is refused; which change it was decides the error.
                list = before;
                self.edit_stepwise(&mut list, run)?;
            }
        }
        let servers = self.check(&list)?;
        self.table = S::place(&self.params, &servers);
        self.ids = ids(&list.rows);
        self.shares = shares(&self.table, list.rows.len());
        self.capabilities = S::capabilities(&self.params, &servers);
        self.list = list;
        Ok(())
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn footprint(&self) -> Footprint {
        let List { rows, open } = &self.list;
        let texts: usize = rows.iter().map(ServerRow::heap_bytes).sum();
        let tables = rows.capacity() * size_of::<ServerRow>()
            + open.capacity() * size_of::<u64>()
            + size_of_val(&*self.shares);
        Footprint {
            lookup_bytes: (self.table.heap_bytes() + size_of_val(&*self.ids)) as u64,
            membership_bytes: (texts + tables + self.params.heap_bytes()) as u64,
        }
    }

    fn key_share(&self, id: NodeId) -> Option<f64> {
        self.shares.get(self.index_of(id)?).copied()
    }

    fn clone_box(&self) -> Box<dyn Distributor> {
        Box::new(self.clone())
    }

    fn as_replicated(&self) -> Option<&dyn Replicated> {
        S::as_replicated(self)
    }

    fn as_byte_keyed(&self) -> Option<&dyn ByteKeyed> {
        Some(self)
    }

    fn as_load_aware(&mut self) -> Option<&mut dyn LoadAware> {
        S::as_load_aware(self)
    }
}

impl<S: Deployed> ByteKeyed for Compat<S> {
    fn lookup_bytes(&self, key: &[u8]) -> NodeId {
        self.ids[S::find_bytes(&self.table, &self.params, key) as usize]
    }
}

impl<S: Deployed> Build for Compat<S> {
    type Params = S::Params;

    fn build(params: &S::Params, nodes: &[Node]) -> Result<Self, BuildError> {
        Self::from_rows(params, nodes.iter().cloned().map(ServerRow::new).collect())
    }

    fn estimate_bytes(params: &S::Params, nodes: &[Node]) -> u64 {
        let rows: Vec<ServerRow> = nodes.iter().cloned().map(ServerRow::new).collect();
        Self::estimate_bytes(params, &rows)
    }
}

/// The hasher of a system's keys, behind a box.
pub(crate) fn hasher<S: Deployed>(params: S::Params) -> Box<dyn KeyHasher> {
    Box::new(params)
}
