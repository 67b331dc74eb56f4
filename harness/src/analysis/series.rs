//! A series: bytes over time in sampling steps, as one cumulative curve, and rates read off it.
//!
//! Owns what a rate between two places of a series is. Knows nothing of levels and cliffs.

use crate::sample::Sample;
use crate::units::{Bytes, Nanos, Rate};

/// One sampling step: so many bytes in so much time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Length of the step.
    pub elapsed_ns: Nanos,
    /// Bytes that completed in it.
    pub bytes: Bytes,
}

/// Consecutive steps without gaps.
///
/// Time in which no byte completed belongs to the bytes before it (a flush waits for them), at the
/// start of the series to the first ones; bytes that took no time belong to the next step. So every
/// step kept has both, and none of either is lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    steps: Vec<Step>,
    /// End of each step on the cumulative curve: time and bytes since the start.
    ends: Vec<Step>,
    total: Step,
}

impl Series {
    /// From steps in the order of time.
    #[must_use]
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Series {
        let mut kept: Vec<Step> = Vec::new();
        let mut pending = Step::default();
        let mut total = Step::default();
        for step in steps {
            total = total.and(step);
            match kept.last_mut() {
                Some(last) if step.bytes.0 == 0 && pending.bytes.0 == 0 => *last = last.and(step),
                _ => {
                    pending = pending.and(step);
                    if pending.bytes.0 > 0 && pending.elapsed_ns.0 > 0 {
                        kept.push(std::mem::take(&mut pending));
                    }
                }
            }
        }
        if let Some(last) = kept.last_mut() {
            *last = last.and(pending);
        }
        let ends = kept.iter().scan(Step::default(), |end, &step| {
            *end = end.and(step);
            Some(*end)
        });
        Series { ends: ends.collect(), steps: kept, total }
    }

    /// From the samples of one phase.
    #[must_use]
    pub fn from_samples(samples: &[Sample]) -> Series {
        Series::new(samples.iter().map(|s| Step { elapsed_ns: s.elapsed_ns, bytes: s.bytes }))
    }

    /// Bytes of the whole series.
    #[must_use]
    pub fn total(&self) -> Bytes {
        self.total.bytes
    }

    /// Time of the whole series.
    #[must_use]
    pub fn elapsed(&self) -> Nanos {
        self.total.elapsed_ns
    }

    /// Its steps, each with bytes and time.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Bytes before the step of that index; all of them where it is past the end.
    #[must_use]
    pub fn bytes_before(&self, step: usize) -> Bytes {
        match step.min(self.ends.len()) {
            0 => Bytes(0),
            past => self.ends[past - 1].bytes,
        }
    }

    /// The moment at which the step of that index begins.
    pub(super) fn time_before(&self, step: usize) -> Nanos {
        step.min(self.ends.len()).checked_sub(1).map_or(Nanos(0), |before| self.ends[before].elapsed_ns)
    }

    /// Bytes over time of the whole series; none where no time passed.
    #[must_use]
    pub fn mean(&self) -> Option<Rate> {
        self.total().per(self.elapsed())
    }

    /// Mean rate of the first tenth of the bytes.
    #[must_use]
    pub fn first_tenth(&self) -> Option<Rate> {
        self.rate_between(Bytes(0), Bytes(self.total().0 / 10))
    }

    /// Mean rate of the last tenth of the bytes.
    #[must_use]
    pub fn last_tenth(&self) -> Option<Rate> {
        self.rate_between(Bytes(self.total().0 - self.total().0 / 10), self.total())
    }

    /// Mean rate of the bytes from `from` to `to`, the curve taken as straight within a step; none
    /// where they hold no bytes or took no time.
    #[must_use]
    pub fn rate_between(&self, from: Bytes, to: Bytes) -> Option<Rate> {
        let (from, to) = (from.min(self.total()), to.min(self.total()));
        if to <= from {
            return None;
        }
        (to - from).per(self.time_at(to).saturating_sub(self.time_at(from)))
    }

    /// Median rate of the bytes from `from` to `to`: half of these bytes went at most this fast.
    ///
    /// Many steps are cut into parts of equal bytes, several steps to a part, because steps that alternate
    /// between fast and slow (a throttle's slices, a flush at each segment's end) have a median at which no
    /// stretch of time ever went. A stall falls into one part and hardly moves the median, for which reason
    /// it says nothing of stalls.
    #[must_use]
    pub fn median_between(&self, from: Bytes, to: Bytes) -> Option<Rate> {
        let (from, to) = (from.min(self.total()), to.min(self.total()));
        let first = self.ends.partition_point(|end| end.bytes <= from);
        let last = self.ends.partition_point(|end| end.bytes < to);
        let steps = (last + 1).min(self.ends.len()).saturating_sub(first);
        let borders: Vec<Bytes> = if steps < FEW_STEPS {
            let ends = self.ends.iter().skip(first).take(steps).map(|end| end.bytes.min(to));
            std::iter::once(from).chain(ends).collect()
        } else {
            let parts = (steps / STEPS_A_PART).min(MOST_PARTS) as u64;
            let share = |part: u64| u128::from((to - from).0) * u128::from(part) / u128::from(parts);
            (0..=parts).map(|part| Bytes(from.0 + share(part) as u64)).collect()
        };
        let parts = borders.windows(2).filter_map(|part| match part {
            [start, end] => Some((self.rate_between(*start, *end)?, *end - *start)),
            _ => None,
        });
        weighted_median(parts.collect())
    }

    /// Bytes that had completed at the moment `at`.
    pub(super) fn bytes_at(&self, at: Nanos) -> Bytes {
        let index = self.ends.partition_point(|end| end.elapsed_ns <= at);
        let (Some(step), Some(end)) = (self.steps.get(index), self.ends.get(index)) else { return self.total() };
        let into = u128::from((at - (end.elapsed_ns - step.elapsed_ns)).0);
        let moved = u128::from(step.bytes.0) * into / u128::from(step.elapsed_ns.0.max(1));
        (end.bytes - step.bytes).saturating_add(Bytes(u64::try_from(moved).unwrap_or(u64::MAX)))
    }

    /// The moment at which byte `at` had completed.
    pub(super) fn time_at(&self, at: Bytes) -> Nanos {
        if at >= self.total() {
            return self.elapsed();
        }
        let index = self.ends.partition_point(|end| end.bytes <= at);
        let (Some(step), Some(end)) = (self.steps.get(index), self.ends.get(index)) else { return self.elapsed() };
        let into = u128::from((at - (end.bytes - step.bytes)).0);
        let spent = u128::from(step.elapsed_ns.0) * into / u128::from(step.bytes.0.max(1));
        (end.elapsed_ns - step.elapsed_ns) + Nanos(u64::try_from(spent).unwrap_or(u64::MAX))
    }
}

impl Step {
    /// Bytes over time; none where no time passed.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        self.bytes.per(self.elapsed_ns)
    }

    /// Both steps as one.
    pub(super) fn and(self, other: Step) -> Step {
        Step {
            elapsed_ns: self.elapsed_ns.saturating_add(other.elapsed_ns),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// Fewer steps than these are each a part of its own.
const FEW_STEPS: usize = 32;
/// Steps that make a part, at least.
const STEPS_A_PART: usize = 4;
/// Parts at the most.
const MOST_PARTS: usize = 64;

/// The rate at which half of the bytes are reached, slowest first.
fn weighted_median(mut rates: Vec<(Rate, Bytes)>) -> Option<Rate> {
    rates.sort_by(|a, b| a.0.0.total_cmp(&b.0.0));
    let half = rates.iter().map(|&(_, bytes)| bytes).sum::<Bytes>().0.div_ceil(2);
    let mut sum = Bytes(0);
    rates.into_iter().find_map(|(rate, bytes)| {
        sum = sum.saturating_add(bytes);
        (sum.0 >= half).then_some(rate)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of (milliseconds, bytes) become steps of the same.
    fn check(steps: &[(u64, u64)], kept: &[(u64, u64)]) -> Series {
        let step = |&(ms, bytes): &(u64, u64)| Step { elapsed_ns: Nanos::from_millis(ms), bytes: Bytes(bytes) };
        let series = Series::new(steps.iter().map(step));
        assert_eq!(series.steps, kept.iter().map(step).collect::<Vec<_>>());
        assert_eq!(series.total().0, steps.iter().map(|s| s.1).sum::<u64>());
        assert_eq!(series.elapsed(), Nanos::from_millis(steps.iter().map(|s| s.0).sum()));
        series
    }

    fn rate(rate: Option<Rate>) -> Option<f64> {
        rate.map(|r| r.0)
    }

    #[test]
    fn idle_time_belongs_to_the_bytes_before_it_and_at_the_start_to_the_first() {
        check(&[(5, 0), (10, 100), (3, 0), (2, 0), (10, 50)], &[(20, 100), (10, 50)]);
    }

    #[test]
    fn nothing_written_is_no_rate() {
        let series = check(&[(1000, 0), (1000, 0)], &[]);
        assert_eq!((series.mean(), series.first_tenth()), (Some(Rate(0.0)), None));
        assert_eq!(check(&[], &[]).mean(), None);
        assert_eq!(check(&[(0, 7)], &[]).mean(), None);
    }

    #[test]
    fn rates_are_read_off_the_cumulative_curve() {
        let series =
            check(&[(1000, 100), (1000, 300), (0, 100), (2000, 100)], &[(1000, 100), (1000, 300), (2000, 200)]);
        assert_eq!(rate(series.mean()), Some(150.0));
        assert_eq!(rate(series.rate_between(Bytes(0), Bytes(100))), Some(100.0));
        assert_eq!(rate(series.rate_between(Bytes(50), Bytes(250))), Some(200.0));
        assert_eq!(rate(series.rate_between(Bytes(400), Bytes(9999))), Some(100.0));
        assert_eq!(rate(series.rate_between(Bytes(400), Bytes(400))), None);
        assert_eq!((rate(series.first_tenth()), rate(series.last_tenth())), (Some(100.0), Some(100.0)));
    }

    #[test]
    fn a_flush_counts_for_the_bytes_that_it_flushed() {
        let series = check(&[(1000, 100), (1000, 0), (1000, 100)], &[(2000, 100), (1000, 100)]);
        assert_eq!(rate(series.rate_between(Bytes(0), Bytes(100))), Some(50.0));
        assert_eq!(rate(series.rate_between(Bytes(100), Bytes(200))), Some(100.0));
    }

    #[test]
    fn steps_that_alternate_have_the_rate_of_the_stretch() {
        // A throttle to 100 bytes/s that lets 150 through in one step and 50 in the next.
        let steps: Vec<(u64, u64)> = (0..128).map(|n| (1000, if n % 2 == 0 { 150 } else { 50 })).collect();
        let series = check(&steps, &steps);
        let median = rate(series.median_between(Bytes(0), series.total())).unwrap();
        assert!((95.0..105.0).contains(&median), "{median}");
    }

    #[test]
    fn the_median_is_of_bytes_not_of_steps() {
        let series = check(&[(1000, 100), (1, 1), (1, 1), (1, 1)], &[(1000, 100), (1, 1), (1, 1), (1, 1)]);
        assert_eq!(rate(series.median_between(Bytes(0), series.total())), Some(100.0));
        assert_eq!(rate(series.median_between(Bytes(100), series.total())), Some(1000.0));
    }
}
