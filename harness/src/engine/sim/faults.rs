//! Faults that are planted in a simulated drive, and how one is written down: `KIND@WHERE` or `KIND@WHERE+SPAN`.
//!
//! ```text
//! corrupt@5GB           blocks at this place on the drive come back with a bit flipped (one block, or +SPAN bytes)
//! misplaced@5GB         … hold what belongs into the block before
//! stale@5GB             … hold an older write of the same place
//! torn@5GB              … end as something else than they begin
//! lost@5GB              … hold zeros: the write never arrived
//! read-error@5GB+1MiB   reads that touch these bytes fail
//! write-error@5GB+1MiB  writes that touch these bytes fail
//! short@5GB             writes that touch these bytes are done in two halves
//! wraps@64GB            the drive has only so much and begins anew behind it
//! full@10GB             no space is left once so many bytes were written
//! stall@60s+5s          nothing completes between 60 s and 65 s
//! gone@60s              the drive does not answer from then on
//! ```
//!
//! A span that is not given is one block of 4 KiB, or 1 s. Pure: each fault says what it does to a request or to a
//! block, and remembers nothing.

use std::ops::Range;
use std::str::FromStr;

use super::contents::UNIT;
use crate::units::{Nanos, bytes_text, nanos_text, parse_bytes, parse_nanos};

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Planted {
    /// Blocks that do not hold what was written.
    Damage(Damage, Range<u64>),
    /// Reads that touch these bytes fail.
    ReadError(Range<u64>),
    /// Writes that touch these bytes fail.
    WriteError(Range<u64>),
    /// Writes that touch these bytes are done in two halves.
    Short(Range<u64>),
    /// The drive has only so many bytes and begins anew behind them.
    Wraps(u64),
    /// No space is left once so many bytes were written.
    Full(u64),
    /// Nothing completes in this time.
    Stall(Range<Nanos>),
    /// Nothing answers from this moment on.
    Gone(Nanos),
}

/// What is wrong with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// A bit is flipped.
    Corrupt,
    /// It holds what belongs into the block before.
    Misplaced,
    /// It holds an older write of the same place.
    Stale,
    /// It ends as something else than it begins.
    Torn,
    /// It holds zeros.
    Lost,
}

/// Why a text is no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fault \"{text}\": {why}")]
pub struct FaultError {
    /// What was given.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

/// What a fault begins at, by kind.
const KINDS: [(&str, bool); 12] = [
    ("corrupt", false),
    ("misplaced", false),
    ("stale", false),
    ("torn", false),
    ("lost", false),
    ("read-error", false),
    ("write-error", false),
    ("short", false),
    ("wraps", false),
    ("full", false),
    ("stall", true),
    ("gone", true),
];

impl FromStr for Planted {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Planted, FaultError> {
        let error = |why: String| FaultError { text: text.to_owned(), why };
        let names = || KINDS.map(|(name, _)| name).join(", ");
        let (kind, place) =
            text.split_once('@').ok_or_else(|| error("write KIND@WHERE, such as corrupt@5GB".to_owned()))?;
        let Some((_, timed)) = KINDS.iter().find(|(name, _)| *name == kind) else {
            return Err(error(format!("there is no kind \"{kind}\"; there are {}", names())));
        };
        let (from, span) = place.split_once('+').map_or((place, None), |(from, span)| (from, Some(span)));
        if *timed {
            let nanos = |text: &str| parse_nanos(text).map_err(|why| error(why.clone()));
            let (from, span) = (nanos(from)?, span.map_or(Ok(Nanos::from_secs(1)), nanos)?);
            return Ok(match kind {
                "stall" => Planted::Stall(from..from.saturating_add(span)),
                _ => Planted::Gone(from),
            });
        }
        let bytes = |text: &str| parse_bytes(text).map(|bytes| bytes.0).map_err(|why| error(why.clone()));
        let (from, span) = (bytes(from)?, span.map_or(Ok(UNIT), bytes)?);
        if kind == "wraps" && from < UNIT {
            return Err(error("a drive has at least one block of 4 KiB".to_owned()));
        }
        // Whole blocks: half a block cannot be damaged apart from the rest.
        let place = from / UNIT * UNIT..from.saturating_add(span.max(1)).div_ceil(UNIT).saturating_mul(UNIT);
        Ok(match kind {
            "corrupt" => Planted::Damage(Damage::Corrupt, place),
            "misplaced" => Planted::Damage(Damage::Misplaced, place),
            "stale" => Planted::Damage(Damage::Stale, place),
            "torn" => Planted::Damage(Damage::Torn, place),
            "lost" => Planted::Damage(Damage::Lost, place),
            "read-error" => Planted::ReadError(place),
            "write-error" => Planted::WriteError(place),
            "short" => Planted::Short(place),
            "wraps" => Planted::Wraps(from / UNIT * UNIT),
            _ => Planted::Full(from),
        })
    }
}

/// As it is written down.
impl std::fmt::Display for Planted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = |bytes: u64| bytes_text(crate::units::Bytes(bytes));
        let range = |range: &Range<u64>| format!("{}+{}", bytes(range.start), bytes(range.end - range.start));
        match self {
            Planted::Damage(damage, place) => {
                let kind = match damage {
                    Damage::Corrupt => "corrupt",
                    Damage::Misplaced => "misplaced",
                    Damage::Stale => "stale",
                    Damage::Torn => "torn",
                    Damage::Lost => "lost",
                };
                write!(f, "{kind}@{}", range(place))
            }
            Planted::ReadError(place) => write!(f, "read-error@{}", range(place)),
            Planted::WriteError(place) => write!(f, "write-error@{}", range(place)),
            Planted::Short(place) => write!(f, "short@{}", range(place)),
            Planted::Wraps(capacity) => write!(f, "wraps@{}", bytes(*capacity)),
            Planted::Full(written) => write!(f, "full@{}", bytes(*written)),
            Planted::Stall(time) => {
                write!(f, "stall@{}+{}", nanos_text(time.start), nanos_text(time.end.saturating_sub(time.start)))
            }
            Planted::Gone(from) => write!(f, "gone@{}", nanos_text(*from)),
        }
    }
}

/// All faults of a drive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<Planted>);

impl Faults {
    /// Whether writes that touch `len` bytes from `place` fail.
    pub(super) fn fails_write(&self, place: u64, len: u64) -> bool {
        self.0.iter().any(|fault| matches!(fault, Planted::WriteError(bad) if touch(bad, place, len)))
    }

    /// Whether reads that touch them fail.
    pub(super) fn fails_read(&self, place: u64, len: u64) -> bool {
        self.0.iter().any(|fault| matches!(fault, Planted::ReadError(bad) if touch(bad, place, len)))
    }

    /// Whether a write of them is done in two halves.
    pub(super) fn halves(&self, place: u64, len: u64) -> bool {
        self.0.iter().any(|fault| matches!(fault, Planted::Short(bad) if touch(bad, place, len)))
    }

    /// Whether no space is left for more when so many bytes were written.
    pub(super) fn is_full(&self, written: u64) -> bool {
        self.0.iter().any(|fault| matches!(fault, Planted::Full(most) if written > *most))
    }

    /// Whether the drive does not answer at this moment.
    pub(super) fn is_gone(&self, at: Nanos) -> bool {
        self.0.iter().any(|fault| matches!(fault, Planted::Gone(from) if at >= *from))
    }

    /// When what is in flight between two moments really completes.
    pub(super) fn held(&self, submitted: Nanos, completed: Nanos) -> Nanos {
        self.0.iter().fold(completed, |completed, fault| match fault {
            Planted::Stall(time) if submitted < time.end && completed > time.start => completed.max(time.end),
            _ => completed,
        })
    }

    /// Where the drive really keeps a place: a drive that has less than it says begins anew.
    pub(super) fn kept_at(&self, place: u64) -> u64 {
        self.0.iter().fold(place, |place, fault| match fault {
            Planted::Wraps(capacity) => place % capacity,
            _ => place,
        })
    }

    /// Where the next place lies elsewhere than behind this one.
    pub(super) fn wraps_at(&self, place: u64) -> u64 {
        self.0.iter().fold(u64::MAX, |next, fault| match fault {
            Planted::Wraps(capacity) => next.min((place / capacity + 1) * capacity),
            _ => next,
        })
    }

    /// What is wrong with any of the blocks of a range: the damage that was planted first.
    pub(super) fn damage(&self, place: u64, len: u64) -> Option<Damage> {
        self.0.iter().find_map(|fault| match fault {
            Planted::Damage(damage, bad) if touch(bad, place, len) => Some(*damage),
            _ => None,
        })
    }
}

fn touch(bad: &Range<u64>, place: u64, len: u64) -> bool {
    place < bad.end && place.saturating_add(len) > bad.start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_and_written_alike() {
        for (kind, timed) in KINDS {
            let text = format!("{kind}@{}", if timed { "60s+5s" } else { "5GiB+8KiB" });
            let fault: Planted = text.parse().unwrap();
            assert!(fault.to_string().starts_with(kind), "{fault}");
            assert_eq!(fault.to_string().parse::<Planted>().unwrap(), fault, "{text}");
        }
    }

    #[test]
    fn what_is_no_fault_is_said_to_be_none() {
        let check = |text: &str, words: &str| {
            let why = text.parse::<Planted>().unwrap_err().to_string();
            assert!(why.contains(words) && why.contains(text), "{why}");
        };
        check("corrupt", "KIND@WHERE");
        check("currupt@5GB", "there are corrupt, misplaced");
        check("stall@5GB", "5GB");
        check("corrupt@5s", "5s");
        check("wraps@0B", "at least one block");
    }

    #[test]
    fn a_place_is_whole_blocks() {
        assert_eq!("torn@5000B".parse(), Ok(Planted::Damage(Damage::Torn, 4096..12288)));
        assert_eq!("torn@8KiB".parse(), Ok(Planted::Damage(Damage::Torn, 8192..12288)));
    }
}
