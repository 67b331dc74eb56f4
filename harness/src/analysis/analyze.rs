//! One series as a whole: its cliffs and recoveries, whether it settled, and when an observer could have known.
//!
//! The one entry for a series that is no run of ours, such as an imported log; the figures of our own suites
//! are in `fill` and `random`. Owns no method.

use super::bins::Bins;
use super::claim::{self, Claim};
use super::cliff::{self, Cliff, Level, Levels};
use super::known::Known;
use super::series::Series;
use super::steady::{self, Steady};
use crate::units::{Bytes, Nanos, Rate};

/// What a series says.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// Bytes of the series.
    pub total: Bytes,
    /// Time of the series.
    pub elapsed: Nanos,
    /// Bytes over time; none where no time passed.
    pub mean: Option<Rate>,
    /// Mean rate of the first tenth of the bytes.
    pub first_10pct: Option<Rate>,
    /// Mean rate of the last tenth of the bytes.
    pub last_10pct: Option<Rate>,
    /// Persistent falls in order.
    pub cliffs: Vec<Cliff>,
    /// Persistent rises in order.
    pub recoveries: Vec<Cliff>,
    /// What lies between the changes.
    pub levels: Vec<Level>,
    /// Whether it settled, with the evidence.
    pub steady: Steady,
    /// What an observer fed sample by sample would have claimed first; none where it never claims.
    pub first_claim: Option<Claim>,
}

/// What a series says, given what is known of the drive.
#[must_use]
pub fn analyze(series: &Series, known: &Known) -> Analysis {
    analyze_in_segments(series, known, &[])
}

/// What a series says that was written in segments which start at these bytes: what every segment does again is no
/// change of level, and so nothing that it would have to settle from.
#[must_use]
pub fn analyze_in_segments(series: &Series, known: &Known, starts: &[Bytes]) -> Analysis {
    let bins = Bins::new(series);
    let found = cliff::find_in_bins(series, &bins, starts);
    let first_claim = claim::first(series, known);
    let steady = steady::judge(series, &bins, known, &found, first_claim);
    let Levels { cliffs, recoveries, levels } = found;
    Analysis {
        total: series.total(),
        elapsed: series.elapsed(),
        mean: series.mean(),
        first_10pct: series.first_tenth(),
        last_10pct: series.last_tenth(),
        cliffs,
        recoveries,
        levels,
        steady,
        first_claim,
    }
}
