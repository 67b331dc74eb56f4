//! Merges the tallies of all workers, by absolute interval number, into samples without gaps.
//!
//! Pure: no engine, no journal.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

use super::worker::{Tally, histogram};
use crate::journal::record::{Record, Round};
use crate::sample::{Latency, Sample};
use crate::units::{Bytes, Nanos};

/// Merges one attempt's tallies.
pub(super) struct Merger {
    segment: u32,
    attempt: u32,
    phase_start: Nanos,
    interval: Nanos,
    /// End of the last sample.
    cursor: Nanos,
    /// By worker: the first interval that it may still report on.
    open: Vec<u64>,
    waiting: BTreeMap<u64, Tally>,
    /// Sums up rounds, where the phase has them.
    rounds: Option<RoundSum>,
}

/// The round that is being summed up.
struct RoundSum {
    number: u32,
    start: Nanos,
    bytes: Bytes,
    latency: Histogram<u64>,
}

/// SNIA's unit of steady state.
const ROUND: Nanos = Nanos::from_secs(60);

impl Merger {
    pub(super) fn new(
        segment: u32,
        attempt: u32,
        start: Nanos,
        phase_start: Nanos,
        interval: Nanos,
        workers: usize,
        rounds: bool,
    ) -> Merger {
        let first = start.saturating_sub(phase_start).0 / interval.0;
        Merger {
            segment,
            attempt,
            phase_start,
            interval,
            cursor: start,
            open: vec![first; workers],
            waiting: BTreeMap::new(),
            rounds: rounds.then(|| RoundSum { number: 0, start, bytes: Bytes(0), latency: histogram() }),
        }
    }

    pub(super) fn segment(&self) -> u32 {
        self.segment
    }

    /// Takes one worker's tally; gives the samples and rounds that no worker can add to any more.
    pub(super) fn push(&mut self, worker: usize, tally: Tally) -> Vec<Record> {
        if let Some(open) = self.open.get_mut(worker) {
            *open = tally.interval + 1;
        }
        self.waiting
            .entry(tally.interval)
            .and_modify(|sum| {
                sum.bytes += tally.bytes;
                sum.ios += tally.ios;
                sum.errors += tally.errors;
                sum.latency.add(&tally.latency).unwrap_or_else(|_| unreachable!("all have the same bounds"));
            })
            .or_insert(tally);
        let complete = self.open.iter().copied().min().unwrap_or(0);
        // The last complete interval may be cut by the end of the attempt, which `finish` knows.
        self.close_until(complete.saturating_sub(1))
    }

    /// The samples up to the end of the attempt, and the last, short round.
    pub(super) fn finish(mut self, end: Nanos) -> Vec<Record> {
        let last = end.saturating_sub(self.phase_start).0 / self.interval.0;
        let mut records = self.close_until(last);
        // A completion may bear the time of the border itself.
        let mut rest = Tally { interval: last, bytes: 0, ios: 0, errors: 0, latency: histogram() };
        for (_, tally) in std::mem::take(&mut self.waiting) {
            rest.bytes += tally.bytes;
            rest.ios += tally.ios;
            rest.errors += tally.errors;
            rest.latency.add(&tally.latency).unwrap_or_else(|_| unreachable!("all have the same bounds"));
        }
        if end > self.cursor || rest.ios > 0 {
            records.extend(self.sample(&rest, end));
        }
        records.extend(self.rounds.take().filter(|sum| end > sum.start).map(|sum| sum.record(end)));
        records
    }

    /// Samples of all intervals before `until`, those without completions as zeros.
    fn close_until(&mut self, until: u64) -> Vec<Record> {
        let first = self.cursor.saturating_sub(self.phase_start).0 / self.interval.0;
        let mut records = Vec::new();
        for number in first..until {
            let border = Nanos(self.phase_start.0 + (number + 1) * self.interval.0);
            let tally = self.waiting.remove(&number).unwrap_or_else(|| Tally {
                interval: number,
                bytes: 0,
                ios: 0,
                errors: 0,
                latency: histogram(),
            });
            records.extend(self.sample(&tally, border));
        }
        records
    }

    fn sample(&mut self, tally: &Tally, end: Nanos) -> impl Iterator<Item = Record> + use<> {
        let start = self.cursor;
        self.cursor = end.max(start);
        let sample = Sample {
            interval: tally.interval,
            segment: self.segment,
            attempt: self.attempt,
            start_ns: start,
            elapsed_ns: end.saturating_sub(start),
            bytes: Bytes(tally.bytes),
            ios: tally.ios,
            errors: tally.errors,
            latency: percentiles(&tally.latency),
        };
        let round = self.rounds.as_mut().and_then(|sum| sum.add(tally, self.cursor));
        std::iter::once(Record::Sample(sample)).chain(round)
    }
}

impl RoundSum {
    /// Adds an interval that ends at `end`; gives the round when it is full.
    fn add(&mut self, tally: &Tally, end: Nanos) -> Option<Record> {
        self.bytes = self.bytes.saturating_add(Bytes(tally.bytes));
        self.latency.add(&tally.latency).unwrap_or_else(|_| unreachable!("all have the same bounds"));
        if end < self.start.saturating_add(ROUND) {
            return None;
        }
        let next = RoundSum { number: self.number + 1, start: end, bytes: Bytes(0), latency: histogram() };
        Some(std::mem::replace(self, next).record(end))
    }

    fn record(self, end: Nanos) -> Record {
        let mut deflated = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.latency, &mut deflated)
            .expect("writing to memory does not fail, and counts fit");
        Record::Round(Round {
            number: self.number,
            start_ns: self.start,
            elapsed_ns: end.saturating_sub(self.start),
            bytes: self.bytes,
            histogram: BASE64.encode(&deflated),
        })
    }
}

fn percentiles(latency: &Histogram<u64>) -> Latency {
    if latency.is_empty() {
        return Latency::default();
    }
    Latency {
        p50_ns: latency.value_at_quantile(0.5),
        p99_ns: latency.value_at_quantile(0.99),
        p999_ns: latency.value_at_quantile(0.999),
        max_ns: latency.max(),
    }
}
