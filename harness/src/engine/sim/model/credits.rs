//! I/O credits, as cloud volumes have them: a bucket of burst I/Os that fills at the baseline.
//!
//! Source of the rules: Amazon EBS, "General Purpose SSD volumes", section "I/O credits and burst performance" (gp2):
//! an I/O counts once for each started 256 KiB, credits come back at the baseline up to the bucket's size.

use serde::Deserialize;

use super::setting::Setting;
use crate::units::{Bytes, Size};

/// Credits as a drive's file describes them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreditsSpec {
    /// Bytes that count as one I/O.
    pub unit: Size,
    /// I/Os a second that are always there.
    pub baseline: u32,
    /// I/Os a second while credits last.
    pub burst: u32,
    /// Credits of a full bucket, in I/Os.
    pub bucket: u64,
}

impl CreditsSpec {
    /// # Errors
    /// Says which figure makes no sense.
    pub fn check(&self) -> Result<(), String> {
        if self.unit.0 == Bytes(0) || self.baseline == 0 || self.burst < self.baseline {
            return Err("credits need a unit, a baseline, and a burst that is no less than the baseline".to_owned());
        }
        Ok(())
    }
}

/// Where the credits stand.
#[derive(Debug)]
pub(super) struct Credits {
    unit: u64,
    ns_baseline: f64,
    ns_burst: f64,
    bucket: f64,
    left: f64,
}

impl Credits {
    pub(super) fn new(spec: &CreditsSpec, setting: &Setting) -> Credits {
        let bucket = spec.bucket as f64 * setting.room / setting.scale;
        Credits {
            unit: spec.unit.0.0,
            ns_baseline: 1e9 * setting.scale / (f64::from(spec.baseline) * setting.floor),
            ns_burst: 1e9 * setting.scale / (f64::from(spec.burst) * setting.fast),
            bucket,
            left: bucket,
        }
    }

    /// What becomes of a service time of `ns` for `len` bytes.
    #[inline]
    pub(super) fn pass(&mut self, ns: f64, len: u32) -> f64 {
        let cost = u64::from(len).div_ceil(self.unit) as f64;
        let burst = cost * self.ns_burst;
        // What is missing comes back at the baseline.
        let ns = ns.max(burst).max((cost - self.left) * self.ns_baseline);
        self.left = (self.left + ns / self.ns_baseline - cost).clamp(0.0, self.bucket);
        ns
    }

    pub(super) fn idle(&mut self, ns: f64) {
        self.left = (self.left + ns / self.ns_baseline).min(self.bucket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credits() -> Credits {
        let spec = CreditsSpec { unit: Size(Bytes(256 << 10)), baseline: 300, burst: 3000, bucket: 5_400_000 };
        assert_eq!(spec.check(), Ok(()));
        Credits::new(&spec, &Setting::default())
    }

    /// Seconds that so many I/Os take.
    fn seconds(credits: &mut Credits, count: u32, len: u32) -> f64 {
        (0..count).map(|_| credits.pass(0.0, len)).sum::<f64>() / 1e9
    }

    #[test]
    fn a_full_bucket_lasts_2000_s_as_its_maker_says() {
        let mut credits = credits();
        let burst = seconds(&mut credits, 5_990_000, 16 << 10);
        assert!((burst / (5_990_000.0 / 3000.0) - 1.0).abs() < 1e-6, "{burst} s");
        seconds(&mut credits, 20_000, 16 << 10);
        let baseline = seconds(&mut credits, 3000, 16 << 10);
        assert!((baseline / 10.0 - 1.0).abs() < 0.01, "{baseline} s");
        credits.idle(100e9);
        let again = seconds(&mut credits, 30_000, 16 << 10);
        assert!((again / 10.0 - 1.0).abs() < 0.01, "100 s of rest are 30,000 credits, {again} s");
    }

    #[test]
    fn a_large_io_counts_once_a_unit() {
        assert!((seconds(&mut credits(), 750, (1 << 20) + 1) / 1.25 - 1.0).abs() < 1e-6);
    }
}
