//! What the samples and rounds of one level of random writes say.
//!
//! Owns the definitions of a level's figures. Knows nothing of other levels or baselines.

use super::cliff::{self, Cliff};
use super::latency::{Percentiles, percentiles};
use super::metric::{Metric, Value};
use super::series::Series;
use super::snia::{Round, Steady, steady};
use crate::sample::Sample;
use crate::units::{Bytes, Nanos, Rate};

/// The figures of one level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelFindings {
    /// Name, such as `25pct`.
    pub level: String,
    /// Bytes written at random.
    pub total: Bytes,
    /// Time it took.
    pub elapsed: Nanos,
    /// Bytes over time.
    pub mean: Option<Rate>,
    /// Mean from the profile's stated time on; none where it states none or the level is shorter.
    pub slice: Option<Rate>,
    /// Whether the profile states a slice.
    pub wants_slice: bool,
    /// Persistent falls, in bytes from the end of the prefill.
    pub cliffs: Vec<Cliff>,
    /// Whether it settled.
    pub steady: Steady,
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
    /// Its rounds, and their histograms.
    pub rounds: &'a [(Round, &'a str)],
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
    let rounds: Vec<Round> = input.rounds.iter().map(|(round, _)| *round).collect();
    let steady = steady(&rounds);
    let from = if let Steady::Reached { since, .. } = steady { since } else { Nanos(0) };
    let window = input.rounds.iter().filter(|(round, _)| round.start >= from);
    Ok(LevelFindings {
        level: input.level.to_owned(),
        total: series.total(),
        elapsed: series.elapsed(),
        mean: series.mean(),
        slice: input.slice_from.and_then(|from| slice(input.samples, start.saturating_add(from))),
        wants_slice: input.slice_from.is_some(),
        cliffs: cliff::find(&series).cliffs,
        steady,
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
        metrics.push(rate("mean_mb_s", self.mean, "too-short"));
        metrics.push(self.cliff_metric(&id("cliff_gb")));
        let latency = |name: &str, value: fn(&Percentiles) -> f64| {
            let value =
                self.latency.as_ref().map_or(Value::Absent("too-short"), |latency| Value::Number(value(latency)));
            Metric::new(&id(name), value)
        };
        metrics.push(latency("p99_us", |latency| latency.p99_us));
        metrics.push(latency("p999_us", |latency| latency.p999_us));
        let hours = self.elapsed.secs() / 3600.0;
        let stalled = if hours > 0.0 { Value::Number(self.stalled.secs() / hours) } else { Value::Absent("too-short") };
        metrics.push(Metric::new(&id("stalled_s_per_h"), stalled));
        metrics
    }

    fn steady_metric(&self, id: &str) -> Metric {
        match self.steady {
            Steady::Reached { rate, low, high, .. } => {
                Metric { bounds: Some((low.mb_s(), high.mb_s())), ..Metric::new(id, Value::Number(rate.mb_s())) }
            }
            Steady::TooShort | Steady::Never(_) | Steady::Lost(_) => Metric::absent(id, self.steady.word()),
        }
    }

    fn cliff_metric(&self, id: &str) -> Metric {
        match self.cliffs.first() {
            Some(cliff) => Metric {
                bounds: Some((cliff.low.gb(), cliff.high.gb())),
                ..Metric::new(id, Value::Number(cliff.at.gb()))
            },
            None if self.total.0 > 0 => Metric::new(id, Value::MoreThan(self.total.gb())),
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
