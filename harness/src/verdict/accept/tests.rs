//! What accepting keeps, drops and refuses, each as a claim.

use super::*;
use crate::verdict::sample::candidate;

const FLOOR: &str = "fill.floor_mb_s";
const CLIFF: &str = "fill.cliff_gb";

fn run(id: &str, metrics: &[(&str, Value)]) -> Candidate {
    Candidate { run: id.to_owned(), ..candidate(metrics) }
}

fn floor(id: &str, value: f64) -> Candidate {
    run(id, &[(FLOOR, Value::Number(value))])
}

fn somebody() -> Acceptor {
    Acceptor {
        who: "somebody".to_owned(),
        when: "2026-03-01T00:00:00Z".to_owned(),
        why: "as delivered".to_owned(),
        earlier: Earlier::ByState,
        new_golden: false,
    }
}

fn accepted(old: Option<&Baseline>, runs: &[Candidate], acceptor: &Acceptor) -> Accepting {
    let accepting = accept(old, runs, &Rules::default(), acceptor).unwrap();
    let text = accepting.baseline.to_toml();
    assert_eq!(Baseline::parse(&text).unwrap().to_toml(), text, "what is accepted can be read");
    accepting
}

#[test]
fn runs_of_one_state_are_added_and_the_first_values_stay_golden() {
    let first = accepted(None, &[floor("a", 100.0), floor("b", 101.0)], &somebody()).baseline;
    assert_eq!(first.metric[FLOOR].values, [100.0, 101.0]);
    let more = accepted(Some(&first), &[floor("c", 99.123_456_7)], &somebody());
    assert_eq!(more.baseline.metric[FLOOR].values, [100.0, 101.0, 99.1235]);
    assert_eq!(more.baseline.provenance.run, ["a", "b", "c"]);
    assert_eq!(more.baseline.golden.values[FLOOR], [100.0, 101.0]);
    assert_eq!(more.baseline.accepted.len(), 2);
    assert!(more.remarks[0].contains("added to the 2 earlier runs"), "{:?}", more.remarks);
}

#[test]
fn another_state_begins_anew_and_says_that_golden_will_object() {
    let first = accepted(None, &[floor("a", 100.0)], &somebody()).baseline;
    let worse = accepted(Some(&first), &[floor("b", 80.0)], &somebody());
    assert_eq!(worse.baseline.metric[FLOOR].values, [80.0]);
    assert!(worse.remarks.iter().any(|remark| remark.contains("regressed against the 1 earlier runs")));
    assert!(worse.remarks.iter().any(|remark| remark.contains("--new-golden")), "{:?}", worse.remarks);
    let anew = Acceptor { new_golden: true, ..somebody() };
    let anew = accepted(Some(&first), &[floor("b", 80.0)], &anew);
    assert_eq!(anew.baseline.golden.values[FLOOR], [80.0]);
    assert!(!anew.remarks.iter().any(|remark| remark.contains("--new-golden")), "{:?}", anew.remarks);
    let kept = Acceptor { earlier: Earlier::Keep, ..somebody() };
    assert_eq!(accepted(Some(&first), &[floor("b", 80.0)], &kept).baseline.metric[FLOOR].values, [100.0, 80.0]);
    let mut firmware = floor("b", 100.0);
    firmware.environment.insert("drive.firmware".to_owned(), "FW02".to_owned());
    let firmware = accepted(Some(&first), &[firmware], &somebody());
    assert_eq!(firmware.baseline.metric[FLOOR].values, [100.0]);
    assert!(firmware.remarks[0].contains("drive.firmware FW01 → FW02 is another state"), "{:?}", firmware.remarks);
}

#[test]
fn nothing_changes_if_nothing_changed() {
    let first = accepted(None, &[floor("a", 100.0)], &somebody()).baseline;
    let later = Acceptor { when: "2027-01-01T00:00:00Z".to_owned(), ..somebody() };
    let again = accepted(Some(&first), &[floor("a", 100.0)], &later);
    assert!(!again.changed);
    assert_eq!(again.baseline, first);
}

#[test]
fn cliffs_and_their_absence_are_kept_a_run() {
    let cliff = |id: &str, value: Value| run(id, &[(CLIFF, value)]);
    let none = accepted(None, &[cliff("a", Value::MoreThan(200.0)), cliff("b", Value::MoreThan(190.0))], &somebody());
    assert_eq!((none.baseline.metric[CLIFF].more_than, none.baseline.metric[CLIFF].values.len()), (Some(190.0), 0));
    let mixed = accepted(None, &[cliff("a", Value::MoreThan(200.0)), cliff("b", Value::Number(60.0))], &somebody());
    let metric = &mixed.baseline.metric[CLIFF];
    assert!(metric.values[0].is_nan() && metric.values[1] == 60.0 && metric.more_than == Some(200.0));
    let second = ("fill.cliff2_gb", Value::Number(90.0));
    let two = run("c", &[(CLIFF, Value::Number(60.0)), second]);
    let both = accepted(None, &[two, cliff("d", Value::Number(60.0))], &somebody()).baseline;
    assert_eq!(both.metric["fill.cliff2_gb"].more_than, Some(200.0));
    let absent = accepted(None, &[cliff("e", Value::Absent("too-short"))], &somebody()).baseline;
    assert_eq!(absent.metric[CLIFF].absent.as_deref(), Some("too-short"));
    assert!(absent.golden.values.is_empty() && absent.golden.more_than.is_empty());
}

#[test]
fn a_tolerance_set_by_hand_stays() {
    let mut first = accepted(None, &[floor("a", 100.0)], &somebody()).baseline;
    first.metric.get_mut(FLOOR).unwrap().tolerance = Some(0.02);
    let more = accepted(Some(&first), &[floor("b", 100.0)], &somebody()).baseline;
    assert_eq!(more.metric[FLOOR].tolerance, Some(0.02));
}

#[test]
fn what_makes_no_baseline_is_refused_with_the_reason() {
    let check = |runs: &[Candidate], acceptor: &Acceptor, expect: &str| {
        let why = accept(None, runs, &Rules::default(), acceptor).unwrap_err();
        assert!(why.contains(expect), "{why}");
    };
    check(&[], &somebody(), "no run");
    check(&[floor("a", 1.0)], &Acceptor { why: " ".to_owned(), ..somebody() }, "a reason is needed");
    check(&[floor("a", 1.0), floor("a", 1.0)], &somebody(), "named twice");
    check(&[floor("a", f64::NAN)], &somebody(), "not a number");
    check(&[run("a", &[])], &somebody(), "no metric");
    let other = Candidate { fingerprint: "f".repeat(16), ..floor("b", 1.0) };
    check(&[floor("a", 1.0), other], &somebody(), "different fingerprints");
    let mut other = floor("b", 1.0);
    other.key.drive = "Other".to_owned();
    check(&[floor("a", 1.0), other], &somebody(), "measured different things");
    let mut other = floor("b", 1.0);
    other.environment.insert("kernel".to_owned(), "7.0".to_owned());
    check(&[floor("a", 1.0), other], &somebody(), "kernel 6.1.0 → 7.0");
}
