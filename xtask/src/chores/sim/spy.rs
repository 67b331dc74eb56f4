//! Stands between the run loop and an engine, passes everything on, and notes what must never happen.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harness::engine::{Batch, Engine, EngineError, EngineFactory, Op, OpKind, Setup};
use harness::units::Nanos;

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// What must never happen and did, the first few.
    pub(super) broken: Vec<String>,
    /// Reads and writes submitted.
    pub(super) planned: u64,
    /// Reads and writes that completed, and their bytes; a failed read counts with its bytes.
    pub(super) completed: u64,
    pub(super) bytes: u64,
    /// Reads and writes that failed.
    pub(super) failed: u64,
    /// Flushes of one file that failed.
    pub(super) failed_flushes: u64,
    /// By suite and segment: the file that is being filled.
    open: BTreeMap<(String, u32), Coverage>,
    /// Files that were made and closed again.
    pub(super) filled: Vec<Filled>,
    /// The latest moment seen.
    now: Nanos,
}

/// A file that was made and closed again.
#[derive(Debug)]
pub(super) struct Filled {
    pub(super) suite: String,
    pub(super) segment: u32,
    pub(super) segment_bytes: u64,
    /// Of all writes to it.
    pub(super) generation: u32,
    /// What was not written exactly once, if anything.
    pub(super) wrong: Option<String>,
}

/// How often each unit of a new file was written.
#[derive(Debug)]
struct Coverage {
    generation: Option<u32>,
    counts: Vec<u8>,
}

const UNIT: u64 = 4096;

impl Log {
    pub(super) fn breaks(&mut self, what: String) {
        if self.broken.len() < MOST_BROKEN {
            self.broken.push(what);
        }
    }

    fn sees(&mut self, now: Nanos) {
        if now < self.now {
            self.breaks(format!("time ran back from {:?} to {now:?}", self.now));
        }
        self.now = now;
    }
}

/// Makes engines that are watched.
pub(super) struct Spy<F> {
    pub(super) inner: F,
    pub(super) log: Arc<Mutex<Log>>,
}

impl<F> Spy<F> {
    pub(super) fn new(inner: F) -> Spy<F> {
        Spy { inner, log: Arc::default() }
    }

    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct SpyEngine<E: Engine> {
    inner: E,
    setup: Setup,
    log: Arc<Mutex<Log>>,
    in_flight: Vec<bool>,
    idle_reaps: u64,
}

/// The longest pause of a tiny drive is over long before so many intervals or steps of a rest.
const MOST_IDLE_REAPS: u64 = 10_000;
/// What is so broken need not go on.
const MOST_BROKEN: usize = 5;

impl<F: EngineFactory> EngineFactory for Spy<F> {
    type Engine = SpyEngine<F::Engine>;

    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn now(&self) -> Nanos {
        self.inner.now()
    }

    fn engines(&self, setup: &Setup) -> Result<Vec<SpyEngine<F::Engine>>, EngineError> {
        let engines = self.inner.engines(setup)?;
        let depth: u32 = engines.iter().map(Engine::depth).sum();
        if depth != setup.workers * setup.queue_depth {
            self.log().breaks(format!("depth {depth} instead of {} × {}", setup.workers, setup.queue_depth));
        }
        let watched = engines.into_iter().map(|inner| {
            let in_flight = vec![false; inner.depth() as usize];
            SpyEngine { inner, setup: setup.clone(), log: self.log.clone(), in_flight, idle_reaps: 0 }
        });
        Ok(watched.collect())
    }
}

impl<E: Engine> SpyEngine<E> {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Offsets that no engine should be asked for.
    fn check_place(&self, log: &mut Log, kind: OpKind) {
        let (OpKind::Write { offset, len, .. } | OpKind::Read { offset, len, .. }) = kind else { return };
        let segment = self.setup.segment_bytes;
        let within = len > 0 && offset / segment == (offset + u64::from(len) - 1) / segment;
        if !within || !offset.is_multiple_of(UNIT) || !u64::from(len).is_multiple_of(UNIT) || len > self.setup.block {
            log.breaks(format!("{kind:?} in segments of {segment} bytes"));
        }
    }

    /// Follows what is written to a file from when it is made until it is closed.
    fn cover(&self, log: &mut Log, kind: OpKind) {
        let suite = || self.setup.files.clone();
        match kind {
            OpKind::Open { segment, create: true } => {
                let counts = vec![0; (self.setup.segment_bytes / UNIT) as usize];
                log.open.insert((suite(), segment), Coverage { generation: None, counts });
            }
            OpKind::Close { segment } => {
                if let Some(file) = log.open.remove(&(suite(), segment)) {
                    let wrong = file.counts.iter().position(|count| *count != 1);
                    let wrong = wrong.map(|unit| format!("block {unit} was written {} times", file.counts[unit]));
                    let (segment_bytes, generation) = (self.setup.segment_bytes, file.generation.unwrap_or(0));
                    log.filled.push(Filled { suite: suite(), segment, segment_bytes, generation, wrong });
                }
            }
            OpKind::Discard { from, to } => {
                log.open.retain(|(files, segment), _| *files != self.setup.files || !(from..to).contains(segment));
            }
            OpKind::Write { offset, len, generation } => {
                let segment = self.setup.segment_bytes;
                let number = u32::try_from(offset / segment).unwrap_or(u32::MAX);
                let Some(file) = log.open.get_mut(&(suite(), number)) else { return };
                if *file.generation.get_or_insert(generation) != generation {
                    log.breaks(format!("{kind:?} into a file of another generation"));
                    return;
                }
                let first = (offset % segment / UNIT) as usize;
                for count in file.counts.iter_mut().skip(first).take((u64::from(len) / UNIT) as usize) {
                    *count = count.saturating_add(1);
                }
            }
            _ => {}
        }
    }
}

fn is_io(kind: OpKind) -> bool {
    matches!(kind, OpKind::Write { .. } | OpKind::Read { .. })
}

impl<E: Engine> Engine for SpyEngine<E> {
    const THREADED: bool = E::THREADED;

    fn depth(&self) -> u32 {
        self.inner.depth()
    }

    fn now(&self) -> Nanos {
        let now = self.inner.now();
        self.log().sees(now);
        now
    }

    fn submit(&mut self, op: Op, now: Nanos) {
        let log = self.log.clone();
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        match self.in_flight.get_mut(op.slot as usize) {
            Some(busy) if !*busy => *busy = true,
            Some(_) => log.breaks(format!("{op:?} into a slot that is in flight")),
            None => log.breaks(format!("{op:?} beyond the depth of {}", self.in_flight.len())),
        }
        log.planned += u64::from(is_io(op.kind));
        self.check_place(&mut log, op.kind);
        self.cover(&mut log, op.kind);
        self.inner.submit(op, now);
    }

    fn reap(&mut self, until: Nanos, batch: &mut Batch) {
        let before = self.inner.now();
        let from = batch.completions.len();
        self.inner.reap(until, batch);
        let now = self.inner.now();
        let log = self.log.clone();
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        log.sees(now);
        let mut last = before;
        for done in &batch.completions[from..] {
            match self.in_flight.get_mut(done.op.slot as usize) {
                Some(busy) if *busy => *busy = false,
                _ => log.breaks(format!("{done:?} was not in flight")),
            }
            if done.submitted > done.completed || done.completed < last || done.completed > now {
                log.breaks(format!("{done:?} between {before:?} and {now:?}"));
            }
            last = done.completed;
            let flush = matches!(done.op.kind, OpKind::Flush { segment: Some(_) });
            log.failed_flushes += u64::from(flush && done.result.is_err());
            if let OpKind::Write { len, .. } | OpKind::Read { len, .. } = done.op.kind {
                log.completed += 1;
                log.failed += u64::from(done.result.is_err());
                let counts = done.result.is_ok() || matches!(done.op.kind, OpKind::Read { .. });
                log.bytes += if counts { u64::from(len) } else { 0 };
                if done.result.is_ok_and(|moved| moved != len) {
                    log.breaks(format!("{done:?} moved something else than was asked for"));
                }
            }
        }
        self.idle_reaps = if batch.completions.len() == from { self.idle_reaps + 1 } else { 0 };
        if self.idle_reaps > MOST_IDLE_REAPS || log.broken.len() >= MOST_BROKEN {
            let first = log.broken.first().cloned();
            drop(log);
            panic!("the run does not end by itself: {}", first.unwrap_or_default());
        }
        let idle = self.in_flight.iter().all(|busy| !busy);
        if batch.completions.len() == from && now < until && idle {
            log.breaks(format!("with nothing in flight, reap waited until {now:?} and not {until:?}"));
        }
    }
}

impl<E: Engine> Drop for SpyEngine<E> {
    fn drop(&mut self) {
        let busy = self.in_flight.iter().filter(|busy| **busy).count();
        if busy > 0 {
            self.log().breaks(format!("{busy} requests were still in flight at the end of a phase"));
        }
    }
}
