//! Composes the stages into whole runs: a new one, a resumed one, a plan that is only shown.
//!
//! The one place that knows all stages. Prints nothing: a caller watches through an [`Observer`] and gets
//! an [`Outcome`].

mod command;
pub mod compose;
pub mod folder;
mod measure;
mod wall;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::engine::real::{Concurrency, RealFactory};
use crate::engine::{Clock, EngineFactory};
use crate::journal::file::{self, JournalError, Writer};
use crate::journal::record::{CommandRecord, Header, Outcome as Ending, Record};
use crate::journal::replay::Replay;
use crate::plan::phase::{Capacity, Plan, PlanError};
use crate::plan::profile::{Profile, ProfileError};
use crate::report::{FailureKind, Report};
use crate::target::guard::{Armed, Consent, Need};
use crate::target::open::{OpenError, Opened, Purpose, open};
use crate::target::{self, Facts};
use crate::units::{Bytes, Nanos};
use folder::{FolderError, RunFolder};

/// What the user asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Folder to measure in.
    pub target: PathBuf,
    /// What to do there.
    pub profile: Profile,
    /// Folder that run folders go into.
    pub out: PathBuf,
    /// What the user allows.
    pub consent: Consent,
    /// Leave the scratch folder in place.
    pub keep: bool,
    /// The most that may be written, if less than the profile allows.
    pub max_write: Option<Bytes>,
    /// The run ends after this time at the latest, finished or not.
    pub max_time: Option<Nanos>,
    /// Run by the shell before the target is looked at.
    pub before_run: Option<String>,
    /// Tell the drive at the end which space is unused.
    pub purge_after: bool,
}

impl Request {
    /// Measure `target` by `profile`, with run folders in `out` and nothing else allowed or asked for.
    #[must_use]
    pub fn new(target: PathBuf, profile: Profile, out: PathBuf) -> Request {
        Request {
            target,
            profile,
            out,
            consent: Consent::default(),
            keep: false,
            max_write: None,
            max_time: None,
            before_run: None,
            purge_after: false,
        }
    }

    /// The same request with the named mount point as the kernel names it: the guard compares it by its parts.
    fn resolved(&self) -> Request {
        let mut request = self.clone();
        if let Some(volume) = &mut request.consent.fill_volume
            && let Ok(path) = volume.canonicalize()
        {
            *volume = path;
        }
        request
    }
}

/// What becomes of the test files and the drive at the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct After {
    /// Leave the scratch folder in place.
    pub keep: bool,
    /// Tell the drive which space is unused.
    pub purge: bool,
}

/// What may be said anew when a run is resumed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// At the end.
    pub after: After,
    /// From now on, at the most.
    pub max_time: Option<Nanos>,
}

/// What a caller may watch while a run goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// The run is about to begin or to go on.
    Begins {
        /// Where its files go.
        folder: &'a Path,
        /// What it is.
        header: &'a Header,
        /// What a resumed run has done already.
        so_far: Option<&'a Replay>,
    },
    /// A record went into the journal.
    Record(&'a Record),
    /// Something worth a line: what a dead run left was removed, the run is resumed.
    Note(String),
}

/// Watches a run.
pub trait Observer {
    /// Takes an event; a slow observer slows the journal, never the I/O.
    fn event(&mut self, event: Event<'_>);
}

/// A run that came to an end, good or bad.
#[derive(Debug)]
pub struct Outcome {
    /// What is said of it.
    pub report: Report,
    /// Where its files are.
    pub folder: PathBuf,
}

/// Why there is no run at all: the request itself is unusable.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The plan breaks the user's own budget.
    #[error(transparent)]
    Budget(PlanError),
    /// The output folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The journal of the run to go on with.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The run to resume or discard cannot be.
    #[error("{0}")]
    Run(String),
}

/// Why a target gets no run; nothing was written to it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error(transparent)]
    Facts(#[from] target::FactsError),
    #[error(transparent)]
    Guard(#[from] target::Refusal),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{0}")]
    Other(String),
}

/// A plan and what it was made for, to be shown.
#[derive(Debug)]
pub struct Preview {
    /// The plan; or why there is none.
    pub plan: Plan,
    /// The target.
    pub facts: Facts,
    /// Whether the guard would let it run, and if not, why.
    pub refusal: Option<String>,
}

/// What a run would do, and whether it may.
///
/// # Errors
/// The request is unusable, or nothing can be known of the target.
pub fn preview(request: &Request) -> Result<Preview, PreviewError> {
    let request = &request.resolved();
    let facts = Facts::read(&request.target).map_err(|why| PreviewError::Refused(why.to_string()))?;
    let plan = match plan(request, &facts) {
        Ok(plan) => plan,
        Err(why @ PlanError::Budget { .. }) => return Err(RequestError::Budget(why).into()),
        Err(why) => {
            let why = place(&facts, &request.consent).err().unwrap_or_else(|| why.into());
            return Err(PreviewError::Refused(why.to_string()));
        }
    };
    let need = Need { space: plan.space, writes: plan.writes };
    let refusal = target::guard(facts.clone(), &need, &request.consent).err().map(|why| why.to_string());
    Ok(Preview { plan, facts, refusal })
}

/// Why there is no preview.
#[derive(Debug, thiserror::Error)]
pub enum PreviewError {
    /// The request is unusable.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The target is.
    #[error("{0}")]
    Refused(String),
}

/// Measures: a new run.
///
/// # Errors
/// The request is unusable; everything that happens to a usable one is an [`Outcome`].
pub fn run(request: &Request, observer: &mut dyn Observer, stop: &AtomicBool) -> Result<Outcome, RequestError> {
    run_with(request, observer, stop, |plan, opened, clock| {
        RealFactory::new(opened.scratch.clone(), clock, concurrency(plan))
    })
}

/// [`run`], on engines of the caller's choice.
///
/// # Errors
/// As [`run`].
pub fn run_with<F: EngineFactory>(
    request: &Request,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
    engines: impl FnOnce(&Plan, &Opened, Clock) -> F,
) -> Result<Outcome, RequestError> {
    folder::check_out(&request.out)?;
    let request = &request.resolved();
    let before_run = request.before_run.as_deref().map(command::run).transpose();
    let facts = Facts::read(&request.target);
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
    let facts = match facts {
        Ok(facts) => facts,
        Err(why) => return Ok(refused(&why.into(), None)?),
    };
    if let Err(why) = place(&facts, &request.consent) {
        return Ok(refused(&why, Some(&facts))?);
    }
    let plan = match plan(request, &facts) {
        Ok(plan) => plan,
        Err(why @ PlanError::Budget { .. }) => {
            run_folder.remove_empty();
            return Err(RequestError::Budget(why));
        }
        Err(why) => return Ok(refused(&why.into(), Some(&facts))?),
    };
    let (armed, opened) = match arm(&facts, &plan, &request.consent, run_folder.id(), Purpose::New, Bytes(0)) {
        Ok(both) => both,
        Err(why) => return Ok(refused(&why, Some(&facts))?),
    };
    let clock = Clock::starting_at(Nanos(0));
    let factory = engines(&plan, &opened, clock);
    let mut header = measure::header(request, &run_folder, &armed, plan, &factory);
    header.before_run = before_run;
    let after = After { keep: request.keep, purge: request.purge_after };
    let deadline = request.max_time.map(|time| clock.now().saturating_add(time));
    let measurement = measure::Measurement { header, opened, folder: &run_folder, after, deadline, stop };
    measurement.new_run(observer, &factory, clock)
}

/// Goes on with a run that was cut.
///
/// # Errors
/// The run cannot be read or is finished.
pub fn resume(
    run: &Path,
    limits: Limits,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Outcome, RequestError> {
    resume_with(run, limits, observer, stop, |header, opened, clock| {
        RealFactory::named(&header.engine, opened.scratch.clone(), clock, concurrency(&header.plan))
    })
}

/// [`resume`], on engines of the caller's choice.
///
/// # Errors
/// As [`resume`].
pub fn resume_with<F: EngineFactory>(
    run: &Path,
    limits: Limits,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
    engines: impl FnOnce(&Header, &Opened, Clock) -> F,
) -> Result<Outcome, RequestError> {
    let run_folder = RunFolder::open(run)?;
    let so_far = file::read(run_folder.path())?;
    if let Some((Ending::Complete, _)) = so_far.end {
        return Err(RequestError::Run(format!(
            "run {} is finished: there is nothing to go on with; `judge` judges it again",
            so_far.header.run
        )));
    }
    let header = so_far.header.clone();
    let opened = match reopen(&header, &so_far, Purpose::Resume) {
        Ok(opened) => opened,
        Err(why) => {
            // A refusal must not alter the measurement: the run's journal and its earlier reports stay.
            let report = compose::refused_resume(&so_far, &why.to_string());
            return Ok(Outcome { report, folder: run_folder.path().to_owned() });
        }
    };
    let clock = Clock::starting_at(so_far.last_ns);
    let factory = engines(&header, &opened, clock);
    if let Err(why) = same_engine(&header, &factory).and_then(|()| crate::run::check_finished(&so_far, &factory)) {
        let report = compose::refused_resume(&so_far, &why);
        return Ok(Outcome { report, folder: run_folder.path().to_owned() });
    }
    let deadline = limits.max_time.map(|time| clock.now().saturating_add(time));
    let after = limits.after;
    let measurement = measure::Measurement { header, opened, folder: &run_folder, after, deadline, stop };
    measurement.resumed(so_far, observer, &factory, clock)
}

/// The most that any phase has in flight.
fn concurrency(plan: &Plan) -> Concurrency {
    let phases = plan.phases.iter();
    let all = phases.map(|phase| Concurrency { workers: phase.io.workers, queue_depth: phase.io.queue_depth });
    // Of phases that have no queue none needs a ring.
    let most = all.max_by_key(|most| (most.queue_depth > 1, u64::from(most.workers) * u64::from(most.queue_depth)));
    most.unwrap_or(Concurrency { workers: 1, queue_depth: 1 })
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

/// Removes what a run that was cut left on its target; gives the bytes freed.
///
/// # Errors
/// The run cannot be read, or its files are not there.
pub fn discard(run: &Path) -> Result<(String, Bytes), RequestError> {
    let run_folder = RunFolder::open(run)?;
    let so_far = file::read(run_folder.path())?;
    let run = so_far.header.run.clone();
    let opened = reopen(&so_far.header, &so_far, Purpose::Discard).map_err(|why| RequestError::Run(why.to_string()))?;
    let freed = opened.scratch.remove().map_err(|errno| {
        RequestError::Run(format!("removing the files of run {run} failed: {}", std::io::Error::from(errno)))
    })?;
    Ok((run, freed))
}

/// A command before the run that failed: what is under test is not what was wanted.
fn command_failed(record: Option<&CommandRecord>) -> String {
    let Some(CommandRecord { command, exit_code, output }) = record else { return String::new() };
    let code = exit_code.map_or_else(|| "was ended by a signal".to_owned(), |code| format!("ended with {code}"));
    let last = output.trim_end().lines().last().map(|line| format!(", saying: {line}")).unwrap_or_default();
    format!("the command before the run ({command}) {code}{last}; nothing was measured")
}

/// Whether any plan at all may run here: what a target is goes before how much room it has.
fn place(facts: &Facts, consent: &Consent) -> Result<(), Refused> {
    target::guard(facts.clone(), &Need { space: Bytes(0), writes: Bytes(0) }, consent)?;
    Ok(())
}

/// What the profile means on this target.
fn plan(request: &Request, facts: &Facts) -> Result<Plan, PlanError> {
    let mut profile = request.profile.clone();
    let budget = profile.write_budget.map(|budget| budget.0);
    let budget = [budget, request.max_write].into_iter().flatten().min();
    profile.write_budget = budget.map(crate::plan::text::Size);
    let drive = facts.drive.as_ref().and_then(|drive| drive.size);
    let in_use = drive.map(|size| size.saturating_sub(facts.filesystem.free));
    Plan::new(&profile, Capacity { usable: facts.usable(&request.consent), drive, in_use })
}

/// Guard and open: from facts to a locked target with a scratch folder.
fn arm(
    facts: &Facts,
    plan: &Plan,
    consent: &Consent,
    run: &str,
    purpose: Purpose,
    there_already: Bytes,
) -> Result<(Armed, Opened), Refused> {
    let need = Need { space: plan.space.saturating_sub(there_already), writes: plan.writes };
    let armed = target::guard(facts.clone(), &need, consent)?;
    let opened = open(&armed, run, purpose)?;
    for phase in &plan.phases {
        let unaligned = |bytes: Bytes| opened.alignment.0 > 0 && !bytes.0.is_multiple_of(opened.alignment.0);
        if purpose == Purpose::New && (unaligned(phase.io.block) || unaligned(phase.layout.segment_bytes)) {
            let why = Refused::Other(format!(
                "the blocks of {} are {} bytes, and direct I/O on this drive needs multiples of {} bytes: choose a larger block",
                phase.id, phase.io.block.0, opened.alignment.0
            ));
            return Err(undo(&opened, why));
        }
    }
    Ok((armed, opened))
}

/// A refusal after the scratch folder was made: it goes again.
fn undo(opened: &Opened, why: Refused) -> Refused {
    match opened.scratch.remove() {
        Ok(_) => why,
        Err(errno) => Refused::Other(format!(
            "{why}; and removing {} failed: {}",
            opened.scratch.name(),
            std::io::Error::from(errno)
        )),
    }
}

/// The whole guard again, and the same drive and scratch folder as before.
fn reopen(header: &Header, so_far: &Replay, purpose: Purpose) -> Result<Opened, Refused> {
    let facts = Facts::read(&header.facts.path)?;
    if let (Some(before), Some(now)) = (&header.facts.drive, &facts.drive) {
        let known = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
        if known(&before.serial, &now.serial) || known(&before.wwid, &now.wwid) {
            return Err(Refused::Other(format!(
                "{} is on another drive than when the run began: it was {}, now it is {}; mount the right drive there",
                header.facts.path.display(),
                folder::drive_line(&header.facts),
                folder::drive_line(&facts)
            )));
        }
    }
    let there = so_far.phases.last().map_or(Bytes(0), |phase| {
        let planned = header.plan.phase(&phase.id);
        planned.map_or(Bytes(0), |planned| planned.layout.bytes())
    });
    let consent = Consent { fill_volume: header.fill_volume.clone() };
    arm(&facts, &header.plan, &consent, &header.run, purpose, there).map(|(_, opened)| opened)
}

/// Bytes to keep free for a journal: a line an interval at the planned size, and some more.
fn journal_room(plan: &Plan) -> u64 {
    const LINE: u64 = 320;
    let slow = crate::units::Rate(50e6);
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
