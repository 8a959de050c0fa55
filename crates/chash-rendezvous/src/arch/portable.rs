//! The kernels. Places count the candidates in the order of their names, so "the first of the best"
//! is the tie rule everywhere.

use crate::candidates::Candidates;
use crate::score::{Words, hash, may_arrive_before};

/// Keys that [`owners`] looks up together.
pub(crate) const KEYS: usize = 16;

/// Nodes whose highest hash is taken together before it is compared with that of the nodes before.
const BLOCK: usize = 32;

/// Nodes whose bounds are tested together before any of them gets a logarithm.
const LANES: usize = 16;

/// The place of the key's owner.
#[inline(always)]
pub(crate) fn owner(candidates: &Candidates, key: u64) -> usize {
    if candidates.equal_weights() { highest(candidates, key) } else { earliest(candidates, key) }
}

/// The places of the owners of several keys.
#[inline(always)]
pub(crate) fn owners(candidates: &Candidates, keys: &[u64; KEYS]) -> [u32; KEYS] {
    if candidates.equal_weights() { highest_each(candidates, keys) } else { earliest_each(candidates, keys) }
}

/// The first candidate of the highest hash: the owner where all weights are equal.
///
/// Blocks are only asked for their highest hash, which is one operation a node; which node has it is
/// looked up in the winning block alone.
#[inline(always)]
fn highest(candidates: &Candidates, key: u64) -> usize {
    let key = Words::of_key(key);
    let mask = candidates.precision().mask;
    let (x_blocks, x_rest) = candidates.x().as_chunks::<BLOCK>();
    let (y_blocks, y_rest) = candidates.y().as_chunks::<BLOCK>();
    let hashes = |x: &[u32; BLOCK], y: &[u32; BLOCK]| -> [u32; BLOCK] {
        core::array::from_fn(|i| hash(key, Words { x: x[i], y: y[i] }, mask))
    };

    let (mut best, mut block) = (0, 0);
    for (at, (x, y)) in x_blocks.iter().zip(y_blocks).enumerate() {
        let block_best = hashes(x, y).into_iter().fold(0, u32::max);
        if block_best > best {
            (best, block) = (block_best, at);
        }
    }
    let mut place = 0;
    if let (Some(x), Some(y)) = (x_blocks.get(block), y_blocks.get(block)) {
        let hashes = hashes(x, y);
        let mut first = BLOCK;
        for i in 0..BLOCK {
            first = first.min(if hashes[i] == best { i } else { BLOCK });
        }
        place = block * BLOCK + first;
    }
    for (i, (x, y)) in x_rest.iter().zip(y_rest).enumerate() {
        let hash = hash(key, Words { x: *x, y: *y }, mask);
        if hash > best {
            (best, place) = (hash, x_blocks.len() * BLOCK + i);
        }
    }
    place
}

/// [`highest`] for several keys, a key to a lane: no search inside a vector at the end, whatever
/// the number of nodes.
#[inline(always)]
fn highest_each(candidates: &Candidates, keys: &[u64; KEYS]) -> [u32; KEYS] {
    let words = keys.map(Words::of_key);
    let mask = candidates.precision().mask;
    let mut best = [0; KEYS];
    let mut place = [0; KEYS];
    for (at, (x, y)) in candidates.x().iter().zip(candidates.y()).enumerate() {
        for lane in 0..KEYS {
            let hash = hash(words[lane], Words { x: *x, y: *y }, mask);
            let better = hash > best[lane];
            place[lane] = if better { at as u32 } else { place[lane] };
            best[lane] = if better { hash } else { best[lane] };
        }
    }
    place
}

/// The first candidate of the earliest arrival: the owner at any weights.
///
/// A logarithm is taken only where the bound cannot tell, which is for about ln N nodes.
#[inline(always)]
fn earliest(candidates: &Candidates, key: u64) -> usize {
    let key = Words::of_key(key);
    let precision = candidates.precision();
    let (mut best, mut place) = (f64::INFINITY, 0);
    let mut bound = f32::INFINITY;
    let mut visit = |at: usize, hash: u32, weight: f32| {
        if may_arrive_before(hash, weight, bound) {
            let arrival = precision.arrival(hash, candidates.weights()[at]);
            if arrival < best {
                (best, place) = (arrival, at);
                bound = precision.bound(best);
            }
        }
        bound
    };
    let mut limit = f32::INFINITY;
    let (x_blocks, x_rest) = candidates.x().as_chunks::<LANES>();
    let (y_blocks, y_rest) = candidates.y().as_chunks::<LANES>();
    let (weight_blocks, weight_rest) = candidates.rounded_weights().as_chunks::<LANES>();
    for (block, ((x, y), weight)) in x_blocks.iter().zip(y_blocks).zip(weight_blocks).enumerate() {
        let hashes: [u32; LANES] =
            core::array::from_fn(|i| hash(key, Words { x: x[i], y: y[i] }, precision.mask));
        let mut any = false;
        for i in 0..LANES {
            any |= may_arrive_before(hashes[i], weight[i], limit);
        }
        if any {
            for i in 0..LANES {
                limit = visit(block * LANES + i, hashes[i], weight[i]);
            }
        }
    }
    let done = x_blocks.len() * LANES;
    for (i, ((x, y), weight)) in x_rest.iter().zip(y_rest).zip(weight_rest).enumerate() {
        visit(done + i, hash(key, Words { x: *x, y: *y }, precision.mask), *weight);
    }
    place
}

/// [`earliest`] for several keys, a key to a lane.
#[inline(always)]
fn earliest_each(candidates: &Candidates, keys: &[u64; KEYS]) -> [u32; KEYS] {
    let words = keys.map(Words::of_key);
    let precision = candidates.precision();
    let mut best = [f64::INFINITY; KEYS];
    let mut bound = [f32::INFINITY; KEYS];
    let mut place = [0; KEYS];
    let nodes = candidates.x().iter().zip(candidates.y()).zip(candidates.rounded_weights());
    for (at, ((x, y), weight)) in nodes.enumerate() {
        let hashes: [u32; KEYS] =
            core::array::from_fn(|lane| hash(words[lane], Words { x: *x, y: *y }, precision.mask));
        let mut any = false;
        for lane in 0..KEYS {
            any |= may_arrive_before(hashes[lane], *weight, bound[lane]);
        }
        if !any {
            continue;
        }
        for lane in 0..KEYS {
            if may_arrive_before(hashes[lane], *weight, bound[lane]) {
                let arrival = precision.arrival(hashes[lane], candidates.weights()[at]);
                if arrival < best[lane] {
                    (best[lane], place[lane]) = (arrival, at as u32);
                    bound[lane] = precision.bound(arrival);
                }
            }
        }
    }
    place
}
