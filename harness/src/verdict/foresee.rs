//! What the gate could see before anything is measured: by the baseline's runs and the profile's prior.
//!
//! Pure. Knows no run; takes the noise as it is known so far.

use std::collections::BTreeMap;

use super::baseline::Baseline;
use super::candidate::Candidate;
use super::comparing::Comparing;
use super::evidence::Evidence;
use super::judge::{Role, Rules, role};
use super::looks::Looks;
use super::noise::{Prior, Spread};
use super::standing::Standing;
use super::tolerance::tolerance;
use super::weigh::Scale;
use super::weighed::Weighed;
use crate::analysis::metric::Kind;

/// What a gate could see of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreseen {
    /// The metric's id; without a baseline the kind of metric.
    pub what: String,
    /// Runs of the baseline.
    pub baseline_runs: usize,
    /// The accepted loss, for people.
    pub tolerance: String,
    /// The smallest loss that fails nineteen times of twenty, for people.
    pub smallest_loss: String,
    /// The same, as the tolerance is written: a fraction; of stalls in seconds an hour.
    pub smallest: f64,
    /// Runs after which an equal drive is held nineteen times of twenty; none where the baseline has too few for it.
    pub runs_to_hold: Option<usize>,
    /// The smallest tolerance under which one equal run is held nineteen times of twenty, as the tolerance is written.
    pub least_tolerance: f64,
    /// Whether the tolerance could be half of what it is and less, and how small, for people.
    pub headroom: Option<String>,
    /// What that rests on.
    pub noise: String,
}

/// What so many runs of a unit could be told from a baseline.
#[must_use]
pub fn against(baseline: &Baseline, unit: Option<String>, rules: &Rules, runs: usize) -> Vec<Foreseen> {
    let nothing = Candidate {
        run: String::new(),
        started: String::new(),
        fingerprint: baseline.fingerprint.clone(),
        key: baseline.key.clone(),
        unit,
        environment: baseline.environment.clone(),
        metrics: Vec::new(),
        reach_gb: BTreeMap::new(),
        left_out: Vec::new(),
        health_unread: None,
        curves: BTreeMap::new(),
    };
    let (runs_so_far, looks) = (std::slice::from_ref(&nothing), &Looks::once(runs));
    let standing = Standing { runs: runs_so_far, looks, baseline, confounded: None, side_effect: None };
    let gates = baseline.metric.keys().map(String::as_str).filter(|id| role(id, rules) == Role::Gate);
    let comparing = Comparing::new(&standing, rules, gates.clone());
    gates
        .filter_map(|id| {
            let accepted = baseline.metric.get(id)?;
            let tolerance = tolerance(accepted.kind, &rules.tolerance, accepted.tolerance)?;
            let weighed = comparing.foreseen(id, accepted.kind, tolerance, runs)?;
            Some(of(id, accepted.runs(), &weighed, tolerance))
        })
        .collect()
}

/// What one run could be told from one other, kind by kind, by the profile alone.
#[must_use]
pub fn without_baseline(rules: &Rules, runs: usize) -> Vec<Foreseen> {
    let kinds = [("rates", Kind::Throughput), ("capacities", Kind::Capacity), ("latencies", Kind::TailLatency)];
    let foreseen = |(name, kind): (&str, Kind)| {
        let (share, scale) = (tolerance(kind, &rules.tolerance, None)?, Scale::of(kind, 1.0)?);
        let prior = Prior::typical(rules.prior_noise.of(kind)?);
        let noise = prior.moderate(Spread { variance: 0.0, df: 0.0 });
        let (allowed, variance) = (scale.allowed(share), noise.variance);
        let evidence = Evidence { loss: 0.0, allowed, fixed: variance, per_run: variance, runs, df: noise.df };
        let weighed = Weighed { evidence, prior, own_df: 0.0, same_unit: true, scale, runs: Vec::new() };
        Some(of(name, 1, &weighed, share))
    };
    kinds.into_iter().filter_map(foreseen).collect()
}

fn of(what: &str, baseline_runs: usize, weighed: &Weighed, tolerance: f64) -> Foreseen {
    let (smallest, least) = (weighed.smallest_loss(), weighed.least_tolerance());
    Foreseen {
        what: what.to_owned(),
        baseline_runs,
        tolerance: weighed.text(tolerance),
        smallest_loss: weighed.text(smallest),
        smallest,
        runs_to_hold: weighed.evidence.runs_to_hold(),
        least_tolerance: least,
        headroom: (least < tolerance / 2.0)
            .then(|| format!("the tolerance of {what} could be {}", weighed.text(rounded_up(least)))),
        noise: weighed.noise_text(),
    }
}

/// To two digits, never below.
fn rounded_up(value: f64) -> f64 {
    let unit = libm::pow(10.0, libm::floor(libm::log10(value.max(1e-9))) - 1.0);
    let up = libm::ceil(value / unit) * unit;
    format!("{up:.3e}").parse().unwrap_or(up)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::sample::baseline;

    #[test]
    fn a_noisy_baseline_sees_less_and_another_unit_nothing() {
        let see = |values: &[f64], unit: &str| {
            against(&baseline(&[("fill.fast_mb_s", values)]), Some(unit.to_owned()), &Rules::default(), 1)
        };
        let own = "5f1d7a84db00";
        let (quiet, noisy) = (see(&[100.0, 100.5, 99.5], own), see(&[100.0, 110.0, 90.0], own));
        assert!(quiet[0].smallest < noisy[0].smallest, "{quiet:?} {noisy:?}");
        assert_eq!((quiet[0].baseline_runs, quiet[0].runs_to_hold), (3, Some(1)));
        assert_eq!(noisy[0].runs_to_hold, None);
        assert!(see(&[100.0], "ffff").is_empty());
    }

    #[test]
    fn the_profile_alone_says_what_one_run_against_one_could_see() {
        let rates = &without_baseline(&Rules::default(), 1)[0];
        assert!((0.10..0.15).contains(&rates.smallest), "{rates:?}");
        assert!(rates.noise.contains("a prior of 1 % (the profile; 11 degrees of freedom)"), "{}", rates.noise);
    }
}
