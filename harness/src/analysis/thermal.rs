//! Which falls are heat's: those that coincide with the drive slowing itself down.
//!
//! Pure. A drive that throttles says so in its telemetry; a fall between two readings of which one says that it
//! throttled, or that it began to in between, is labelled thermal: it tells of the cooling, not of a cache. Fails where
//! readings are far apart (log pages come once a minute) and another fall happens to lie between them.

use super::cliff::Cliff;
use crate::sample::Sample;
use crate::sample::telemetry::Telemetry;
use crate::units::{Bytes, Nanos};

/// When the drive slowed itself down, from the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heat(Vec<(Nanos, Nanos)>);

impl Heat {
    /// From readings in the order of time.
    #[must_use]
    pub fn new(telemetry: &[Telemetry]) -> Heat {
        let mut spans: Vec<(Nanos, Nanos)> = Vec::new();
        for pair in telemetry.windows(2) {
            let [before, after] = pair else { continue };
            if !after.throttled_since(before) {
                continue;
            }
            match spans.last_mut() {
                Some((_, end)) if *end >= before.at_ns => *end = after.at_ns,
                _ => spans.push((before.at_ns, after.at_ns)),
            }
        }
        Heat(spans)
    }

    /// How long the drive was slowed between two moments.
    #[must_use]
    pub fn within(&self, from: Nanos, to: Nanos) -> Nanos {
        let shared = |(start, end): &(Nanos, Nanos)| (*end).min(to).saturating_sub((*start).max(from));
        self.0.iter().map(shared).fold(Nanos(0), Nanos::saturating_add)
    }

    /// Takes the thermal falls out of `cliffs`, places of which are bytes from the start of `samples`.
    #[must_use]
    pub fn take(&self, cliffs: &mut Vec<Cliff>, samples: &[Sample]) -> Vec<Cliff> {
        let thermal = |cliff: &mut Cliff| {
            let from = moment(samples, cliff.low).saturating_sub(step(samples));
            let to = moment(samples, cliff.high).saturating_add(step(samples));
            self.within(from, to) > Nanos(0)
        };
        cliffs.extract_if(.., thermal).collect()
    }
}

/// When so many bytes were done.
fn moment(samples: &[Sample], bytes: Bytes) -> Nanos {
    let mut done = Bytes(0);
    for sample in samples {
        let after = done.saturating_add(sample.bytes);
        if after >= bytes {
            let part = bytes.saturating_sub(done).0 as f64 / sample.bytes.0.max(1) as f64;
            return sample.start_ns.saturating_add(Nanos((sample.elapsed_ns.0 as f64 * part) as u64));
        }
        done = after;
    }
    samples.last().map_or(Nanos(0), Sample::end_ns)
}

/// The sampling step: a fall is seen no sooner than at its end.
fn step(samples: &[Sample]) -> Nanos {
    samples.iter().map(|sample| sample.elapsed_ns).max().unwrap_or(Nanos(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::telemetry::Throttling;
    use crate::units::Rate;

    fn second(s: u64) -> Nanos {
        Nanos::from_secs(s)
    }

    fn readings(all: &[(u64, bool, u64)]) -> Vec<Telemetry> {
        let reading = |&(at, now, events): &(u64, bool, u64)| Telemetry {
            at_ns: second(at),
            throttling: Some(Throttling { now, events }),
            ..Telemetry::default()
        };
        all.iter().map(reading).collect()
    }

    /// 100 s at 1 GB/s.
    fn samples() -> Vec<Sample> {
        let sample = |at| Sample {
            start_ns: second(at),
            elapsed_ns: second(1),
            bytes: Bytes(1_000_000_000),
            ..Sample::default()
        };
        (0..100).map(sample).collect()
    }

    fn cliff(gb: u64) -> Cliff {
        let at = Bytes(gb * 1_000_000_000);
        Cliff { at, low: at, high: at, before: Rate(1e9), after: Rate(5e8) }
    }

    #[test]
    fn a_fall_while_the_drive_throttles_is_thermal_and_another_is_not() {
        let heat = Heat::new(&readings(&[
            (0, false, 0),
            (40, false, 0),
            (45, true, 1),
            (60, true, 1),
            (65, false, 1),
            (99, false, 1),
        ]));
        let mut cliffs = vec![cliff(20), cliff(44), cliff(80)];
        let thermal = heat.take(&mut cliffs, &samples());
        assert_eq!((cliffs, thermal), (vec![cliff(20), cliff(80)], vec![cliff(44)]));
        assert_eq!(heat.within(second(0), second(100)), second(25));
    }

    #[test]
    fn throttling_that_began_and_ended_between_two_readings_is_seen_by_its_count() {
        let heat = Heat::new(&readings(&[(0, false, 7), (60, false, 8), (99, false, 8)]));
        assert_eq!(heat.take(&mut vec![cliff(30), cliff(70)], &samples()), [cliff(30)]);
    }

    #[test]
    fn a_drive_that_does_not_say_is_never_called_hot() {
        let silent = vec![Telemetry::default(), Telemetry { at_ns: second(99), ..Telemetry::default() }];
        assert_eq!(Heat::new(&silent), Heat::default());
        assert_eq!(Heat::default().take(&mut vec![cliff(3)], &samples()), []);
    }
}
