//! Steady state: whether a series settled, at what level and since when, with both rules' evidence.
//!
//! Owns the words of the answer.

use super::cliff::Cliff;
use super::known::Known;
use super::series::Series;
use super::snia::Evidence;
use crate::units::{Nanos, Rate};

/// Whether a series settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// The answer.
    pub state: State,
    /// Whether the rate goes up and down at the end instead, again and again.
    pub oscillation: Option<Oscillation>,
    /// What our own rule saw at the end; none where there was too little to see.
    pub own: Option<Evidence>,
    /// What SNIA's rule saw in the last five rounds of 60 s; none where there are fewer.
    pub snia: Option<Evidence>,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    /// It is steady at its end.
    Reached(Settled),
    /// It was long enough to settle and did not.
    Never,
    /// It was steady once and is not at its end.
    Lost,
    /// It ended before anybody could say.
    TooShort,
}

/// The steady level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settled {
    /// Mean rate.
    pub rate: Rate,
    /// Lower end of its 95 % confidence interval.
    pub low: Rate,
    /// Upper end of its 95 % confidence interval.
    pub high: Rate,
    /// From where on it is steady, from the start of the series.
    pub since: Nanos,
}

/// A rate that goes up and down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oscillation {
    /// Mean time from one rise to the next.
    pub period: Nanos,
    /// The rate at its lows.
    pub low: Rate,
    /// The rate at its highs.
    pub high: Rate,
}

impl Steady {
    /// The steady rate, if it is reached.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        if let State::Reached(settled) = self.state { Some(settled.rate) } else { None }
    }

    /// The word of the state, as reports and contracts have it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.state {
            State::Reached(_) => "reached",
            State::Never => "never",
            State::Lost => "lost",
            State::TooShort => "too-short",
        }
    }
}

/// Judges a series by its end.
pub(super) fn judge(_: &Series, _: &Known, _: &[Cliff], _: &[Cliff], _: bool) -> Steady {
    Steady { state: State::TooShort, oscillation: None, own: None, snia: None }
}
