//! What is said of a series that is no run of ours: an imported log, or one phase of a journal.
//!
//! Data only; the command line draws it, and `json::series` writes it for scripts.

use super::{CliffLine, Point, SteadyLine};

/// Everything that is said of one series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesReport {
    /// Files that it is from, at least one.
    pub files: Vec<String>,
    /// `fill`, `random-write`, `write`, `read` …
    pub kind: &'static str,
    /// Which part of the file it is, where the file has several.
    pub part: Option<String>,
    /// Bytes in all.
    pub bytes: u64,
    /// Time in all.
    pub seconds: f64,
    /// Bytes over time; none where no time passed.
    pub mean_mb_s: Option<f64>,
    /// Throughput over bytes, at most a few hundred points.
    pub curve: Vec<Point>,
    /// Persistent falls in order.
    pub cliffs: Vec<CliffLine>,
    /// Persistent rises in order.
    pub recoveries: Vec<CliffLine>,
    /// Whether it settled.
    pub steady: SteadyLine,
    /// Intervals in which nothing completed, where there are any.
    pub stalled: Option<Stalled>,
    /// Latencies, where the source has them.
    pub latency: Option<LatencySummary>,
    /// What was merged, dropped, filled, aligned or taken for granted.
    pub warnings: Vec<String>,
}

/// Intervals in which nothing completed, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stalled {
    /// In all.
    pub seconds: f64,
    /// The longest stretch of them.
    pub longest_s: f64,
    /// Where that begins.
    pub longest_at_s: f64,
}

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencySummary {
    /// What the percentiles are of: `ios`, or `windows` where there is one mean a window.
    pub of: &'static str,
    /// How many of them.
    pub count: u64,
    /// Mean.
    pub mean_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Greatest.
    pub max_us: f64,
}
