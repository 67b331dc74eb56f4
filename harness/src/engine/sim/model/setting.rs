//! What becomes of a drive's figures in one unit, in one run, at one scale.

use crate::units::{Size, Span, Speed};

/// Factors on the figures of a drive's file.
///
/// `scale = N` divides capacity and rates alike: an N-th of the bytes in the same time, so the same curve over time
/// with an N-th of the I/Os. Bytes an I/O stay, so what one I/O costs is multiplied by N; spans of the outer world
/// (idle times, stalls, cooling) stay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Divides capacity and rates.
    pub scale: f64,
    /// Factor on rates before any cliff.
    pub fast: f64,
    /// Factor on rates after one.
    pub floor: f64,
    /// Factor on the size of caches.
    pub room: f64,
    /// Decides what is drawn in the model.
    pub seed: u64,
}

impl Default for Setting {
    fn default() -> Setting {
        Setting { scale: 1.0, fast: 1.0, floor: 1.0, room: 1.0, seed: 0 }
    }
}

impl Setting {
    /// Nanoseconds a byte at `speed`, where the drive is fast.
    #[must_use]
    pub fn ns_per_byte(&self, speed: Speed) -> f64 {
        1e9 * self.scale / (speed.0.0 as f64 * self.fast)
    }

    /// Nanoseconds a byte at `speed`, where the drive is at its floor.
    #[must_use]
    pub fn floor_ns_per_byte(&self, speed: Speed) -> f64 {
        1e9 * self.scale / (speed.0.0 as f64 * self.floor)
    }

    /// What one step of the drive takes, in nanoseconds.
    #[must_use]
    pub fn time(&self, span: Span) -> f64 {
        span.0.0 as f64 * self.scale / self.fast
    }

    /// What one step of the drive's upkeep takes, in nanoseconds.
    #[must_use]
    pub fn floor_time(&self, span: Span) -> f64 {
        span.0.0 as f64 * self.scale / self.floor
    }

    /// Bytes of the drive.
    #[must_use]
    pub fn bytes(&self, size: Size) -> u64 {
        (size.0.0 as f64 / self.scale) as u64
    }

    /// Bytes of a cache.
    #[must_use]
    pub fn cache(&self, size: Size) -> f64 {
        size.0.0 as f64 * self.room / self.scale
    }
}
