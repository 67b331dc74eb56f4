//! From a journal to a report: the one path that a live run, a resumed one and a stored one share.
//!
//! Pure but for its callers: no file, no clock, no drive.

use super::Request;
use super::folder::{RunFolder, drive_line};
use crate::analysis::fill::{burst, fill};
use crate::analysis::series::Series;
use crate::analysis::suite::FillSuite;
use crate::environment::Environment;
use crate::journal::record::{Counted, FaultKind, FaultRecord, Header, Outcome};
use crate::journal::replay::{PhaseReplay, Replay};
use crate::plan::phase::Work;
use crate::plan::profile::Profile;
use crate::report::{CliffLine, Failure, FailureKind, FillReport, Point, ProfileLine, Report, Target};
use crate::target::Facts;
use crate::units::Bytes;
use crate::verdict::Verdict;
use crate::verdict::judge::{Judged, Limit, Role, Rules, judge, overall};

/// Points of a report's curve at the most.
const MOST_POINTS: u64 = 400;
/// Bad blocks that a report names at the most.
const MOST_BAD_BLOCKS: usize = 50;
/// What a device counts may differ from what was submitted: metadata add to it, rounding takes away.
const RATIO: std::ops::RangeInclusive<f64> = 0.98..=1.10;

/// The report of a run from what its journal tells.
#[must_use]
pub fn report(replay: &Replay) -> Report {
    let header = &replay.header;
    let mut report = bare(header);
    let suite = fill_suite(replay);
    let metrics = suite.as_ref().map(FillSuite::metrics).unwrap_or_default();
    report.metrics = judge(metrics, &rules(&header.profile));
    report.fill = suite.map(|suite| fill_report(replay, &suite));
    report.bytes_written = replay.bytes_written().0;
    report.elapsed_s = replay.last_ns.secs();
    report.failure = failure(replay);
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

fn rules(profile: &str) -> Rules {
    let Ok(profile) = Profile::parse(profile) else { return Rules::default() };
    let limits = profile.limits.iter().map(|(id, limit)| {
        let number = |number: Option<crate::plan::profile::Number>| number.map(crate::plan::profile::Number::value);
        (id.clone(), Limit { least: number(limit.least), most: number(limit.most) })
    });
    Rules { limits: limits.collect(), gates: profile.judge.gates.clone() }
}

fn fill_suite(replay: &Replay) -> Option<FillSuite> {
    let write = replay.phase("fill.write")?;
    let read = replay.phase("fill.read");
    let bursts = replay.phases.iter().filter(|phase| phase.id.starts_with("fill.burst.") && phase.end_ns.is_some());
    let idle = |phase: &PhaseReplay| replay.header.plan.phase(&phase.id).map(|planned| planned.rest_ns);
    Some(FillSuite {
        write: fill(&write.samples_so_far()),
        read: read.and_then(|read| Series::from_samples(&read.samples).mean()),
        verify_errors: read.map(|_| replay.verify_errors()),
        bursts: bursts.filter_map(|phase| Some((idle(phase)?, burst(&phase.samples)))).collect(),
    })
}

fn fill_report(replay: &Replay, suite: &FillSuite) -> FillReport {
    let samples = replay.phase("fill.write").map(PhaseReplay::samples_so_far).unwrap_or_default();
    let cliffs = suite.write.cliffs.iter().map(|cliff| CliffLine {
        at_gb: cliff.at.gb(),
        low_gb: cliff.low.gb(),
        high_gb: cliff.high.gb(),
        before_mb_s: cliff.before.mb_s(),
        after_mb_s: cliff.after.mb_s(),
    });
    FillReport {
        bytes: suite.write.total.0,
        seconds: suite.write.elapsed.secs(),
        curve: curve(&Series::from_samples(&samples)),
        cliffs: cliffs.collect(),
        bad_blocks: replay.faults.iter().filter_map(bad_block).take(MOST_BAD_BLOCKS).collect(),
        counter_ratios: counted(replay).map(|(id, counted)| (id.to_owned(), ratio(counted))).collect(),
    }
}

/// Throughput over bytes in steps of equal bytes.
fn curve(series: &Series) -> Vec<Point> {
    let total = series.total().0;
    let steps = MOST_POINTS.min(series.steps().len() as u64);
    (0..steps)
        .filter_map(|step| {
            let at = |n: u64| Bytes((u128::from(total) * u128::from(n) / u128::from(steps.max(1))) as u64);
            let rate = series.rate_between(at(step), at(step + 1))?;
            Some(Point { at_gb: at(step + 1).gb(), mb_s: rate.mb_s() })
        })
        .collect()
}

fn bad_block(fault: &FaultRecord) -> Option<String> {
    let FaultKind::Verify(_) = fault.what else { return None };
    Some(format!(
        "segment {} at byte {} of the fill: {}",
        fault.segment.unwrap_or(0),
        fault.offset.unwrap_or(0),
        fault.message
    ))
}

fn counted(replay: &Replay) -> impl Iterator<Item = (&str, Counted)> {
    replay.phases.iter().filter_map(|phase| Some((phase.id.as_str(), phase.counted?)))
}

fn ratio(counted: Counted) -> f64 {
    counted.device.0 as f64 / counted.submitted.0.max(1) as f64
}

/// Phases whose bytes the device did not count, with the reason; a burst that is small beside the
/// filesystem's own writes is not held to it.
fn incomparable(replay: &Replay) -> Vec<String> {
    let mut why: Vec<String> = counted(replay)
        .filter(|(_, counted)| !RATIO.contains(&ratio(*counted)))
        .map(|(id, counted)| {
            format!(
                "not comparable: in {id} the device counted {:.2} × the bytes submitted (0.98 to 1.10 expected): {}",
                ratio(counted),
                if ratio(counted) < 1.0 {
                    "they went to a cache, not to the drive"
                } else {
                    "others used the drive meanwhile"
                }
            )
        })
        .collect();
    let measured = replay.phases.iter().any(|phase| phase.moved().0 > 0 && phase.end_ns.is_some());
    if why.is_empty() && measured && counted(replay).next().is_none() {
        why.push(
            "not comparable: the device behind this filesystem has no counters that could prove the bytes reached it"
                .to_owned(),
        );
    }
    why
}

fn notes(replay: &Replay, incomparable: &[String]) -> Vec<String> {
    let mut notes = incomparable.to_vec();
    if replay.resumes > 0 {
        notes.push(format!("the run was cut and resumed {} times; no timing spans a cut", replay.resumes));
    }
    notes.extend(replay.header.engine_note.clone());
    for skipped in &replay.header.plan.skipped {
        notes.push(format!("{} was left out: {}", skipped.what, skipped.reason));
    }
    if replay.header.environment.get("build") == Some("debug") {
        notes.push("measured by a debug build, which is slower than a release build".to_owned());
    }
    let zeros = |phase: &PhaseReplay| {
        let planned = replay.header.plan.phase(&phase.id);
        planned.is_some_and(|p| p.work == Work::Verify && p.io.data == crate::plan::profile::Data::Zeros)
    };
    if replay.phases.iter().any(zeros) {
        notes.push("verification was weak: the data were zeros, with one stamped block a segment".to_owned());
    }
    if replay.header.journal_on_target {
        notes.push("the journal is on the measured drive; its few writes are part of the figures".to_owned());
    }
    notes
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
