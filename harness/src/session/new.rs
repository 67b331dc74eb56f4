//! A new run: from a request to a measurement, or to the reports of a refusal.

use std::sync::atomic::AtomicBool;

use super::arm::{Refused, arm, concurrency, no_plan, place, plan};
use super::folder::{self, RunFolder};
use super::target::Site;
use super::{
    After, Event, Observer, Outcome, Request, RequestError, Target, command, compose, measure, preflight, stored,
};
use crate::engine::real::RealFactory;
use crate::engine::{Clock, EngineFactory};
use crate::journal::record::CommandRecord;
use crate::plan::phase::{Plan, PlanError};
use crate::report::FailureKind;
use crate::target::Facts;
use crate::target::open::Purpose;
use crate::target::space::Ground;
use crate::units::{Bytes, Nanos};

/// Measures: a new run.
///
/// # Errors
/// The request is unusable; everything that happens to a usable one is an [`Outcome`].
pub fn run(request: &Request, observer: &mut dyn Observer, stop: &AtomicBool) -> Result<Outcome, RequestError> {
    match &request.target {
        Target::Folder(folder) => run_on(folder, request, observer, stop, |plan, opened, _| {
            RealFactory::new(opened.scratch.clone(), Clock::starting_at(Nanos(0)), concurrency(plan))
        }),
        Target::Device(device) => run_on(device, request, observer, stop, |plan, opened, _| {
            let ground = Ground::Device(opened.device.clone());
            RealFactory::new(ground, Clock::starting_at(Nanos(0)), concurrency(plan))
        }),
        Target::Simulated(sim) => run_on(&**sim, request, observer, stop, |_, _, seed| sim.engines(seed)),
    }
}

/// [`run`], on the request's target and engines of the caller's choice, which learn the plan and the run's seed.
///
/// # Errors
/// As [`run`].
pub fn run_on<S: Site, F: EngineFactory>(
    site: &S,
    request: &Request,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
    engines: impl FnOnce(&Plan, &S::Held, u64) -> F,
) -> Result<Outcome, RequestError> {
    folder::check_out(&request.out)?;
    let request = &request.resolved();
    let before_run = request.before_run.as_deref().map(command::run).transpose();
    let facts = site.facts();
    let drive = facts.as_ref().map_or_else(|_| "unknown".to_owned(), folder::drive_slug);
    let run_folder = RunFolder::create(&request.out, &drive, &request.profile.name)?;
    let ended = |kind: FailureKind, why: &str, facts: Option<&Facts>| {
        let report = compose::without_journal(request, &run_folder, facts, kind, why);
        run_folder.write_reports(&report).map(|()| Outcome { report, folder: run_folder.path().to_owned() })
    };
    let refused = |why: &Refused, facts: Option<&Facts>| ended(FailureKind::Refused, &why.to_string(), facts);
    let before_run = match before_run {
        Ok(record) if record.as_ref().is_none_or(|record| record.exit_code == Some(0)) => record,
        Ok(record) => return Ok(ended(FailureKind::Failed, &command_failed(record.as_ref()), None)?),
        Err(why) => return Ok(ended(FailureKind::Failed, &format!("starting --before-run failed: {why}"), None)?),
    };
    let mut facts = match facts {
        Ok(facts) => facts,
        Err(why) => return Ok(refused(&why.into(), None)?),
    };
    if request.consent.purge.is_some() {
        facts.ask_subsystem();
    }
    if let Err(why) = place(&facts, &request.consent) {
        return Ok(refused(&why, Some(&facts))?);
    }
    let plan = match plan(request, &facts) {
        Ok(plan) => plan,
        Err(why @ PlanError::Budget { .. }) => {
            run_folder.remove_empty();
            return Err(RequestError::Budget(why));
        }
        Err(why) => return Ok(refused(&no_plan(why, &facts, &request.consent), Some(&facts))?),
    };
    let bench =
        match stored::bench(&facts, &request.profile.name, run_folder.path(), &request.earlier, &request.judging) {
            Ok(bench) => bench,
            Err(why) => {
                run_folder.remove_empty();
                return Err(why.into());
            }
        };
    let baseline = bench.found.baseline.as_ref();
    let preflight = preflight::check(&mut facts, baseline, stop, |note| observer.event(Event::Note(note)));
    let (armed, held) = match arm(site, &facts, &plan, &request.consent, run_folder.id(), Purpose::New, Bytes(0)) {
        Ok(both) => both,
        Err(why) => return Ok(refused(&why, Some(&facts))?),
    };
    let seed = site.seed(run_folder.id(), request.earlier.len());
    let factory = engines(&plan, &held, seed);
    let mut header = measure::header(request, &run_folder, &armed, plan, seed, &factory);
    header.before_run = before_run;
    let after = After { keep: request.keep, purge: request.purge_after };
    let deadline = request.max_time.map(|time| factory.now().saturating_add(time));
    let measurement =
        measure::Measurement { header, preflight, held, folder: &run_folder, after, deadline, stop, bench };
    measurement.new_run(observer, &factory)
}

/// A command before the run that failed: what is under test is not what was wanted.
fn command_failed(record: Option<&CommandRecord>) -> String {
    let Some(CommandRecord { command, exit_code, output }) = record else { return String::new() };
    let code = exit_code.map_or_else(|| "was ended by a signal".to_owned(), |code| format!("ended with {code}"));
    let last = output.trim_end().lines().last().map(|line| format!(", saying: {line}")).unwrap_or_default();
    format!("the command before the run ({command}) {code}{last}; nothing was measured")
}
