//! SNIA's rule for steady state, on true rounds of 60 s.
//!
//! Source: SNIA Solid State Storage Performance Test Specification 2.0.2, section 2.1.24: over five rounds
//! the range is at most 20 % of the mean, and the excursion of the least-squares line at most 10 %.
//! Where it fails: five rounds on the plateau of a purged drive pass as well, and so may a trough or an
//! overshoot after the cliff; of 13 real random-write series its first claim is right in 2. It is evidence
//! beside our own rule, never the answer. Knows nothing of cliffs and drives.

use super::series::Series;
use crate::units::{Bytes, Nanos, Rate};

/// Rounds in the window.
pub const WINDOW: usize = 5;
/// Length of a round.
pub(super) const ROUND: Nanos = Nanos::from_secs(60);
/// Length of the window.
pub(super) const SPAN: Nanos = Nanos(WINDOW as u64 * ROUND.0);
/// Largest (max − min) / mean within the window.
const MOST_RANGE: f64 = 0.20;
/// Largest |slope| × (rounds − 1) / mean within the window.
const MOST_EXCURSION: f64 = 0.10;

/// One round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Start, from the start of the series.
    pub start: Nanos,
    /// Length as it really was.
    pub elapsed: Nanos,
    /// Bytes written in it.
    pub bytes: Bytes,
}

/// What consecutive equal parts of a series say of both tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// (max − min) / mean of the parts' rates.
    pub range: f64,
    /// |slope of the least-squares line| × (parts − 1) / mean.
    pub excursion: f64,
}

impl Evidence {
    /// Of parts with these rates; without a mean a series is as unsteady as can be.
    pub(super) fn of(rates: &[f64]) -> Evidence {
        let n = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / n;
        if rates.len() < 2 || mean <= 0.0 {
            return Evidence { range: f64::INFINITY, excursion: f64::INFINITY };
        }
        let middle = (n - 1.0) / 2.0;
        let (mut products, mut squares) = (0.0, 0.0);
        for (at, rate) in rates.iter().enumerate() {
            let x = at as f64 - middle;
            products += x * (rate - mean);
            squares += x * x;
        }
        let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let high = rates.iter().copied().fold(0.0, f64::max);
        Evidence { range: (high - low) / mean, excursion: (products / squares).abs() * (n - 1.0) / mean }
    }

    /// Whether both of SNIA's tests pass.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.range <= MOST_RANGE && self.excursion <= MOST_EXCURSION
    }
}

/// The whole rounds of a series, read off its cumulative curve, which is taken as straight within a step.
#[must_use]
pub fn rounds(series: &Series) -> Vec<Round> {
    let mut before = Bytes(0);
    let whole = series.elapsed().0 / ROUND.0;
    (0..whole)
        .map(|round| {
            let start = Nanos(round * ROUND.0);
            let end = series.bytes_at(start.saturating_add(ROUND));
            let bytes = end.saturating_sub(std::mem::replace(&mut before, end));
            Round { start, elapsed: ROUND, bytes }
        })
        .collect()
}

/// What a window of rounds says; none for another number of rounds than [`WINDOW`].
#[must_use]
pub fn evidence(window: &[Round]) -> Option<Evidence> {
    let rate = |round: &Round| round.bytes.per(round.elapsed).map_or(0.0, |Rate(rate)| rate);
    (window.len() == WINDOW).then(|| Evidence::of(&window.iter().map(rate).collect::<Vec<_>>()))
}

/// What the last window of a series says; none where it has fewer rounds.
pub(super) fn at_the_end(series: &Series) -> Option<Evidence> {
    let rounds = rounds(series);
    evidence(rounds.get(rounds.len().checked_sub(WINDOW)?..)?)
}

#[cfg(test)]
mod tests {
    use super::super::series::Step;
    use super::*;

    /// Whether a series of rounds of 60 s at these MB/s passes at its end.
    fn check(mb_s: &[f64], passes: Option<bool>) {
        let step = |&mb_s: &f64| Step { elapsed_ns: Nanos::from_secs(15), bytes: Bytes((mb_s * 15e6) as u64) };
        let series = Series::new(mb_s.iter().flat_map(|mb_s| std::iter::repeat_n(step(mb_s), 4)));
        assert_eq!(rounds(&series).len(), mb_s.len());
        assert_eq!(at_the_end(&series).map(|evidence| evidence.passes()), passes, "{mb_s:?}");
    }

    #[test]
    fn a_flat_series_passes_and_a_falling_one_does_not() {
        check(&[100.0; 5], Some(true));
        check(&[500.0, 400.0, 300.0, 200.0, 150.0, 120.0], Some(false));
        check(&[100.0, 100.0, 100.0, 100.0], None);
        check(&[100.0, 100.0, 100.0, 100.0, 100.0, 50.0], Some(false));
    }

    #[test]
    fn both_tests_must_pass() {
        // Range 19 %, but a slope of 10.1 % over the window.
        check(&[100.0, 95.0, 92.0, 91.0, 89.0], Some(false));
        // No slope, but a range of 25 %.
        check(&[100.0, 125.0, 112.0, 125.0, 100.0], Some(false));
        check(&[100.0, 115.0, 108.0, 115.0, 100.0], Some(true));
    }

    #[test]
    fn rounds_are_of_time_whatever_the_steps_are() {
        let step = |seconds, bytes| Step { elapsed_ns: Nanos::from_secs(seconds), bytes: Bytes(bytes) };
        let bytes: Vec<u64> =
            rounds(&Series::new([step(90, 900), step(60, 60), step(45, 0)])).iter().map(|r| r.bytes.0).collect();
        assert_eq!(bytes, [600, 317, 34]);
    }
}
