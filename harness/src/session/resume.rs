//! A run that was cut: goes on with it, or removes what it left.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::arm::{Refused, arm, concurrency};
use super::folder::{self, RunFolder};
use super::gauge::gauge;
use super::judging::{Bench, Judging};
use super::placement::Placed;
use super::target::{Held, Site};
use super::{Event, Limits, Observer, Outcome, RequestError, Target, compose, measure, purge, stored, wall};
use crate::engine::real::RealFactory;
use crate::engine::{Clock, EngineFactory};
use crate::environment::PLACEMENT;
use crate::journal::file::{self, Writer};
use crate::journal::record::{Header, Outcome as Ending, Record};
use crate::journal::replay::Replay;
use crate::report::FailureKind;
use crate::target::open::{OpenError, Purpose};
use crate::target::space::Ground;
use crate::target::{Consent, DeviceRefusal, Facts, Refusal};
use crate::units::Bytes;

/// Goes on with a run that was cut.
///
/// # Errors
/// The run cannot be read or is finished.
pub fn resume(
    run: &Path,
    limits: Limits,
    judging: &Judging,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Outcome, RequestError> {
    let so_far = file::read(RunFolder::open(run)?.path())?;
    match Target::of_run(&so_far.header.facts)? {
        Target::Folder(folder) => resume_on(&folder, run, limits, judging, observer, stop, |so_far, opened| {
            let (header, clock) = (&so_far.header, Clock::starting_at(so_far.last_ns));
            Ok(RealFactory::named(&header.engine, opened.scratch.clone(), clock, concurrency(&header.plan)))
        }),
        Target::Device(device) => resume_on(&device, run, limits, judging, observer, stop, |so_far, opened| {
            let (header, clock) = (&so_far.header, Clock::starting_at(so_far.last_ns));
            let ground = Ground::Device(opened.device.clone());
            Ok(RealFactory::named(&header.engine, ground, clock, concurrency(&header.plan)))
        }),
        Target::Simulated(sim) => resume_on(&*sim, run, limits, judging, observer, stop, |so_far, _| {
            let factory = sim.engines(so_far.header.seed);
            let records = file::records(run).map_err(|why| why.to_string())?;
            crate::run::again(&records, &factory, || gauge(&so_far.header.facts, &factory))?;
            Ok(factory)
        }),
    }
}

/// [`resume`], on this target and engines of the caller's choice, whose clock goes on where the journal ends.
fn resume_on<S: Site, F: EngineFactory>(
    site: &S,
    run: &Path,
    limits: Limits,
    judging: &Judging,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
    engines: impl FnOnce(&Replay, &S::Held) -> Result<F, String>,
) -> Result<Outcome, RequestError> {
    let run_folder = RunFolder::open(run)?;
    let so_far = file::read(run_folder.path())?;
    if let Some((Ending::Complete, _)) = so_far.end {
        return Err(RequestError::Run(format!(
            "run {} is finished: there is nothing to go on with; `judge` judges it again",
            so_far.header.run
        )));
    }
    let bench = stored::bench_of(&so_far, run_folder.path(), judging)?;
    let header = so_far.header.clone();
    if so_far.purging.is_some() {
        let what = "the run was cut while the drive purged itself: it begins with that again, once the drive is free";
        observer.event(Event::Note(what.to_owned()));
    }
    let reopened =
        await_purge(site, &so_far, observer, stop).and_then(|_| reopen(site, &header, &so_far, Purpose::Resume));
    let held = match reopened {
        Ok(held) => held,
        Err(
            Refused::Open(OpenError::NoScratch { .. })
            | Refused::Guard(Refusal::Device { why: DeviceRefusal::NotTheRunsOwn { .. }, .. }),
        ) if is_done(&so_far) => {
            return finish(&run_folder, &so_far, limits, &bench, observer);
        }
        Err(why) => {
            // A refusal must not alter the measurement: the run's journal and its earlier reports stay.
            let (kind, again) = match (&why, so_far.purging) {
                (Refused::Interrupted(_), _) => (FailureKind::Interrupted, String::new()),
                (_, None) => (FailureKind::Refused, String::new()),
                (_, Some(purge)) => (
                    FailureKind::Refused,
                    format!(
                        " The run was cut while the drive purged itself, and has nothing on it: start a new one \
                         with --purge {}",
                        purge.word()
                    ),
                ),
            };
            let report = compose::not_resumed(&so_far, kind, &format!("{why}{again}"));
            return Ok(Outcome { report, folder: run_folder.path().to_owned() });
        }
    };
    let placement = Placed::on_the_drives_node(&header.facts);
    let factory = engines(&so_far, &held).and_then(|factory| {
        same_engine(&header, &factory)?;
        same_place(&header, &placement)?;
        crate::run::check_finished(&so_far, &factory)?;
        Ok(factory)
    });
    let factory = match factory {
        Ok(factory) => factory,
        Err(why) => {
            let report = compose::not_resumed(&so_far, FailureKind::Refused, &why);
            return Ok(Outcome { report, folder: run_folder.path().to_owned() });
        }
    };
    let deadline = limits.max_time.map(|time| factory.now().saturating_add(time));
    let after = limits.after;
    let measurement =
        measure::Measurement { header, preflight: Vec::new(), held, folder: &run_folder, after, deadline, stop, bench };
    measurement.resumed(so_far, observer, &factory)
}

/// Whether every phase of the plan has its end.
fn is_done(so_far: &Replay) -> bool {
    let done = |id: &str| so_far.phase(id).is_some_and(|phase| phase.end_ns.is_some());
    so_far.header.plan.phases.iter().all(|phase| done(&phase.id))
}

/// Ends a run that was cut between its clean-up and its journal's end: only its reports are left to be made.
fn finish(
    run_folder: &RunFolder,
    so_far: &Replay,
    limits: Limits,
    bench: &Bench,
    observer: &mut dyn Observer,
) -> Result<Outcome, RequestError> {
    if limits.after.purge {
        let note = "--after purge was not done: the run's files are gone already; run fstrim on the filesystem";
        observer.event(Event::Note(note.to_owned()));
    }
    let at_ns = so_far.last_ns;
    let (mut journal, _) = Writer::resume(&run_folder.path().join(file::NAME))?;
    journal.append(&Record::Resume { at_ns, wall: wall::rfc3339() })?;
    journal.append(&Record::End { at_ns, outcome: Ending::Complete, reason: None })?;
    journal.finish()?;
    let report = compose::judged(&file::read(run_folder.path())?, Some(bench)).0;
    run_folder.write_reports(&report)?;
    Ok(Outcome { report, folder: run_folder.path().to_owned() })
}

/// Figures of two engines are not one run's.
fn same_engine(header: &Header, factory: &impl EngineFactory) -> Result<(), String> {
    if factory.name() == header.engine {
        return Ok(());
    }
    let why = factory.note().map(|note| format!(" ({note})")).unwrap_or_default();
    Err(format!(
        "the run began with the engine {} and would go on with {}{why}: make {} available again, or start a new run",
        header.engine,
        factory.name(),
        header.engine
    ))
}

/// Nor are those of another NUMA node.
fn same_place(header: &Header, placement: &Placed) -> Result<(), String> {
    let (before, now) = (header.environment.get(PLACEMENT), placement.words());
    if before == now {
        return Ok(());
    }
    let said = |place: Option<&str>| place.unwrap_or("one node").to_owned();
    Err(format!(
        "the run's threads and buffers began on {} and would go on on {}: allow the same processors again, or start a new run",
        said(before),
        said(now)
    ))
}

/// Removes what a run that was cut left on its target; gives the bytes freed.
///
/// # Errors
/// The run cannot be read, or its files are not there.
pub fn discard(run: &Path, observer: &mut dyn Observer, stop: &AtomicBool) -> Result<(String, Bytes), RequestError> {
    let run_folder = RunFolder::open(run)?;
    let so_far = file::read(run_folder.path())?;
    let run = so_far.header.run.clone();
    let freed = match Target::of_run(&so_far.header.facts)? {
        Target::Folder(folder) => discard_on(&folder, &so_far, observer, stop),
        Target::Device(device) => discard_on(&device, &so_far, observer, stop),
        Target::Simulated(sim) => discard_on(&*sim, &so_far, observer, stop),
    };
    freed.map(|freed| (run, freed))
}

fn discard_on<S: Site>(
    site: &S,
    so_far: &Replay,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Bytes, RequestError> {
    let unmarked = await_purge(site, so_far, observer, stop).map_err(|why| match why {
        Refused::Interrupted(why) => RequestError::Interrupted(why),
        why => RequestError::Run(why.to_string()),
    })?;
    if unmarked {
        let what = "the run was cut while the drive purged itself, which is over now: it has nothing on the drive";
        observer.event(Event::Note(what.to_owned()));
        return Ok(Bytes(0));
    }
    let held = reopen(site, &so_far.header, so_far, Purpose::Discard);
    let held = held.map_err(|why| RequestError::Run(why.to_string()))?;
    held.remove().map_err(|errno| {
        let run = &so_far.header.run;
        RequestError::Run(format!("removing the files of run {run} failed: {}", std::io::Error::from(errno)))
    })
}

/// Where a run was cut while the drive purged itself: waits until it does so no longer, and gives whether the device does
/// not carry the run's marker yet.
fn await_purge<S: Site>(
    site: &S,
    so_far: &Replay,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<bool, Refused> {
    if so_far.purging.is_none() {
        return Ok(false);
    }
    let facts = site.facts()?;
    same_drive(&so_far.header, &facts)?;
    purge::wait(&facts, observer, stop)?;
    let facts = site.facts()?;
    Ok(facts.block().is_some_and(|block| block.contents.marked_by.as_ref() != Some(&so_far.header.run)))
}

/// The whole guard again, and the same drive and scratch folder as before.
fn reopen<S: Site>(site: &S, header: &Header, so_far: &Replay, purpose: Purpose) -> Result<S::Held, Refused> {
    let mut facts = site.facts()?;
    same_drive(header, &facts)?;
    let there = so_far.phases.last().map_or(Bytes(0), |phase| {
        let planned = header.plan.phase(&phase.id);
        planned.map_or(Bytes(0), |planned| planned.layout.bytes())
    });
    // What was cut before it had a marker begins anew, with all that the user allowed and no more.
    let purge = so_far.purging.filter(|_| purpose == Purpose::Resume);
    let purpose = if purge.is_some() { Purpose::New } else { purpose };
    if purge.is_some() {
        facts.ask_subsystem();
    }
    let erase = header.erase.as_ref();
    let consent = Consent {
        fill_volume: header.fill_volume.clone(),
        erase: erase
            .into_iter()
            .flat_map(|erase| std::iter::once(&erase.identity).chain(&erase.others))
            .cloned()
            .collect(),
        erase_contents: erase.is_some_and(|erase| erase.contents),
        shared_storage: erase.is_some_and(|erase| erase.shared),
        purge,
        resumes: purge.is_none().then(|| header.run.clone()),
        journal: None,
    };
    arm(site, &facts, &header.plan, &consent, &header.run, purpose, there).map(|(_, held)| held)
}

/// Whether the target is on the drive on which the run began.
fn same_drive(header: &Header, facts: &Facts) -> Result<(), Refused> {
    if header.facts.simulated() != facts.simulated() {
        return Err(Refused::Other(format!(
            "{} is not the drive any more that it was when the run began: its description or this program changed; \
             start a new run",
            header.facts.path.display()
        )));
    }
    if let (Some(before), Some(now)) = (&header.facts.drive, &facts.drive) {
        let known = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
        if known(&before.serial, &now.serial) || known(&before.wwid, &now.wwid) {
            return Err(Refused::Other(format!(
                "{} is on another drive than when the run began: it was {}, now it is {}; mount the right drive there",
                header.facts.path.display(),
                folder::drive_line(&header.facts),
                folder::drive_line(facts)
            )));
        }
    }
    Ok(())
}
