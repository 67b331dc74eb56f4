//! Steady state: whether a series settled, at what level and since when, with both rules' evidence.
//!
//! Owns the answer at the end of a series; what flat means is in `flat`, how long an observer waits who does not know
//! the rest in `claim`.

use super::claim::{self, Claim};
use super::cliff::Levels;
use super::flat::{Look, Swing};
use super::known::{Known, Workload};
use super::series::{Series, Step};
use super::snia::{self, Evidence};
use crate::units::{Bytes, Nanos, Rate};

/// Whether a series settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// The answer.
    pub state: State,
    /// That the rate goes up and down again and again, where it is not steady.
    pub oscillation: Option<Oscillation>,
    /// What our own rule saw at the end: five equal parts, chance taken off; none where there was too little to see.
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
    /// The rate at its lows: the tenth percentile.
    pub low: Rate,
    /// The rate at its highs: the ninetieth percentile.
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
pub(super) fn judge(series: &Series, known: &Known, levels: &Levels, claim: Option<Claim>) -> Steady {
    let begins = begins(series, known, levels);
    let tails = begins.map(|begins| tails(series, &begins)).unwrap_or_default();
    let looks: Vec<(Bytes, Look)> =
        tails.into_iter().filter_map(|from| Some((from, Look::at(&units(series, from))?))).collect();
    let flat = looks.iter().find(|(_, look)| look.is_flat());
    let state = match (flat, looks.is_empty()) {
        (Some(&(from, _)), _) => State::Reached(settled(series, from)),
        (None, _) if claim.is_some() => State::Lost,
        (None, true) => State::TooShort,
        (None, false) => State::Never,
    };
    let reached = matches!(state, State::Reached(_));
    let oscillation = if reached { None } else { oscillation(series) };
    Steady {
        state: if oscillation.is_some() && state == State::TooShort { State::Never } else { state },
        oscillation,
        own: flat.or(looks.last()).map(|(_, look)| look.parts),
        snia: snia::at_the_end(series),
    }
}

/// From where on a series may be steady, and what of it must be flat at the least.
struct Begins {
    from: Bytes,
    least: Bytes,
}

/// The share of a series that must be flat where the drive is not known, one in so many.
const LEAST_SHARE: u64 = 4;

/// On a known drive when the flash was used up and the range overwritten once more, as an observer has it, but with the
/// cliff where it turned out to be. Else after the last change; random writes that never changed may be on the
/// plateau, unless it is longer than an observer waits. None where the series cannot be steady yet.
fn begins(series: &Series, known: &Known, levels: &Levels) -> Option<Begins> {
    if let (Workload::RandomWrite, Some(flash), Some(range)) = (known.workload, known.flash(), known.range) {
        let fall = levels.cliffs.iter().map(|cliff| cliff.at).find(|&at| at >= flash.least);
        let from = fall.unwrap_or(flash.most).saturating_add(range);
        return Some(Begins { from, least: Bytes(range.0 / 10) });
    }
    let changes = levels.cliffs.iter().chain(&levels.recoveries).map(|change| change.at);
    let last = changes.max();
    if last.is_none() && known.workload == Workload::RandomWrite && series.elapsed() < claim::PATIENCE {
        return None;
    }
    Some(Begins { from: last.unwrap_or(Bytes(0)), least: Bytes(series.total().0 / LEAST_SHARE) })
}

/// Starts of the tails that are looked at, longest first, each three quarters of the one before.
fn tails(series: &Series, begins: &Begins) -> Vec<Bytes> {
    let longest = series.total().saturating_sub(begins.from);
    let lengths = std::iter::successors(Some(longest), |length| Some(Bytes(length.0 / 4 * 3)));
    let lengths = lengths.take_while(|length| *length >= begins.least && length.0 > 0);
    lengths.map(|length| series.total() - length).collect()
}

/// Most units of a stretch.
const MOST_UNITS: usize = 400;

/// The whole steps from `from` on, as many together as leave at most [`MOST_UNITS`].
fn units(series: &Series, from: Bytes) -> Vec<Step> {
    let steps = &series.steps()[series.step_at(from)..];
    let together = steps.len().div_ceil(MOST_UNITS).max(1);
    steps.chunks(together).map(|steps| steps.iter().fold(Step::default(), |sum, &step| sum.and(step))).collect()
}

/// Batches of a tail for its confidence interval, and Student's 97.5 % quantile at one degree less.
const BATCHES: (u64, f64) = (10, 2.262);
/// How far the rate may be off the level for the series to be steady already.
const OFF: f64 = 0.05;

/// The level of a flat tail, and since when the series is at it.
///
/// The interval is of batch means (Schmeiser 1982: ten to thirty batches), which see correlation that is shorter
/// than a batch; what is left of it between neighbouring batches takes its share of their number, as of a
/// first-order autoregression. Fails: waves longer than the tail.
fn settled(series: &Series, from: Bytes) -> Settled {
    let length = series.total() - from;
    let at = |batch: u64| Bytes(from.0 + (u128::from(length.0) * u128::from(batch) / u128::from(BATCHES.0)) as u64);
    let rate = series.rate_between(from, series.total()).unwrap_or(Rate(0.0));
    let means: Vec<f64> =
        (0..BATCHES.0).filter_map(|batch| Some(series.rate_between(at(batch), at(batch + 1))?.0)).collect();
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let squares: f64 = means.iter().map(|m| (m - mean) * (m - mean)).sum();
    let products: f64 = means.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let alike = if squares > 0.0 { (products / squares).clamp(0.0, 0.9) } else { 0.0 };
    let independent = n * (1.0 - alike) / (1.0 + alike);
    let half = BATCHES.1 * libm::sqrt(squares / (n - 1.0) / independent);
    Settled {
        rate,
        low: Rate((rate.0 - half).max(0.0)),
        high: Rate(rate.0 + half),
        since: series.time_at(from).min(since(series, rate)),
    }
}

/// The end of the last unit that is off the level by more than 5 % and noise.
fn since(series: &Series, level: Rate) -> Nanos {
    let units = units(series, Bytes(0));
    let Some(swing) = Swing::of(&units) else { return Nanos(0) };
    let most = OFF + 3.0 * 0.67 * swing.noise;
    let off = swing.smooth.iter().rposition(|log| (log - libm::log(level.0)).abs() > most);
    units.iter().take(off.map_or(0, |unit| unit + 1)).fold(Nanos(0), |sum, unit| sum.saturating_add(unit.elapsed_ns))
}

/// Rises that make an oscillation, at the least.
const LEAST_RISES: usize = 3;

/// Whether a rate goes up and down: from under the lower third of its swing to over the upper third, three times and
/// more.
fn oscillation(series: &Series) -> Option<Oscillation> {
    let units = units(series, Bytes(0));
    let swing = Swing::of(&units).filter(Swing::is_wide)?;
    let third = (swing.high - swing.low) / 3.0;
    let (mut is_low, mut now, mut rises) = (false, Nanos(0), Vec::new());
    for (unit, &log) in units.iter().zip(&swing.smooth) {
        now = now.saturating_add(unit.elapsed_ns);
        if is_low && log > swing.high - third {
            rises.push(now);
        }
        is_low = log < swing.low + third || is_low && log <= swing.high - third;
    }
    let (first, last) = (rises.first()?, rises.last()?);
    let periods = rises.len() as u64 - 1;
    (rises.len() >= LEAST_RISES).then(|| Oscillation {
        period: Nanos((*last - *first).0 / periods),
        low: Rate(libm::exp(swing.low)),
        high: Rate(libm::exp(swing.high)),
    })
}
