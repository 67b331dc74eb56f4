//! Reports that the renderers' tests share, one for each end that a run can come to.
//!
//! Only for tests: knows no journal and measures nothing.

use super::{
    CliffLine, Failure, FailureKind, FillReport, FsefLine, Interval, LatencyLine, LevelReport, Point, ProfileLine,
    Report, SteadyLine, Target,
};
use crate::analysis::metric::{Metric, Value};
use crate::environment::{Check, Outcome};
use crate::verdict::Verdict;
use crate::verdict::curve::Spread;
use crate::verdict::judge::{Judged, Role};

/// Text that breaks careless renderers: NUL, ANSI, C1, CDATA's end, markup, table and fence syntax,
/// a mention, a non-character, an emoji; 4 KiB and more of it.
pub(super) fn hostile() -> String {
    let seed = "\0\u{1b}[31mred\u{9b}0m]]>|<script>alert(1)</script>&amp;\r\n```\n# head\n- item\n| a | b |\n\
                `tick` [link](http://example.org) ![i](x) <!-- @someone www.example.org *b* _i_ ~~s~~ $x$ \\ \" ' \
                \u{fffe}\u{ffff}\u{202e}😀é\t";
    let mut text = String::new();
    while text.len() < 4096 {
        text.push_str(seed);
    }
    text
}

/// A metric with what is said of it.
pub(super) fn judged(id: &str, value: Value, role: Role, verdict: Verdict, reason: &str) -> Judged {
    Judged { metric: Metric::new(id, value), role, verdict, reason: reason.to_owned(), against: None }
}

/// A finished fill with one cliff: something of every verdict and every sort of value.
pub(crate) fn finished() -> Report {
    let mut cliff = judged("fill.cliff_gb", Value::Number(121.332_826), Role::Gate, Verdict::NoBaseline, "");
    cliff.metric.bounds = Some((120.259_1, 122.406_6));
    let metrics = vec![
        judged("fill.fast_mb_s", Value::Number(2_384.123_456_7), Role::Gate, Verdict::Improved, ""),
        cliff,
        judged("fill.cliff2_gb", Value::MoreThan(1072.5), Role::Info, Verdict::NoBaseline, ""),
        judged(
            "fill.floor_mb_s",
            Value::Number(399.9),
            Role::Gate,
            Verdict::Regressed,
            "outside the limit of at least 400 MB/s",
        ),
        judged(
            "fill.verify_errors",
            Value::Number(0.0),
            Role::Gate,
            Verdict::Held,
            "every block read back is what was written",
        ),
        judged(
            "random_write.scratch.steady_mb_s",
            Value::Absent("too-short"),
            Role::Gate,
            Verdict::Inconclusive,
            "20 s are too short for a steady state",
        ),
        judged("random_write.scratch.mean_mb_s", Value::Number(118.0), Role::Info, Verdict::NoBaseline, ""),
    ];
    Report {
        verdict: Verdict::Regressed,
        exit_code: 1,
        headline: "regressed: fill.floor_mb_s is outside its limit".to_owned(),
        run: "20260102T030405Z-sim-acceptance".to_owned(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        host: Some("bench-7".to_owned()),
        target: Target {
            path: "/mnt/drive".to_owned(),
            kind: "folder".to_owned(),
            drive: "Example Fusion 1.1 TB".to_owned(),
            filesystem: Some("ext4".to_owned()),
            engine: "io_uring".to_owned(),
        },
        profile: ProfileLine { name: "acceptance".to_owned(), version: 1, fingerprint: "0ca223322f164a4e".to_owned() },
        runs: vec!["20260102T030405Z-sim-acceptance".to_owned()],
        metrics,
        fill: Some(fill()),
        random_write: vec![level()],
        fsef: Some(FsefLine { mb_s_per_gb: 1.25, standard_error: 0.04, levels: 4 }),
        thermal: Vec::new(),
        preflight: Vec::new(),
        environment: [("kernel", "6.8.0"), ("drive.firmware", "B210.06")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        plan: None,
        notes: vec!["the journal lies on the drive that is measured".to_owned()],
        failure: None,
        changes: Vec::new(),
        baseline: None,
        ghosts: [("fill".to_owned(), ghost())].into(),
        bytes_written: 1_072_500_000_000,
        elapsed_s: 7_412.345_678,
    }
}

/// The founding fill: an SSD's speed up to 121 GB, a mediocre disk's beyond.
fn fill() -> FillReport {
    let rate =
        |step: u32| if step < 28 { 2384.0 - f64::from(step % 3) * 20.0 } else { 126.0 + f64::from(step * 7 % 25) };
    let curve: Vec<Point> =
        (0..250).map(|step| Point { at_gb: f64::from(step + 1) * 4.29, mb_s: rate(step) }).collect();
    let intervals = intervals(&curve, 4.29);
    FillReport {
        bytes: 1_072_500_000_000,
        seconds: 6_950.5,
        curve,
        intervals,
        cliffs: vec![CliffLine {
            at_gb: 121.332_826,
            low_gb: 120.259_1,
            high_gb: 122.406_6,
            before_mb_s: 2384.12,
            after_mb_s: 138.2,
        }],
        bad_blocks: Vec::new(),
        counter_ratios: vec![("fill.write".to_owned(), 1.002), ("fill.read".to_owned(), 1.0)],
    }
}

/// The intervals that such a curve came from.
fn intervals(curve: &[Point], gb: f64) -> Vec<Interval> {
    let end = curve.iter().scan(0.0, |end, point| {
        let elapsed_s = gb * 1e3 / point.mb_s;
        *end += elapsed_s;
        Some(Interval { end_s: *end, elapsed_s, bytes: (gb * 1e9) as u64 })
    });
    end.collect()
}

/// Accepted runs that were a tenth faster behind the cliff.
fn ghost() -> Spread {
    let rates = |step: u32| if step < 12 { [2350.0, 2384.0, 2410.0] } else { [146.0, 152.0, 158.0] };
    Spread {
        runs: 3,
        at_gb: (0..100).map(|step| f64::from(step + 1) * 10.725).collect(),
        mb_s: (0..100).map(rates).collect(),
    }
}

/// A level that settled.
fn level() -> LevelReport {
    let curve: Vec<Point> = (0..100).map(|step| Point { at_gb: f64::from(step + 1) * 5.4, mb_s: 150.0 }).collect();
    LevelReport {
        level: "50pct".to_owned(),
        bytes: 540_000_000_000,
        seconds: 3_600.0,
        used_gb: Some(540.0),
        intervals: intervals(&curve, 5.4),
        curve,
        cliffs: Vec::new(),
        steady: SteadyLine {
            state: "reached",
            mb_s: Some(150.0),
            since_s: Some(1_500.0),
            snia: Some((0.04, 0.01)),
            ..SteadyLine::default()
        },
        latency: Some(LatencyLine {
            p50_us: 210.0,
            p99_us: 900.0,
            p999_us: 2_100.0,
            p9999_us: 5_000.0,
            max_us: 12_000.0,
        }),
        stalled_s: 0.0,
        counter_ratios: vec![("random_write.50pct.write".to_owned(), 1.01)],
    }
}

/// A run that came to no verdict on the drive.
pub(super) fn ended(kind: FailureKind, message: &str) -> Report {
    Report {
        verdict: Verdict::Error,
        exit_code: if kind == FailureKind::Refused { 3 } else { 4 },
        headline: message.to_owned(),
        metrics: Vec::new(),
        fill: None,
        random_write: Vec::new(),
        fsef: None,
        bytes_written: 0,
        elapsed_s: 0.0,
        notes: Vec::new(),
        failure: Some(Failure { kind, message: message.to_owned() }),
        ..finished()
    }
}

/// A report all of whose text is hostile.
pub(super) fn all_hostile() -> Report {
    let text = hostile();
    let mut report = finished();
    for field in [&mut report.headline, &mut report.run, &mut report.started, &mut report.target.path] {
        field.clone_from(&text);
    }
    report.target.kind.clone_from(&text);
    report.target.drive.clone_from(&text);
    report.target.engine.clone_from(&text);
    report.target.filesystem = Some(text.clone());
    report.host = Some(text.clone());
    report.profile.name.clone_from(&text);
    report.profile.fingerprint.clone_from(&text);
    report.runs = vec![text.clone(); 3];
    report.notes = vec![text.clone(); 100];
    report.environment = (0..200).map(|at| (format!("{at}{text}"), text.clone())).collect();
    report.failure = Some(Failure { kind: FailureKind::Failed, message: text.clone() });
    let check = |outcome| Check { name: text.clone(), outcome, message: text.clone() };
    report.preflight = [Outcome::Pass, Outcome::Warn, Outcome::NotComparable].map(check).into();
    for judged in &mut report.metrics {
        judged.metric.id.push_str(&text);
        judged.reason.clone_from(&text);
    }
    let fill = report.fill.get_or_insert_default();
    fill.bad_blocks = vec![text.clone(); 60];
    fill.counter_ratios = vec![(text, f64::NAN); 60];
    report
}
