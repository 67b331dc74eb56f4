//! What a fill's samples say: its cliffs, its fast rate and its floor; and what a burst absorbed.
//!
//! Owns the definitions of a fill's figures. Knows nothing of how changes are found.

use std::collections::BTreeMap;

use super::cliff::{self, Cliff, Level, Levels};
use super::series::Series;
use crate::sample::Sample;
use crate::units::{Bytes, Nanos, Rate};

/// The share of a fill that its floor lasts at least, one in so many.
const FLOOR_LASTS: u64 = 20;

/// The figures of a fill. Rates are of the finished attempts alone.
#[derive(Clone, Debug, PartialEq)]
pub struct FillFindings {
    /// Bytes of the finished attempts.
    pub total: Bytes,
    /// Time of the finished attempts.
    pub elapsed: Nanos,
    /// Bytes over time; none where no time passed.
    pub mean: Option<Rate>,
    /// Median rate up to the first cliff, of the whole fill where there is none.
    pub fast: Option<Rate>,
    /// Persistent falls in order; the first is the capacity at the cliff.
    pub cliffs: Vec<Cliff>,
    /// Persistent rises in order.
    pub recoveries: Vec<Cliff>,
    /// Rate of the last level that lasts at least 5 % of the fill; none, that is not applicable, without a cliff.
    pub floor: Option<Rate>,
    /// Mean rate of the first tenth of the bytes.
    pub first_10pct: Option<Rate>,
    /// Mean rate of the last tenth of the bytes.
    pub last_10pct: Option<Rate>,
    /// What lies between the changes.
    pub levels: Vec<Level>,
}

/// What a fill's samples say.
#[must_use]
pub fn fill(samples: &[Sample]) -> FillFindings {
    let finished = finished(samples);
    let series = Series::from_samples(&finished);
    let Levels { cliffs, recoveries, levels } = cliff::find(&series);
    let first = cliffs.first().map_or(series.total(), |cliff| cliff.at);
    FillFindings {
        total: series.total(),
        elapsed: series.elapsed(),
        mean: series.mean(),
        fast: series.median_between(Bytes(0), first),
        floor: if cliffs.is_empty() { None } else { floor(&levels, series.total()) },
        cliffs,
        recoveries,
        first_10pct: series.first_tenth(),
        last_10pct: series.last_tenth(),
        levels,
    }
}

/// The samples of each segment's last attempt: those of cut attempts are of no finished bytes.
fn finished(samples: &[Sample]) -> Vec<Sample> {
    let mut last = BTreeMap::new();
    for sample in samples {
        let attempt = last.entry(sample.segment).or_insert(sample.attempt);
        *attempt = sample.attempt.max(*attempt);
    }
    samples.iter().filter(|s| last.get(&s.segment) == Some(&s.attempt)).cloned().collect()
}

/// The rate of the last level that lasts.
fn floor(levels: &[Level], total: Bytes) -> Option<Rate> {
    levels.iter().rfind(|level| (level.to - level.from).0 >= total.0 / FLOOR_LASTS).map(|level| level.rate)
}

/// What a full drive took at plateau speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Absorbed {
    /// So much, then the rate fell.
    Until(Cliff),
    /// All that was written: more than so much.
    MoreThan(Bytes),
}

/// The figures of a burst onto a full drive after idle time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// Bytes at plateau speed.
    pub absorbed: Absorbed,
    /// Median rate of these bytes.
    pub fast: Option<Rate>,
    /// Bytes over time of the whole burst.
    pub mean: Option<Rate>,
}

/// What a burst's samples say.
#[must_use]
pub fn burst(samples: &[Sample]) -> Burst {
    let findings = fill(samples);
    let absorbed = findings.cliffs.first().map_or(Absorbed::MoreThan(findings.total), |&cliff| Absorbed::Until(cliff));
    Burst { absorbed, fast: findings.fast, mean: findings.mean }
}
