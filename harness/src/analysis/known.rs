//! What is known of a drive beside its samples, without a spec sheet.
//!
//! Owns only the type.

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
