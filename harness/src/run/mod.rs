//! The run loop: plan × engine → records.
//!
//! Goes through the phases of a plan, skips what a resumed journal says is finished, and hands every fact to a
//! [`Sink`]. Knows no analysis, judges nothing, prints nothing, and opens nothing itself: whoever watches may end a
//! phase, and the loop does not ask why.

mod again;
mod gauge;
mod job;
mod merge;
mod phases;
mod purge;
mod resume;
#[cfg(test)]
mod watch_tests;
mod worker;

pub use again::again;
pub use gauge::{Gauge, idle};
pub(crate) use job::panic_text;
pub use resume::check_finished;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;

use crate::engine::{Batch, Engine, EngineError, EngineFactory, Op, OpKind};
use crate::journal::file::JournalError;
use crate::journal::record::{FaultKind, FaultRecord, Record};
use crate::journal::replay::Replay;
use crate::plan::phase::{Phase, Plan, Work};
use crate::sample::Sample;
use crate::sample::telemetry::Occasion;
use crate::target::purge::Witness;
use crate::target::telemetry::DeviceCounters;
use crate::units::{Bytes, Nanos};

/// Takes the facts of a run in order. The journal is one; a progress bar listens behind it.
pub trait Sink {
    /// Takes one record.
    ///
    /// # Errors
    /// The journal cannot be written: the run stops.
    fn record(&mut self, record: Record) -> Result<(), Stopped>;

    /// Makes the records so far durable; called between phases.
    ///
    /// # Errors
    /// The journal cannot be written: the run stops.
    fn sync(&mut self) -> Result<(), Stopped>;
}

/// Why a run ended before its plan did.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// Somebody asked for it.
    #[error("interrupted")]
    Interrupted,
    /// The time that the user allowed is over.
    #[error("the time limit is over before the plan is done")]
    TimeLimit,
    /// The drive is as hot as it warns of.
    #[error("the drive is at {now} °C and warns from {warning} °C on: cool it, then go on with the run (--resume)")]
    TooHot {
        /// °C.
        now: i64,
        /// °C.
        warning: i64,
    },
    /// I/O failed; the text names operation, place and cause.
    #[error("{0}")]
    Failed(String),
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The engines could not be made.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A worker panicked: a defect of this program.
    #[error("internal error: a worker panicked: {0}")]
    Panic(String),
}

/// What a run needs besides its plan.
pub struct Run<'a, F: EngineFactory> {
    /// What to do.
    pub plan: &'a Plan,
    /// Makes the engines.
    pub factory: &'a F,
    /// Of the run: stamps and offsets.
    pub seed: u64,
    /// Set from outside to end the run at the next completion.
    pub stop: &'a AtomicBool,
    /// The counters of the device behind, if there is one.
    pub counters: &'a dyn Fn() -> Option<DeviceCounters>,
    /// Takes the facts.
    pub sink: &'a mut dyn Sink,
    deadline: Nanos,
    whole_device: bool,
    watch: Option<&'a mut Watch<'a>>,
    gauge: Option<&'a mut Gauge<'a>>,
    witness: Option<&'a Witness>,
    /// The phase that is being watched.
    watching: Option<&'a Phase>,
    state: State,
}

/// Sees each sample of a phase whose plan lets it be watched, once an interval, and says whether it has seen enough.
pub type Watch<'a> = dyn FnMut(&Phase, &Sample) -> bool + 'a;

/// What the run knows of itself; a resumed one begins with what its journal says.
#[derive(Debug, Default)]
struct State {
    finished_phases: Vec<String>,
    cut: Option<Cut>,
    /// By segment: the attempt that wrote it, which its stamps carry.
    generations: BTreeMap<u32, u32>,
    named_bad_blocks: u32,
    /// Of the open attempt.
    unnamed_bad_blocks: u64,
    /// Bytes of the samples of the open attempt.
    moved: Bytes,
}

/// The phase that a cut left unfinished.
#[derive(Debug, Default)]
struct Cut {
    phase: String,
    /// Finished segments.
    finished: BTreeSet<u32>,
    /// Attempts begun, by segment.
    attempts: BTreeMap<u32, u32>,
}

/// Bad blocks that are named one by one; more are counted.
const MOST_NAMED: u32 = 1000;

impl<'a, F: EngineFactory> Run<'a, F> {
    /// A run of `plan` from the start, or from where `so_far` was cut.
    pub fn new(
        plan: &'a Plan,
        factory: &'a F,
        seed: u64,
        stop: &'a AtomicBool,
        counters: &'a dyn Fn() -> Option<DeviceCounters>,
        sink: &'a mut dyn Sink,
        so_far: Option<&Replay>,
    ) -> Run<'a, F> {
        Run {
            plan,
            factory,
            seed,
            stop,
            counters,
            sink,
            deadline: Nanos(u64::MAX),
            whole_device: false,
            watch: None,
            gauge: None,
            witness: None,
            watching: None,
            state: so_far.map(State::of).unwrap_or_default(),
        }
    }

    /// Does what is left of the plan.
    ///
    /// # Errors
    /// Why it ended before the plan did; everything up to then is in the sink.
    pub fn run(mut self) -> Result<(), Stopped> {
        let ended = self.phases();
        // What the drive counted up to the end, whatever the end.
        let last = self.read_gauge(self.factory.now(), Occasion::End);
        ended.and(last.map(|_| ()))
    }

    fn phases(&mut self) -> Result<(), Stopped> {
        let plan = self.plan;
        for phase in &plan.phases {
            if !self.state.finished_phases.contains(&phase.id) {
                self.watching = matches!(phase.work, Work::RandomWrite { watched: true, .. }).then_some(phase);
                self.phase(phase)?;
                self.sink.sync()?;
            }
        }
        Ok(())
    }

    /// Ends the run at this moment instead of at the end of its plan.
    #[must_use]
    pub fn until(self, deadline: Option<Nanos>) -> Run<'a, F> {
        Run { deadline: deadline.unwrap_or(Nanos(u64::MAX)), ..self }
    }

    /// Says that the target is a whole device: there are no files, and nobody else to fill it.
    #[must_use]
    pub fn on_whole_device(self, whole_device: bool) -> Run<'a, F> {
        Run { whole_device, ..self }
    }

    /// Lets somebody watch, and end the phases whose plan says that they may be ended.
    #[must_use]
    pub fn watched_by(self, watch: &'a mut Watch<'a>) -> Run<'a, F> {
        Run { watch: Some(watch), ..self }
    }

    /// Whether somebody or the time limit ends the run.
    fn go_on(&self, now: Nanos) -> Result<(), Stopped> {
        let stopped = self.stop.load(Ordering::Relaxed) || now >= self.deadline;
        if stopped { Err(self.why_stopped(now)) } else { Ok(()) }
    }

    fn why_stopped(&self, now: Nanos) -> Stopped {
        if now >= self.deadline { Stopped::TimeLimit } else { Stopped::Interrupted }
    }

    fn fault(
        &mut self,
        at_ns: Nanos,
        what: FaultKind,
        segment: Option<u32>,
        offset: Option<u64>,
        message: String,
    ) -> Result<(), Stopped> {
        let fault = FaultRecord { at_ns, what, segment, offset, message };
        self.sink.record(Record::Fault(fault))
    }
}

impl State {
    fn of(so_far: &Replay) -> State {
        let mut state = State::default();
        for phase in &so_far.phases {
            if phase.end_ns.is_some() {
                state.finished_phases.push(phase.id.clone());
            } else {
                let finished = phase.finished.keys().copied().collect();
                state.cut = Some(Cut { phase: phase.id.clone(), finished, attempts: phase.attempts.clone() });
            }
        }
        state.generations = so_far.generations();
        state
    }
}

/// Does one operation to its end.
fn perform<E: Engine>(engine: &mut E, kind: OpKind) -> Result<(), Errno> {
    perform_into(engine, kind, &mut Batch::default())
}

/// Does one operation to its end; what else it found is in the batch.
fn perform_into<E: Engine>(engine: &mut E, kind: OpKind, batch: &mut Batch) -> Result<(), Errno> {
    let now = engine.now();
    engine.submit(Op { slot: 0, kind }, now);
    while batch.completions.is_empty() {
        let until = engine.now().saturating_add(Nanos::from_secs(1));
        engine.reap(until, batch);
    }
    batch.completions.first().map_or(Ok(()), |completion| completion.result.map(|_| ()))
}
