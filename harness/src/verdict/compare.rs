//! One metric of a run against one figure of a baseline.
//!
//! Pure. Rates, capacities and latencies are compared as ratios, on the log scale; counts fail on any increase;
//! stalls are compared in seconds an hour; "no cliff up to N" is a figure of its own. Knows no environment and
//! no limit.

use super::Verdict;
use super::baseline::{Direction, Level};
use super::tolerance::{noise_floor, stall_floor};
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
    /// The accepted loss, as `change`; none for counts and findings.
    pub tolerance: Option<f64>,
    /// The smallest change that these runs can tell from none, as `change`.
    pub noise_floor: Option<f64>,
}

/// How a metric is compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) kind: Kind,
    /// As people write it; none where any loss counts.
    pub(super) tolerance: Option<f64>,
    /// Coefficient of variation from run to run.
    pub(super) cv: f64,
    /// Runs of the candidate.
    pub(super) runs: usize,
}

/// An improvement of more than this factor is too good to be believed unseen.
const TOO_GOOD: f64 = 2.0;

/// A verdict, why, and what was compared.
pub(super) type Compared = (Verdict, String, Against);

/// Compares a value with a level that rests on `runs` runs.
pub(super) fn compare(value: &Value, level: Level, runs: usize, scale: &Scale) -> Compared {
    let against = Against { level, runs, change: None, tolerance: scale.tolerance, noise_floor: None };
    match (value, level) {
        (Value::Absent(why), _) => (
            Verdict::Inconclusive,
            format!("the baseline has a value and this run has none: {}", why.replace('-', " ")),
            against,
        ),
        (Value::Number(value), _) if !value.is_finite() || *value < 0.0 => {
            (Verdict::Error, format!("{value} is no figure that could be compared"), against)
        }
        (Value::Number(value), Level::Number(base)) => number(*value, base, scale, against),
        (Value::Number(at), Level::MoreThan(least)) => cliff_against_none(*at, least, against),
        (Value::MoreThan(least), Level::Number(at)) => none_against_cliff(*least, at, scale, against),
        (Value::MoreThan(least), Level::MoreThan(base)) => {
            (Verdict::Held, format!("no cliff up to {}, as in the baseline", up_to(least.min(base))), against)
        }
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

fn number(value: f64, base: f64, scale: &Scale, against: Against) -> Compared {
    match scale.kind {
        Kind::Throughput | Kind::Capacity | Kind::TailLatency => ratio(value, base, scale, against),
        Kind::Count => count(value, base, against),
        Kind::Stalls => stalls(value, base, scale, against),
        Kind::Finding => {
            let against = Against { change: (base != 0.0).then(|| value / base - 1.0), ..against };
            (Verdict::NoBaseline, "a finding: neither good nor bad".to_owned(), against)
        }
    }
}

/// Rates, capacities and latencies, on the log scale: a loss of 5 % is ln 0.95 for a rate, ln 1.05 for a latency.
fn ratio(value: f64, base: f64, scale: &Scale, against: Against) -> Compared {
    if base <= 0.0 {
        return (Verdict::Inconclusive, format!("the baseline is {base}: nothing is a share of it"), against);
    }
    let tolerance = scale.tolerance.unwrap_or(0.0);
    let floor = noise_floor(scale.cv, against.runs, scale.runs);
    let more = Direction::of(scale.kind) == Direction::More;
    let (loss, allowed) = if more {
        (-libm::log(value / base), -libm::log(1.0 - tolerance.min(1.0)))
    } else {
        (libm::log(value / base), libm::log(1.0 + tolerance))
    };
    let against = Against { change: Some(value / base - 1.0), noise_floor: Some(floor), ..against };
    let (verdict, reason) = decide(loss, allowed, floor, &percent(tolerance), &percent(floor));
    (verdict, reason, against)
}

fn count(value: f64, base: f64, against: Against) -> Compared {
    let against = Against { change: Some(value - base), ..against };
    match value.total_cmp(&base) {
        std::cmp::Ordering::Greater => (Verdict::Regressed, "counts may not grow".to_owned(), against),
        std::cmp::Ordering::Equal => (Verdict::Held, String::new(), against),
        std::cmp::Ordering::Less => (Verdict::Improved, String::new(), against),
    }
}

fn stalls(value: f64, base: f64, scale: &Scale, against: Against) -> Compared {
    let tolerance = scale.tolerance.unwrap_or(0.0);
    let floor = stall_floor(scale.cv, base, against.runs, scale.runs);
    let against = Against { change: Some(value - base), noise_floor: Some(floor), ..against };
    let say = |seconds: f64| format!("{} s/h", short(seconds));
    let (verdict, reason) = decide(value - base, tolerance, floor, &say(tolerance), &say(floor));
    (verdict, reason, against)
}

/// Held if the loss is shown to be within the tolerance, regressed if it is shown to be beyond, improved likewise.
fn decide(loss: f64, allowed: f64, floor: f64, tolerance_text: &str, floor_text: &str) -> (Verdict, String) {
    // A figure and its own baseline may differ by the rounding of the last digit.
    const ROUNDING: f64 = 1e-9;
    if loss >= allowed + floor - ROUNDING && loss > ROUNDING {
        (Verdict::Regressed, format!("worse than the tolerance of {tolerance_text} by more than the noise"))
    } else if loss > allowed - floor + ROUNDING {
        let why = format!(
            "these runs tell a loss from the tolerance of {tolerance_text} only within {floor_text}: more runs decide"
        );
        (Verdict::Inconclusive, why)
    } else if loss <= -(allowed + floor) + ROUNDING && loss < -ROUNDING {
        (Verdict::Improved, String::new())
    } else {
        (Verdict::Held, String::new())
    }
}

fn cliff_against_none(at: f64, least: f64, against: Against) -> Compared {
    if at >= least {
        let reason = format!("no cliff up to {}, as in the baseline, which did not look further", up_to(least));
        return (Verdict::Held, reason, against);
    }
    let reason = format!("a cliff at {}, and the baseline has none up to {}", gb(at), up_to(least));
    (Verdict::Regressed, reason, against)
}

fn none_against_cliff(least: f64, at: f64, scale: &Scale, against: Against) -> Compared {
    if least >= at {
        let reason = format!("no cliff up to {}, and the baseline has one at {}", up_to(least), gb(at));
        return (Verdict::Improved, reason, against);
    }
    // The cliff is beyond `least`: the loss is at most what it would be there.
    let (verdict, _, compared) = ratio(least, at, scale, against.clone());
    let reason = format!("no cliff up to {}, where the run ended; the baseline's is at {}", up_to(least), gb(at));
    let verdict = if verdict == Verdict::Held { Verdict::Held } else { Verdict::Inconclusive };
    (verdict, reason, Against { noise_floor: compared.noise_floor, ..against })
}

fn gb(value: f64) -> String {
    format!("{} GB", short(value))
}

/// Rounded down: nothing is known beyond.
fn up_to(value: f64) -> String {
    let rounded: f64 = short(value).parse().unwrap_or(value);
    let step = libm::pow(10.0, libm::floor(libm::log10(value.max(1e-9))) - 2.0);
    gb(if rounded > value { rounded - step } else { rounded })
}

/// At most three significant digits.
fn short(value: f64) -> String {
    format!("{value:.2e}").parse::<f64>().map_or_else(|_| value.to_string(), |value| value.to_string())
}

/// A fraction as a percentage of at most three significant digits.
fn percent(fraction: f64) -> String {
    format!("{} %", short(fraction * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::tolerance::{DEFAULT_PRIOR_NOISE, DEFAULT_TOLERANCE, tolerance};

    fn scale(kind: Kind) -> Scale {
        let cv = DEFAULT_PRIOR_NOISE.of(kind).unwrap_or(0.0);
        Scale { kind, tolerance: tolerance(kind, &DEFAULT_TOLERANCE, None), cv, runs: 1 }
    }

    fn check(kind: Kind, value: Value, level: Level, expect: Verdict) {
        let (verdict, reason, _) = compare(&value, level, 1, &scale(kind));
        assert_eq!(verdict, expect, "{kind:?} {value:?} against {level:?}: {reason}");
    }

    #[test]
    fn a_loss_is_held_regressed_or_undecided_about_its_tolerance() {
        // Tolerance 5 %, floor 2.33 %: held down to −2.76 %, regressed from −7.19 % on.
        let rate = |value, expect| check(Kind::Throughput, Value::Number(value), Level::Number(100.0), expect);
        rate(100.0, Verdict::Held);
        rate(97.3, Verdict::Held);
        rate(97.2, Verdict::Inconclusive);
        rate(92.9, Verdict::Inconclusive);
        rate(92.8, Verdict::Regressed);
        rate(0.0, Verdict::Regressed);
        rate(107.7, Verdict::Held);
        rate(107.8, Verdict::Improved);
        rate(f64::NAN, Verdict::Error);
        rate(f64::INFINITY, Verdict::Error);
        rate(-1.0, Verdict::Error);
    }

    #[test]
    fn less_latency_is_better() {
        // Tolerance 20 %, floor 11.6 %: held up to +6.8 %, regressed from +34.8 % on.
        let latency = |value, expect| check(Kind::TailLatency, Value::Number(value), Level::Number(100.0), expect);
        latency(106.0, Verdict::Held);
        latency(110.0, Verdict::Inconclusive);
        latency(135.0, Verdict::Regressed);
        latency(80.0, Verdict::Held);
        latency(70.0, Verdict::Improved);
    }

    #[test]
    fn a_count_may_not_grow_at_all() {
        let count = |value, expect| check(Kind::Count, Value::Number(value), Level::Number(3.0), expect);
        count(3.0, Verdict::Held);
        count(4.0, Verdict::Regressed);
        count(2.0, Verdict::Improved);
    }

    #[test]
    fn stalls_are_compared_in_seconds_an_hour() {
        let stalls = |base, value, expect| check(Kind::Stalls, Value::Number(value), Level::Number(base), expect);
        stalls(0.0, 0.0, Verdict::Held);
        stalls(0.0, 8.0, Verdict::Held);
        stalls(0.0, 10.0, Verdict::Inconclusive);
        stalls(0.0, 12.0, Verdict::Regressed);
        stalls(100.0, 115.0, Verdict::Inconclusive);
        stalls(100.0, 130.0, Verdict::Regressed);
        stalls(100.0, 70.0, Verdict::Improved);
    }

    #[test]
    fn no_cliff_up_to_n_is_a_figure() {
        let cliff = |value, level, expect| check(Kind::Capacity, value, level, expect);
        cliff(Value::Number(60.0), Level::MoreThan(100.0), Verdict::Regressed);
        cliff(Value::Number(120.0), Level::MoreThan(100.0), Verdict::Held);
        cliff(Value::MoreThan(100.0), Level::Number(60.0), Verdict::Improved);
        cliff(Value::MoreThan(59.5), Level::Number(60.0), Verdict::Held);
        cliff(Value::MoreThan(30.0), Level::Number(60.0), Verdict::Inconclusive);
        cliff(Value::MoreThan(100.0), Level::MoreThan(100.0), Verdict::Held);
        cliff(Value::MoreThan(90.0), Level::MoreThan(100.0), Verdict::Held);
        cliff(Value::Absent("too-short"), Level::MoreThan(100.0), Verdict::Inconclusive);
    }

    #[test]
    fn what_was_seen_is_never_rounded_up() {
        let check = |value, expect: &str| assert_eq!(up_to(value), expect);
        check(2.147_48, "2.14 GB");
        check(1076.0, "1070 GB");
        check(200.0, "200 GB");
        check(0.099_96, "0.0999 GB");
    }

    #[test]
    fn the_change_is_a_fraction_and_twice_as_good_is_too_good() {
        let (verdict, _, against) = compare(&Value::Number(88.0), Level::Number(100.0), 1, &scale(Kind::Throughput));
        assert!((against.change.unwrap() + 0.12).abs() < 1e-12);
        assert!(!too_good(verdict, &against, Kind::Throughput));
        let (verdict, _, against) = compare(&Value::Number(201.0), Level::Number(100.0), 1, &scale(Kind::Throughput));
        assert!(too_good(verdict, &against, Kind::Throughput));
        let (verdict, _, against) = compare(&Value::Number(49.0), Level::Number(100.0), 1, &scale(Kind::TailLatency));
        assert!(too_good(verdict, &against, Kind::TailLatency));
    }

    #[test]
    fn without_tolerance_and_noise_every_loss_is_one() {
        let exact = Scale { kind: Kind::Throughput, tolerance: Some(0.0), cv: 0.0, runs: 1 };
        let verdict = |value| compare(&Value::Number(value), Level::Number(100.0), 1, &exact).0;
        assert_eq!(
            [verdict(99.9), verdict(100.0), verdict(100.1)],
            [Verdict::Regressed, Verdict::Held, Verdict::Improved]
        );
    }
}
