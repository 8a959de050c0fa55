//! Which nodes hold a key under the two replication strategies.

use chash_core::{NodeId, Replicated};

use super::{Cassandra, Server};
use crate::Compat;

/// What NetworkTopologyStrategy has to know of the nodes.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Data centres with replicas, in the order in which they first appear on the ring.
    centres: Box<[Centre]>,
    /// For each node in list order the index of its data centre, [`Self::NONE`] if that has no replicas,
    /// and a number for its rack.
    nodes: Box<[(u32, u32)]>,
}

#[derive(Clone, Copy, Debug)]
struct Centre {
    /// Replicas wanted, at most the number of its nodes on the ring.
    replicas: usize,
    /// Racks of its nodes on the ring.
    racks: usize,
}

impl Topology {
    const NONE: u32 = u32::MAX;

    /// `owners` are the nodes in the order of their tokens, from the least one.
    pub(super) fn new(
        factors: &[(Box<str>, u32)],
        servers: &[Server],
        owners: impl Iterator<Item = u32>,
    ) -> Self {
        let mut names: Vec<&str> = Vec::new();
        let mut centres: Vec<Centre> = Vec::new();
        let mut racks: Vec<(u32, &str)> = Vec::new();
        let mut nodes = vec![None; servers.len()];
        for node in owners {
            let server = &servers[node as usize];
            let factor = factors.iter().find(|(dc, _)| *dc == server.dc);
            let (Some((dc, _)), None) = (factor, nodes[node as usize]) else { continue };
            let centre = names.iter().position(|name| *name == &**dc).unwrap_or_else(|| {
                names.push(dc);
                centres.push(Centre { replicas: 0, racks: 0 });
                names.len() - 1
            });
            centres[centre].replicas += 1;
            let rack = (centre as u32, &*server.rack);
            let number = racks.iter().position(|other| *other == rack).unwrap_or_else(|| {
                racks.push(rack);
                centres[centre].racks += 1;
                racks.len() - 1
            });
            nodes[node as usize] = Some((centre as u32, number as u32));
        }
        for (centre, name) in centres.iter_mut().zip(names) {
            let wanted = factors.iter().find(|(dc, _)| &**dc == name).map_or(0, |(_, factor)| *factor);
            centre.replicas = centre.replicas.min(wanted as usize);
        }
        let nodes = nodes.into_iter().map(|node| node.unwrap_or((Self::NONE, 0))).collect();
        Self { centres: centres.into(), nodes }
    }

    pub(super) fn estimate(nodes: usize, centres: usize) -> u64 {
        (nodes * size_of::<(u32, u32)>() + centres * size_of::<Centre>()) as u64
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.centres) + size_of_val(&*self.nodes)
    }

    /// The first node of the first data centre; `owners` start at the key's token.
    pub(super) fn first_replica(&self, mut owners: impl Iterator<Item = u32>) -> u32 {
        let first = owners.find(|node| self.nodes[*node as usize].0 == 0);
        first.expect("a list without a node in a replicated data centre is refused")
    }

    /// The replicas in one data centre, in the order in which they are chosen.
    fn replicas_in(&self, centre: u32, owners: impl Iterator<Item = u32>) -> Vec<u32> {
        let Centre { replicas, racks } = self.centres[centre as usize];
        let mut chosen: Vec<u32> = Vec::with_capacity(replicas);
        let mut set_aside: Vec<u32> = Vec::new();
        let mut used: Vec<u32> = Vec::with_capacity(racks);
        for node in owners {
            if chosen.len() == replicas {
                break;
            }
            let (of, rack) = self.nodes[node as usize];
            if of != centre || chosen.contains(&node) || set_aside.contains(&node) {
                continue;
            }
            if used.len() == racks {
                chosen.push(node);
            } else if used.contains(&rack) {
                set_aside.push(node);
            } else {
                chosen.push(node);
                used.push(rack);
                if used.len() == racks {
                    let room = replicas - chosen.len();
                    chosen.extend(set_aside.drain(..).take(room));
                }
            }
        }
        chosen
    }
}

/// SimpleStrategy gives as many distinct nodes as asked for; NetworkTopologyStrategy at most the factors' sum,
/// one data centre after the other as the driver lists them.
impl Replicated for Compat<Cassandra> {
    fn replicas(&self, key: u64, out: &mut [NodeId]) -> usize {
        let ring = &self.table.ring;
        let start = ring.point(key);
        match &self.table.topology {
            None => self.collect_distinct(out, ring.owners_from(start)),
            Some(topology) => {
                let centres = 0..topology.centres.len() as u32;
                let nodes = centres.flat_map(|centre| topology.replicas_in(centre, ring.owners_from(start)));
                self.collect_distinct(out, nodes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::cassandra::{Cassandra, Params};
    use crate::{Compat, ServerRow, SystemParams as _, Values};
    use chash_core::{Distributor as _, Node, NodeId};

    /// Six nodes in token order, racks a a a b b c: three replicas take a rack each; of five, the two more
    /// are those set aside first.
    #[test]
    fn racks_come_first() {
        let racks = ["a", "a", "a", "b", "b", "c"];
        let row = |(rack, id): (&str, u32)| {
            let node = Node::new(NodeId(id), format!("n{id}"));
            ServerRow::new(node).with("tokens", (id * 10).to_string()).with("dc", "x").with("rack", rack)
        };
        let rows: Vec<ServerRow> = racks.into_iter().zip(0..).map(row).collect();
        let replicas = |factors: &str, token: u64| {
            let given = [("replication", factors)];
            let params = Params::from_values(&Values::new(Params::SPECS, &given).unwrap()).unwrap();
            let ring = Compat::<Cassandra>::from_rows(&params, rows.clone()).unwrap();
            let mut out = [NodeId::default(); 6];
            let found = ring.as_replicated().unwrap().replicas(token, &mut out);
            out[..found].iter().map(|id| id.0).collect::<Vec<u32>>()
        };
        assert_eq!(replicas("x:3", 0), [0, 3, 5]);
        assert_eq!(replicas("x:5", 0), [0, 3, 5, 1, 2]);
        assert_eq!(replicas("x:9", 0), [0, 3, 5, 1, 2, 4]);
        assert_eq!(replicas("x:2", 35), [4, 5]);
        assert_eq!(replicas("simple", 35), [4, 5, 0, 1, 2, 3]);
    }
}
