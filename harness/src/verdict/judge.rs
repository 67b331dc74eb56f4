//! Judges metrics: by limits of a spec sheet and verify errors, which need no baseline, and by a baseline.
//!
//! Pure. Owns which metrics decide and how the gravest finding of a metric and of a run is chosen; how a metric
//! is compared is `comparing`'s, and what follows from the evidence `conclude`'s.

use std::collections::BTreeMap;

use super::Verdict;
use super::compare::Against;
use super::comparing::Comparing;
use super::conclude::conclude;
use super::standing::Standing;
use super::tolerance::{DEFAULT_PRIOR_NOISE, DEFAULT_TOLERANCE, KnownShares, Shares};
use crate::analysis::metric::{Metric, Value};

/// Whether a metric decides the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It does.
    Gate,
    /// It is shown.
    Info,
}

/// Least and most allowed value of a metric, in the metric's own unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Smaller is broken.
    pub least: Option<f64>,
    /// Larger is broken.
    pub most: Option<f64>,
}

/// How metrics are judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// By metric id.
    pub limits: BTreeMap<String, Limit>,
    /// Ids of the metrics that gate, `*` for any part; none for the default ones.
    pub gates: Option<Vec<String>>,
    /// Losses that are accepted, as fractions.
    pub tolerance: Shares,
    /// Coefficients of variation from run to run that are typical.
    pub prior_noise: Shares,
    /// Coefficients of variation from unit to unit of a model, where they are known.
    pub unit_spread: KnownShares,
}

impl Default for Rules {
    fn default() -> Rules {
        let (tolerance, prior_noise) = (DEFAULT_TOLERANCE, DEFAULT_PRIOR_NOISE);
        let unit_spread = KnownShares::default();
        Rules { limits: BTreeMap::new(), gates: None, tolerance, prior_noise, unit_spread }
    }
}

/// A metric and what is said of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The metric.
    pub metric: Metric,
    /// Whether it decides.
    pub role: Role,
    /// What is said.
    pub verdict: Verdict,
    /// Why, for people.
    pub reason: String,
    /// What it was compared with, if with anything.
    pub against: Option<Against>,
}

/// The number of blocks that a read-back found to be wrong; whatever else gates, it does.
const VERIFY_ERRORS: &str = "fill.verify_errors";

/// What a drive or its host counts of errors during a run: any is one too many, whatever the baseline says.
pub(super) const HEALTH: &str = "health.";

/// By default the gates are cliff, fast, floor and steady of each level, verify errors and health.
const DEFAULT_GATES: [&str; 8] = [
    "fill.fast_mb_s",
    "fill.cliff*_gb",
    "fill.floor_mb_s",
    "fill.verify_errors",
    "random_write.*.steady_mb_s",
    "random_write.*.cliff_gb",
    "health.*",
    "fill.mean_mb_s",
];

/// Judges every metric without a baseline, and every limit whose metric the run does not have.
#[must_use]
pub fn judge(metrics: Vec<Metric>, rules: &Rules) -> Vec<Judged> {
    let missing = unmeasured_limits(&metrics, rules);
    let alone = |metric: Metric| {
        let (role, verdict) = (role(&metric.id, rules), Verdict::NoBaseline);
        with_limit(Judged { metric, role, verdict, reason: String::new(), against: None }, rules)
    };
    metrics.into_iter().map(alone).chain(missing).collect()
}

/// Judges every metric of the runs and of their baseline, and every limit whose metric they do not have.
#[must_use]
pub fn judge_against(rules: &Rules, standing: &Standing<'_>) -> Vec<Judged> {
    let ids = standing.ids();
    let gates = ids.iter().map(String::as_str).filter(|id| role(id, rules) == Role::Gate);
    let comparing = Comparing::new(standing, rules, gates);
    let stands = ids.iter().map(|id| {
        let metric = standing.metric(id);
        let stand = comparing.of(&metric, role(id, rules));
        (metric, stand)
    });
    let concluded = conclude(standing, stands.collect());
    let mut judged: Vec<Judged> = concluded.into_iter().map(|judged| with_limit(judged, rules)).collect();
    let metrics: Vec<Metric> = judged.iter().map(|judged| judged.metric.clone()).collect();
    judged.extend(unmeasured_limits(&metrics, rules));
    judged
}

fn unmeasured_limits(metrics: &[Metric], rules: &Rules) -> Vec<Judged> {
    let missing = rules.limits.keys().filter(|id| metrics.iter().all(|metric| metric.id != **id));
    let judged = missing.map(|id| {
        let reason = format!("[limits] names {id}, and this run did not measure it");
        let metric = Metric::absent(id, "not-measured");
        Judged { metric, role: Role::Gate, verdict: Verdict::Inconclusive, reason, against: None }
    });
    judged.collect()
}

/// The verdict of a whole run: the gravest of its gates, and every error. Where a baseline was there and no gate
/// was compared with it, nothing is decided.
#[must_use]
pub fn overall(judged: &[Judged]) -> Verdict {
    let decides = |judged: &&Judged| judged.role == Role::Gate || judged.verdict == Verdict::Error;
    let gravest = judged.iter().filter(decides).map(|judged| judged.verdict).max();
    let compared = |judged: &Judged| judged.against.is_some();
    let only_info = judged.iter().any(compared) && !judged.iter().filter(decides).any(compared);
    match gravest {
        None if only_info => Verdict::Inconclusive,
        None => Verdict::NoBaseline,
        Some(verdict) if only_info => verdict.max(Verdict::Inconclusive),
        Some(verdict) => verdict,
    }
}

/// The gravest of verify errors, limit and comparison.
fn with_limit(compared: Judged, rules: &Rules) -> Judged {
    let Judged { metric, role, verdict, reason, against } = compared;
    let limit = rules.limits.get(&metric.id).map(|limit| judge_limit(&metric.value, limit, metric.unit));
    let errors = match metric.value {
        Value::Number(errors) if metric.id == VERIFY_ERRORS => Some(judge_errors(errors)),
        Value::Number(more) if metric.id.starts_with(HEALTH) => Some(judge_health(more)),
        _ => None,
    };
    let role = if limit.is_some() || errors.is_some() { Role::Gate } else { role };
    // A baseline that is not there takes nothing from what a limit says.
    let compared = (verdict != Verdict::NoBaseline || !reason.is_empty() && limit.is_none() && errors.is_none())
        .then_some((verdict, reason));
    let said = [errors, limit, compared].into_iter().flatten();
    // Of equals the first: errors before limits before comparisons.
    let (verdict, reason) =
        said.rev().max_by_key(|(verdict, _)| *verdict).unwrap_or((Verdict::NoBaseline, String::new()));
    Judged { metric, role, verdict, reason, against }
}

fn judge_errors(errors: f64) -> (Verdict, String) {
    if errors == 0.0 {
        (Verdict::Held, "every block read back is what was written".to_owned())
    } else {
        (Verdict::Regressed, format!("{errors} blocks read back are not what was written"))
    }
}

fn judge_health(more: f64) -> (Verdict, String) {
    if more == 0.0 {
        (Verdict::Held, "it did not rise during the run".to_owned())
    } else {
        (Verdict::Regressed, format!("it rose by {more} during the run"))
    }
}

fn judge_limit(value: &Value, limit: &Limit, unit: &str) -> (Verdict, String) {
    let range = match (limit.least, limit.most) {
        (Some(least), Some(most)) => format!("{least} to {most} {unit}"),
        (Some(least), None) => format!("at least {least} {unit}"),
        (None, Some(most)) => format!("at most {most} {unit}"),
        (None, None) => String::new(),
    };
    let (low, high) = match value {
        Value::Number(number) => (*number, *number),
        Value::MoreThan(number) => (*number, f64::INFINITY),
        Value::Absent(why) => return (Verdict::Inconclusive, format!("limit {range}, and there is no value: {why}")),
    };
    let broken = limit.least.is_some_and(|least| high < least) || limit.most.is_some_and(|most| low > most);
    let kept = limit.least.is_none_or(|least| low >= least) && limit.most.is_none_or(|most| high <= most);
    match (broken, kept) {
        (true, _) => (Verdict::Regressed, format!("outside the limit of {range}")),
        (_, true) => (Verdict::Held, format!("within the limit of {range}")),
        _ => (Verdict::Inconclusive, format!("limit {range}: the run ended at {low} {unit} without a cliff")),
    }
}

/// Whether a metric of that id gates.
pub(super) fn role(id: &str, rules: &Rules) -> Role {
    if id == VERIFY_ERRORS || id.starts_with(HEALTH) {
        return Role::Gate;
    }
    let gates = match &rules.gates {
        Some(gates) => gates.iter().any(|pattern| matches(pattern, id)),
        None => DEFAULT_GATES.iter().any(|pattern| matches(pattern, id)),
    };
    if gates { Role::Gate } else { Role::Info }
}

/// Whether `id` fits `pattern`, in which a `*` stands for any characters.
fn matches(pattern: &str, id: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == id,
        Some((start, rest)) => id
            .strip_prefix(start)
            .is_some_and(|id| (0..=id.len()).filter(|&at| id.is_char_boundary(at)).any(|at| matches(rest, &id[at..]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(id: &str, value: Value, limit: (Option<f64>, Option<f64>), expect: Verdict) {
        let limits = BTreeMap::from([(id.to_owned(), Limit { least: limit.0, most: limit.1 })]);
        let rules = Rules { limits, ..Rules::default() };
        let judged = judge(vec![Metric::new(id, value.clone())], &rules);
        assert_eq!(overall(&judged), expect, "{id} {value:?}: {}", judged[0].reason);
    }

    #[test]
    fn limits_are_judged_without_a_baseline() {
        let floor = "fill.floor_mb_s";
        check(floor, Value::Number(500.0), (Some(400.0), None), Verdict::Held);
        check(floor, Value::Number(399.9), (Some(400.0), None), Verdict::Regressed);
        check(floor, Value::Number(500.0), (None, Some(400.0)), Verdict::Regressed);
        check(floor, Value::Absent("not-applicable"), (Some(400.0), None), Verdict::Inconclusive);
        check("fill.cliff_gb", Value::MoreThan(100.0), (Some(90.0), None), Verdict::Held);
        check("fill.cliff_gb", Value::MoreThan(100.0), (Some(110.0), None), Verdict::Inconclusive);
        check("fill.cliff_gb", Value::MoreThan(100.0), (None, Some(90.0)), Verdict::Regressed);
    }

    #[test]
    fn a_limit_on_what_was_not_measured_is_never_green() {
        let limits = BTreeMap::from([("fill.read_mb_s".to_owned(), Limit { least: Some(1.0), most: None })]);
        let judged = judge(Vec::new(), &Rules { limits, ..Rules::default() });
        assert_eq!(overall(&judged), Verdict::Inconclusive);
    }

    #[test]
    fn verify_errors_always_fail() {
        let judged = |errors| judge(vec![Metric::new("fill.verify_errors", Value::Number(errors))], &Rules::default());
        assert_eq!(overall(&judged(1.0)), Verdict::Regressed);
        assert_eq!(judged(0.0)[0].verdict, Verdict::Held);
    }

    #[test]
    fn a_health_counter_that_rose_fails_and_one_that_did_not_passes() {
        let judged = |more| judge(vec![Metric::new("health.media_errors", Value::Number(more))], &Rules::default());
        assert_eq!(overall(&judged(1.0)), Verdict::Regressed);
        assert_eq!((judged(0.0)[0].verdict, judged(0.0)[0].role), (Verdict::Held, Role::Gate));
    }

    #[test]
    fn a_pattern_names_many_gates() {
        let gates = Some(vec!["random_write.*.steady_mb_s".to_owned()]);
        let rules = Rules { gates, ..Rules::default() };
        assert_eq!(role("random_write.25pct.steady_mb_s", &rules), Role::Gate);
        assert_eq!(role("fill.floor_mb_s", &rules), Role::Info);
    }
}
