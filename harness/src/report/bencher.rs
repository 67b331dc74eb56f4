//! Bencher Metric Format: `{benchmark: {measure: {value, lower_value, upper_value}}}`, as `bencher run --adapter json`
//! reads it (bencher.dev, "Bencher Metric Format").
//!
//! A benchmark is a suite under its profile, a measure a metric's name within it: `ci/fill` and `fast_mb_s`. Bencher
//! judges by itself; must never know our verdict.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Report;
use super::json::Number;
use crate::analysis::metric::Value;

#[derive(Serialize)]
struct Measure {
    value: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<Number>,
}

/// The report's figures. "More than N" is N, with N as its lower value too; a metric without a value is left out: the
/// format has no word for one.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut benchmarks: BTreeMap<String, BTreeMap<&str, Measure>> = BTreeMap::new();
    for metric in report.metrics.iter().map(|judged| &judged.metric) {
        let (value, low, high) = match metric.value {
            Value::Number(value) if value.is_finite() => {
                (value, metric.bounds.map(|(low, _)| low), metric.bounds.map(|(_, high)| high))
            }
            Value::MoreThan(least) if least.is_finite() => (least, Some(least), None),
            _ => continue,
        };
        let (suite, name) = metric.id.rsplit_once('.').unwrap_or(("run", &metric.id));
        let measure = Measure {
            value: Number(value),
            lower_value: low.filter(|low| low.is_finite()).map(Number),
            upper_value: high.filter(|high| high.is_finite()).map(Number),
        };
        benchmarks.entry(format!("{}/{suite}", report.profile.name)).or_default().insert(name, measure);
    }
    serde_json::to_string_pretty(&benchmarks).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::report::samples;

    fn read(report: &Report) -> Json {
        serde_json::from_str(&render(report)).unwrap()
    }

    #[test]
    fn a_suite_is_a_benchmark_and_a_metric_a_measure() {
        let found = read(&samples::finished());
        let cliff = json!({"value": 121.333, "lower_value": 120.259, "upper_value": 122.407});
        assert_eq!(found["acceptance/fill"]["cliff_gb"], cliff);
        assert_eq!(found["acceptance/fill"]["floor_mb_s"], json!({"value": 399.9}));
        assert_eq!(found["acceptance/random_write.scratch"]["mean_mb_s"], json!({"value": 118}));
    }

    #[test]
    fn no_cliff_is_its_bound_and_no_value_is_no_measure() {
        let found = read(&samples::finished());
        assert_eq!(found["acceptance/fill"]["cliff2_gb"], json!({"value": 1072.5, "lower_value": 1072.5}));
        assert!(found["acceptance/random_write.scratch"].get("steady_mb_s").is_none());
    }

    #[test]
    fn whatever_the_names_it_is_json() {
        assert!(read(&samples::all_hostile()).is_object());
        assert_eq!(read(&samples::ended(crate::report::FailureKind::Failed, "gone")), json!({}));
    }
}
