//! What the runs say of one metric's loss, on what that rests, and in which words.
//!
//! Pure. Keeps the numbers of a comparison for the reports; draws no conclusion.

use super::compare::short;
use super::evidence::Evidence;
use super::noise::{PRIOR_DF, Prior, mean};
use super::weigh::Scale;

/// A loss, its evidence, and the noise that it was weighed by.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighed {
    /// On the scale of comparison.
    pub evidence: Evidence,
    /// What is typical of the metric's kind.
    pub prior: Prior,
    /// Degrees of freedom of the metric's own runs.
    pub own_df: f64,
    /// Whether the baseline has runs on the same unit.
    pub same_unit: bool,
    pub(super) scale: Scale,
    /// The candidate's runs on the scale.
    pub(super) runs: Vec<f64>,
}

impl Weighed {
    /// The smallest loss that these runs tell from none, as the tolerance is written.
    #[must_use]
    pub fn noise_floor(&self) -> f64 {
        self.scale.as_written(self.evidence.floor())
    }

    /// The smallest loss that these runs would have called regressed nineteen times of twenty, as the tolerance is
    /// written.
    #[must_use]
    pub fn smallest_loss(&self) -> f64 {
        self.scale.as_written(self.evidence.smallest_loss(self.evidence.runs))
    }

    /// The smallest tolerance under which one run of an equal drive is held nineteen times of twenty, as it is written.
    #[must_use]
    pub fn least_tolerance(&self) -> f64 {
        self.scale.as_written(self.evidence.least_tolerance(1))
    }

    /// The greatest loss that these runs leave possible, as the tolerance is written; what a tolerance could be.
    #[must_use]
    pub fn most_loss(&self) -> f64 {
        self.scale.as_written(self.evidence.most())
    }

    /// Standard deviation of one run, as a fraction of the figure; of stalls of their level.
    #[must_use]
    pub fn run_noise(&self) -> f64 {
        libm::sqrt(self.evidence.per_run)
    }

    /// The figure of each run of the candidate, the latest last.
    #[must_use]
    pub fn figures(&self) -> Vec<f64> {
        self.runs.iter().map(|run| self.scale.figure(*run)).collect()
    }

    /// How far the first of three runs or more stands from the mean of the others, in standard deviations.
    #[must_use]
    pub fn first_stands_out(&self) -> f64 {
        match self.runs.split_first() {
            Some((first, others)) if others.len() > 1 => {
                let error = libm::sqrt(self.evidence.per_run * (1.0 + 1.0 / others.len() as f64));
                (first - mean(others)) / error
            }
            _ => 0.0,
        }
    }

    /// A loss, or another amount on the scale of the tolerance, for people: `5 %`, `12 s/h`.
    #[must_use]
    pub fn text(&self, amount: f64) -> String {
        match self.scale {
            Scale::Log { .. } => format!("{} %", short(amount * 100.0)),
            Scale::Linear { .. } => format!("{} s/h", short(amount)),
        }
    }

    /// `noise of a run 1.1 %, by a prior of 1 % (the profile; 11 degrees of freedom) and these runs (4)`
    #[must_use]
    pub fn noise_text(&self) -> String {
        let percent = |share: f64| format!("{} %", short(share * 100.0));
        let source = match self.prior.metrics {
            0 => "the profile".to_owned(),
            1 => "the profile and another metric of its kind".to_owned(),
            many => format!("the profile and {many} other metrics of its kind"),
        };
        let prior = format!("a prior of {} ({source}; {PRIOR_DF} degrees of freedom)", percent(self.prior.cv()));
        let own = match self.own_df {
            0.0 => String::new(),
            df => format!(" and its own runs ({df})"),
        };
        format!("noise of a run {}, by {prior}{own}", percent(self.run_noise()))
    }

    /// What a reader needs to believe the judgement: what these runs could have seen, and by which noise.
    #[must_use]
    pub fn basis(&self) -> String {
        format!("a loss of {} would be seen; {}", self.text(self.smallest_loss()), self.noise_text())
    }

    /// Why nothing is decided, and what would.
    pub(super) fn undecided(&self, tolerance: &str) -> String {
        let written = |loss: f64| self.text(self.scale.as_written(loss.max(0.0)));
        let Evidence { loss, .. } = self.evidence;
        let decide = match self.evidence.more_runs() {
            Some(1) => "1 more run would decide if it stays so".to_owned(),
            Some(more) => format!("{more} more runs would decide if it stays so"),
            None => "too close for any number of runs to decide: accept more runs into the baseline, or set another \
                     tolerance"
                .to_owned(),
        };
        let noise = written(self.evidence.floor());
        format!("{} worse, give or take {noise}, where {tolerance} is allowed: {decide}", written(loss))
    }
}
