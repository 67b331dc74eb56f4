//! Which blocks a read-back must find bad, worked out from the faults alone, and how each must be named.
//!
//! Slow and simple on purpose: it knows neither the engine's contents nor its judge. It holds for a fill that is the
//! first on its drive, so that a block of the linear space lies at the same place on the drive.

use std::collections::BTreeMap;
use std::ops::Range;

use harness::engine::sim::faults::{Damage, Planted};
use harness::plan::phase::Phase;
use harness::plan::profile::Data;
use harness::sample::Fault;

const UNIT: u64 = 4096;

/// What a read-back of a whole fill finds: the bad places with their names.
pub(super) fn expected(read: &Phase, faults: &[Planted]) -> BTreeMap<u64, Fault> {
    let drive = Drive {
        total: read.layout.bytes().0,
        segment: read.layout.segment_bytes.0,
        zeros: read.io.data == Data::Zeros,
        faults,
    };
    let mut bad = BTreeMap::new();
    let mut at = 0;
    while at < drive.total {
        // A read ends with its segment.
        let end = (at + read.io.block.0).min((at / drive.segment + 1) * drive.segment);
        let touches = |place: &Range<u64>| at < place.end && end > place.start;
        if faults.iter().any(|fault| matches!(fault, Planted::ReadError(place) if touches(place))) {
            bad.insert(at, Fault::Unreadable);
        } else {
            let units = (at..end).step_by(UNIT as usize);
            bad.extend(units.filter_map(|unit| drive.fault(unit).map(|fault| (unit, fault))));
        }
        at = end;
    }
    bad
}

struct Drive<'a> {
    total: u64,
    segment: u64,
    zeros: bool,
    faults: &'a [Planted],
}

impl Drive<'_> {
    /// Whether the block of this place has a stamp when it is written.
    fn stamped(&self, unit: u64) -> bool {
        !self.zeros || (unit + UNIT).is_multiple_of(self.segment)
    }

    fn fault(&self, unit: u64) -> Option<Fault> {
        let wraps = self.faults.iter().find_map(|fault| match fault {
            Planted::Wraps(capacity) => Some(*capacity),
            _ => None,
        });
        // The last write to a place is whose block is there.
        let (kept, owner) = match wraps {
            Some(wraps) => (unit % wraps, unit % wraps + (self.total - UNIT - unit % wraps) / wraps * wraps),
            None => (unit, unit),
        };
        let damage = self.faults.iter().find_map(|fault| match fault {
            Planted::Damage(damage, place) if place.contains(&kept) => Some(*damage),
            _ => None,
        });
        match (self.stamped(unit), self.stamped(owner), damage) {
            // Nothing but zeros was wanted, and nothing but zeros is there.
            (false, false, damage) => (damage == Some(Damage::Corrupt)).then_some(Fault::Corrupt),
            (false, true, Some(Damage::Lost)) => None,
            (false, true, _) => Some(Fault::Misplaced),
            (true, false, damage) => Some(if damage == Some(Damage::Corrupt) { Fault::Foreign } else { Fault::Zeros }),
            (true, true, Some(Damage::Lost)) => Some(Fault::Zeros),
            (true, true, _) if owner != unit => Some(Fault::Misplaced),
            (true, true, None) => None,
            (true, true, Some(Damage::Corrupt)) => Some(Fault::Corrupt),
            (true, true, Some(Damage::Misplaced)) => Some(Fault::Misplaced),
            (true, true, Some(Damage::Stale)) => Some(Fault::Stale),
            (true, true, Some(Damage::Torn)) => Some(Fault::Torn),
        }
    }
}
