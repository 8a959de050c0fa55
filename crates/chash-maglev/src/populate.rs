//! Filling the table: the paper's populate, without its stored permutations and without its long tail.

use crate::arithmetic::{Multiplier, add, inverse, is_prime};
use crate::{MAX_TABLE_SIZE, turns};

/// A node as the table sees it: the order in which it wants the slots, and how often it plays.
///
/// Its j-th wish is slot (`offset` + j · `skip`) modulo the table size, which is prime: every slot once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permutation {
    /// The first wish, below the table size.
    pub offset: u32,
    /// From 1 to below the table size.
    pub skip: u32,
    /// Turns relative to the others'; 0 is never on.
    pub weight: u32,
}

/// The table of these nodes: `table[slot]` is the index in `nodes` of the slot's owner.
///
/// The paper's pseudocode 1 with weights as turns: in round r, from 1 on, in the order given, each node with
/// ⌊r·w/w_max⌋ > ⌊(r−1)·w/w_max⌋ takes the first slot it wishes that nobody has taken, until none is left.
/// O(M log M) on average for M slots, and O(N) beside.
///
/// ```
/// use chash_maglev::{Permutation, populate};
/// // Table 1 of the paper.
/// let node = |offset, skip| Permutation { offset, skip, weight: 1 };
/// let table = populate(7, &[node(3, 4), node(0, 2), node(3, 1)]);
/// assert_eq!(table, [1, 0, 1, 0, 2, 2, 0]);
/// ```
///
/// # Panics
///
/// If `table_size` is not a prime up to [`MAX_TABLE_SIZE`], a permutation is out of range, no weight is
/// above 0, or more weights are than there are slots.
#[must_use]
pub fn populate(table_size: u32, nodes: &[Permutation]) -> Vec<u32> {
    assert!(table_size <= MAX_TABLE_SIZE && is_prime(table_size), "the table size is a prime below 2^31");
    let in_range = |node: &Permutation| node.offset < table_size && (1..table_size).contains(&node.skip);
    assert!(nodes.iter().all(in_range), "offsets and skips are below the table size, and no skip is 0");
    let (indexes, players): (Vec<u32>, Vec<Permutation>) =
        (0..).zip(nodes.iter().copied()).filter(|(_, node)| node.weight > 0).unzip();
    assert!((1..=table_size as usize).contains(&players.len()), "between one node and as many as slots play");
    let mut table = vec![0; table_size as usize];
    let turns = turns::schedule(&players, table_size);
    fill(table_size, &players, &turns, |slot, player| table[slot] = indexes[player]);
    table
}

/// Calls `own` once for each slot, with the index of the player who takes it. `turns` is repeated as often
/// as needed; every weight is above 0.
pub(crate) fn fill(size: u32, players: &[Permutation], turns: &[u32], mut own: impl FnMut(usize, usize)) {
    let mut turns = turns.iter().map(|player| *player as usize).cycle();
    let mut next: Vec<Cursor> =
        players.iter().map(|player| Cursor { slot: player.offset, skip: player.skip }).collect();
    let mut taken = Taken::new(size);
    // With e slots empty a turn costs size/e tries, or e distances to compare: the square root is where
    // the two are equal, and half of all tries would come after it.
    let tail = size.isqrt();
    for player in turns.by_ref().take((size - tail) as usize) {
        let slot = taken.first_free(&mut next[player], size);
        own(slot as usize, player);
    }
    let mut empty = taken.free_slots(size);
    let mut distances: Vec<Option<Multiplier>> = vec![None; players.len()];
    for player in turns.take(tail as usize) {
        let slot = nearest(&empty, next[player], &mut distances[player], size);
        let place = empty.binary_search(&slot).expect("the nearest empty slot is one of them");
        empty.remove(place);
        own(slot as usize, player);
    }
}

/// A player's next wish.
#[derive(Clone, Copy)]
struct Cursor {
    slot: u32,
    skip: u32,
}

/// One bit for each slot: small enough to stay in the first-level cache where the table does not.
struct Taken(Vec<u64>);

impl Taken {
    fn new(size: u32) -> Self {
        Self(vec![0; size.div_ceil(u64::BITS) as usize])
    }

    /// Bit 0 says whether the slot is taken; the others are its neighbours'.
    #[inline]
    fn word(&self, slot: u32) -> u64 {
        self.0[(slot / u64::BITS) as usize] >> (slot % u64::BITS)
    }

    /// Takes the first free slot of the cursor's order, and moves the cursor behind it.
    #[inline]
    fn first_free(&mut self, cursor: &mut Cursor, size: u32) -> u32 {
        // Four wishes at a time: the ends of this loop are unpredictable, and there are fewer of them.
        let one = cursor.skip;
        let two = add(one, one, size);
        let four = add(two, two, size);
        let (first, third) = (cursor.slot, add(cursor.slot, two, size));
        let mut wishes = [first, add(first, one, size), third, add(third, one, size)];
        let mut words = wishes.map(|slot| self.word(slot));
        while words[0] & words[1] & words[2] & words[3] & 1 == 1 {
            wishes = wishes.map(|wish| add(wish, four, size));
            words = wishes.map(|slot| self.word(slot));
        }
        // The first free one of the four, by arithmetic: the compiler is not to make branches of it.
        let slot = (0..3).rev().fold(wishes[3], |later, i| {
            let keep_later = ((words[i] & 1) as u32).wrapping_neg();
            wishes[i] ^ ((wishes[i] ^ later) & keep_later)
        });
        self.0[(slot / u64::BITS) as usize] |= 1 << (slot % u64::BITS);
        cursor.slot = add(slot, one, size);
        slot
    }

    /// The free slots, ascending.
    fn free_slots(&self, size: u32) -> Vec<u32> {
        (0..size).filter(|slot| self.word(*slot) & 1 == 0).collect()
    }
}

/// The slot of `empty` that comes first in the cursor's order: the least distance, counted in skips.
///
/// `distance` keeps the inverse of the player's skip from turn to turn.
fn nearest(empty: &[u32], cursor: Cursor, distance: &mut Option<Multiplier>, size: u32) -> u32 {
    let distance = distance.get_or_insert_with(|| Multiplier::new(inverse(cursor.skip, size), size));
    let back = size - cursor.slot;
    let skips =
        empty.iter().map(|slot| distance.times(slot + back)).min().expect("a slot is left for each turn");
    add(cursor.slot, Multiplier::new(cursor.skip, size).times(skips), size)
}
