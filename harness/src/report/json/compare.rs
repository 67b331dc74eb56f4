//! `compare --format json`: a contract with scripts, as `report.json` is.
//!
//! `{schema, runs: [{run, started, target, profile, failure, metrics: {id: {value, low, high, unit, reason}},
//! levels: [{level, used_gb, free_gb, steady_mb_s, state}], fsef, fill: {curve, cliffs}, random_write: [{level, curve, cliffs}]}],
//! notes}`. Levels are in order of the bytes in use; curves are `[gb, mb_s]` as in `report.json`; a metric without a value
//! has the contract's word as its reason.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Cliff, Fsef, MetricLine, Number, Profile, TargetLine, cliff, fsef, metric, points, profile, target};
use crate::report::compare::{Compared, Comparison, LevelPoint};
use crate::report::{CliffLine, Point};

/// Version of the format.
pub const SCHEMA: u32 = 1;

/// The comparison as indented JSON, with a newline at its end.
///
/// # Panics
/// Never: every key is a string, and a float that is not finite is written as `null`.
#[must_use]
pub fn render(comparison: &Comparison) -> String {
    let document =
        Document { schema: SCHEMA, runs: comparison.runs.iter().map(run).collect(), notes: comparison.notes() };
    let mut text = serde_json::to_string_pretty(&document).expect("strings, numbers and string keys");
    text.push('\n');
    text
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    runs: Vec<Run<'a>>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Run<'a> {
    run: &'a str,
    started: &'a str,
    target: TargetLine<'a>,
    profile: Profile<'a>,
    failure: Option<&'a str>,
    metrics: BTreeMap<&'a str, Figure<'a>>,
    levels: Vec<Level<'a>>,
    fsef: Option<Fsef>,
    fill: Option<Timeline<'a>>,
    random_write: Vec<Timeline<'a>>,
}

#[derive(Serialize)]
struct Figure<'a> {
    value: Option<Number>,
    low: Option<Number>,
    high: Option<Number>,
    unit: &'a str,
    reason: Option<&'a str>,
}

#[derive(Serialize)]
struct Level<'a> {
    level: &'a str,
    used_gb: Number,
    free_gb: Option<Number>,
    steady_mb_s: Option<Number>,
    state: &'static str,
}

#[derive(Serialize)]
struct Timeline<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<&'a str>,
    cliffs: Vec<Cliff>,
    curve: Vec<[Number; 2]>,
}

fn run(compared: &Compared) -> Run<'_> {
    let report = &compared.report;
    let figures = report.metrics.iter().map(|judged| {
        let MetricLine { id, value, low, high, unit, reason, .. } = metric(judged);
        let reason = reason.filter(|_| value.is_none());
        (id, Figure { value, low, high, unit, reason })
    });
    Run {
        run: &report.run,
        started: &report.started,
        target: target(&report.target),
        profile: profile(&report.profile),
        failure: report.failure.as_ref().map(|failure| failure.message.as_str()),
        metrics: figures.collect(),
        levels: compared.levels.iter().map(level).collect(),
        fsef: report.fsef.map(fsef),
        fill: report.fill.as_ref().map(|fill| timeline(None, &fill.curve, &fill.cliffs)),
        random_write: report.random_write.iter().map(|at| timeline(Some(&at.level), &at.curve, &at.cliffs)).collect(),
    }
}

fn level(point: &LevelPoint) -> Level<'_> {
    Level {
        level: &point.level,
        used_gb: Number(point.used_gb),
        free_gb: point.free_gb.map(Number),
        steady_mb_s: point.steady_mb_s.map(Number),
        state: point.state,
    }
}

fn timeline<'a>(level: Option<&'a str>, curve: &[Point], cliffs: &[CliffLine]) -> Timeline<'a> {
    Timeline { level, cliffs: cliffs.iter().map(cliff).collect(), curve: points(curve) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn the_contract_holds() {
        let levels = vec![LevelPoint {
            level: "50pct".to_owned(),
            used_gb: 160.0,
            free_gb: Some(160.0),
            steady_mb_s: Some(321.5),
            state: "reached",
        }];
        let compared = Compared { report: samples::finished(), levels };
        let text = render(&Comparison { runs: vec![compared.clone(), Compared { levels: Vec::new(), ..compared }] });
        let found: serde_json::Value = serde_json::from_str(&text).unwrap();
        let first = &found["runs"][0];
        assert_eq!(found["schema"], 1);
        assert_eq!(
            first["levels"],
            serde_json::json!([{
                "level": "50pct", "used_gb": 160, "free_gb": 160, "steady_mb_s": 321.5, "state": "reached"
            }])
        );
        assert_eq!(first["metrics"]["fill.cliff_gb"]["value"], 121.333);
        assert_eq!(first["metrics"]["random_write.scratch.steady_mb_s"]["reason"], "too-short");
        assert_eq!(first["metrics"]["fill.floor_mb_s"]["reason"], serde_json::Value::Null);
        for key in ["run", "target", "profile", "fsef", "fill", "random_write"] {
            assert!(first.get(key).is_some(), "{key}");
        }
        assert_eq!(found["runs"][1]["levels"], serde_json::json!([]));
    }
}
