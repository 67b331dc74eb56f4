//! `analyze --format json`: an array, one object a series; a contract with scripts, as `report.json` is.

use serde::Serialize;

use super::steady::{Steady, steady};
use super::{Cliff, Number, cliff};
use crate::report::series::{LatencySummary, SeriesReport};

/// The series as indented JSON, with a newline at its end.
///
/// # Panics
/// Never: every key is a string, and a float that is not finite is written as `null`.
#[must_use]
pub fn render(series: &[SeriesReport]) -> String {
    let lines: Vec<Line<'_>> = series.iter().map(line).collect();
    let mut text = serde_json::to_string_pretty(&lines).expect("strings, numbers and string keys");
    text.push('\n');
    text
}

#[derive(Serialize)]
struct Line<'a> {
    /// The first of the files.
    file: &'a str,
    kind: &'a str,
    bytes: u64,
    seconds: Number,
    cliffs: Vec<Cliff>,
    steady: Steady,
    warnings: &'a [String],
    /// All files that were summed.
    files: &'a [String],
    /// Which part of the file.
    part: Option<&'a str>,
    mean_mb_s: Option<Number>,
    /// Persistent rises.
    recoveries: Vec<Cliff>,
    /// Intervals in which nothing completed.
    stalled: Option<StalledLine>,
    latency: Option<Latency>,
}

#[derive(Serialize)]
struct StalledLine {
    seconds: Number,
    longest_s: Number,
    longest_at_s: Number,
}

#[derive(Serialize)]
struct Latency {
    of: &'static str,
    count: u64,
    mean_us: Number,
    p50_us: Number,
    p99_us: Number,
    max_us: Number,
}

fn line(series: &SeriesReport) -> Line<'_> {
    Line {
        file: series.files.first().map_or("", String::as_str),
        kind: series.kind,
        bytes: series.bytes,
        seconds: Number(series.seconds),
        cliffs: series.cliffs.iter().map(cliff).collect(),
        steady: steady(&series.steady),
        warnings: &series.warnings,
        files: &series.files,
        part: series.part.as_deref(),
        mean_mb_s: series.mean_mb_s.map(Number),
        recoveries: series.recoveries.iter().map(cliff).collect(),
        stalled: series.stalled.map(|stalled| StalledLine {
            seconds: Number(stalled.seconds),
            longest_s: Number(stalled.longest_s),
            longest_at_s: Number(stalled.longest_at_s),
        }),
        latency: series.latency.map(latency),
    }
}

fn latency(found: LatencySummary) -> Latency {
    let LatencySummary { of, count, mean_us, p50_us, p99_us, max_us } = found;
    let [mean_us, p50_us, p99_us, max_us] = [mean_us, p50_us, p99_us, max_us].map(Number);
    Latency { of, count, mean_us, p50_us, p99_us, max_us }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_holds() {
        let cliffs = vec![crate::report::CliffLine {
            at_gb: 126.123_456_7,
            low_gb: 125.0,
            high_gb: 127.0,
            before_mb_s: 1230.0,
            after_mb_s: 228.0,
        }];
        let steady = crate::report::SteadyLine {
            state: "reached",
            mb_s: Some(300.0),
            bounds_mb_s: Some((299.0, 301.0)),
            since_s: Some(1500.0),
            decided: Some((2000.0, 299.5)),
            snia: Some((0.1, f64::INFINITY)),
            ..crate::report::SteadyLine::default()
        };
        let files = vec!["a_bw.1.log".to_owned(), "a_bw.2.log".to_owned()];
        let warnings = vec!["aligned".to_owned()];
        let series = SeriesReport {
            files,
            kind: "write",
            bytes: 7,
            seconds: 2.5,
            cliffs,
            steady,
            warnings,
            ..SeriesReport::default()
        };
        let found: serde_json::Value = serde_json::from_str(&render(&[series, SeriesReport::default()])).unwrap();
        let expect = serde_json::json!({
            "file": "a_bw.1.log", "kind": "write", "bytes": 7, "seconds": 2.5,
            "cliffs": [{"at_gb": 126.123, "low_gb": 125, "high_gb": 127, "before_mb_s": 1230, "after_mb_s": 228}],
            "steady": {"state": "reached", "mb_s": 300, "low_mb_s": 299, "high_mb_s": 301, "since_s": 1500,
                "decided_s": 2000, "decided_mb_s": 299.5, "own": null, "snia": {"range": 0.1, "excursion": null},
                "oscillation": null},
            "warnings": ["aligned"], "files": ["a_bw.1.log", "a_bw.2.log"], "part": null, "mean_mb_s": null,
            "recoveries": [], "stalled": null, "latency": null,
        });
        assert_eq!(found[0], expect);
        assert_eq!(found.as_array().unwrap().len(), 2);
        assert_eq!(render(&[]), "[]\n");
    }
}
