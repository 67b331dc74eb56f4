//! Readings of drive and host between samples and between phases, and what the run does about heat.
//!
//! Knows no source of them: the session hands one in. Never called by a thread that does I/O.

use super::phases::now;
use super::{Run, Stopped};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::engine::content::Pattern;
use crate::engine::{Batch, Content, Engine, EngineError, EngineFactory, Setup};
use crate::journal::record::Record;
use crate::sample::telemetry::{Occasion, Telemetry};
use crate::units::Nanos;

/// Reads what drive and host say of themselves, if a reading is due at this moment of the run's clock.
pub type Gauge<'a> = dyn FnMut(Nanos, Occasion) -> Option<Telemetry> + 'a;

/// Lets time pass on the engines' clock, with nothing in flight, in steps that a signal can end.
///
/// # Errors
/// No engine could be had to wait with.
pub fn idle<F: EngineFactory>(factory: &F, span: Nanos, stop: &AtomicBool) -> Result<(), EngineError> {
    const BLOCK: u32 = 4096;
    let content = Content { seed: 0, pattern: Pattern::Zeros };
    let (files, segment_bytes) = ("idle".to_owned(), u64::from(BLOCK));
    let setup = Setup { files, block: BLOCK, workers: 1, queue_depth: 1, dsync: false, segment_bytes, content };
    let mut engines = factory.engines(&setup)?;
    let Some(engine) = engines.first_mut() else { return Ok(()) };
    let (until, mut batch) = (engine.now().saturating_add(span), Batch::default());
    while engine.now() < until && !stop.load(Ordering::Relaxed) {
        engine.reap(until.min(engine.now().saturating_add(Nanos::from_millis(100))), &mut batch);
    }
    Ok(())
}

impl<'a, F: EngineFactory> Run<'a, F> {
    /// Lets somebody read what drive and host say of themselves, between samples and by the thread that keeps the
    /// journal. At the drive's own warning temperature the run waits before a phase, and stops within one.
    #[must_use]
    pub fn gauged_by(self, gauge: &'a mut Gauge<'a>) -> Run<'a, F> {
        Run { gauge: Some(gauge), ..self }
    }

    /// Notes a reading, if one is due; gives °C and limit where the drive is as hot as it warns of.
    pub(super) fn read_gauge(&mut self, at: Nanos, why: Occasion) -> Result<Option<(i64, i64)>, Stopped> {
        let Some(reading) = self.gauge.as_mut().and_then(|gauge| gauge(at, why)) else { return Ok(None) };
        let hot = reading.too_hot();
        self.sink.record(Record::Telemetry(Box::new(reading)))?;
        Ok(hot)
    }

    /// Notes a reading between phases.
    pub(super) fn read_at_border(&mut self, at: Nanos) -> Result<Option<(i64, i64)>, Stopped> {
        self.read_gauge(at, Occasion::Border)
    }

    /// Before a phase: waits while the drive is as hot as it warns of, a quarter of an hour at the most.
    pub(super) fn cool_down(&mut self, engines: &mut [F::Engine]) -> Result<(), Stopped> {
        const STEP: Nanos = Nanos(5_000_000_000);
        const MOST: Nanos = Nanos(900_000_000_000);
        let begun = now(engines);
        while let Some((hot, warning)) = self.read_at_border(now(engines))? {
            if now(engines).saturating_sub(begun) >= MOST {
                return Err(Stopped::TooHot { now: hot, warning });
            }
            self.rest(engines, STEP)?;
        }
        Ok(())
    }
}
