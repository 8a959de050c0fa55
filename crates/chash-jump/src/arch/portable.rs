//! Eight keys in lockstep, in plain Rust that the compiler turns into whatever vectors there are.

use crate::{MULTIPLIER, TWO_TO_31, bucket};

/// Keys in flight.
const LANES: usize = 8;

/// Doubles from here to 2^53 are whole numbers, their low bits the low bits of the number: adding it
/// rounds, and its bits turn an integer into a double and back, all without a conversion instruction.
const TWO_TO_52: f64 = (1u64 << 52) as f64;

/// [`super::buckets_into`] without the checks.
pub(super) fn buckets_into(keys: &[u64], buckets: u32, out: &mut [u32]) {
    let (blocks, rest) = keys.as_chunks::<LANES>();
    let (out_blocks, out_rest) = out.as_chunks_mut::<LANES>();
    for (keys, out) in blocks.iter().zip(out_blocks) {
        let mut lanes = Lanes::new(keys, buckets);
        while lanes.step() {}
        *out = lanes.after.map(|after| (after + TWO_TO_52).to_bits() as u32 - 1);
    }
    for (key, out) in rest.iter().zip(out_rest) {
        *out = bucket(*key, buckets);
    }
}

/// The state of the published loop, once for each lane.
struct Lanes {
    keys: [u64; LANES],
    /// The bucket reached, plus 1. Up to 2^31, and so exact in a double.
    after: [f64; LANES],
    /// The number of buckets while the lane runs, and 0 once a jump went past it: no jump is below 0, so a
    /// lane that has ended stays where it is.
    limit: [f64; LANES],
}

impl Lanes {
    fn new(keys: &[u64; LANES], buckets: u32) -> Self {
        Self { keys: *keys, after: [1.0; LANES], limit: [f64::from(buckets); LANES] }
    }

    /// One jump on every lane; whether any lane goes on.
    ///
    /// Not inlined: the stores to the state at its end are what the compiler builds vectors from.
    #[inline(never)]
    fn step(&mut self) -> bool {
        let mut running = 0;
        for lane in 0..LANES {
            let key = self.keys[lane].wrapping_mul(MULTIPLIER).wrapping_add(1);
            let draw = f64::from_bits(TWO_TO_52.to_bits() | (key >> 33)) - (TWO_TO_52 - 1.0);
            let next = self.after[lane] * (TWO_TO_31 / draw);
            let rounded = (next + TWO_TO_52) - TWO_TO_52;
            let after = rounded + f64::from_bits(1.0f64.to_bits() & ones_if(rounded <= next));
            let goes_on = ones_if(next < self.limit[lane]);
            self.keys[lane] = key;
            self.after[lane] = f64::from_bits(choose(goes_on, after.to_bits(), self.after[lane].to_bits()));
            self.limit[lane] = f64::from_bits(self.limit[lane].to_bits() & goes_on);
            running |= self.limit[lane].to_bits();
        }
        running != 0
    }
}

/// All ones where the condition holds, else 0: an `if` would become a branch for each lane, which is what
/// the lockstep is there to avoid.
#[inline]
fn ones_if(condition: bool) -> u64 {
    u64::from(condition).wrapping_neg()
}

/// The bits of `a` where `mask` has ones, and those of `b` elsewhere.
#[inline]
fn choose(mask: u64, a: u64, b: u64) -> u64 {
    (a & mask) | (b & !mask)
}
