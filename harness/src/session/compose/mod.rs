//! From a journal to a report: the one path that a live run, a resumed one and a stored one share.
//!
//! Pure but for its callers: no file, no clock, no drive.

mod candidate;
pub mod compare;
mod conclude;
mod heat;
mod notes;
pub mod series;
mod suites;
mod together;

use std::collections::BTreeMap;

use super::Request;
use super::folder::{RunFolder, drive_line};
use super::judging::{Bench, Judging};
use crate::analysis::random::LevelFindings;
use crate::analysis::space::{self, fsef};
use crate::analysis::suite::FillSuite;
use crate::environment::{Environment, Outcome as CheckOutcome};
use crate::journal::record::{Header, Outcome, Repeat};
use crate::journal::replay::Replay;
use crate::plan::profile::{ByKind, Profile};
use crate::report::{BaselineLine, Failure, FailureKind, ProfileLine, Report, Target, ThermalLine};
use crate::target::Facts;
use crate::units::Share;
use crate::verdict::Verdict;
use crate::verdict::baseline::Baseline;
use crate::verdict::candidate::Candidate;
use crate::verdict::curve::Curves;
use crate::verdict::judge::{Limit, Rules, judge, judge_against};
use crate::verdict::standing::Standing;
use crate::verdict::surroundings::worn;
use crate::verdict::tolerance::{KnownShares, Shares};
use candidate::candidate;
pub use candidate::{key, unit};
use conclude::{Basis, conclude, exit_code, failure_line};
use notes::{incomparable, no_cause, notes, warm_up};
pub(super) use suites::known;
use suites::{fill_report, fill_suite, fsef_line, level_report, levels};
use together::Together;

/// The report of a run from what its journal tells, without any baseline.
#[must_use]
pub fn report(replay: &Replay) -> Report {
    judged(replay, None).0
}

/// The report of a run against what was found to compare it with, and the run as the verdict saw it.
#[must_use]
pub fn judged(replay: &Replay, bench: Option<&Bench>) -> (Report, Candidate) {
    let header = &replay.header;
    let mut report = bare(header);
    let profile = Profile::parse(&header.profile).ok();
    let mut suite = fill_suite(replay);
    let (mut levels, damaged) = match levels(replay, profile.as_ref()) {
        Ok(levels) => (levels, None),
        Err(why) => (Vec::new(), Some(format!("reading the journal's latencies failed: {why}"))),
    };
    report.thermal = heat::thermal(replay, suite.as_mut(), &mut levels);
    let mut metrics = suite.as_ref().map(FillSuite::metrics).unwrap_or_default();
    metrics.extend(levels.iter().flat_map(LevelFindings::metrics));
    let fsef = fsef(&levels);
    metrics.extend(space::metric(&levels));
    heat::bound(&mut metrics, &report.thermal);
    metrics.extend(heat::health(replay));
    let unfair = unfair(replay, &report.thermal);
    let run = candidate(replay, &profile_name(header), metrics, suite.as_ref(), &levels);
    let rules = rules(bench.and_then(|bench| bench.judging.rules.as_ref()).or(profile.as_ref()));
    report.failure = failure(replay).or(damaged.map(|message| Failure { kind: FailureKind::Failed, message }));
    // What ended early lacks metrics and has others of a part: nothing of it is compared.
    let bench = bench.filter(|_| report.failure.is_none());
    let basis = compare(&mut report, &run, header.repeat, &rules, bench, &unfair);
    report.random_write = levels.iter().map(|level| level_report(replay, level)).collect();
    report.fsef = fsef.map(fsef_line);
    report.fill = suite.map(|suite| fill_report(replay, &suite));
    report.bytes_written = replay.bytes_written().0;
    report.elapsed_s = replay.last_ns.secs();
    let incomparable: Vec<String> = incomparable(replay).into_iter().chain(unfair).collect();
    report.preflight.clone_from(&replay.preflight);
    let of_the_runs = std::mem::take(&mut report.notes);
    report.notes = notes(replay, &incomparable);
    report.notes.extend(of_the_runs);
    report.notes.extend(no_cause(&report, replay));
    conclude(&mut report, &basis, replay.verify_errors(), incomparable.first().map(String::as_str));
    (report, run)
}

/// Judges the metrics against the baseline, where there is one of the same thing.
fn compare<'a>(
    report: &mut Report,
    run: &Candidate,
    repeat: Repeat,
    rules: &Rules,
    bench: Option<&'a Bench>,
    unfair: &[String],
) -> Basis<'a> {
    let Some(bench) = bench else {
        report.metrics = judge(run.metrics.clone(), rules);
        return Basis::NotAsked;
    };
    let together = Together::new(run, repeat, bench, rules);
    report.notes.clone_from(&together.notes);
    let line = |baseline: &Baseline, why: Option<String>| BaselineLine {
        path: match together.other_state {
            Some(_) => "the state after the first --before-run".to_owned(),
            None => bench.found.path.display().to_string(),
        },
        runs: baseline.provenance.run.clone(),
        accepted: baseline.accepted.last().map(|accepted| accepted.when.clone()).unwrap_or_default(),
        not_used: why,
    };
    let Some(baseline) = together.other_state.as_ref().or(bench.found.baseline.as_ref()) else {
        report.metrics = judge(run.metrics.clone(), rules);
        return Basis::None(bench);
    };
    let (runs, latest) = (together.runs.as_slice(), together.runs.last().unwrap_or(run));
    if let Some(why) = latest.incomparable(baseline) {
        report.metrics = judge(run.metrics.clone(), rules);
        report.baseline = Some(line(baseline, Some(why.clone())));
        return Basis::Unusable(bench, why);
    }
    let unit_spread = rules.unit_spread != KnownShares::default();
    let around = latest.surroundings(baseline, &bench.judging.under_test, unit_spread);
    let confounded = around.confounded.as_deref().or(unfair.first().map(String::as_str));
    let side_effect = around.side_effect.as_deref();
    let looks = together.looks(baseline);
    report.metrics = judge_against(rules, &Standing { runs, looks: &looks, baseline, confounded, side_effect });
    report.notes.extend(warm_up(&report.metrics));
    report.notes.extend(worn(&baseline.environment, &latest.environment));
    report.changes = around.changes;
    report.baseline = Some(line(baseline, None));
    let ghost = |(id, curves): (&String, &Curves)| Some((id.clone(), curves.spread()?));
    report.ghosts = baseline.curve.iter().filter_map(ghost).collect();
    Basis::Compared { bench, baseline_runs: baseline.provenance.run.len(), runs: runs.len() }
}

/// The profile's name that a run was made under; its fingerprint where this version cannot read it.
#[must_use]
pub fn profile_name(header: &Header) -> String {
    Profile::parse(&header.profile).map_or_else(|_| header.fingerprint.clone(), |profile| profile.name)
}

/// Why the figures of a run are not comparable with anything, if so.
#[must_use]
pub fn not_comparable(replay: &Replay) -> Option<String> {
    let profile = Profile::parse(&replay.header.profile).ok();
    let (mut suite, mut levels) = (fill_suite(replay), levels(replay, profile.as_ref()).unwrap_or_default());
    let falls = heat::thermal(replay, suite.as_mut(), &mut levels);
    incomparable(replay).into_iter().chain(unfair(replay, &falls)).next()
}

/// Why the moment was none to measure at: the drive was hot, or preflight says so.
fn unfair(replay: &Replay, falls: &[ThermalLine]) -> Vec<String> {
    let checks = replay.preflight.iter().filter(|check| check.outcome == CheckOutcome::NotComparable);
    let refused = checks.map(|check| format!("not comparable: {}", check.message));
    heat::too_hot(replay, falls).into_iter().chain(refused).collect()
}

/// What a run is judged by: the user's rules, else those that it was made with.
#[must_use]
pub fn rules_of(replay: &Replay, judging: &Judging) -> Rules {
    let own = Profile::parse(&replay.header.profile).ok();
    rules(judging.rules.as_ref().or(own.as_ref()))
}

/// The report of a target that got no run.
#[must_use]
pub fn without_journal(
    request: &Request,
    folder: &RunFolder,
    facts: Option<&Facts>,
    kind: FailureKind,
    why: &str,
) -> Report {
    let mut report = empty(folder.id(), folder.started());
    report.target = Target {
        path: request.target.to_string(),
        kind: request.target.kind().to_owned(),
        drive: facts.map_or_else(|| "unknown drive".to_owned(), drive_line),
        filesystem: facts.and_then(Facts::filesystem).map(str::to_owned),
        engine: String::new(),
    };
    report.profile = profile_line(&request.profile);
    failed(report, kind, why)
}

/// The report of a run whose journal cannot be read.
#[must_use]
pub fn with_header(header: &Header, kind: FailureKind, why: &str) -> Report {
    failed(bare(header), kind, why)
}

/// The report of a run that may not go on: what it measured so far, and why.
#[must_use]
pub fn not_resumed(so_far: &Replay, kind: FailureKind, why: &str) -> Report {
    let mut report = report(so_far);
    report.notes.insert(0, "the run was not resumed; its journal is as it was".to_owned());
    failed(report, kind, why)
}

fn failed(mut report: Report, kind: FailureKind, why: &str) -> Report {
    report.failure = Some(Failure { kind, message: why.to_owned() });
    report.verdict = Verdict::Error;
    report.exit_code = exit_code(&report, false, false);
    report.headline = failure_line(kind, why);
    report
}

fn empty(run: &str, started: &str) -> Report {
    Report {
        verdict: Verdict::Error,
        exit_code: 4,
        headline: String::new(),
        run: run.to_owned(),
        started: started.to_owned(),
        host: None,
        target: Target::default(),
        profile: ProfileLine::default(),
        runs: vec![run.to_owned()],
        metrics: Vec::new(),
        fill: None,
        random_write: Vec::new(),
        fsef: None,
        thermal: Vec::new(),
        preflight: Vec::new(),
        environment: Environment::default().0,
        plan: None,
        notes: Vec::new(),
        failure: None,
        changes: Vec::new(),
        baseline: None,
        ghosts: BTreeMap::new(),
        bytes_written: 0,
        elapsed_s: 0.0,
    }
}

fn bare(header: &Header) -> Report {
    let mut report = empty(&header.run, &header.started);
    report.runs = header.earlier.iter().chain([&header.run]).cloned().collect();
    report.host = header.host.clone();
    report.target = Target {
        path: header.facts.path.display().to_string(),
        kind: header.facts.place.kind().to_owned(),
        drive: drive_line(&header.facts),
        filesystem: header.facts.filesystem().map(str::to_owned),
        engine: header.engine.clone(),
    };
    if let Ok(profile) = Profile::parse(&header.profile) {
        report.profile = profile_line(&profile);
    }
    // The fingerprint is the one that the run was made under, whatever this version would compute.
    report.profile.fingerprint.clone_from(&header.fingerprint);
    report.environment.clone_from(&header.environment.0);
    report.plan = Some(header.plan.clone());
    report
}

fn profile_line(profile: &Profile) -> ProfileLine {
    ProfileLine { name: profile.name.clone(), version: profile.version, fingerprint: profile.fingerprint() }
}

/// What a profile says of judging.
pub(super) fn rules(profile: Option<&Profile>) -> Rules {
    let Some(profile) = profile else { return Rules::default() };
    let limits = profile.limits.iter().map(|(id, limit)| {
        let number = |number: Option<crate::plan::profile::Number>| number.map(crate::plan::profile::Number::value);
        (id.clone(), Limit { least: number(limit.least), most: number(limit.most) })
    });
    let default = Rules::default();
    Rules {
        limits: limits.collect(),
        gates: profile.judge.gates.clone(),
        tolerance: shares(&profile.judge.tolerance, default.tolerance),
        prior_noise: shares(&profile.judge.prior_noise, default.prior_noise),
        unit_spread: stated_shares(&profile.judge.unit_spread),
    }
}

/// The profile's shares where it states them.
fn shares(stated: &ByKind, default: Shares) -> Shares {
    let stated = stated_shares(stated);
    Shares {
        throughput: stated.throughput.unwrap_or(default.throughput),
        capacity: stated.capacity.unwrap_or(default.capacity),
        tail_latency: stated.tail_latency.unwrap_or(default.tail_latency),
    }
}

fn stated_shares(stated: &ByKind) -> KnownShares {
    let share = |stated: Option<Share>| stated.map(|share| f64::from(share.0.0) / 1e6);
    KnownShares {
        throughput: share(stated.throughput),
        capacity: share(stated.capacity),
        tail_latency: share(stated.tail_latency),
    }
}

fn failure(replay: &Replay) -> Option<Failure> {
    let (kind, message) = match &replay.end {
        Some((Outcome::Complete, _)) => {
            let broken = replay.conservation().into_iter().next()?;
            (FailureKind::Failed, Some(format!("internal error: the journal contradicts itself: {broken}")))
        }
        Some((Outcome::Interrupted, why)) => (FailureKind::Interrupted, why.clone()),
        Some((Outcome::Failed, why)) => (FailureKind::Failed, why.clone()),
        None => {
            (FailureKind::Interrupted, Some("the journal has no end: the run was killed and can be resumed".to_owned()))
        }
    };
    let mut message = message.unwrap_or_else(|| "no reason is on record".to_owned());
    if let Some((done, planned)) = replay.phase("fill.write").filter(|phase| phase.end_ns.is_none()).and_then(|phase| {
        let planned = replay.header.plan.phase(&phase.id)?;
        Some((phase.finished.len(), planned.layout.segments))
    }) {
        message.push_str(&format!(" ({done} of {planned} segments were finished)"));
    }
    Some(Failure { kind, message })
}
