//! Jump consistent hash: the bucket is computed and nothing is stored.

use chash_jump::{Jump, Params};

use super::Family;
use crate::contender::{Contender, Entry};
use crate::hashers::WordHasher;
use crate::ours::{Ours, Setup};

/// Of a product and a quotient the paper rounds the quotient first; these two round once.
const ROUNDS_ONCE: &str = "not the published function: one rounding where the paper has two, so that key \
                           10854522570966120577 among 524288 is in 48 and not in 524287";

pub static FAMILY: Family = Family {
    name: "jump",
    what: "the published function; add and remove of the peers count the buckets, ours keep names too",
    weighted: false,
    entries: &[
        Entry::ours::<Ours<OurJump>>("chash-jump", ""),
        Entry::peer::<Jch>("jch", "prehashed*").answers_as_ours(),
        Entry::peer::<Jumpch>("jumpch", "prehashed*").answers_as_ours(),
        Entry::peer::<JumpConsistentHash>("jump-consistent-hash", "prehashed*").answers_as_ours(),
        Entry::peer::<JumphashPrehashed>("jumphash", "prehashed").answers_as_ours(),
        Entry::peer::<JumphashSip>("jumphash", "sip13")
            .note("its own default has random keys: other buckets in every process"),
        Entry::peer::<Jumpconsistenthash>("jumpconsistenthash", "prehashed*").wrong(ROUNDS_ONCE),
        Entry::peer::<HashRings>("hash-rings", "jump prehashed").wrong(ROUNDS_ONCE),
    ],
};

struct OurJump;

impl Setup for OurJump {
    type Placement = Jump;

    fn params() -> Params {
        Params::default()
    }
}

/// A contender that is a function of the key and the number of buckets.
macro_rules! function {
    ($name:ident, |$key:ident, $buckets:ident| $bucket:expr) => {
        struct $name(u32);

        impl Contender for $name {
            fn build(nodes: u32) -> Self {
                Self(nodes)
            }

            #[inline]
            fn lookup(&self, $key: u64) -> u32 {
                let $buckets = self.0;
                $bucket
            }

            fn add(&mut self, node: u32) {
                self.0 = node + 1;
            }

            fn remove(&mut self, node: u32) {
                self.0 = node;
            }
        }
    };
}

function!(Jch, |key, buckets| jch::hash(key, buckets as i32) as u32);
function!(Jumpch, |key, buckets| jumpch::hash(key, buckets));
function!(JumpConsistentHash, |key, buckets| jump_consistent_hash::hash(key, buckets as usize));
function!(Jumpconsistenthash, |key, buckets| jumpconsistenthash::jump_hash_from_u64(key, buckets));
function!(JumphashPrehashed, |key, buckets| jumphash::CustomJumpHasher::new(WordHasher::<true>::default())
    .slot(&key, buckets));
function!(JumphashSip, |key, buckets| jumphash::JumpHasher::new_with_keys(0, 0).slot(&key, buckets));

struct HashRings(hash_rings::jump::Ring<crate::hashers::Prehashed>);

impl Contender for HashRings {
    const REBUILDS: bool = true;

    fn build(nodes: u32) -> Self {
        Self(hash_rings::jump::Ring::with_hasher(crate::hashers::Prehashed::default(), nodes))
    }

    #[inline]
    fn lookup(&self, key: u64) -> u32 {
        self.0.get_node(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the marks say, so that a mark does not outlive its fault.
    #[test]
    fn who_is_the_published_function() {
        // (key, buckets, the published answer, the answer of one rounding)
        let vectors = [
            (10_854_522_570_966_120_577, 524_288, 524_287, 48),
            (2_733_230_199_197_618_839, 262_144, 262_143, 48),
            (7_442_869_481_428_636_563, 131_072, 131_071, 48),
        ];
        for (key, buckets, published, rounded_once) in vectors {
            assert_eq!(chash_jump::bucket(key, buckets), published);
            assert_eq!(Jch::build(buckets).lookup(key), published);
            assert_eq!(Jumpch::build(buckets).lookup(key), published);
            assert_eq!(JumpConsistentHash::build(buckets).lookup(key), published);
            assert_eq!(JumphashPrehashed::build(buckets).lookup(key), published);
            assert_eq!(Jumpconsistenthash::build(buckets).lookup(key), rounded_once);
            assert_eq!(HashRings::build(buckets).lookup(key), rounded_once);
        }
    }
}
