//! What a block of a simulated drive shows to who reads it, and what is wrong with it.
//!
//! The judge is the same as for real blocks, [`stamp::judge`]; only the look at the bytes is made up.

use super::contents::{UNIT, Written};
use super::faults::Damage;
use crate::engine::stamp::{self, Body, Mark, Seen, Stamp};
use crate::sample::Fault;

impl Written {
    /// The stamp of the unit at `place`; none where the write left zeros.
    fn stamp(&self, place: u64) -> Option<Stamp> {
        let offset = place.wrapping_add(self.shift);
        let stamped = self.zeros.is_none_or(|every| offset.wrapping_add(UNIT).is_multiple_of(every.max(1)));
        stamped.then_some(Stamp { offset, seed: self.seed, generation: self.generation })
    }
}

/// What is wrong with the unit at `place` that `written` put there and `damage` befell, if `expected` should be there.
pub(super) fn fault(place: u64, expected: Written, written: Option<Written>, damage: Option<Damage>) -> Option<Fault> {
    let seen = written.map_or(ZEROS, |written| seen(written.stamp(place), damage));
    match expected.stamp(place) {
        Some(expected) => stamp::judge(expected, seen),
        None if seen.all_zeros => None,
        // As for real blocks of zeros: what it is if it is one of ours, else merely not zeros.
        None => {
            let offset = place.wrapping_add(expected.shift);
            match stamp::judge(Stamp { offset, seed: expected.seed, generation: expected.generation }, seen) {
                Some(fault @ (Fault::Misplaced | Fault::OtherRun | Fault::Stale)) => Some(fault),
                _ => Some(Fault::Corrupt),
            }
        }
    }
}

const ZEROS: Seen = Seen { head: Mark::Zeros, tail: Mark::Zeros, body: Body::Differs, all_zeros: true };

/// A block with this stamp, or of zeros, after its damage.
fn seen(stamp: Option<Stamp>, damage: Option<Damage>) -> Seen {
    let whole =
        |stamp| Seen { head: Mark::Stamp(stamp), tail: Mark::Stamp(stamp), body: Body::Intact, all_zeros: false };
    match (stamp, damage) {
        (None, Some(Damage::Corrupt)) => Seen { all_zeros: false, ..ZEROS },
        (None, _) | (Some(_), Some(Damage::Lost)) => ZEROS,
        (Some(stamp), None) => whole(stamp),
        (Some(stamp), Some(Damage::Corrupt)) => Seen { body: Body::Differs, ..whole(stamp) },
        (Some(stamp), Some(Damage::Torn)) => Seen { tail: Mark::Zeros, body: Body::Differs, ..whole(stamp) },
        (Some(stamp), Some(Damage::Misplaced)) => whole(Stamp { offset: stamp.offset ^ UNIT, ..stamp }),
        (Some(stamp), Some(Damage::Stale)) => whole(Stamp { generation: stamp.generation.wrapping_sub(1), ..stamp }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_damage_has_its_name() {
        let right = Written { shift: 40960, seed: 7, generation: 0, zeros: None };
        let check = |damage, expect| assert_eq!(fault(8192, right, Some(right), damage), expect, "{damage:?}");
        check(None, None);
        check(Some(Damage::Corrupt), Some(Fault::Corrupt));
        check(Some(Damage::Misplaced), Some(Fault::Misplaced));
        check(Some(Damage::Stale), Some(Fault::Stale));
        check(Some(Damage::Torn), Some(Fault::Torn));
        check(Some(Damage::Lost), Some(Fault::Zeros));
        assert_eq!(fault(8192, right, None, None), Some(Fault::Zeros));
        assert_eq!(fault(8192, right, Some(Written { seed: 8, ..right }), None), Some(Fault::OtherRun));
        assert_eq!(fault(8192, right, Some(Written { shift: 0, ..right }), None), Some(Fault::Misplaced));
    }

    #[test]
    fn zeros_show_only_that_they_are_none() {
        let zeros = Written { shift: 0, seed: 7, generation: 0, zeros: Some(1 << 20) };
        let check = |place, damage, expect| assert_eq!(fault(place, zeros, Some(zeros), damage), expect, "{damage:?}");
        check(0, None, None);
        check(0, Some(Damage::Corrupt), Some(Fault::Corrupt));
        check(0, Some(Damage::Misplaced), None);
        check(0, Some(Damage::Lost), None);
        let last = (1 << 20) - UNIT;
        check(last, None, None);
        check(last, Some(Damage::Lost), Some(Fault::Zeros));
        assert_eq!(fault(last, zeros, None, None), Some(Fault::Zeros));
        let stamped = Written { zeros: None, ..zeros };
        assert_eq!(fault(0, zeros, Some(Written { seed: 8, ..stamped }), None), Some(Fault::OtherRun));
        assert_eq!(fault(0, zeros, Some(stamped), None), Some(Fault::Corrupt));
    }
}
