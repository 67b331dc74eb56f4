//! How a target was purged, and what a look at a device afterwards found.
//!
//! Only the types and their words.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// How thoroughly what a run may use was discarded: sanitize > format > discard > fstrim > delete > none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PurgeGrade {
    /// Not at all.
    None,
    /// Files were deleted; the drive may not know.
    Delete,
    /// Files were deleted, and the drive was told what is unused.
    Fstrim,
    /// The drive was told that nothing on it is needed.
    Discard,
    /// The namespace was formatted.
    Format,
    /// The drive's flash was sanitized.
    Sanitize,
}

impl PurgeGrade {
    /// As the environment has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            PurgeGrade::None => "none",
            PurgeGrade::Delete => "delete",
            PurgeGrade::Fstrim => "fstrim",
            PurgeGrade::Discard => "discard",
            PurgeGrade::Format => "format",
            PurgeGrade::Sanitize => "sanitize",
        }
    }
}

/// A purge that is only done when the user asks for it by name: an NVMe drive's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NamedPurge {
    /// Format NVM with erasure of user data: a namespace, or all where the drive says so.
    Format,
    /// Sanitize: all namespaces of the subsystem.
    Sanitize,
}

impl NamedPurge {
    /// As `--purge` takes it, and as the environment has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.grade().word()
    }

    /// How thorough it is.
    #[must_use]
    pub fn grade(self) -> PurgeGrade {
        match self {
            NamedPurge::Format => PurgeGrade::Format,
            NamedPurge::Sanitize => PurgeGrade::Sanitize,
        }
    }
}

/// What all bytes of blocks read as that were deallocated, if the device promises anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reads {
    /// 00h.
    Zeros,
    /// FFh.
    Ones,
}

impl Reads {
    /// The byte.
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            Reads::Zeros => 0,
            Reads::Ones => 0xff,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Reads::Zeros => "zeros",
            Reads::Ones => "ones",
        }
    }
}

/// What a look at a device after a purge found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PurgeCheck {
    /// What the device promises that the purged blocks read as; none where it promises nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promise: Option<Reads>,
    /// Blocks of 4 KiB that were read, spread over all that was purged.
    pub sampled: u32,
    /// Those that do not read as promised, or as discarded blocks would, or not at all.
    pub wrong: u32,
    /// The first of them: its byte on the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_wrong: Option<u64>,
    /// What the drive counted as in use before (NVMe NUSE), where it counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_before: Option<Bytes>,
    /// And after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_after: Option<Bytes>,
}

impl PurgeCheck {
    /// Whether the device broke its promise.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.promise.is_some() && self.wrong > 0
    }
}

/// `verified: 64 sampled blocks read as zeros; NUSE 0.5 GB → 0 B`
impl fmt::Display for PurgeCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PurgeCheck { sampled, wrong, .. } = self;
        match (self.promise, self.first_wrong) {
            (None, None) if *sampled > 0 => write!(f, "{sampled} sampled blocks read as discarded ones")?,
            (None, Some(_)) => write!(
                f,
                "{wrong} of {sampled} sampled blocks do not read as discarded ones, which after a format they need not"
            )?,
            (None, None) => f.write_str("not verifiable: the device does not promise what discarded blocks read as")?,
            (Some(promise), None) => write!(f, "verified: {sampled} sampled blocks read as {}", promise.word())?,
            (Some(promise), Some(first)) => write!(
                f,
                "not verified: {wrong} of {sampled} sampled blocks do not read as {}, as the device promises of \
                 discarded blocks; the first is at byte {first}",
                promise.word()
            )?,
        }
        match (self.used_before, self.used_after) {
            (Some(before), Some(after)) => write!(f, "; NUSE {before} → {after}"),
            (None, Some(after)) => write!(f, "; NUSE {after}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_says_what_was_promised_what_was_found_and_what_the_drive_counts() {
        let check = |check: PurgeCheck, expect: &str| assert_eq!(check.to_string(), expect);
        let none = PurgeCheck::default;
        let zeros = || PurgeCheck { promise: Some(Reads::Zeros), sampled: 64, ..none() };
        check(none(), "not verifiable: the device does not promise what discarded blocks read as");
        check(zeros(), "verified: 64 sampled blocks read as zeros");
        check(PurgeCheck { sampled: 64, ..none() }, "64 sampled blocks read as discarded ones");
        check(
            PurgeCheck { sampled: 64, wrong: 3, first_wrong: Some(0), ..none() },
            "3 of 64 sampled blocks do not read as discarded ones, which after a format they need not",
        );
        let counted = PurgeCheck { used_before: Some(Bytes(500_000_000)), used_after: Some(Bytes(0)), ..zeros() };
        check(counted, "verified: 64 sampled blocks read as zeros; NUSE 500 MB → 0 B");
        check(
            PurgeCheck { wrong: 3, first_wrong: Some(4096), ..zeros() },
            "not verified: 3 of 64 sampled blocks do not read as zeros, as the device promises of discarded blocks; \
             the first is at byte 4096",
        );
    }

    #[test]
    fn grades_are_in_the_order_of_their_thoroughness() {
        use PurgeGrade::{Delete, Discard, Format, Fstrim, None, Sanitize};
        assert!([None, Delete, Fstrim, Discard, Format, Sanitize].is_sorted());
        assert!(NamedPurge::Format.grade() == Format && NamedPurge::Sanitize.grade() == Sanitize);
    }
}
