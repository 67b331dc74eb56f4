//! A pSLC cache: cells that take one bit first, fast, and are folded into all their bits later.
//!
//! A fixed part has cells of its own; a dynamic part borrows those of free space, `bits` of them for each bit that it
//! holds. Writes go to the cache while it has room, then straight to cells with all their bits, and when no cell is
//! free any more, each write must first fold some of the cache: a drive with a large dynamic cache has two cliffs.
//! Idle time folds, and refills the room of the cache.
//!
//! Mechanism as drive makers describe it (for example Micron, "Optimized Client Computing With Dynamic Write
//! Acceleration", technical brief, 2014). Knows no collector: the native rate stands for all that goes on there.

use serde::Deserialize;

use super::Medium;
use super::setting::Setting;
use super::used::Used;
use crate::units::{Bytes, Ppm, Share, Size, Span, Speed};

/// A pSLC cache and what is behind it, as a drive's file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PslcSpec {
    /// Bytes of cells with all their bits in use, the fixed cache's own cells not counted.
    pub raw: Size,
    /// Bits a cell: 3 for TLC, 4 for QLC.
    pub bits: u32,
    /// Bytes that the fixed cache takes.
    #[serde(default)]
    pub fixed: Size,
    /// Share of the free cells that the dynamic cache may borrow …
    #[serde(default)]
    pub dynamic: Share,
    /// … up to this many bytes in it.
    pub dynamic_most: Option<Size>,
    /// Rate of writes into the cache.
    pub write: Speed,
    /// Rate of writes past it.
    pub native: Speed,
    /// Rate of moving bytes from the cache to cells with all their bits.
    pub fold: Speed,
    /// Rate of reads.
    pub read: Speed,
    /// Idle time after which folding begins.
    #[serde(default)]
    pub fold_after: Span,
}

impl PslcSpec {
    pub(super) fn check(&self, capacity: Bytes, setting: &Setting) -> Result<(), String> {
        if !(2..=8).contains(&self.bits) || self.dynamic.0 > Ppm(1_000_000) {
            return Err("pslc needs bits from 2 to 8 a cell, and a dynamic share of at most 100 %".to_owned());
        }
        if setting.bytes(self.raw) < capacity.0 {
            return Err(format!("raw cells of {} are less than the capacity of {capacity}", self.raw.0));
        }
        Ok(())
    }
}

/// Which cells hold what, in bytes.
#[derive(Debug)]
pub(super) struct Pslc {
    raw: f64,
    bits: f64,
    fixed_room: f64,
    dynamic_share: f64,
    dynamic_most: f64,
    write: f64,
    native: f64,
    fold: f64,
    read: f64,
    fold_after: f64,
    used: Used,
    /// Data in the fixed cache.
    fixed: f64,
    /// Data in the dynamic cache.
    dynamic: f64,
}

impl Pslc {
    pub(super) fn new(spec: &PslcSpec, capacity: Bytes, setting: &Setting) -> Pslc {
        Pslc {
            raw: setting.bytes(spec.raw) as f64,
            bits: f64::from(spec.bits),
            fixed_room: setting.cache(spec.fixed),
            dynamic_share: (spec.dynamic.0.fraction() * setting.room).min(1.0),
            dynamic_most: spec.dynamic_most.map_or(f64::INFINITY, |most| setting.cache(most)),
            write: setting.ns_per_byte(spec.write),
            native: setting.floor_ns_per_byte(spec.native),
            fold: setting.floor_ns_per_byte(spec.fold),
            read: setting.ns_per_byte(spec.read),
            fold_after: spec.fold_after.0.0 as f64,
            used: Used::new(capacity),
            fixed: 0.0,
            dynamic: 0.0,
        }
    }

    /// Cells that hold all their bits, in bytes.
    #[inline]
    fn native_data(&self) -> f64 {
        (self.used.bytes() as f64 - self.fixed - self.dynamic).max(0.0)
    }
}

impl Medium for Pslc {
    #[inline]
    fn write(&mut self, offset: u64, len: u32) -> f64 {
        let bytes = f64::from(len);
        let native = self.native_data();
        self.used.write(offset, u64::from(len));
        if self.fixed + bytes <= self.fixed_room {
            self.fixed += bytes;
            return bytes * self.write;
        }
        let borrowed = self.bits * (self.dynamic + bytes);
        if borrowed <= self.dynamic_share * (self.raw - native) && self.dynamic + bytes <= self.dynamic_most {
            self.dynamic += bytes;
            return bytes * self.write;
        }
        let free = self.raw - native - self.bits * self.dynamic;
        // Folding a byte frees `bits` cells' worth and takes one.
        let folded = if free >= bytes { 0.0 } else { (bytes / (self.bits - 1.0)).min(self.dynamic) };
        self.dynamic -= folded;
        bytes * self.native + folded * self.fold
    }

    #[inline]
    fn read(&mut self, _: u64, len: u32) -> f64 {
        f64::from(len) * self.read
    }

    fn discard(&mut self, offset: u64, len: u64) {
        let before = self.used.bytes() as f64;
        let gone = self.used.discard(offset, len) as f64;
        // Which of them were cached is not kept: a like share of each.
        let left = if before > 0.0 { 1.0 - gone / before } else { 0.0 };
        self.fixed *= left;
        self.dynamic *= left;
    }

    fn idle(&mut self, ns: f64) {
        let mut bytes = (ns - self.fold_after).max(0.0) / self.fold;
        for cache in [&mut self.dynamic, &mut self.fixed] {
            let folded = cache.min(bytes);
            *cache -= folded;
            bytes -= folded;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::MIB;

    const BLOCK: u32 = MIB as u32;

    fn pslc(bits: u32, fixed: u64, dynamic: Ppm, most: Option<u64>) -> Pslc {
        let speed = |mb_s: u64| Speed(Bytes(mb_s * 1_000_000));
        let spec = PslcSpec {
            raw: Size(Bytes(1200 * MIB)),
            bits,
            fixed: Size(Bytes(fixed * MIB)),
            dynamic: Share(dynamic),
            dynamic_most: most.map(|mib| Size(Bytes(mib * MIB))),
            write: speed(4000),
            native: speed(2000),
            fold: speed(1000),
            read: speed(4000),
            fold_after: Span::default(),
        };
        assert_eq!(spec.check(Bytes(1000 * MIB), &Setting::default()), Ok(()));
        Pslc::new(&spec, Bytes(1000 * MIB), &Setting::default())
    }

    /// Writes MiB after MiB and gives where the rate changes, with the rate from there in MB/s.
    fn rates(pslc: &mut Pslc, range: std::ops::Range<u64>) -> Vec<(u64, u64)> {
        let rate = |at: u64| (f64::from(BLOCK) * 1e3 / pslc.write(at * MIB, BLOCK)).round() as u64;
        let mut all: Vec<(u64, u64)> = range.clone().zip(range.map(rate)).collect();
        all.dedup_by_key(|(_, rate)| *rate);
        all
    }

    #[test]
    fn a_fixed_cache_has_one_cliff_at_its_size() {
        let mut pslc = pslc(3, 60, Ppm(0), None);
        assert_eq!(rates(&mut pslc, 0..1000), [(0, 4000), (60, 2000)]);
    }

    #[test]
    fn a_dynamic_cache_of_most_cells_has_two() {
        // 4 × 240 of 1200 cells are 80 %; 240 are left for all their bits; then a third of each write is folded first.
        let mut pslc = pslc(4, 0, Ppm(800_000), None);
        assert_eq!(rates(&mut pslc, 0..1000), [(0, 4000), (240, 2000), (480, 1200)]);
    }

    #[test]
    fn idle_time_refills_the_cache_and_a_full_drive_has_a_smaller_one() {
        let mut pslc = pslc(3, 0, Ppm(500_000), None);
        assert_eq!(rates(&mut pslc, 0..900), [(0, 4000), (200, 2000), (800, 1000)]);
        pslc.idle(0.25 * 1e9);
        assert!(pslc.dynamic < 1.0, "what was cached is folded, {} bytes are not", pslc.dynamic);
        // 300 cells are free, and those of what is replaced; half of them hold a third: 3 n = (300 + n) / 2.
        assert_eq!(rates(&mut pslc, 0..100), [(0, 4000), (59, 2000)]);
        pslc.idle(0.02 * 1e9);
        assert_eq!(rates(&mut pslc, 0..100)[0], (0, 4000), "some of it is back at once");
    }

    #[test]
    fn a_purge_brings_back_the_whole_cache() {
        let mut pslc = pslc(3, 30, Ppm(500_000), Some(70));
        let fresh = rates(&mut pslc, 0..1000);
        assert_eq!(fresh, [(0, 4000), (100, 2000)]);
        pslc.discard(0, 1000 * MIB);
        assert_eq!(rates(&mut pslc, 0..1000), fresh);
    }
}
