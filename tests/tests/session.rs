//! Whole runs through the library, on engines that misbehave: the run ends as the design says, with reports.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use harness::engine::sync::{SyncEngine, SyncFactory};
use harness::engine::{Batch, Clock, Engine, EngineError, EngineFactory, Op, OpKind, Setup};
use harness::journal::record::{FaultKind, Outcome as Ending};
use harness::plan::profile::Profile;
use harness::session::target::FolderTarget;
use harness::session::{self, Event, Observer, Outcome, Request};
use harness::units::Nanos;
use storage_check_tests::loop_fs::LoopFs;
use storage_check_tests::rig::{Need, trial};
use storage_check_tests::{folder, profile, rig, run};

fn main() -> ExitCode {
    quiet_deliberate_panics();
    rig::main(vec![
        trial("a panic in a worker: exit 4, reports, no scratch", &[Need::LoopFs], || panics(Place::Write(9))),
        trial("a panic while a file is opened: exit 4, reports, no scratch", &[Need::LoopFs], || {
            panics(Place::Open(3))
        }),
        trial("a panic while it reads back: exit 4, reports, no scratch", &[Need::LoopFs], || panics(Place::Read(9))),
        trial("a write error names segment and place: exit 4, reports, no scratch", &[Need::LoopFs], write_error),
        trial("a read error is a finding of the read-back: exit 1, with its place", &[Need::LoopFs], read_error),
        trial("a panic in the observer: exit 4, reports, no scratch", &[Need::LoopFs], panics_outside),
    ])
}

/// What the tests' own panics say.
const DELIBERATE: &str = "a deliberate panic of the test";

fn quiet_deliberate_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str() != Some(DELIBERATE) {
            usual(panic);
        }
    }));
}

const MIB: u64 = 1 << 20;
const SUITE: &str = "size = \"16MiB\"\nsegments = 4\nblock = \"1MiB\"\nqueue_depth = 2\ninterval = \"20ms\"";

/// Where an engine misbehaves: at the n-th request of a kind.
#[derive(Clone, Copy)]
enum Place {
    Open(u64),
    Write(u64),
    Read(u64),
}

impl Place {
    fn is(self, kind: OpKind, counts: &[AtomicU64; 3]) -> bool {
        let (count, wanted) = match (self, kind) {
            (Place::Open(n), OpKind::Open { .. }) => (&counts[0], n),
            (Place::Write(n), OpKind::Write { .. }) => (&counts[1], n),
            (Place::Read(n), OpKind::Read { .. }) => (&counts[2], n),
            _ => return false,
        };
        count.fetch_add(1, Ordering::Relaxed) + 1 == wanted
    }
}

/// What it does there.
#[derive(Clone, Copy, PartialEq)]
enum Deed {
    Panic,
    Fail,
}

/// Makes real engines that misbehave once.
struct Bad {
    inner: SyncFactory,
    place: Place,
    deed: Deed,
    counts: Arc<[AtomicU64; 3]>,
}

struct BadEngine {
    inner: SyncEngine,
    place: Place,
    deed: Deed,
    counts: Arc<[AtomicU64; 3]>,
    fails: bool,
}

impl EngineFactory for Bad {
    type Engine = BadEngine;

    fn name(&self) -> &'static str {
        "misbehaving"
    }

    fn now(&self) -> Nanos {
        self.inner.now()
    }

    fn engines(&self, setup: &Setup) -> Result<Vec<BadEngine>, EngineError> {
        let engines = self.inner.engines(setup)?.into_iter().map(|inner| {
            let (place, deed, counts) = (self.place, self.deed, self.counts.clone());
            BadEngine { inner, place, deed, counts, fails: false }
        });
        Ok(engines.collect())
    }
}

impl Engine for BadEngine {
    const THREADED: bool = true;

    fn depth(&self) -> u32 {
        self.inner.depth()
    }

    fn now(&self) -> Nanos {
        self.inner.now()
    }

    fn submit(&mut self, op: Op, now: Nanos) {
        self.fails = self.place.is(op.kind, &self.counts);
        assert!(!(self.fails && self.deed == Deed::Panic), "{DELIBERATE}");
        self.inner.submit(op, now);
    }

    fn reap(&mut self, until: Nanos, batch: &mut Batch) {
        self.inner.reap(until, batch);
        if std::mem::take(&mut self.fails) {
            for done in &mut batch.completions {
                done.result = Err(rustix::io::Errno::IO);
            }
        }
    }
}

/// Watches nothing, or panics at a record.
struct Watcher {
    panics_at: Option<u32>,
    seen: u32,
}

impl Observer for Watcher {
    fn event(&mut self, event: Event<'_>) {
        self.seen += u32::from(matches!(event, Event::Record(_)));
        let panics = self.panics_at == Some(self.seen) && matches!(event, Event::Record(_));
        assert!(!panics, "{DELIBERATE}");
    }
}

fn measured(disk: &LoopFs, out: &Path, place: Place, deed: Deed, mut watcher: Watcher) -> Result<Outcome> {
    let request = Request::new(disk.path(), Profile::parse(&profile::fill(SUITE))?, out.to_owned());
    let stop = AtomicBool::new(false);
    let site = FolderTarget(disk.path());
    let outcome = session::run_on(&site, &request, &mut watcher, &stop, |_, opened, _| {
        let inner = SyncFactory::new(opened.scratch.clone(), Clock::starting_at(Nanos(0)));
        Bad { inner, place, deed, counts: Arc::default() }
    });
    Ok(outcome?)
}

/// The run ended with this code and all of its reports, and nothing is left on the disk.
fn ended(disk: &LoopFs, outcome: &Outcome, code: u8) -> Result<()> {
    ensure!(outcome.report.exit_code == code, "exit code {}: {}", outcome.report.exit_code, outcome.report.headline);
    run::has_reports(&outcome.folder)?;
    ensure!(run::report(&outcome.folder)?["exit_code"] == code, "report.json has another exit code");
    ensure!(folder::names(&disk.path()) == ["lost+found"], "something is left: {:?}", folder::names(&disk.path()));
    Ok(())
}

fn panics(place: Place) -> Result<()> {
    let (disk, home) = (LoopFs::new(64 * MIB)?, folder::folder()?);
    let outcome = measured(&disk, home.path(), place, Deed::Panic, Watcher { panics_at: None, seen: 0 })?;
    ended(&disk, &outcome, 4)?;
    let failure = outcome.report.failure.context("no failure")?;
    ensure!(failure.message.contains(DELIBERATE), "{}", failure.message);
    let journal = run::journal(&outcome.folder)?;
    ensure!(matches!(journal.end, Some((Ending::Failed, _))), "{:?}", journal.end);
    Ok(())
}

fn panics_outside() -> Result<()> {
    let (disk, home) = (LoopFs::new(64 * MIB)?, folder::folder()?);
    let watcher = Watcher { panics_at: Some(12), seen: 0 };
    let outcome = measured(&disk, home.path(), Place::Write(u64::MAX), Deed::Panic, watcher)?;
    ended(&disk, &outcome, 4)
}

fn write_error() -> Result<()> {
    let (disk, home) = (LoopFs::new(64 * MIB)?, folder::folder()?);
    let outcome = measured(&disk, home.path(), Place::Write(7), Deed::Fail, Watcher { panics_at: None, seen: 0 })?;
    ended(&disk, &outcome, 4)?;
    let journal = run::journal(&outcome.folder)?;
    let fault = journal.faults.first().context("no fault")?;
    ensure!(fault.what == FaultKind::Io && fault.segment == Some(1), "{fault:?}");
    ensure!(fault.offset.is_some_and(|offset| (4 * MIB..8 * MIB).contains(&offset)), "{fault:?}");
    // What was measured until then is there.
    ensure!(journal.phase("fill.write").context("no fill")?.finished.len() == 1, "segments are lost");
    ensure!(journal.conservation().is_empty(), "{:?}", journal.conservation());
    Ok(())
}

fn read_error() -> Result<()> {
    let (disk, home) = (LoopFs::new(64 * MIB)?, folder::folder()?);
    let outcome = measured(&disk, home.path(), Place::Read(7), Deed::Fail, Watcher { panics_at: None, seen: 0 })?;
    ended(&disk, &outcome, 1)?;
    let journal = run::journal(&outcome.folder)?;
    let fault = journal.faults.first().context("no fault")?;
    ensure!(fault.what == FaultKind::Verify(harness::sample::Fault::Unreadable), "{fault:?}");
    ensure!(fault.segment == Some(1) && fault.offset.is_some(), "{fault:?}");
    ensure!(journal.conservation().is_empty(), "{:?}", journal.conservation());
    Ok(())
}
