//! The workloads, one row each.

use chash_workloads::{Hotspot, Sequential, Uniform, Zipf};

use super::WorkloadRow;
use crate::spec::{ParamKind, ParamSpec};

/// Every workload.
pub static WORKLOADS: &[WorkloadRow] = &[
    WorkloadRow {
        name: "uniform",
        summary: "each request asks for a key drawn with replacement",
        params: &[],
        make: Some(|_, draw| Ok(Box::new(Uniform::new(draw.keys, draw.requests, draw.requests_seed)?))),
    },
    WorkloadRow {
        name: "sequential",
        summary: "the keys in order, over and over",
        params: &[],
        make: Some(|_, draw| Ok(Box::new(Sequential::new(draw.keys, draw.requests)?))),
    },
    WorkloadRow {
        name: "zipf",
        summary: "the key of rank i is asked for with probability proportional to i^-s; which keys are hot is seeded",
        params: &[ParamSpec {
            name: "s",
            kind: ParamKind::Decimal { min: 0.0, max: 100.0 },
            default: "1.1",
            meaning: "exponent; 0 is uniform",
        }],
        make: Some(|spec, draw| {
            let seeds = (draw.requests_seed, draw.permutation_seed);
            Ok(Box::new(Zipf::new(draw.keys, draw.requests, spec.decimal("s"), seeds.0, seeds.1)?))
        }),
    },
    WorkloadRow {
        name: "hotspot",
        summary: "a fraction of the keys gets a share of the requests; uniform within both parts",
        params: &[
            ParamSpec {
                name: "fraction",
                kind: ParamKind::Decimal { min: 0.0, max: 1.0 },
                default: "0.2",
                meaning: "fraction of the keys that is hot",
            },
            ParamSpec {
                name: "share",
                kind: ParamKind::Decimal { min: 0.0, max: 1.0 },
                default: "0.8",
                meaning: "share of the requests that asks for hot keys",
            },
        ],
        make: Some(|spec, draw| {
            let (fraction, share) = (spec.decimal("fraction"), spec.decimal("share"));
            let seeds = (draw.requests_seed, draw.permutation_seed);
            Ok(Box::new(Hotspot::new(draw.keys, draw.requests, fraction, share, seeds.0, seeds.1)?))
        }),
    },
    WorkloadRow {
        name: "file",
        summary: "the requests of a key file as they stand: every line, or every count of a table",
        params: &[],
        make: None,
    },
];
