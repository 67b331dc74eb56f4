//! What follows from the evidence of all gates together: regressed, held, improved or undecided; drift; and what the
//! surroundings take away from it.
//!
//! Pure. Knows no figures, only their evidence.

use super::Verdict;
use super::compare::too_good;
use super::comparing::{Open, Stand};
use super::family::rejected;
use super::judge::{Judged, Role};
use super::looks::Levels;
use super::standing::Standing;
use super::weighed::Weighed;
use crate::analysis::metric::Metric;

/// Concludes from all metrics of a comparison.
pub(super) fn conclude(standing: &Standing<'_>, stands: Vec<(Metric, Stand)>) -> Vec<Judged> {
    let levels = standing.looks.after(standing.runs.len());
    let worse = worse(&stands, levels.fail, |stand| {
        let weighed = stand.against.as_ref().and_then(|against| against.weighed.as_ref());
        weighed.filter(|_| stand.open == Some(Open::All))
    });
    let drifted = worse_than_golden(&stands, levels.fail);
    let metrics = stands.into_iter().zip(worse.into_iter().zip(drifted));
    metrics.map(|((metric, stand), (worse, drifted))| one(standing, metric, stand, worse, drifted, levels)).collect()
}

/// Which metrics lost more than their tolerance: the gates as a family, each other metric by itself.
fn worse<'a>(
    stands: &'a [(Metric, Stand)],
    level: f64,
    weighed: impl Fn(&'a Stand) -> Option<&'a Weighed>,
) -> Vec<bool> {
    let p_of = |stand| weighed(stand).map_or(1.0, |weighed| weighed.evidence.against_within());
    let p_values: Vec<(Role, f64)> = stands.iter().map(|(_, stand)| (stand.role, p_of(stand))).collect();
    let gates: Vec<f64> = p_values.iter().filter(|(role, _)| *role == Role::Gate).map(|(_, p)| *p).collect();
    let mut gates = rejected(&gates, level).into_iter();
    let each = |(role, p): (Role, f64)| match role {
        Role::Gate => gates.next().unwrap_or(false),
        Role::Info => rejected(&[p], level)[0],
    };
    p_values.into_iter().map(each).collect()
}

/// The same against the first accepted state: a family of its own.
fn worse_than_golden(stands: &[(Metric, Stand)], level: f64) -> Vec<bool> {
    worse(stands, level, |stand| stand.golden.as_ref().map(|golden| &golden.weighed))
}

fn one(standing: &Standing<'_>, metric: Metric, stand: Stand, worse: bool, drifted: bool, levels: Levels) -> Judged {
    let Stand { role, said, reason, against, open, golden } = stand;
    let weighed = against.as_ref().and_then(|against| against.weighed.as_ref());
    let tolerance = against.as_ref().and_then(|against| against.tolerance).unwrap_or(0.0);
    let (verdict, reason) = match (open, weighed) {
        (Some(Open::All), Some(weighed)) => weigh(weighed, worse, tolerance, levels),
        (Some(Open::HeldOnly), Some(weighed)) => {
            let held = weighed.evidence.against_beyond() <= levels.held;
            (if held { Verdict::Held } else { Verdict::Inconclusive }, reason)
        }
        _ => (said, reason),
    };
    let (verdict, mut reason) = match golden {
        Some(golden) if drifted && !matches!(verdict, Verdict::Regressed | Verdict::Error) => {
            (Verdict::Regressed, golden.drift)
        }
        _ => (verdict, reason),
    };
    if against.as_ref().is_some_and(|against| too_good(verdict, against, metric.kind)) {
        reason = "more than twice as good as the baseline: too good to be true until it is explained".to_owned();
    }
    let (verdict, reason) = surrounded(standing, verdict, reason);
    Judged { metric, role, verdict, reason, against }
}

/// What the evidence of one metric says, once it is known whether it counts as worse among all gates.
fn weigh(weighed: &Weighed, worse: bool, tolerance: f64, levels: Levels) -> (Verdict, String) {
    let evidence = &weighed.evidence;
    let tolerance = weighed.text(tolerance);
    if worse {
        (Verdict::Regressed, format!("worse than the tolerance of {tolerance} by more than the noise"))
    } else if evidence.against_no_gain() <= levels.held {
        (Verdict::Improved, String::new())
    } else if evidence.against_beyond() <= levels.held {
        (Verdict::Held, String::new())
    } else {
        (Verdict::Inconclusive, weighed.undecided(&tolerance))
    }
}

/// What else changed takes every conclusion away, and is named; an error stays one. A link, cache or scheduler that
/// changed with what is under test is the cause of what became worse, and what did not is not believed.
fn surrounded(standing: &Standing<'_>, verdict: Verdict, reason: String) -> (Verdict, String) {
    match (standing.confounded, standing.side_effect, verdict) {
        (_, _, Verdict::Error | Verdict::NoBaseline) => (verdict, reason),
        (Some(why), _, Verdict::Inconclusive) => (verdict, why.to_owned()),
        (Some(why), ..) => (Verdict::Inconclusive, format!("{why}; by the figures alone it would be {verdict}")),
        (None, Some(what), Verdict::Regressed) => (verdict, format!("{reason}; cause: {what}")),
        (None, Some(what), Verdict::Held | Verdict::Improved) => {
            (Verdict::Inconclusive, format!("{what}; by the figures alone it would be {verdict}"))
        }
        _ => (verdict, reason),
    }
}
