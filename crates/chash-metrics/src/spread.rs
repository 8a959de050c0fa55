//! How evenly loads lie on nodes: the pure arithmetic of balance.
//!
//! w_i is a node's weight, W = Σ w_i, π_i = w_i/W its fair share, T the total load and
//! x_i = load_i/(T·π_i) its load relative to its fair share. Nodes of weight 0 are left out
//! everywhere: nothing may be placed on them.

use chash_core::Node;

use crate::stats;

/// Loads of nodes that may be chosen, with their weights.
#[derive(Clone, Debug)]
pub struct Spread {
    weights: Vec<u32>,
    loads: Vec<u64>,
    total_weight: u64,
    total_load: u64,
}

impl Spread {
    /// The loads of these nodes, in their order.
    ///
    /// # Panics
    ///
    /// If there are not as many loads as nodes.
    #[must_use]
    pub fn new(nodes: &[Node], loads: &[u64]) -> Self {
        assert_eq!(nodes.len(), loads.len(), "every node has its load");
        let chosen = || nodes.iter().zip(loads).filter(|(node, _)| node.weight > 0);
        let weights: Vec<u32> = chosen().map(|(node, _)| node.weight).collect();
        let loads: Vec<u64> = chosen().map(|(_, load)| *load).collect();
        let total_weight = weights.iter().map(|weight| u64::from(*weight)).sum();
        let total_load = loads.iter().sum();
        Self { weights, loads, total_weight, total_load }
    }

    /// The loads, in node order.
    #[must_use]
    pub fn loads(&self) -> &[u64] {
        &self.loads
    }

    /// T, the total load.
    #[must_use]
    pub fn total_load(&self) -> u64 {
        self.total_load
    }

    /// T·π_i, in node order.
    #[must_use]
    pub fn expected(&self) -> Vec<f64> {
        self.weights.iter().map(|weight| expected_load(self.total_load, *weight, self.total_weight)).collect()
    }

    /// π_i, in node order.
    #[must_use]
    pub fn fair_shares(&self) -> Vec<f64> {
        self.weights.iter().map(|weight| f64::from(*weight) / self.total_weight as f64).collect()
    }

    /// x_i, in node order; `None` where nothing was placed.
    #[must_use]
    pub fn relative(&self) -> Option<Vec<f64>> {
        (self.total_load > 0).then(|| {
            let relative = |(weight, load): (&u32, &u64)| {
                // Both products are exact, so that a load equal to its fair share gives 1.
                let load = u128::from(*load) * u128::from(self.total_weight);
                let fair = u128::from(self.total_load) * u128::from(*weight);
                load as f64 / fair as f64
            };
            self.weights.iter().zip(&self.loads).map(relative).collect()
        })
    }

    /// The largest x_i; `None` where nothing was placed.
    #[must_use]
    pub fn max_over_mean(&self) -> Option<f64> {
        self.relative()?.into_iter().reduce(f64::max)
    }

    /// Mean load, the population deviation of loads, and what follows from the x_i.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary {
            mean_load: (!self.loads.is_empty()).then(|| self.total_load as f64 / self.loads.len() as f64),
            min_load: self.loads.iter().min().copied(),
            max_load: self.loads.iter().max().copied(),
            stddev_load: stats::population_deviation(&self.loads),
            relative: self.relative().map(Relative::new),
            empty_nodes: self.loads.iter().filter(|load| **load == 0).count() as u64,
        }
    }
}

/// The fair part of `total` for a node of this weight.
#[must_use]
pub fn expected_load(total: u64, weight: u32, total_weight: u64) -> f64 {
    (u128::from(total) * u128::from(weight)) as f64 / total_weight as f64
}

/// What loads and fair shares say about balance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// T/N.
    pub mean_load: Option<f64>,
    /// The smallest load.
    pub min_load: Option<u64>,
    /// The largest load.
    pub max_load: Option<u64>,
    /// The population standard deviation of the loads.
    pub stddev_load: Option<f64>,
    /// What follows from the x_i; `None` where nothing was placed.
    pub relative: Option<Relative>,
    /// Nodes that hold nothing.
    pub empty_nodes: u64,
}

/// Figures of the x_i.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relative {
    /// sqrt(mean (x_i − 1)²).
    pub cv: f64,
    /// The largest x_i.
    pub max_over_mean: f64,
    /// The smallest x_i.
    pub min_over_mean: f64,
    /// The ⌈0.99·N⌉-th smallest x_i.
    pub p99_over_mean: f64,
    /// Σ|x_i − x_j|/(2N²·mean x).
    pub gini: f64,
}

impl Relative {
    /// Sums are in the order of the values or of their sizes.
    fn new(relative: Vec<f64>) -> Self {
        let squares: f64 = relative.iter().map(|x| (x - 1.0) * (x - 1.0)).sum();
        let cv = (squares / relative.len() as f64).sqrt();
        let mut sorted = relative;
        sorted.sort_unstable_by(f64::total_cmp);
        Self {
            cv,
            max_over_mean: sorted[sorted.len() - 1],
            min_over_mean: sorted[0],
            p99_over_mean: stats::percentile(&sorted, 99, 100),
            // The x_i of a total above 0 cannot all be 0.
            gini: stats::gini(sorted).unwrap_or(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chash_core::NodeId;

    fn nodes(weights: &[u32]) -> Vec<Node> {
        weights
            .iter()
            .enumerate()
            .map(|(i, weight)| Node::new(NodeId(i as u32), format!("n{i}")).with_weight(*weight))
            .collect()
    }

    #[test]
    fn equal_weights_by_hand() {
        let spread = Spread::new(&nodes(&[1; 8]), &[2, 4, 4, 4, 5, 5, 7, 9]);
        let summary = spread.summary();
        assert_eq!(
            (summary.mean_load, summary.min_load, summary.max_load, summary.stddev_load, summary.empty_nodes),
            (Some(5.0), Some(2), Some(9), Some(2.0), 0)
        );
        let relative = summary.relative.unwrap();
        // cv of equal weights is stddev/mean.
        assert!((relative.cv - 0.4).abs() < 1e-15);
        assert_eq!((relative.max_over_mean, relative.min_over_mean, relative.p99_over_mean), (1.8, 0.4, 1.8));
        // Sorted, Σ(2i − 9)·load = −14 − 20 − 12 − 4 + 5 + 15 + 35 + 63 = 68.
        assert!((relative.gini - 68.0 / (8.0 * 40.0)).abs() < 1e-15);
    }

    /// Weights 1, 2, 5 and T = 80: fair loads are 10, 20, 50.
    #[test]
    fn weights_by_hand() {
        let spread = Spread::new(&nodes(&[1, 2, 0, 5]), &[20, 20, 0, 40]);
        assert_eq!(spread.expected(), [10.0, 20.0, 50.0]);
        assert_eq!(spread.fair_shares(), [0.125, 0.25, 0.625]);
        assert_eq!(spread.relative().unwrap(), [2.0, 1.0, 0.8]);
        let summary = spread.summary();
        assert_eq!((summary.mean_load, summary.empty_nodes), (Some(80.0 / 3.0), 0));
        let relative = summary.relative.unwrap();
        assert!((relative.cv - ((1.0 + 0.04f64) / 3.0).sqrt()).abs() < 1e-15);
        assert_eq!((relative.max_over_mean, relative.min_over_mean), (2.0, 0.8));
    }

    #[test]
    fn one_node_is_in_balance() {
        let relative = Spread::new(&nodes(&[3]), &[17]).summary().relative.unwrap();
        assert_eq!(
            relative,
            Relative { cv: 0.0, max_over_mean: 1.0, min_over_mean: 1.0, p99_over_mean: 1.0, gini: 0.0 }
        );
    }

    #[test]
    fn nothing_placed_has_no_ratio() {
        let summary = Spread::new(&nodes(&[1, 1]), &[0, 0]).summary();
        assert_eq!((summary.mean_load, summary.relative, summary.empty_nodes), (Some(0.0), None, 2));
    }
}
