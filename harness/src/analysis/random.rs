//! What the samples and rounds of one level of random writes say.
//!
//! Owns the definitions of a level's figures. Knows nothing of other levels or baselines.

use super::analyze::{Analysis, analyze};
use super::known::Known;
use super::latency::{Percentiles, percentiles};
use super::metric::{Metric, Value};
use super::series::Series;
use super::steady::State;
use crate::sample::Sample;
use crate::units::{Bytes, Nanos, Rate};

/// The figures of one level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelFindings {
    /// Name, such as `25pct`.
    pub level: String,
    /// What its series says; places are bytes from the end of the prefill.
    pub found: Analysis,
    /// Mean from the profile's stated time on; none where it states none or the level is shorter.
    pub slice: Option<Rate>,
    /// Whether the profile states a slice.
    pub wants_slice: bool,
    /// Latencies over the steady window, or over the whole level where there is none.
    pub latency: Option<Percentiles>,
    /// Time in gaps of over 100 ms without a completion.
    pub stalled: Nanos,
    /// Bytes of the drive that were in use by nobody at this level, where known.
    pub drive_free: Option<Bytes>,
}

/// One level's input besides its samples.
#[derive(Clone, Copy, Debug)]
pub struct LevelInput<'a> {
    /// Name.
    pub level: &'a str,
    /// Its samples, in order.
    pub samples: &'a [Sample],
    /// Start of each of its rounds, from the start of the level, and the round's histogram.
    pub rounds: &'a [(Nanos, &'a str)],
    /// What is known of the drive.
    pub known: Known,
    /// Start of the slice, from the start of the level.
    pub slice_from: Option<Nanos>,
    /// Bytes of the drive in use by nobody.
    pub drive_free: Option<Bytes>,
}

/// What one level found.
///
/// # Errors
/// A round's histogram is damaged.
pub fn level(input: &LevelInput<'_>) -> Result<LevelFindings, String> {
    let series = Series::from_samples(input.samples);
    let start = input.samples.first().map_or(Nanos(0), |sample| sample.start_ns);
    let found = analyze(&series, &input.known);
    let from = if let State::Reached(settled) = found.steady.state { settled.since } else { Nanos(0) };
    let window = input.rounds.iter().filter(|(start, _)| *start >= from);
    Ok(LevelFindings {
        level: input.level.to_owned(),
        found,
        slice: input.slice_from.and_then(|from| slice(input.samples, start.saturating_add(from))),
        wants_slice: input.slice_from.is_some(),
        latency: percentiles(window.map(|(_, histogram)| *histogram))?,
        stalled: input.samples.iter().fold(Nanos(0), |sum, sample| sum.saturating_add(sample.stalled_ns)),
        drive_free: input.drive_free,
    })
}

impl LevelFindings {
    /// The level's metrics; a metric that does not apply is there with the reason.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let id = |name: &str| format!("random_write.{}.{name}", self.level);
        let rate = |name: &str, rate: Option<Rate>, why| {
            Metric::new(&id(name), rate.map_or(Value::Absent(why), |rate| Value::Number(rate.mb_s())))
        };
        let mut metrics = vec![self.steady_metric(&id("steady_mb_s"))];
        if self.wants_slice {
            metrics.push(rate("slice_mb_s", self.slice, "too-short"));
        }
        metrics.push(rate("mean_mb_s", self.found.mean, "too-short"));
        metrics.push(self.cliff_metric(&id("cliff_gb")));
        let latency = |name: &str, value: fn(&Percentiles) -> f64| {
            let value =
                self.latency.as_ref().map_or(Value::Absent("too-short"), |latency| Value::Number(value(latency)));
            Metric::new(&id(name), value)
        };
        metrics.push(latency("p99_us", |latency| latency.p99_us));
        metrics.push(latency("p999_us", |latency| latency.p999_us));
        let hours = self.found.elapsed.secs() / 3600.0;
        let stalled = if hours > 0.0 { Value::Number(self.stalled.secs() / hours) } else { Value::Absent("too-short") };
        metrics.push(Metric::new(&id("stalled_s_per_h"), stalled));
        metrics
    }

    fn steady_metric(&self, id: &str) -> Metric {
        let steady = &self.found.steady;
        let State::Reached(settled) = steady.state else { return Metric::absent(id, steady.word()) };
        let bounds = Some((settled.low.mb_s(), settled.high.mb_s()));
        Metric { bounds, ..Metric::new(id, Value::Number(settled.rate.mb_s())) }
    }

    fn cliff_metric(&self, id: &str) -> Metric {
        match self.found.cliffs.first() {
            Some(cliff) => Metric {
                bounds: Some((cliff.low.gb(), cliff.high.gb())),
                ..Metric::new(id, Value::Number(cliff.at.gb()))
            },
            None if self.found.total.0 > 0 => Metric::new(id, Value::MoreThan(self.found.total.gb())),
            None => Metric::absent(id, "too-short"),
        }
    }
}

/// Mean rate of the samples from `from` on.
fn slice(samples: &[Sample], from: Nanos) -> Option<Rate> {
    let samples = samples.iter().filter(|sample| sample.start_ns >= from);
    let (bytes, elapsed) = samples.fold((Bytes(0), Nanos(0)), |(bytes, elapsed), sample| {
        (bytes.saturating_add(sample.bytes), elapsed.saturating_add(sample.elapsed_ns))
    });
    bytes.per(elapsed)
}
