//! What blocks hold: fills write buffers before the clock starts, stamps blocks, and checks blocks read back.
//!
//! Pure. The body of every block is cut from one fixed seeded mebibyte, so that only the stamps change
//! between writes; each buffer begins at another part of it, so that small blocks do not all look alike.
//! With zeros there is one stamped block a segment, its last: a weak check, but not none.

use super::stamp::{self, Body, Place, STAMP_BYTES, Seen, Stamp};
use crate::sample::Fault;

/// The pattern of the bytes between the stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Bytes that no controller can shrink.
    Incompressible,
    /// Each block ends in zeros to this share, in parts per million.
    Compressible(u32),
    /// Zeros throughout.
    Zeros,
}

/// What the blocks of a phase hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// Between the stamps.
    pub pattern: Pattern,
    /// Of the run.
    pub seed: u64,
}

/// Bytes of the fixed seeded buffer.
const POOL: usize = 1 << 20;
/// A block is at most this long; one I/O holds one or more.
const LARGEST_UNIT: usize = 4096;

/// The content of one phase's blocks, ready to write and to compare.
#[derive(Clone, Debug)]
pub struct Blocks {
    content: Content,
    unit: usize,
    segment_bytes: u64,
    pool: Vec<u8>,
}

impl Blocks {
    /// For I/Os whose offsets and lengths are multiples of `granule`, in segments of `segment_bytes`.
    #[must_use]
    pub fn new(content: Content, granule: u32, segment_bytes: u64) -> Blocks {
        let unit = gcd(granule as usize, LARGEST_UNIT);
        let mut pool = vec![0; POOL];
        match content.pattern {
            Pattern::Zeros => {}
            Pattern::Incompressible => fill_random(&mut pool),
            Pattern::Compressible(ppm) => {
                fill_random(&mut pool);
                let random = unit - (unit as u64 * u64::from(ppm) / 1_000_000) as usize;
                pool.chunks_exact_mut(unit).for_each(|block| block[random..].fill(0));
            }
        }
        Blocks { content, unit, segment_bytes, pool }
    }

    /// Fills a write buffer with bodies, of which the first is part `first` of the pool; stamps come with each
    /// write.
    pub fn prepare(&self, buffer: &mut [u8], first: usize) {
        for (index, block) in buffer.chunks_exact_mut(self.unit).enumerate() {
            let from = usize::from(self.body_index(first + index)) * self.unit;
            block.copy_from_slice(&self.pool[from..from + self.unit]);
        }
    }

    /// Stamps the blocks of one write in a buffer that was prepared with the same `first`; the `last` write of a
    /// segment is the one that ends where it does.
    #[inline]
    pub fn stamp(&self, buffer: &mut [u8], first: usize, offset: u64, generation: u32, last: bool) {
        if self.content.pattern == Pattern::Zeros {
            if last {
                self.stamp_last_block(buffer, offset, generation);
            }
            return;
        }
        for (index, block) in buffer.chunks_exact_mut(self.unit).enumerate() {
            let offset = offset + (index * self.unit) as u64;
            self.stamp_block(block, Stamp { offset, seed: self.content.seed, generation }, first + index);
        }
    }

    /// Takes the stamp of a zeros write away again, so that the buffer can serve the next one.
    #[inline]
    pub fn unstamp(&self, buffer: &mut [u8], last: bool) {
        if self.content.pattern == Pattern::Zeros && last {
            let from = buffer.len() - self.unit;
            buffer[from..].fill(0);
        }
    }

    /// Checks the blocks of one read and reports each bad one.
    pub fn inspect(&self, buffer: &[u8], offset: u64, generation: u32, mut bad: impl FnMut(u64, Fault)) {
        for (index, block) in buffer.chunks_exact(self.unit).enumerate() {
            let offset = offset + (index * self.unit) as u64;
            let expected = Stamp { offset, seed: self.content.seed, generation };
            let fault = match self.content.pattern {
                Pattern::Zeros if !self.ends_segment(offset, self.unit) => {
                    (!is_zero(block)).then(|| self.name_in_zeros(block, expected))
                }
                _ => self.inspect_block(block, expected),
            };
            if let Some(fault) = fault {
                bad(offset, fault);
            }
        }
    }

    fn stamp_last_block(&self, buffer: &mut [u8], offset: u64, generation: u32) {
        let from = buffer.len() - self.unit;
        let stamp = Stamp { offset: offset + from as u64, seed: self.content.seed, generation };
        self.stamp_block(&mut buffer[from..], stamp, 0);
    }

    fn ends_segment(&self, offset: u64, len: usize) -> bool {
        (offset + len as u64).is_multiple_of(self.segment_bytes)
    }

    #[inline]
    fn stamp_block(&self, block: &mut [u8], stamp: Stamp, index: usize) {
        let body = self.body_index(index);
        let tail = block.len() - STAMP_BYTES;
        block[..STAMP_BYTES].copy_from_slice(&stamp::encode(stamp, body, Place::Head));
        block[tail..].copy_from_slice(&stamp::encode(stamp, body, Place::Tail));
    }

    /// Which part of the pool is the `index`-th body, counted round and round.
    fn body_index(&self, index: usize) -> u16 {
        // The unit is a power of two, and so is the number of bodies: a mask instead of a division.
        u16::try_from(index & (POOL / self.unit - 1)).unwrap_or(0)
    }

    fn body(&self, index: u16) -> Option<&[u8]> {
        let from = usize::from(index) * self.unit;
        self.pool.get(from + STAMP_BYTES..from + self.unit - STAMP_BYTES)
    }

    /// What is wrong with a stamped block; the usual answer, nothing, costs three comparisons.
    fn inspect_block(&self, block: &[u8], expected: Stamp) -> Option<Fault> {
        let tail_at = block.len() - STAMP_BYTES;
        let (head, body, tail) = (&block[..STAMP_BYTES], &block[STAMP_BYTES..tail_at], &block[tail_at..]);
        // Only the block itself says which buffer it was written from, and so which body it has.
        let named = stamp::named_body(head);
        let right = head == stamp::encode(expected, named, Place::Head)
            && tail == stamp::encode(expected, named, Place::Tail)
            && self.body(named) == Some(body);
        if right {
            return None;
        }
        let own = stamp::decode(head, Place::Head).or_else(|| stamp::decode(tail, Place::Tail));
        let body_index = own.map_or(named, |(_, body)| body);
        let intact = self.body(body_index) == Some(body);
        let seen = Seen {
            head: stamp::mark(head, Place::Head, &stamp::encode(expected, body_index, Place::Head)),
            tail: stamp::mark(tail, Place::Tail, &stamp::encode(expected, body_index, Place::Tail)),
            body: if intact { Body::Intact } else { Body::Differs },
            all_zeros: is_zero(block),
        };
        stamp::judge(expected, seen)
    }

    /// What a block is that should be zeros and is not.
    fn name_in_zeros(&self, block: &[u8], expected: Stamp) -> Fault {
        match self.inspect_block(block, expected) {
            Some(fault @ (Fault::Misplaced | Fault::OtherRun | Fault::Stale)) => fault,
            _ => Fault::Corrupt,
        }
    }
}

fn is_zero(block: &[u8]) -> bool {
    block.iter().all(|&byte| byte == 0)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Fills with the output of SplitMix64 (Steele, Lea, Flood 2014) from a fixed seed.
fn fill_random(bytes: &mut [u8]) {
    let mut state = 0x5704_a6e0_c4ec_0001_u64;
    for chunk in bytes.chunks_exact_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        chunk.copy_from_slice(&(z ^ z >> 31).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u64 = 1 << 20;

    fn blocks(pattern: Pattern) -> Blocks {
        Blocks::new(Content { pattern, seed: 42 }, 8192, SEGMENT)
    }

    fn faults(blocks: &Blocks, buffer: &[u8], offset: u64) -> Vec<(u64, Fault)> {
        let mut found = Vec::new();
        blocks.inspect(buffer, offset, 1, |at, fault| found.push((at, fault)));
        found
    }

    /// Writes 16 KiB at `offset`, damages it, and says what is found.
    fn check(pattern: Pattern, offset: u64, damage: impl Fn(&mut [u8]), expect: &[(u64, Fault)]) {
        let blocks = blocks(pattern);
        let mut buffer = vec![0; 16384];
        blocks.prepare(&mut buffer, 250);
        blocks.stamp(&mut buffer, 250, offset, 1, blocks.ends_segment(offset, 16384));
        damage(&mut buffer);
        assert_eq!(faults(&blocks, &buffer, offset), expect);
    }

    #[test]
    fn what_was_written_is_right() {
        for pattern in [Pattern::Incompressible, Pattern::Compressible(500_000), Pattern::Zeros] {
            check(pattern, 16384, |_| {}, &[]);
            check(pattern, SEGMENT - 16384, |_| {}, &[]);
        }
    }

    #[test]
    fn one_flipped_bit_anywhere_is_corrupt() {
        for byte in [0, 31, 40, 2000, 4064, 4095] {
            check(Pattern::Incompressible, 0, |b| b[byte] ^= 4, &[(0, Fault::Corrupt)]);
        }
        check(Pattern::Zeros, 0, |b| b[5000] ^= 4, &[(4096, Fault::Corrupt)]);
    }

    #[test]
    fn a_lost_write_shows_what_was_there_before() {
        let other = Blocks::new(Content { pattern: Pattern::Incompressible, seed: 43 }, 8192, SEGMENT);
        check(Pattern::Incompressible, 0, |b| other.stamp(&mut b[..4096], 0, 0, 1, false), &[(0, Fault::OtherRun)]);
        check(
            Pattern::Incompressible,
            0,
            |b| blocks(Pattern::Incompressible).stamp(b, 0, 0, 0, false),
            &[(0, Fault::Stale), (4096, Fault::Stale), (8192, Fault::Stale), (12288, Fault::Stale)],
        );
        check(Pattern::Incompressible, 0, |b| b[4096..8192].fill(0), &[(4096, Fault::Zeros)]);
        check(Pattern::Incompressible, 0, |b| b[4096..8192].fill(b'x'), &[(4096, Fault::Foreign)]);
    }

    #[test]
    fn a_block_of_another_place_is_misplaced() {
        check(Pattern::Incompressible, 0, |b| b.copy_within(4096..8192, 0), &[(0, Fault::Misplaced)]);
    }

    #[test]
    fn a_torn_block_is_told_from_a_corrupt_one() {
        check(Pattern::Incompressible, 0, |b| b[2048..4096].fill(0), &[(0, Fault::Torn)]);
        let older = blocks(Pattern::Incompressible);
        let tear = |b: &mut [u8]| {
            let mut old = vec![0; 16384];
            older.prepare(&mut old, 0);
            older.stamp(&mut old, 0, 0, 0, false);
            b[512..4096].copy_from_slice(&old[512..4096]);
        };
        check(Pattern::Incompressible, 0, tear, &[(0, Fault::Torn)]);
    }

    #[test]
    fn zeros_have_one_stamped_block_a_segment_and_leave_the_buffer_clean() {
        let blocks = blocks(Pattern::Zeros);
        let mut buffer = vec![0; 16384];
        blocks.stamp(&mut buffer, 0, SEGMENT - 16384, 1, true);
        assert!(!is_zero(&buffer[12288..]) && is_zero(&buffer[..12288]));
        let found = faults(&blocks, &vec![0; 16384], SEGMENT - 16384);
        assert_eq!(found, [(SEGMENT - 4096, Fault::Zeros)]);
        blocks.unstamp(&mut buffer, true);
        assert!(is_zero(&buffer));
    }

    #[test]
    fn buffers_that_begin_at_other_parts_of_the_pool_have_other_bodies_and_read_back_right() {
        let blocks = blocks(Pattern::Incompressible);
        let written = |first| {
            let mut buffer = vec![0; 4096];
            blocks.prepare(&mut buffer, first);
            blocks.stamp(&mut buffer, first, 0, 1, false);
            assert_eq!(faults(&blocks, &buffer, 0), []);
            buffer
        };
        assert_ne!(written(0)[32..4064], written(1)[32..4064]);
        assert_eq!(written(3), written(259), "the pool holds 256 bodies of 4 KiB");
    }

    #[test]
    fn the_compressible_share_is_zeros() {
        let blocks = Blocks::new(Content { pattern: Pattern::Compressible(250_000), seed: 1 }, 4096, SEGMENT);
        assert!(is_zero(&blocks.pool[3072..4096]) && !is_zero(&blocks.pool[3000..3072]));
    }
}
