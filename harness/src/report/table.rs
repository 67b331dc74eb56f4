//! The table of metrics as text, one row a metric, and the one place where a report's numbers become
//! text for people.
//!
//! Shared by every renderer that people read. Must never know markup, colours or the width of a screen.

use super::Report;
use crate::analysis::metric::{Kind, Metric, Value};
use crate::verdict::Verdict;
use crate::verdict::baseline::Level;
use crate::verdict::judge::{Judged, Role};

/// One metric as people read it; what is not known is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The metric's stable name.
    pub id: String,
    /// The figure with its unit: `121 GB`, `more than 100 GB`, or why there is none: `too short`.
    pub value: String,
    /// Ends of the figure's own uncertainty, `120 to 122`, in the figure's unit.
    pub range: String,
    /// What the baseline says, with its unit; empty where nothing was compared.
    pub baseline: String,
    /// The change against the baseline: `-12.1 %`; of counts and stalls the difference.
    pub change: String,
    /// The loss that is accepted: `5 %`; empty where none is or nothing was compared.
    pub tolerance: String,
    /// Whether the metric decides the verdict.
    pub role: Role,
    /// What is said of the metric.
    pub verdict: Verdict,
    /// Why, for people.
    pub reason: String,
    /// What the runs could have seen, and by which noise; empty where nothing was weighed.
    pub basis: String,
}

/// The rows: first what is regressed or in error, then the gates that decided nothing, then the rest;
/// within each in the order of the suites.
#[must_use]
pub fn rows(report: &Report) -> Vec<Row> {
    let mut judged: Vec<&Judged> = report.metrics.iter().collect();
    judged.sort_by_key(|judged| match (judged.verdict, judged.role) {
        (Verdict::Error, _) | (Verdict::Regressed, Role::Gate) => 0,
        (Verdict::Inconclusive, Role::Gate) => 1,
        _ => 2,
    });
    judged.into_iter().map(row).collect()
}

/// The row of one metric.
#[must_use]
pub fn row(judged: &Judged) -> Row {
    let Judged { metric, role, verdict, reason, against } = judged;
    Row {
        id: metric.id.clone(),
        value: value(metric),
        range: range(metric),
        baseline: against.as_ref().map(|against| level(against.level, metric)).unwrap_or_default(),
        change: against.as_ref().and_then(|against| against.change).map(|by| change(by, metric)).unwrap_or_default(),
        tolerance: against
            .as_ref()
            .and_then(|against| against.tolerance)
            .map(|by| loss(by, metric))
            .unwrap_or_default(),
        role: *role,
        verdict: *verdict,
        reason: explain(judged, reason),
        basis: against
            .as_ref()
            .and_then(|against| against.weighed.as_ref())
            .map(|weighed| weighed.basis())
            .unwrap_or_default(),
    }
}

/// A mark for the verdict whose shape alone tells them apart.
#[must_use]
pub fn symbol(verdict: Verdict) -> char {
    match verdict {
        Verdict::Held => '✔',
        Verdict::Improved => '▲',
        Verdict::NoBaseline => '○',
        Verdict::Inconclusive => '?',
        Verdict::Regressed => '✖',
        Verdict::Error => '‼',
    }
}

/// Three significant digits: `2380`, `42.5`, `0.00123`, `1.00e12`.
#[must_use]
pub fn number(value: f64) -> String {
    digits(value, 3)
}

/// Three significant digits, rounded down: "more than 1080" must not be said of 1076.
#[must_use]
pub fn number_below(value: f64) -> String {
    let text = number(value);
    match (text.parse::<f64>(), format!("{value:e}").split_once('e')) {
        (Ok(rounded), Some((_, exponent))) if rounded > value => {
            let half: f64 = format!("0.005e{exponent}").parse().unwrap_or(0.0);
            number(value - half)
        }
        _ => text,
    }
}

/// The figure to six significant digits where three are not all of it, without trailing zeros: `399.9`.
#[must_use]
pub fn exact(metric: &Metric) -> Option<String> {
    let Value::Number(value) = metric.value else { return None };
    let text = trimmed(digits(value, 6));
    let parse = |text: &str| text.parse::<f64>().ok();
    (metric.kind != Kind::Count && parse(&text) != parse(&number(value))).then_some(text)
}

/// The figure with its unit, or why there is none.
fn value(metric: &Metric) -> String {
    let with_unit = |text: String| with_unit(text, metric);
    match metric.value {
        Value::Number(value) if !value.is_finite() => "not a number".to_owned(),
        Value::Number(value) if metric.kind == Kind::Count && value.fract() == 0.0 => with_unit(format!("{value}")),
        Value::Number(value) => with_unit(number(value)),
        Value::MoreThan(value) => with_unit(format!("more than {}", number_below(value))),
        Value::Absent(why) => why.replace('-', " "),
    }
}

fn with_unit(text: String, metric: &Metric) -> String {
    if metric.unit.is_empty() { text } else { format!("{text} {}", metric.unit) }
}

/// The baseline's figure as the run's is written.
fn level(level: Level, metric: &Metric) -> String {
    let figure = match level {
        Level::Number(value) => Value::Number(value),
        Level::MoreThan(least) => Value::MoreThan(least),
    };
    value(&Metric { value: figure, bounds: None, ..metric.clone() })
}

/// A change: a fraction as a percentage to a tenth, a difference in the metric's unit.
fn change(by: f64, metric: &Metric) -> String {
    match metric.kind {
        Kind::Count | Kind::Stalls => {
            // A baseline holds six digits: what is left is no change.
            let by = if by.abs() < 0.005 { 0.0 } else { by };
            let sign = if by > 0.0 { "+" } else { "" };
            with_unit(format!("{sign}{}", number(by)), metric)
        }
        _ if (by * 1000.0).round() == 0.0 => "0.0 %".to_owned(),
        _ => format!("{:+.1} %", by * 100.0),
    }
}

/// An accepted loss.
fn loss(by: f64, metric: &Metric) -> String {
    match metric.kind {
        Kind::Count | Kind::Stalls => with_unit(number(by), metric),
        _ => format!("{} %", trimmed(digits(by * 100.0, 3))),
    }
}

fn trimmed(text: String) -> String {
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn range(metric: &Metric) -> String {
    match (metric.bounds, &metric.value) {
        (Some((low, high)), Value::Number(_)) => format!("{} to {}", number(low), number(high)),
        _ => String::new(),
    }
}

/// The reason, with the unrounded figure where rounding could hide why: 399.9 reads as 400, which no
/// limit of 400 forbids.
fn explain(judged: &Judged, reason: &str) -> String {
    match exact(&judged.metric) {
        Some(exact) if judged.verdict == Verdict::Regressed && !reason.is_empty() => {
            format!("{reason}; measured {exact} {}", judged.metric.unit)
        }
        _ => reason.to_owned(),
    }
}

/// `value` to `most` significant digits, positional between 10^-4 and 10^9.
fn digits(value: f64, most: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return "not a number".to_owned();
    }
    let scientific = format!("{value:.*e}", most - 1);
    let (rounded, exponent) = (scientific.parse::<f64>(), scientific.rsplit('e').next().map(str::parse::<i32>));
    match (rounded, exponent) {
        (Ok(rounded), Some(Ok(exponent @ -4..9))) => {
            let places = usize::try_from(most.cast_signed() as i32 - 1 - exponent).unwrap_or(0);
            format!("{rounded:.places$}")
        }
        _ => scientific,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use crate::verdict::compare::Against;

    #[test]
    fn numbers_have_three_significant_digits() {
        let check = |value: f64, expect: &str| assert_eq!(number(value), expect, "{value:?}");
        check(0.0, "0");
        check(-0.0, "0");
        check(2384.0, "2380");
        check(999.6, "1000");
        check(9.999, "10.0");
        check(121.33, "121");
        check(42.5, "42.5");
        check(-1.25, "-1.25");
        check(0.001_234, "0.00123");
        check(1e-9, "1.00e-9");
        check(1.5e12, "1.50e12");
        check(f64::MAX, "1.80e308");
        check(f64::NAN, "not a number");
        check(f64::INFINITY, "not a number");
    }

    #[test]
    fn every_sort_of_value_reads_as_what_it_is() {
        let check = |id: &str, value: Value, expect: &str| assert_eq!(super::value(&Metric::new(id, value)), expect);
        check("fill.fast_mb_s", Value::Number(2384.1), "2380 MB/s");
        check("fill.cliff_gb", Value::MoreThan(100.04), "more than 100 GB");
        check("fill.cliff_gb", Value::MoreThan(1076.0), "more than 1070 GB");
        check("fill.cliff_gb", Value::MoreThan(999.9), "more than 999 GB");
        check("fill.cliff_gb", Value::MoreThan(2.0), "more than 2.00 GB");
        check("fill.floor_mb_s", Value::Absent("not-applicable"), "not applicable");
        check("fill.verify_errors", Value::Number(1_234_567.0), "1234567");
        check("random_write.fsef_mb_s_per_gb", Value::Number(1.25), "1.25 MB/s per GB");
        check("random_write.full.p99_us", Value::Number(f64::NAN), "not a number");
    }

    #[test]
    fn failures_come_first_and_then_what_is_undecided() {
        let rows = rows(&samples::finished());
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids[..3], ["fill.floor_mb_s", "random_write.scratch.steady_mb_s", "fill.fast_mb_s"]);
        assert_eq!(rows.len(), samples::finished().metrics.len());
    }

    #[test]
    fn rounding_never_hides_why_a_limit_is_broken() {
        let rows = rows(&samples::finished());
        assert_eq!(rows[0].value, "400 MB/s");
        assert_eq!(rows[0].reason, "outside the limit of at least 400 MB/s; measured 399.9 MB/s");
    }

    #[test]
    fn what_was_compared_has_baseline_change_and_tolerance() {
        let check = |id: &str, level: Level, change: Option<f64>, tolerance: Option<f64>, expect: [&str; 3]| {
            let mut judged = samples::judged(id, Value::Number(450.0), Role::Gate, Verdict::Regressed, "worse");
            judged.against = Some(Against { level, runs: 3, change, tolerance, weighed: None });
            let row = row(&judged);
            assert_eq!([row.baseline.as_str(), row.change.as_str(), row.tolerance.as_str()], expect, "{id}");
        };
        let number = Level::Number;
        check("fill.fast_mb_s", number(512.0), Some(-0.1211), Some(0.05), ["512 MB/s", "-12.1 %", "5 %"]);
        check("fill.fast_mb_s", number(512.0), Some(0.3), Some(0.125), ["512 MB/s", "+30.0 %", "12.5 %"]);
        check("fill.fast_mb_s", number(512.0), Some(-0.0001), None, ["512 MB/s", "0.0 %", ""]);
        check("fill.cliff_gb", Level::MoreThan(100.0), None, Some(0.05), ["more than 100 GB", "", "5 %"]);
        check("health.errors", number(3.0), Some(2.0), None, ["3", "+2.00", ""]);
        check(
            "random_write.a.stalled_s_per_h",
            number(0.0),
            Some(30.0),
            Some(10.0),
            ["0 s/h", "+30.0 s/h", "10.0 s/h"],
        );
    }

    #[test]
    fn an_uncertain_figure_shows_its_range() {
        let rows = rows(&samples::finished());
        let cliff = rows.iter().find(|row| row.id == "fill.cliff_gb").unwrap();
        assert_eq!((cliff.value.as_str(), cliff.range.as_str()), ("121 GB", "120 to 122"));
    }
}
