//! Where each metric of the runs stands against the baseline: cliffs more or fewer, metrics that vanished or are new,
//! and the evidence that is to be weighed with that of the other gates.
//!
//! Pure. Knows roles only as far as a comparison changes them; limits are `judge`'s, and what is concluded from evidence
//! is `conclude`'s.

use std::collections::BTreeMap;

use super::Verdict;
use super::baseline::{Accepted, Direction, Level};
use super::candidate::{is_further_cliff, suite};
use super::compare::{Against, Said, compare, gb, up_to};
use super::judge::{HEALTH, Role, Rules};
use super::noise::{Prior, Says, Spread};
use super::standing::Standing;
use super::tolerance::tolerance;
use super::weigh::{Figures, Scale};
use super::weighed::Weighed;
use crate::analysis::metric::{Kind, Metric, Value};

/// What is said of a metric that was compared, before its evidence is weighed with the other gates'.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stand {
    pub(super) role: Role,
    pub(super) said: Verdict,
    pub(super) reason: String,
    pub(super) against: Option<Against>,
    /// What the evidence would have to show; none where all is said.
    pub(super) open: Option<Open>,
    /// Against the first accepted state.
    pub(super) golden: Option<Golden>,
}

/// How a metric stands against the first accepted state.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Golden {
    pub(super) weighed: Weighed,
    /// What is said if it is worse.
    pub(super) drift: String,
}

/// What is concluded once the evidence is weighed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Open {
    /// Held, improved, regressed or undecided.
    All,
    /// Held or undecided: the baseline has a cliff there, and the runs ended before it.
    HeldOnly,
}

impl Stand {
    fn plain(role: Role, said: Verdict, reason: impl Into<String>) -> Stand {
        Stand { role, said, reason: reason.into(), against: None, open: None, golden: None }
    }
}

/// One comparison of runs with a baseline, under self.rules.
pub(super) struct Comparing<'a> {
    pub(super) standing: &'a Standing<'a>,
    pub(super) rules: &'a Rules,
    /// What each gate says of the noise of its kind: what another metric of the kind is moderated by.
    history: BTreeMap<&'a str, (Kind, Says)>,
}

impl<'a> Comparing<'a> {
    /// Of runs and baseline, with the ids of the metrics that gate.
    pub(super) fn new(standing: &'a Standing<'a>, rules: &'a Rules, gates: impl Iterator<Item = &'a str>) -> Self {
        let says = |id: &'a str| {
            let (kind, spread) = standing.spread(id)?;
            let says = Prior::typical(rules.prior_noise.of(kind)?).said_by(spread)?;
            Some((id, (kind, says)))
        };
        Comparing { standing, rules, history: gates.filter_map(says).collect() }
    }

    /// Compares a metric.
    pub(super) fn of(&self, metric: &Metric, role: Role) -> Stand {
        let id = metric.id.as_str();
        let values: Option<Vec<Value>> = self.standing.values(id).into_iter().collect();
        let Some(accepted) = self.standing.baseline.metric.get(id) else { return self.unknown(id, role) };
        let Some(values) = values.filter(|values| !values.is_empty()) else { return self.missing(id) };
        if let Some(why) = mismatch(metric, accepted) {
            return Stand::plain(Role::Gate, Verdict::Error, why);
        }
        let Some(level) = accepted.level() else {
            return match values.iter().all(|value| matches!(value, Value::Absent(_))) {
                // What neither side can say decides nothing; that it decides nothing was accepted by a person.
                true => {
                    let why = if let Value::Absent(why) = metric.value { why.replace('-', " ") } else { String::new() };
                    let reason = format!("the baseline has no value either ({why}): not decided by it");
                    Stand::plain(Role::Info, Verdict::Inconclusive, reason)
                }
                false => {
                    let reason = "the baseline has no value here, and this run has: accept it";
                    Stand::plain(role, Verdict::Inconclusive, reason)
                }
            };
        };
        let own = accepted.tolerance;
        let tolerance = tolerance(metric.kind, &self.rules.tolerance, own);
        let against = Against { level, runs: accepted.runs(), change: None, tolerance, weighed: None };
        if let Some(cliff) = self.follows_the_cliff(id, &values) {
            let stand = self.of(&self.standing.metric(&cliff), role);
            let weighed = stand.against.and_then(|against| against.weighed);
            let reason = format!("no cliff, so nothing behind it: see {cliff}");
            let against = Some(Against { tolerance: None, weighed, ..against });
            return Stand { reason, against, golden: None, ..stand };
        }
        if let (Some(tolerance), Some(floor)) = (tolerance, accepted.noise_floor)
            && tolerance < floor
        {
            let why = format!("the tolerance of {tolerance} is below the noise floor of {floor} that was qualified");
            return Stand { against: Some(against), ..Stand::plain(role, Verdict::Inconclusive, why) };
        }
        let bounds: Vec<_> =
            self.standing.runs.iter().map(|run| run.metric(id).and_then(|metric| metric.bounds)).collect();
        let said = compare(&values.iter().collect::<Vec<_>>(), &bounds, level, metric.kind);
        if let (Some((with, without)), false) = (accepted.disagree(), same_sort(&values, level))
            && !matches!(said, Said::Plain(Verdict::Error, _))
        {
            let why = format!("the baseline's own runs disagree: {with} with a cliff and {without} without");
            return Stand { against: Some(against), ..Stand::plain(role, Verdict::Inconclusive, why) };
        }
        let stand = match said {
            Said::Plain(said, reason) => {
                let change = match (metric.kind, &metric.value, level) {
                    (Kind::Count, Value::Number(value), Level::Number(base)) => Some(value - base),
                    (Kind::Finding, Value::Number(value), Level::Number(base)) => {
                        (base != 0.0).then(|| value / base - 1.0)
                    }
                    _ => None,
                };
                Stand { against: Some(Against { change, ..against }), ..Stand::plain(role, said, reason) }
            }
            Said::Numbers(numbers) => self.weigh(metric, role, against, &numbers, Open::All),
            Said::AtLeast(least) => {
                let numbers = vec![least; values.len()];
                let mut stand = self.weigh(metric, role, against, &numbers, Open::HeldOnly);
                let at = if let Level::Number(at) = level { gb(at) } else { String::new() };
                stand.reason =
                    format!("no cliff up to {}, where the run ended; the baseline's is at {at}", up_to(least));
                if let Some(against) = &mut stand.against {
                    against.change = None;
                }
                stand
            }
        };
        self.with_golden(stand, metric, &values, &bounds)
    }

    fn weigh(&self, metric: &Metric, role: Role, against: Against, numbers: &[f64], open: Open) -> Stand {
        let base = if let Level::Number(base) = against.level { base } else { 0.0 };
        let Some(scale) = Scale::of(metric.kind, base) else {
            let reason = format!("the baseline is {base}: nothing is a share of it");
            return Stand { against: Some(against), ..Stand::plain(role, Verdict::Inconclusive, reason) };
        };
        let mut figures = self.standing.figures(&metric.id, scale);
        figures.runs = numbers.iter().map(|number| scale.number(*number)).collect();
        match self.weighed(&metric.id, metric.kind, (scale, &figures, figures.spread()), against.tolerance) {
            Some(weighed) => {
                let change = change(scale, metric, base);
                let against = Against { runs: figures.compared(), change, weighed: Some(weighed), ..against };
                Stand { against: Some(against), open: Some(open), ..Stand::plain(role, Verdict::Inconclusive, "") }
            }
            None => {
                let reason = "the baseline has one unit of this model, and this is another (one unit): nothing is known \
                              of how much units differ; accept runs of more units, or state [judge.unit_spread]";
                Stand { against: Some(against), ..Stand::plain(role, Verdict::Inconclusive, reason) }
            }
        }
    }

    /// What so many equal runs would say: what is known before they are made.
    pub(super) fn foreseen(&self, id: &str, kind: Kind, tolerance: f64, runs: usize) -> Option<Weighed> {
        let Level::Number(level) = self.standing.baseline.metric.get(id)?.level()? else { return None };
        let scale = Scale::of(kind, level)?;
        let mut figures = self.standing.figures(id, scale);
        let own = figures.spread();
        figures.runs = vec![figures.centre(); runs];
        self.weighed(id, kind, (scale, &figures, own), Some(tolerance))
    }

    /// What the noise of a metric is moderated by.
    fn prior(&self, id: &str, kind: Kind) -> Prior {
        let others = self.history.iter().filter(|(other, (of, _))| **other != id && *of == kind);
        let typical = Prior::typical(self.rules.prior_noise.of(kind).unwrap_or(0.0));
        typical.with_history(others.map(|(_, (_, says))| *says))
    }

    fn weighed(
        &self,
        id: &str,
        kind: Kind,
        (scale, figures, own): (Scale, &Figures, Spread),
        tolerance: Option<f64>,
    ) -> Option<Weighed> {
        let (prior, between) = (self.prior(id, kind), self.rules.unit_spread.of(kind).map(Prior::typical));
        let allowed = scale.allowed(tolerance.unwrap_or(0.0));
        let evidence = figures.evidence(allowed, prior.moderate(own), between)?;
        let (own_df, same_unit, runs) = (own.df, figures.paired(), figures.runs.clone());
        Some(Weighed { evidence, prior, own_df, same_unit, scale, runs })
    }

    /// Adds what the first accepted state says: held against today's baseline and yet worse than that is slow drift.
    fn with_golden(&self, stand: Stand, metric: &Metric, values: &[Value], bounds: &[Option<(f64, f64)>]) -> Stand {
        let Some((level, _)) = self.standing.baseline.golden.of(&metric.id, metric.kind) else { return stand };
        // Where nothing was accepted since, the first state is today's, and all is said.
        let since = self.standing.baseline.metric.get(&metric.id).is_some_and(|accepted| {
            self.standing.baseline.golden.values.get(&metric.id).is_none_or(|golden| *golden != accepted.values)
        });
        let told = since && !values.iter().any(|value| matches!(value, Value::Absent(_)));
        if !told || matches!(stand.said, Verdict::Error) {
            return stand;
        }
        match (compare(&values.iter().collect::<Vec<_>>(), bounds, level, metric.kind), level) {
            (Said::Plain(Verdict::Regressed, _), _) if stand.said != Verdict::Regressed => {
                let reason = drift(self.standing, level, None, metric);
                Stand { said: Verdict::Regressed, reason, open: None, ..stand }
            }
            (Said::Numbers(numbers), Level::Number(base)) => {
                let Some(scale) = Scale::of(metric.kind, base) else { return stand };
                let figures = self.standing.golden_figures(&metric.id, scale, &numbers);
                let tolerance = stand.against.as_ref().and_then(|against| against.tolerance);
                let drift = drift(self.standing, level, change(scale, metric, base), metric);
                let weighed = self.weighed(&metric.id, metric.kind, (scale, &figures, figures.spread()), tolerance);
                Stand { golden: weighed.map(|weighed| Golden { weighed, drift }), ..stand }
            }
            _ => stand,
        }
    }

    /// A metric of the baseline that a run does not have.
    fn missing(&self, id: &str) -> Stand {
        let unread =
            self.standing.runs.iter().filter(|run| run.metric(id).is_none()).find_map(|run| run.health_unread.as_ref());
        if let Some(why) = unread.filter(|_| id.starts_with(HEALTH)) {
            let way_out = "measure with the rights that its runs had, or begin a baseline of runs like this one \
                           (baseline accept --replace)";
            let why = format!("not comparable: the baseline has it, and {why}; {way_out}");
            return Stand::plain(Role::Gate, Verdict::Inconclusive, why);
        }
        let left_out = self.standing.runs.iter().flat_map(|run| &run.left_out);
        let part = left_out.into_iter().find(|(part, _)| id.starts_with(&format!("{part}.")));
        let why = part.map_or_else(
            || "it vanished or has another name".to_owned(),
            |(part, reason)| format!("{part} was left out: {reason}"),
        );
        let some =
            self.standing.runs.iter().find(|run| run.metric(id).is_none()).filter(|_| self.standing.runs.len() > 1);
        let which = some.map_or_else(|| "this run".to_owned(), |run| format!("run {}", run.run));
        Stand::plain(Role::Gate, Verdict::Error, format!("the baseline has it and {which} does not: {why}"))
    }

    /// A metric that the baseline does not have.
    fn unknown(&self, id: &str, role: Role) -> Stand {
        let first = self.standing.baseline.metric.get(&format!("{}cliff_gb", suite(id)));
        let values = self.standing.values(id);
        let all = values.iter().all(|value| matches!(value, Some(Value::Number(_))));
        let (said, reason) = match (first, role) {
            // That no error was counted needs no comparison: `judge` says it of the figure itself.
            _ if id.starts_with(HEALTH) => (Verdict::NoBaseline, ""),
            (Some(_), _) if is_further_cliff(id) && all => (Verdict::Regressed, "one more cliff than the baseline has"),
            (Some(_), _) if is_further_cliff(id) => {
                (Verdict::Inconclusive, "some runs have one more cliff than the baseline has")
            }
            (_, Role::Gate) => (Verdict::Inconclusive, "the baseline lacks this metric: accept a run that has it"),
            (_, Role::Info) => (Verdict::NoBaseline, "the baseline lacks this metric"),
        };
        Stand::plain(role, said, reason)
    }

    /// Without a cliff there is no floor behind it: what is said of the cliff is said of the floor.
    fn follows_the_cliff(&self, id: &str, values: &[Value]) -> Option<String> {
        let cliff = format!("{}cliff_gb", suite(id));
        let none = values.iter().all(|value| *value == Value::Absent("not-applicable"));
        if !none || id == cliff || self.standing.baseline.metric.get(&cliff).is_none_or(|cliff| cliff.level().is_none())
        {
            return None;
        }
        let cliffs = self.standing.values(&cliff);
        cliffs.iter().all(|value| matches!(value, Some(Value::MoreThan(_)))).then_some(cliff)
    }
}

/// How the metric's figure differs from the baseline's.
fn change(scale: Scale, metric: &Metric, base: f64) -> Option<f64> {
    if let Value::Number(value) = metric.value { Some(scale.change(value, base)) } else { None }
}

/// `drift: it changed by -10.0 % since the first accepted state (100 MB/s, 2025-02-03)`
fn drift(standing: &Standing<'_>, level: Level, change: Option<f64>, metric: &Metric) -> String {
    let first = match level {
        Level::Number(value) => format!("{value} {}", metric.unit),
        Level::MoreThan(value) => format!("more than {value} {}", metric.unit),
    };
    let change = match (change, metric.kind) {
        (Some(change), Kind::Stalls) => format!(" by {change:+.1} s/h"),
        (Some(change), _) => format!(" by {:.1} %", change * 100.0),
        (None, _) => String::new(),
    };
    let when = &standing.baseline.golden.when;
    let since = when.get(..10).unwrap_or(when);
    format!("drift: it changed{change} since the first accepted state ({}, {since})", first.trim())
}

/// Whether all values and the level are places of a cliff, or all say that there is none.
fn same_sort(values: &[Value], level: Level) -> bool {
    let same = |value: &Value| match level {
        Level::Number(_) => matches!(value, Value::Number(_)),
        Level::MoreThan(_) => matches!(value, Value::MoreThan(_)),
    };
    values.iter().all(same)
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
