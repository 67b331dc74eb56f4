//! What is said of runs against a baseline, each as a claim.

use super::*;
use crate::analysis::metric::{Kind, Value};
use crate::verdict::baseline::Baseline;
use crate::verdict::candidate::Candidate;
use crate::verdict::judge::{Judged, Rules, judge_against, overall};
use crate::verdict::looks::Looks;
use crate::verdict::sample::{baseline, candidate, none_up_to};
use crate::verdict::standing::Standing;

/// Judges a run against a baseline, with the default rules.
fn judged(run: &[(&str, Value)], baseline: &Baseline, confounded: Option<&str>) -> Vec<Judged> {
    together(&[candidate(run)], baseline, confounded, None)
}

fn together(
    runs: &[Candidate],
    baseline: &Baseline,
    confounded: Option<&str>,
    side_effect: Option<&str>,
) -> Vec<Judged> {
    let looks = Looks::new(baseline.provenance.run.len(), runs.len());
    judge_against(&Rules::default(), &Standing { runs, looks: &looks, baseline, confounded, side_effect })
}

#[track_caller]
fn check(run: &[(&str, Value)], baseline: &Baseline, expect: Verdict, words: &str) {
    let judged = judged(run, baseline, None);
    assert_eq!(overall(&judged), expect, "{judged:?}");
    assert!(judged.iter().any(|judged| judged.reason.contains(words)), "no {words:?} in {judged:?}");
}

const FLOOR: &str = "fill.floor_mb_s";
const CLIFF: &str = "fill.cliff_gb";

#[test]
fn a_metric_that_vanished_is_an_error_whatever_its_role() {
    let two = baseline(&[(FLOOR, &[100.0]), ("fill.read_mb_s", &[100.0])]);
    check(&[(FLOOR, Value::Number(100.0))], &two, Verdict::Error, "the baseline has it and this run does not");
    check(&[], &two, Verdict::Error, "vanished");
}

#[test]
fn a_gate_that_the_baseline_lacks_is_not_green() {
    let one = baseline(&[(FLOOR, &[100.0])]);
    let run = [(FLOOR, Value::Number(100.0)), ("fill.fast_mb_s", Value::Number(100.0))];
    check(&run, &one, Verdict::Inconclusive, "the baseline lacks this metric: accept");
    let run = [(FLOOR, Value::Number(100.0)), ("fill.read_mb_s", Value::Number(100.0))];
    check(&run, &one, Verdict::Held, "the baseline lacks this metric");
}

#[test]
fn units_and_kinds_are_never_mixed() {
    let mut other = baseline(&[(FLOOR, &[100.0])]);
    other.metric.get_mut(FLOOR).unwrap().unit = "MiB/s".to_owned();
    check(&[(FLOOR, Value::Number(100.0))], &other, Verdict::Error, "\"MiB/s\" and this run in \"MB/s\"");
    let mut other = baseline(&[(FLOOR, &[100.0])]);
    other.metric.get_mut(FLOOR).unwrap().kind = Kind::Capacity;
    check(&[(FLOOR, Value::Number(100.0))], &other, Verdict::Error, "different kinds");
}

#[test]
fn cliffs_more_and_fewer() {
    let none = none_up_to(&[(CLIFF, 200.0)]);
    check(&[(CLIFF, Value::Number(60.0))], &none, Verdict::Regressed, "the baseline has none up to 200 GB");
    check(&[(CLIFF, Value::MoreThan(200.0))], &none, Verdict::Held, "as in the baseline");
    let one = baseline(&[(CLIFF, &[60.0]), (FLOOR, &[100.0])]);
    let second = ("fill.cliff2_gb", Value::Number(90.0));
    let run = [(CLIFF, Value::Number(60.0)), (FLOOR, Value::Number(100.0)), second];
    check(&run, &one, Verdict::Regressed, "one more cliff");
    let run = [(CLIFF, Value::MoreThan(200.0)), (FLOOR, Value::Absent("not-applicable"))];
    check(&run, &one, Verdict::Improved, "no cliff, so nothing behind it");
    let two = baseline(&[(CLIFF, &[60.0]), ("fill.cliff2_gb", &[90.0])]);
    check(&[(CLIFF, Value::Number(60.0))], &two, Verdict::Improved, "and the baseline has one at 90 GB");
    check(&[], &two, Verdict::Error, "vanished");
}

#[test]
fn a_baseline_whose_runs_disagree_decides_only_what_most_of_them_show() {
    let mut mixed = baseline(&[(CLIFF, &[60.0, f64::NAN, f64::NAN])]);
    mixed.metric.get_mut(CLIFF).unwrap().more_than = Some(200.0);
    mixed.golden = Default::default();
    check(&[(CLIFF, Value::MoreThan(200.0))], &mixed, Verdict::Held, "as in the baseline");
    check(&[(CLIFF, Value::Number(60.0))], &mixed, Verdict::Inconclusive, "1 with a cliff and 2 without");
}

#[test]
fn what_neither_side_can_say_decides_nothing() {
    let steady = "random_write.scratch.steady_mb_s";
    let mut absent = baseline(&[(FLOOR, &[100.0]), (steady, &[])]);
    absent.metric.get_mut(steady).unwrap().absent = Some("too-short".to_owned());
    let floor = (FLOOR, Value::Number(100.0));
    check(&[floor.clone(), (steady, Value::Absent("too-short"))], &absent, Verdict::Held, "no value either");
    check(&[floor.clone(), (steady, Value::Number(9.0))], &absent, Verdict::Inconclusive, "and this run has");
    let known = baseline(&[(steady, &[100.0])]);
    check(&[(steady, Value::Absent("never"))], &known, Verdict::Inconclusive, "this run has none: never");
    let judged = judged(&[(steady, Value::Absent("too-short"))], &absent, None);
    assert_eq!(overall(&judged), Verdict::Error, "the floor is missing");
}

#[test]
fn slow_drift_is_seen_against_the_first_accepted_state() {
    let mut drifted = baseline(&[(FLOOR, &[90.0])]);
    drifted.golden.when = "2025-02-03T00:00:00Z".to_owned();
    drifted.golden.values.insert(FLOOR.to_owned(), vec![100.0]);
    check(&[(FLOOR, Value::Number(90.0))], &drifted, Verdict::Regressed, "drift: it changed by -10.0 % since");
    check(&[(FLOOR, Value::Number(90.0))], &drifted, Verdict::Regressed, "(100 MB/s, 2025-02-03)");
    check(&[(FLOOR, Value::Number(99.0))], &drifted, Verdict::Improved, "");
}

#[test]
fn what_else_changed_takes_the_conclusion_away_and_is_named() {
    let one = baseline(&[(FLOOR, &[100.0])]);
    let judged = |value, why| judged(&[(FLOOR, Value::Number(value))], &one, why);
    let why = Some("not comparable: drive.scheduler none → bfq");
    for (value, would) in [(100.0, "held"), (50.0, "regressed"), (150.0, "improved")] {
        let judged = judged(value, why);
        assert_eq!(overall(&judged), Verdict::Inconclusive);
        assert!(judged[0].reason.contains("none → bfq; by the figures alone it would be"), "{judged:?}");
        assert!(judged[0].reason.ends_with(would), "{judged:?}");
        assert!(judged[0].against.is_some());
    }
}

#[test]
fn a_link_that_changed_with_what_is_under_test_is_the_cause() {
    let one = baseline(&[(FLOOR, &[100.0])]);
    let check = |value, expect, words: &str| {
        let run = candidate(&[(FLOOR, Value::Number(value))]);
        let side_effect = Some("drive.link x4 → x2 changed with drive.firmware");
        let judged = together(&[run], &one, None, side_effect);
        assert_eq!(judged[0].verdict, expect);
        assert!(judged[0].reason.contains(words), "{judged:?}");
    };
    check(50.0, Verdict::Regressed, "cause: drive.link x4 → x2");
    check(100.0, Verdict::Inconclusive, "by the figures alone it would be held");
}

#[test]
fn too_good_to_be_true_is_said() {
    let one = baseline(&[(FLOOR, &[100.0])]);
    check(&[(FLOOR, Value::Number(500.0))], &one, Verdict::Improved, "too good to be true");
}

#[test]
fn no_input_is_green_in_silence() {
    let three = baseline(&[(FLOOR, &[100.0, 101.0, 99.0])]);
    let green = |run: &[(&str, Value)], baseline: &Baseline| {
        matches!(overall(&judged(run, baseline, None)), Verdict::Held | Verdict::Improved)
    };
    let floor = |value: f64| [(FLOOR, Value::Number(value))];
    assert!(green(&floor(100.0), &three));
    let inputs: [(&str, &[(&str, Value)]); 8] = [
        ("an empty run", &[]),
        ("a renamed metric", &[("fill.floor_mib_s", Value::Number(100.0))]),
        ("NaN", &floor(f64::NAN)),
        ("infinity", &floor(f64::INFINITY)),
        ("a negative rate", &floor(-100.0)),
        ("no rate at all", &floor(0.0)),
        ("no value", &[(FLOOR, Value::Absent("too-short"))]),
        ("a place for a rate", &[(FLOOR, Value::MoreThan(100.0))]),
    ];
    for (what, run) in inputs {
        assert!(!green(run, &three), "{what}");
    }
    // Runs that do not differ at all, and a single one, are still judged, and by what the profile says of noise.
    for values in [[100.0; 3].as_slice(), &[100.0]] {
        let baseline = baseline(&[(FLOOR, values)]);
        assert!(green(&floor(100.0), &baseline) && !green(&floor(95.5), &baseline), "{values:?}");
        check(&floor(80.0), &baseline, Verdict::Regressed, "by more than the noise");
    }
    check(&floor(100.0), &baseline(&[("fill.read_mb_s", &[100.0])]), Verdict::Error, "vanished");
    let info = baseline(&[("fill.read_mb_s", &[100.0])]);
    check(&[("fill.read_mb_s", Value::Number(100.0))], &info, Verdict::Inconclusive, "");
    let mut other_unit = candidate(&floor(100.0));
    other_unit.unit = Some("ffff".to_owned());
    let judged = together(&[other_unit], &three, None, None);
    assert_eq!(overall(&judged), Verdict::Inconclusive);
    assert!(judged[0].reason.contains("(one unit)"), "{judged:?}");
}

#[test]
fn runs_of_one_request_are_judged_together_and_a_warm_first_one_is_seen() {
    let three = baseline(&[(FLOOR, &[100.0, 101.0, 99.0])]);
    let run = |value: f64| candidate(&[(FLOOR, Value::Number(value))]);
    let judged = together(&[run(112.0), run(100.5), run(99.5)], &three, None, None);
    let weighed = judged[0].against.as_ref().and_then(|against| against.weighed.as_ref()).unwrap();
    assert!(weighed.first_stands_out() < -2.0, "{}", weighed.first_stands_out());
    let figures = weighed.figures();
    assert!(figures.iter().zip([112.0, 100.5, 99.5]).all(|(is, expect)| (is - expect).abs() < 1e-9), "{figures:?}");
    assert_eq!(judged[0].metric.value, Value::Number(100.5));
    let one = together(&[run(100.5), Candidate { metrics: Vec::new(), ..run(0.0) }], &three, None, None);
    assert_eq!(overall(&one), Verdict::Error, "a metric that one of two runs lacks");
}

#[test]
fn two_units_tell_how_much_units_differ() {
    let mut two = baseline(&[(FLOOR, &[100.0, 100.5, 103.0, 103.5])]);
    two.provenance.unit = ["a", "a", "b", "b"].map(str::to_owned).to_vec();
    let judged = |unit: &str, value: f64| {
        let run = Candidate { unit: Some(unit.to_owned()), ..candidate(&[(FLOOR, Value::Number(value))]) };
        overall(&together(&[run], &two, None, None))
    };
    assert_eq!(judged("b", 103.0), Verdict::Held, "before and after on one unit are paired");
    assert_eq!(judged("b", 90.0), Verdict::Regressed);
    assert_eq!(judged("c", 90.0), Verdict::Inconclusive, "another one may differ as units do");
}

/// What preflight says where counters could not be read.
const UNREAD: &str = "these counters of errors were not read: the kernel's log: Permission denied";

#[test]
fn counters_of_errors_that_only_root_reads_are_no_error_and_not_green_in_a_run_without() {
    let (floor, errors) = ((FLOOR, Value::Number(100.0)), "health.media_errors");
    let root = baseline(&[(FLOOR, &[100.0]), (errors, &[0.0])]);
    let mut run = candidate(std::slice::from_ref(&floor));
    run.health_unread = Some(UNREAD.to_owned());
    let judged = together(&[run.clone()], &root, None, None);
    assert_eq!(overall(&judged), Verdict::Inconclusive, "{judged:?}");
    assert!(judged.iter().any(|judged| {
        judged.reason.starts_with("not comparable: the baseline has it, and these counters of errors were")
    }));
    // Everything was read, and the counter is gone: somebody renamed it.
    check(std::slice::from_ref(&floor), &root, Verdict::Error, "vanished");
    // What was not read excuses no other metric, and hides no regression.
    let other = baseline(&[(FLOOR, &[100.0]), ("fill.read_mb_s", &[100.0])]);
    assert_eq!(overall(&together(&[run.clone()], &other, None, None)), Verdict::Error);
    run.metrics = candidate(&[(FLOOR, Value::Number(50.0))]).metrics;
    assert_eq!(overall(&together(&[run], &root, None, None)), Verdict::Regressed);
}

#[test]
fn counters_of_errors_need_no_baseline_that_has_them() {
    let without = baseline(&[(FLOOR, &[100.0])]);
    let run = |errors| [(FLOOR, Value::Number(100.0)), ("health.media_errors", Value::Number(errors))];
    check(&run(0.0), &without, Verdict::Held, "it did not rise during the run");
    check(&run(2.0), &without, Verdict::Regressed, "it rose by 2 during the run");
}
