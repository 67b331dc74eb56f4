//! One measurement: journal, run loop, clean-up and reports, whatever happens in between.
//!
//! Whatever ends the run (an error, a signal, a panic), the journal gets its end, the scratch folder goes
//! (unless it is to be kept) and the reports are written.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;

use super::folder::RunFolder;
use super::gauge::gauge;
use super::judging::Bench;
use super::target::Held;
use super::watch::until_steady;
use super::{After, Event, Observer, Outcome, Request, RequestError, compose, wall};
use crate::engine::EngineFactory;
use crate::environment::Check;
use crate::journal::file::{self, JournalError, Writer};
use crate::journal::record::{Erase, Header, Outcome as Ending, Record};
use crate::journal::replay::Replay;
use crate::plan::phase::Plan;
use crate::report::FailureKind;
use crate::run::{Run, Sink, Stopped};
use crate::sample::purge::NamedPurge;
use crate::target::{self, DeviceCounters, Facts};
use crate::units::{Nanos, Rate};

/// A run that is about to happen or to go on.
pub(super) struct Measurement<'a, H> {
    pub(super) header: Header,
    /// Whether this is a fair moment to begin; empty where the run goes on.
    pub(super) preflight: Vec<Check>,
    pub(super) held: H,
    pub(super) folder: &'a RunFolder,
    pub(super) after: After,
    pub(super) deadline: Option<Nanos>,
    pub(super) stop: &'a AtomicBool,
    pub(super) bench: Bench,
}

/// The header of a new run.
pub(super) fn header(
    request: &Request,
    folder: &RunFolder,
    facts: Facts,
    plan: Plan,
    seed: u64,
    factory: &impl EngineFactory,
) -> Header {
    let mut environment = target::environment(&facts);
    environment.note("engine", Some(factory.name()));
    // The drive's own purge comes first, whatever the phases add to it.
    environment.note("purge", request.consent.purge.map(NamedPurge::word));
    Header {
        run: folder.id().to_owned(),
        started: folder.started().to_owned(),
        profile: request.profile.to_toml(),
        fingerprint: request.profile.fingerprint(),
        seed,
        engine: factory.name().to_owned(),
        engine_note: factory.note().map(str::to_owned),
        // A kernel that nobody gave a name says "(none)".
        host: sysinfo::System::host_name().ok().filter(|name| name != "(none)"),
        plan,
        journal_on_target: Facts::read(folder.path()).is_ok_and(|out| same_drive(&out, &facts)),
        facts,
        environment,
        fill_volume: request.consent.fill_volume.clone(),
        erase: request.consent.erase.split_first().map(|(identity, others)| Erase {
            identity: identity.clone(),
            contents: request.consent.erase_contents,
            shared: request.consent.shared_storage,
            others: others.to_vec(),
            purge: request.consent.purge,
        }),
        before_run: None,
        reset: None,
        waited_ns: None,
        earlier: request.earlier.clone(),
        repeat: request.repeat,
    }
}

fn same_drive(a: &Facts, b: &Facts) -> bool {
    let filesystem = |facts: &Facts| facts.folder().map(|folder| folder.filesystem.device);
    filesystem(a).is_some() && filesystem(a) == filesystem(b)
        || matches!((&a.drive, &b.drive), (Some(a), Some(b)) if a.device == b.device)
}

impl<H: Held> Measurement<'_, H> {
    pub(super) fn new_run<F: EngineFactory>(
        self,
        observer: &mut dyn Observer,
        factory: &F,
    ) -> Result<Outcome, RequestError> {
        for (run, freed) in self.held.removed() {
            observer.event(Event::Note(format!("removed what run {run} had left: {freed} freed")));
        }
        if let (false, Err(errno)) = (self.header.earlier.is_empty(), self.held.trim()) {
            let why = std::io::Error::from(errno);
            let what = "discarding what the run before had written failed";
            observer.event(Event::Note(format!("{what} ({why}): the drive is purged by deletion only")));
        }
        observer.event(Event::Begins { folder: self.folder.path(), header: &self.header, so_far: None });
        let found = &self.bench.found;
        // Hours before the verdict would say it.
        if found.baseline.as_ref().is_some_and(|baseline| baseline.fingerprint != self.header.fingerprint) {
            let path = found.path.display();
            observer.event(Event::Note(format!("{path} is of another version of this profile and will not be used")));
        }
        let begun = new_journal(self.folder, &self.header.plan).and_then(|mut journal| {
            journal.append(&Record::Header(Box::new(self.header.clone())))?;
            if !self.preflight.is_empty() {
                journal.append(&Record::Preflight { checks: self.preflight.clone() })?;
            }
            journal.sync()?;
            Ok(journal)
        });
        self.measure(begun, None, observer, factory)
    }

    pub(super) fn resumed<F: EngineFactory>(
        self,
        so_far: Replay,
        observer: &mut dyn Observer,
        factory: &F,
    ) -> Result<Outcome, RequestError> {
        let wall = wall::rfc3339();
        let at_ns = so_far.last_ns;
        let begun = Writer::resume(&self.folder.path().join(file::NAME)).and_then(|(mut journal, mut records)| {
            let mark = Record::Resume { at_ns, wall };
            journal.append(&mark)?;
            journal.sync()?;
            records.push(mark);
            Ok((journal, records))
        });
        let (journal, records) = begun?;
        let so_far = Replay::new(records)
            .map_err(|source| JournalError::Replay { path: self.folder.path().join(file::NAME), source })?;
        observer.event(Event::Begins { folder: self.folder.path(), header: &self.header, so_far: Some(&so_far) });
        self.measure(Ok(journal), Some(so_far), observer, factory)
    }

    fn measure<F: EngineFactory>(
        self,
        journal: Result<Writer, JournalError>,
        so_far: Option<Replay>,
        observer: &mut dyn Observer,
        factory: &F,
    ) -> Result<Outcome, RequestError> {
        let stopped = match journal {
            Ok(mut journal) => {
                let result = self.guarded(&mut journal, so_far.as_ref(), observer, factory);
                // A full disk gets its room back before anything else is written.
                let cleaned = self.clean_up();
                end(journal, factory.now(), result, cleaned, observer)
            }
            Err(why) => {
                let cleaned = self.clean_up();
                Some(why.to_string() + &cleaned.err().map(|why| format!("; and {why}")).unwrap_or_default())
            }
        };
        let report = match file::read(self.folder.path()) {
            Ok(replay) => compose::judged(&replay, Some(&self.bench)).0,
            Err(why) => {
                let why = stopped.unwrap_or_else(|| why.to_string());
                compose::with_header(&self.header, FailureKind::Failed, &why)
            }
        };
        let written = self.folder.write_reports(&report);
        if written.is_err() && self.after.keep && self.held.remove_last().unwrap_or(false) {
            // On a full disk one of the files that were to be kept makes room for what is said of them all.
            self.folder.write_reports(&report)?;
        } else {
            written?;
        }
        Ok(Outcome { report, folder: self.folder.path().to_owned() })
    }

    /// The run loop, a panic of its own included.
    fn guarded<F: EngineFactory>(
        &self,
        journal: &mut Writer,
        so_far: Option<&Replay>,
        observer: &mut dyn Observer,
        factory: &F,
    ) -> Result<(), Stopped> {
        let facts = &self.header.facts;
        let counters = || DeviceCounters::sum(facts.carriers());
        let mut sink = Tee { journal, observer };
        let work = || {
            self.purge(&mut sink, &|| factory.now())?;
            let plan = &self.header.plan;
            let run = Run::new(plan, factory, self.header.seed, self.stop, &counters, &mut sink, so_far);
            let mut watch = until_steady(plan);
            let mut gauge = gauge(&self.header.facts, factory);
            let run = run.on_whole_device(facts.block().is_some()).witnessed_by(self.held.witness());
            run.watched_by(&mut watch).gauged_by(&mut gauge).until(self.deadline).run()
        };
        // What a panic leaves broken is not used again: only the journal's file, which appends whole lines.
        catch_unwind(AssertUnwindSafe(work))
            .unwrap_or_else(|panic| Err(Stopped::Panic(crate::run::panic_text(&*panic))))
    }

    /// Removes the scratch folder, unless it is to be kept.
    fn clean_up(&self) -> Result<(), String> {
        if !self.after.keep {
            self.remove()?;
        }
        if self.after.purge {
            self.held.trim().map_err(|errno| {
                format!("--after purge: discarding what is unused failed: {}", std::io::Error::from(errno))
            })?;
        }
        Ok(())
    }

    fn remove(&self) -> Result<(), String> {
        self.held.remove().map(|_| ()).map_err(|errno| {
            let (path, why) = (self.header.facts.path.display(), std::io::Error::from(errno));
            match self.header.facts.block() {
                Some(_) => format!("clearing {path} failed: {why}; it may still hold what the run wrote"),
                None => format!("removing {} in {path} failed: {why}; remove it by hand", self.held.name()),
            }
        })
    }
}

/// Gives the journal its end; says why the run stopped, if it did.
fn end(
    mut journal: Writer,
    at_ns: Nanos,
    result: Result<(), Stopped>,
    cleaned: Result<(), String>,
    observer: &mut dyn Observer,
) -> Option<String> {
    let (outcome, reason) = match (result, cleaned) {
        (Ok(()), Ok(())) => (Ending::Complete, None),
        (Ok(()), Err(why)) => (Ending::Failed, Some(why)),
        (Err(why @ (Stopped::TimeLimit | Stopped::TooHot { .. })), Ok(())) => {
            (Ending::Interrupted, Some(why.to_string()))
        }
        (Err(Stopped::Interrupted), Ok(())) => (Ending::Interrupted, Some("stopped by a signal".to_owned())),
        (Err(why), Ok(())) => (Ending::Failed, Some(why.to_string())),
        (Err(why), Err(and)) => (Ending::Failed, Some(format!("{why}; and {and}"))),
    };
    let record = Record::End { at_ns, outcome, reason: reason.clone() };
    match journal.append(&record).and_then(|()| journal.finish()) {
        Ok(()) => {
            observer.event(Event::Record(&record));
            reason
        }
        Err(why) => Some(reason.map_or_else(|| why.to_string(), |reason| format!("{reason}; and {why}"))),
    }
}

/// Writes each record to the journal and then shows it to the observer.
pub(super) struct Tee<'a> {
    journal: &'a mut Writer,
    observer: &'a mut dyn Observer,
}

impl Tee<'_> {
    /// Shows the observer what is worth a line and no record.
    pub(super) fn note(&mut self, text: String) {
        self.observer.event(Event::Note(text));
    }
}

impl Sink for Tee<'_> {
    fn record(&mut self, record: Record) -> Result<(), Stopped> {
        self.journal.append(&record)?;
        self.observer.event(Event::Record(&record));
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Stopped> {
        Ok(self.journal.sync()?)
    }
}

/// Bytes to keep free for a journal: a line an interval at the planned size, and some more.
fn journal_room(plan: &Plan) -> u64 {
    const LINE: u64 = 320;
    let slow = Rate(50e6);
    let lines: u64 = plan
        .phases
        .iter()
        .map(|phase| {
            let moving = phase.moves().per(Nanos(1_000_000_000)).map_or(0.0, |rate| rate.0) / slow.0;
            let seconds = moving.max(phase.least_time().secs());
            (seconds / phase.interval_ns.secs().max(1e-3)) as u64 + 3 * u64::from(phase.layout.segments) + 4
        })
        .sum();
    (lines * LINE).clamp(1 << 20, 64 << 20)
}

/// A new journal for a run in `folder`.
fn new_journal(folder: &RunFolder, plan: &Plan) -> Result<Writer, JournalError> {
    Writer::create(&folder.path().join(file::NAME), journal_room(plan))
}
