//! The shares of many rings against theory, at level 1e-6 with fixed seeds.

use chash_core::{Build, Distributor, DistributorExt, Node, NodeId};
use chash_hash::HashFunction;
use chash_metrics::stats::{chi_squared, chi_squared_tail};
use chash_ring::{Params, Ring, Sizing};

const LEVEL: f64 = 1e-6;

fn shares(ring: &Ring) -> Vec<f64> {
    ring.node_ids().into_iter().map(|id| ring.key_share(id).unwrap()).collect()
}

fn keys(count: u64, seed: u64) -> Vec<u64> {
    (0..count).map(|i| chash_core::mix::combine(seed, i)).collect()
}

/// The shares of N nodes with V points are Dirichlet(V, …, V), whose squared coefficient of variation is
/// (N−1)/(NV+1) on average. Its sum over nodes and rings, in that unit, is close to chi-squared with N−1
/// degrees of freedom for each ring; both tails are tested.
#[test]
fn spread_of_shares_is_that_of_theory() {
    let (nodes, vnodes, rings) = (50u32, 200, 40);
    for hash in HashFunction::ALL {
        let mut statistic = 0.0;
        for seed in 0..rings {
            let params = Params { vnodes, hash, seed, ..Params::default() };
            let shares = shares(&Ring::build(&params, &Node::numbered(nodes)).unwrap());
            let n = f64::from(nodes);
            let squares: f64 = shares.iter().map(|share| (share * n - 1.0).powi(2)).sum();
            let theory = (n - 1.0) / (n * f64::from(vnodes) + 1.0);
            statistic += squares / theory * (n - 1.0) / n;
        }
        let tail = chi_squared_tail(statistic, u64::from(nodes - 1) * rings);
        assert!((LEVEL / 2.0..1.0 - LEVEL / 2.0).contains(&tail), "{hash:?}: {statistic}, {tail}");
    }
}

/// With one point a node the largest share is H_N/N on average: 5.187/100 for 100 nodes.
#[test]
fn largest_share_with_one_point_each_is_the_harmonic_number() {
    let (nodes, rings) = (100, 400);
    let largest: Vec<f64> = (0..rings)
        .map(|seed| {
            let params = Params { vnodes: 1, seed, ..Params::default() };
            let ring = Ring::build(&params, &Node::numbered(nodes)).unwrap();
            shares(&ring).into_iter().fold(0.0, f64::max) * f64::from(nodes)
        })
        .collect();
    let mean = largest.iter().sum::<f64>() / rings as f64;
    let variance = largest.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (rings - 1) as f64;
    let harmonic: f64 = (1..=nodes).map(|i| 1.0 / f64::from(i)).sum();
    // 4.892 standard errors: level 1e-6 on both sides of a normal mean.
    let error = (variance / rings as f64).sqrt();
    assert!((mean - harmonic).abs() < 4.892 * error, "{mean} ± {error}, not {harmonic}");
}

/// Expected shares follow the weights under both sizings: the mean of a Dirichlet share over rings.
#[test]
fn mean_shares_follow_the_weights() {
    let weights = [1, 2, 3, 10, 0, 4];
    let total: u32 = weights.iter().sum();
    let nodes: Vec<Node> = (0u32..)
        .zip(weights)
        .map(|(i, weight)| Node::new(NodeId(i), format!("w{i}")).with_weight(weight))
        .collect();
    let (vnodes, rings) = (50, 100);
    for sizing in [Sizing::PointsPerNode, Sizing::RingSize(vnodes * total)] {
        let mut sums = [0.0; 6];
        for seed in 0..rings {
            let params = Params { vnodes, sizing, seed, ..Params::default() };
            let ring = Ring::build(&params, &nodes).unwrap();
            assert_eq!(ring.point_count(), (vnodes * total) as usize);
            for (sum, share) in sums.iter_mut().zip(shares(&ring)) {
                *sum += share / f64::from(rings as u32);
            }
        }
        for (mean, weight) in sums.into_iter().zip(weights) {
            let fair = f64::from(weight) / f64::from(total);
            // The variance of a Beta share is fair·(1−fair)/(points+1). Six nodes, two sizings: 12
            // comparisons, so 5.37 standard errors.
            let error =
                (fair * (1.0 - fair) / f64::from(vnodes * total + 1) / f64::from(rings as u32)).sqrt();
            assert!((mean - fair).abs() <= 5.37 * error, "{sizing:?}: {mean}, not {fair} ± {error}");
        }
    }
}

/// Lookups land in proportion to the arcs.
#[test]
fn lookups_follow_the_shares() {
    for (sizing, hash_bits) in
        [(Sizing::PointsPerNode, 64), (Sizing::RingSize(1000), 64), (Sizing::PointsPerNode, 9)]
    {
        let params = Params { vnodes: 7, sizing, hash_bits, ..Params::default() };
        let ring = Ring::build(&params, &Node::numbered(30)).unwrap();
        let mut counts = [0u64; 30];
        let keys = keys(1_000_000, 7);
        for id in ring.lookup_all(&keys) {
            counts[id.index()] += 1;
        }
        let expected: Vec<f64> = shares(&ring).iter().map(|share| share * keys.len() as f64).collect();
        let fit = chi_squared(&counts, &expected).unwrap();
        assert!(fit.p_value > LEVEL, "{sizing:?}: {fit:?}");
    }
}
