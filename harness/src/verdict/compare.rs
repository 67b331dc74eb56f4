//! The figures of one metric against its baseline's: what can be said of them at once, and what must be weighed.
//!
//! Pure. Counts fail on any increase; "no cliff up to N" is a figure of its own, compared at the smaller N. Rates,
//! capacities, latencies and stalls are weighed by their noise, which is not this file's. Knows no environment and no
//! limit.

use super::Verdict;
use super::baseline::Level;
use super::weighed::Weighed;
use crate::analysis::metric::{Kind, Value};

/// What was compared, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Against {
    /// The baseline's figure.
    pub level: Level,
    /// Runs that it rests on.
    pub runs: usize,
    /// Change against it as a fraction, −0.12 for a fall by 12 %; for counts and stalls the difference in the
    /// metric's unit. None where a cliff has no counterpart.
    pub change: Option<f64>,
    /// The accepted loss, as a fraction; of stalls in seconds an hour; none for counts and findings.
    pub tolerance: Option<f64>,
    /// What the runs say of the loss; none where nothing had to be weighed.
    pub weighed: Option<Weighed>,
}

/// An improvement of more than this factor is too good to be believed unseen.
const TOO_GOOD: f64 = 2.0;

/// What figures say before their noise is looked at.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    /// All that can be said.
    Plain(Verdict, String),
    /// Numbers, to be weighed against the baseline's number.
    Numbers(Vec<f64>),
    /// No cliff up to this in any run, and the baseline's lies beyond: held if even a cliff there would be.
    AtLeast(f64),
}

/// Compares the figures of the candidate's runs with a level of the baseline.
pub(super) fn compare(values: &[&Value], bounds: &[Option<(f64, f64)>], level: Level, kind: Kind) -> Said {
    let plain = |verdict, reason: String| Said::Plain(verdict, reason);
    let (mut numbers, mut none_up_to, mut absent) = (Vec::new(), Vec::new(), None);
    for value in values {
        match value {
            Value::Number(number) if !number.is_finite() || *number < 0.0 => {
                return plain(Verdict::Error, format!("{number} is no figure that could be compared"));
            }
            Value::Number(number) => numbers.push(*number),
            Value::MoreThan(_) if kind != Kind::Capacity => {
                return plain(Verdict::Error, "only a place can be beyond what was looked at".to_owned());
            }
            Value::MoreThan(least) => none_up_to.push(*least),
            Value::Absent(why) => absent = Some(*why),
        }
    }
    if let Some(why) = absent {
        let which = if values.len() == 1 { "this run has none" } else { "not every run has one" };
        return plain(
            Verdict::Inconclusive,
            format!("the baseline has a value and {which}: {}", why.replace('-', " ")),
        );
    }
    if !numbers.is_empty() && !none_up_to.is_empty() {
        let (with, without) = (numbers.len(), none_up_to.len());
        return plain(Verdict::Inconclusive, format!("the runs disagree: {with} with a cliff and {without} without"));
    }
    let least = none_up_to.iter().copied().fold(f64::INFINITY, f64::min);
    match level {
        _ if values.is_empty() => plain(Verdict::Error, "no run has a figure".to_owned()),
        Level::Number(base) if numbers.is_empty() && least >= base => {
            let reason = format!("no cliff up to {}, and the baseline has one at {}", up_to(least), gb(base));
            plain(Verdict::Improved, reason)
        }
        Level::Number(_) if numbers.is_empty() => Said::AtLeast(least),
        Level::Number(base) => match kind {
            Kind::Count => count(&numbers, base),
            Kind::Finding => plain(Verdict::NoBaseline, "a finding: neither good nor bad".to_owned()),
            _ => Said::Numbers(numbers),
        },
        Level::MoreThan(base) if numbers.is_empty() => {
            plain(Verdict::Held, format!("no cliff up to {}, as in the baseline", up_to(least.min(base))))
        }
        Level::MoreThan(base) => cliff_against_none(&numbers, bounds, base),
    }
}

/// Whether a change for the better is beyond belief.
pub(super) fn too_good(verdict: Verdict, against: &Against, kind: Kind) -> bool {
    let ratio = against.change.map(|change| 1.0 + change);
    verdict == Verdict::Improved
        && match kind {
            Kind::Throughput | Kind::Capacity => ratio.is_some_and(|ratio| ratio > TOO_GOOD),
            Kind::TailLatency => ratio.is_some_and(|ratio| ratio < 1.0 / TOO_GOOD),
            Kind::Count | Kind::Stalls | Kind::Finding => false,
        }
}

/// The worst run counts: noise is no excuse for an error.
fn count(numbers: &[f64], base: f64) -> Said {
    let worst = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match worst.total_cmp(&base) {
        std::cmp::Ordering::Greater => Said::Plain(Verdict::Regressed, "counts may not grow".to_owned()),
        std::cmp::Ordering::Equal => Said::Plain(Verdict::Held, String::new()),
        std::cmp::Ordering::Less => Said::Plain(Verdict::Improved, String::new()),
    }
}

/// A cliff whose interval of uncertainty reaches to where the baseline ended may lie beyond it.
fn cliff_against_none(cliffs: &[f64], bounds: &[Option<(f64, f64)>], least: f64) -> Said {
    let high = |(run, at): (usize, &f64)| bounds.get(run).copied().flatten().map_or(*at, |(_, high)| high.max(*at));
    let at = cliffs.iter().copied().fold(f64::INFINITY, f64::min);
    if at >= least {
        let reason = format!("no cliff up to {}, as in the baseline, which did not look further", up_to(least));
        return Said::Plain(Verdict::Held, reason);
    }
    let clear = cliffs.iter().enumerate().all(|cliff| high(cliff) < least);
    let verdict = if clear { Verdict::Regressed } else { Verdict::Inconclusive };
    Said::Plain(verdict, format!("a cliff at {}, and the baseline has none up to {}", gb(at), up_to(least)))
}

pub(super) fn gb(value: f64) -> String {
    format!("{} GB", short(value))
}

/// Rounded down: nothing is known beyond.
pub(super) fn up_to(value: f64) -> String {
    let rounded: f64 = short(value).parse().unwrap_or(value);
    let step = libm::pow(10.0, libm::floor(libm::log10(value.max(1e-9))) - 2.0);
    gb(if rounded > value { rounded - step } else { rounded })
}

/// At most three significant digits.
pub(super) fn short(value: f64) -> String {
    format!("{value:.2e}").parse::<f64>().map_or_else(|_| value.to_string(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: Kind, values: &[Value], level: Level, expect: Verdict, words: &str) {
        let said = compare(&values.iter().collect::<Vec<_>>(), &[], level, kind);
        let Said::Plain(verdict, reason) = &said else { panic!("{values:?} against {level:?}: {said:?}") };
        assert_eq!(*verdict, expect, "{values:?} against {level:?}: {reason}");
        assert!(reason.contains(words), "{reason}");
    }

    #[test]
    fn a_count_may_not_grow_at_all_in_any_run() {
        let check = |counts: &[f64], expect| {
            let values: Vec<Value> = counts.iter().copied().map(Value::Number).collect();
            check(Kind::Count, &values, Level::Number(3.0), expect, "");
        };
        check(&[3.0], Verdict::Held);
        check(&[4.0], Verdict::Regressed);
        check(&[2.0], Verdict::Improved);
        check(&[0.0, 0.0, 4.0], Verdict::Regressed);
    }

    #[test]
    fn no_cliff_up_to_n_is_a_figure() {
        let cliff = |values: &[Value], level, expect| check(Kind::Capacity, values, level, expect, "");
        let (none, one) = (Level::MoreThan(100.0), Level::Number(60.0));
        cliff(&[Value::Number(60.0)], none, Verdict::Regressed);
        cliff(&[Value::Number(120.0)], none, Verdict::Held);
        cliff(&[Value::MoreThan(100.0)], none, Verdict::Held);
        cliff(&[Value::MoreThan(90.0)], none, Verdict::Held);
        cliff(&[Value::MoreThan(100.0)], one, Verdict::Improved);
        cliff(&[Value::MoreThan(100.0), Value::Number(60.0)], none, Verdict::Inconclusive);
        cliff(&[Value::Absent("too-short")], none, Verdict::Inconclusive);
        assert_eq!(compare(&[&Value::MoreThan(59.5)], &[], one, Kind::Capacity), Said::AtLeast(59.5));
    }

    #[test]
    fn a_cliff_at_the_very_end_of_what_the_baseline_saw_is_not_decided() {
        let said =
            |high| compare(&[&Value::Number(98.0)], &[Some((97.0, high))], Level::MoreThan(100.0), Kind::Capacity);
        assert!(matches!(said(99.0), Said::Plain(Verdict::Regressed, _)));
        assert!(matches!(said(101.0), Said::Plain(Verdict::Inconclusive, _)));
    }

    #[test]
    fn what_is_no_figure_is_an_error_and_never_compared() {
        for value in [f64::NAN, f64::INFINITY, -1.0] {
            check(Kind::Throughput, &[Value::Number(value)], Level::Number(1.0), Verdict::Error, "no figure");
        }
        check(Kind::Throughput, &[], Level::Number(1.0), Verdict::Error, "no run");
        let some = [Value::Number(1.0), Value::Absent("never")];
        check(Kind::Throughput, &some, Level::Number(1.0), Verdict::Inconclusive, "not every run has one: never");
    }

    #[test]
    fn what_was_seen_is_never_rounded_up() {
        let check = |value, expect: &str| assert_eq!(up_to(value), expect);
        check(2.147_48, "2.14 GB");
        check(1076.0, "1070 GB");
        check(200.0, "200 GB");
        check(0.099_96, "0.0999 GB");
    }
}
