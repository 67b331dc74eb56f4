//! The figures of a whole suite, under the ids that scripts depend on.
//!
//! Owns which metrics a suite has and when one is absent. Knows nothing of baselines.

use super::fill::{Absorbed, Burst, FillFindings};
use super::metric::{Metric, Value};
use crate::units::{Nanos, Rate};

/// What a fill suite found.
#[derive(Clone, Debug, PartialEq)]
pub struct FillSuite {
    /// The fill itself.
    pub write: FillFindings,
    /// Rate of the read-back, where there was one.
    pub read: Option<Rate>,
    /// Blocks that were not what was written, where anything was read back.
    pub verify_errors: Option<u64>,
    /// Bursts after their idle times.
    pub bursts: Vec<(Nanos, Burst)>,
}

impl FillSuite {
    /// The suite's metrics; a metric that does not apply is there with the reason.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let fill = &self.write;
        let mut metrics = vec![rate("fill.fast_mb_s", fill.fast, "too-short")];
        if fill.cliffs.is_empty() {
            let value = if fill.total.0 > 0 { Value::MoreThan(fill.total.gb()) } else { Value::Absent("too-short") };
            metrics.push(Metric::new("fill.cliff_gb", value));
        }
        for (at, cliff) in fill.cliffs.iter().enumerate() {
            let id = if at == 0 { "fill.cliff_gb".to_owned() } else { format!("fill.cliff{}_gb", at + 1) };
            let metric = Metric::new(&id, Value::Number(cliff.at.gb()));
            metrics.push(Metric { bounds: Some((cliff.low.gb(), cliff.high.gb())), ..metric });
        }
        let why = if fill.cliffs.is_empty() { "not-applicable" } else { "too-short" };
        metrics.push(rate("fill.floor_mb_s", fill.floor, why));
        metrics.push(rate("fill.mean_mb_s", fill.mean, "too-short"));
        metrics.push(rate("fill.first_10pct_mb_s", fill.first_10pct, "too-short"));
        metrics.push(rate("fill.last_10pct_mb_s", fill.last_10pct, "too-short"));
        if let Some(errors) = self.verify_errors {
            metrics.push(rate("fill.read_mb_s", self.read, "too-short"));
            metrics.push(Metric::new("fill.verify_errors", Value::Number(errors as f64)));
        }
        metrics.extend(self.bursts.iter().map(|(idle, burst)| burst_metric(*idle, burst)));
        metrics
    }
}

fn rate(id: &str, rate: Option<Rate>, absent: &'static str) -> Metric {
    Metric::new(id, rate.map_or(Value::Absent(absent), |rate| Value::Number(rate.mb_s())))
}

fn burst_metric(idle: Nanos, burst: &Burst) -> Metric {
    let id = format!("fill.burst_{}s_gb", idle.0 / 1_000_000_000);
    match burst.absorbed {
        Absorbed::Until(cliff) => {
            let metric = Metric::new(&id, Value::Number(cliff.at.gb()));
            Metric { bounds: Some((cliff.low.gb(), cliff.high.gb())), ..metric }
        }
        Absorbed::MoreThan(bytes) => Metric::new(&id, Value::MoreThan(bytes.gb())),
    }
}
