//! From the figures of runs to the evidence of a loss: scale, noise, units, and each figure's own uncertainty.
//!
//! Pure. Knows figures and where they come from, not what is concluded.

use super::baseline::Direction;
use super::evidence::Evidence;
use super::noise::{Prior, Spread, mean};
use crate::analysis::metric::Kind;

/// Seconds an hour that stalls may grow by: no share of a baseline of zero would allow any.
pub(super) const STALLS_S_PER_H: f64 = 10.0;
/// A rate of zero has no logarithm: it counts as this share of the baseline.
const NOTHING: f64 = 1e-6;

/// How figures of a kind become numbers that are compared: the more, the worse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// −ln or ln of the figure's share of the level.
    Log {
        /// The baseline's figure.
        level: f64,
        /// Whether more is better.
        more: bool,
    },
    /// The figure in units of the level, at least of the tolerance's: stalls.
    Linear {
        /// That unit.
        unit: f64,
    },
}

impl Scale {
    /// The scale of a kind about a baseline's figure; none where nothing can be compared on one.
    pub(super) fn of(kind: Kind, level: f64) -> Option<Scale> {
        match kind {
            Kind::Throughput | Kind::Capacity | Kind::TailLatency => {
                (level > 0.0).then(|| Scale::Log { level, more: Direction::of(kind) == Direction::More })
            }
            Kind::Stalls => Some(Scale::Linear { unit: level.max(STALLS_S_PER_H) }),
            Kind::Count | Kind::Finding => None,
        }
    }

    pub(super) fn number(self, value: f64) -> f64 {
        match self {
            Scale::Log { level, more } => {
                let log = libm::log((value / level).max(NOTHING));
                if more { -log } else { log }
            }
            Scale::Linear { unit } => value / unit,
        }
    }

    /// The figure of a number on the scale.
    pub(super) fn figure(self, number: f64) -> f64 {
        match self {
            Scale::Log { level, more: true } => level * libm::exp(-number),
            Scale::Log { level, more: false } => level * libm::exp(number),
            Scale::Linear { unit } => number * unit,
        }
    }

    /// A tolerance as people write it, on the scale: a loss of 5 % is −ln 0.95 of a rate and ln 1.05 of a latency.
    pub(super) fn allowed(self, tolerance: f64) -> f64 {
        match self {
            Scale::Log { more: true, .. } => -libm::log((1.0 - tolerance).max(NOTHING)),
            Scale::Log { more: false, .. } => libm::log(1.0 + tolerance),
            Scale::Linear { unit } => tolerance / unit,
        }
    }

    /// A loss on the scale as people write it; the inverse of [`Scale::allowed`].
    pub(super) fn as_written(self, loss: f64) -> f64 {
        match self {
            Scale::Log { more: true, .. } => -libm::expm1(-loss),
            Scale::Log { more: false, .. } => libm::expm1(loss),
            Scale::Linear { unit } => loss * unit,
        }
    }

    /// How a figure differs from the level: −0.05 for a rate that fell by 5 %; of stalls in seconds an hour.
    pub(super) fn change(self, value: f64, level: f64) -> f64 {
        match self {
            Scale::Log { .. } => value / level - 1.0,
            Scale::Linear { .. } => value - level,
        }
    }

    /// The variance of a figure that lies somewhere between two ends, each place as likely.
    pub(super) fn uncertainty(self, (low, high): (f64, f64)) -> f64 {
        let width = self.number(low) - self.number(high);
        if width.is_finite() { width * width / 12.0 } else { 0.0 }
    }
}

/// The figures of a metric on its scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// The candidate's, one a run.
    pub(super) runs: Vec<f64>,
    /// The baseline's runs on the candidate's own unit.
    pub(super) same_unit: Vec<f64>,
    /// The baseline's runs on other units, unit by unit.
    pub(super) other_units: Vec<Vec<f64>>,
    /// Variance of one figure by its own uncertainty, such as a sampling step.
    pub(super) uncertainty: f64,
}

impl Figures {
    /// How the metric varies from run to run, by all runs that are there: each side and unit about its own mean.
    pub(super) fn spread(&self) -> Spread {
        let others = self.other_units.iter().map(Vec::as_slice);
        Spread::within(others.chain([self.runs.as_slice(), &self.same_unit]))
    }

    /// The mean of what the runs are compared with.
    pub(super) fn centre(&self) -> f64 {
        let means: Vec<f64> = self.other_units.iter().map(|unit| mean(unit)).collect();
        mean(if self.paired() { &self.same_unit } else { &means })
    }

    /// Runs of the baseline that they are compared with.
    pub(super) fn compared(&self) -> usize {
        if self.paired() { self.same_unit.len() } else { self.other_units.iter().map(Vec::len).sum() }
    }

    /// Whether the baseline has runs on the candidate's unit: before and after are then paired.
    pub(super) fn paired(&self) -> bool {
        !self.same_unit.is_empty()
    }

    /// The evidence of a loss beyond `allowed`, where the variance of a run is `noise`; none where another unit is
    /// compared and nothing is known of the spread between units.
    ///
    /// On the same unit the units' spread cancels. On another one it is a random effect: the mean of U unit means
    /// misses the new unit's by a variance of B·(1 + 1/U), where B is the variance among the unit means, moderated
    /// like a run's by what the profile says (`between`). Degrees of freedom by Welch & Satterthwaite (Satterthwaite
    /// 1946, *An approximate distribution of estimates of variance components*, Biometrics Bulletin 2:110).
    pub(super) fn evidence(&self, allowed: f64, noise: Spread, between: Option<Prior>) -> Option<Evidence> {
        let variance = noise.variance + self.uncertainty;
        let runs = self.runs.len();
        if self.paired() {
            let (loss, fixed) = (mean(&self.runs) - mean(&self.same_unit), variance / self.same_unit.len() as f64);
            return Some(Evidence { loss, allowed, fixed, per_run: variance, runs, df: noise.df });
        }
        let means: Vec<f64> = self.other_units.iter().map(|unit| mean(unit)).collect();
        let seen = Spread::within([means.as_slice()]);
        let units = match between {
            Some(prior) => prior.moderate(seen),
            None => seen,
        };
        if units.df == 0.0 {
            return None;
        }
        let (fixed, own) = (units.variance * (1.0 + 1.0 / means.len() as f64), variance / runs as f64);
        let df = (fixed + own) * (fixed + own) / (fixed * fixed / units.df + own * own / noise.df);
        let df = if df.is_finite() { df } else { units.df };
        Some(Evidence { loss: mean(&self.runs) - mean(&means), allowed, fixed, per_run: variance, runs, df })
    }
}
