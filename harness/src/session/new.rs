//! A new run: from a request to a measurement, or to the reports of a refusal.

use std::sync::atomic::AtomicBool;

use super::arm::{Refused, arm, concurrency, no_plan, place, plan};
use super::folder::{self, RunFolder};
use super::placement::Placed;
use super::target::Site;
use super::{
    After, Event, Observer, Outcome, Request, RequestError, Target, command, compose, measure, preflight, stored,
};
use crate::engine::real::RealFactory;
use crate::engine::{Clock, EngineFactory};
use crate::environment::{PLACEMENT, RESET};
use crate::journal::record::CommandRecord;
use crate::plan::phase::{Plan, PlanError};
use crate::report::FailureKind;
use crate::target::open::Purpose;
use crate::target::preflight::checks;
use crate::target::space::Ground;
use crate::target::{Facts, FactsError};
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
    let before_run = command::must("the command before the run", request.before_run.as_deref());
    let facts = site.facts();
    let drive = facts.as_ref().map_or_else(|_| "unknown".to_owned(), folder::drive_slug);
    let folder = RunFolder::create(&request.out, &drive, &request.profile.name)?;
    let new = New { site, request, folder: &folder, stop };
    match new.run(before_run, facts, observer, engines) {
        Ok(outcome) => Ok(outcome),
        Err(Ended::Unusable(why)) => {
            folder.remove_empty();
            Err(why)
        }
        Err(Ended::Unmeasured { kind, why, facts }) => {
            let report = compose::without_journal(request, &folder, facts.as_deref(), kind, &why);
            folder.write_reports(&report)?;
            Ok(Outcome { report, folder: folder.path().to_owned() })
        }
    }
}

/// A run that is to be made.
struct New<'a, S> {
    site: &'a S,
    request: &'a Request,
    folder: &'a RunFolder,
    stop: &'a AtomicBool,
}

/// Why nothing was measured.
enum Ended {
    /// The request cannot be used.
    Unusable(RequestError),
    /// It can, and the target or a command ended it.
    Unmeasured { kind: FailureKind, why: String, facts: Option<Box<Facts>> },
}

impl<S: Site> New<'_, S> {
    fn run<F: EngineFactory>(
        &self,
        before_run: Result<Option<CommandRecord>, String>,
        facts: Result<Facts, FactsError>,
        observer: &mut dyn Observer,
        engines: impl FnOnce(&Plan, &S::Held, u64) -> F,
    ) -> Result<Outcome, Ended> {
        let New { site, request, folder, stop } = *self;
        let before_run = before_run.map_err(|why| Ended::failed(why, None))?;
        let mut facts = self.placed(facts)?;
        // Only what may be measured is reset, and what the reset left is looked at anew.
        let reset = command::must("the profile's reset command", request.profile.reset.as_deref())
            .map_err(|why| Ended::failed(why, Some(&facts)))?;
        if reset.is_some() {
            facts = self.placed(site.facts())?;
        }
        let plan = plan(request, &facts).map_err(|why| match why {
            PlanError::Budget { .. } => Ended::Unusable(RequestError::Budget(why)),
            why => Ended::refused(&no_plan(why, &facts, &request.consent), Some(&facts)),
        })?;
        let bench = stored::bench(&facts, &request.profile.name, folder.path(), &request.earlier, &request.judging)
            .map_err(|why| Ended::Unusable(why.into()))?;
        let mut moment = preflight::look(&facts, bench.found.baseline.as_ref());
        let (armed, held) = arm(site, &facts, &plan, &request.consent, folder.id(), Purpose::New, Bytes(0))
            .map_err(|why| Ended::refused(&why, Some(&facts)))?;
        let mut facts = armed.facts().clone();
        let placement = Placed::on_the_drives_node(&facts);
        let seed = site.seed(folder.id(), request.earlier.len());
        let factory = engines(&plan, &held, seed);
        preflight::wait(&mut facts, &mut moment, &factory, stop, |note| observer.event(Event::Note(note)));
        let mut header = measure::header(request, folder, facts, plan, seed, &factory);
        header.environment.note(PLACEMENT, placement.words());
        if header.environment.get(RESET).is_some() && reset.is_some() {
            header.environment.note(RESET, Some("reset"));
        }
        (header.before_run, header.reset) = (before_run, reset);
        header.waited_ns = (moment.waited_s > 0).then(|| Nanos::from_secs(moment.waited_s));
        let preflight = checks(&header.facts, &header.environment, &moment);
        let after = After { keep: request.keep, purge: request.purge_after };
        let deadline = request.max_time.map(|time| factory.now().saturating_add(time));
        let measurement = measure::Measurement { header, preflight, held, folder, after, deadline, stop, bench };
        measurement.new_run(observer, &factory).map_err(Ended::Unusable)
    }

    /// What is known of a target on which a run may be made at all.
    fn placed(&self, facts: Result<Facts, FactsError>) -> Result<Facts, Ended> {
        let mut facts = facts.map_err(|why| Ended::refused(&why.into(), None))?;
        if self.request.consent.purge.is_some() {
            facts.ask_subsystem();
        }
        place(&facts, &self.request.consent).map_err(|why| Ended::refused(&why, Some(&facts)))?;
        Ok(facts)
    }
}

impl Ended {
    fn refused(why: &Refused, facts: Option<&Facts>) -> Ended {
        Ended::Unmeasured { kind: FailureKind::Refused, why: why.to_string(), facts: facts.cloned().map(Box::new) }
    }

    fn failed(why: String, facts: Option<&Facts>) -> Ended {
        Ended::Unmeasured { kind: FailureKind::Failed, why, facts: facts.cloned().map(Box::new) }
    }
}
