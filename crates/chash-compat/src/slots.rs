//! Tables of slots: filling one as Maglev does, and finding a slot by remainder.

use chash_core::Work;

use crate::Table;

/// One server's order of preference over the slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preference {
    pub(crate) offset: u64,
    pub(crate) skip: u64,
    /// How many slots of the order have been looked at.
    next: u64,
}

impl Preference {
    /// The order that starts at `offset_hash mod size` and goes on in steps of
    /// `skip_hash mod (size - 1) + 1`.
    pub(crate) fn new(offset_hash: u64, skip_hash: u64, size: u32) -> Self {
        let size = u64::from(size);
        Self { offset: offset_hash % size, skip: skip_hash % (size - 1) + 1, next: 0 }
    }
}

/// The slot of an order's `next`-th choice in a table of `size` slots.
pub(crate) type Choice = fn(order: &Preference, next: u64, size: u64) -> u64;

/// (offset + skip · next) mod size, exactly.
pub(crate) fn exact_choice(order: &Preference, next: u64, size: u64) -> u64 {
    // Below 2^23 each (the largest table), so the product cannot wrap.
    (order.offset + order.skip * next) % size
}

/// The same, but the sum is cut to 32 bits before the remainder is taken.
pub(crate) fn choice_cut_to_32_bits(order: &Preference, next: u64, size: u64) -> u64 {
    u64::from((order.offset + order.skip * next) as u32) % size
}

/// A table being filled: servers take turns, and each turn takes the server's next free slot.
#[derive(Debug)]
pub(crate) struct Filling {
    orders: Vec<Preference>,
    /// The server of each slot, [`Self::FREE`] until it is taken.
    table: Vec<u32>,
    free: usize,
    choice: Choice,
}

impl Filling {
    const FREE: u32 = u32::MAX;

    pub(crate) fn new(orders: Vec<Preference>, size: u32, choice: Choice) -> Self {
        Self { orders, table: vec![Self::FREE; size as usize], free: size as usize, choice }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.free == 0
    }

    /// The server takes the first free slot of its order. The table must not be full.
    pub(crate) fn take(&mut self, server: usize) {
        let size = self.table.len() as u64;
        let order = &mut self.orders[server];
        loop {
            let slot = (self.choice)(order, order.next, size) as usize;
            order.next += 1;
            if self.table[slot] == Self::FREE {
                self.table[slot] = server as u32;
                self.free -= 1;
                return;
            }
        }
    }

    /// The full table, its entries translated by `server_of`.
    pub(crate) fn finish(self, server_of: impl Fn(usize) -> u32) -> Box<[u32]> {
        self.table.iter().map(|order| server_of(*order as usize)).collect()
    }
}

/// Slots, each with the index of its server; a key's slot is the remainder of its hash.
#[derive(Clone, Debug)]
pub struct Slots {
    /// At least one, at most 2^32 - 1.
    table: Box<[u32]>,
    /// Which bits of a key are its hash.
    mask: u64,
}

impl Slots {
    /// Slots found by the low 32 bits of a key.
    pub(crate) fn of_32_bits(table: Box<[u32]>) -> Self {
        Self { table, mask: u64::from(u32::MAX) }
    }

    /// Slots found by all 64 bits of a key.
    pub(crate) fn of_64_bits(table: Box<[u32]>) -> Self {
        Self { table, mask: u64::MAX }
    }
}

impl Table for Slots {
    fn find(&self, key: u64) -> u32 {
        self.table[((key & self.mask) % self.table.len() as u64) as usize]
    }

    fn work(&self, _: u64) -> Work {
        Work { hash_evals: 0, probes: 1, table_reads: 1 }
    }

    /// Exact: the slots below the remainder of the number of hash values get one value more.
    fn shares(&self, count: usize) -> Option<Vec<f64>> {
        let (slots, hashes) = (self.table.len() as u128, u128::from(self.mask) + 1);
        let (each, extra) = (hashes / slots, hashes % slots);
        let mut values = vec![0u128; count];
        for (slot, server) in self.table.iter().enumerate() {
            values[*server as usize] += each + u128::from((slot as u128) < extra);
        }
        Some(values.into_iter().map(|values| values as f64 / hashes as f64).collect())
    }

    fn heap_bytes(&self) -> usize {
        size_of_val(&*self.table)
    }
}

/// Whether a number is prime, by trial division: at most about 1,100 divisions for the largest table.
pub(crate) fn is_prime(number: u32) -> bool {
    number >= 2
        && (2..)
            .take_while(|divisor| divisor * divisor <= number)
            .all(|divisor| !number.is_multiple_of(divisor))
}

/// The largest table of any Maglev here: Envoy's limit.
pub(crate) const MAX_TABLE_SIZE: u64 = 5_000_011;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes() {
        let primes: Vec<u32> = (0..40).filter(|number| is_prime(*number)).collect();
        assert_eq!(primes, [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]);
        assert!(is_prime(65537) && is_prime(16381) && !is_prime(65537 * 3));
    }

    /// The example of the Maglev paper, table 1: offsets 3, 0, 3 and skips 4, 2, 1 in 7 slots.
    #[test]
    fn fills_the_table_of_the_paper() {
        let orders = [(3, 4), (0, 2), (3, 1)];
        let orders = orders.map(|(offset, skip)| Preference { offset, skip, next: 0 }).to_vec();
        let mut filling = Filling::new(orders, 7, exact_choice);
        for turn in 0.. {
            if filling.is_full() {
                break;
            }
            filling.take(turn % 3);
        }
        assert_eq!(&*filling.finish(|server| server as u32), [1, 0, 1, 0, 2, 2, 0]);
    }

    #[test]
    fn shares_count_the_uneven_rest() {
        let slots = Slots { table: Box::new([0, 1, 0]), mask: 3 };
        assert_eq!(slots.shares(2), Some(vec![0.75, 0.25]));
        assert_eq!([0, 1, 2, 3, 4].map(|key| slots.find(key)), [0, 1, 0, 0, 0]);
    }
}
