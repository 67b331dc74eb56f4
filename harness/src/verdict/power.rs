//! What runs could have seen, and how many would decide: said before a run and where a verdict is not there.
//!
//! Pure. Plans, not proofs: it takes the noise as it is known so far.

use super::evidence::Evidence;
use super::family::ASIDE;
use super::looks::{FAIL_ERROR, HELD_ERROR};
use super::student::quantile;

/// How often a plan may fail its promise: one time in twenty.
const MISSED: f64 = 0.05;
/// Nobody repeats a run more often than that.
const MOST_RUNS: usize = 1000;

impl Evidence {
    /// The smallest loss that so many runs call regressed nineteen times of twenty, if it is the only one.
    #[must_use]
    pub fn smallest_loss(&self, runs: usize) -> f64 {
        let fail = quantile(FAIL_ERROR * ASIDE, self.df);
        self.allowed + (fail + quantile(MISSED, self.df)) * self.error_with(runs)
    }

    /// The smallest tolerance under which so many runs of an equal drive are held nineteen times of twenty: the noise
    /// floor of the gate.
    #[must_use]
    pub fn least_tolerance(&self, runs: usize) -> f64 {
        (quantile(HELD_ERROR, self.df) + quantile(MISSED, self.df)) * self.error_with(runs)
    }

    /// Runs after which an equal drive is called held nineteen times of twenty; none where the baseline has too few.
    #[must_use]
    pub fn runs_to_hold(&self) -> Option<usize> {
        let least = self.least_tolerance(1) / self.error_with(1);
        self.runs_until(1, |error| self.allowed > least * error)
    }

    /// Further runs that would decide if the loss stays what it is; none where the baseline has too few runs for it.
    #[must_use]
    pub fn more_runs(&self) -> Option<usize> {
        let beyond = self.loss - self.allowed;
        let needed = if beyond > 0.0 { FAIL_ERROR * ASIDE } else { HELD_ERROR };
        let needed = quantile(needed, self.df);
        self.runs_until(self.runs + 1, |error| beyond.abs() > needed * error).map(|runs| runs - self.runs)
    }

    fn runs_until(&self, from: usize, enough: impl Fn(f64) -> bool) -> Option<usize> {
        (from..=MOST_RUNS).find(|&runs| enough(self.error_with(runs)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run's noise of `cv` against `baseline` runs.
    fn evidence(cv: f64, baseline: f64, loss: f64) -> Evidence {
        let variance = cv * cv;
        Evidence { loss, allowed: 0.0513, fixed: variance / baseline, per_run: variance, runs: 1, df: 11.0 }
    }

    #[test]
    fn more_runs_see_smaller_losses_down_to_the_tolerance() {
        let one = evidence(0.01, 5.0, 0.0);
        assert!(one.smallest_loss(1) > one.smallest_loss(3) && one.smallest_loss(1000) > one.allowed);
        assert!((0.10..0.12).contains(&one.smallest_loss(1)), "{}", one.smallest_loss(1));
    }

    #[test]
    fn a_noisy_drive_needs_more_runs_and_at_last_a_better_baseline() {
        assert_eq!(evidence(0.01, 5.0, 0.0).runs_to_hold(), Some(1));
        assert!(evidence(0.025, 5.0, 0.0).runs_to_hold().is_some_and(|runs| runs > 2));
        assert_eq!(evidence(0.03, 1.0, 0.0).runs_to_hold(), None);
    }

    #[test]
    fn what_is_undecided_says_how_many_more_runs_decide() {
        assert!(evidence(0.01, 5.0, 0.04).more_runs().is_some_and(|more| more >= 1));
        assert_eq!(evidence(0.01, 5.0, 0.0513).more_runs(), None);
    }
}
