//! A sabotaged gate is found out by its claims, each sabotage by itself.

use super::*;
use crate::analysis::metric::{Metric, Value};

/// Bounds that a gate breaks, beyond all chance, in a few hundred draws.
fn broken(gate: Gate<'_>) -> Vec<String> {
    claims().iter().flat_map(|claim| claim.broken(&claim.tally(gate, 100), 5.0)).collect()
}

#[track_caller]
fn red(gate: Gate<'_>, words: &str) {
    let broken = broken(gate);
    assert!(broken.iter().any(|line| line.contains(words)), "no {words:?} in {broken:#?}");
}

fn numbers(run: &mut Candidate, change: impl Fn(f64) -> f64) {
    for metric in &mut run.metrics {
        if let Value::Number(value) = &mut metric.value {
            *value = change(*value);
        }
    }
}

#[test]
fn the_gate_itself_is_green() {
    assert_eq!(broken(&gate), Vec::<String>::new());
}

#[test]
fn a_flipped_direction_is_found_out() {
    let flipped = |baseline: &Baseline, runs: &[Candidate], looks: &Looks, rules: &Rules| {
        let mut baseline = baseline.clone();
        for metric in baseline.metric.values_mut() {
            metric.values.iter_mut().for_each(|value| *value = 1e6 / value.max(1.0));
        }
        baseline.golden = Default::default();
        let mut runs = runs.to_vec();
        runs.iter_mut().for_each(|run| numbers(run, |value| 1e6 / value.max(1.0)));
        gate(&baseline, &runs, looks, rules)
    };
    red(&flipped, "one metric -15 %: 0.00 % regressed");
}

#[test]
fn a_dropped_metric_is_found_out_whichever_it_is() {
    for claim in claims().iter().filter(|claim| claim.world.name.starts_with("fill.") || claim.world.name.contains('.'))
    {
        let Some(id) = claim.world.subjects.iter().find(|subject| subject.loss != 0.0).map(|subject| subject.id) else {
            continue;
        };
        let dropped = |baseline: &Baseline, runs: &[Candidate], looks: &Looks, rules: &Rules| {
            let (mut baseline, mut runs) = (baseline.clone(), runs.to_vec());
            baseline.metric.remove(id);
            runs.iter_mut().for_each(|run| run.metrics.retain(|metric: &Metric| metric.id != id));
            gate(&baseline, &runs, looks, rules)
        };
        assert!(!claim.broken(&claim.tally(&dropped, 20), 5.0).is_empty(), "without {id}");
    }
}

#[test]
fn inconclusive_treated_as_held_is_found_out() {
    let lenient = |baseline: &Baseline, runs: &[Candidate], looks: &Looks, rules: &Rules| match gate(
        baseline, runs, looks, rules,
    ) {
        Verdict::Inconclusive => Verdict::Held,
        verdict => verdict,
    };
    red(&lenient, "one metric at the tolerance");
    red(&lenient, "another unit, nothing known");
}

#[test]
fn samples_used_as_replicates_are_found_out() {
    /// Samples of one run differ far less than runs do.
    const SAMPLES: usize = 30;
    let sample = |value: f64, at: usize| value * (1.0 + 1e-4 * (at as f64 - SAMPLES as f64 / 2.0) / SAMPLES as f64);
    let pseudo = |baseline: &Baseline, runs: &[Candidate], _: &Looks, rules: &Rules| {
        let mut baseline = baseline.clone();
        for metric in baseline.metric.values_mut() {
            metric.values = (0..SAMPLES).map(|at| sample(metric.values[0], at)).collect();
        }
        baseline.golden = Default::default();
        baseline.provenance.unit = vec!["one".to_owned(); SAMPLES];
        let Some(last) = runs.last() else { return Verdict::Error };
        let samples = |at: usize| {
            let mut run = last.clone();
            numbers(&mut run, |value| sample(value, at));
            run
        };
        let runs: Vec<Candidate> = (0..SAMPLES).map(samples).collect();
        gate(&baseline, &runs, &Looks::once(SAMPLES), rules)
    };
    red(&pseudo, "metric at the tolerance");
}
