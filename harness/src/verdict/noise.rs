//! How much a metric varies from run to run: its own runs' variance, moderated by a prior of its own kind.
//!
//! Pure. Knows figures on the scale they are compared on, not what they measure.
//!
//! A handful of runs says little of a variance, and most of what it says is chance. So each metric's variance is
//! shrunk towards what metrics of its kind vary by: (d₀·s₀² + d·s²) / (d₀ + d), with d₀ + d degrees of freedom
//! (Smyth 2004, *Linear models and empirical Bayes methods for assessing differential expression in microarray
//! experiments*, Stat. Appl. Genet. Mol. Biol. 3(1):3; known as limma). Fails where a metric varies far more than its
//! kind: it then takes runs of its own to be believed.

use super::student::{digamma, trigamma};

/// Standard deviation of ln CV among the metrics of one kind on one drive, about what is typical of the kind: two of
/// three are within a quarter of it.
const SCATTER: f64 = 0.2233;
/// Degrees of freedom that a prior is worth: trigamma(d₀/2) is the variance of ln σ² (Smyth 2004, section 6.2),
/// which is (2 × 0.2233)², at d₀ = 11.
pub const PRIOR_DF: f64 = 11.0;
/// The profile's figure counts as so many metrics whose variances are known.
const PROFILE_METRICS: f64 = 3.0;
/// A metric of the history counts as at most so many times as noisy as the prior says, or as quiet.
const MOST_FACTOR: f64 = 4.0;

/// A variance, and the degrees of freedom that it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Mean square about the means; 0 without degrees of freedom.
    pub variance: f64,
    /// Degrees of freedom.
    pub df: f64,
}

impl Spread {
    /// The variance within groups, pooled: each group has a mean of its own.
    pub fn within<'a>(groups: impl IntoIterator<Item = &'a [f64]>) -> Spread {
        let (mut squares, mut df) = (0.0, 0.0);
        for group in groups.into_iter().filter(|group| group.len() > 1) {
            let mean = mean(group);
            squares += group.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
            df += group.len() as f64 - 1.0;
        }
        Spread { variance: if df > 0.0 { squares / df } else { 0.0 }, df }
    }
}

/// What one metric says of its kind: a shift of the mean of ln σ², and how much it counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Says {
    shift: f64,
    weight: f64,
}

/// What is typical of the variances of a kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// Mean of ln σ² over the metrics of the kind.
    log_variance: f64,
    /// Metrics of the drive's own history that it rests on, besides the profile.
    pub metrics: usize,
}

impl Prior {
    /// From the coefficient of variation that the profile says is typical, on the log scale.
    #[must_use]
    pub fn typical(cv: f64) -> Prior {
        Prior { log_variance: 2.0 * libm::log(cv.max(1e-9)), metrics: 0 }
    }

    /// What a metric of the kind says of it: ln s² − digamma(d/2) + ln(d/2), with the variance trigamma(d/2) of its own
    /// chance and that of the scatter among metrics (Smyth 2004, section 6.2). None without degrees of freedom.
    #[must_use]
    pub fn said_by(&self, metric: Spread) -> Option<Says> {
        if metric.df <= 0.0 {
            return None;
        }
        let half = metric.df / 2.0;
        let most = 2.0 * libm::log(MOST_FACTOR);
        // Runs that do not differ at all are quieter than any instrument can show.
        let own = if metric.variance > 0.0 { libm::log(metric.variance) } else { f64::NEG_INFINITY };
        let shift = own - digamma(half) + libm::log(half) - self.log_variance;
        Some(Says { shift: shift.clamp(-most, most), weight: 1.0 / (trigamma(half) + 4.0 * SCATTER * SCATTER) })
    }

    /// Moved towards what other metrics of the kind say on this drive; the profile's figure counts as three that are
    /// exactly known.
    #[must_use]
    pub fn with_history(self, others: impl IntoIterator<Item = Says>) -> Prior {
        let (mut weights, mut sum, mut metrics) = (PROFILE_METRICS / (4.0 * SCATTER * SCATTER), 0.0, 0);
        for Says { shift, weight } in others {
            weights += weight;
            sum += weight * shift;
            metrics += 1;
        }
        Prior { log_variance: self.log_variance + sum / weights, metrics }
    }

    /// The typical coefficient of variation.
    #[must_use]
    pub fn cv(&self) -> f64 {
        libm::exp(self.log_variance / 2.0)
    }

    /// The moderated variance of a metric whose own runs vary by `own`.
    #[must_use]
    pub fn moderate(&self, own: Spread) -> Spread {
        let half = PRIOR_DF / 2.0;
        let prior = libm::exp(self.log_variance + digamma(half) - libm::log(half));
        let df = PRIOR_DF + own.df;
        Spread { variance: (PRIOR_DF * prior + own.df * own.variance) / df, df }
    }
}

/// The mean; NaN of nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(is: f64, expect: f64) {
        assert!((is / expect - 1.0).abs() < 2e-3, "{is} instead of {expect}");
    }

    #[test]
    fn the_priors_worth_follows_from_the_scatter_of_its_kind() {
        near(trigamma(PRIOR_DF / 2.0), 4.0 * SCATTER * SCATTER);
    }

    #[test]
    fn a_variance_is_pooled_within_groups() {
        let spread = Spread::within([[1.0, 3.0].as_slice(), &[10.0, 10.0, 13.0], &[7.0]]);
        assert_eq!(spread, Spread { variance: (2.0 + 6.0) / 3.0, df: 3.0 });
        assert_eq!(Spread::within([[5.0].as_slice()]), Spread { variance: 0.0, df: 0.0 });
    }

    #[test]
    fn runs_of_its_own_outweigh_the_prior_in_the_end() {
        let prior = Prior::typical(0.01);
        near(prior.cv(), 0.01);
        let own = |cv: f64, df| libm::sqrt(prior.moderate(Spread { variance: cv * cv, df }).variance);
        // ψ(5.5) − ln 5.5 = −0.0946: the prior's variance is a little below the typical one.
        near(own(0.03, 0.0), 0.009_538);
        assert!((0.017..0.018).contains(&own(0.03, 4.0)), "{}", own(0.03, 4.0));
        near(own(0.03, 1e6), 0.03);
        assert!(own(0.0, 4.0) > 0.006, "runs that do not differ are not exact: {}", own(0.0, 4.0));
    }

    #[test]
    fn a_drives_history_moves_the_prior_and_one_wild_metric_does_not_run_off_with_it() {
        let prior = Prior::typical(0.01);
        let of = |cv: f64| prior.said_by(Spread { variance: cv * cv, df: 8.0 }).unwrap();
        let quiet = prior.with_history([of(0.003), of(0.003), of(0.003), of(0.003)]);
        assert!((0.004..0.007).contains(&quiet.cv()), "{}", quiet.cv());
        assert_eq!(quiet.metrics, 4);
        let wild = prior.with_history([of(10.0)]);
        assert!(wild.cv() < 0.02, "{}", wild.cv());
        let exact = prior.with_history([of(0.0)]);
        assert!(exact.cv() > 0.005, "{}", exact.cv());
        assert_eq!(prior.said_by(Spread { variance: 9.0, df: 0.0 }), None);
        assert_eq!(prior.with_history([]), prior);
    }
}
