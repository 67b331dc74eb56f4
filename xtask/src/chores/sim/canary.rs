//! Engines that are broken on purpose: the checks of a seed are worth what they catch of these.

use harness::engine::{Batch, Completion, Engine, EngineError, EngineFactory, Op, OpKind, Setup};
use harness::units::Nanos;

/// How an engine is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Canary {
    /// A write now and then says it is done and never was.
    LosesWrites,
    /// A write now and then goes to the block behind.
    Misplaces,
    /// A completion now and then says half of the bytes.
    Miscounts,
    /// A completion now and then bears the time of the one before.
    TurnsBack,
    /// Bad blocks of reads are passed over.
    LooksAway,
    /// Every bad block is called corrupt.
    Misnames,
    /// A request is completed twice now and then.
    Doubles,
    /// Waits end before their time.
    Hurries,
    /// An error is passed over: the request is said to be done.
    Swallows,
    /// What it does depends on how often it was made in this process.
    Wavers,
}

impl Canary {
    /// All of them.
    #[cfg(test)]
    pub(super) const ALL: [Canary; 10] = [
        Canary::LosesWrites,
        Canary::Misplaces,
        Canary::Miscounts,
        Canary::TurnsBack,
        Canary::LooksAway,
        Canary::Misnames,
        Canary::Doubles,
        Canary::Hurries,
        Canary::Swallows,
        Canary::Wavers,
    ];
}

/// Makes engines that are broken in one way, or in none.
pub(super) struct Broken<F> {
    pub(super) inner: F,
    pub(super) how: Option<Canary>,
}

pub(super) struct BrokenEngine<E> {
    inner: E,
    how: Option<Canary>,
    segment_bytes: u64,
    count: u64,
    last: Nanos,
}

/// Once in so many requests.
const NOW_AND_THEN: u64 = 17;

impl<F: EngineFactory> EngineFactory for Broken<F> {
    type Engine = BrokenEngine<F::Engine>;

    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn now(&self) -> Nanos {
        self.inner.now()
    }

    fn engines(&self, setup: &Setup) -> Result<Vec<BrokenEngine<F::Engine>>, EngineError> {
        static MADE: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let wavers = self.how == Some(Canary::Wavers);
        let count = if wavers { MADE.fetch_add(1, std::sync::atomic::Ordering::Relaxed) } else { 0 };
        let engines = self.inner.engines(setup)?.into_iter().map(|inner| BrokenEngine {
            inner,
            how: self.how,
            segment_bytes: setup.segment_bytes,
            count,
            last: Nanos(0),
        });
        Ok(engines.collect())
    }
}

impl<E: Engine> BrokenEngine<E> {
    fn misdo(&mut self, kind: OpKind) -> OpKind {
        let OpKind::Write { offset, len, generation } = kind else { return kind };
        let within = offset % self.segment_bytes + 2 * u64::from(len) <= self.segment_bytes;
        match self.how {
            Some(Canary::LosesWrites) => OpKind::Trim,
            Some(Canary::Misplaces) if within => OpKind::Write { offset: offset + u64::from(len), len, generation },
            Some(Canary::Wavers) => OpKind::Flush { segment: None },
            _ => kind,
        }
    }

    fn misreport(&mut self, done: &mut Completion) {
        match (self.how, done.op.kind) {
            (Some(Canary::Miscounts), OpKind::Write { len, .. }) => done.result = done.result.map(|_| len / 2),
            (Some(Canary::TurnsBack), _) => done.completed = Nanos(self.last.0.saturating_sub(1)),
            _ => {}
        }
    }
}

impl<E: Engine> Engine for BrokenEngine<E> {
    const THREADED: bool = E::THREADED;

    fn depth(&self) -> u32 {
        self.inner.depth()
    }

    fn now(&self) -> Nanos {
        self.inner.now()
    }

    fn submit(&mut self, op: Op, now: Nanos) {
        self.count += 1;
        let kind =
            if self.how.is_some() && self.count.is_multiple_of(NOW_AND_THEN) { self.misdo(op.kind) } else { op.kind };
        self.inner.submit(Op { kind, ..op }, now);
    }

    fn reap(&mut self, until: Nanos, batch: &mut Batch) {
        let early = Nanos(until.0.saturating_sub(1_000_000));
        let hurries = self.how == Some(Canary::Hurries) && early > self.inner.now();
        let until = if hurries { early } else { until };
        let from = batch.completions.len();
        self.inner.reap(until, batch);
        let Some(how) = self.how else { return };
        for at in from..batch.completions.len() {
            let mut done = batch.completions[at];
            if self.count.is_multiple_of(NOW_AND_THEN) {
                self.misreport(&mut done);
            }
            match how {
                Canary::LooksAway => done.bad_blocks = 0,
                Canary::Swallows => {
                    if let (OpKind::Write { len, .. } | OpKind::Read { len, .. }, Err(_)) = (done.op.kind, done.result)
                    {
                        done.result = Ok(len);
                    }
                }
                _ => {}
            }
            self.last = done.completed;
            batch.completions[at] = done;
        }
        match how {
            Canary::LooksAway => batch.bad.clear(),
            Canary::Misnames => batch.bad.iter_mut().for_each(|bad| bad.fault = harness::sample::Fault::Corrupt),
            Canary::Doubles if self.count.is_multiple_of(NOW_AND_THEN) => {
                batch.completions.extend(batch.completions.last().copied());
            }
            _ => {}
        }
    }
}
