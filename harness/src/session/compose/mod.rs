//! From a journal to a report: the one path that a live run, a resumed one and a stored one share.
//!
//! Pure but for its callers: no file, no clock, no drive.

mod notes;
mod suites;

use super::Request;
use super::folder::{RunFolder, drive_line};
use crate::analysis::metric::{Metric, Value};
use crate::analysis::random::LevelFindings;
use crate::analysis::space::fsef;
use crate::analysis::suite::FillSuite;
use crate::environment::Environment;
use crate::journal::record::{Header, Outcome};
use crate::journal::replay::Replay;
use crate::plan::profile::Profile;
use crate::report::{Failure, FailureKind, ProfileLine, Report, Target};
use crate::target::Facts;
use crate::verdict::Verdict;
use crate::verdict::judge::{Judged, Limit, Role, Rules, judge, overall};
use notes::{incomparable, notes};
use suites::{fill_report, fill_suite, fsef_line, level_report, levels};

/// The report of a run from what its journal tells.
#[must_use]
pub fn report(replay: &Replay) -> Report {
    let header = &replay.header;
    let mut report = bare(header);
    let profile = Profile::parse(&header.profile).ok();
    let suite = fill_suite(replay);
    let (levels, damaged) = match levels(replay, profile.as_ref()) {
        Ok(levels) => (levels, None),
        Err(why) => (Vec::new(), Some(format!("reading the journal's latencies failed: {why}"))),
    };
    let mut metrics = suite.as_ref().map(FillSuite::metrics).unwrap_or_default();
    metrics.extend(levels.iter().flat_map(LevelFindings::metrics));
    let fsef = fsef(&levels);
    metrics.extend(fsef.map(|fsef| Metric::new("random_write.fsef_mb_s_per_gb", Value::Number(fsef.mb_s_per_gb))));
    report.metrics = judge(metrics, &rules(profile.as_ref()));
    report.random_write = levels.iter().map(|level| level_report(replay, level)).collect();
    report.fsef = fsef.map(fsef_line);
    report.fill = suite.map(|suite| fill_report(replay, &suite));
    report.bytes_written = replay.bytes_written().0;
    report.elapsed_s = replay.last_ns.secs();
    report.failure = failure(replay).or(damaged.map(|message| Failure { kind: FailureKind::Failed, message }));
    let ratios = incomparable(replay);
    report.notes = notes(replay, &ratios);
    let judged = overall(&report.metrics);
    let comparable = ratios.is_empty();
    report.verdict = match (&report.failure, judged) {
        (Some(_), _) => Verdict::Error,
        (None, Verdict::Regressed) => Verdict::Regressed,
        (None, _) if !comparable => Verdict::Inconclusive,
        (None, judged) => without_baseline(&report.metrics, judged),
    };
    report.exit_code = exit_code(&report);
    report.headline = headline(&report, replay.verify_errors(), comparable);
    report
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
        path: request.target.display().to_string(),
        kind: "folder".to_owned(),
        drive: facts.map_or_else(|| "unknown drive".to_owned(), drive_line),
        filesystem: facts.map(|facts| facts.filesystem.type_name.clone()),
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
pub fn refused_resume(so_far: &Replay, why: &str) -> Report {
    let mut report = report(so_far);
    report.notes.insert(0, "the run was not resumed; its journal is as it was".to_owned());
    failed(report, FailureKind::Refused, why)
}

fn failed(mut report: Report, kind: FailureKind, why: &str) -> Report {
    report.failure = Some(Failure { kind, message: why.to_owned() });
    report.verdict = Verdict::Error;
    report.exit_code = exit_code(&report);
    report.headline = headline(&report, 0, true);
    report
}

/// 0 held, improved or first run · 1 regressed · 3 refused · 4 failed or interrupted · 5 inconclusive; the gravest
/// of several is 4 before 1 before 5.
fn exit_code(report: &Report) -> u8 {
    match (&report.failure, report.verdict) {
        (Some(failure), _) if failure.kind == FailureKind::Refused => 3,
        (Some(_), _) | (None, Verdict::Error) => 4,
        (None, Verdict::Regressed) => 1,
        (None, Verdict::Inconclusive) => 5,
        (None, Verdict::Held | Verdict::Improved | Verdict::NoBaseline) => 0,
    }
}

/// Without a baseline nothing but limits was judged: held only where they decide something.
fn without_baseline(metrics: &[Judged], judged: Verdict) -> Verdict {
    match judged {
        Verdict::Inconclusive | Verdict::Regressed | Verdict::Error => judged,
        _ if metrics.iter().any(|metric| metric.verdict == Verdict::NoBaseline && metric.role == Role::Gate) => {
            Verdict::NoBaseline
        }
        other => other,
    }
}

fn headline(report: &Report, verify_errors: u64, comparable: bool) -> String {
    if let Some(failure) = &report.failure {
        let what = match failure.kind {
            FailureKind::Refused => "target refused",
            FailureKind::Failed => "run failed",
            FailureKind::Interrupted => "run interrupted",
        };
        return format!("{what}: {}", failure.message);
    }
    match report.verdict {
        Verdict::Regressed if verify_errors > 0 => {
            format!("{verify_errors} blocks read back are not what was written: do not trust this drive with data")
        }
        Verdict::Regressed => {
            let broken: Vec<String> = report
                .metrics
                .iter()
                .filter(|judged| judged.verdict == Verdict::Regressed)
                .map(|judged| format!("{} {}", judged.metric.id, judged.reason))
                .collect();
            broken.join("; ")
        }
        Verdict::Inconclusive if !comparable => {
            "the drive did not count the bytes that were submitted: the figures are not comparable".to_owned()
        }
        Verdict::Inconclusive => "not decided: see the metrics without a verdict".to_owned(),
        Verdict::NoBaseline => "measured; there is no baseline to compare with yet".to_owned(),
        Verdict::Held | Verdict::Improved => "within all limits".to_owned(),
        Verdict::Error => "the run has no result".to_owned(),
    }
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
        environment: Environment::default().0,
        plan: None,
        notes: Vec::new(),
        failure: None,
        bytes_written: 0,
        elapsed_s: 0.0,
    }
}

fn bare(header: &Header) -> Report {
    let mut report = empty(&header.run, &header.started);
    report.host = header.host.clone();
    report.target = Target {
        path: header.facts.path.display().to_string(),
        kind: header.environment.get("target.kind").unwrap_or("folder").to_owned(),
        drive: drive_line(&header.facts),
        filesystem: Some(header.facts.filesystem.type_name.clone()),
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

fn rules(profile: Option<&Profile>) -> Rules {
    let Some(profile) = profile else { return Rules::default() };
    let limits = profile.limits.iter().map(|(id, limit)| {
        let number = |number: Option<crate::plan::profile::Number>| number.map(crate::plan::profile::Number::value);
        (id.clone(), Limit { least: number(limit.least), most: number(limit.most) })
    });
    Rules { limits: limits.collect(), gates: profile.judge.gates.clone(), ..Rules::default() }
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
