//! Claims about `report.json`.

use super::*;
use crate::analysis::metric::Value;
use crate::report::{FailureKind, samples};
use crate::verdict::judge::Role;

fn parse(report: &Report) -> serde_json::Value {
    serde_json::from_str(&render(report)).unwrap()
}

/// The keys of the object that `text` shows at this indentation, in their order.
fn keys(text: &str, indent: usize) -> Vec<&str> {
    let start = format!("{:indent$}\"", "");
    text.lines().filter_map(|line| line.strip_prefix(&start)?.split_once("\":")).map(|(key, _)| key).collect()
}

#[test]
fn keys_and_their_order_are_the_contract() {
    let text = render(&samples::finished());
    let expect = "schema verdict exit_code target profile runs metrics findings environment preflight plan bytes_written \
                  elapsed_s run started host headline notes failure changes baseline";
    assert_eq!(keys(&text, 2), expect.split_whitespace().collect::<Vec<_>>());
    let metrics = text.split("\"metrics\": [").nth(1).unwrap().split("\n  ]").next().unwrap();
    let expect = "id kind role value low high unit baseline change tolerance verdict reason explanation \
                  baseline_more_than noise_floor";
    assert_eq!(keys(metrics, 6)[..15], expect.split_whitespace().collect::<Vec<_>>());
    let findings = text.split("\"findings\": {").nth(1).unwrap().split("\n  }").next().unwrap();
    assert_eq!(keys(findings, 4), ["fill", "random_write", "fsef", "thermal"]);
    assert_eq!(keys(findings, 6)[..6], ["bytes", "seconds", "cliffs", "curve", "bad_blocks", "counter_ratios"]);
    assert_eq!(keys(findings, 10)[..5], ["at_gb", "low_gb", "high_gb", "before_mb_s", "after_mb_s"]);
}

#[test]
fn figures_have_six_digits_and_whole_ones_no_point() {
    let check = |value: f64, expect: &str| assert_eq!(serde_json::to_string(&Number(value)).unwrap(), expect);
    check(2_384.123_456_7, "2384.12");
    check(0.001_234_567_8, "0.00123457");
    check(500.0, "500");
    check(-0.0, "0");
    check(f64::NAN, "null");
    check(f64::NEG_INFINITY, "null");
    assert!(serde_json::to_string(&Number(f64::MAX)).unwrap().starts_with("1.79769e"));
}

#[test]
fn a_metric_without_a_value_has_the_contracts_reason() {
    let check = |value: Value, sentence: &str, expect: [serde_json::Value; 4]| {
        let mut report = samples::finished();
        report.metrics = vec![samples::judged("m", value, Role::Gate, Verdict::Inconclusive, sentence)];
        let line = &parse(&report)["metrics"][0];
        assert_eq!([&line["value"], &line["low"], &line["reason"], &line["explanation"]], expect.each_ref());
    };
    let null = serde_json::Value::Null;
    let word = |word: &str| serde_json::Value::from(word);
    check(Value::Absent("never"), "it swung", [null.clone(), null.clone(), word("never"), word("it swung")]);
    check(Value::Absent("never"), "never", [null.clone(), null.clone(), word("never"), null.clone()]);
    check(Value::MoreThan(100.5), "", [null.clone(), 100.5.into(), word("no-cliff"), null.clone()]);
    check(Value::Number(f64::NAN), "", [null.clone(), null.clone(), word("not-applicable"), null.clone()]);
    check(Value::Number(7.0), "enough", [7.into(), null.clone(), word("enough"), null.clone()]);
    check(Value::Number(7.0), "", [7.into(), null.clone(), null.clone(), null]);
}

#[test]
fn a_refusal_is_a_whole_document_with_its_reason() {
    let json = parse(&samples::ended(FailureKind::Refused, "/dev/x is mounted"));
    assert_eq!(json["failure"], serde_json::json!({"kind": "refused", "message": "/dev/x is mounted"}));
    assert_eq!((&json["verdict"], &json["exit_code"]), (&"error".into(), &3.into()));
    assert_eq!(json["findings"], serde_json::json!({"fill": null, "random_write": [], "fsef": null, "thermal": []}));
}

#[test]
fn hostile_text_comes_back_as_it_went_in() {
    let report = samples::all_hostile();
    let json = parse(&report);
    assert_eq!(json["headline"], report.headline.as_str());
    assert_eq!(json["notes"][99], report.notes[99].as_str());
    assert_eq!(json["metrics"][6]["explanation"], serde_json::Value::Null);
}

#[test]
fn the_same_report_is_the_same_bytes() {
    let text = render(&samples::finished());
    assert_eq!(text, render(&samples::finished()));
    assert!(text.ends_with("}\n"));
}
