//! A measured curve: the rate of writes over used space, and over what was written since the drive was purged.
//!
//! For drives whose curve does not follow from a plain collector; a drive that is made of it says `fitted = true`. The
//! rate is `fresh` until raw flash has been written once; then it falls below the level of the curve, rises above it,
//! and comes to it when a share of the used space has been written again: the shape that every purged drive in the
//! field shows. The level of the curve is interpolated linearly over used space.

use serde::Deserialize;

use super::Medium;
use super::setting::Setting;
use super::used::Used;
use crate::units::{Bytes, Share, Size, Speed};

/// A measured curve as a drive's file has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedSpec {
    /// Bytes that are written at the fresh rate after a purge.
    pub raw: Size,
    /// Rate of writes until then.
    pub fresh: Speed,
    /// Rate of reads.
    pub read: Speed,
    /// Steady rate over used space, least used first.
    pub curve: Vec<Point>,
    /// Share of the used space that is written between the cliff and the steady level.
    pub settle: Share,
    /// Depth of the trough after the cliff, as a share of the steady rate.
    #[serde(default)]
    pub undershoot: Share,
    /// Height of the peak after the trough, as a share of the steady rate.
    #[serde(default)]
    pub overshoot: Share,
}

/// One point of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Bytes in use.
    pub used: Size,
    /// Steady rate of writes.
    pub write: Speed,
}

impl FittedSpec {
    pub(super) fn check(&self, _: Bytes, _: &Setting) -> Result<(), String> {
        if self.curve.is_empty() || !self.curve.is_sorted_by(|a, b| a.used < b.used) {
            return Err("fitted needs a curve, each point with more used space than the one before".to_owned());
        }
        if self.undershoot.0.fraction() >= 1.0 {
            return Err("an undershoot of 100 % would be a standstill".to_owned());
        }
        Ok(())
    }
}

/// Where on the curve the drive is.
#[derive(Debug)]
pub(super) struct Fitted {
    raw: u64,
    /// Bytes a nanosecond.
    fresh: f64,
    read: f64,
    /// Used bytes, and bytes a nanosecond.
    curve: Vec<(f64, f64)>,
    settle: f64,
    undershoot: f64,
    overshoot: f64,
    used: Used,
    since_purge: u64,
    /// The curve at the used space, and the bytes in which it is reached.
    steady: f64,
    settle_bytes: f64,
}

impl Fitted {
    pub(super) fn new(spec: &FittedSpec, capacity: Bytes, setting: &Setting) -> Fitted {
        let point = |point: &Point| (setting.bytes(point.used) as f64, 1.0 / setting.floor_ns_per_byte(point.write));
        let mut fitted = Fitted {
            raw: setting.bytes(spec.raw),
            fresh: 1.0 / setting.ns_per_byte(spec.fresh),
            read: setting.ns_per_byte(spec.read),
            curve: spec.curve.iter().map(point).collect(),
            settle: spec.settle.0.fraction(),
            undershoot: spec.undershoot.0.fraction(),
            overshoot: spec.overshoot.0.fraction(),
            used: Used::new(capacity),
            since_purge: 0,
            steady: 0.0,
            settle_bytes: 0.0,
        };
        fitted.find_steady();
        fitted
    }

    fn find_steady(&mut self) {
        let used = self.used.bytes() as f64;
        let above = self.curve.partition_point(|(at, _)| *at <= used);
        let (low, high) = (self.curve[above.saturating_sub(1)], self.curve[above.min(self.curve.len() - 1)]);
        let way = if high.0 > low.0 { ((used - low.0) / (high.0 - low.0)).clamp(0.0, 1.0) } else { 0.0 };
        self.steady = (low.1 + (high.1 - low.1) * way).min(self.fresh);
        self.settle_bytes = (self.settle * used).max(1.0);
    }

    /// Bytes a nanosecond.
    #[inline]
    fn rate(&self) -> f64 {
        let Some(since_cliff) = self.since_purge.checked_sub(self.raw) else { return self.fresh };
        let way = since_cliff as f64 / self.settle_bytes;
        // Half the way from the trough to the peak, the other half down to the level.
        let swing = match way {
            way if way >= 1.0 => return self.steady,
            way if way < 0.5 => -self.undershoot + 2.0 * way * (self.undershoot + self.overshoot),
            way => 2.0 * (1.0 - way) * self.overshoot,
        };
        (self.steady * (1.0 + swing)).min(self.fresh)
    }
}

impl Medium for Fitted {
    #[inline]
    fn write(&mut self, offset: u64, len: u32) -> f64 {
        if self.used.write(offset, u64::from(len)) > 0 {
            self.find_steady();
        }
        let ns = f64::from(len) / self.rate();
        self.since_purge += u64::from(len);
        ns
    }

    #[inline]
    fn read(&mut self, _: u64, len: u32) -> f64 {
        f64::from(len) * self.read
    }

    /// Forgetting everything is a purge; less than that only makes the drive emptier.
    fn discard(&mut self, offset: u64, len: u64) {
        self.used.discard(offset, len);
        if self.used.is_empty() {
            self.since_purge = 0;
        }
        self.find_steady();
    }

    fn idle(&mut self, _: f64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{MIB, Ppm};

    const BLOCK: u32 = MIB as u32;

    fn fitted() -> Fitted {
        let point = |used: u64, mb_s: u64| Point { used: Size(Bytes(used * MIB)), write: speed(mb_s) };
        let spec = FittedSpec {
            raw: Size(Bytes(1200 * MIB)),
            fresh: speed(500),
            read: speed(500),
            curve: vec![point(0, 400), point(500, 200), point(1000, 100)],
            settle: Share(Ppm(400_000)),
            undershoot: Share(Ppm(300_000)),
            overshoot: Share(Ppm(100_000)),
        };
        assert_eq!(spec.check(Bytes(1000 * MIB), &Setting::default()), Ok(()));
        Fitted::new(&spec, Bytes(1000 * MIB), &Setting::default())
    }

    fn speed(mb_s: u64) -> Speed {
        Speed(Bytes(mb_s * 1_000_000))
    }

    /// Writes so many MiB around and around in the first `range`; MB/s of the last.
    fn rate_after(fitted: &mut Fitted, range: u64, count: u64) -> f64 {
        let ns = (0..count).map(|n| fitted.write(n % range * MIB, BLOCK)).last().unwrap_or(f64::INFINITY);
        f64::from(BLOCK) * 1e3 / ns
    }

    #[track_caller]
    fn check_shape(fitted: &mut Fitted, used: u64, steady: f64) {
        fitted.discard(0, 1000 * MIB);
        let settle = used * 4 / 10;
        let shape =
            [(1200, 500.0), (1, 0.7 * steady), (settle / 2 - 1, 1.1 * steady), (settle, steady), (used, steady)];
        for (count, expected) in shape {
            let rate = rate_after(fitted, used, count);
            assert!((rate / expected - 1.0).abs() < 0.02, "{used} MiB used: {rate:.1} instead of {expected:.1} MB/s");
        }
    }

    #[test]
    fn after_raw_flash_is_written_once_come_a_trough_a_peak_and_the_level_of_the_curve() {
        let mut fitted = fitted();
        check_shape(&mut fitted, 1000, 100.0);
        check_shape(&mut fitted, 750, 150.0);
        check_shape(&mut fitted, 250, 300.0);
    }
}
