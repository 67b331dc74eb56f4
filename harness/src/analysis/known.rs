//! What is known of a drive beside its samples, without a spec sheet.
//!
//! Owns what follows of it for the flash behind.

use crate::units::Bytes;

/// How the bytes of a series were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workload {
    /// Each place once, in order.
    Fill,
    /// At random over a range that had been written once before, after a purge.
    #[default]
    RandomWrite,
}

/// What is known of a series' drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// How the bytes were written.
    pub workload: Workload,
    /// Addressable bytes of the drive.
    pub drive: Option<Bytes>,
    /// Bytes of the range that random writes go over.
    pub range: Option<Bytes>,
    /// Bytes of the drive in use besides the range: other people's data.
    pub others: Bytes,
}

/// Flash over what a drive offers, in tenths; datacentre drives made for many writes have up to 1.5.
const MOST_FLASH: u64 = 16;

/// When random writes on a purged and once filled range can have used up the flash: bytes written after the fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flash {
    /// Not before so many: a drive's flash is never less than what it offers.
    pub(super) least: Bytes,
    /// After so many, on any drive whose flash is at most 1.6 times what it offers.
    pub(super) most: Bytes,
    /// Bytes of the drive in use.
    pub(super) used: Bytes,
}

impl Known {
    /// When the flash can have been used up; none where the drive or the range is not known.
    pub(super) fn flash(&self) -> Option<Flash> {
        let (drive, used) = (self.drive?, self.range?.saturating_add(self.others));
        let most = Bytes(drive.0 / 10).saturating_mul(MOST_FLASH);
        Some(Flash { least: drive.saturating_sub(used), most: most.saturating_sub(used), used })
    }
}
