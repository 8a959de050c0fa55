//! The bits of every point that do not fit in its line: read only where the ones in the line tie.

/// Lines that share one piece of memory. Few, since a change moves what lies behind it in the block; not too
/// few, since each block costs a `Vec`.
pub(crate) const LINES_PER_BLOCK: usize = 16;

/// Points by which a full block grows: enough that a growing ring does not reallocate at every point, few
/// enough to stay small beside the 150 of a block.
const SPARE_POINTS: usize = 8;

/// Numbers of a few bytes each, packed in order of the points that lie in lines.
#[derive(Clone, Debug)]
pub(crate) struct Tails {
    /// How many bytes a number takes, at most 8.
    width: usize,
    blocks: Vec<Vec<u8>>,
}

impl Tails {
    pub(crate) fn new(width: usize, lines: usize) -> Self {
        Self { width, blocks: vec![Vec::new(); lines.div_ceil(LINES_PER_BLOCK)] }
    }

    /// Sets a whole block.
    pub(crate) fn fill(&mut self, block: usize, tails: &[u64]) {
        let mut bytes = Vec::with_capacity(tails.len() * self.width);
        for tail in tails {
            bytes.extend_from_slice(&tail.to_le_bytes()[..self.width]);
        }
        self.blocks[block] = bytes;
    }

    pub(crate) fn get(&self, block: usize, index: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes[..self.width].copy_from_slice(&self.blocks[block][index * self.width..][..self.width]);
        u64::from_le_bytes(bytes)
    }

    pub(crate) fn insert(&mut self, block: usize, index: usize, tail: u64) {
        let (bytes, width) = (&mut self.blocks[block], self.width);
        let (at, end) = (index * width, bytes.len());
        if bytes.capacity() < end + width {
            bytes.reserve_exact(SPARE_POINTS * width);
        }
        bytes.resize(end + width, 0);
        bytes.copy_within(at..end, at + width);
        bytes[at..at + width].copy_from_slice(&tail.to_le_bytes()[..width]);
    }

    pub(crate) fn remove(&mut self, block: usize, index: usize) {
        let at = index * self.width;
        self.blocks[block].drain(at..at + self.width);
    }

    /// The heap bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let blocks = self.blocks.capacity() * size_of::<Vec<u8>>();
        blocks + self.blocks.iter().map(Vec::capacity).sum::<usize>()
    }

    /// The heap bytes of the tails of `points` points in `lines` lines.
    pub(crate) fn estimate_bytes(width: usize, lines: u64, points: u64) -> u64 {
        let blocks = lines.div_ceil(LINES_PER_BLOCK as u64) * size_of::<Vec<u8>>() as u64;
        blocks.saturating_add(points.saturating_mul(width as u64))
    }
}
