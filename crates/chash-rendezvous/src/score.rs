//! The rule: what a node's hash for a key is, and what it costs the node at its weight.

use crate::neg_ln::neg_ln;

/// Bits of a node's hash for a key.
pub(crate) const HASH_BITS: u32 = 32;

/// One half of a pair to be hashed: a key or a node, as two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    /// XORed into the multiplicand.
    pub(crate) x: u32,
    /// XORed into the multiplier: odd for a key and even for a node, so that the multiplier is odd.
    pub(crate) y: u32,
}

impl Words {
    /// The words of a key. The bit that the odd multiplier has no room for goes into the multiplicand.
    #[inline(always)]
    pub(crate) const fn of_key(key: u64) -> Self {
        let (low, high) = (key as u32, (key >> 32) as u32);
        Self { x: low ^ high.rotate_left(16), y: high | 1 }
    }

    /// The words of a node whose name hashes to `seed`.
    pub(crate) const fn of_node(seed: u64) -> Self {
        Self { x: seed as u32, y: (seed >> 32) as u32 & !1 }
    }
}

/// The hash of a pair: the low half of the product of the two XORs, and of that the bits in `mask`.
///
/// The multiplier is odd, so for any node and any upper half of the key the lower half is mapped one
/// to one: a uniform key gives each node an exactly uniform hash. Both factors depend on both
/// sides, which is what makes the hashes of different nodes independent.
#[inline(always)]
pub(crate) const fn hash(key: Words, node: Words, mask: u32) -> u32 {
    (key.x ^ node.x).wrapping_mul(key.y ^ node.y) & mask
}

/// How many bits of the hash count, and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Precision {
    /// The bits that count: the topmost of the hash.
    pub(crate) mask: u32,
    /// Half of what the lowest counted bit is worth, in units of 2^-33.
    half_step: u64,
    /// Half of what half of the hash's complement is multiplied with for a lower bound of 1 - u.
    pub(crate) half_unit: f32,
}

impl Precision {
    /// The topmost `bits` of the hash, 1 to 32.
    pub(crate) const fn new(bits: u32) -> Self {
        let cut = HASH_BITS - bits;
        // 1 - u is the complement plus 1 minus half a step. With all bits counted that is at least the
        // complement, otherwise at least half of it.
        let half_unit = 1.0 / (1u64 << if cut == 0 { 32 } else { 33 }) as f32;
        Self { mask: u32::MAX << cut, half_step: 1 << cut, half_unit }
    }

    /// Whether all bits count.
    pub(crate) const fn is_full(self) -> bool {
        self.mask == u32::MAX
    }

    /// The node's arrival in the race of exponential clocks: -ln(u) / weight, where u is the middle
    /// of the interval of [0, 1] that the hash stands for. The smallest wins.
    ///
    /// At equal weights it is strictly decreasing in the hash: neighbouring hashes differ by more
    /// than 2^-31 of the value, and the arithmetic errs by less than 2^-50.
    pub(crate) fn arrival(self, hash: u32, weight: u32) -> f64 {
        neg_ln(2 * u64::from(hash) + self.half_step) / f64::from(weight)
    }

    /// The mean of the clock of a node of this weight, 1 / weight, in the units of [`Self::bound`].
    pub(crate) fn scaled_mean(self, weight: u32) -> f32 {
        (2.0 * f64::from(self.half_unit) / f64::from(weight)) as f32
    }

    /// Not more than the arrival of a node with this hash and mean, but for rounding (see
    /// [`surely_before`]), and close to it where it is early: -ln(u) >= p + p^2 / 2 with p <= 1 - u.
    ///
    /// Half of the complement fits a signed integer, which is what vector units convert.
    #[inline(always)]
    pub(crate) fn bound(self, hash: u32, scaled_mean: f32) -> f32 {
        let half = (!hash >> 1).cast_signed() as f32;
        half * (1.0 + half * self.half_unit) * scaled_mean
    }
}

/// Whether this arrival is before every arrival of which [`Precision::bound`] is at least `bound`.
///
/// A bound is the result of at most five roundings to 24 bits: a margin of 2^-20 covers them.
#[inline(always)]
pub(crate) fn surely_before(arrival: f64, bound: f32) -> bool {
    arrival < f64::from(bound) * (1.0 - 1.0 / (1u64 << 20) as f64)
}
