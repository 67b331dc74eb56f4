//! A drive-managed SMR disk: tracks overlap, so writes go to a media cache and bands are rewritten later.
//!
//! The media cache is a log: it takes any write at the disk's outer rate without a seek. When it is full, each write
//! waits for the cleaner; idle time cleans too. The cleaner goes around the bands: one that is wholly in the cache is
//! only written, any other is read, merged and written. So random writes, a few in each band, fall much deeper than
//! sequential ones. Source: Aghayev & Desnoyers, "Skylight — A Window on Shingled Disk Operation", FAST 2015 (media
//! cache, band sizes, cleaning band by band, idle cleaning).

use serde::Deserialize;

use super::Medium;
use super::disk::{Disk, DiskSpec};
use super::setting::Setting;
use crate::units::{Bytes, Size, Span};

/// An SMR disk as a drive's file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShingledSpec {
    /// Bytes of the media cache.
    pub cache: Size,
    /// Bytes of a band.
    pub band: Size,
    /// Idle time after which cleaning begins.
    #[serde(default)]
    pub clean_after: Span,
    /// The disk.
    pub disk: DiskSpec,
}

/// The cache's share of each is kept, in 8 bytes.
const MOST_BANDS: u64 = 16 << 20;

impl ShingledSpec {
    pub(super) fn check(&self, capacity: Bytes, setting: &Setting) -> Result<(), String> {
        if self.band.0 == Bytes(0) || setting.bytes(self.cache) < 2 * setting.bytes(self.band).max(1) {
            return Err("shingled needs a band, and a cache of two bands at least".to_owned());
        }
        if capacity.0 / setting.bytes(self.band).max(1) > MOST_BANDS {
            return Err(format!("a disk with more than {MOST_BANDS} bands takes too much memory: use a larger band"));
        }
        self.disk.check(capacity, setting)
    }
}

/// What the media cache holds, band by band.
#[derive(Debug)]
pub(super) struct Shingled {
    cache: f64,
    band: u64,
    clean_after: f64,
    disk: Disk,
    /// Bytes of each band in the cache.
    cached: Vec<f64>,
    /// All of them.
    held: f64,
    /// The band that the cleaner looks at next.
    next: usize,
}

impl Shingled {
    pub(super) fn new(spec: &ShingledSpec, capacity: Bytes, setting: &Setting) -> Shingled {
        // A band is scaled with the disk: as many bands, each an N-th.
        let band = setting.bytes(spec.band).max(1);
        let bands = usize::try_from(capacity.0.div_ceil(band)).unwrap_or(usize::MAX);
        Shingled {
            cache: setting.cache(spec.cache),
            band,
            clean_after: spec.clean_after.0.0 as f64,
            disk: Disk::new(&spec.disk, capacity, setting),
            cached: vec![0.0; bands],
            held: 0.0,
            next: 0,
        }
    }

    /// Cleans the next band that the cache holds something of; gives what that takes.
    fn clean(&mut self) -> f64 {
        if self.held <= 0.0 {
            return 0.0;
        }
        while self.cached[self.next] <= 0.0 {
            self.next = (self.next + 1) % self.cached.len();
        }
        let start = self.next as u64 * self.band;
        let band = self.band as f64;
        let cached = std::mem::take(&mut self.cached[self.next]);
        self.held = (self.held - cached).max(0.0);
        let from_cache = self.disk.transfer(0, cached);
        let merged = if cached < band { self.disk.transfer(start, band) + self.disk.seek(start, start) } else { 0.0 };
        from_cache + self.disk.seek(0, 0) + merged + self.disk.seek(start, 0) + self.disk.transfer(start, band)
    }
}

impl Medium for Shingled {
    #[inline]
    fn write(&mut self, offset: u64, len: u32) -> f64 {
        let bytes = f64::from(len);
        let mut ns = self.disk.transfer(0, bytes);
        while self.held + bytes > self.cache && self.held > 0.0 {
            ns += self.clean();
        }
        // Rewriting what the cache holds already takes new room in its log, so a band may hold more than its size.
        let band = ((offset / self.band) as usize).min(self.cached.len() - 1);
        self.cached[band] += bytes;
        self.held += bytes;
        ns
    }

    #[inline]
    fn read(&mut self, offset: u64, len: u32) -> f64 {
        self.disk.read(offset, len)
    }

    fn discard(&mut self, offset: u64, len: u64) {
        let end = offset.saturating_add(len) / self.band;
        for band in offset.div_ceil(self.band)..=end {
            if let Some(cached) = self.cached.get_mut(band as usize) {
                self.held = (self.held - std::mem::take(cached)).max(0.0);
            }
        }
    }

    fn idle(&mut self, ns: f64) {
        let mut time = ns - self.clean_after;
        while self.held > 0.0 && time > 0.0 {
            time -= self.clean();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::sim::Request;
    use crate::engine::sim::model::bench::random_writes;
    use crate::units::{GIB, KIB, MIB, Nanos, Speed};

    const CAPACITY: u64 = 20 * GIB;

    fn shingled() -> Shingled {
        let speed = Speed(Bytes(100 * MIB));
        let spec = ShingledSpec {
            cache: Size(Bytes(GIB)),
            band: Size(Bytes(32 * MIB)),
            clean_after: Span(Nanos::from_secs(1)),
            disk: DiskSpec {
                outer: speed,
                inner: speed,
                shortest_seek: Span(Nanos::from_millis(1)),
                longest_seek: Span(Nanos::from_millis(17)),
                revolution: Span(Nanos::from_millis(8)),
            },
        };
        assert_eq!(spec.check(Bytes(CAPACITY), &Setting::default()), Ok(()));
        Shingled::new(&spec, Bytes(CAPACITY), &Setting::default())
    }

    /// MiB/s of `len` sequential bytes from `start` on.
    fn sequential(disk: &mut Shingled, start: u64, len: u64) -> f64 {
        let ns: f64 = (0..len / MIB).map(|n| disk.write(start + n * MIB, MIB as u32)).sum();
        len as f64 / MIB as f64 * 1e9 / ns
    }

    /// MiB/s of so many random bytes.
    fn random(disk: &mut Shingled, len: u64) -> f64 {
        let block = 16 * KIB as u32;
        let requests = random_writes(1, CAPACITY, block).take((len / u64::from(block)) as usize);
        let ns: f64 = requests
            .map(|request| match request {
                Request::Write { offset, len } => disk.write(offset, len),
                _ => 0.0,
            })
            .sum();
        len as f64 / MIB as f64 * 1e9 / ns
    }

    #[test]
    fn any_write_is_fast_until_the_media_cache_is_full() {
        assert!((sequential(&mut shingled(), 0, GIB) / 100.0 - 1.0).abs() < 0.01);
        assert!((random(&mut shingled(), GIB) / 100.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn then_sequential_writes_are_written_twice_and_read_once_and_random_ones_are_far_slower() {
        let mut disk = shingled();
        sequential(&mut disk, 0, GIB);
        let rate = sequential(&mut disk, GIB, 4 * GIB);
        // A third of the rate, less two seeks a band.
        assert!((29.0..33.0).contains(&rate), "{rate} MiB/s");
        let mut disk = shingled();
        random(&mut disk, GIB);
        let rate = random(&mut disk, GIB);
        assert!((2.0..8.0).contains(&rate), "{rate} MiB/s");
    }

    #[test]
    fn idle_time_cleans_the_cache() {
        let mut disk = shingled();
        sequential(&mut disk, 0, GIB);
        disk.idle(1e9);
        assert!(disk.held > 0.9 * GIB as f64, "a short rest cleans nothing");
        disk.idle(60e9);
        assert_eq!(disk.held, 0.0);
        assert!((sequential(&mut disk, 0, GIB) / 100.0 - 1.0).abs() < 0.01);
    }
}
