//! The report: everything that is said of a run, as data; its renderers are small and pure.
//!
//! A report is a function of a journal and a baseline. Knows no drive, no file and no clock.

use std::collections::BTreeMap;

use crate::environment::Check;
use crate::plan::phase::Plan;
use crate::verdict::Verdict;
use crate::verdict::curve::Spread;
use crate::verdict::judge::Judged;
use crate::verdict::surroundings::Change;

pub mod bencher;
pub mod compare;
pub mod curve;
pub mod github;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod openmetrics;
mod sentence;
pub mod series;
pub mod svg;
pub mod table;
mod text;
mod words;

#[cfg(test)]
pub(crate) mod samples;

/// Everything that is said of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The verdict of the whole.
    pub verdict: Verdict,
    /// The code that the program ends with.
    pub exit_code: u8,
    /// The verdict and its reason in one line.
    pub headline: String,
    /// The run's id.
    pub run: String,
    /// Wall-clock start, RFC 3339, UTC.
    pub started: String,
    /// Name of the machine, where known.
    pub host: Option<String>,
    /// What was measured.
    pub target: Target,
    /// By what.
    pub profile: ProfileLine,
    /// Runs that the verdict rests on.
    pub runs: Vec<String>,
    /// Every metric, in the order of the suites.
    pub metrics: Vec<Judged>,
    /// What the analysis found in the fill.
    pub fill: Option<FillReport>,
    /// What the analysis found at each level of random writes, in order.
    pub random_write: Vec<LevelReport>,
    /// Steady rate over free space, where enough levels were steady.
    pub fsef: Option<FsefLine>,
    /// Falls that heat explains: they are no cliffs.
    pub thermal: Vec<ThermalLine>,
    /// Whether it was a fair moment to begin.
    pub preflight: Vec<Check>,
    /// Facts around the run.
    pub environment: BTreeMap<String, String>,
    /// What was planned; none where the run was refused before there was a plan.
    pub plan: Option<Plan>,
    /// What a reader must know to believe the figures, gravest first.
    pub notes: Vec<String>,
    /// Why the run failed or was interrupted or refused.
    pub failure: Option<Failure>,
    /// What surrounds the drive and is not what it was with the baseline: what is under test first.
    pub changes: Vec<Change>,
    /// The baseline that was found; none where there is none.
    pub baseline: Option<BaselineLine>,
    /// What the baseline's runs did, by suite or level, such as `fill` or `random_write.25pct`, where it was compared
    /// with and holds curves.
    pub ghosts: BTreeMap<String, Spread>,
    /// Bytes written in all.
    pub bytes_written: u64,
    /// From the first phase to the end, without the time between a cut and its resumption.
    pub elapsed_s: f64,
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// As the user named it, resolved.
    pub path: String,
    /// `folder`, `device` or `simulated`.
    pub kind: String,
    /// For people: model and size, or the device's name.
    pub drive: String,
    /// Filesystem type, where there is one.
    pub filesystem: Option<String>,
    /// Engine that did the I/O.
    pub engine: String,
}

/// The baseline that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaselineLine {
    /// Its file.
    pub path: String,
    /// Runs that it rests on.
    pub runs: Vec<String>,
    /// When it was last accepted, RFC 3339, UTC.
    pub accepted: String,
    /// Why the run was not compared with it; none where it was.
    pub not_used: Option<String>,
}

/// By which profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileLine {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// Its fingerprint.
    pub fingerprint: String,
}

/// Why a run has no verdict on the drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Sort of failure.
    pub kind: FailureKind,
    /// Operation, place, cause and next step.
    pub message: String,
}

/// Sort of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The target was refused; nothing was written.
    Refused,
    /// An error ended the run.
    Failed,
    /// A signal or limit ended the run.
    Interrupted,
}

/// What the analysis found in the fill, for people.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FillReport {
    /// Bytes written by the fill.
    pub bytes: u64,
    /// Time it took.
    pub seconds: f64,
    /// Throughput over bytes written, at most a few hundred points.
    pub curve: Vec<Point>,
    /// What was measured, interval by interval.
    pub intervals: Vec<Interval>,
    /// Cliffs in order.
    pub cliffs: Vec<CliffLine>,
    /// Bad blocks of the read-back that are named, at most some tens.
    pub bad_blocks: Vec<String>,
    /// Each phase of the fill: bytes that the device behind counted over bytes submitted.
    pub counter_ratios: Vec<(String, f64)>,
}

/// What the analysis found at one level of random writes, for people.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelReport {
    /// Name, such as `25pct`.
    pub level: String,
    /// Bytes written at random.
    pub bytes: u64,
    /// Time it took.
    pub seconds: f64,
    /// Bytes of the drive in use meanwhile, in GB, others' data counted; none where nothing says so.
    pub used_gb: Option<f64>,
    /// Throughput over bytes written since the prefill, at most a few hundred points.
    pub curve: Vec<Point>,
    /// What was measured, interval by interval.
    pub intervals: Vec<Interval>,
    /// Cliffs in order.
    pub cliffs: Vec<CliffLine>,
    /// Whether it settled.
    pub steady: SteadyLine,
    /// Latencies over the steady window, or over the whole level where there is none.
    pub latency: Option<LatencyLine>,
    /// Seconds in gaps of over 100 ms without a completion.
    pub stalled_s: f64,
    /// Each phase of the level: bytes that the device behind counted over bytes submitted.
    pub counter_ratios: Vec<(String, f64)>,
}

/// Whether a rate settled, with the evidence, and when an observer could have known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SteadyLine {
    /// `reached`, `never`, `lost` or `too-short`.
    pub state: &'static str,
    /// The level, where reached.
    pub mb_s: Option<f64>,
    /// Its 95 % confidence interval.
    pub bounds_mb_s: Option<(f64, f64)>,
    /// Seconds from the start from where on it is steady, where reached.
    pub since_s: Option<f64>,
    /// SNIA's rule over the last window: (max − min) / mean, at most 0.20, and excursion of the line / mean, at most 0.10.
    pub snia: Option<(f64, f64)>,
    /// Our own rule's range and excursion at the end, at most 0.10 and 0.05.
    pub own: Option<(f64, f64)>,
    /// When an observer would first have claimed that it is steady, in seconds, and at which MB/s.
    pub decided: Option<(f64, f64)>,
    /// That the rate goes up and down instead.
    pub oscillation: Option<OscillationLine>,
}

/// A rate that goes up and down.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OscillationLine {
    /// From one rise to the next.
    pub period_s: f64,
    /// At its lows.
    pub low_mb_s: f64,
    /// At its highs.
    pub high_mb_s: f64,
}

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencyLine {
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// 99.99th percentile.
    pub p9999_us: f64,
    /// Slowest.
    pub max_us: f64,
}

/// The free space erase factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FsefLine {
    /// MB/s for each extra free GB.
    pub mb_s_per_gb: f64,
    /// Standard error of it.
    pub standard_error: f64,
    /// Steady levels that it rests on.
    pub levels: usize,
}

/// One point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// GB written at the end of the step.
    pub at_gb: f64,
    /// MB/s over the step.
    pub mb_s: f64,
}

/// What one interval measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its end, in seconds since the suite began; time between a cut and its resumption is left out.
    pub end_s: f64,
    /// Its length in seconds.
    pub elapsed_s: f64,
    /// Bytes that completed in it.
    pub bytes: u64,
}

/// One cliff.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CliffLine {
    /// Place in GB written.
    pub at_gb: f64,
    /// Least place.
    pub low_gb: f64,
    /// Greatest place.
    pub high_gb: f64,
    /// Level before.
    pub before_mb_s: f64,
    /// Level after.
    pub after_mb_s: f64,
}

/// A fall while the drive slowed itself down for heat.
#[derive(Clone, Debug, PartialEq)]
pub struct ThermalLine {
    /// Where: `fill`, `random_write.25pct`.
    pub suite: String,
    /// The fall.
    pub fall: CliffLine,
}

/// What is under test and changed, before → after; none where nothing did.
#[must_use]
pub fn changed(changes: &[Change]) -> Option<String> {
    let tested: Vec<String> = changes.iter().filter(|change| change.under_test).map(ToString::to_string).collect();
    match tested.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("{} (not attributable to one of them)", several.join(" and "))),
    }
}

impl FailureKind {
    /// The word as it stands in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            FailureKind::Refused => "refused",
            FailureKind::Failed => "failed",
            FailureKind::Interrupted => "interrupted",
        }
    }
}
