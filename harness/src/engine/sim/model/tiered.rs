//! A tiered volume: an SSD in front of a disk, with a buffer that is kept free.
//!
//! Writes take room on the SSD while there is some, then go to the disk at its rate. Once the SSD has been full, idle
//! time moves data to the disk until a buffer is free: a small one in normal use, a larger one after sustained writes
//! have overrun it, until the volume has been at rest for a while. Moving stops while the host writes.
//!
//! Source of the behaviour: the founding measurement of a Fusion volume (113 GiB fast, then the disk; on the full
//! volume 4 GiB fast in normal use and 8 GiB under sustained writes). How the volume decides is not published. A
//! simplification: rewriting takes new room too, and what it replaces is given back by the mover.

use serde::Deserialize;

use super::Medium;
use super::disk::{Disk, DiskSpec};
use super::setting::Setting;
use super::used::Used;
use crate::units::{Bytes, Size, Span, Speed};

/// A tiered volume as a drive's file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TieredSpec {
    /// Bytes of the SSD that data can be in.
    pub ssd: Size,
    /// Rate of writes to the SSD.
    pub write: Speed,
    /// Rate of reads from the SSD.
    pub read: Speed,
    /// Buffer kept free in normal use.
    pub keep: Size,
    /// Buffer kept free after sustained writes.
    pub keep_sustained: Size,
    /// Rest without a request after which use is normal again.
    pub calm_after: Span,
    /// Rate at which the mover frees the buffer.
    pub mover: Speed,
    /// The disk behind.
    pub disk: DiskSpec,
}

impl TieredSpec {
    pub(super) fn check(&self, capacity: Bytes, setting: &Setting) -> Result<(), String> {
        if self.ssd < self.keep_sustained || self.keep_sustained < self.keep {
            return Err("tiered needs keep ≤ keep_sustained ≤ ssd".to_owned());
        }
        self.disk.check(capacity, setting)
    }
}

/// How full the SSD is.
#[derive(Debug)]
pub(super) struct Tiered {
    ssd: f64,
    write: f64,
    read: f64,
    keep: f64,
    keep_sustained: f64,
    calm_after: f64,
    mover: f64,
    disk: Disk,
    used: Used,
    /// Free bytes of the SSD.
    free: f64,
    /// The SSD has been full: from now on only a buffer is kept free.
    full: bool,
    /// The last writes overran the buffer.
    sustained: bool,
    /// Where the data begin that never were on the SSD.
    spilled: u64,
}

impl Tiered {
    pub(super) fn new(spec: &TieredSpec, capacity: Bytes, setting: &Setting) -> Tiered {
        let ssd = setting.cache(spec.ssd);
        Tiered {
            ssd,
            write: setting.ns_per_byte(spec.write),
            read: setting.ns_per_byte(spec.read),
            keep: setting.cache(spec.keep),
            keep_sustained: setting.cache(spec.keep_sustained),
            calm_after: spec.calm_after.0.0 as f64,
            mover: setting.floor_ns_per_byte(spec.mover),
            disk: Disk::new(&spec.disk, capacity, setting),
            used: Used::new(capacity),
            free: ssd,
            full: false,
            sustained: false,
            spilled: u64::MAX,
        }
    }
}

impl Medium for Tiered {
    #[inline]
    fn write(&mut self, offset: u64, len: u32) -> f64 {
        let bytes = f64::from(len);
        self.used.write(offset, u64::from(len));
        if self.free >= bytes {
            self.free -= bytes;
            return bytes * self.write;
        }
        if !self.full {
            self.spilled = offset;
        }
        self.full = true;
        self.sustained = true;
        self.disk.write(offset, len)
    }

    #[inline]
    fn read(&mut self, offset: u64, len: u32) -> f64 {
        if offset < self.spilled { f64::from(len) * self.read } else { self.disk.read(offset, len) }
    }

    fn discard(&mut self, offset: u64, len: u64) {
        self.used.discard(offset, len);
        if self.used.is_empty() {
            self.free = self.ssd;
            self.full = false;
            self.sustained = false;
            self.spilled = u64::MAX;
        }
    }

    fn idle(&mut self, ns: f64) {
        if !self.full {
            return;
        }
        self.sustained &= ns < self.calm_after;
        let keep = if self.sustained { self.keep_sustained } else { self.keep };
        // What is free beyond the buffer is given to data that are read often.
        self.free = (self.free + ns / self.mover).min(keep);
    }
}
