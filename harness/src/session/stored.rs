//! Stored runs: judged again under today's baselines and rules, and accepted as a baseline.
//!
//! Reads journals and baselines; writes reports only where it is told to, and never into a run folder. No I/O on
//! any drive that was measured.

use std::path::{Path, PathBuf};

use super::baselines::{self, BaselineFileError};
use super::folder::RunFolder;
use super::judging::{Bench, Earlier, Judging};
use super::wall;
use super::{Outcome, RequestError, compose};
use crate::journal::file;
use crate::journal::replay::Replay;
use crate::plan::profile::Profile;
use crate::report::Report;
use crate::target::Facts;
use crate::verdict::accept::qualify::qualify;
use crate::verdict::accept::{self, Acceptor, accept};
use crate::verdict::baseline::Baseline;
use crate::verdict::candidate::Candidate;

/// What accepting did.
#[derive(Clone, Debug)]
pub struct Acceptance {
    /// The baseline's file.
    pub path: PathBuf,
    /// Its text before, if there was one.
    pub before: Option<String>,
    /// The baseline now.
    pub baseline: Baseline,
    /// What a person should know of it.
    pub remarks: Vec<String>,
    /// Whether the file was written.
    pub changed: bool,
}

/// Who accepts, why and how.
#[derive(Clone, Debug)]
pub struct Reason {
    /// A name, or `unknown`.
    pub who: String,
    /// The reason.
    pub why: String,
    /// What becomes of the runs that were accepted before.
    pub earlier: accept::Earlier,
    /// Begin `golden` anew.
    pub new_golden: bool,
    /// Set the runs against each other, and write down what the gate can tell.
    pub qualify: bool,
}

/// Judges a stored run again. Reports go into `out/<run>/`, if that is given.
///
/// # Errors
/// The run or a baseline cannot be read, the rules are of another profile, or `out` would alter the run.
pub fn judge(run: &Path, judging: &Judging, out: Option<&Path>) -> Result<Outcome, RequestError> {
    let folder = RunFolder::open(run)?;
    let replay = file::read(folder.path())?;
    check_rules(&replay, judging.rules.as_ref())?;
    let bench = bench_of(&replay, folder.path(), judging)?;
    let (report, _) = compose::judged(&replay, Some(&bench));
    let Some(out) = out else { return Ok(Outcome { report, folder: folder.path().to_owned() }) };
    let reports = RunFolder::for_reports(out, folder.id())?;
    reports.write_reports(&report)?;
    Ok(Outcome { report, folder: reports.path().to_owned() })
}

/// Accepts stored runs, in this order, as the baseline of what they measured.
///
/// # Errors
/// A run cannot be read or is unfit to be a baseline, the runs do not belong together, or the file cannot be written.
pub fn accept_runs(runs: &[PathBuf], judging: &Judging, reason: Reason) -> Result<Acceptance, RequestError> {
    let fit = runs.iter().map(|run| fit(run, judging)).collect::<Result<Vec<_>, _>>()?;
    let (Some((_, last)), Some(first)) = (fit.last(), fit.first().map(|(run, _)| run)) else {
        return Err(RequestError::Run("name at least one run to accept".to_owned()));
    };
    let path = baselines::path_of(&judging.baselines, &first.key);
    let old = baselines::read(&path)?;
    let rules = compose::rules_of(last, judging);
    let candidates: Vec<Candidate> = fit.iter().map(|(run, _)| run.clone()).collect();
    let acceptor = Acceptor {
        who: reason.who,
        when: wall::rfc3339(),
        why: reason.why,
        earlier: reason.earlier,
        new_golden: reason.new_golden,
    };
    let mut accepting = accept(old.as_ref(), &candidates, &rules, &acceptor).map_err(RequestError::Run)?;
    if reason.qualify {
        let remarks = qualify(&mut accepting.baseline, &candidates, &rules).map_err(RequestError::Run)?;
        accepting.remarks.extend(remarks);
        accepting.changed = old.as_ref() != Some(&accepting.baseline);
    }
    if accepting.changed {
        baselines::write(&path, &accepting.baseline)?;
    }
    let before = old.map(|old| old.to_toml());
    let (baseline, remarks, changed) = (accepting.baseline, accepting.remarks, accepting.changed);
    Ok(Acceptance { path, before, baseline, remarks, changed })
}

/// What a run on this target under the profile of that name is judged with; runs of the same request that went before
/// lie beside its folder.
pub(super) fn bench(
    facts: &Facts,
    profile: &str,
    folder: &Path,
    earlier: &[String],
    judging: &Judging,
) -> Result<Bench, BaselineFileError> {
    let found = baselines::find(&judging.baselines, &compose::key(facts, profile))?;
    let beside = folder.parent().unwrap_or(folder);
    let (mut known, mut absent) = (Vec::new(), Vec::new());
    for id in earlier {
        match file::read(&beside.join(id)) {
            Ok(replay) if compose::judged(&replay, None).0.failure.is_none() => {
                let side = replay.header.repeat.side;
                known.push(Earlier { run: compose::judged(&replay, None).1, side });
            }
            Ok(_) => absent.push(format!("run {id} did not complete and is not judged with this one")),
            Err(_) => absent.push(format!("run {id} is not beside this one and is not judged with it")),
        }
    }
    Ok(Bench { judging: judging.clone(), found, run: folder.display().to_string(), earlier: known, absent })
}

/// What a run with a journal is judged with.
pub(super) fn bench_of(replay: &Replay, folder: &Path, judging: &Judging) -> Result<Bench, BaselineFileError> {
    let header = &replay.header;
    bench(&header.facts, &compose::profile_name(header), folder, &header.earlier, judging)
}

/// A run that is fit to be a baseline.
fn fit(run: &Path, judging: &Judging) -> Result<(Candidate, Replay), RequestError> {
    let folder = RunFolder::open(run)?;
    let replay = file::read(folder.path())?;
    let (report, candidate) = compose::judged(&replay, None);
    let unfit = |why: String| RequestError::Run(format!("run {} cannot be accepted: {why}", report.run));
    match unfit_because(&report, &replay) {
        Some(why) => Err(unfit(why)),
        None => {
            check_rules(&replay, judging.rules.as_ref())?;
            Ok((candidate, replay))
        }
    }
}

fn unfit_because(report: &Report, replay: &Replay) -> Option<String> {
    if let Some(failure) = &report.failure {
        return Some(format!("it did not complete ({})", failure.message));
    }
    if replay.verify_errors() > 0 {
        return Some(format!("{} blocks that were read back are not what was written", replay.verify_errors()));
    }
    if let Some(why) = compose::not_comparable(replay) {
        return Some(why);
    }
    (replay.header.environment.get("build") == Some("debug"))
        .then(|| "it was measured by a debug build: measure with a release build".to_owned())
}

/// Rules are those of the profile that was run, with other tolerances.
fn check_rules(replay: &Replay, rules: Option<&Profile>) -> Result<(), RequestError> {
    match rules.map(Profile::fingerprint) {
        Some(ours) if ours != replay.header.fingerprint => Err(RequestError::Run(format!(
            "--profile has fingerprint {ours}, and run {} was made with {}: only tolerances, gates and limits may differ",
            replay.header.run, replay.header.fingerprint
        ))),
        _ => Ok(()),
    }
}
