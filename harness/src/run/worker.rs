//! One worker: keeps its engine's slots busy from a source of requests, and tallies completions by interval.
//!
//! The hottest code of the program: nothing here allocates or calls dynamically an I/O. Knows neither
//! journal nor phases.

use std::sync::atomic::{AtomicBool, Ordering};

use hdrhistogram::Histogram;

use crate::engine::{BadBlock, Batch, Completion, Engine, Op, OpKind};
use crate::sample::Fault;
use crate::units::Nanos;

/// What one worker is to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a> {
    /// Interval numbers count from here.
    pub(super) phase_start: Nanos,
    /// Sampling step.
    pub(super) interval: Nanos,
    /// Flush this segment after so many writes.
    pub(super) flush: Option<(u32, u32)>,
    /// When the source does not end by itself.
    pub(super) limit: Limit,
    /// Set from outside to end the run.
    pub(super) stop: &'a AtomicBool,
    /// The run ends at this moment.
    pub(super) deadline: Nanos,
    /// Set by any worker that failed.
    pub(super) abort: &'a AtomicBool,
    /// Set when somebody who watches has seen enough: the job is done.
    pub(super) enough: &'a AtomicBool,
}

/// Ends a source: once the time has come and the bytes are done, or at the latest at `most_bytes`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limit {
    pub(super) least_until: Nanos,
    pub(super) least_bytes: u64,
    pub(super) most_bytes: Option<u64>,
    /// The source has an end of its own.
    pub(super) to_the_end: bool,
}

/// What completed in one interval at one worker.
pub(super) struct Tally {
    /// Number of the interval since the phase started.
    pub(super) interval: u64,
    pub(super) bytes: u64,
    pub(super) ios: u64,
    pub(super) errors: u64,
    /// Latencies in nanoseconds.
    pub(super) latency: Histogram<u64>,
    /// Gaps of over 100 ms between completions of this worker that ended in the interval: from, to.
    pub(super) gaps: Vec<(Nanos, Nanos)>,
}

/// A longer gap without a completion is a stall.
const STALL: Nanos = Nanos::from_millis(100);

/// What a worker reports while it works.
pub(super) enum Report {
    Tally(Tally),
    Bad {
        at: Nanos,
        block: BadBlock,
    },
    /// Bad blocks beyond those that were named.
    MoreBad {
        count: u64,
    },
}

/// How a worker ended.
pub(super) enum Ended {
    /// The source or the limit.
    Done,
    /// Stopped from outside.
    Stopped,
    /// A request failed.
    Failed(Completion),
}

/// Latencies up to an hour with two significant digits: 36 KiB (three digits would be 264 KiB).
pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 2).expect("the bounds are constants that the crate accepts")
}

/// Keeps `engine` busy with what `source` gives until source or limit end it.
pub(super) fn work<E: Engine>(
    engine: &mut E,
    job: &Job<'_>,
    mut source: impl Iterator<Item = OpKind>,
    report: &mut impl FnMut(Report),
) -> Ended {
    let depth = engine.depth();
    let mut free: Vec<u32> = (0..depth).rev().collect();
    let mut batch = Batch::default();
    let mut count = Count::new(job, engine.now());
    let mut now = count.now;
    let (mut writes, mut issued_bytes) = (0_u32, 0_u64);
    let mut flush_due = false;
    let mut ending = None;
    loop {
        while ending.is_none()
            && let Some(&slot) = free.last()
        {
            let stopped = job.stop.load(Ordering::Relaxed) || job.abort.load(Ordering::Relaxed);
            if stopped || count.now >= job.deadline {
                ending = Some(Ended::Stopped);
                break;
            }
            let enough = job.enough.load(Ordering::Relaxed);
            let next = match job.flush {
                Some((_, segment)) if flush_due => Some(OpKind::Flush { segment: Some(segment) }),
                _ if enough || !job.limit.to_the_end && job.limit.reached(issued_bytes, count.now) => None,
                _ => source.next(),
            };
            let Some(kind) = next else {
                ending = Some(Ended::Done);
                break;
            };
            flush_due = false;
            if let OpKind::Write { len, .. } = kind {
                issued_bytes += u64::from(len);
                writes = writes.wrapping_add(1);
                flush_due = job.flush.is_some_and(|(every, _)| writes.is_multiple_of(every));
            }
            free.pop();
            engine.submit(Op { slot, kind }, now);
        }
        // More than there are would be an engine's mistake, and no reason to wait for ever.
        if free.len() >= depth as usize {
            break;
        }
        engine.reap(count.wake, &mut batch);
        if batch.completions.is_empty() {
            count.pass(engine.now(), report);
        }
        for completion in &batch.completions {
            free.push(completion.op.slot);
            if let Some(failed) = count.take(completion, report) {
                job.abort.store(true, Ordering::Relaxed);
                ending = Some(Ended::Failed(failed));
            }
        }
        batch.completions.clear();
        for block in batch.bad.drain(..) {
            count.named_bad += 1;
            report(Report::Bad { at: count.now, block });
        }
        now = if std::mem::take(&mut count.took_time) { engine.now() } else { count.now };
    }
    count.finish(report);
    ending.unwrap_or(Ended::Done)
}

impl Job<'_> {
    /// Number of the interval that holds this moment.
    fn interval_of(&self, now: Nanos) -> u64 {
        now.saturating_sub(self.phase_start).0 / self.interval.0
    }

    /// Where that interval ends.
    fn border_after(&self, interval: u64) -> Nanos {
        Nanos(self.phase_start.0.saturating_add((interval + 1).saturating_mul(self.interval.0)))
    }
}

impl Limit {
    #[inline]
    fn reached(&self, issued_bytes: u64, last_seen: Nanos) -> bool {
        if self.most_bytes.is_some_and(|most| issued_bytes >= most) {
            return true;
        }
        // The last completion tells the time well enough: asking the clock as well would cost every I/O.
        issued_bytes >= self.least_bytes && last_seen >= self.least_until
    }
}

/// The running tally of one worker.
struct Count<'a> {
    job: &'a Job<'a>,
    tally: Tally,
    border: Nanos,
    /// When to look again though nothing has completed.
    wake: Nanos,
    /// The last completion, at first the start.
    now: Nanos,
    /// Up to here a gap that lasts is told already.
    told: Nanos,
    /// More has been done since than counting.
    took_time: bool,
    bad: u64,
    named_bad: u64,
}

impl<'a> Count<'a> {
    fn new(job: &'a Job<'a>, now: Nanos) -> Count<'a> {
        let interval = job.interval_of(now);
        let (border, tally) = (job.border_after(interval), Tally::new(interval));
        Count { job, tally, border, wake: border, now, told: now, took_time: false, bad: 0, named_bad: 0 }
    }

    /// Counts a completion; gives it back when it ends the job.
    #[inline]
    fn take(&mut self, completion: &Completion, report: &mut impl FnMut(Report)) -> Option<Completion> {
        let before = self.now;
        self.now = completion.completed;
        if self.now >= self.border {
            self.turn(self.now, report);
        }
        if self.now.saturating_sub(before) > STALL {
            self.tally.gaps.push((before.max(self.told), self.now));
        }
        if matches!(completion.op.kind, OpKind::Write { .. } | OpKind::Read { .. }) {
            self.tally.latency.saturating_record(completion.completed.0.saturating_sub(completion.submitted.0));
            self.tally.ios += 1;
        }
        // What was read was also compared.
        self.took_time |= matches!(completion.op.kind, OpKind::Read { .. });
        self.bad += u64::from(completion.bad_blocks);
        match (completion.result, completion.op.kind) {
            (Ok(bytes), _) => {
                self.tally.bytes += u64::from(bytes);
                None
            }
            // What cannot be read back is a finding of the read-back, which goes on.
            (Err(_), OpKind::Read { offset, len, .. }) => {
                self.tally.errors += 1;
                self.tally.bytes += u64::from(len);
                report(Report::Bad { at: self.now, block: BadBlock { offset, fault: Fault::Unreadable } });
                None
            }
            (Err(_), _) => {
                self.tally.errors += 1;
                Some(*completion)
            }
        }
    }

    /// Nothing completed until now: what is a stall by now is told while it lasts, interval by interval.
    #[cold]
    fn pass(&mut self, now: Nanos, report: &mut impl FnMut(Report)) {
        if now < self.wake {
            return;
        }
        if now.saturating_sub(self.now) > STALL {
            self.tally.gaps.push((self.now.max(self.told), now));
            self.told = now;
            self.turn(now, report);
        } else {
            self.wake = self.job.border_after(self.job.interval_of(now));
        }
    }

    /// Hands the tally over and begins that of the interval that holds `now`.
    #[cold]
    fn turn(&mut self, now: Nanos, report: &mut impl FnMut(Report)) {
        let interval = self.job.interval_of(now);
        report(Report::Tally(std::mem::replace(&mut self.tally, Tally::new(interval))));
        self.border = self.job.border_after(interval);
        self.wake = self.border;
        self.took_time = true;
    }

    fn finish(mut self, report: &mut impl FnMut(Report)) {
        self.turn(self.now, report);
        if self.bad > self.named_bad {
            report(Report::MoreBad { count: self.bad - self.named_bad });
        }
    }
}

impl Tally {
    pub(super) fn new(interval: u64) -> Tally {
        Tally { interval, bytes: 0, ios: 0, errors: 0, latency: histogram(), gaps: Vec::new() }
    }

    /// Adds another worker's counts.
    pub(super) fn absorb(&mut self, other: &Tally) {
        self.bytes += other.bytes;
        self.ios += other.ios;
        self.errors += other.errors;
        add(&mut self.latency, &other.latency);
    }
}

/// Adds one histogram to another; all have the bounds of [`histogram`].
pub(super) fn add(sum: &mut Histogram<u64>, other: &Histogram<u64>) {
    sum.add(other).expect("all histograms are made by one function, with the same bounds");
}
