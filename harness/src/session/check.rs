//! Baselines looked after: damaged ones, those that no run can meet or has met, and tolerances that could be smaller.
//!
//! Reads baselines and the journals of runs; writes nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::baselines::{self, BaselineFileError};
use super::{compose, wall};
use crate::journal::file;
use crate::plan::builtin;
use crate::verdict::baseline::{Accepted, Baseline, Key, Level};
use crate::verdict::foresee;
use crate::verdict::judge::Rules;

/// What was found of one baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Its file.
    pub path: PathBuf,
    /// What keeps it from being used.
    pub broken: Vec<String>,
    /// What a person should know.
    pub remarks: Vec<String>,
}

/// Checks every baseline of a folder; the run folders in `runs` say which are in use.
///
/// # Errors
/// The folder cannot be read.
pub fn check(folder: &Path, runs: &Path) -> Result<Vec<Checked>, BaselineFileError> {
    let used = used(runs);
    let files = baselines::files(folder)?;
    Ok(files.into_iter().map(|path| one(folder, path, used.as_ref())).collect())
}

fn one(folder: &Path, path: PathBuf, used: Option<&BTreeSet<(Key, String)>>) -> Checked {
    let mut checked = Checked { path, broken: Vec::new(), remarks: Vec::new() };
    let baseline = match baselines::read(&checked.path) {
        Ok(Some(baseline)) => baseline,
        Ok(None) => return checked,
        Err(why) => {
            checked.broken.push(format!("damaged: {why}"));
            return checked;
        }
    };
    let expected = baselines::path_of(folder, &baseline.key);
    if expected != checked.path {
        checked.broken.push(format!(
            "unreachable: runs of {:?} look for it at {}",
            baseline.key.drive,
            expected.display()
        ));
    }
    let profile = builtin::text(&baseline.key.profile).and_then(|_| builtin::profile(&baseline.key.profile).ok());
    if let Some(profile) = &profile
        && profile.fingerprint() != baseline.fingerprint
    {
        checked.broken.push(format!(
            "stale: the profile {} has fingerprint {} now, and the baseline {}: accept runs of it",
            profile.name,
            profile.fingerprint(),
            baseline.fingerprint
        ));
    }
    if baseline.accepted.iter().any(|accepted| accepted.when > wall::rfc3339()) {
        checked.remarks.push("accepted in the future: a clock is wrong, here or where it was accepted".to_owned());
    }
    if used.is_some_and(|used| !used.contains(&(baseline.key.clone(), baseline.fingerprint.clone()))) {
        checked.remarks.push("never used: none of the runs here was compared with it".to_owned());
    }
    checked.remarks.extend(drifted(&baseline));
    let rules = profile.map_or_else(Rules::default, |profile| compose::rules(Some(&profile)));
    let unit = baseline.provenance.unit.last().filter(|unit| !unit.is_empty()).cloned();
    for foreseen in foresee::against(&baseline, unit, &rules, 1) {
        checked.remarks.extend(foreseen.headroom);
        if foreseen.runs_to_hold.is_none() {
            let (what, tolerance) = (foreseen.what, foreseen.tolerance);
            checked.remarks.push(format!("{what}: the tolerance of {tolerance} is below what these runs can hold"));
        }
    }
    checked
}

/// Metrics whose accepted figure is no longer what was accepted first.
fn drifted(baseline: &Baseline) -> Vec<String> {
    let changed = |(id, accepted): (&String, &Accepted)| {
        let (Level::Number(now), (Level::Number(first), _)) =
            (accepted.level()?, baseline.golden.of(id, accepted.kind)?)
        else {
            return None;
        };
        let by = now / first - 1.0;
        // Six digits are kept of each figure.
        (by.abs() > 1e-5).then(|| format!("{id} is {:+.1} % from the first accepted state", by * 100.0))
    };
    baseline.metric.iter().filter_map(changed).collect()
}

/// What the runs in a folder measured; none where there is no such folder.
fn used(runs: &Path) -> Option<BTreeSet<(Key, String)>> {
    let runs = fs::read_dir(runs).ok()?.flatten().map(|run| run.path());
    let of = |run: PathBuf| {
        let header = file::read(&run).ok()?.header;
        Some((compose::key(&header.facts, &compose::profile_name(&header)), header.fingerprint))
    };
    Some(runs.filter_map(of).collect())
}
