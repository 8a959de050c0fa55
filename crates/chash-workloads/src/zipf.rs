//! The Zipf distribution: a few keys that everybody asks for, and a long tail.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng as _;

use crate::alias::AliasTable;
use crate::draw::Below;
use crate::permutation::Permutation;
use crate::seed::block_rng;
use crate::workload::{block_len, check_keys};
use crate::{ParameterError, Workload, harmonic, math};

/// log2 of the cells per octave of ranks. More would make powers rarer and take the table out of the innermost cache.
const CELL_BITS: u32 = 6;

/// The ranks 1 to n, rank i with a probability proportional to i^-s.
///
/// A draw is exact for every n and s: no approximation of the distribution is involved, only the rounding of its
/// terms to double precision, and of the table to multiples of 2^-64. The method is rejection from a staircase:
///
/// 1. The ranks are cut into cells, of one rank each below 128, and 64 cells to an octave above. A cell is drawn from
///    an alias table, in proportion to its length times the probability of its first rank.
/// 2. A rank of the cell is drawn, uniformly.
/// 3. Rank i of a cell that begins at a is kept with probability (i/a)^-s; otherwise all is drawn again.
///
/// As a cell is at most 1/64 longer than it is far, a constant settles nearly every third step without computing the
/// power. A draw takes two words of the generator, more with a probability below s/64, and is repeated with one below
/// s/128 (for large s far less, as nearly all the mass is then on ranks that are alone in their cells); what the last
/// cell reaches beyond n is drawn again too. The table has 16 bytes a cell: 16 KiB for 10^6 ranks, 64 KiB for 2^63.
///
/// ```
/// use chash_workloads::ZipfRanks;
/// use chash_workloads::seed::block_rng;
///
/// let ranks = ZipfRanks::new(5, 1.0)?;
/// let shares: Vec<f64> = (1..=5).map(|rank| ranks.probability(rank)).collect();
/// assert_eq!(shares.iter().map(|p| format!("{p:.4}")).collect::<Vec<_>>(),
///     ["0.4380", "0.2190", "0.1460", "0.1095", "0.0876"]);
///
/// let mut rng = block_rng(42, 0);
/// assert!((1..=5).contains(&ranks.draw(&mut rng)));
/// # Ok::<(), chash_workloads::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ZipfRanks {
    n: u64,
    s: f64,
    harmonic: f64,
    sampler: Sampler,
}

#[derive(Clone, Debug)]
enum Sampler {
    /// s = 0: every rank alike, without rounding.
    Uniform(Below),
    Staircase {
        cells: AliasTable,
        /// A coin whose first 32 bits are below this keeps any rank of any cell: at most 2^32 · (65/64)^-s.
        keep: u32,
    },
}

impl ZipfRanks {
    /// The distribution over 1..=n with exponent s.
    ///
    /// # Errors
    ///
    /// If n is not between 1 and 2^63, or s is negative, infinite or not a number.
    pub fn new(n: u64, s: f64) -> Result<Self, ParameterError> {
        check_keys(n)?;
        if !(s >= 0.0 && s.is_finite()) {
            return Err(ParameterError { name: "s", requirement: "a finite number of at least 0" });
        }
        let sampler = if s == 0.0 {
            Sampler::Uniform(Below::new(n))
        } else {
            let weights: Vec<f64> =
                (0..=Cell::of_rank(n).number()).map(|number| staircase(number, s)).collect();
            // Rounded down, and one less, so that rounding cannot keep what it should not.
            let keep = (math::pow(65.0 / 64.0, -s) * TWO_32) as u32;
            Sampler::Staircase { cells: AliasTable::new(&weights), keep: keep.saturating_sub(1) }
        };
        Ok(Self { n, s, harmonic: harmonic(n, s), sampler })
    }

    /// The number of ranks, n.
    #[must_use]
    pub fn rank_count(&self) -> u64 {
        self.n
    }

    /// The exponent, s.
    #[must_use]
    pub fn exponent(&self) -> f64 {
        self.s
    }

    /// The probability of a rank, i^-s / H(n, s); 0 outside 1..=n.
    #[must_use]
    pub fn probability(&self, rank: u64) -> f64 {
        if rank == 0 || rank > self.n { 0.0 } else { math::pow(rank as f64, -self.s) / self.harmonic }
    }

    /// One rank, in 1..=n.
    #[inline]
    pub fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        match &self.sampler {
            Sampler::Uniform(below) => 1 + below.draw(rng),
            Sampler::Staircase { cells, keep } => self.draw_from_staircase(cells, *keep, rng),
        }
    }

    #[inline]
    fn draw_from_staircase(&self, cells: &AliasTable, keep: u32, rng: &mut Xoshiro256PlusPlus) -> u64 {
        loop {
            let cell = Cell::of_number(cells.pick(rng.next_u64()));
            // One word has the place in the cell in its low half and the first half of the coin in its high one;
            // the other bits of the coin are drawn when they matter.
            let word = rng.next_u64();
            let coin = (word >> 32) as u32;
            let place = if cell.octave <= 32 { word } else { rng.next_u64() };
            let rank = cell.first + (place & (cell.len() - 1));
            // The last cell may reach beyond n. One branch for the rare cases, none for the length of a cell.
            if (coin < keep) & (rank <= self.n) || self.keeps(rank, cell.first, coin, rng.next_u64()) {
                return rank;
            }
        }
    }

    /// The exact decision on a rank of the cell that begins at `first`. Not given the generator, which would then
    /// have to be in memory instead of in registers.
    #[cold]
    fn keeps(&self, rank: u64, first: u64, coin: u32, rest_of_coin: u64) -> bool {
        if rank > self.n {
            return false;
        }
        let coin = (f64::from(coin) + (rest_of_coin >> 11) as f64 / TWO_53) / TWO_32;
        coin < math::pow(rank as f64 / first as f64, -self.s)
    }
}

const TWO_32: f64 = (1u64 << 32) as f64;
const TWO_53: f64 = (1u64 << 53) as f64;
/// Consecutive ranks that the staircase treats alike: 2^octave of them from `first`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    first: u64,
    octave: u32,
}

impl Cell {
    /// The cell that a rank is in. Rank 0 has a cell too, which is never drawn.
    fn of_rank(rank: u64) -> Self {
        let octave = (rank | 1).ilog2().saturating_sub(CELL_BITS);
        Self { first: rank >> octave << octave, octave }
    }

    /// Cells are numbered in the order of their ranks, without gaps: number i is rank i below 128.
    #[inline]
    fn of_number(number: u32) -> Self {
        let octave = (number >> CELL_BITS).saturating_sub(1);
        Self { first: u64::from(number - (octave << CELL_BITS)) << octave, octave }
    }

    fn number(self) -> u32 {
        // The quotient is below 128.
        (self.octave << CELL_BITS) + (self.first >> self.octave) as u32
    }

    #[inline]
    fn len(self) -> u64 {
        1 << self.octave
    }
}

/// The weight of a cell: what its ranks would have if each were as probable as the first.
fn staircase(number: u32, s: f64) -> f64 {
    let cell = Cell::of_number(number);
    if cell.first == 0 { 0.0 } else { cell.len() as f64 * math::pow(cell.first as f64, -s) }
}

/// Requests for keys whose popularity follows the Zipf distribution.
///
/// A seeded [`Permutation`] decides which key has which rank. Memory does not depend on the number of requests, and
/// on that of keys as said of [`ZipfRanks`].
///
/// The hottest key gets the share 1 / H(n, s) of the requests. No placement of whole keys on N nodes can therefore have
/// a largest load below N / H(n, s) of the mean, however many points a node has.
///
/// ```
/// use chash_workloads::seed::{Seed, Stream};
/// use chash_workloads::{Workload, Zipf};
///
/// let seed = Seed(42);
/// let (requests, permutation) = (seed.stream(0, Stream::Requests), seed.stream(0, Stream::Permutation));
/// let workload = Zipf::new(1000, 10_000, 1.1, requests, permutation)?;
/// let mut block = Vec::new();
/// workload.fill_block(2, &mut block);
/// assert_eq!(block.len(), 10_000 - 2 * 4096);
///
/// let hottest = workload.key_of_rank(1);
/// let share = block.iter().filter(|&&key| key == hottest).count() as f64 / block.len() as f64;
/// assert!((share - workload.ranks().probability(1)).abs() < 0.04);
/// # Ok::<(), chash_workloads::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Zipf {
    ranks: ZipfRanks,
    requests: u64,
    requests_seed: u64,
    permutation: Permutation,
}

impl Zipf {
    /// Requests for `keys` keys with exponent `s`.
    ///
    /// # Errors
    ///
    /// If `keys` is not between 1 and 2^63, or `s` is negative, infinite or not a number.
    pub fn new(
        keys: u64,
        requests: u64,
        s: f64,
        requests_seed: u64,
        permutation_seed: u64,
    ) -> Result<Self, ParameterError> {
        let ranks = ZipfRanks::new(keys, s)?;
        Ok(Self { ranks, requests, requests_seed, permutation: Permutation::new(keys, permutation_seed)? })
    }

    /// The distribution of the ranks.
    #[must_use]
    pub fn ranks(&self) -> &ZipfRanks {
        &self.ranks
    }

    /// The key that has a rank; rank 1 is asked for most.
    ///
    /// # Panics
    ///
    /// If the rank is not in 1..=[`key_count`](Workload::key_count).
    #[must_use]
    pub fn key_of_rank(&self, rank: u64) -> u64 {
        assert!(rank > 0, "ranks begin at 1");
        self.permutation.apply(rank - 1)
    }

    /// The rank of a key.
    ///
    /// # Panics
    ///
    /// If the key is not in 0..[`key_count`](Workload::key_count).
    #[must_use]
    pub fn rank_of_key(&self, key: u64) -> u64 {
        self.permutation.invert(key) + 1
    }
}

impl Workload for Zipf {
    fn key_count(&self) -> u64 {
        self.ranks.rank_count()
    }

    fn request_count(&self) -> u64 {
        self.requests
    }

    fn fill_block(&self, block: u64, out: &mut Vec<u64>) {
        let mut rng = block_rng(self.requests_seed, block);
        let count = block_len(block, self.requests);
        match &self.ranks.sampler {
            Sampler::Uniform(below) => below.fill(&mut rng, count, out),
            Sampler::Staircase { cells, keep } => {
                out.clear();
                out.extend((0..count).map(|_| self.ranks.draw_from_staircase(cells, *keep, &mut rng) - 1));
            }
        }
        self.permutation.apply_all(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cover_the_ranks_in_order() {
        let mut next = 0;
        for number in 0..2000 {
            let cell = Cell::of_number(number);
            assert_eq!((cell.first, cell.number()), (next, number));
            // A cell is at most 1/64 longer than it is far.
            assert!(cell.len() == 1 || cell.len() * 64 <= cell.first);
            for rank in [cell.first, cell.first + cell.len() - 1] {
                assert_eq!(Cell::of_rank(rank), cell);
            }
            next += cell.len();
        }
        assert_eq!(Cell::of_number(Cell::of_rank(1 << 63).number()).first, 1 << 63);
    }

    /// Draws nothing: adds up what the table and the rule of keeping give to each rank.
    #[test]
    fn the_probability_of_every_rank_is_exact() {
        for s in [1e-3, 0.5, 0.99, 1.0, 1.28, 2.68, 20.0] {
            for n in [1, 2, 3, 127, 128, 129, 5000, 100_000] {
                let ranks = ZipfRanks::new(n, s).unwrap();
                let Sampler::Staircase { cells, keep } = &ranks.sampler else { panic!("s is above 0") };
                let drawn = cells.probabilities();
                let kept: Vec<f64> = (1..=n)
                    .map(|rank| {
                        let cell = Cell::of_rank(rank);
                        let keeping = math::pow(rank as f64 / cell.first as f64, -s);
                        assert!(
                            f64::from(*keep) / TWO_32 <= keeping,
                            "what a constant keeps, the power keeps"
                        );
                        drawn[cell.number() as usize] as f64 / cell.len() as f64 * keeping
                    })
                    .collect();
                let total = math::sum(kept.iter().copied());
                // Units of 2^-64 are the resolution of the table; a few roundings are relative.
                let (unit, relative) = (1.0 / TWO_32 / TWO_32, 64.0 * f64::EPSILON);
                for (rank, kept) in (1..=n).zip(kept) {
                    let (got, exact) = (kept / total, ranks.probability(rank));
                    assert!(
                        (got - exact).abs() <= unit + exact * relative,
                        "n {n} s {s} rank {rank}: {got} {exact}"
                    );
                }
            }
        }
    }

    #[test]
    fn probabilities() {
        let printed = |n, s| -> Vec<String> {
            let ranks = ZipfRanks::new(n, s).unwrap();
            (0..=n + 1).map(|rank| format!("{:.4}", ranks.probability(rank))).collect()
        };
        assert_eq!(printed(5, 1.0), ["0.0000", "0.4380", "0.2190", "0.1460", "0.1095", "0.0876", "0.0000"]);
        assert_eq!(printed(4, 0.0), ["0.0000", "0.2500", "0.2500", "0.2500", "0.2500", "0.0000"]);
        assert_eq!(printed(1, 3.0), ["0.0000", "1.0000", "0.0000"]);
    }

    #[test]
    fn bad_parameters_are_refused_by_name() {
        let refused = ParameterError { name: "s", requirement: "a finite number of at least 0" };
        for s in [-1.0, -f64::MIN_POSITIVE, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(ZipfRanks::new(10, s).unwrap_err(), refused);
            assert_eq!(Zipf::new(10, 10, s, 0, 0).unwrap_err(), refused);
        }
        assert_eq!(ZipfRanks::new(0, 1.0).unwrap_err().name, "keys");
        assert_eq!(ZipfRanks::new((1 << 63) + 1, 1.0).unwrap_err().name, "keys");
    }

    #[test]
    fn extremes_stay_in_range() {
        let mut rng = block_rng(1, 0);
        for n in [1, 2, 127, 128, 200, (1 << 38) + 1, 1 << 63] {
            for s in [-0.0, f64::MIN_POSITIVE, 1e-9, 1.0, 50.0, 1e6, f64::MAX] {
                let ranks = ZipfRanks::new(n, s).unwrap();
                for _ in 0..1000 {
                    let rank = ranks.draw(&mut rng);
                    assert!((1..=n).contains(&rank), "n {n} s {s}: {rank}");
                    assert!(s < 50.0 || rank == 1, "n {n} s {s}: {rank}");
                }
            }
        }
    }

    #[test]
    fn the_table_stays_small() {
        let Sampler::Staircase { cells, .. } = ZipfRanks::new(1 << 63, 1.0).unwrap().sampler else {
            panic!("s is above 0")
        };
        assert_eq!(cells.probabilities().len() * size_of::<(u64, u32)>(), 64 << 10);
    }
}
