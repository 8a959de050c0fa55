//! One family at one number of nodes: build everyone, check everyone, and time them in turn.
//!
//! All contenders are alive in one process, and every round gives each of them each loop once, so that what
//! disturbs the machine disturbs them alike; a ratio is formed within a round, and the median of the rounds
//! is the result. Time bounds every part: the slow look up fewer keys a round, and build fewer times.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use chash_core::mix::{GOLDEN, mix64};
use chash_metrics::stats::median;

use crate::contender::{Entry, Side, Timed};
use crate::family::Family;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Lookups one at a time, independent of each other.
    Single,
    /// Lookups in blocks.
    Batch,
    /// Lookups of which each waits for the one before.
    Dependent,
    Build,
    /// One node comes.
    Add,
    /// The last node goes.
    Remove,
    /// Heap bytes held by what was built.
    MemoryLive,
    /// The most heap bytes held at any moment of the build.
    MemoryPeak,
    /// Keys of the fullest node, over its fair share.
    Balance,
    /// Keys that move when a node comes, over the new node's fair share.
    Movement,
}

impl Mode {
    pub const ALL: [Self; 10] = [
        Self::Single,
        Self::Batch,
        Self::Dependent,
        Self::Build,
        Self::Add,
        Self::Remove,
        Self::MemoryLive,
        Self::MemoryPeak,
        Self::Balance,
        Self::Movement,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Batch => "batch",
            Self::Dependent => "dependent",
            Self::Build => "build",
            Self::Add => "add",
            Self::Remove => "remove",
            Self::MemoryLive => "memory_live",
            Self::MemoryPeak => "memory_peak",
            Self::Balance => "balance",
            Self::Movement => "movement",
        }
    }

    pub const fn unit(self) -> &'static str {
        match self {
            Self::Single | Self::Batch | Self::Dependent | Self::Build | Self::Add | Self::Remove => "ns",
            Self::MemoryLive | Self::MemoryPeak => "bytes",
            Self::Balance | Self::Movement => "ratio",
        }
    }

    /// Whether less is better and a ratio to a peer says something.
    pub const fn is_cost(self) -> bool {
        !matches!(self, Self::Balance | Self::Movement)
    }

    /// What a peer without a batch of its own is measured by.
    pub const fn of_peers(self) -> Self {
        if matches!(self, Self::Batch) { Self::Single } else { self }
    }
}

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub rounds: usize,
    /// Different keys.
    pub keys: usize,
    /// The time of one loop: a contender that is slower looks up fewer keys.
    pub loop_ns: u64,
    /// The time of all builds of a contender, and of all its changes of membership; one is always made.
    pub update_ns: u64,
    /// The time for finding the owners of keys, for balance and for movement.
    pub owners_ns: u64,
}

impl Effort {
    pub const FULL: Self = Self {
        rounds: 9,
        keys: 1 << 20,
        loop_ns: 20_000_000,
        update_ns: 1_000_000_000,
        owners_ns: 1_000_000_000,
    };

    pub const QUICK: Self =
        Self { rounds: 3, keys: 1 << 16, loop_ns: 2_000_000, update_ns: 50_000_000, owners_ns: 50_000_000 };

    /// Uniform 64-bit keys, the same in every run.
    pub fn make_keys(&self) -> Vec<u64> {
        (1..=self.keys as u64).map(|i| mix64(i.wrapping_mul(GOLDEN))).collect()
    }
}

/// One value for each round, or a single one for what does not vary.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    pub values: Vec<f64>,
    /// Lookups behind each value; 0 where there are none.
    pub lookups: usize,
}

impl Rounds {
    fn once(value: f64, lookups: usize) -> Self {
        Self { values: vec![value], lookups }
    }

    pub fn median(&self) -> f64 {
        median(self.values.clone()).unwrap_or(f64::NAN)
    }

    /// How many times as good this is as `other`, where less is better: round by round.
    pub fn ratio_to(&self, other: &Self) -> Option<Ratio> {
        let ratios: Vec<f64> =
            self.values.iter().zip(&other.values).map(|(this, other)| other / this).collect();
        let (min, max) = (ratios.iter().copied().reduce(f64::min)?, ratios.iter().copied().reduce(f64::max)?);
        let median = median(ratios)?;
        median.is_finite().then_some(Ratio { median, min, max })
    }
}

/// A ratio over the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

/// What one contender reached at one number of nodes.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub entry: &'static Entry,
    pub nodes: u32,
    pub rounds: BTreeMap<Mode, Rounds>,
}

impl Outcome {
    /// The rounds of a mode, or of the mode that stands in for it.
    pub fn of(&self, mode: Mode) -> Option<&Rounds> {
        let stands_in = self.entry.side != Side::Ours;
        self.rounds.get(&if stands_in { mode.of_peers() } else { mode })
    }
}

/// The peer without a fault that is best at `mode`.
pub fn best_peer(outcomes: &[Outcome], mode: Mode) -> Option<&Outcome> {
    let peers = outcomes.iter().filter(|outcome| outcome.entry.side == Side::Peer && mode.is_cost());
    let measured = peers.filter_map(|outcome| Some((outcome, outcome.of(mode)?.median())));
    measured.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(outcome, _)| outcome)
}

/// A contender at work.
struct Subject {
    outcome: Outcome,
    contender: Box<dyn Timed>,
    /// Lookups of one loop.
    lookups: usize,
}

impl Subject {
    fn new(entry: &'static Entry, nodes: u32) -> Self {
        let built = (entry.build)(nodes);
        let mut rounds = BTreeMap::new();
        rounds.insert(Mode::Build, Rounds::once(built.elapsed_ns as f64, 0));
        rounds.insert(Mode::MemoryLive, Rounds::once(built.usage.live_bytes as f64, 0));
        rounds.insert(Mode::MemoryPeak, Rounds::once(built.usage.peak_bytes as f64, 0));
        Self { outcome: Outcome { entry, nodes, rounds }, contender: built.contender, lookups: 0 }
    }

    fn push(&mut self, mode: Mode, value: f64, lookups: usize) {
        let rounds = self.outcome.rounds.entry(mode).or_default();
        rounds.values.push(value);
        rounds.lookups = lookups;
    }

    fn spent_ns(&self, mode: Mode) -> f64 {
        self.outcome.rounds.get(&mode).map_or(0.0, |rounds| rounds.values.iter().sum())
    }

    /// Looks up more and more keys until it is clear how many take `loop_ns`.
    fn calibrate(&mut self, keys: &[u64], loop_ns: u64) {
        let mut lookups = 16.min(keys.len());
        loop {
            let elapsed_ns = self.contender.single(&keys[..lookups]).max(1);
            if elapsed_ns >= loop_ns / 8 || lookups == keys.len() {
                let fitting = lookups as u128 * u128::from(loop_ns) / u128::from(elapsed_ns);
                self.lookups = usize::try_from(fitting).unwrap_or(usize::MAX).clamp(1, keys.len());
                return;
            }
            lookups = (2 * lookups).min(keys.len());
        }
    }

    fn time_lookups(&mut self, keys: &[u64]) {
        let keys = &keys[..self.lookups];
        let per_key = |elapsed_ns: u64| elapsed_ns as f64 / keys.len() as f64;
        self.push(Mode::Single, per_key(self.contender.single(keys)), keys.len());
        if let Some(elapsed_ns) = self.contender.batch(keys) {
            self.push(Mode::Batch, per_key(elapsed_ns), keys.len());
        }
        self.push(Mode::Dependent, per_key(self.contender.dependent(keys)), keys.len());
    }

    fn time_build(&mut self) {
        let built = (self.outcome.entry.build)(self.outcome.nodes);
        self.push(Mode::Build, built.elapsed_ns as f64, 0);
    }

    fn time_membership(&mut self) {
        let nodes = self.outcome.nodes;
        let elapsed_ns = self.contender.add(nodes);
        self.push(Mode::Add, elapsed_ns as f64, 0);
        let elapsed_ns = self.contender.remove(nodes);
        self.push(Mode::Remove, elapsed_ns as f64, 0);
    }

    /// Keys enough for every node to be seen, or none.
    fn owners_of<'a>(&self, keys: &'a [u64], owners_ns: u64) -> Option<&'a [u64]> {
        /// Below so many keys a node there is more chance than placement in the number.
        const KEYS_A_NODE: usize = 20;
        let fitting = (owners_ns as f64 / self.outcome.rounds[&Mode::Single].median()) as usize;
        let keys = &keys[..fitting.min(keys.len())];
        (keys.len() >= KEYS_A_NODE * (self.outcome.nodes as usize + 1)).then_some(keys)
    }

    /// Balance and movement. Leaves the contender with one node more.
    fn count_owners(&mut self, family: &Family, keys: &[u64]) {
        let nodes = self.outcome.nodes;
        let before = self.contender.owners(keys);
        let mut owned = vec![0u32; nodes as usize];
        before.iter().for_each(|owner| owned[*owner as usize] += 1);
        let total = keys.len() as f64;
        let fullness =
            (0..).zip(owned).map(|(node, keys)| f64::from(keys) / (total * family.fair_share(node, nodes)));
        let fullest = fullness.fold(0.0, f64::max);
        self.contender.add(nodes);
        let after = self.contender.owners(keys);
        let moved = before.iter().zip(after).filter(|(before, after)| *before != after).count();
        let ideal = total * family.fair_share(nodes, nodes + 1);
        self.push(Mode::Balance, fullest, keys.len());
        self.push(Mode::Movement, moved as f64 / ideal, keys.len());
    }
}

/// Everyone's answers, before anyone is timed.
fn check(subjects: &[Subject], keys: &[u64]) -> Result<()> {
    let ours = subjects.iter().find(|subject| subject.outcome.entry.side == Side::Ours);
    for subject in subjects {
        let (entry, nodes) = (subject.outcome.entry, subject.outcome.nodes);
        let keys = &keys[..subject.lookups];
        let owners = subject.contender.owners(keys);
        let outside = owners.iter().find(|owner| **owner >= nodes);
        ensure!(outside.is_none(), "{entry:?} answers {outside:?} at {nodes} nodes");
        ensure!(
            subject.contender.batch_owners(keys) == owners,
            "{entry:?} gives other answers in a batch at {nodes} nodes"
        );
        if entry.answers_as_ours {
            let ours = ours.context("nothing of ours to agree with")?;
            ensure!(ours.contender.owners(keys) == owners, "{entry:?} and ours differ at {nodes} nodes");
        }
    }
    Ok(())
}

/// Measures the members of a family that take so many nodes.
///
/// # Errors
///
/// If a contender gives an answer that cannot be.
pub fn measure(family: &Family, nodes: u32, effort: &Effort, keys: &[u64]) -> Result<Vec<Outcome>> {
    let entries = family.entries().filter(|entry| nodes <= entry.max_nodes);
    let mut subjects: Vec<Subject> = entries.map(|entry| Subject::new(entry, nodes)).collect();
    for subject in &mut subjects {
        subject.calibrate(keys, effort.loop_ns);
    }
    check(&subjects, keys)?;
    for _ in 0..effort.rounds {
        for subject in &mut subjects {
            subject.time_lookups(keys);
        }
    }
    // The build that made the contender was the first round.
    for _ in 1..effort.rounds {
        for subject in &mut subjects {
            if subject.spent_ns(Mode::Build) < effort.update_ns as f64 {
                subject.time_build();
            }
        }
    }
    for round in 0..effort.rounds {
        for subject in &mut subjects {
            if subject.outcome.entry.rebuilds {
                // A change is a build, and was timed as one.
                let build = subject.outcome.rounds[&Mode::Build].clone();
                subject.outcome.rounds.insert(Mode::Add, build.clone());
                subject.outcome.rounds.insert(Mode::Remove, build);
            } else if round == 0 || subject.spent_ns(Mode::Add) < effort.update_ns as f64 {
                subject.time_membership();
            }
        }
    }
    for subject in &mut subjects {
        if let Some(keys) = subject.owners_of(keys, effort.owners_ns) {
            subject.count_owners(family, keys);
        }
    }
    Ok(subjects.into_iter().map(|subject| subject.outcome).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::FAMILIES;

    /// One round of everything: nobody panics, nobody answers outside the nodes, and the jumps agree.
    #[test]
    fn every_family_runs() {
        let effort =
            Effort { rounds: 1, keys: 1 << 10, loop_ns: 10_000, update_ns: 0, owners_ns: 100_000_000 };
        let keys = effort.make_keys();
        for family in FAMILIES {
            for nodes in [1, 13] {
                let outcomes = measure(family, nodes, &effort, &keys).unwrap();
                assert_eq!(outcomes.len(), family.entries().count());
                for outcome in &outcomes {
                    let batches = outcome.rounds.contains_key(&Mode::Batch);
                    assert_eq!(batches, outcome.entry.side == Side::Ours, "{:?}", outcome.entry);
                }
            }
        }
    }

    /// What ours promise shows in the numbers: only a new node's keys move.
    #[test]
    fn movement_is_told_apart() {
        let effort = Effort { rounds: 1, keys: 1 << 16, loop_ns: 10_000, update_ns: 0, owners_ns: u64::MAX };
        let keys = effort.make_keys();
        let outcomes = measure(FAMILIES[1], 9, &effort, &keys).unwrap();
        let movement = |side| {
            let outcome = outcomes.iter().find(|outcome| outcome.entry.side == side).unwrap();
            outcome.rounds[&Mode::Movement].median()
        };
        // Ours move a binomial number of mean 6554 and deviation 77: five of them are a level of 1e-6.
        assert!((movement(Side::Ours) - 1.0).abs() < 5.0 * 77.0 / 6554.0);
        // Of a range cut into 9 and then 10 equal parts 1/10 + 2/10 + … + 9/10 of a part of 10 change hands.
        assert!(movement(Side::Floor) > 4.0);
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        let rounds = |values: &[f64]| Rounds { values: values.to_vec(), lookups: 0 };
        let ratio = rounds(&[1.0, 2.0, 4.0]).ratio_to(&rounds(&[3.0, 10.0, 8.0]));
        assert_eq!(ratio, Some(Ratio { median: 3.0, min: 2.0, max: 5.0 }));
        // As many rounds as both have; none is no ratio, and nothing is not a number of times less than nothing.
        assert_eq!(rounds(&[1.0]).ratio_to(&rounds(&[3.0, 9.0])).unwrap().max, 3.0);
        assert_eq!(rounds(&[]).ratio_to(&rounds(&[3.0])), None);
        assert_eq!(rounds(&[0.0]).ratio_to(&rounds(&[0.0])), None);
    }

    #[test]
    fn every_version_is_pinned() {
        for entry in FAMILIES.iter().flat_map(|family| family.entries()) {
            let without = ["std", "floor"].contains(&entry.package);
            assert_eq!(entry.version().is_empty(), without, "{entry:?}");
        }
    }

    #[test]
    fn names_are_unique_and_ours_come_first() {
        for family in FAMILIES {
            let mut names: Vec<String> = family.entries().map(Entry::name).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), family.entries().count());
            assert!(family.entries().skip(1).all(|entry| entry.side != Side::Ours));
            assert!(family.entries().all(|entry| entry.side != Side::Wrong || !entry.note.is_empty()));
        }
    }
}
