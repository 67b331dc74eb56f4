//! What each kind of phase does with its segments.

use std::sync::atomic::AtomicBool;

use rustix::io::Errno;

use super::job::JobEnd;
use super::merge::Merger;
use super::worker::{Job, Limit};
use super::{Cut, Run, Stopped, perform};
use crate::engine::content::Pattern;
use crate::engine::{Batch, Completion, Content, Engine, EngineFactory, OpKind, Setup};
use crate::journal::record::{Counted, FaultKind, Record};
use crate::plan::offsets::Offsets;
use crate::plan::phase::{Io, Phase, Work};
use crate::plan::profile::{Data, Sync};
use crate::units::{Bytes, Nanos};

/// Stamps of bursts and random writes differ from a fill's, whose generation is its attempt.
const OVERWRITE: u32 = 1 << 31;

impl<F: EngineFactory> Run<'_, F> {
    /// Does one phase, or what a cut left of it.
    pub(super) fn phase(&mut self, phase: &Phase) -> Result<(), Stopped> {
        let Cut { finished, attempts, .. } =
            self.state.cut.take().filter(|cut| cut.phase == phase.id).unwrap_or_default();
        let mut engines = self.factory.engines(&setup(phase, self.seed))?;
        if finished.is_empty() {
            self.rest(&mut engines, phase.rest_ns)?;
        }
        // What others left dirty is not ours to be counted.
        self.flush_all(&mut engines)?;
        self.cool_down(&mut engines)?;
        let before = (self.counters)();
        let start = now(&engines);
        self.sink.record(Record::PhaseStart { phase: phase.id.clone(), at_ns: start })?;
        self.read_at_border(start)?;
        let mut moved = Bytes(0);
        for segment in segments(phase) {
            if !finished.contains(&segment) {
                let attempt = attempts.get(&segment).copied().unwrap_or(0);
                moved = moved.saturating_add(self.segment(&mut engines, phase, start, segment, attempt)?);
            }
        }
        let end = now(&engines);
        if matches!(phase.work, Work::Remove | Work::Purge) {
            self.remove(&mut engines, phase)?;
        }
        if phase.work == Work::Purge {
            self.trim(&mut engines)?;
        }
        self.flush_all(&mut engines)?;
        let counted = match (before, (self.counters)()) {
            (Some(before), Some(after)) if moved.0 > 0 => {
                let counters = after.since(before);
                let device = if phase.work == Work::Verify { counters.read } else { counters.written };
                Some(Counted { submitted: moved, device })
            }
            _ => None,
        };
        self.read_at_border(end)?;
        self.sink.record(Record::PhaseEnd { phase: phase.id.clone(), at_ns: end, counted })
    }

    /// Waits on the engine's clock, in steps that a signal can end.
    pub(super) fn rest(&mut self, engines: &mut [F::Engine], rest: Nanos) -> Result<(), Stopped> {
        let Some(engine) = engines.first_mut() else { return Ok(()) };
        let until = engine.now().saturating_add(rest);
        let mut batch = Batch::default();
        while engine.now() < until {
            self.go_on(engine.now())?;
            engine.reap(until.min(engine.now().saturating_add(Nanos::from_millis(100))), &mut batch);
        }
        Ok(())
    }

    fn flush_all(&mut self, engines: &mut [F::Engine]) -> Result<(), Stopped> {
        let Some(engine) = engines.first_mut() else { return Ok(()) };
        let result = perform(engine, OpKind::Flush { segment: None });
        let at = engine.now();
        result.or_else(|errno| self.failed(at, None, None, "flushing the target", errno))
    }

    /// One attempt at one segment, from opening it to its flush; gives the bytes moved.
    fn segment(
        &mut self,
        engines: &mut [F::Engine],
        phase: &Phase,
        phase_start: Nanos,
        segment: u32,
        attempt: u32,
    ) -> Result<Bytes, Stopped> {
        let start = now(engines);
        self.go_on(start)?;
        self.sink.record(Record::SegmentStart { segment, attempt, at_ns: start })?;
        let rounds = matches!(phase.work, Work::RandomWrite { .. });
        let mut merger = Merger::new(segment, attempt, start, phase_start, phase.interval_ns, engines.len(), rounds);
        self.state.moved = Bytes(0);
        let outcome = self.attempt(engines, phase, phase_start, segment, attempt, &mut merger);
        let end = now(engines);
        if !matches!(outcome, Err(Stopped::Journal(_))) {
            self.records(merger.finish(end))?;
            self.more_bad(end)?;
        }
        if phase.work == Work::Fill {
            match &outcome {
                Ok(()) => drop(self.state.generations.insert(segment, attempt)),
                Err(_) => free_cut(engines, segment),
            }
        }
        outcome?;
        let bytes = self.state.moved;
        self.sink.record(Record::SegmentEnd { segment, attempt, at_ns: end, bytes })?;
        Ok(bytes)
    }

    fn attempt(
        &mut self,
        engines: &mut [F::Engine],
        phase: &Phase,
        phase_start: Nanos,
        segment: u32,
        attempt: u32,
        merger: &mut Merger,
    ) -> Result<(), Stopped> {
        let files = files_of(phase, segment);
        for &file in &files {
            let create = phase.work == Work::Fill;
            let what = if create { "creating and allocating a file" } else { "opening a file" };
            self.perform(engines, OpKind::Open { segment: file, create }, Some(file), what)?;
        }
        let end = self.io(engines, phase, phase_start, segment, attempt, merger)?;
        self.ended(phase, end, now(engines))?;
        for &file in &files {
            if phase.work != Work::Verify {
                self.perform(engines, OpKind::Flush { segment: Some(file) }, Some(file), "flushing a file")?;
            }
            self.close(engines, file)?;
        }
        Ok(())
    }

    /// Every engine lets go of a file, so that removing it gives its space back.
    fn close(&mut self, engines: &mut [F::Engine], segment: u32) -> Result<(), Stopped> {
        for one in engines.chunks_exact_mut(1) {
            self.perform(one, OpKind::Close { segment }, Some(segment), "closing a file")?;
        }
        Ok(())
    }

    /// The reads or writes of one attempt.
    fn io(
        &mut self,
        engines: &mut [F::Engine],
        phase: &Phase,
        phase_start: Nanos,
        segment: u32,
        attempt: u32,
        merger: &mut Merger,
    ) -> Result<JobEnd, Stopped> {
        let (abort, enough) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut job = Job {
            phase_start,
            interval: phase.interval_ns,
            flush: (phase.io.sync == Sync::Fsync).then_some((phase.io.fsync_every, segment)),
            limit: Limit { to_the_end: true, ..Limit::default() },
            stop: self.stop,
            deadline: self.deadline,
            abort: &abort,
            enough: &enough,
        };
        let block = phase.io.block.0;
        let from = phase.layout.start(segment);
        let workers = engines.len() as u64;
        match phase.work {
            Work::Fill => {
                let stripes = Stripes { from, to: from + phase.layout.segment_bytes.0, block, workers };
                self.job(engines, &job, merger, |n| stripes.of(n).map(write(attempt)))
            }
            Work::Verify => {
                let stripes = Stripes { from, to: from + phase.layout.segment_bytes.0, block, workers };
                let generation = self.state.generations.get(&segment).copied().unwrap_or(0);
                job.flush = None;
                let read = move |(offset, len)| OpKind::Read { offset, len, generation };
                self.job(engines, &job, merger, |n| stripes.of(n).map(read))
            }
            Work::Burst { bytes } => {
                let stripes = Stripes { from: 0, to: bytes.0, block, workers };
                let source = |n| stripes.of(n).flat_map(|io| split(io, phase.layout.segment_bytes.0));
                self.job(engines, &job, merger, |n| source(n).map(write(OVERWRITE | attempt)))
            }
            Work::RandomWrite { least_ns, least_bytes, most_bytes, .. } => {
                job.limit = Limit {
                    least_until: phase_start.saturating_add(least_ns),
                    least_bytes: least_bytes.0.div_ceil(workers),
                    most_bytes: most_bytes.map(|most| most.0.div_ceil(workers)),
                    to_the_end: false,
                };
                let (seed, range) = (self.seed.wrapping_add(u64::from(attempt)), phase.layout.bytes().0);
                let len = block_len(phase.io.block);
                self.job(engines, &job, merger, |n| {
                    let worker = u32::try_from(n).unwrap_or(u32::MAX);
                    Offsets::new(seed, worker, range, block).map(move |offset| OpKind::Write {
                        offset,
                        len,
                        generation: OVERWRITE | attempt,
                    })
                })
            }
            Work::Remove | Work::Purge => Ok(JobEnd::Done),
        }
    }

    fn ended(&mut self, phase: &Phase, end: JobEnd, now: Nanos) -> Result<(), Stopped> {
        match end {
            JobEnd::Done => Ok(()),
            JobEnd::Stopped => Err(self.why_stopped(now)),
            JobEnd::Panicked(text) => {
                let at = Nanos(0);
                self.fault(at, FaultKind::Internal, None, None, text.clone())?;
                Err(Stopped::Panic(text))
            }
            JobEnd::Failed(Completion { op, completed, result, .. }) => {
                let (what, offset) = match op.kind {
                    OpKind::Write { offset, .. } => ("writing", Some(offset)),
                    OpKind::Read { offset, .. } => ("reading", Some(offset)),
                    _ => ("flushing", None),
                };
                let segment = offset
                    .map(|offset| u32::try_from(offset / phase.layout.segment_bytes.0.max(1)).unwrap_or(u32::MAX));
                self.failed(completed, segment, offset, what, result.err().unwrap_or(Errno::IO))
            }
        }
    }

    fn perform(
        &mut self,
        engines: &mut [F::Engine],
        kind: OpKind,
        segment: Option<u32>,
        what: &str,
    ) -> Result<(), Stopped> {
        let Some(engine) = engines.first_mut() else { return Ok(()) };
        let result = perform(engine, kind);
        let at = engine.now();
        result.or_else(|errno| self.failed(at, segment, None, what, errno))
    }

    /// Notes a failed operation and ends the run.
    pub(super) fn failed(
        &mut self,
        at: Nanos,
        segment: Option<u32>,
        offset: Option<u64>,
        what: &str,
        errno: Errno,
    ) -> Result<(), Stopped> {
        let place = match (segment, offset) {
            (Some(segment), Some(offset)) => format!(" segment {segment} at byte {offset} of the range"),
            (Some(segment), None) => format!(" (segment {segment})"),
            _ => String::new(),
        };
        let full = matches!(errno, Errno::NOSPC | Errno::DQUOT) && !self.whole_device;
        let kind = if full { FaultKind::NoSpace } else { FaultKind::Io };
        let hint = match errno {
            // The kernel cuts a device that goes away to nothing.
            Errno::NOSPC if self.whole_device => {
                "; the device ends before that place now: it was removed, or has shrunk"
            }
            Errno::NOSPC => "; somebody else filled the disk meanwhile, or it has less room than it says",
            Errno::DQUOT => "; the quota of this user or project is used up",
            Errno::IO => "; see the kernel log: the drive or its link is failing",
            Errno::NODEV | Errno::NXIO => "; the drive is gone",
            Errno::ROFS => "; the filesystem turned read-only: see the kernel log",
            _ => "",
        };
        let message = format!("{what}{place} failed: {}{hint}", std::io::Error::from(errno));
        self.fault(at, kind, segment, offset, message.clone())?;
        Err(Stopped::Failed(message))
    }
}

/// Gives back a segment that was cut: a resumed run writes it anew, and a full disk has room for reports again.
fn free_cut<E: Engine>(engines: &mut [E], segment: u32) {
    // The run has ended for a reason that is said already; the scratch folder goes as a whole.
    for engine in &mut *engines {
        let _ = perform(engine, OpKind::Close { segment });
    }
    if let Some(engine) = engines.first_mut() {
        let _ = perform(engine, OpKind::Discard { from: segment, to: segment + 1 });
    }
}

/// Whole blocks of a range, dealt to the workers in turn.
#[derive(Clone, Copy)]
struct Stripes {
    from: u64,
    to: u64,
    block: u64,
    workers: u64,
}

impl Stripes {
    /// Offset and length of each I/O of one worker.
    fn of(self, worker: usize) -> impl Iterator<Item = (u64, u32)> {
        let step = self.block * self.workers;
        let mut at = self.from + worker as u64 * self.block;
        std::iter::from_fn(move || {
            let here = at;
            at += step;
            (here < self.to).then(|| (here, block_len(Bytes(self.block.min(self.to - here)))))
        })
    }
}

fn write(generation: u32) -> impl Fn((u64, u32)) -> OpKind {
    move |(offset, len)| OpKind::Write { offset, len, generation }
}

/// An I/O in parts that do not cross a segment's border.
fn split((offset, len): (u64, u32), segment_bytes: u64) -> impl Iterator<Item = (u64, u32)> {
    let border = (offset / segment_bytes + 1) * segment_bytes;
    let end = offset + u64::from(len);
    let cut = border.min(end);
    let part = |from: u64, to: u64| (from, block_len(Bytes(to - from)));
    std::iter::once(part(offset, cut)).chain((cut < end).then(|| part(cut, end)))
}

/// The segments that a phase goes through one by one, each with attempts of its own.
fn segments(phase: &Phase) -> std::ops::Range<u32> {
    match phase.work {
        Work::Fill | Work::Verify => 0..phase.layout.segments,
        Work::Burst { .. } | Work::RandomWrite { .. } => 0..1,
        Work::Remove | Work::Purge => 0..0,
    }
}

/// The files that an attempt at a segment does I/O to.
fn files_of(phase: &Phase, segment: u32) -> Vec<u32> {
    match phase.work {
        Work::Burst { bytes } => {
            let count = bytes.0.div_ceil(phase.layout.segment_bytes.0.max(1));
            (0..u32::try_from(count).unwrap_or(u32::MAX)).collect()
        }
        _ => vec![segment],
    }
}

/// A profile's blocks are at most 64 MiB.
fn block_len(block: Bytes) -> u32 {
    u32::try_from(block.0).unwrap_or(u32::MAX)
}

pub(super) fn now<E: Engine>(engines: &[E]) -> Nanos {
    engines.first().map_or(Nanos(0), Engine::now)
}

/// What a phase asks of its engines.
pub(super) fn setup(phase: &Phase, seed: u64) -> Setup {
    let Io { block, queue_depth, workers, sync, data, compressible_ppm, .. } = phase.io;
    let pattern = match data {
        Data::Incompressible => Pattern::Incompressible,
        Data::Compressible => Pattern::Compressible(compressible_ppm),
        Data::Zeros => Pattern::Zeros,
    };
    Setup {
        files: phase.layout.files.clone(),
        block: block_len(block),
        workers,
        queue_depth,
        dsync: sync == Sync::Dsync,
        segment_bytes: phase.layout.segment_bytes.0,
        content: Content { pattern, seed },
    }
}
