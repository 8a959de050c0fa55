//! Plain Rust, the oracle of the other: compilers turn the sum into vector code where there is any.

use super::Heads;

#[inline(always)]
pub(super) fn below(heads: &Heads, head: i16) -> usize {
    let count: u16 = heads.0.iter().map(|other| u16::from(*other < head)).sum();
    usize::from(count)
}
