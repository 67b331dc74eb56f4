//! Accepting runs: from an old baseline and runs to a new one, or a refusal.
//!
//! Pure: time and name are handed in. Runs of the accepted state are added to it; runs of another state begin it
//! anew. The first accepted values of a metric stay as `golden`.

mod merge;
pub mod qualify;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::Verdict;
use super::baseline::{Acceptance, Baseline, Golden, SCHEMA};
use super::candidate::Candidate;
use super::curve;
use super::judge::{Judged, Rules, judge_against, overall};
use super::looks::Looks;
use super::standing::Standing;
use super::surroundings::{UnderTest, changes, kept};
use crate::analysis::metric::Value;
use merge::{golden, keep_tolerances, merged, provenance};

/// What becomes of the runs that were accepted before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Earlier {
    /// They stay where the new runs show the same state, and go where these show another.
    #[default]
    ByState,
    /// They stay.
    Keep,
    /// They go.
    Drop,
}

/// Who accepts, when, why and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acceptor {
    /// A name, or `unknown`.
    pub who: String,
    /// RFC 3339, UTC.
    pub when: String,
    /// The reason.
    pub why: String,
    /// Earlier runs.
    pub earlier: Earlier,
    /// Begin `golden` anew, too.
    pub new_golden: bool,
}

/// What accepting came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepting {
    /// The new baseline; the old one where nothing changed.
    pub baseline: Baseline,
    /// What a person should know of it.
    pub remarks: Vec<String>,
    /// Whether anything changed.
    pub changed: bool,
}

/// Accepts runs that are fit to be accepted, in their order.
///
/// # Errors
/// Says why these runs make no baseline.
pub fn accept(
    old: Option<&Baseline>,
    runs: &[Candidate],
    rules: &Rules,
    acceptor: &Acceptor,
) -> Result<Accepting, String> {
    let first = runs.first().ok_or("no run was named")?;
    if acceptor.why.trim().is_empty() {
        return Err("a reason is needed: --reason TEXT says why this state is the one to compare with".to_owned());
    }
    check_alike(runs)?;
    // A file of another key is another baseline, whatever it is called.
    if let Some(old) = old.filter(|old| old.key != first.key) {
        return Err(format!("the baseline there is of another drive, target or profile: {:?}", old.key));
    }
    let known = |run: &Candidate| old.is_some_and(|old| old.provenance.run.contains(&run.run));
    if let Some(old) =
        old.filter(|_| runs.iter().all(known) && acceptor.earlier != Earlier::Drop && !acceptor.new_golden)
    {
        let remarks = vec!["these runs are accepted already: nothing changed".to_owned()];
        return Ok(Accepting { baseline: old.clone(), remarks, changed: false });
    }
    let mut remarks = Vec::new();
    let kept_runs = old.filter(|old| stays(old, runs, rules, acceptor.earlier, &mut remarks));
    let new: Vec<&Candidate> =
        runs.iter().filter(|run| kept_runs.is_none_or(|old| !old.provenance.run.contains(&run.run))).collect();
    let metric = merged(kept_runs, &new)?;
    let mut baseline = Baseline {
        schema: SCHEMA,
        fingerprint: first.fingerprint.clone(),
        key: first.key.clone(),
        environment: kept(&runs[runs.len() - 1].environment),
        metric,
        provenance: provenance(kept_runs, &new),
        accepted: old.map(|old| old.accepted.clone()).unwrap_or_default(),
        golden: Golden::default(),
        curve: curve::merged(kept_runs, &new),
    };
    if let Some(old) = old {
        keep_tolerances(old, &mut baseline);
    }
    baseline.golden = golden(old, &baseline, acceptor, &mut remarks);
    baseline.accepted.push(Acceptance {
        when: acceptor.when.clone(),
        who: acceptor.who.clone(),
        why: acceptor.why.trim().to_owned(),
        runs: new.iter().map(|run| run.run.clone()).collect(),
    });
    let drifted: Vec<String> = judged(rules, &runs[runs.len() - 1..], &baseline)
        .into_iter()
        .filter(|judged| judged.reason.starts_with("drift"))
        .map(|judged| judged.metric.id)
        .collect();
    if !drifted.is_empty() {
        remarks.push(format!(
            "runs like these will fail as drift from the first accepted state ({}): --new-golden begins it anew",
            drifted.join(", ")
        ));
    }
    Ok(Accepting { baseline, remarks, changed: true })
}

/// One baseline is of one thing in one set of surroundings.
fn check_alike(runs: &[Candidate]) -> Result<(), String> {
    let first = &runs[0];
    let mut seen = BTreeSet::new();
    for run in runs {
        if !seen.insert(&run.run) {
            return Err(format!("run {} is named twice: a baseline needs separate runs", run.run));
        }
        if run.key != first.key {
            return Err(format!(
                "runs {} and {} measured different things ({:?} and {:?}): accept them one by one",
                first.run, run.run, first.key, run.key
            ));
        }
        if run.fingerprint != first.fingerprint {
            return Err(format!(
                "runs {} and {} have different fingerprints ({} and {}): the profile changed between them",
                first.run, run.run, first.fingerprint, run.fingerprint
            ));
        }
        // Nothing is under test among the runs of one state.
        let nothing = UnderTest::parse(&[])?;
        if let Some(change) =
            changes(&first.environment, &run.environment, &nothing).into_iter().find(|change| change.must_match)
        {
            return Err(format!(
                "between runs {} and {} something changed: {change}; one baseline is of one state",
                first.run, run.run
            ));
        }
        if let Some(bad) =
            run.metrics.iter().find(|metric| matches!(metric.value, Value::Number(value) if !value.is_finite()))
        {
            return Err(format!("run {}: {} is not a number", run.run, bad.id));
        }
    }
    Ok(())
}

/// What is said of runs by their figures alone.
fn judged(rules: &Rules, runs: &[Candidate], baseline: &Baseline) -> Vec<Judged> {
    let looks = Looks::new(baseline.provenance.run.len(), runs.len());
    judge_against(rules, &Standing { runs, looks: &looks, baseline, confounded: None, side_effect: None })
}

/// Whether the earlier runs stay.
fn stays(old: &Baseline, runs: &[Candidate], rules: &Rules, earlier: Earlier, remarks: &mut Vec<String>) -> bool {
    let count = old.provenance.run.len();
    if old.fingerprint != runs[0].fingerprint {
        remarks.push(format!("the profile changed: the {count} earlier runs go"));
        return false;
    }
    match earlier {
        Earlier::Keep => return true,
        Earlier::Drop => return false,
        Earlier::ByState => {}
    }
    let nothing = UnderTest::parse(&[]).unwrap_or_default();
    let changed = changes(&old.environment, &runs[0].environment, &nothing);
    if let Some(change) = changed.iter().find(|change| change.must_match) {
        remarks.push(format!("{change} is another state: the {count} earlier runs go (--add keeps them)"));
        return false;
    }
    for run in runs {
        let verdict = overall(&judged(rules, std::slice::from_ref(run), old));
        if matches!(verdict, Verdict::Regressed | Verdict::Improved | Verdict::Error) {
            remarks.push(format!(
                "run {} is {verdict} against the {count} earlier runs, which is another state: they go (--add keeps them)",
                run.run
            ));
            return false;
        }
    }
    remarks.push(format!("added to the {count} earlier runs (--replace drops them)"));
    true
}
