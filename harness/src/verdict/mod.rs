//! The verdict: what a run's metrics are worth against limits and a baseline.
//!
//! Pure: knows no drive, no file and no report.

pub mod accept;
pub mod baseline;
mod baseline_check;
pub mod candidate;
pub mod compare;
mod comparing;
mod conclude;
pub mod curve;
pub mod evidence;
pub mod family;
pub mod foresee;
pub mod judge;
pub mod looks;
pub mod noise;
pub mod power;
#[cfg(test)]
mod sample;
pub mod self_test;
pub mod standing;
pub mod student;
pub mod surroundings;
#[cfg(test)]
mod tests;
pub mod tolerance;
mod weigh;
pub mod weighed;

use serde::Serialize;

/// What is said of a metric, or of a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Shown to be no worse than the tolerance allows.
    Held,
    /// Shown to be better.
    Improved,
    /// Nothing to compare with.
    NoBaseline,
    /// Neither shown to be held nor to be worse.
    Inconclusive,
    /// Shown to be worse than allowed.
    Regressed,
    /// The run failed: nothing can be said.
    Error,
}

impl Verdict {
    /// The word as it stands in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Held => "held",
            Verdict::Improved => "improved",
            Verdict::NoBaseline => "no-baseline",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Regressed => "regressed",
            Verdict::Error => "error",
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}
