//! What runs say of a loss against its tolerance: an estimate, its error, and three one-sided tests.
//!
//! Pure. On the scale of comparison (ln for rates, capacities and latencies; the level's units for stalls), where a
//! loss is positive.

use super::student::{quantile, upper_tail};

/// An estimated loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// The loss; negative for a gain.
    pub loss: f64,
    /// The accepted loss.
    pub allowed: f64,
    /// Variance of the loss that more runs of the candidate do not take away: the baseline's, and the units'.
    pub fixed: f64,
    /// Variance of one run of the candidate.
    pub per_run: f64,
    /// Runs of the candidate.
    pub runs: usize,
    /// Degrees of freedom of the variance.
    pub df: f64,
}

/// Differences below it are the rounding of figures, not of drives.
const ROUNDING: f64 = 1e-9;

impl Evidence {
    /// Standard error of the loss.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.error_with(self.runs)
    }

    /// Standard error that so many runs would have.
    #[must_use]
    pub fn error_with(&self, runs: usize) -> f64 {
        libm::sqrt(self.fixed + self.per_run / runs as f64)
    }

    /// How likely runs like these are where the loss is no more than the tolerance: small says *regressed*.
    #[must_use]
    pub fn against_within(&self) -> f64 {
        self.tail(self.loss - self.allowed - ROUNDING)
    }

    /// How likely runs like these are where the loss is the tolerance or more: small says *held*.
    #[must_use]
    pub fn against_beyond(&self) -> f64 {
        self.tail(self.allowed - self.loss + ROUNDING)
    }

    /// How likely runs like these are where the gain is no more than the tolerance: small says *improved*.
    #[must_use]
    pub fn against_no_gain(&self) -> f64 {
        self.tail(-self.loss - self.allowed - ROUNDING)
    }

    /// P(T > difference / error), and 1 where it is ½ or more: nothing is shown by it. Without noise the sign decides.
    fn tail(&self, difference: f64) -> f64 {
        let error = self.error();
        if difference <= 0.0 {
            return 1.0;
        }
        if error < ROUNDING { 0.0 } else { upper_tail(difference / error, self.df) }
    }

    /// The smallest loss that these runs can tell from none, at a one-sided error of 5 %.
    #[must_use]
    pub fn floor(&self) -> f64 {
        quantile(0.05, self.df) * self.error()
    }

    /// The greatest loss that these runs leave possible, at a one-sided error of 5 %.
    #[must_use]
    pub fn most(&self) -> f64 {
        self.loss + self.floor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_noise_the_sign_decides() {
        let exact = |loss| Evidence { loss, allowed: 0.05, fixed: 0.0, per_run: 0.0, runs: 1, df: 11.0 };
        assert_eq!((exact(0.05).against_beyond(), exact(0.05).against_within()), (0.0, 1.0));
        assert_eq!((exact(0.051).against_beyond(), exact(0.051).against_within()), (1.0, 0.0));
        assert_eq!(exact(-0.06).against_no_gain(), 0.0);
    }

    #[test]
    fn the_tests_are_one_sided_t_tests() {
        // t(0.05, 10) = 1.8125; the error is 0.02.
        let at = |loss| Evidence { loss, allowed: 0.05, fixed: 0.0002, per_run: 0.0004, runs: 2, df: 10.0 };
        let near = |is: f64, expect: f64| assert!((is - expect).abs() < 1e-4, "{is}");
        near(at(0.05 - 1.8125 * 0.02).against_beyond(), 0.05);
        near(at(0.05 + 1.8125 * 0.02).against_within(), 0.05);
        near(at(-0.05 - 1.8125 * 0.02).against_no_gain(), 0.05);
        near(at(0.0).floor(), 0.03625);
        near(at(0.01).most(), 0.04625);
    }
}
