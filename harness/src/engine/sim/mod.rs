//! Simulated drives: models whose truth is known, on a virtual clock.
//!
//! A [`Model`] says when a request completes; it holds no data. What blocks hold is kept beside it as one stamp a
//! written extent, so that terabytes fit in memory. The same run loop, journal, analysis and verdict work on it as on
//! a real drive. Pure and seeded: the same requests at the same times complete at the same times. What makes it an
//! engine is in `engine/simulated.rs`.

pub mod contents;
pub mod drive;
pub mod faults;
mod files;
mod look;
pub mod model;
pub(crate) mod world;

use crate::sample::telemetry::Heat;
use crate::units::Nanos;

/// What reaches the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Writes bytes.
    Write {
        /// First byte on the drive.
        offset: u64,
        /// Bytes.
        len: u32,
    },
    /// Reads bytes.
    Read {
        /// First byte on the drive.
        offset: u64,
        /// Bytes.
        len: u32,
    },
    /// Makes durable what was written.
    Flush,
    /// Says that a range is unused.
    Discard {
        /// First byte on the drive.
        offset: u64,
        /// Bytes.
        len: u64,
    },
}

/// A drive's timing: where its flash, its cache and its credits stand, and what a request costs there.
///
/// What happens while it idles (a cache that drains, credits that come back) follows from the time between requests.
pub trait Model: Send {
    /// Takes a request at `now`, which never goes back; gives when it completes, at or after `now`.
    ///
    /// Requests in flight share the drive: one that comes while others are in flight completes the later for it.
    fn serve(&mut self, now: Nanos, request: Request) -> Nanos;

    /// How warm it is at `now`; none where it knows no heat.
    fn heat(&self, _now: Nanos) -> Option<Heat> {
        None
    }
}

/// Why a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The segment is not open.
    NotOpen,
    /// There is no such file.
    NoFile,
    /// No space is left, in the filesystem or on the drive.
    NoSpace,
    /// The request crosses a border or was never possible.
    Invalid,
    /// The drive could not read or write.
    Medium,
    /// The drive does not answer any more.
    Gone,
}
