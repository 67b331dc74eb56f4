//! What a reader must know to believe a run's figures.

use super::heat::{disturbances, said};
use crate::environment::Outcome;
use crate::journal::record::Counted;
use crate::journal::replay::{PhaseReplay, Purged, Replay};
use crate::plan::phase::Work;
use crate::plan::profile::Data;
use crate::report::Report;
use crate::sample::purge::PurgeCheck;
use crate::target::Simulated;
use crate::target::preflight::HEALTH;
use crate::verdict::Verdict;
use crate::verdict::judge::{Judged, Role};
use crate::verdict::surroundings::WEAR;

/// What a device counts may differ from what was submitted: metadata add to it, rounding takes away.
const RATIO: std::ops::RangeInclusive<f64> = 0.98..=1.10;

pub(super) fn counted(replay: &Replay) -> impl Iterator<Item = (&str, Counted)> {
    replay.phases.iter().filter_map(|phase| Some((phase.id.as_str(), phase.counted?)))
}

pub(super) fn ratio(counted: Counted) -> f64 {
    counted.device.0 as f64 / counted.submitted.0.max(1) as f64
}

/// Phases whose bytes the device did not count, with the reason; a burst that is small beside the
/// filesystem's own writes is not held to it.
pub(super) fn incomparable(replay: &Replay) -> Vec<String> {
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
    let broken = replay.purges.iter().filter(|purge| purge.check.as_ref().is_some_and(PurgeCheck::is_broken));
    why.extend(broken.map(|purge| format!("not comparable: the purge {}", purged(purge))));
    if replay.header.facts.simulated().is_some() {
        // What is simulated reaches the drive by definition.
        return why;
    }
    let measured = replay.phases.iter().any(|phase| phase.moved().0 > 0 && phase.end_ns.is_some());
    if why.is_empty() && measured && counted(replay).next().is_none() {
        why.push(
            "not comparable: the device behind this filesystem has no counters that could prove the bytes reached it"
                .to_owned(),
        );
    }
    why
}

/// Where, how thoroughly, what a look then showed, and how long the drive rested.
fn purged(purge: &Purged) -> String {
    let place = purge.phase.as_ref().map_or_else(|| "before the run".to_owned(), |phase| format!("in {phase}"));
    let check = purge.check.as_ref().map(|check| format!("; {check}")).unwrap_or_default();
    let rest = purge.rested_ns.map(|rest| format!("; the drive then rested {rest}")).unwrap_or_default();
    format!("{place}: {}{check}{rest}", purge.grade.word())
}

fn simulated(drive: &Simulated) -> String {
    let scale = match drive.scale {
        1 => String::new(),
        scale => format!("; its capacity and rates are 1/{scale} of the drive's"),
    };
    let fitted =
        if drive.fitted { "; its rates over used space were put in, they do not follow from a model" } else { "" };
    let faults = match drive.faults.len() {
        0 => String::new(),
        count => format!("; {count} faults were planted in it"),
    };
    format!("the drive is simulated, and so is the time{scale}{fitted}{faults}; its figures are from: {}", drive.source)
}

pub(super) fn notes(replay: &Replay, incomparable: &[String]) -> Vec<String> {
    let mut notes: Vec<String> = replay.header.facts.simulated().map(simulated).into_iter().collect();
    notes.extend_from_slice(incomparable);
    let warned = replay.preflight.iter().filter(|check| check.outcome == Outcome::Warn);
    notes.extend(warned.map(|check| format!("preflight: {}: {}", check.name, check.message)));
    notes.extend(disturbances(replay));
    notes.extend(said(replay));
    if replay.resumes > 0 {
        notes.push(format!("the run was cut and resumed {} times; no timing spans a cut", replay.resumes));
    }
    notes.extend(replay.header.engine_note.clone());
    for skipped in &replay.header.plan.skipped {
        notes.push(format!("{} was left out: {}", skipped.what, skipped.reason));
    }
    if replay.header.environment.get("build") == Some("debug") {
        notes
            .push("measured by a debug build: not comparable with runs of a release build, and no baseline".to_owned());
    }
    if replay.header.facts.block().is_some() {
        notes.extend(replay.purges.iter().map(|purge| format!("purge {}", purged(purge))));
    }
    let zeros = |phase: &PhaseReplay| {
        let planned = replay.header.plan.phase(&phase.id);
        planned.is_some_and(|p| p.work == Work::Verify && p.io.data == Data::Zeros)
    };
    if replay.phases.iter().any(zeros) {
        notes.push("verification was weak: the data were zeros, with one stamped block a segment".to_owned());
    }
    if replay.header.journal_on_target {
        notes.push("the journal is on the measured drive; its few writes are part of the figures".to_owned());
    }
    notes
}

/// That nothing which was looked at explains a loss against the baseline, if so.
pub(super) fn no_cause(report: &Report, replay: &Replay) -> Option<String> {
    let lost = |judged: &&Judged| judged.verdict == Verdict::Regressed && judged.against.is_some();
    report.metrics.iter().find(lost)?;
    let odd = replay.preflight.iter().any(|check| check.outcome != Outcome::Pass && check.name != HEALTH);
    let worn = report.notes.iter().any(|note| note.ends_with(WEAR));
    let known =
        odd || worn || !report.changes.is_empty() || !report.thermal.is_empty() || !disturbances(replay).is_empty();
    (!known).then(|| {
        "no cause is known: firmware, driver, kernel and settings are the baseline's, and neither heat nor anything else at \
         work on drive and host was seen"
            .to_owned()
    })
}

/// How far the first of several runs may stand from the later ones, in standard deviations of that difference.
const WARM: f64 = 3.0;

/// Gates whose first run differs from the later ones by more than their noise: the drive was not yet, or no longer,
/// what it was then.
pub(super) fn warm_up(judged: &[Judged]) -> Option<String> {
    let differs = |judged: &&Judged| {
        let weighed = judged.against.as_ref().and_then(|against| against.weighed.as_ref());
        judged.role == Role::Gate && weighed.is_some_and(|weighed| weighed.first_stands_out().abs() > WARM)
    };
    let ids: Vec<&str> = judged.iter().filter(differs).map(|judged| judged.metric.id.as_str()).collect();
    (!ids.is_empty()).then(|| {
        format!(
            "the first run differs from the later ones by more than the noise ({}): warm-up, or wear?",
            ids.join(", ")
        )
    })
}
