//! Merges the tallies of all workers, by absolute interval number, into samples without gaps.
//!
//! Pure: no engine, no journal.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

use super::worker::{Tally, add, histogram};
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
    /// By worker: its gaps without a completion that no sample has counted in full.
    gaps: Vec<Vec<(Nanos, Nanos)>>,
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
            gaps: vec![Vec::new(); workers],
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
        if let Some(gaps) = self.gaps.get_mut(worker) {
            gaps.extend_from_slice(&tally.gaps);
        }
        self.waiting.entry(tally.interval).and_modify(|sum| sum.absorb(&tally)).or_insert(tally);
        let complete = self.open.iter().copied().min().unwrap_or(0);
        // The last complete interval may be cut by the end of the attempt, which `finish` knows.
        self.close_until(complete.saturating_sub(1))
    }

    /// The samples up to the end of the attempt, and the last, short round.
    pub(super) fn finish(mut self, end: Nanos) -> Vec<Record> {
        let last = end.saturating_sub(self.phase_start).0 / self.interval.0;
        let mut records = self.close_until(last);
        // A completion may bear the time of the border itself.
        let mut rest = Tally::new(last);
        for (_, tally) in std::mem::take(&mut self.waiting) {
            rest.absorb(&tally);
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
            let tally = self.waiting.remove(&number).unwrap_or_else(|| Tally::new(number));
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
            stalled_ns: self.stalled(start, self.cursor),
            latency: percentiles(&tally.latency),
        };
        let round = self.rounds.as_mut().and_then(|sum| sum.add(tally, self.cursor));
        std::iter::once(Record::Sample(sample)).chain(round)
    }
}

impl Merger {
    /// Time between `from` and `to` in which every worker was in a gap.
    fn stalled(&mut self, from: Nanos, to: Nanos) -> Nanos {
        let mut common = vec![(from, to)];
        for gaps in &self.gaps {
            common = intersect(&common, gaps);
        }
        for gaps in &mut self.gaps {
            gaps.retain(|gap| gap.1 > to);
        }
        common.iter().fold(Nanos(0), |sum, (from, to)| sum.saturating_add(to.saturating_sub(*from)))
    }
}

/// The spans that lie in one of `a` and in one of `b`.
fn intersect(a: &[(Nanos, Nanos)], b: &[(Nanos, Nanos)]) -> Vec<(Nanos, Nanos)> {
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a.0.max(b.0), a.1.min(b.1))));
    pairs.filter(|(from, to)| from < to).collect()
}

impl RoundSum {
    /// Adds an interval that ends at `end`; gives the round when it is full.
    fn add(&mut self, tally: &Tally, end: Nanos) -> Option<Record> {
        self.bytes = self.bytes.saturating_add(Bytes(tally.bytes));
        add(&mut self.latency, &tally.latency);
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

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Nanos = Nanos(1000);

    fn tally(interval: u64, bytes: u64, gaps: &[(u64, u64)]) -> Tally {
        let gaps = gaps.iter().map(|&(from, to)| (Nanos(from), Nanos(to))).collect();
        Tally { bytes, ios: u64::from(bytes > 0), gaps, ..Tally::new(interval) }
    }

    fn samples(records: Vec<Record>) -> Vec<Sample> {
        records
            .into_iter()
            .filter_map(|record| if let Record::Sample(sample) = record { Some(sample) } else { None })
            .collect()
    }

    /// Merges the tallies of some workers, each given as worker and tally, and ends at `end`.
    fn check(workers: usize, tallies: Vec<(usize, Tally)>, end: u64, expect: &[(u64, u64, u64, u64)]) {
        let mut merger = Merger::new(0, 0, Nanos(0), Nanos(0), STEP, workers, false);
        let mut found: Vec<Sample> =
            tallies.into_iter().flat_map(|(worker, tally)| samples(merger.push(worker, tally))).collect();
        found.extend(samples(merger.finish(Nanos(end))));
        let found: Vec<_> = found.iter().map(|s| (s.start_ns.0, s.elapsed_ns.0, s.bytes.0, s.stalled_ns.0)).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn samples_cover_the_time_without_gaps_and_empty_intervals_are_zero() {
        let tallies = vec![(0, tally(0, 10, &[])), (0, tally(3, 5, &[]))];
        check(1, tallies, 3500, &[(0, 1000, 10, 0), (1000, 1000, 0, 0), (2000, 1000, 0, 0), (3000, 500, 5, 0)]);
    }

    #[test]
    fn workers_are_merged_by_interval_whatever_order_they_report_in() {
        let tallies =
            vec![(1, tally(0, 1, &[])), (1, tally(1, 2, &[])), (0, tally(0, 10, &[])), (0, tally(1, 20, &[]))];
        check(2, tallies, 2000, &[(0, 1000, 11, 0), (1000, 1000, 22, 0)]);
    }

    #[test]
    fn a_stall_is_where_no_worker_completes_anything() {
        let tallies = vec![
            (0, tally(0, 1, &[])),
            (1, tally(0, 1, &[])),
            (0, tally(2, 1, &[(200, 2500)])),
            (1, tally(1, 1, &[(100, 1700)])),
            (1, tally(2, 1, &[])),
        ];
        check(2, tallies, 3000, &[(0, 1000, 2, 800), (1000, 1000, 1, 700), (2000, 1000, 2, 0)]);
    }

    #[test]
    fn a_completion_at_the_very_border_is_not_lost() {
        let tallies = vec![(0, tally(0, 1, &[])), (0, tally(1, 7, &[]))];
        check(1, tallies, 1000, &[(0, 1000, 1, 0), (1000, 0, 7, 0)]);
    }
}
