//! `report.json`: the report for scripts.
//!
//! The names and their order are a contract: add to them, never rename, and raise `SCHEMA` only for what
//! would break a reader. Floats are rounded to six significant digits, whole numbers stand without a point.
//! Must never know how people read a number, nor a baseline's file.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::{CliffLine, Failure, FillReport, Report};
use crate::analysis::metric::{Kind, Value};
use crate::plan::phase::Plan;
use crate::verdict::Verdict;
use crate::verdict::judge::{Judged, Role};

/// Version of the format.
pub const SCHEMA: u32 = 1;

/// The report as indented JSON, with a newline at its end.
///
/// # Panics
/// Never: every key is a string, and a float that is not finite is written as `null`.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(&document(report)).expect("strings, numbers and string keys");
    text.push('\n');
    text
}

/// The whole document, in the order of its keys.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    verdict: Verdict,
    exit_code: u8,
    target: TargetLine<'a>,
    profile: Profile<'a>,
    runs: &'a [String],
    metrics: Vec<MetricLine<'a>>,
    findings: Findings<'a>,
    environment: &'a BTreeMap<String, String>,
    plan: Option<&'a Plan>,
    bytes_written: u64,
    elapsed_s: Number,
    run: &'a str,
    started: &'a str,
    host: Option<&'a str>,
    headline: &'a str,
    notes: &'a [String],
    failure: Option<FailureLine<'a>>,
}

#[derive(Serialize)]
struct TargetLine<'a> {
    path: &'a str,
    kind: &'a str,
    drive: &'a str,
    filesystem: Option<&'a str>,
    engine: &'a str,
}

#[derive(Serialize)]
struct Profile<'a> {
    name: &'a str,
    version: u32,
    fingerprint: &'a str,
}

#[derive(Serialize)]
struct MetricLine<'a> {
    id: &'a str,
    kind: Kind,
    role: Role,
    value: Option<Number>,
    low: Option<Number>,
    high: Option<Number>,
    unit: &'a str,
    // Null until a baseline is read.
    baseline: Option<Number>,
    change: Option<Number>,
    tolerance: Option<Number>,
    verdict: Verdict,
    /// Without a value the contract's word, such as `never`; else the sentence for people, if any.
    reason: Option<&'a str>,
    /// The sentence for people where `reason` is the contract's word.
    explanation: Option<&'a str>,
}

#[derive(Serialize)]
struct Findings<'a> {
    fill: Option<Fill<'a>>,
    random_write: [(); 0],
}

#[derive(Serialize)]
struct Fill<'a> {
    bytes: u64,
    seconds: Number,
    cliffs: Vec<Cliff>,
    /// `[gb, mb_s]`: GB written at the end of a step, and MB/s over it.
    curve: Vec<[Number; 2]>,
    bad_blocks: &'a [String],
    /// By phase: bytes that the device behind counted over bytes submitted.
    counter_ratios: BTreeMap<&'a str, Number>,
}

#[derive(Serialize)]
struct Cliff {
    at_gb: Number,
    low_gb: Number,
    high_gb: Number,
    before_mb_s: Number,
    after_mb_s: Number,
}

#[derive(Serialize)]
struct FailureLine<'a> {
    kind: &'static str,
    message: &'a str,
}

/// A float to six significant digits; one that is not finite is `null`.
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// Below it every whole number is a float of its own.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match format!("{:.5e}", self.0).parse::<f64>() {
            Ok(value) if value.fract() == 0.0 && value.abs() < EXACT => serializer.serialize_i64(value as i64),
            Ok(value) if value.is_finite() => serializer.serialize_f64(value),
            _ => serializer.serialize_none(),
        }
    }
}

fn document(report: &Report) -> Document<'_> {
    let target = &report.target;
    let profile = &report.profile;
    Document {
        schema: SCHEMA,
        verdict: report.verdict,
        exit_code: report.exit_code,
        target: TargetLine {
            path: &target.path,
            kind: &target.kind,
            drive: &target.drive,
            filesystem: target.filesystem.as_deref(),
            engine: &target.engine,
        },
        profile: Profile { name: &profile.name, version: profile.version, fingerprint: &profile.fingerprint },
        runs: &report.runs,
        metrics: report.metrics.iter().map(metric).collect(),
        findings: Findings { fill: report.fill.as_ref().map(fill), random_write: [] },
        environment: &report.environment,
        plan: report.plan.as_ref(),
        bytes_written: report.bytes_written,
        elapsed_s: Number(report.elapsed_s),
        run: &report.run,
        started: &report.started,
        host: report.host.as_deref(),
        headline: &report.headline,
        notes: &report.notes,
        failure: report.failure.as_ref().map(failure),
    }
}

fn metric(judged: &Judged) -> MetricLine<'_> {
    let metric = &judged.metric;
    let bounds = metric.bounds.map_or((None, None), |(low, high)| (Some(low), Some(high)));
    let (value, (low, high), word) = match metric.value {
        Value::Number(value) if value.is_finite() => (Some(value), bounds, None),
        Value::Number(_) => (None, (None, None), Some("not-applicable")),
        Value::MoreThan(least) => (None, (Some(least), None), Some("no-cliff")),
        Value::Absent(why) => (None, (None, None), Some(why)),
    };
    let sentence = Some(judged.reason.as_str()).filter(|reason| !reason.is_empty());
    MetricLine {
        id: &metric.id,
        kind: metric.kind,
        role: judged.role,
        value: value.map(Number),
        low: low.map(Number),
        high: high.map(Number),
        unit: metric.unit,
        baseline: None,
        change: None,
        tolerance: None,
        verdict: judged.verdict,
        reason: word.or(sentence),
        explanation: sentence.filter(|sentence| word.is_some_and(|word| word != *sentence)),
    }
}

fn fill(fill: &FillReport) -> Fill<'_> {
    Fill {
        bytes: fill.bytes,
        seconds: Number(fill.seconds),
        cliffs: fill.cliffs.iter().map(cliff).collect(),
        curve: fill.curve.iter().map(|point| [Number(point.at_gb), Number(point.mb_s)]).collect(),
        bad_blocks: &fill.bad_blocks,
        counter_ratios: fill.counter_ratios.iter().map(|(phase, ratio)| (phase.as_str(), Number(*ratio))).collect(),
    }
}

fn cliff(cliff: &CliffLine) -> Cliff {
    Cliff {
        at_gb: Number(cliff.at_gb),
        low_gb: Number(cliff.low_gb),
        high_gb: Number(cliff.high_gb),
        before_mb_s: Number(cliff.before_mb_s),
        after_mb_s: Number(cliff.after_mb_s),
    }
}

fn failure(failure: &Failure) -> FailureLine<'_> {
    FailureLine { kind: failure.kind.word(), message: &failure.message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{FailureKind, samples};

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
        let expect = "schema verdict exit_code target profile runs metrics findings environment plan bytes_written \
                      elapsed_s run started host headline notes failure";
        assert_eq!(keys(&text, 2), expect.split_whitespace().collect::<Vec<_>>());
        let metrics = text.split("\"metrics\": [").nth(1).unwrap().split("\n  ]").next().unwrap();
        let expect = "id kind role value low high unit baseline change tolerance verdict reason explanation";
        assert_eq!(keys(metrics, 6)[..13], expect.split_whitespace().collect::<Vec<_>>());
        let findings = text.split("\"findings\": {").nth(1).unwrap().split("\n  }").next().unwrap();
        assert_eq!(keys(findings, 4), ["fill", "random_write"]);
        assert_eq!(keys(findings, 6), ["bytes", "seconds", "cliffs", "curve", "bad_blocks", "counter_ratios"]);
        assert_eq!(keys(findings, 10), ["at_gb", "low_gb", "high_gb", "before_mb_s", "after_mb_s"]);
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
        assert_eq!(json["findings"], serde_json::json!({"fill": null, "random_write": []}));
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
}
