//! Qualifying a baseline: equal runs are set against each other, and what the gate can tell at all is written down.
//!
//! Pure. Runs nothing: the runs are those of the baseline.

use super::judged;
use crate::verdict::Verdict;
use crate::verdict::baseline::{Baseline, rounded};
use crate::verdict::candidate::Candidate;
use crate::verdict::foresee;
use crate::verdict::judge::{Rules, overall};

/// Fewer runs say too little of their noise.
const LEAST_RUNS: usize = 3;

/// Writes the noise floor of each gate into the baseline, and says how equal runs were judged.
///
/// # Errors
/// There are too few runs, or equal runs regress: the drive or its surroundings are not steady enough for a gate.
pub fn qualify(baseline: &mut Baseline, runs: &[Candidate], rules: &Rules) -> Result<Vec<String>, String> {
    let count = baseline.provenance.run.len();
    if count < LEAST_RUNS || runs.len() < LEAST_RUNS {
        return Err(format!("{count} runs are too few to qualify a baseline: at least {LEAST_RUNS} are needed"));
    }
    let unit = runs.last().and_then(|run| run.unit.clone());
    let mut remarks = vec![each_against_the_others(baseline, runs, rules)?];
    for foreseen in foresee::against(baseline, unit, rules, 1) {
        let Some(accepted) = baseline.metric.get_mut(&foreseen.what) else { continue };
        let floor = rounded(foreseen.least_tolerance);
        accepted.noise_floor = Some(floor);
        if accepted.tolerance.is_some_and(|tolerance| tolerance < floor) {
            return Err(format!(
                "the tolerance of {} is below its noise floor of {floor}: raise it in the baseline, or accept more runs",
                foreseen.what
            ));
        }
        match foreseen.runs_to_hold {
            Some(1) => remarks.extend(foreseen.headroom),
            Some(runs) => remarks.push(format!(
                "{}: its noise needs about {runs} runs to hold the tolerance of {}",
                foreseen.what, foreseen.tolerance
            )),
            None => remarks.push(format!(
                "{}: the tolerance of {} is below what these runs can hold: raise it, or accept more runs",
                foreseen.what, foreseen.tolerance
            )),
        }
    }
    Ok(remarks)
}

/// Each run against a baseline of the others: none may regress, since all are equal.
fn each_against_the_others(baseline: &Baseline, runs: &[Candidate], rules: &Rules) -> Result<String, String> {
    let mut held = 0;
    for run in runs {
        let verdict = overall(&judged(rules, std::slice::from_ref(run), &without(baseline, &run.run)));
        match verdict {
            Verdict::Held | Verdict::Improved => held += 1,
            Verdict::Regressed | Verdict::Error => {
                return Err(format!("run {} is {verdict} against the others, though all are equal", run.run));
            }
            Verdict::Inconclusive | Verdict::NoBaseline => {}
        }
    }
    Ok(format!("equal runs, each against the others: {held} of {} held, none regressed", runs.len()))
}

/// The baseline without a run.
fn without(baseline: &Baseline, run: &str) -> Baseline {
    let mut others = baseline.clone();
    let Some(at) = others.provenance.run.iter().position(|known| known == run) else { return others };
    let provenance = &mut others.provenance;
    for list in [
        &mut provenance.run,
        &mut provenance.unit,
        &mut provenance.firmware,
        &mut provenance.kernel,
        &mut provenance.driver,
        &mut provenance.date,
    ] {
        list.remove(at);
    }
    for accepted in others.metric.values_mut().filter(|accepted| accepted.values.len() > at) {
        accepted.values.remove(at);
    }
    others.golden = Default::default();
    others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::metric::Value;
    use crate::verdict::sample;

    fn runs(values: &[f64]) -> (Baseline, Vec<Candidate>) {
        let run = |(at, value): (usize, &f64)| Candidate {
            run: format!("run-{}", at + 1),
            ..sample::candidate(&[("fill.fast_mb_s", Value::Number(*value))])
        };
        (sample::baseline(&[("fill.fast_mb_s", values)]), values.iter().enumerate().map(run).collect())
    }

    #[test]
    fn the_noise_floor_of_equal_runs_is_kept_and_a_tolerance_below_it_is_refused() {
        let (mut baseline, runs) = runs(&[100.0, 100.2, 99.9, 100.1]);
        let remarks = qualify(&mut baseline, &runs, &Rules::default()).unwrap();
        assert!(remarks[0].contains("4 of 4 held, none regressed"), "{remarks:?}");
        let floor = baseline.metric["fill.fast_mb_s"].noise_floor.unwrap();
        assert!((0.01..0.05).contains(&floor), "{floor}");
        assert_eq!(Baseline::parse(&baseline.to_toml()).unwrap(), baseline);
        baseline.metric.get_mut("fill.fast_mb_s").unwrap().tolerance = Some(0.001);
        assert!(qualify(&mut baseline, &runs, &Rules::default()).unwrap_err().contains("below its noise floor"));
        assert!(Baseline::parse(&baseline.to_toml()).unwrap_err().to_string().contains("below the noise floor"));
    }

    #[test]
    fn equal_runs_that_regress_and_too_few_qualify_nothing() {
        let (mut baseline, unsteady) = runs(&[100.0, 100.1, 99.9, 70.0]);
        let why = qualify(&mut baseline, &unsteady, &Rules::default()).unwrap_err();
        assert!(why.contains("run-4 is regressed against the others"), "{why}");
        let (mut baseline, few) = runs(&[100.0, 100.1]);
        assert!(qualify(&mut baseline, &few, &Rules::default()).unwrap_err().contains("too few"));
    }
}
