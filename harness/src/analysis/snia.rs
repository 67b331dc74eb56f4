//! Steady state: has the throughput of random writes settled, by SNIA's rule on true rounds of 60 s.
//!
//! Source: SNIA Solid State Storage Performance Test Specification 2.0.2, section 2.1.24: over five rounds
//! the range is at most 20 % of the mean, and the excursion of the least-squares line at most 10 %.
//! Where it fails: five rounds on the plateau of a purged drive pass as well, and so may a trough or an
//! overshoot after the cliff. Knows nothing of cliffs, and judges one series by its end.

use crate::units::{Bytes, Nanos, Rate};

/// Rounds in the window.
pub const WINDOW: usize = 5;
/// Largest (max − min) / mean within the window.
const MOST_RANGE: f64 = 0.20;
/// Largest |slope| × (rounds − 1) / mean within the window.
const MOST_EXCURSION: f64 = 0.10;
/// A round is full when it lasts at least this share of SNIA's 60 s; the last one of a run may be cut.
const FULL: Nanos = Nanos::from_secs(57);

/// One round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Start, from the start of the level.
    pub start: Nanos,
    /// Length as it really was.
    pub elapsed: Nanos,
    /// Bytes written in it.
    pub bytes: Bytes,
}

/// What the last window says of both tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// (max − min) / mean; at most 0.20 passes.
    pub range: f64,
    /// |slope| × 4 / mean; at most 0.10 passes.
    pub excursion: f64,
}

/// Whether a series settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steady {
    /// It is steady at its end.
    Reached {
        /// Mean of the last window.
        rate: Rate,
        /// Slowest round of the window.
        low: Rate,
        /// Fastest round of the window.
        high: Rate,
        /// From where on every window passes, from the start of the level.
        since: Nanos,
        /// Of the last window.
        evidence: Evidence,
    },
    /// No window passes.
    Never(Evidence),
    /// An earlier window passes, the last one does not.
    Lost(Evidence),
    /// Fewer than five full rounds.
    TooShort,
}

impl Steady {
    /// The word of the state, as reports and contracts have it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Steady::Reached { .. } => "reached",
            Steady::Never(_) => "never",
            Steady::Lost(_) => "lost",
            Steady::TooShort => "too-short",
        }
    }

    /// The steady rate, if it is reached.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        if let Steady::Reached { rate, .. } = self { Some(*rate) } else { None }
    }
}

/// Judges a level by its full rounds.
#[must_use]
pub fn steady(rounds: &[Round]) -> Steady {
    let full: Vec<Round> = rounds.iter().copied().filter(|round| round.elapsed >= FULL).collect();
    let windows: Vec<Evidence> = full.windows(WINDOW).filter_map(evidence).collect();
    let Some(&last) = windows.last() else { return Steady::TooShort };
    if !last.passes() {
        let before = windows.iter().any(Evidence::passes);
        return if before { Steady::Lost(last) } else { Steady::Never(last) };
    }
    let first = windows.iter().rposition(|window| !window.passes()).map_or(0, |failed| failed + 1);
    let rates: Vec<f64> = full.iter().rev().take(WINDOW).filter_map(rate).collect();
    let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let high = rates.iter().copied().fold(0.0, f64::max);
    Steady::Reached {
        rate: Rate(rates.iter().sum::<f64>() / rates.len() as f64),
        low: Rate(low),
        high: Rate(high),
        since: full.get(first).map_or(Nanos(0), |round| round.start),
        evidence: last,
    }
}

impl Evidence {
    /// Whether both tests pass.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.range <= MOST_RANGE && self.excursion <= MOST_EXCURSION
    }
}

fn rate(round: &Round) -> Option<f64> {
    round.bytes.per(round.elapsed).map(|rate| rate.0)
}

fn evidence(window: &[Round]) -> Option<Evidence> {
    let rates: Vec<f64> = window.iter().filter_map(rate).collect();
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    if rates.len() < WINDOW || mean <= 0.0 {
        // A window without any progress is as unsteady as can be: it has no level.
        return Some(Evidence { range: f64::INFINITY, excursion: f64::INFINITY });
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
    Some(Evidence { range: (high - low) / mean, excursion: (products / squares).abs() * (n - 1.0) / mean })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 60 s at these MB/s.
    fn rounds(mb_s: &[f64]) -> Vec<Round> {
        let round = |(at, rate): (usize, &f64)| Round {
            start: Nanos::from_secs(60 * at as u64),
            elapsed: Nanos::from_secs(60),
            bytes: Bytes((rate * 60e6) as u64),
        };
        mb_s.iter().enumerate().map(round).collect()
    }

    fn check(mb_s: &[f64], word: &str, rate: Option<f64>) {
        let found = steady(&rounds(mb_s));
        assert_eq!(found.word(), word, "{mb_s:?}: {found:?}");
        assert_eq!(found.rate().map(|rate| rate.mb_s().round()), rate, "{mb_s:?}");
    }

    #[test]
    fn a_flat_series_is_steady_and_a_falling_one_is_not() {
        check(&[100.0; 5], "reached", Some(100.0));
        check(&[500.0, 400.0, 300.0, 200.0, 150.0, 120.0], "never", None);
        check(&[100.0, 100.0, 100.0, 100.0], "too-short", None);
        check(&[0.0; 6], "never", None);
    }

    #[test]
    fn both_tests_must_pass() {
        // Range 19 %, but a slope of 10.1 % over the window.
        check(&[100.0, 95.0, 92.0, 91.0, 89.0], "never", None);
        // No slope, but a range of 25 %.
        check(&[100.0, 125.0, 112.0, 125.0, 100.0], "never", None);
        check(&[100.0, 115.0, 108.0, 115.0, 100.0], "reached", Some(108.0));
    }

    #[test]
    fn what_was_steady_once_and_is_not_at_the_end_is_lost() {
        check(&[100.0, 100.0, 100.0, 100.0, 100.0, 50.0], "lost", None);
    }

    #[test]
    fn since_is_where_the_passing_windows_begin() {
        let Steady::Reached { since, .. } = steady(&rounds(&[300.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0])) else {
            panic!("steady")
        };
        assert_eq!(since, Nanos::from_secs(60));
    }
}
