//! Where each metric of a run stands against its baseline: cliffs more or fewer, metrics that vanished or are new,
//! drift from the first accepted state.
//!
//! Pure. Knows roles only as far as a comparison changes them; limits are `judge`'s.

use super::Verdict;
use super::baseline::{Accepted, Baseline, Direction, Level};
use super::candidate::{Candidate, is_further_cliff, suite};
use super::compare::{Against, Compared, Scale, compare, too_good};
use super::judge::{Role, Rules};
use super::tolerance::tolerance;
use crate::analysis::metric::{Metric, Value};

/// What a run is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// The run.
    pub run: &'a Candidate,
    /// The accepted state.
    pub baseline: &'a Baseline,
    /// Why nothing may be concluded from the comparison, if so: what else changed.
    pub confounded: Option<&'a str>,
    /// A link, cache or scheduler that changed with a variable under test: the cause of what became worse, and
    /// more than what stayed can be believed with.
    pub side_effect: Option<&'a str>,
}

/// What is said of a metric that was compared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stand {
    pub(super) role: Role,
    pub(super) verdict: Verdict,
    pub(super) reason: String,
    pub(super) against: Option<Against>,
}

impl Standing<'_> {
    /// Compares a metric of the run.
    pub(super) fn of(&self, metric: &Metric, role: Role, rules: &Rules) -> Stand {
        let stand = |role, verdict, reason: &str| Stand { role, verdict, reason: reason.to_owned(), against: None };
        let Some(accepted) = self.baseline.metric.get(&metric.id) else { return self.unknown(metric, role) };
        if let Some(why) = mismatch(metric, accepted) {
            return stand(Role::Gate, Verdict::Error, &why);
        }
        let Some(level) = accepted.level() else {
            return match &metric.value {
                // What neither side can say decides nothing; that it decides nothing was accepted by a person.
                Value::Absent(why) => {
                    let reason =
                        format!("the baseline has no value either ({}): not decided by it", why.replace('-', " "));
                    stand(Role::Info, Verdict::Inconclusive, &reason)
                }
                _ => stand(role, Verdict::Inconclusive, "the baseline has no value here, and this run has: accept it"),
            };
        };
        if let Some((verdict, reason)) = self.follows_the_cliff(metric, rules) {
            let against = Against { level, runs: accepted.runs(), change: None, tolerance: None, noise_floor: None };
            return self.confound(Stand { role, verdict, reason, against: Some(against) });
        }
        let scale = scale(metric, accepted, rules);
        let (verdict, reason, against) = compare(&metric.value, level, accepted.runs(), &scale);
        let (verdict, reason) = match accepted.disagree() {
            Some((with, without)) if same_sort(&metric.value, level) != Some(true) && verdict != Verdict::Error => {
                let why = format!("the baseline's own runs disagree: {with} with a cliff and {without} without");
                (Verdict::Inconclusive, why)
            }
            _ => (verdict, reason),
        };
        let compared = self.drift(metric, &scale, (verdict, reason, against));
        let (verdict, mut reason, against) = compared;
        if too_good(verdict, &against, metric.kind) {
            reason = "more than twice as good as the baseline: too good to be true until it is explained".to_owned();
        }
        self.confound(Stand { role, verdict, reason, against: Some(against) })
    }

    /// A metric of the baseline that the run does not have: a cliff fewer, or an error.
    pub(super) fn missing(&self, id: &str, role: Role, rules: &Rules) -> (Metric, Stand) {
        let reach = self.run.reach_gb.get(suite(id)).copied();
        let has_cliffs = self.run.metric(&format!("{}cliff_gb", suite(id))).is_some();
        if let (true, true, Some(reach)) = (is_further_cliff(id), has_cliffs, reach) {
            let metric = Metric::new(id, Value::MoreThan(reach));
            let stand = self.of(&metric, role, rules);
            return (metric, stand);
        }
        let part = self.run.left_out.iter().find(|(part, _)| id.starts_with(&format!("{part}.")));
        let why = part.map_or_else(
            || "it vanished or has another name".to_owned(),
            |(part, reason)| format!("{part} was left out: {reason}"),
        );
        let reason = format!("the baseline has it and this run does not: {why}");
        let metric = Metric::absent(id, "not-measured");
        (metric, Stand { role: Role::Gate, verdict: Verdict::Error, reason, against: None })
    }

    /// A metric that the baseline does not have.
    fn unknown(&self, metric: &Metric, role: Role) -> Stand {
        let first = self.baseline.metric.get(&format!("{}cliff_gb", suite(&metric.id)));
        let (verdict, reason) = match (first, &metric.value, role) {
            (Some(_), Value::Number(_), _) if is_further_cliff(&metric.id) => {
                (Verdict::Regressed, "one more cliff than the baseline has")
            }
            (_, _, Role::Gate) => (Verdict::Inconclusive, "the baseline lacks this metric: accept a run that has it"),
            (_, _, Role::Info) => (Verdict::NoBaseline, "the baseline lacks this metric"),
        };
        self.confound(Stand { role, verdict, reason: reason.to_owned(), against: None })
    }

    /// Without a cliff there is no floor behind it: what is said of the cliff is said of the floor.
    fn follows_the_cliff(&self, metric: &Metric, rules: &Rules) -> Option<(Verdict, String)> {
        let cliff = format!("{}cliff_gb", suite(&metric.id));
        if metric.value != Value::Absent("not-applicable") || metric.id == cliff {
            return None;
        }
        let (cliff, accepted) = (self.run.metric(&cliff)?, self.baseline.metric.get(&cliff)?);
        let Value::MoreThan(_) = cliff.value else { return None };
        let (verdict, ..) = compare(&cliff.value, accepted.level()?, accepted.runs(), &scale(cliff, accepted, rules));
        Some((verdict, format!("no cliff, so nothing behind it: see {}", cliff.id)))
    }

    /// Held against today's baseline and yet worse than the first accepted state: slow drift.
    fn drift(&self, metric: &Metric, scale: &Scale, compared: Compared) -> Compared {
        let Some((level, runs)) = self.baseline.golden.of(&metric.id) else { return compared };
        if matches!(compared.0, Verdict::Regressed | Verdict::Error) || matches!(metric.value, Value::Absent(_)) {
            return compared;
        }
        let (verdict, _, against) = compare(&metric.value, level, runs, scale);
        if verdict != Verdict::Regressed {
            return compared;
        }
        let first = match level {
            Level::Number(value) => format!("{value} {}", metric.unit),
            Level::MoreThan(value) => format!("more than {value} {}", metric.unit),
        };
        let change = against.change.map(|change| format!(" by {:.1} %", change * 100.0)).unwrap_or_default();
        let when = &self.baseline.golden.when;
        let since = when.get(..10).unwrap_or(when);
        let reason = format!("drift: it changed{change} since the first accepted state ({}, {since})", first.trim());
        (Verdict::Regressed, reason, compared.2)
    }

    /// What else changed takes every conclusion away, and is named; an error stays one.
    fn confound(&self, stand: Stand) -> Stand {
        match self.confounded {
            Some(why) if !matches!(stand.verdict, Verdict::Error | Verdict::NoBaseline) => {
                let would = match stand.verdict {
                    Verdict::Inconclusive => String::new(),
                    verdict => format!("; by the figures alone it would be {verdict}"),
                };
                Stand { verdict: Verdict::Inconclusive, reason: format!("{why}{would}"), ..stand }
            }
            _ => self.with_side_effect(stand),
        }
    }

    fn with_side_effect(&self, stand: Stand) -> Stand {
        match (self.side_effect, stand.verdict) {
            (Some(what), Verdict::Regressed) => Stand { reason: format!("{}; cause: {what}", stand.reason), ..stand },
            (Some(what), Verdict::Held | Verdict::Improved) => {
                let reason = format!("{what}; by the figures alone it would be {}", stand.verdict);
                Stand { verdict: Verdict::Inconclusive, reason, ..stand }
            }
            _ => stand,
        }
    }
}

fn scale(metric: &Metric, accepted: &Accepted, rules: &Rules) -> Scale {
    let tolerance = tolerance(metric.kind, &rules.tolerance, accepted.tolerance);
    Scale { kind: metric.kind, tolerance, cv: rules.prior_noise.of(metric.kind).unwrap_or(0.0), runs: 1 }
}

/// Whether both are places of a cliff, or both say that there is none.
fn same_sort(value: &Value, level: Level) -> Option<bool> {
    match (value, level) {
        (Value::Absent(_), _) => None,
        (Value::Number(_), Level::Number(_)) | (Value::MoreThan(_), Level::MoreThan(_)) => Some(true),
        _ => Some(false),
    }
}

/// Why figures of that unit and kind cannot be compared with the baseline's.
fn mismatch(metric: &Metric, accepted: &Accepted) -> Option<String> {
    if metric.unit != accepted.unit {
        return Some(format!(
            "the baseline has it in {:?} and this run in {:?}: figures of different units are never compared",
            accepted.unit, metric.unit
        ));
    }
    if metric.kind != accepted.kind || Direction::of(metric.kind) != accepted.direction {
        return Some(format!(
            "the baseline has it as {:?} and this run as {:?}: figures of different kinds are never compared",
            accepted.kind, metric.kind
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::judge::{Judged, judge_against, overall};
    use crate::verdict::sample::{baseline, candidate, none_up_to};

    /// Judges a run against a baseline, with the default rules.
    fn judged(run: &[(&str, Value)], baseline: &Baseline, confounded: Option<&str>) -> Vec<Judged> {
        let run = candidate(run);
        judge_against(&Rules::default(), &Standing { run: &run, baseline, confounded, side_effect: None })
    }

    #[track_caller]
    fn check(run: &[(&str, Value)], baseline: &Baseline, expect: Verdict, words: &str) {
        let judged = judged(run, baseline, None);
        assert_eq!(overall(&judged), expect, "{judged:?}");
        assert!(judged.iter().any(|judged| judged.reason.contains(words)), "no {words:?} in {judged:?}");
    }

    const FLOOR: &str = "fill.floor_mb_s";
    const CLIFF: &str = "fill.cliff_gb";

    #[test]
    fn a_metric_that_vanished_is_an_error_whatever_its_role() {
        let two = baseline(&[(FLOOR, &[100.0]), ("fill.read_mb_s", &[100.0])]);
        check(&[(FLOOR, Value::Number(100.0))], &two, Verdict::Error, "the baseline has it and this run does not");
        check(&[], &two, Verdict::Error, "vanished");
    }

    #[test]
    fn a_gate_that_the_baseline_lacks_is_not_green() {
        let one = baseline(&[(FLOOR, &[100.0])]);
        let run = [(FLOOR, Value::Number(100.0)), ("fill.fast_mb_s", Value::Number(100.0))];
        check(&run, &one, Verdict::Inconclusive, "the baseline lacks this metric: accept");
        let run = [(FLOOR, Value::Number(100.0)), ("fill.read_mb_s", Value::Number(100.0))];
        check(&run, &one, Verdict::Held, "the baseline lacks this metric");
    }

    #[test]
    fn units_and_kinds_are_never_mixed() {
        let mut other = baseline(&[(FLOOR, &[100.0])]);
        other.metric.get_mut(FLOOR).unwrap().unit = "MiB/s".to_owned();
        check(&[(FLOOR, Value::Number(100.0))], &other, Verdict::Error, "\"MiB/s\" and this run in \"MB/s\"");
        let mut other = baseline(&[(FLOOR, &[100.0])]);
        other.metric.get_mut(FLOOR).unwrap().kind = crate::analysis::metric::Kind::Capacity;
        check(&[(FLOOR, Value::Number(100.0))], &other, Verdict::Error, "different kinds");
    }

    #[test]
    fn cliffs_more_and_fewer() {
        let none = none_up_to(&[(CLIFF, 200.0)]);
        check(&[(CLIFF, Value::Number(60.0))], &none, Verdict::Regressed, "the baseline has none up to 200 GB");
        check(&[(CLIFF, Value::MoreThan(200.0))], &none, Verdict::Held, "as in the baseline");
        let one = baseline(&[(CLIFF, &[60.0]), (FLOOR, &[100.0])]);
        let second = ("fill.cliff2_gb", Value::Number(90.0));
        let run = [(CLIFF, Value::Number(60.0)), (FLOOR, Value::Number(100.0)), second];
        check(&run, &one, Verdict::Regressed, "one more cliff");
        let run = [(CLIFF, Value::MoreThan(200.0)), (FLOOR, Value::Absent("not-applicable"))];
        check(&run, &one, Verdict::Improved, "no cliff, so nothing behind it");
        let two = baseline(&[(CLIFF, &[60.0]), ("fill.cliff2_gb", &[90.0])]);
        check(&[(CLIFF, Value::Number(60.0))], &two, Verdict::Improved, "and the baseline has one at 90 GB");
        check(&[], &two, Verdict::Error, "vanished");
    }

    #[test]
    fn a_baseline_whose_runs_disagree_decides_only_what_most_of_them_show() {
        let mut mixed = baseline(&[(CLIFF, &[60.0, f64::NAN, f64::NAN])]);
        mixed.metric.get_mut(CLIFF).unwrap().more_than = Some(200.0);
        mixed.golden = Default::default();
        check(&[(CLIFF, Value::MoreThan(200.0))], &mixed, Verdict::Held, "as in the baseline");
        check(&[(CLIFF, Value::Number(60.0))], &mixed, Verdict::Inconclusive, "1 with a cliff and 2 without");
    }

    #[test]
    fn what_neither_side_can_say_decides_nothing() {
        let steady = "random_write.scratch.steady_mb_s";
        let mut absent = baseline(&[(FLOOR, &[100.0]), (steady, &[])]);
        absent.metric.get_mut(steady).unwrap().absent = Some("too-short".to_owned());
        let floor = (FLOOR, Value::Number(100.0));
        check(&[floor.clone(), (steady, Value::Absent("too-short"))], &absent, Verdict::Held, "no value either");
        check(&[floor.clone(), (steady, Value::Number(9.0))], &absent, Verdict::Inconclusive, "and this run has");
        let known = baseline(&[(steady, &[100.0])]);
        check(&[(steady, Value::Absent("never"))], &known, Verdict::Inconclusive, "this run has none: never");
        let judged = judged(&[(steady, Value::Absent("too-short"))], &absent, None);
        assert_eq!(overall(&judged), Verdict::Error, "the floor is missing");
    }

    #[test]
    fn slow_drift_is_seen_against_the_first_accepted_state() {
        let mut drifted = baseline(&[(FLOOR, &[90.0])]);
        drifted.golden.when = "2025-02-03T00:00:00Z".to_owned();
        drifted.golden.values.insert(FLOOR.to_owned(), vec![100.0]);
        check(&[(FLOOR, Value::Number(90.0))], &drifted, Verdict::Regressed, "drift: it changed by -10.0 % since");
        check(&[(FLOOR, Value::Number(90.0))], &drifted, Verdict::Regressed, "(100 MB/s, 2025-02-03)");
        check(&[(FLOOR, Value::Number(99.0))], &drifted, Verdict::Improved, "");
    }

    #[test]
    fn what_else_changed_takes_the_conclusion_away_and_is_named() {
        let one = baseline(&[(FLOOR, &[100.0])]);
        let judged = |value, why| judged(&[(FLOOR, Value::Number(value))], &one, why);
        let why = Some("not comparable: drive.scheduler none → bfq");
        for (value, would) in [(100.0, "held"), (50.0, "regressed"), (150.0, "improved")] {
            let judged = judged(value, why);
            assert_eq!(overall(&judged), Verdict::Inconclusive);
            assert!(judged[0].reason.contains("none → bfq; by the figures alone it would be"), "{judged:?}");
            assert!(judged[0].reason.ends_with(would), "{judged:?}");
            assert!(judged[0].against.is_some());
        }
    }

    #[test]
    fn a_link_that_changed_with_what_is_under_test_is_the_cause() {
        let one = baseline(&[(FLOOR, &[100.0])]);
        let check = |value, expect, words: &str| {
            let run = candidate(&[(FLOOR, Value::Number(value))]);
            let side_effect = Some("drive.link x4 → x2 changed with drive.firmware");
            let standing = Standing { run: &run, baseline: &one, confounded: None, side_effect };
            let judged = judge_against(&Rules::default(), &standing);
            assert_eq!(judged[0].verdict, expect);
            assert!(judged[0].reason.contains(words), "{judged:?}");
        };
        check(50.0, Verdict::Regressed, "cause: drive.link x4 → x2");
        check(100.0, Verdict::Inconclusive, "by the figures alone it would be held");
    }

    #[test]
    fn too_good_to_be_true_is_said() {
        let one = baseline(&[(FLOOR, &[100.0])]);
        check(&[(FLOOR, Value::Number(500.0))], &one, Verdict::Improved, "too good to be true");
    }

    #[test]
    fn no_input_is_green_in_silence() {
        let one = baseline(&[(FLOOR, &[100.0])]);
        check(&[(FLOOR, Value::Number(f64::NAN))], &one, Verdict::Error, "no figure");
        check(&[("fill.floor_mib_s", Value::Number(100.0))], &one, Verdict::Error, "vanished or has another name");
        let info = baseline(&[("fill.read_mb_s", &[100.0])]);
        check(&[("fill.read_mb_s", Value::Number(100.0))], &info, Verdict::Inconclusive, "");
    }
}
