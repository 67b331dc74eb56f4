//! Curves of accepted runs: what a baseline's runs did from the beginning of a suite to its end, coarse enough to be
//! reviewed as text.
//!
//! Pure. Judges nothing: a picture shows them behind the run that is judged.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::baseline::Baseline;
use super::candidate::Candidate;

/// Steps of a curve at the most.
pub const STEPS: usize = 60;

/// The curve of one run: its rates over equal shares of its bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// GB written in all.
    pub end_gb: f64,
    /// MB/s over each share.
    pub mb_s: Vec<f64>,
}

/// The curves of one suite or level, one a run in the order of the provenance; 0 and nothing for a run without one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curves {
    /// GB written by each run.
    pub end_gb: Vec<f64>,
    /// MB/s of each run over equal shares of its bytes.
    pub mb_s: Vec<Vec<f64>>,
}

/// What several runs did at the same places.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// Runs with a curve.
    pub runs: usize,
    /// GB written at the end of each step.
    pub at_gb: Vec<f64>,
    /// Least, middle and greatest MB/s over the step.
    pub mb_s: Vec<[f64; 3]>,
}

impl Curves {
    fn push(&mut self, curve: Option<&Curve>) {
        // Four digits are more than a picture shows.
        let rounded = |value: &f64| format!("{value:.3e}").parse().unwrap_or(*value);
        self.end_gb.push(curve.map_or(0.0, |curve| rounded(&curve.end_gb)));
        self.mb_s.push(curve.map_or_else(Vec::new, |curve| curve.mb_s.iter().map(rounded).collect()));
    }

    /// What is wrong with it, in a baseline of so many runs.
    pub(super) fn check(&self, runs: usize) -> Result<(), String> {
        if self.end_gb.len() != runs || self.mb_s.len() != runs {
            return Err(format!("it has {} curves of {runs} runs: one a run is needed", self.mb_s.len()));
        }
        match self.end_gb.iter().chain(self.mb_s.iter().flatten()).find(|value| !(value.is_finite() && **value >= 0.0))
        {
            Some(value) => Err(format!("{value} is no place and no rate")),
            None => Ok(()),
        }
    }

    /// The runs at the same places, up to the end of the longest; none where no run has a curve.
    #[must_use]
    pub fn spread(&self) -> Option<Spread> {
        let curves = self.end_gb.iter().copied().zip(&self.mb_s).filter(|(end, rates)| *end > 0.0 && !rates.is_empty());
        let curves: Vec<(f64, &Vec<f64>)> = curves.collect();
        let end = curves.iter().map(|(end, _)| *end).reduce(f64::max)?;
        let places = (0..STEPS).map(|step| {
            let (middle, to) = (end * (step as f64 + 0.5) / STEPS as f64, end * (step as f64 + 1.0) / STEPS as f64);
            let at = |(end, rates): &(f64, &Vec<f64>)| rates.get((middle / end * rates.len() as f64) as usize).copied();
            let mut rates: Vec<f64> = curves.iter().filter_map(at).collect();
            rates.sort_by(f64::total_cmp);
            (to, [rates[0], rates[rates.len() / 2], rates[rates.len() - 1]])
        });
        let (at_gb, mb_s) = places.unzip();
        Some(Spread { runs: curves.len(), at_gb, mb_s })
    }
}

/// The curves of earlier runs that stay and of new ones, by suite or level.
pub(super) fn merged(old: Option<&Baseline>, new: &[&Candidate]) -> BTreeMap<String, Curves> {
    let earlier = old.map_or(0, |old| old.provenance.run.len());
    let of_old = old.into_iter().flat_map(|old| old.curve.keys());
    let ids: BTreeSet<&String> = of_old.chain(new.iter().flat_map(|run| run.curves.keys())).collect();
    let curves = |id: &String| {
        let mut curves = old.and_then(|old| old.curve.get(id)).cloned().unwrap_or_default();
        (curves.end_gb.len()..earlier).for_each(|_| curves.push(None));
        new.iter().for_each(|run| curves.push(run.curves.get(id)));
        (id.clone(), curves)
    };
    ids.into_iter().map(curves).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::sample::{baseline, candidate};

    fn curves(runs: &[(f64, &[f64])]) -> Curves {
        let mut curves = Curves::default();
        for (end_gb, mb_s) in runs {
            curves.push((*end_gb > 0.0).then(|| Curve { end_gb: *end_gb, mb_s: mb_s.to_vec() }).as_ref());
        }
        curves
    }

    #[test]
    fn runs_are_set_beside_each_other_at_the_same_places() {
        let three = curves(&[(100.0, &[10.0, 5.0]), (100.0, &[12.0, 4.0]), (50.0, &[11.0]), (0.0, &[])]);
        let spread = three.spread().unwrap();
        assert_eq!((spread.runs, spread.at_gb.len(), spread.at_gb[STEPS - 1]), (3, STEPS, 100.0));
        assert_eq!((spread.mb_s[0], spread.mb_s[STEPS - 1]), ([10.0, 11.0, 12.0], [4.0, 5.0, 5.0]));
        assert_eq!(curves(&[(0.0, &[])]).spread(), None);
    }

    #[test]
    fn earlier_runs_without_a_curve_keep_their_place() {
        let old = baseline(&[("fill.fast_mb_s", &[500.0, 501.0])]);
        let mut run = candidate(&[]);
        run.curves.insert("fill".to_owned(), Curve { end_gb: 123.456_78, mb_s: vec![1.0, 2.0] });
        let merged = merged(Some(&old), &[&run]);
        assert_eq!(merged["fill"], curves(&[(0.0, &[]), (0.0, &[]), (123.5, &[1.0, 2.0])]));
        assert_eq!(merged["fill"].check(3), Ok(()));
        assert!(merged["fill"].check(2).unwrap_err().contains("3 curves of 2 runs"));
        assert!(curves(&[(f64::NAN, &[]), (1.0, &[-1.0])]).check(2).is_err());
    }
}
