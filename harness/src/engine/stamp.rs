//! Stamps: what every block says of itself, and what a block that is read back says went wrong.
//!
//! Pure: bytes in, judgement out. Layout of a stamped block (little-endian, in 64-bit words):
//!
//! ```text
//! byte 0             32                        len-32        len
//!      | head stamp  | body: seeded, fixed     | tail stamp  |
//! stamp: offset | run seed | generation, body index << 32, place << 48 | check of the three
//! ```
//!
//! Two stamps a block show a torn write: a drive that wrote only the first sectors leaves the old tail.

use crate::sample::Fault;

/// Bytes of one stamp.
pub const STAMP_BYTES: usize = 32;

/// What identifies one written block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// First byte of the block in the linear space.
    pub offset: u64,
    /// Seed of the run that wrote it.
    pub seed: u64,
    /// Which writing of that place in the run.
    pub generation: u32,
}

/// Which end of the block a stamp stands at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// First bytes.
    Head = 1,
    /// Last bytes.
    Tail = 2,
}

/// What stands where a stamp should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A stamp that checks out, whoever's it is.
    Stamp(Stamp),
    /// Zero bytes.
    Zeros,
    /// Neither; this many bits differ from what was expected.
    Other {
        /// Differing bits.
        bits: u32,
    },
}

/// What stands between the stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// What the run wrote.
    Intact,
    /// Something else in part or whole.
    Differs,
}

/// What was read at a place where a stamped block is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// At the head.
    pub head: Mark,
    /// At the tail.
    pub tail: Mark,
    /// In between.
    pub body: Body,
    /// The whole block is zeros.
    pub all_zeros: bool,
}

/// A stamp whose bits differ in at most this many places is a damaged one, not another thing:
/// unrelated data differ in 128 of 256 bits on average, and in fewer than 64 with probability under 10^-15.
const DAMAGED_BITS: u32 = 64;

/// Judges what was read against what was written; none when the block is right.
#[must_use]
pub fn judge(expected: Stamp, seen: Seen) -> Option<Fault> {
    let right = |mark: Mark| mark == Mark::Stamp(expected);
    let damaged = |mark: Mark| matches!(mark, Mark::Other { bits } if bits <= DAMAGED_BITS);
    if seen.all_zeros {
        return Some(Fault::Zeros);
    }
    match (seen.head, seen.tail) {
        (head, tail) if right(head) && right(tail) => (seen.body == Body::Differs).then_some(Fault::Corrupt),
        (head, tail) if (right(head) && damaged(tail)) || (damaged(head) && right(tail)) => Some(Fault::Corrupt),
        (head, tail) if damaged(head) && damaged(tail) => Some(Fault::Corrupt),
        (head, tail) if right(head) || right(tail) => Some(Fault::Torn),
        (Mark::Stamp(head), Mark::Stamp(tail)) if head != tail => Some(Fault::Torn),
        (Mark::Stamp(found), _) | (_, Mark::Stamp(found)) => Some(if found.seed != expected.seed {
            Fault::OtherRun
        } else if found.offset != expected.offset {
            Fault::Misplaced
        } else {
            Fault::Stale
        }),
        _ => Some(Fault::Foreign),
    }
}

/// The bytes of a stamp.
#[must_use]
#[inline]
pub fn encode(stamp: Stamp, body: u16, place: Place) -> [u8; STAMP_BYTES] {
    let third = u64::from(stamp.generation) | u64::from(body) << 32 | (place as u64) << 48;
    let words = [stamp.offset, stamp.seed, third, check(stamp.offset, stamp.seed, third)];
    let mut bytes = [0; STAMP_BYTES];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The stamp and body index in these bytes, if they are one of ours at this place.
#[must_use]
pub fn decode(bytes: &[u8], place: Place) -> Option<(Stamp, u16)> {
    let word = |at: usize| bytes.get(at..at + 8).map(|b| u64::from_le_bytes(b.try_into().unwrap_or_default()));
    let (offset, seed, third, sum) = (word(0)?, word(8)?, word(16)?, word(24)?);
    if sum != check(offset, seed, third) || third >> 48 != place as u64 {
        return None;
    }
    let generation = u32::try_from(third & 0xffff_ffff).ok()?;
    let body = u16::try_from(third >> 32 & 0xffff).ok()?;
    Some((Stamp { offset, seed, generation }, body))
}

/// The body index that these bytes name, whether or not the stamp checks out; zero where they are too few.
#[must_use]
#[inline]
pub fn named_body(bytes: &[u8]) -> u16 {
    bytes.get(20..22).map_or(0, |index| u16::from_le_bytes(index.try_into().unwrap_or_default()))
}

/// What stands where `expected` should be.
#[must_use]
pub fn mark(bytes: &[u8], place: Place, expected: &[u8; STAMP_BYTES]) -> Mark {
    if let Some((stamp, _)) = decode(bytes, place) {
        return Mark::Stamp(stamp);
    }
    if bytes.iter().all(|&byte| byte == 0) {
        return Mark::Zeros;
    }
    let bits = bytes.iter().zip(expected).map(|(a, b)| (a ^ b).count_ones()).sum();
    Mark::Other { bits }
}

/// A 64-bit check of three words: multiply and fold, as in wyhash; not cryptographic, and never zero for zeros.
fn check(a: u64, b: u64, c: u64) -> u64 {
    let fold = |x: u64, y: u64| {
        let wide = u128::from(x) * u128::from(y);
        (wide as u64) ^ ((wide >> 64) as u64)
    };
    let mixed = fold(a ^ 0xa076_1d64_78bd_642f, b ^ 0xe703_7ed1_a0b4_28db);
    fold(mixed ^ c ^ 0x8ebc_6af0_9c88_c6e3, 0x5899_65cc_7537_4cc3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Stamp = Stamp { offset: 4096, seed: 7, generation: 2 };

    fn seen(head: Mark, tail: Mark, body: Body) -> Seen {
        Seen { head, tail, body, all_zeros: false }
    }

    fn check_judge(seen: Seen, expect: Option<Fault>) {
        assert_eq!(judge(HERE, seen), expect, "{seen:?}");
    }

    #[test]
    fn each_kind_of_fault_has_its_own_name() {
        let right = Mark::Stamp(HERE);
        let stamp = |offset, seed, generation| Mark::Stamp(Stamp { offset, seed, generation });
        check_judge(seen(right, right, Body::Intact), None);
        check_judge(seen(right, right, Body::Differs), Some(Fault::Corrupt));
        check_judge(seen(right, Mark::Other { bits: 1 }, Body::Intact), Some(Fault::Corrupt));
        check_judge(seen(Mark::Other { bits: 1 }, right, Body::Intact), Some(Fault::Corrupt));
        check_judge(seen(stamp(0, 7, 2), stamp(0, 7, 2), Body::Intact), Some(Fault::Misplaced));
        check_judge(seen(stamp(4096, 7, 1), stamp(4096, 7, 1), Body::Intact), Some(Fault::Stale));
        check_judge(seen(stamp(4096, 9, 2), stamp(4096, 9, 2), Body::Intact), Some(Fault::OtherRun));
        check_judge(seen(right, stamp(4096, 7, 1), Body::Intact), Some(Fault::Torn));
        check_judge(seen(right, Mark::Zeros, Body::Differs), Some(Fault::Torn));
        check_judge(seen(right, Mark::Other { bits: 130 }, Body::Differs), Some(Fault::Torn));
        check_judge(
            Seen { head: Mark::Zeros, tail: Mark::Zeros, body: Body::Differs, all_zeros: true },
            Some(Fault::Zeros),
        );
        check_judge(seen(Mark::Other { bits: 120 }, Mark::Other { bits: 130 }, Body::Differs), Some(Fault::Foreign));
    }

    #[test]
    fn a_stamp_survives_the_round_trip_and_no_bit_flip() {
        let bytes = encode(HERE, 3, Place::Head);
        assert_eq!(decode(&bytes, Place::Head), Some((HERE, 3)));
        assert_eq!(named_body(&bytes), 3);
        assert_eq!(decode(&bytes, Place::Tail), None);
        for bit in 0..STAMP_BYTES * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&flipped, Place::Head), None, "bit {bit}");
        }
        assert_eq!(decode(&[0; STAMP_BYTES], Place::Head), None);
    }
}
