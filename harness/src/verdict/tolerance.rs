//! What loss is accepted, and what noise is assumed, by kind of metric.
//!
//! Pure. Knows shares, not runs.

use super::weigh::STALLS_S_PER_H;
use crate::analysis::metric::Kind;

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

/// A share by kind of metric, where anything is known of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KnownShares {
    /// MB/s.
    pub throughput: Option<f64>,
    /// GB.
    pub capacity: Option<f64>,
    /// Percentiles of latency.
    pub tail_latency: Option<f64>,
}

impl KnownShares {
    /// The share of that kind, if it is known; stalls are latency, too.
    #[must_use]
    pub fn of(&self, kind: Kind) -> Option<f64> {
        match kind {
            Kind::Throughput => self.throughput,
            Kind::Capacity => self.capacity,
            Kind::TailLatency | Kind::Stalls => self.tail_latency,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_have_a_tolerance_where_the_baseline_has_none() {
        assert_eq!(tolerance(Kind::Stalls, &DEFAULT_TOLERANCE, None), Some(10.0));
        assert_eq!(tolerance(Kind::Count, &DEFAULT_TOLERANCE, Some(0.5)), None);
        assert_eq!(tolerance(Kind::TailLatency, &DEFAULT_TOLERANCE, None), Some(0.20));
        assert_eq!(tolerance(Kind::Capacity, &DEFAULT_TOLERANCE, Some(0.02)), Some(0.02));
    }
}
