//! The algorithms, one row each.

use chash_baseline::{Modulo, Null, Random};
use chash_bounded::{Bounded, Factor};
use chash_core::{Build, BuildError, Distributor, Node};
use chash_hash::HashFunction;
use chash_jump::Jump;
use chash_maglev::Maglev;
use chash_metrics::case::{MoveTheory, ShareTheory};
use chash_rendezvous::Rendezvous;
use chash_ring::{Ring, Sizing};

use super::{Algorithm, Complexity, Role, algorithm, build};
use crate::spec::{ParamKind, ParamSpec, Spec};

const SEED: ParamSpec = ParamSpec {
    name: "seed",
    kind: ParamKind::Seed,
    default: "run",
    meaning: "another seed is another placement; run: drawn from the run's seed and the repetition",
};

const HASH_BITS: ParamSpec = ParamSpec {
    name: "hash_bits",
    kind: ParamKind::Integer { min: 1, max: 64 },
    default: "64",
    meaning: "top bits kept of every hash of a node; fewer make collisions certain",
};

/// The algorithms of this workspace, in the order of tables: the placements, the baselines, the harness's own
/// cost.
pub(super) static OWN: &[Algorithm] = &[
    Algorithm {
        name: "ring",
        summary: "ring with virtual nodes: the first point at or after the key",
        source: "Karger, Lehman, Leighton, Levine, Lewin, Panigrahy, STOC 1997",
        complexity: Complexity { lookup: "O(1) expected", memory: "O(NV)", change: "O(V) points in place" },
        params: &[
            ParamSpec {
                name: "vnodes",
                kind: ParamKind::Integer { min: 1, max: chash_ring::MAX_POINTS as u64 },
                default: "160",
                meaning: "points for each unit of weight",
            },
            ParamSpec {
                name: "hash",
                kind: ParamKind::Choice(&["xxh3", "xxh64", "sha1", "md5"]),
                default: "xxh3",
                meaning: "hash that places the points",
            },
            ParamSpec {
                name: "ring_size",
                kind: ParamKind::Integer { min: 0, max: chash_ring::MAX_POINTS as u64 },
                default: "0",
                meaning: "total points shared by weight, instead of vnodes; 0: vnodes decides",
            },
            HASH_BITS,
            SEED,
        ],
        role: Role::Placement,
        replicated: true,
        system: None,
        theory: |spec| match (spec.integer("ring_size"), spec.integer("hash_bits")) {
            (0u64, 64u32) => (ShareTheory::Ring { vnodes: spec.integer("vnodes") }, MoveTheory::Minimal),
            // Points that coincide go to the smallest name; the points of a fixed size change with the nodes.
            _ => (ShareTheory::Unknown, MoveTheory::Unknown),
        },
        rough_lookup_ns: |_, nodes| 6.0 + nodes as f64 / 1000.0,
        estimate: |spec, list| Ring::estimate_bytes(&ring_params(spec, 0), list.nodes),
        build: |spec, list, seed| boxed::<Ring>(&ring_params(spec, seed), list.nodes),
    },
    Algorithm {
        name: "bounded",
        summary: "bounded loads: the first node of the key's order of preference that has room",
        source: "Mirrokni, Thorup, Zadimoghaddam, arXiv 1608.01350, SODA 2018",
        complexity: Complexity {
            lookup: "the inner one's, and a walk past full nodes",
            memory: "the inner one's, and O(N)",
            change: "the inner one's",
        },
        params: &[
            ParamSpec {
                name: "factor",
                kind: ParamKind::Decimal { min: 1.0, max: 1_000_000.0 },
                default: "1.25",
                meaning: "capacity as a multiple of the mean load",
            },
            ParamSpec {
                name: "over",
                kind: ParamKind::Algorithm,
                default: "ring",
                meaning: "the placement underneath; its parameters follow as over.NAME",
            },
        ],
        role: Role::Placement,
        replicated: false,
        system: None,
        theory: |_| (ShareTheory::Unknown, MoveTheory::Unknown),
        rough_lookup_ns: |spec, nodes| {
            30.0 + 2.0 * (algorithm(spec.inner().name).rough_lookup_ns)(spec.inner(), nodes)
        },
        estimate: |spec, list| {
            let inner = spec.inner();
            Bounded::estimate_bytes(list.nodes.len(), (algorithm(inner.name).estimate)(inner, list))
        },
        build: |spec, list, seed| {
            let factor: Factor = spec.text("factor").parse().map_err(|_| BuildError::Parameter {
                name: "factor",
                requirement: "a decimal number of at least 1",
            })?;
            Ok(Box::new(Bounded::new(factor, list.nodes, build(spec.inner(), list, seed)?)?))
        },
    },
    Algorithm {
        name: "jump",
        summary: "jump consistent hash: a few jumps to a bucket, no table",
        source: "Lamping, Veach, arXiv 1406.2294, 2014",
        complexity: Complexity {
            lookup: "O(log N)",
            memory: "O(1), and the list of nodes",
            change: "O(1), and the index of names",
        },
        params: &[SEED],
        role: Role::Placement,
        replicated: false,
        system: None,
        theory: |_| (ShareTheory::Even, MoveTheory::Jump),
        rough_lookup_ns: |_, nodes| 8.0 * (1.0 + (nodes as f64).log2()),
        estimate: |spec, list| Jump::estimate_bytes(&jump_params(spec, 0), list.nodes),
        build: |spec, list, seed| boxed::<Jump>(&jump_params(spec, seed), list.nodes),
    },
    Algorithm {
        name: "rendezvous",
        summary: "rendezvous, or highest random weight: the node with the best score for the key",
        source: "Thaler, Ravishankar, 1996; weights: Schindelhauer, Schomaker, SPAA 2005",
        complexity: Complexity { lookup: "O(N)", memory: "O(N)", change: "O(N)" },
        params: &[
            ParamSpec {
                name: "hash_bits",
                kind: ParamKind::Integer { min: 1, max: 32 },
                default: "32",
                meaning: "bits kept of a node's hash for a key; fewer make ties certain",
            },
            SEED,
        ],
        role: Role::Placement,
        replicated: true,
        system: None,
        theory: |spec| match spec.integer("hash_bits") {
            32u32 => (ShareTheory::Even, MoveTheory::Minimal),
            // Ties go to the smallest name.
            _ => (ShareTheory::Unknown, MoveTheory::Unknown),
        },
        rough_lookup_ns: |_, nodes| 10.0 + nodes as f64,
        estimate: |spec, list| Rendezvous::estimate_bytes(&rendezvous_params(spec, 0), list.nodes),
        build: |spec, list, seed| boxed::<Rendezvous>(&rendezvous_params(spec, seed), list.nodes),
    },
    Algorithm {
        name: "maglev",
        summary: "Maglev: a table that the nodes fill in turns along their own permutations",
        source: "Eisenbud et al., NSDI 2016",
        complexity: Complexity { lookup: "O(1)", memory: "O(M)", change: "O(M log M), a new table" },
        params: &[
            ParamSpec {
                name: "table_size",
                kind: ParamKind::Integer { min: 2, max: chash_maglev::MAX_TABLE_SIZE as u64 },
                default: "65537",
                meaning: "slots, a prime number above the number of nodes",
            },
            HASH_BITS,
            SEED,
        ],
        role: Role::Placement,
        replicated: true,
        system: None,
        theory: |_| (ShareTheory::FromShares, MoveTheory::Unknown),
        rough_lookup_ns: |_, _| 2.0,
        estimate: |spec, list| Maglev::estimate_bytes(&maglev_params(spec, 0), list.nodes),
        build: |spec, list, seed| boxed::<Maglev>(&maglev_params(spec, seed), list.nodes),
    },
    Algorithm {
        name: "modulo",
        summary: "baseline: the key modulo the number of nodes",
        source: "folklore",
        complexity: Complexity { lookup: "O(1)", memory: "O(1), and the list of nodes", change: "O(N)" },
        params: &[SEED],
        role: Role::Placement,
        replicated: false,
        system: None,
        theory: |_| (ShareTheory::Even, MoveTheory::Modulo),
        rough_lookup_ns: |_, _| 8.0,
        estimate: |spec, list| Modulo::estimate_bytes(&modulo_params(spec, 0), list.nodes),
        build: |spec, list, seed| boxed::<Modulo>(&modulo_params(spec, seed), list.nodes),
    },
    Algorithm {
        name: "random",
        summary: "baseline: ideal independent assignment, drawn again for every set of nodes",
        source: "the multinomial floor of balance",
        complexity: Complexity { lookup: "O(log N)", memory: "O(N)", change: "O(N)" },
        params: &[SEED],
        role: Role::Placement,
        replicated: false,
        system: None,
        theory: |_| (ShareTheory::Even, MoveTheory::Unknown),
        rough_lookup_ns: |_, _| 4.0,
        estimate: |spec, list| Random::estimate_bytes(&random_params(spec, 0), list.nodes),
        build: |spec, list, seed| boxed::<Random>(&random_params(spec, seed), list.nodes),
    },
    Algorithm {
        name: "null",
        summary: "the harness's own cost: always the first node",
        source: "none",
        complexity: Complexity { lookup: "O(1)", memory: "O(1), and the list of nodes", change: "O(N)" },
        params: &[],
        role: Role::HarnessCost,
        replicated: false,
        system: None,
        theory: |_| (ShareTheory::Unknown, MoveTheory::Unknown),
        rough_lookup_ns: |_, _| 1.0,
        estimate: |_, list| Null::estimate_bytes(&(), list.nodes),
        build: |_, list, _| boxed::<Null>(&(), list.nodes),
    },
];

fn boxed<P: Build + 'static>(params: &P::Params, nodes: &[Node]) -> Result<Box<dyn Distributor>, BuildError> {
    Ok(Box::new(P::build(params, nodes)?))
}

fn ring_params(spec: &Spec, seed: u64) -> chash_ring::Params {
    let sizing = match spec.integer("ring_size") {
        0 => Sizing::PointsPerNode,
        points => Sizing::RingSize(points),
    };
    let hash = HashFunction::from_name(spec.text("hash")).unwrap_or_default();
    let (vnodes, hash_bits) = (spec.integer("vnodes"), spec.integer("hash_bits"));
    chash_ring::Params { vnodes, hash, sizing, seed: spec.seed_or(seed), hash_bits }
}

fn jump_params(spec: &Spec, seed: u64) -> chash_jump::Params {
    chash_jump::Params { seed: spec.seed_or(seed) }
}

fn rendezvous_params(spec: &Spec, seed: u64) -> chash_rendezvous::Params {
    chash_rendezvous::Params { seed: spec.seed_or(seed), hash_bits: spec.integer("hash_bits") }
}

fn maglev_params(spec: &Spec, seed: u64) -> chash_maglev::Params {
    let (table_size, hash_bits) = (spec.integer("table_size"), spec.integer("hash_bits"));
    chash_maglev::Params { table_size, seed: spec.seed_or(seed), hash_bits }
}

fn modulo_params(spec: &Spec, seed: u64) -> chash_baseline::ModuloParams {
    chash_baseline::ModuloParams { seed: spec.seed_or(seed) }
}

fn random_params(spec: &Spec, seed: u64) -> chash_baseline::RandomParams {
    chash_baseline::RandomParams { seed: spec.seed_or(seed) }
}
