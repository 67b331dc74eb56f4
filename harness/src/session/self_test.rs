//! The self-test: the claims of the gate on drives that are only figures, on all processors, and whole runs on simulated
//! drives, from the first write to the exit code.
//!
//! Only shares the work out and makes the runs; what is claimed and how it is judged is the verdict's.

use std::fmt::Display;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::thread;

use super::judging::Judging;
use super::series::Series;
use super::stored::{Reason, accept_runs};
use super::target::SimTarget;
use super::{Event, Observer, Outcome, Request, RequestError, run};
use crate::plan::profile::Profile;
use crate::verdict::accept::Earlier;
use crate::verdict::self_test::{Claim, Tally, claims, gate};

/// Pairs of drives a claim unless the user says otherwise.
pub const DRAWS: u64 = 5_000;

/// What came of one claim.
#[derive(Clone, Debug)]
pub struct Proven {
    /// What was claimed.
    pub claim: Claim,
    /// What the gate said.
    pub tally: Tally,
    /// Bounds that are broken; none where the claim holds.
    pub broken: Vec<String>,
}

/// Puts the gate to the test of all its claims, with so many pairs of drives each.
///
/// With fewer than [`DRAWS`] a bound may be missed by four standard errors: chance is then no defect.
#[must_use]
pub fn prove(draws: u64) -> Vec<Proven> {
    let errors = if draws < DRAWS { 4.0 } else { 0.0 };
    let left = Mutex::new(claims().into_iter().enumerate().collect::<Vec<_>>());
    let take = || left.lock().ok().and_then(|mut left| left.pop());
    let work = || {
        let mut proven = Vec::new();
        while let Some((at, claim)) = take() {
            let tally = claim.tally(&gate, draws);
            let broken = claim.broken(&tally, errors);
            proven.push((at, Proven { claim, tally, broken }));
        }
        proven
    };
    let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut proven: Vec<(usize, Proven)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    proven.sort_by_key(|(at, _)| *at);
    proven.into_iter().map(|(_, proven)| proven).collect()
}

/// Whole runs on simulated drives: what was planted, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// What the candidate is beside the baseline's drive.
    pub what: &'static str,
    /// Whether it is no worse.
    pub equal: bool,
    /// Verdicts.
    pub tally: Tally,
}

impl Played {
    /// Whether the gate was wrong: an equal drive that failed, or a worse one that did not.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        if self.equal { self.tally.failed > 0 || self.tally.held == 0 } else { self.tally.failed < self.tally.draws }
    }
}

/// A fill past the cache of the simulated drive, and random writes; judged like any other run.
const PROFILE: &str = r#"
name = "self-test"
version = 1
fill = { size = "6GiB", segments = 24, block = "1MiB", queue_depth = 4, interval = "200ms" }

[random_write]
scratch = "1GiB"
block = "64KiB"
queue_depth = 8
duration = "10s"
least_bytes = "0B"
purge = false

[judge]
gates = ["fill.fast_mb_s", "fill.cliff*_gb", "fill.floor_mb_s", "fill.mean_mb_s"]
"#;
/// A consumer drive at a sixteenth of its size, whose runs vary by half a percent.
const DRIVE: &str = "consumer-tlc?scale=16&cv=0.5%";
/// What is planted.
const PLANTED: [(&str, bool, &str); 5] = [
    ("equal", true, ""),
    ("all rates -12 %", false, "&slower=12%"),
    ("the floor -15 %", false, "&slower_floor=15%"),
    ("the floor -40 %", false, "&slower_floor=40%"),
    ("a corrupt block", false, "&fault=corrupt@1GB"),
];
const BASELINE_RUNS: u32 = 3;
const MOST_RUNS: u32 = 3;

/// Makes whole runs on simulated drives in `folder`, with so many pairs of drives each.
///
/// # Errors
/// A run or a baseline could not be made.
pub fn play(folder: &Path, drives: u64) -> Result<Vec<Played>, RequestError> {
    let one = |(what, equal, planted): (&'static str, bool, &str)| {
        let mut tally = Tally { draws: drives, ..Tally::default() };
        for drive in 1..=drives {
            let place = folder.join(format!("{}-{drive}", what.replace([' ', '%'], "")));
            let judging = Judging { baselines: place.join("baselines"), ..Judging::default() };
            let request = |seed: u64, changes: &str| -> Result<Request, RequestError> {
                let drive = SimTarget::parse(&format!("{DRIVE}&seed={seed}{changes}")).map_err(failed)?;
                let request = Request::new(drive, Profile::parse(PROFILE)?, place.join("runs"));
                Ok(Request { judging: judging.clone(), ..request })
            };
            let accepted = series(Series::new(request(2 * drive, "")?, BASELINE_RUNS, Vec::new()))?;
            let runs: Vec<_> = accepted.into_iter().map(|outcome| outcome.folder).collect();
            let (who, why) = ("self-test".to_owned(), "the drive as it is".to_owned());
            let reason = Reason { who, why, earlier: Earlier::Drop, new_golden: false, qualify: false };
            accept_runs(&runs, &judging, reason)?;
            let judged = series(Series::new(request(2 * drive + 1, planted)?, MOST_RUNS, Vec::new()))?;
            tally.runs += judged.len() as u64;
            match judged.last().map(|outcome| outcome.report.exit_code) {
                Some(0) => tally.held += 1,
                Some(1) => tally.failed += 1,
                _ => tally.undecided += 1,
            }
        }
        Ok(Played { what, equal, tally })
    };
    PLANTED.into_iter().map(one).collect()
}

fn series(mut series: Series) -> Result<Vec<Outcome>, RequestError> {
    let mut outcomes = Vec::new();
    loop {
        let outcome = run(&series.next_request(), &mut Nobody, &AtomicBool::new(false))?;
        let ended = series.take(&outcome);
        outcomes.push(outcome);
        if ended.is_some() {
            return Ok(outcomes);
        }
    }
}

/// Nobody watches.
struct Nobody;

impl Observer for Nobody {
    fn event(&mut self, _: Event<'_>) {}
}

fn failed(why: impl Display) -> RequestError {
    RequestError::Run(format!("the self-test's own drive: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_runs_on_simulated_drives_pass_what_is_equal_and_fail_what_is_worse() {
        let folder = tempfile::tempdir().unwrap();
        for played in play(folder.path(), 1).unwrap() {
            assert!(!played.is_broken(), "{played:?}");
        }
    }
}
