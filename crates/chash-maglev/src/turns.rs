//! Who takes a slot when: weights as turns.
//!
//! In round r, from 1 on, a node of weight w plays if and only if ⌊r·w/w_max⌋ > ⌊(r−1)·w/w_max⌋, in the
//! given order within the round. So the heaviest plays in every round, one of a third of its weight in every
//! third, and k turns of a node end with round ⌈k·w_max/w⌉.

use crate::Permutation;

/// The turns, as indexes into `players`, that repeated from the start give the sequence for `slots` slots.
///
/// The rounds repeat after w_max/gcd of the weights, one round where all are equal: that many are
/// returned, or fewer if these are enough for all slots. O(slots + players).
pub(crate) fn schedule(players: &[Permutation], slots: u32) -> Vec<u32> {
    let heaviest = players.iter().map(|player| player.weight).max().unwrap_or(0);
    let divisor = players.iter().fold(0, |divisor, player| gcd(divisor, player.weight));
    let total: u64 = players.iter().map(|player| u64::from(player.weight)).sum();
    // After r rounds the players have had more than r·total/heaviest − players turns; and at least r, those
    // of the heaviest.
    let wanted = u128::from(slots) + players.len() as u128;
    let enough = (wanted * u128::from(heaviest)).div_ceil(u128::from(total)).min(u128::from(slots)) as u32;
    let rounds = enough.min(heaviest / divisor);

    // Sorted by round, and within a round by player, by counting.
    let mut ends = vec![0u32; rounds as usize + 1];
    for player in players {
        for round in rounds_played(player.weight, heaviest, rounds) {
            ends[round as usize] += 1;
        }
    }
    let mut end = 0;
    for count in &mut ends {
        (*count, end) = (end, end + *count);
    }
    let mut turns = vec![0; end as usize];
    for (index, player) in players.iter().enumerate() {
        for round in rounds_played(player.weight, heaviest, rounds) {
            turns[ends[round as usize] as usize] = index as u32;
            ends[round as usize] += 1;
        }
    }
    turns
}

/// The rounds up to `rounds` in which a player of this weight plays: ⌈k·heaviest/weight⌉ for k = 1, 2, ….
fn rounds_played(weight: u32, heaviest: u32, rounds: u32) -> impl Iterator<Item = u32> {
    let weight = u64::from(weight);
    // Quotient and remainder are carried along: one division for all turns.
    let (whole, part) = (u64::from(heaviest) / weight, u64::from(heaviest) % weight);
    let (mut round, mut rest) = (0, weight - 1);
    core::iter::from_fn(move || {
        round += whole;
        rest += part;
        if rest >= weight {
            rest -= weight;
            round += 1;
        }
        Some(round)
    })
    .take_while(move |round| *round <= u64::from(rounds))
    .map(|round| round as u32)
}

/// How many of the first `slots` turns each of `players` has.
pub(crate) fn count(turns: &[u32], players: usize, slots: u32) -> Vec<u32> {
    let (times, rest) = (slots as usize / turns.len(), slots as usize % turns.len());
    let mut counts = vec![0; players];
    if times > 0 {
        turns.iter().for_each(|player| counts[*player as usize] += 1);
        counts.iter_mut().for_each(|count| *count *= times as u32);
    }
    turns[..rest].iter().for_each(|player| counts[*player as usize] += 1);
    counts
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn players(weights: &[u32]) -> Vec<Permutation> {
        weights.iter().map(|weight| Permutation { offset: 0, skip: 1, weight: *weight }).collect()
    }

    /// The first turns, straight from the definition.
    fn defined(weights: &[u32], slots: usize) -> Vec<u32> {
        let heaviest = u64::from(*weights.iter().max().unwrap());
        let mut turns = Vec::new();
        for round in 1u64.. {
            for (index, weight) in weights.iter().enumerate() {
                let turn = |round: u64| round * u64::from(*weight) / heaviest;
                if turn(round) > turn(round - 1) {
                    turns.push(index as u32);
                }
            }
            if turns.len() >= slots {
                turns.truncate(slots);
                return turns;
            }
        }
        unreachable!("the heaviest plays in every round")
    }

    fn scheduled(weights: &[u32], slots: usize) -> Vec<u32> {
        let turns = schedule(&players(weights), slots as u32);
        turns.iter().copied().cycle().take(slots).collect()
    }

    #[test]
    fn equal_weights_are_one_round() {
        assert_eq!(schedule(&players(&[7, 7, 7]), 1009), [0, 1, 2]);
        assert_eq!(schedule(&players(&[5]), 1009), [0]);
    }

    #[test]
    fn lighter_nodes_sit_rounds_out() {
        assert_eq!(schedule(&players(&[1, 3, 2]), 1009), [1, 1, 2, 0, 1, 2]);
        assert_eq!(count(&[1, 1, 2, 0, 1, 2], 3, 8), [1, 5, 2]);
    }

    #[test]
    fn extreme_weights_cost_no_more() {
        for weights in [[1, u32::MAX], [u32::MAX, 1], [u32::MAX - 1, u32::MAX], [u32::MAX, u32::MAX]] {
            assert_eq!(scheduled(&weights, 1009), defined(&weights, 1009), "{weights:?}");
            assert!(schedule(&players(&weights), 1009).len() <= 1009 + weights.len());
        }
    }

    proptest! {
        #[test]
        fn equals_the_definition(
            weights in prop::collection::vec(prop_oneof![1u32..9, 1u32..1000, 1..=u32::MAX], 1..20),
            slots in 20usize..300,
        ) {
            let turns = scheduled(&weights, slots);
            prop_assert_eq!(&turns, &defined(&weights, slots));
            let counts = count(&schedule(&players(&weights), slots as u32), weights.len(), slots as u32);
            for (index, count) in counts.into_iter().enumerate() {
                let had = turns.iter().filter(|turn| **turn as usize == index).count();
                prop_assert_eq!(count as usize, had);
            }
        }
    }
}
