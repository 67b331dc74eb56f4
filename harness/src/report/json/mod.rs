//! `report.json`: the report for scripts.
//!
//! The names and their order are a contract: add to them, never rename, and raise `SCHEMA` only for what
//! would break a reader. Floats are rounded to six significant digits, whole numbers stand without a point.
//! Must never know how people read a number, nor a baseline's file.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::{BaselineLine, CliffLine, Failure, FillReport, FsefLine, LevelReport, Point, ProfileLine, Report, Target};
use crate::environment::Check;
use crate::plan::phase::Plan;
use crate::verdict::Verdict;
use crate::verdict::surroundings::Change;
use metric::{MetricLine, metric};
use steady::{Steady, steady};

pub mod compare;
mod metric;
pub mod series;
mod steady;

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
    /// Whether it was a fair moment to begin: `pass`, `warn`, `not-comparable`.
    preflight: &'a [Check],
    plan: Option<&'a Plan>,
    bytes_written: u64,
    elapsed_s: Number,
    run: &'a str,
    started: &'a str,
    host: Option<&'a str>,
    headline: &'a str,
    notes: &'a [String],
    failure: Option<FailureLine<'a>>,
    /// Environment before → after: what is under test first.
    changes: Vec<ChangeLine<'a>>,
    baseline: Option<Baseline<'a>>,
}

#[derive(Serialize)]
struct ChangeLine<'a> {
    name: &'a str,
    before: Option<&'a str>,
    after: Option<&'a str>,
    under_test: bool,
    must_match: bool,
}

/// The baseline that was found.
#[derive(Serialize)]
struct Baseline<'a> {
    path: &'a str,
    runs: &'a [String],
    accepted: &'a str,
    /// Why the run was not compared with it.
    not_used: Option<&'a str>,
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
struct Findings<'a> {
    fill: Option<Fill<'a>>,
    random_write: Vec<Level<'a>>,
    fsef: Option<Fsef>,
    /// Falls that heat explains: no cliffs.
    thermal: Vec<Thermal<'a>>,
}

#[derive(Serialize)]
struct Thermal<'a> {
    suite: &'a str,
    #[serde(flatten)]
    fall: Cliff,
}

#[derive(Serialize)]
struct Level<'a> {
    level: &'a str,
    bytes: u64,
    seconds: Number,
    steady: Steady,
    latency_us: Option<Latency>,
    stalled_s: Number,
    cliffs: Vec<Cliff>,
    /// `[gb, mb_s]`: GB written since the prefill at the end of a step, and MB/s over it.
    curve: Vec<[Number; 2]>,
    counter_ratios: BTreeMap<&'a str, Number>,
}

#[derive(Serialize)]
struct Latency {
    p50: Number,
    p99: Number,
    p999: Number,
    p9999: Number,
    max: Number,
}

#[derive(Serialize)]
struct Fsef {
    mb_s_per_gb: Number,
    standard_error: Number,
    levels: usize,
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
pub(super) struct Number(pub(super) f64);

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
    Document {
        schema: SCHEMA,
        verdict: report.verdict,
        exit_code: report.exit_code,
        target: target(&report.target),
        profile: profile(&report.profile),
        runs: &report.runs,
        metrics: report.metrics.iter().map(metric).collect(),
        findings: Findings {
            fill: report.fill.as_ref().map(fill),
            random_write: report.random_write.iter().map(level).collect(),
            fsef: report.fsef.map(fsef),
            thermal: report
                .thermal
                .iter()
                .map(|line| Thermal { suite: &line.suite, fall: cliff(&line.fall) })
                .collect(),
        },
        environment: &report.environment,
        preflight: &report.preflight,
        plan: report.plan.as_ref(),
        bytes_written: report.bytes_written,
        elapsed_s: Number(report.elapsed_s),
        run: &report.run,
        started: &report.started,
        host: report.host.as_deref(),
        headline: &report.headline,
        notes: &report.notes,
        failure: report.failure.as_ref().map(failure),
        changes: report.changes.iter().map(change).collect(),
        baseline: report.baseline.as_ref().map(baseline),
    }
}

fn target(target: &Target) -> TargetLine<'_> {
    TargetLine {
        path: &target.path,
        kind: &target.kind,
        drive: &target.drive,
        filesystem: target.filesystem.as_deref(),
        engine: &target.engine,
    }
}

fn profile(profile: &ProfileLine) -> Profile<'_> {
    Profile { name: &profile.name, version: profile.version, fingerprint: &profile.fingerprint }
}

fn change(change: &Change) -> ChangeLine<'_> {
    ChangeLine {
        name: &change.name,
        before: change.before.as_deref(),
        after: change.after.as_deref(),
        under_test: change.under_test,
        must_match: change.must_match,
    }
}

fn baseline(line: &BaselineLine) -> Baseline<'_> {
    Baseline { path: &line.path, runs: &line.runs, accepted: &line.accepted, not_used: line.not_used.as_deref() }
}

fn fill(fill: &FillReport) -> Fill<'_> {
    Fill {
        bytes: fill.bytes,
        seconds: Number(fill.seconds),
        cliffs: fill.cliffs.iter().map(cliff).collect(),
        curve: points(&fill.curve),
        bad_blocks: &fill.bad_blocks,
        counter_ratios: ratios(&fill.counter_ratios),
    }
}

fn level(level: &LevelReport) -> Level<'_> {
    Level {
        level: &level.level,
        bytes: level.bytes,
        seconds: Number(level.seconds),
        steady: steady(&level.steady),
        latency_us: level.latency.map(|latency| Latency {
            p50: Number(latency.p50_us),
            p99: Number(latency.p99_us),
            p999: Number(latency.p999_us),
            p9999: Number(latency.p9999_us),
            max: Number(latency.max_us),
        }),
        stalled_s: Number(level.stalled_s),
        cliffs: level.cliffs.iter().map(cliff).collect(),
        curve: points(&level.curve),
        counter_ratios: ratios(&level.counter_ratios),
    }
}

fn fsef(fsef: FsefLine) -> Fsef {
    Fsef { mb_s_per_gb: Number(fsef.mb_s_per_gb), standard_error: Number(fsef.standard_error), levels: fsef.levels }
}

fn points(curve: &[Point]) -> Vec<[Number; 2]> {
    curve.iter().map(|point| [Number(point.at_gb), Number(point.mb_s)]).collect()
}

fn ratios(ratios: &[(String, f64)]) -> BTreeMap<&str, Number> {
    ratios.iter().map(|(phase, ratio)| (phase.as_str(), Number(*ratio))).collect()
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
mod tests;
