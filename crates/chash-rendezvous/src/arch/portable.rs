//! The search without instructions of its own, and the oracle of those that have them. It is
//! written so that compilers turn it into whatever vectors they may use: blocks of nodes are asked for
//! one number, and who has it is looked up in the winning block alone.
//!
//! Places count the candidates in the order of their names, so "the first of the best" is the tie
//! rule everywhere.

use chash_core::NodeId;

use crate::candidates::Candidates;
use crate::score::{Words, hash, surely_before};

/// Nodes whose best is taken together before it is compared with that of the nodes before.
const BLOCK: usize = 32;

/// The key's owner.
#[inline(always)]
pub(crate) fn lookup(candidates: &Candidates, key: u64) -> NodeId {
    let place = if candidates.equal_weights() {
        highest(candidates, Words::of_key(key))
    } else {
        earliest(candidates, Words::of_key(key))
    };
    candidates.ids()[place]
}

/// The owners of keys: `out[i]` is that of `keys[i]`. The lengths must be equal.
#[inline(always)]
pub(crate) fn lookup_batch(candidates: &Candidates, keys: &[u64], out: &mut [NodeId]) {
    for (key, out) in keys.iter().zip(out) {
        *out = lookup(candidates, *key);
    }
}

/// The place of the first candidate of the highest hash: the owner where all weights are equal.
#[inline(always)]
fn highest(candidates: &Candidates, key: Words) -> usize {
    let mask = candidates.precision().mask;
    let hash = |x: &u32, y: &u32| hash(key, Words { x: *x, y: *y }, mask);
    let (x_blocks, x_rest) = candidates.x().as_chunks::<BLOCK>();
    let (y_blocks, y_rest) = candidates.y().as_chunks::<BLOCK>();

    let (mut best, mut block) = (0, 0);
    for (at, (x, y)) in x_blocks.iter().zip(y_blocks).enumerate() {
        let here = x.iter().zip(y).fold(0, |best: u32, (x, y)| best.max(hash(x, y)));
        if here > best {
            (best, block) = (here, at);
        }
    }
    let mut place = 0;
    if let (Some(x), Some(y)) = (x_blocks.get(block), y_blocks.get(block)) {
        let mut first = BLOCK as u32;
        for i in 0..BLOCK {
            first = first.min(if hash(&x[i], &y[i]) == best { i as u32 } else { BLOCK as u32 });
        }
        place = block * BLOCK + first as usize;
    }
    for (i, (x, y)) in x_rest.iter().zip(y_rest).enumerate() {
        let hash = hash(x, y);
        place = if hash > best { x_blocks.len() * BLOCK + i } else { place };
        best = best.max(hash);
    }
    place
}

/// The place of the first candidate of the earliest arrival: the owner at any weights.
///
/// A race on the arrivals' lower bounds, with the runner-up kept. Bounds are not negative, so
/// they compare as their bits, and the minimum of integers is one that compilers vectorise.
#[inline(always)]
fn earliest(candidates: &Candidates, key: Words) -> usize {
    let precision = candidates.precision();
    let bound = |x: &u32, y: &u32, mean: &f32| {
        precision.bound(hash(key, Words { x: *x, y: *y }, precision.mask), *mean).to_bits()
    };
    let (x_blocks, x_rest) = candidates.x().as_chunks::<BLOCK>();
    let (y_blocks, y_rest) = candidates.y().as_chunks::<BLOCK>();
    let (mean_blocks, mean_rest) = candidates.scaled_means().as_chunks::<BLOCK>();

    let never = f32::INFINITY.to_bits();
    let (mut first, mut second, mut block) = (never, never, 0);
    for (at, ((x, y), mean)) in x_blocks.iter().zip(y_blocks).zip(mean_blocks).enumerate() {
        let mut here = never;
        for i in 0..BLOCK {
            here = here.min(bound(&x[i], &y[i], &mean[i]));
        }
        second = second.min(here.max(first));
        if here < first {
            (first, block) = (here, at);
        }
    }
    let mut place = 0;
    if let (Some(x), Some(y), Some(mean)) = (x_blocks.get(block), y_blocks.get(block), mean_blocks.get(block))
    {
        let mut winner = BLOCK as u32;
        for i in 0..BLOCK {
            winner = winner.min(if bound(&x[i], &y[i], &mean[i]) == first { i as u32 } else { BLOCK as u32 });
        }
        for i in 0..BLOCK {
            second = second.min(if i as u32 == winner { never } else { bound(&x[i], &y[i], &mean[i]) });
        }
        place = block * BLOCK + winner as usize;
    }
    for (i, ((x, y), mean)) in x_rest.iter().zip(y_rest).zip(mean_rest).enumerate() {
        let here = bound(x, y, mean);
        second = second.min(here.max(first));
        place = if here < first { x_blocks.len() * BLOCK + i } else { place };
        first = first.min(here);
    }
    decide(candidates, key, place, f32::from_bits(second))
}

/// The place of the key's owner, from the winner of the race on bounds and the bound of everyone else:
/// the winner if its true arrival is before that, which it nearly always is.
#[inline]
pub(super) fn decide(candidates: &Candidates, key: Words, place: usize, others: f32) -> usize {
    if surely_before(candidates.arrival(key, place), others) { place } else { candidates.earliest(key) }
}
