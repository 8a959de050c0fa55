//! What this workspace holds itself to: over which peer, and by how much.

use crate::contender::Side;
use crate::measure::{Mode, Outcome, best_peer};
use crate::report::align;

/// The numbers of nodes that bars are set for.
const NODES: [u32; 4] = [10, 100, 1000, 10_000];

struct Bar {
    family: &'static str,
    mode: Mode,
    /// The peer for each number of nodes; empty for the best one that is right.
    peers: [&'static str; 4],
    /// Instruction sets and the least ratios there; the first that matches holds. 0 where no bar is set.
    least: &'static [(&'static str, [f64; 4])],
}

const ANY: &str = "";
const BEST: [&str; 4] = [""; 4];

/// The best of its family where the bars were set, at 10 to 1000 nodes and at 10,000.
const RINGS: [&str; 4] = [
    "hashring v100 prehashed",
    "hashring v100 prehashed",
    "hashring v100 prehashed",
    "pingora-ketama V2 v100 crc32*",
];

const BARS: &[Bar] = &[
    Bar { family: "ring", mode: Mode::Single, peers: RINGS, least: &[(ANY, [5.0, 10.0, 14.0, 18.0])] },
    Bar { family: "ring", mode: Mode::Batch, peers: RINGS, least: &[(ANY, [5.0, 9.0, 14.0, 24.0])] },
    Bar {
        family: "ring",
        mode: Mode::Add,
        peers: ["hashring v100 prehashed"; 4],
        least: &[(ANY, [0.0, 0.0, 0.0, 20.0])],
    },
    Bar {
        family: "ring",
        mode: Mode::Remove,
        peers: ["hashring v100 prehashed"; 4],
        least: &[(ANY, [0.0, 0.0, 0.0, 20.0])],
    },
    Bar {
        family: "jump",
        mode: Mode::Batch,
        // Not the published function, and the fastest.
        peers: ["jumpconsistenthash prehashed*"; 4],
        least: &[
            ("avx512", [4.5, 4.8, 5.2, 5.2]),
            ("avx2", [3.0, 3.5, 3.8, 3.9]),
            (ANY, [1.4, 1.5, 1.6, 1.7]),
        ],
    },
    Bar { family: "jump", mode: Mode::Single, peers: BEST, least: &[(ANY, [1.0; 4])] },
    Bar {
        family: "rendezvous",
        mode: Mode::Batch,
        peers: ["simplehash prehashed"; 4],
        least: &[("avx512", [1.7, 5.5, 7.5, 7.5]), (ANY, [0.0; 4])],
    },
    Bar { family: "rendezvous_weighted", mode: Mode::Batch, peers: BEST, least: &[(ANY, [5.0; 4])] },
    Bar {
        family: "maglev",
        mode: Mode::Single,
        peers: ["maglev M65537 prehashed"; 4],
        least: &[(ANY, [4.0, 3.4, 3.6, 3.6])],
    },
    Bar {
        family: "maglev",
        mode: Mode::Build,
        peers: ["maglev-hash M65537 sip13*"; 4],
        least: &[(ANY, [1.6, 2.0, 2.0, 2.0])],
    },
    Bar {
        family: "maglev_large",
        mode: Mode::Build,
        peers: ["maglev-hash M655373 sip13*"; 4],
        least: &[(ANY, [2.4, 2.5, 2.5, 2.5])],
    },
];

/// The widest instructions that ours may use here.
pub fn instruction_set() -> &'static str {
    #[cfg(all(target_arch = "x86_64", not(chash_portable)))]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            return "avx512";
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            return "avx2";
        }
    }
    if cfg!(chash_portable) { "portable" } else { "baseline" }
}

/// The ratios reached, beside the bars.
pub fn table(outcomes: &[(&'static str, Vec<Outcome>)]) -> String {
    let instructions = instruction_set();
    let header = ["", "nodes", "ours over", "ratio", "min..max", "bar", ""];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for bar in BARS {
        for (i, nodes) in NODES.into_iter().enumerate() {
            let of_family = outcomes.iter().filter(|(family, _)| *family == bar.family);
            let Some((_, outcomes)) =
                of_family.into_iter().find(|(_, of)| of.first().is_some_and(|o| o.nodes == nodes))
            else {
                continue;
            };
            let ours = outcomes.iter().find(|outcome| outcome.entry.side == Side::Ours);
            let peer = match bar.peers[i] {
                "" => best_peer(outcomes, bar.mode),
                name => outcomes.iter().find(|outcome| outcome.entry.name() == name),
            };
            let (Some(ours), Some(peer)) = (ours, peer) else { continue };
            let ratio = ours.of(bar.mode).and_then(|rounds| rounds.ratio_to(peer.of(bar.mode)?));
            let Some(ratio) = ratio else { continue };
            let least = bar.least.iter().find(|(set, _)| *set == ANY || *set == instructions);
            let least = least.map_or(0.0, |(_, least)| least[i]);
            rows.push(vec![
                format!("{} {}", bar.family, bar.mode.name()),
                nodes.to_string(),
                peer.entry.name(),
                format!("{:.2}", ratio.median),
                format!("{:.2}..{:.2}", ratio.min, ratio.max),
                if least > 0.0 { format!("{least:.1}") } else { String::new() },
                if ratio.median >= least { String::new() } else { "below".to_owned() },
            ]);
        }
    }
    if rows.len() == 1 { String::new() } else { align(&rows) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::FAMILIES;

    /// A bar over a peer that is not in the family would never be shown.
    #[test]
    fn bars_name_what_is_measured() {
        for bar in BARS {
            let family = FAMILIES.iter().find(|family| family.name == bar.family).expect("a family");
            assert!(family.entries().any(|entry| entry.side == Side::Ours));
            for (peer, nodes) in bar.peers.into_iter().zip(NODES) {
                let named = family.entries().any(|entry| entry.name() == peer && nodes <= entry.max_nodes);
                assert!(peer.is_empty() || named, "{peer} at {nodes}");
            }
        }
    }
}
