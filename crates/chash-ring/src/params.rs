//! The parameters of a ring, and how many points they give each node.

use chash_core::{BuildError, MembershipError};
use chash_hash::{HashFunction, name_hash};

/// The most points a ring holds: 2^28, about 3 GB.
///
/// A limit of this crate, so that a huge weight is refused instead of exhausting the memory.
pub const MAX_POINTS: u32 = 1 << 28;

/// How a ring decides how many points a node gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sizing {
    /// [`Params::vnodes`] points for each unit of a node's weight. A node's points depend on nothing but
    /// the node, so a change of membership touches the points of the nodes it names and no others.
    #[default]
    PointsPerNode,
    /// This many points in all, 1 to [`MAX_POINTS`], shared in proportion to the weights: each node whose
    /// exact share is below one point gets one, the others share the rest by the method of largest
    /// remainders (ties to the smaller name). Memory is fixed, but a change of membership also adds or
    /// takes away points of nodes it does not name.
    RingSize(u32),
}

/// The parameters of [`Ring`](crate::Ring).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Points for each unit of weight, 1 to [`MAX_POINTS`]. Default 160: the spread of the shares is about
    /// 1/√160, 8 %. Not used by [`Sizing::RingSize`].
    pub vnodes: u32,
    /// The hash that turns (seed, index, name) into a point. Default XXH3.
    pub hash: HashFunction,
    /// How many points a node gets. Default [`Sizing::PointsPerNode`].
    pub sizing: Sizing,
    /// Another seed is another ring. Default 0.
    pub seed: u64,
    /// How many top bits of a point are kept, 1 to 64; the others are 0. Default 64. Fewer are of use to
    /// those who want points to collide.
    pub hash_bits: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            vnodes: 160,
            hash: HashFunction::default(),
            sizing: Sizing::default(),
            seed: 0,
            hash_bits: u64::BITS,
        }
    }
}

impl Params {
    /// Refuses what is out of range.
    pub(crate) fn validate(&self) -> Result<(), BuildError> {
        let refuse = |name, requirement| Err(BuildError::Parameter { name, requirement });
        if !(1..=u64::BITS).contains(&self.hash_bits) {
            return refuse("hash_bits", "from 1 to 64");
        }
        match self.sizing {
            Sizing::PointsPerNode if !(1..=MAX_POINTS).contains(&self.vnodes) => {
                refuse("vnodes", "from 1 to 268435456")
            }
            Sizing::RingSize(points) if !(1..=MAX_POINTS).contains(&points) => {
                refuse("ring_size", "from 1 to 268435456")
            }
            _ => Ok(()),
        }
    }

    /// Refuses a set of nodes that would need more points than there may be: `total_weight` over
    /// `eligible` nodes of positive weight.
    pub(crate) fn admit(&self, total_weight: u64, eligible: usize) -> Result<(), MembershipError> {
        let (needed, max) = match self.sizing {
            Sizing::PointsPerNode => (u128::from(self.vnodes) * u128::from(total_weight), MAX_POINTS),
            Sizing::RingSize(points) => (eligible as u128, points),
        };
        if needed > u128::from(max) { Err(MembershipError::CapacityExceeded { max }) } else { Ok(()) }
    }

    /// How many points each node gets, from the weights in the order of the names. The nodes have been
    /// admitted.
    pub(crate) fn point_counts(&self, weights: impl Iterator<Item = u32>) -> Vec<u32> {
        match self.sizing {
            Sizing::PointsPerNode => weights.map(|weight| self.vnodes * weight).collect(),
            Sizing::RingSize(points) => share_out(points, &weights.collect::<Vec<_>>()),
        }
    }

    /// The position of a node's point number `index`.
    pub(crate) fn position(&self, name: &str, index: u32) -> u64 {
        name_hash(self.hash, self.seed, index, name) & (u64::MAX << (u64::BITS - self.hash_bits))
    }
}

/// Shares out exactly `points` among nodes with these weights, in the order of their names, at least one
/// to each positive weight. There are no more positive weights than points, and one at least.
///
/// All in integers: with at most 2^28 points and 32-bit weights no product exceeds 2^60.
fn share_out(points: u32, weights: &[u32]) -> Vec<u32> {
    let mut counts = vec![0; weights.len()];
    let mut by_weight: Vec<usize> = (0..weights.len()).filter(|i| weights[*i] > 0).collect();
    by_weight.sort_by_key(|i| weights[*i]);
    let mut left = u64::from(points);
    let mut total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    // The lightest first: once a share reaches one point, so do those of all heavier nodes, since
    // giving a whole point to those below leaves less than their share to the others.
    let mut light = 0;
    while let Some(i) = by_weight.get(light)
        && left * u64::from(weights[*i]) < total
    {
        counts[*i] = 1;
        left -= 1;
        total -= u64::from(weights[*i]);
        light += 1;
    }
    let mut remainders = Vec::with_capacity(by_weight.len() - light);
    let mut unassigned = left;
    for i in &by_weight[light..] {
        let share = left * u64::from(weights[*i]);
        // At most `left`, which came from a u32.
        counts[*i] = (share / total) as u32;
        unassigned -= share / total;
        remainders.push((core::cmp::Reverse(share % total), *i));
    }
    remainders.sort_unstable();
    // Fewer points are left than there are remainders, since each is below one point.
    for (_, i) in remainders.into_iter().take(unassigned as usize) {
        counts[i] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn out_of_range_is_refused_by_name() {
        let refusal = |params: Params| match params.validate() {
            Err(BuildError::Parameter { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        let ring_size = |points| Params { sizing: Sizing::RingSize(points), ..Params::default() };
        assert_eq!(refusal(Params { vnodes: 0, ..Params::default() }), "vnodes");
        assert_eq!(refusal(Params { vnodes: MAX_POINTS + 1, ..Params::default() }), "vnodes");
        assert_eq!(refusal(Params { hash_bits: 0, ..Params::default() }), "hash_bits");
        assert_eq!(refusal(Params { hash_bits: 65, ..Params::default() }), "hash_bits");
        assert_eq!(refusal(ring_size(0)), "ring_size");
        assert_eq!(refusal(ring_size(u32::MAX)), "ring_size");
        assert_eq!(Params { vnodes: 0, ..ring_size(1) }.validate(), Ok(()));
        assert_eq!(MAX_POINTS, 268_435_456);
    }

    #[test]
    fn points_beyond_the_limit_are_refused() {
        let params = Params { vnodes: 1 << 27, ..Params::default() };
        assert_eq!(params.admit(2, 1), Ok(()));
        assert_eq!(params.admit(3, 1), Err(MembershipError::CapacityExceeded { max: MAX_POINTS }));
        assert_eq!(params.admit(u64::MAX, 1), Err(MembershipError::CapacityExceeded { max: MAX_POINTS }));
        let params = Params { sizing: Sizing::RingSize(5), ..Params::default() };
        assert_eq!(params.admit(u64::MAX, 5), Ok(()));
        assert_eq!(params.admit(6, 6), Err(MembershipError::CapacityExceeded { max: 5 }));
    }

    #[test]
    fn shares_worked_by_hand() {
        assert_eq!(share_out(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(share_out(10, &[1, 2, 0, 4]), [1, 3, 0, 6]);
        // 10·1/1002 is below one point: the light nodes get theirs, the heavy one the other eight.
        assert_eq!(share_out(10, &[1, 1, 1000]), [1, 1, 8]);
        assert_eq!(share_out(3, &[7, u32::MAX, 1]), [1, 1, 1]);
        assert_eq!(share_out(MAX_POINTS, &[0, u32::MAX]), [0, MAX_POINTS]);
    }

    proptest! {
        /// The whole ring is shared out; a zero weight gets nothing; and after everybody whose share is
        /// below one point has got one (found round by round), nobody else is a point or more away from
        /// the exact share of what is left, and a heavier node never gets less.
        #[test]
        fn shares_are_complete_and_proportional(
            weights in prop::collection::vec(prop_oneof![0u32..4, 0u32..1000, any::<u32>()], 1..40),
            spare in 0u32..5000,
        ) {
            let mut open: Vec<usize> = (0..weights.len()).filter(|i| weights[*i] > 0).collect();
            prop_assume!(!open.is_empty());
            let points = open.len() as u32 + spare;
            let counts = share_out(points, &weights);
            prop_assert_eq!(counts.iter().sum::<u32>(), points);

            let (mut left, mut total) = (0, 0);
            let mut light = vec![usize::MAX];
            while !light.is_empty() {
                total = open.iter().map(|i| u128::from(weights[*i])).sum();
                left = u128::from(points) - (weights.iter().filter(|w| **w > 0).count() - open.len()) as u128;
                (light, open) = open.into_iter().partition(|i| left * u128::from(weights[*i]) < total);
                prop_assert!(light.iter().all(|i| counts[*i] == 1));
            }
            for i in open {
                let (got, share) = (u128::from(counts[i]) * total, left * u128::from(weights[i]));
                prop_assert!(got.abs_diff(share) < total);
            }
            for (weight, count) in weights.iter().zip(&counts) {
                prop_assert_eq!(*weight == 0, *count == 0);
                for (other, more) in weights.iter().zip(&counts) {
                    prop_assert!(weight != other || count.abs_diff(*more) <= 1);
                    prop_assert!(weight >= other || count <= more);
                }
            }
        }
    }
}
