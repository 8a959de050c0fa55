//! What a law is, what it is asked of, and what it answers.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use chash_core::{BuildError, Capabilities, Distributor, Node};

/// What builds a placement from a seed and nodes.
pub type Builder<'a> = dyn Fn(u64, &[Node]) -> Result<Box<dyn Distributor>, BuildError> + Sync + 'a;

/// A placement under test: how it is built, and the two facts that its capabilities cannot tell.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// How reports call it.
    pub name: &'a str,
    /// Builds it with this seed and these nodes.
    pub build: &'a Builder<'a>,
    /// Whether the seed chooses the table. False for deployed systems, which have none.
    pub seeded: bool,
    /// Whether a node's share, averaged over placements, is its fraction of the total weight. False
    /// where points or counts are rounded by design, as in deployed systems or under a cut point hash.
    pub shares_follow_weights: bool,
}

impl fmt::Debug for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<'a> Subject<'a> {
    /// A subject with a seed, and with shares that follow the weights.
    #[must_use]
    pub fn new(name: &'a str, build: &'a Builder<'a>) -> Self {
        Self { name, build, seeded: true, shares_follow_weights: true }
    }

    /// Builds a placement that the law has a right to.
    pub(crate) fn build(&self, seed: u64, nodes: &[Node]) -> Result<Box<dyn Distributor>, Violation> {
        (self.build)(seed, nodes).map_err(|error| {
            Violation::new(format!("building with seed {seed} and {} nodes is refused: {error}", nodes.len()))
        })
    }

    /// What a placement of one node declares.
    pub(crate) fn capabilities(&self) -> Result<Capabilities, Violation> {
        Ok(self.build(0, &Node::numbered(1))?.capabilities())
    }
}

/// What a law found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every case held.
    Passed,
    /// The law does not speak of such placements, by what they declare: why.
    NotApplicable(String),
    /// The cases that did not hold, smallest first.
    Failed(Vec<Violation>),
}

/// One case in which a law did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What happened, with the example that shows it.
    pub what: String,
}

impl Violation {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// Something that holds for every placement that declares what it needs.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// The name, as a test is named.
    pub name: &'static str,
    /// The law in one sentence.
    pub summary: &'static str,
    /// Tries it on many cases with fixed seeds; a panic of the placement passes through.
    pub check: fn(&Subject<'_>) -> Verdict,
}

impl Law {
    /// [`check`](Self::check), where a panic of the placement is a violation.
    #[must_use]
    pub fn run(&self, subject: &Subject<'_>) -> Verdict {
        quietly(|| (self.check)(subject)).unwrap_or_else(|payload| {
            let message = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| payload.downcast_ref::<&str>().copied())
                .unwrap_or("without a message");
            Verdict::Failed(vec![Violation::new(format!("panicked: {message}"))])
        })
    }
}

/// Why a law stops before its end.
pub(crate) enum Exit {
    NotApplicable(String),
    Failed(Vec<Violation>),
}

impl From<Violation> for Exit {
    fn from(violation: Violation) -> Self {
        Self::Failed(vec![violation])
    }
}

pub(crate) type Outcome = Result<(), Exit>;

pub(crate) fn verdict(outcome: Outcome) -> Verdict {
    match outcome {
        Ok(()) => Verdict::Passed,
        Err(Exit::NotApplicable(why)) => Verdict::NotApplicable(why),
        Err(Exit::Failed(violations)) => Verdict::Failed(violations),
    }
}

/// Goes on only where the placement declares what the law is about.
pub(crate) fn applies_if(declared: bool, otherwise: &str) -> Outcome {
    if declared { Ok(()) } else { Err(Exit::NotApplicable(otherwise.to_string())) }
}

/// Tries every case and gathers what did not hold.
pub(crate) fn each<C>(
    cases: impl IntoIterator<Item = C>,
    mut check: impl FnMut(C) -> Result<(), Violation>,
) -> Outcome {
    let violations: Vec<Violation> = cases.into_iter().filter_map(|case| check(case).err()).collect();
    if violations.is_empty() { Ok(()) } else { Err(Exit::Failed(violations)) }
}

thread_local! {
    /// Whether the panics of this thread are caught by [`quietly`].
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Catches a panic, without its message on standard error.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> std::thread::Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
    let outer = QUIET.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(outer);
    outcome
}

/// Returns a violation with this message from the enclosing function unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        // A comparison with NaN is false, and so a violation.
        let holds: bool = $condition;
        if !holds {
            return Err($crate::law::Violation::new(format!($($message)+)).into());
        }
    };
}
pub(crate) use ensure;

#[cfg(test)]
mod tests {
    use super::*;

    fn unbuildable(_seed: u64, _nodes: &[Node]) -> Result<Box<dyn Distributor>, BuildError> {
        Err(BuildError::NoNodes)
    }

    #[test]
    fn a_panic_is_a_violation() {
        let law = Law { name: "panics", summary: "", check: |subject| panic!("on {}", subject.name) };
        let verdict = law.run(&Subject::new("purpose", &unbuildable));
        assert_eq!(verdict, Verdict::Failed(vec![Violation::new("panicked: on purpose")]));
    }

    /// A refusal is never taken for a law that does not apply.
    #[test]
    fn what_cannot_be_built_breaks_every_law() {
        for law in crate::LAWS {
            let verdict = law.run(&Subject::new("unbuildable", &unbuildable));
            assert!(matches!(verdict, Verdict::Failed(_)), "{}: {verdict:?}", law.name);
        }
    }
}
