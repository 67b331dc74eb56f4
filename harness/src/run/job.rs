//! One job: all workers on one attempt, their reports merged into records as they come.
//!
//! Real engines work on threads of their own while this thread keeps the journal; a simulated one works
//! here, on its virtual clock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

use super::merge::Merger;
use super::worker::{Ended, Job, Report, work};
use super::{MOST_NAMED, Run, Stopped};
use crate::engine::{Completion, Engine, EngineFactory, OpKind};
use crate::journal::record::{FaultKind, Record};
use crate::sample::telemetry::Occasion;
use crate::units::Nanos;

/// What became of a job.
pub(super) enum JobEnd {
    Done,
    Stopped,
    Failed(Completion),
    Panicked(String),
}

impl<F: EngineFactory> Run<'_, F> {
    /// Runs a job on all engines. `source` makes the requests of worker `n`.
    pub(super) fn job<S>(
        &mut self,
        engines: &mut [F::Engine],
        job: &Job<'_>,
        merger: &mut Merger,
        source: impl Fn(usize) -> S + Sync,
    ) -> Result<JobEnd, Stopped>
    where
        S: Iterator<Item = OpKind>,
    {
        if !F::Engine::THREADED {
            return self.job_inline(engines, job, merger, source);
        }
        let mut broken = None;
        let ends = thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let handles: Vec<_> = engines
                .iter_mut()
                .enumerate()
                .map(|(number, engine)| {
                    let (sender, source) = (sender.clone(), &source);
                    scope.spawn(move || {
                        engine.attach();
                        let end = guarded(job, || {
                            work(engine, job, source(number), &mut |report| {
                                // The receiver outlives the workers; a report that nobody hears is not lost data.
                                let _ = sender.send((number, report));
                            })
                        });
                        engine.detach();
                        end
                    })
                })
                .collect();
            drop(sender);
            for (worker, report) in receiver {
                if broken.is_none()
                    && let Err(why) = self.report(job, merger, worker, report)
                {
                    job.abort.store(true, std::sync::atomic::Ordering::Relaxed);
                    broken = Some(why);
                }
            }
            handles
                .into_iter()
                .map(|handle| handle.join().unwrap_or_else(|panic| JobEnd::Panicked(panic_text(&*panic))))
                .collect::<Vec<_>>()
        });
        broken.map_or_else(|| Ok(worst(ends)), Err)
    }

    fn job_inline<S: Iterator<Item = OpKind>>(
        &mut self,
        engines: &mut [F::Engine],
        job: &Job<'_>,
        merger: &mut Merger,
        source: impl Fn(usize) -> S,
    ) -> Result<JobEnd, Stopped> {
        let mut broken = None;
        let mut ends = Vec::new();
        for (number, engine) in engines.iter_mut().enumerate() {
            ends.push(guarded(job, || {
                work(engine, job, source(number), &mut |report| {
                    if broken.is_none()
                        && let Err(why) = self.report(job, merger, number, report)
                    {
                        job.abort.store(true, std::sync::atomic::Ordering::Relaxed);
                        broken = Some(why);
                    }
                })
            }));
        }
        broken.map_or_else(|| Ok(worst(ends)), Err)
    }

    fn report(&mut self, job: &Job<'_>, merger: &mut Merger, worker: usize, report: Report) -> Result<(), Stopped> {
        match report {
            Report::Tally(tally) => {
                let records = merger.push(worker, tally);
                if self.seen_enough(&records) {
                    job.enough.store(true, std::sync::atomic::Ordering::Relaxed);
                }
                let last = records.iter().rev().find_map(|record| match record {
                    Record::Sample(sample) => Some(sample.end_ns()),
                    _ => None,
                });
                self.records(records)?;
                match last.map(|at| self.read_gauge(at, Occasion::Sample)).transpose()?.flatten() {
                    Some((now, warning)) => Err(Stopped::TooHot { now, warning }),
                    None => Ok(()),
                }
            }
            Report::Bad { at, block } => {
                self.state.named_bad_blocks += 1;
                if self.state.named_bad_blocks > MOST_NAMED {
                    self.state.unnamed_bad_blocks += 1;
                    return Ok(());
                }
                self.fault(
                    at,
                    FaultKind::Verify(block.fault),
                    Some(merger.segment()),
                    Some(block.offset),
                    block.fault.to_string(),
                )
            }
            Report::MoreBad { count } => {
                self.state.unnamed_bad_blocks += count;
                Ok(())
            }
        }
    }

    /// Shows the samples of a phase that is watched to whom watches; whether that has seen enough.
    fn seen_enough(&mut self, records: &[Record]) -> bool {
        let (Some(phase), Some(watch)) = (self.watching, self.watch.as_mut()) else { return false };
        let mut samples =
            records.iter().filter_map(|record| if let Record::Sample(sample) = record { Some(sample) } else { None });
        samples.any(|sample| watch(phase, sample))
    }

    /// Notes the bad blocks of an attempt that were not named one by one, in one record: a drive that lost all
    /// of its data has as many as it has blocks.
    pub(super) fn more_bad(&mut self, at: Nanos) -> Result<(), Stopped> {
        let count = std::mem::take(&mut self.state.unnamed_bad_blocks);
        if count == 0 {
            return Ok(());
        }
        let message = format!("{count} more blocks that are not what was written");
        self.fault(at, FaultKind::VerifyMore(count), None, None, message)
    }

    pub(super) fn records(&mut self, records: Vec<Record>) -> Result<(), Stopped> {
        for record in records {
            if let Record::Sample(sample) = &record {
                self.state.moved = self.state.moved.saturating_add(sample.bytes);
            }
            self.sink.record(record)?;
        }
        Ok(())
    }
}

/// A worker's end, a panic included; a panic also ends the other workers.
fn guarded(job: &Job<'_>, work: impl FnOnce() -> Ended) -> JobEnd {
    // The engine is not used again after a panic, so a broken invariant of it is never seen.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ended::Done) => JobEnd::Done,
        Ok(Ended::Stopped) => JobEnd::Stopped,
        Ok(Ended::Failed(completion)) => JobEnd::Failed(completion),
        Err(panic) => {
            job.abort.store(true, std::sync::atomic::Ordering::Relaxed);
            JobEnd::Panicked(panic_text(&*panic))
        }
    }
}

/// The text of a panic.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// The end that explains the others.
fn worst(ends: Vec<JobEnd>) -> JobEnd {
    let rank = |end: &JobEnd| match end {
        JobEnd::Done => 0,
        JobEnd::Stopped => 1,
        JobEnd::Failed(_) => 2,
        JobEnd::Panicked(_) => 3,
    };
    ends.into_iter().max_by_key(rank).unwrap_or(JobEnd::Done)
}
