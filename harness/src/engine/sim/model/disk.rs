//! A disk: zones from the fast outer to the slow inner tracks, and seeks.
//!
//! Bytes a revolution fall with the radius, so the rate falls with the address; between both ends it is taken as
//! linear. A request that does not follow the one before costs a seek, which grows with the square root of the
//! distance (the short-seek form for all), and half a revolution. Source: Ruemmler & Wilkes, "An Introduction to Disk
//! Drive Modeling", IEEE Computer 27(3), 1994.

use serde::Deserialize;

use super::Medium;
use super::setting::Setting;
use crate::units::{Bytes, Span, Speed};

/// A disk as a drive's file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskSpec {
    /// Rate at the first byte.
    pub outer: Speed,
    /// Rate at the last byte.
    pub inner: Speed,
    /// Seek to the neighbouring track.
    pub shortest_seek: Span,
    /// Seek over the whole disk.
    pub longest_seek: Span,
    /// One turn.
    pub revolution: Span,
}

impl DiskSpec {
    pub(super) fn check(&self, _: Bytes, _: &Setting) -> Result<(), String> {
        if self.longest_seek < self.shortest_seek {
            return Err("the longest_seek of a disk is shorter than its shortest_seek".to_owned());
        }
        Ok(())
    }
}

/// Where the head is.
#[derive(Debug)]
pub(super) struct Disk {
    capacity: f64,
    outer: f64,
    inner: f64,
    shortest_seek: f64,
    seek_range: f64,
    half_turn: f64,
    /// Where the request before ended.
    head: u64,
}

impl Disk {
    pub(super) fn new(spec: &DiskSpec, capacity: Bytes, setting: &Setting) -> Disk {
        let shortest_seek = setting.floor_time(spec.shortest_seek);
        Disk {
            capacity: capacity.0.max(1) as f64,
            outer: 1.0 / setting.floor_ns_per_byte(spec.outer),
            inner: 1.0 / setting.floor_ns_per_byte(spec.inner),
            shortest_seek,
            seek_range: setting.floor_time(spec.longest_seek) - shortest_seek,
            half_turn: setting.floor_time(spec.revolution) / 2.0,
            head: 0,
        }
    }

    /// Time to transfer `len` bytes at `offset`, once the head is there.
    #[inline]
    pub(super) fn transfer(&self, offset: u64, len: f64) -> f64 {
        let way = (offset as f64 / self.capacity).min(1.0);
        len / (self.outer + (self.inner - self.outer) * way)
    }

    /// Time to bring the head to `offset`.
    #[inline]
    pub(super) fn seek(&mut self, offset: u64, end: u64) -> f64 {
        let from = std::mem::replace(&mut self.head, end);
        if from == offset {
            return 0.0;
        }
        let distance = from.abs_diff(offset) as f64 / self.capacity;
        self.shortest_seek + self.seek_range * libm::sqrt(distance.min(1.0)) + self.half_turn
    }
}

impl Medium for Disk {
    #[inline]
    fn write(&mut self, offset: u64, len: u32) -> f64 {
        self.seek(offset, offset + u64::from(len)) + self.transfer(offset, f64::from(len))
    }

    #[inline]
    fn read(&mut self, offset: u64, len: u32) -> f64 {
        self.write(offset, len)
    }

    fn discard(&mut self, _: u64, _: u64) {}

    fn idle(&mut self, _: f64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{GIB, MIB, Nanos};

    const CAPACITY: u64 = 100 * GIB;

    fn disk() -> Disk {
        let spec = DiskSpec {
            outer: Speed(Bytes(200_000_000)),
            inner: Speed(Bytes(100_000_000)),
            shortest_seek: Span(Nanos::from_millis(1)),
            longest_seek: Span(Nanos::from_millis(17)),
            revolution: Span(Nanos::from_millis(8)),
        };
        Disk::new(&spec, Bytes(CAPACITY), &Setting::default())
    }

    #[track_caller]
    fn check_rate(disk: &mut Disk, at: u64, mb_s: f64) {
        disk.write(at, MIB as u32);
        let rate = MIB as f64 * 1e3 / disk.write(at + MIB, MIB as u32);
        assert!((rate / mb_s - 1.0).abs() < 0.01, "at {at}: {rate} MB/s");
    }

    #[test]
    fn the_rate_falls_from_the_outer_to_the_inner_tracks() {
        let mut disk = disk();
        check_rate(&mut disk, 0, 200.0);
        check_rate(&mut disk, CAPACITY / 2, 150.0);
        check_rate(&mut disk, CAPACITY - 2 * MIB, 100.0);
    }

    #[test]
    fn a_jump_costs_a_seek_and_half_a_turn() {
        let mut disk = disk();
        let follows = disk.write(0, 4096);
        let jumps = disk.write(CAPACITY / 4, 4096) - disk.transfer(CAPACITY / 4, 4096.0);
        assert!(follows < 30e3, "{follows} ns");
        // 1 + 16 × √¼ + 4 ms.
        assert!((jumps / 13e6 - 1.0).abs() < 1e-3, "{jumps} ns");
    }
}
