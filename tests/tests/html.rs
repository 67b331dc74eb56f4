//! A long run's page is small, soon made, and the same each time.

use std::time::Instant;

use harness::analysis::metric::{Metric, Value};
use harness::report::{Interval, LevelReport, Point, Report, Target, html};
use harness::verdict::Verdict;
use harness::verdict::judge::{Judged, Role};

/// Six levels of ten thousand intervals each, no two alike.
fn long_run() -> Report {
    let level = |number: u32| {
        let rate = |at: u32| 400.0 / f64::from(number + 1) + f64::from((at * 7919 + number) % 101);
        let intervals: Vec<Interval> = (1..=10_000)
            .map(|at| Interval { end_s: f64::from(at), elapsed_s: 1.0, bytes: (rate(at) * 1e6) as u64 })
            .collect();
        let curve = (1..=400).map(|at| Point { at_gb: f64::from(at), mb_s: rate(at) }).collect();
        let level = format!("{}pct", 10 + number * 18);
        LevelReport { level, intervals, curve, seconds: 10_000.0, bytes: 1, ..LevelReport::default() }
    };
    let metric = Metric::new("random_write.10pct.steady_mb_s", Value::Number(400.0));
    let judged = Judged { metric, role: Role::Gate, verdict: Verdict::Held, reason: String::new(), against: None };
    Report {
        verdict: Verdict::Held,
        exit_code: 0,
        headline: "as good as the baseline of 3 runs".to_owned(),
        run: "20260102T030405Z-sim-long".to_owned(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        host: None,
        target: Target::default(),
        profile: Default::default(),
        runs: Vec::new(),
        metrics: vec![judged],
        fill: None,
        random_write: (0..6).map(level).collect(),
        fsef: None,
        environment: Default::default(),
        plan: None,
        notes: Vec::new(),
        failure: None,
        changes: Vec::new(),
        baseline: None,
        ghosts: Default::default(),
        bytes_written: 1,
        elapsed_s: 60_000.0,
    }
}

#[test]
fn sixty_thousand_intervals_are_under_two_megabytes_in_under_300_ms() {
    let report = long_run();
    // The best of some: others use the machine, too.
    let takes = (0..5).map(|_| {
        let start = Instant::now();
        let page = html::render(&report);
        (start.elapsed(), page.len())
    });
    let (took, bytes) = takes.min().unwrap_or_default();
    assert!(bytes < 2_000_000, "{bytes} bytes");
    assert!(took.as_millis() < 300, "{took:?}");
}

#[test]
fn the_same_report_is_the_same_page() {
    assert_eq!(html::render(&long_run()), html::render(&long_run()));
}
