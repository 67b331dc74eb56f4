//! Bytes, nanoseconds and rates, kept apart by type, and how people read and write them.
//!
//! Inside, quantities are whole bytes and whole nanoseconds. Where people read, `GB` is 10^9 and
//! `MB/s` is 10^6, as drive makers print them; binary units appear only under their own names.
//! Knows nothing of profiles, drives or files.

mod text;
mod written;

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

use text::decimal;
pub use text::{bytes_text, nanos_text, parse_bytes, parse_nanos, parse_ppm, parse_speed, ppm_text, speed_text};
pub use written::{Share, Size, Span, Speed};

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A number of nanoseconds: a span, or a moment counted from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// A throughput in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rate(pub f64);

/// A share in parts per million, so that it is hashed and compared as a whole number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ppm(pub u32);

/// One binary kilobyte.
pub const KIB: u64 = 1 << 10;
/// One binary megabyte.
pub const MIB: u64 = 1 << 20;
/// One binary gigabyte.
pub const GIB: u64 = 1 << 30;

impl Bytes {
    /// 10^9 bytes, as drive makers count.
    #[must_use]
    pub fn gb(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The share `part` of these bytes, rounded down.
    #[must_use]
    pub fn share(self, part: Ppm) -> Bytes {
        let whole = u128::from(self.0) * u128::from(part.0) / 1_000_000;
        Bytes(u64::try_from(whole).unwrap_or(u64::MAX))
    }

    /// The difference, or zero where it would be negative.
    #[must_use]
    pub fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }

    /// The sum, or the largest number where it would not fit.
    #[must_use]
    pub fn saturating_add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }

    /// The product, or the largest number where it would not fit.
    #[must_use]
    pub fn saturating_mul(self, times: u64) -> Bytes {
        Bytes(self.0.saturating_mul(times))
    }

    /// Rounded down to a multiple of `unit`.
    #[must_use]
    pub fn align_down(self, unit: Bytes) -> Bytes {
        Bytes(self.0 - self.0 % unit.0.max(1))
    }

    /// The rate of moving these bytes in `span`; none where no time passed.
    #[must_use]
    pub fn per(self, span: Nanos) -> Option<Rate> {
        (span.0 > 0).then(|| Rate(self.0 as f64 * 1e9 / span.0 as f64))
    }
}

impl Nanos {
    /// From whole seconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Nanos {
        Nanos(seconds.saturating_mul(1_000_000_000))
    }

    /// From whole milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Nanos {
        Nanos(millis.saturating_mul(1_000_000))
    }

    /// In seconds.
    #[must_use]
    pub fn secs(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The difference, or zero where it would be negative.
    #[must_use]
    pub fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }

    /// The sum, or the latest moment where it would not fit.
    #[must_use]
    pub fn saturating_add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl Rate {
    /// 10^6 bytes per second, as drive makers count.
    #[must_use]
    pub fn mb_s(self) -> f64 {
        self.0 / 1e6
    }

    /// From 10^6 bytes per second.
    #[must_use]
    pub fn from_mb_s(mb_s: f64) -> Rate {
        Rate(mb_s * 1e6)
    }
}

impl Ppm {
    /// As a fraction of one.
    #[must_use]
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / 1e6
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes(0), Bytes::saturating_add)
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0 - other.0)
    }
}

/// Decimal units with three digits: `121 GB`, `2.15 GB`, `512 B`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 999.5 && unit + 1 < UNITS.len() {
            value /= 1000.0;
            unit += 1;
        }
        match (unit, value) {
            (0, _) => write!(f, "{} B", self.0),
            (_, v) if v < 9.995 => write!(f, "{v:.2} {}", UNITS[unit]),
            (_, v) if v < 99.95 => write!(f, "{v:.1} {}", UNITS[unit]),
            (_, v) => write!(f, "{v:.0} {}", UNITS[unit]),
        }
    }
}

/// `850 ms`, `42 s`, `3 min 20 s`, `5 h 12 min`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        let s = (ns.saturating_add(500_000_000)) / 1_000_000_000;
        match ns {
            0 => write!(f, "0 s"),
            1..1_000 => write!(f, "{ns} ns"),
            1_000..1_000_000 => write!(f, "{} µs", ns / 1_000),
            1_000_000..1_000_000_000 => write!(f, "{} ms", ns / 1_000_000),
            1_000_000_000..10_000_000_000 => write!(f, "{:.1} s", ns as f64 / 1e9),
            _ if s < 120 => write!(f, "{s} s"),
            _ if s < 7_200 => write!(f, "{} min {} s", s / 60, s % 60),
            _ => write!(f, "{} h {} min", s / 3_600, s % 3_600 / 60),
        }
    }
}

/// Three digits: `2380 MB/s`, `42.5 MB/s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v = self.mb_s();
        match v {
            v if v < 9.995 => write!(f, "{v:.2} MB/s"),
            v if v < 99.95 => write!(f, "{v:.1} MB/s"),
            v => write!(f, "{v:.0} MB/s"),
        }
    }
}

/// Exact: `0.6 %`.
impl fmt::Display for Ppm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", decimal(u64::from(self.0), 10_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_bytes(text: &str, expect: Result<u64, &str>) {
        match (parse_bytes(text), expect) {
            (Ok(got), Ok(want)) => assert_eq!(got.0, want, "{text}"),
            (Err(got), Err(want)) => assert!(got.contains(want), "{text}: {got}"),
            (got, want) => panic!("{text}: got {got:?}, want {want:?}"),
        }
    }

    #[test]
    fn sizes_are_exact_and_need_a_unit() {
        check_bytes("4KiB", Ok(4096));
        check_bytes(" 1.5 GB ", Ok(1_500_000_000));
        check_bytes("0.1GiB", Ok(107_374_182));
        check_bytes("4096", Err("has no unit"));
        check_bytes("-4KiB", Err("is negative"));
        check_bytes("4 parsec", Err("unknown unit"));
        check_bytes("1.2.3GB", Err("no decimal number"));
        check_bytes("99999999999999999999GB", Err("too large"));
        check_bytes("20000PiB", Err("too large"));
        check_bytes("GiB", Err("no number"));
    }

    #[test]
    fn shares_have_a_ceiling() {
        assert_eq!(parse_ppm("0.6%", Ppm(1_000_000)), Ok(Ppm(6_000)));
        assert!(parse_ppm("200%", Ppm(1_000_000)).unwrap_err().contains("more than 100 %"));
    }

    #[test]
    fn texts_parse_back_to_the_same_value() {
        for value in [1, 512, 4096, 1_000_000, GIB, 3 * MIB, u64::MAX] {
            assert_eq!(parse_bytes(&bytes_text(Bytes(value))), Ok(Bytes(value)));
            assert_eq!(parse_nanos(&nanos_text(Nanos(value))), Ok(Nanos(value)));
        }
        assert_eq!(ppm_text(Ppm(6_000)), "0.6%");
        assert_eq!(parse_speed(&speed_text(Bytes(138_000_000))), Ok(Bytes(138_000_000)));
    }

    #[test]
    fn a_speed_is_a_size_a_second() {
        assert_eq!(parse_speed("1.5 GB/s"), Ok(Bytes(1_500_000_000)));
        assert!(parse_speed("1.5GB").unwrap_err().contains("has no \"/s\""));
    }

    #[test]
    fn people_read_three_digits() {
        assert_eq!(Bytes(121_332_826_112).to_string(), "121 GB");
        assert_eq!(Bytes(2_147_483_648).to_string(), "2.15 GB");
        assert_eq!(Bytes(999_999).to_string(), "1.00 MB");
        assert_eq!(Nanos(200_000_000_000).to_string(), "3 min 20 s");
        assert_eq!(Rate(2.38e9).to_string(), "2380 MB/s");
    }

    #[test]
    fn no_time_is_no_rate() {
        assert_eq!(Bytes(5).per(Nanos(0)), None);
    }
}
