//! The alias method: one draw from a fixed discrete distribution in constant time.

use core::{fmt, hint};

use crate::math;

/// A table to draw column numbers from, each with a chosen probability (Walker 1977; Vose 1991).
///
/// All arithmetic is on integers: the probabilities are multiples of 2^-64 that add up to exactly 1, and the
/// table holds exactly those. They differ from the weights asked for by rounding alone: each by at most 2^-65
/// plus 2^-52 of its own value, but for the largest, which makes up for the others.
#[derive(Clone)]
pub(crate) struct AliasTable {
    columns: Box<[Column]>,
    /// log2 of the number of columns, 1 to 32.
    bits: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Column {
    /// The coin shows the column itself below this, its alias otherwise. At most 2^(64 - bits).
    own: u64,
    alias: u32,
}

impl AliasTable {
    /// A table over the weights, which are finite, not negative and not all 0; at most 2^32 of them.
    pub(crate) fn new(weights: &[f64]) -> Self {
        let bits = weights.len().next_power_of_two().ilog2().max(1);
        let height = 1u64 << (64 - bits);
        let probabilities = in_units(weights);
        let mut rest = vec![0u128; 1 << bits];
        rest[..probabilities.len()].copy_from_slice(&probabilities);

        let (mut low, mut high): (Vec<usize>, Vec<usize>) =
            (0..rest.len()).rev().partition(|&column| rest[column] < u128::from(height));
        let mut columns = vec![Column::default(); rest.len()];
        // A column that is not full is filled up by one that has more than enough. The total is exact, so the
        // last ones are exactly full, and are left over in `high`.
        while let Some(short) = low.pop() {
            let donor = *high.last().expect("what is missing in some columns is in excess in others");
            columns[short] = Column { own: rest[short] as u64, alias: donor as u32 };
            rest[donor] -= u128::from(height) - rest[short];
            if rest[donor] < u128::from(height) {
                high.pop();
                low.push(donor);
            }
        }
        for full in high {
            columns[full] = Column { own: height, alias: full as u32 };
        }
        Self { columns: columns.into_boxed_slice(), bits }
    }

    /// The column that a uniform word leads to.
    #[inline]
    pub(crate) fn pick(&self, word: u64) -> u32 {
        let number = (word >> (64 - self.bits)) as u32;
        let column = &self.columns[number as usize];
        let coin = word & (u64::MAX >> self.bits);
        // No pattern for a branch predictor to find.
        hint::select_unpredictable(coin < column.own, number, column.alias)
    }
}

impl fmt::Debug for AliasTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AliasTable").field("columns", &self.columns.len()).finish_non_exhaustive()
    }
}

/// The weights as integers in proportion that add up to exactly 2^64.
fn in_units(weights: &[f64]) -> Vec<u128> {
    const WHOLE: u128 = 1 << 64;
    let total = math::sum(weights.iter().copied());
    let mut units: Vec<u128> =
        weights.iter().map(|weight| (weight / total * WHOLE as f64).round() as u128).collect();
    // What rounding left goes to the largest, which it changes least.
    let sum: u128 = units.iter().sum();
    let largest = units.iter_mut().max().expect("there is a weight");
    *largest = *largest + WHOLE - sum;
    units
}

#[cfg(test)]
impl AliasTable {
    /// The probability of each column, in units of 2^-64, added up from the table.
    pub(crate) fn probabilities(&self) -> Vec<u128> {
        let height = 1u128 << (64 - self.bits);
        let mut sums = vec![0; self.columns.len()];
        for (number, column) in self.columns.iter().enumerate() {
            sums[number] += u128::from(column.own);
            sums[column.alias as usize] += height - u128::from(column.own);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_table_holds_the_probabilities(
            weights in prop::collection::vec(prop_oneof![Just(0.0), 0.0..1.0, 1e-30..1e-10, 1e5..1e9], 1..300)
        ) {
            let mut weights = weights;
            weights[0] += 1e-3;
            let table = AliasTable::new(&weights);
            let got = table.probabilities();
            let asked = in_units(&weights);
            prop_assert_eq!(&got[..asked.len()], &asked[..]);
            prop_assert!(got[asked.len()..].iter().all(|&padding| padding == 0));
            prop_assert_eq!(got.iter().sum::<u128>(), 1 << 64);
            let total = math::sum(weights.iter().copied());
            let largest = weights.iter().copied().fold(0.0, f64::max);
            for (&units, &weight) in asked.iter().zip(&weights) {
                let exact = weight / total * (1u128 << 64) as f64;
                let others = if weight == largest { weights.len() as f64 + 4096.0 } else { 0.0 };
                prop_assert!((units as f64 - exact).abs() <= 0.5 + exact / (1u64 << 52) as f64 + others);
            }
        }
    }

    #[test]
    fn a_column_is_picked_by_the_words_it_owns() {
        let table = AliasTable::new(&[1.0, 3.0]);
        // Column 0 owns the first half of its words, column 1 the rest of them and all its own.
        assert_eq!(table.pick(0), 0);
        assert_eq!(table.pick((1 << 62) - 1), 0);
        assert_eq!(table.pick(1 << 62), 1);
        assert_eq!(table.pick(u64::MAX), 1);
    }

    #[test]
    fn certainty() {
        for weights in [&[1.0][..], &[0.0, 5.0], &[0.0, 0.0, 1e-300]] {
            let table = AliasTable::new(weights);
            let certain = weights.len() as u32 - 1;
            for word in [0, 1, 1 << 62, 1 << 63, u64::MAX] {
                assert_eq!(table.pick(word), certain, "{weights:?}");
            }
        }
    }
}
