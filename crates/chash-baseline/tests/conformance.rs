//! The laws, on the three baselines.

use chash_baseline::{Modulo, ModuloParams, Null, Random, RandomParams};
use chash_core::{Build, BuildError, Distributor, Node};
use chash_metrics::alloc::CountingAllocator;
use chash_testkit::{LAWS, Subject, Verdict, enforce};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

chash_testkit::conformance!(modulo, |seed, nodes| Modulo::build(&ModuloParams { seed }, nodes));
chash_testkit::conformance!(random, |seed, nodes| Random::build(&RandomParams { seed }, nodes));

/// Null chooses one node only, and with that breaks the law that each is chosen; it keeps all others.
#[test]
fn null_breaks_one_law_on_purpose() {
    let build = |_seed: u64, nodes: &[Node]| -> Result<Box<dyn Distributor>, BuildError> {
        Ok(Box::new(Null::build(&(), nodes)?))
    };
    let subject = Subject { seeded: false, shares_follow_weights: false, ..Subject::new("null", &build) };
    for law in LAWS {
        if law.name == "every_name_is_a_node" {
            assert!(matches!((law.check)(&subject), Verdict::Failed(_)), "the exception is no longer one");
        } else {
            enforce(law.name, &subject);
        }
    }
}
