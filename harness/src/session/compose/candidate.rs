//! A run as the verdict sees it, from its journal: what it is of, which unit, how far it looked for cliffs.
//!
//! Pure. Only facts that survive a reboot identify anything: a kernel name does not.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::suites::curve_of;
use crate::analysis::metric::Metric;
use crate::analysis::random::LevelFindings;
use crate::analysis::series::Series;
use crate::analysis::suite::FillSuite;
use crate::environment::{Check, Outcome};
use crate::journal::replay::Replay;
use crate::target::Facts;
use crate::target::preflight::HEALTH;
use crate::verdict::baseline::Key;
use crate::verdict::candidate::Candidate;
use crate::verdict::curve::{Curve, STEPS};

/// What a run on this target under the profile of that name measures.
#[must_use]
pub fn key(facts: &Facts, profile: &str) -> Key {
    let drive = facts.drive.as_ref();
    let name = drive.and_then(|drive| drive.model.clone().or_else(|| drive.transport.clone()));
    Key {
        drive: name.as_deref().or(facts.filesystem()).unwrap_or_default().trim().to_owned(),
        capacity_bytes: drive.and_then(|drive| drive.size).map_or(0, |size| size.0),
        target_kind: facts.place.kind().to_owned(),
        profile: profile.to_owned(),
    }
}

/// The drive itself: 12 hex digits of a hash of its serial number, else of its worldwide identity. A serial number
/// is nobody's business in a pull request.
#[must_use]
pub fn unit(facts: &Facts) -> Option<String> {
    let drive = facts.drive.as_ref()?;
    let identity = drive.serial.as_ref().or(drive.wwid.as_ref()).map(|text| text.trim())?;
    if identity.is_empty() {
        return None;
    }
    let digest = Sha256::digest(format!("storage-check unit\n{identity}"));
    Some(digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect())
}

/// The run as the verdict sees it.
pub(super) fn candidate(
    replay: &Replay,
    profile: &str,
    metrics: Vec<Metric>,
    suite: Option<&FillSuite>,
    levels: &[LevelFindings],
) -> Candidate {
    let header = &replay.header;
    let fill = suite.map(|suite| ("fill.".to_owned(), suite.write.total.gb()));
    let levels = levels.iter().map(|level| (format!("random_write.{}.", level.level), level.found.total.gb()));
    Candidate {
        run: header.run.clone(),
        started: header.started.clone(),
        fingerprint: header.fingerprint.clone(),
        key: key(&header.facts, profile),
        unit: unit(&header.facts),
        environment: header.environment.0.clone(),
        metrics,
        reach_gb: fill.into_iter().chain(levels).collect(),
        health_unread: health_unread(replay),
        left_out: header.plan.skipped.iter().map(|left| (left.what.clone(), left.reason.clone())).collect(),
        curves: curves(replay),
    }
}

/// What preflight said of counters that this run could not read.
fn health_unread(replay: &Replay) -> Option<String> {
    let unread = |check: &&Check| check.name == HEALTH && check.outcome != Outcome::Pass;
    replay.preflight.iter().find(unread).map(|check| check.message.clone())
}

/// What the run did in each suite and level.
fn curves(replay: &Replay) -> BTreeMap<String, Curve> {
    let written = replay.phases.iter().filter_map(|phase| {
        let suite = phase.id.strip_suffix(".write")?;
        let series = Series::from_samples(&phase.samples_so_far());
        let mb_s = curve_of(&series, STEPS as u64).iter().map(|point| point.mb_s).collect();
        Some((suite.to_owned(), Curve { end_gb: series.total().gb(), mb_s }))
    });
    written.filter(|(_, curve)| !curve.mb_s.is_empty()).collect()
}
