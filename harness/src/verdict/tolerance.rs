//! What loss is accepted, and what difference runs can see at all: tolerances and noise floors by kind of metric.
//!
//! Pure. The noise floor is the place that the statistics of whole runs will fill: until then it comes from the
//! profile's prior alone.

use crate::analysis::metric::Kind;

/// Standard normal quantile of a one-sided 95 % bound.
const ONE_SIDED_95: f64 = 1.644_853_6;
/// Seconds an hour that stalls may grow by: no share of a baseline of zero would allow any.
const STALLS_S_PER_H: f64 = 10.0;

/// A share by kind of metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// MB/s.
    pub throughput: f64,
    /// GB.
    pub capacity: f64,
    /// Percentiles of latency.
    pub tail_latency: f64,
}

/// Losses that are accepted unless profile or baseline say otherwise.
pub const DEFAULT_TOLERANCE: Shares = Shares { throughput: 0.05, capacity: 0.05, tail_latency: 0.20 };

/// Coefficients of variation from run to run that are assumed unless the profile says otherwise.
pub const DEFAULT_PRIOR_NOISE: Shares = Shares { throughput: 0.01, capacity: 0.01, tail_latency: 0.05 };

impl Shares {
    /// The share of that kind; stalls are latency, too. None for what has none.
    #[must_use]
    pub fn of(&self, kind: Kind) -> Option<f64> {
        match kind {
            Kind::Throughput => Some(self.throughput),
            Kind::Capacity => Some(self.capacity),
            Kind::TailLatency | Kind::Stalls => Some(self.tail_latency),
            Kind::Count | Kind::Finding => None,
        }
    }
}

/// The accepted loss of a metric as people write it: a fraction; for stalls seconds an hour. None where none is.
#[must_use]
pub fn tolerance(kind: Kind, shares: &Shares, own: Option<f64>) -> Option<f64> {
    match kind {
        Kind::Stalls => Some(own.unwrap_or(STALLS_S_PER_H)),
        Kind::Count | Kind::Finding => None,
        Kind::Throughput | Kind::Capacity | Kind::TailLatency => own.or(shares.of(kind)),
    }
}

/// The smallest loss that `runs` runs can tell from none, against the median of `baseline_runs` runs.
///
/// 1.645 × the coefficient of variation × √(v(n) + v(m)): the one-sided 95 % bound of the difference of two
/// medians of normal values on the log scale, where the coefficient of variation is the standard deviation to
/// first order. v is the variance of a median of n normal values with variance 1: 1/n up to two (it is the mean),
/// 0.449 at three and π/2n for more (David & Nagaraja, *Order Statistics*, 3rd ed., tables of 3.1 and
/// section 10.2; at five the exact value is 0.287, π/2n = 0.314 errs to the safe side). Fails where runs vary by more than the prior says.
#[must_use]
pub fn noise_floor(cv: f64, baseline_runs: usize, runs: usize) -> f64 {
    ONE_SIDED_95 * cv * libm::sqrt(median_variance(baseline_runs) + median_variance(runs))
}

/// The noise floor of stalls in seconds an hour: that of the baseline's level, at least of the tolerance's.
#[must_use]
pub fn stall_floor(cv: f64, level: f64, baseline_runs: usize, runs: usize) -> f64 {
    noise_floor(cv, baseline_runs, runs) * level.max(STALLS_S_PER_H)
}

fn median_variance(n: usize) -> f64 {
    match n {
        0 | 1 => 1.0,
        2 => 0.5,
        3 => 0.449,
        n => std::f64::consts::FRAC_PI_2 / n as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_runs_see_smaller_losses() {
        let check = |baseline, runs, expect: f64| {
            let floor = noise_floor(0.01, baseline, runs);
            assert!((floor - expect).abs() < 5e-5, "{baseline} against {runs}: {floor}");
        };
        check(1, 1, 0.0233);
        check(2, 1, 0.0201);
        check(3, 1, 0.0198);
        check(5, 1, 0.0189);
        check(5, 3, 0.0144);
    }

    #[test]
    fn stalls_have_a_tolerance_where_the_baseline_has_none() {
        assert_eq!(tolerance(Kind::Stalls, &DEFAULT_TOLERANCE, None), Some(10.0));
        assert!(stall_floor(0.05, 0.0, 1, 1) > 1.0);
        assert_eq!(tolerance(Kind::Count, &DEFAULT_TOLERANCE, Some(0.5)), None);
        assert_eq!(tolerance(Kind::TailLatency, &DEFAULT_TOLERANCE, None), Some(0.20));
        assert_eq!(tolerance(Kind::Capacity, &DEFAULT_TOLERANCE, Some(0.02)), Some(0.02));
    }
}
