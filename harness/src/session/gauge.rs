//! Telemetry of a run: a simulated drive's own word, else what a probe of the real one reads.

use crate::engine::EngineFactory;
use crate::sample::telemetry::{Heat, Occasion, Telemetry};
use crate::target::Facts;
use crate::target::probe::Probe;
use crate::units::Nanos;

/// Between readings of a simulated drive whose state does not change.
const STEADY: Nanos = Nanos(5_000_000_000);

/// Gives a reading whenever one is due: see [`Gauge`](crate::run::Gauge).
pub(super) fn gauge<'a, F: EngineFactory>(
    facts: &Facts,
    factory: &'a F,
) -> impl FnMut(Nanos, Occasion) -> Option<Telemetry> + use<'a, F> {
    let mut probe = Probe::new(facts);
    let mut last: Option<(Nanos, Heat)> = None;
    move |at, why| {
        let Some(now) = factory.heat() else { return probe.as_mut()?.read(at, why) };
        let due = last
            .is_none_or(|(since, before)| before.throttling != now.throttling || at.saturating_sub(since) >= STEADY);
        if why == Occasion::Sample && !due {
            return None;
        }
        last = Some((at, now));
        Some(Telemetry {
            at_ns: at,
            temperature_c: now.temperature_c,
            warning_c: now.warning_c,
            throttling: Some(now.throttling),
            ..Telemetry::default()
        })
    }
}
