//! Steady state: whether a series settled, at what level and since when, with both rules' evidence.
//!
//! Owns the answer at the end of a series; what flat means is in `flat`, how long an observer waits who does not know
//! the rest in `claim`.

use super::bins::{Bins, median};
use super::claim::{self, Claim};
use super::cliff::Levels;
use super::flat::{self, Look, Swing};
use super::known::{Known, Workload};
use super::series::Series;
use super::snia::{self, Evidence};
use super::swings;
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
    /// It was long enough to settle, and to be seen settled, and did not.
    Never,
    /// It was steady once and is not at its end.
    Lost,
    /// It ended before anybody could say.
    TooShort,
}

/// The steady level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settled {
    /// Median rate, as of every level.
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
pub(super) fn judge(series: &Series, bins: &Bins, known: &Known, levels: &Levels, claim: Option<Claim>) -> Steady {
    let begins = begins(series, known, levels);
    let tails = begins.as_ref().map(|begins| tails(bins, begins)).unwrap_or_default();
    let looks: Vec<(usize, Look)> =
        tails.into_iter().filter_map(|first| Some((first, Look::at(&bins.raw[first..])?))).collect();
    let wave = oscillation(series, bins);
    let outlasts = |first: usize| {
        let tail = series.elapsed().saturating_sub(series.time_before(bins.firsts[first]));
        wave.is_none_or(|wave| swings::outlasts(tail, wave.period))
    };
    let flat = looks.iter().find(|(first, look)| look.is_flat() && outlasts(*first));
    let claimed = claim.filter(|claim| is_at_the_end(series, claim)).map(|claim| bins.at(claim.from, series));
    let first = flat.map(|(first, _)| *first).or(claimed);
    let oscillation = wave.filter(|_| first.is_none());
    let state = match first {
        Some(first) => State::Reached(settled(series, bins, first)),
        None if claim.is_some() => State::Lost,
        None if is_long_enough(series, known, begins.as_ref()) && (!looks.is_empty() || oscillation.is_some()) => {
            State::Never
        }
        None => State::TooShort,
    };
    Steady {
        state,
        oscillation,
        own: flat.or(looks.last()).map(|(_, look)| look.parts),
        snia: snia::at_the_end(series),
    }
}

/// Whether a series was claimed to be steady and ended there, as a run does that waits for nothing else.
fn is_at_the_end(series: &Series, claim: &Claim) -> bool {
    series.elapsed().saturating_sub(claim.decided).0 <= series.elapsed().0 / 100
}

/// From where on a series may be steady, and what of it must be flat at the least, as shares of its bytes.
struct Begins {
    from: f64,
    least: f64,
}

/// The share of a series that must be flat where the drive is not known.
const LEAST_SHARE: f64 = 0.25;
/// The share of a known range that must be flat.
const LEAST_OF_RANGE: f64 = 0.1;

/// Whether a series that did not settle had the time to, and was long enough for anybody to see that it did not.
///
/// It is at least as long as the five rounds of SNIA's window: what happens within less is a way of running and not yet a
/// state. Random writes besides as many bytes as settle a known drive, or else as long as SNIA's test goes on for.
fn is_long_enough(series: &Series, known: &Known, begins: Option<&Begins>) -> bool {
    let had_the_time = match known.workload {
        Workload::RandomWrite if known.flash().is_some() => {
            begins.is_some_and(|begins| begins.from + begins.least <= 1.0)
        }
        Workload::RandomWrite => series.elapsed() >= claim::PATIENCE,
        Workload::Fill => true,
    };
    had_the_time && series.elapsed() >= snia::SPAN
}

/// On a known drive when the flash was used up and the range overwritten once more, as an observer has it, but with the
/// cliff where it turned out to be. Else after the last change; random writes that never changed may be on the
/// plateau, unless it is longer than an observer waits, and those that did on the way to another change, unless a
/// window of SNIA's has passed since. None where the series cannot be steady yet.
fn begins(series: &Series, known: &Known, levels: &Levels) -> Option<Begins> {
    let share = |bytes: Bytes| bytes.0 as f64 / series.total().0.max(1) as f64;
    if let (Workload::RandomWrite, Some(flash), Some(range)) = (known.workload, known.flash(), known.range) {
        let fall = levels.cliffs.iter().map(|cliff| cliff.at).find(|&at| at >= flash.least);
        let from = fall.unwrap_or(flash.most).saturating_add(range);
        return Some(Begins { from: share(from), least: LEAST_OF_RANGE * share(range) });
    }
    let changes = levels.cliffs.iter().chain(&levels.recoveries).map(|change| change.at);
    let last = changes.max();
    if known.workload == Workload::RandomWrite {
        let since = series.elapsed().saturating_sub(last.map_or(Nanos(0), |at| series.time_at(at)));
        if since < if last.is_some() { snia::SPAN } else { claim::PATIENCE } {
            return None;
        }
    }
    Some(Begins { from: share(last.unwrap_or(Bytes(0))), least: LEAST_SHARE })
}

/// First bins of the tails that are looked at, longest first, each three quarters of the one before.
fn tails(bins: &Bins, begins: &Begins) -> Vec<usize> {
    let lengths = std::iter::successors(Some(1.0 - begins.from), |length| Some(length * 0.75));
    let lengths = lengths.take_while(|&length| length >= begins.least && length > 0.0);
    lengths.map(|length| bins.places[..bins.len()].partition_point(|&place| place < 1.0 - length)).collect()
}

/// Batches of a tail for its confidence interval, and Student's 97.5 % quantile at one degree less.
const BATCHES: (usize, f64) = (10, 2.262);
/// How far the rate may be off the level for the series to be steady already.
const OFF: f64 = 0.05;

/// The level of a flat tail, and since when the series is at it.
///
/// The interval is of batches' medians, as of batch means (Schmeiser 1982: ten to thirty batches), which see correlation
/// that is shorter than a batch; what is left of it between neighbouring batches takes its share of their
/// number, as of a first-order autoregression. It is never less than what the noise from bin to bin makes of a median, for
/// medians of rates that are whole blocks may all be the same. Fails: waves longer than the tail; under ten bins it is
/// of single bins.
fn settled(series: &Series, bins: &Bins, first: usize) -> Settled {
    let tail = &bins.raw[first..];
    let level = median(tail.to_vec());
    let batches: Vec<f64> = tail.chunks(tail.len().div_ceil(BATCHES.0).max(1)).map(|b| median(b.to_vec())).collect();
    let n = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / n;
    let squares: f64 = batches.iter().map(|b| (b - mean) * (b - mean)).sum();
    let products: f64 = batches.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let alike = if squares > 0.0 { (products / squares).clamp(0.0, 0.9) } else { 0.0 };
    let independent = n * (1.0 - alike) / (1.0 + alike);
    let error = flat::MEDIAN * bins.noise / libm::sqrt(tail.len() as f64);
    let half = BATCHES.1 * libm::sqrt(squares / (n - 1.0).max(1.0) / independent).max(error);
    Settled {
        rate: Rate(libm::exp(level)),
        low: Rate(libm::exp(level - half)),
        high: Rate(libm::exp(level + half)),
        since: series.time_before(bins.firsts[first.min(since(bins, level))]),
    }
}

/// The bin after the last one that is off the level by more than 5 % and noise.
fn since(bins: &Bins, level: f64) -> usize {
    let most = OFF + 2.0 * bins.noise;
    bins.smooth.iter().rposition(|log| (log - level).abs() > most).map_or(0, |off| off + 1)
}

/// Rises that make an oscillation, at the least.
const LEAST_RISES: usize = 3;

/// Whether a rate goes up and down: from the lower third of its swing to the upper third, three times and more.
fn oscillation(series: &Series, bins: &Bins) -> Option<Oscillation> {
    let swing = Swing::of(&bins.raw).filter(Swing::is_wide)?;
    let third = (swing.high - swing.low) / 3.0;
    let (mut is_low, mut rises) = (false, Vec::new());
    for (bin, &log) in swing.smooth.iter().enumerate() {
        if is_low && log > swing.high - third {
            rises.push(series.time_before(bins.firsts[bin]));
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

#[cfg(test)]
mod tests {
    use super::super::analyze::analyze;
    use super::super::series::Step;
    use super::super::simulated::Random;
    use super::*;

    /// Steps of a second at these MB/s, with noise.
    fn series(noise: f64, seconds: usize, mb_s: impl Fn(f64) -> f64) -> Series {
        let mut random = Random(2);
        Series::new((0..seconds).map(|second| {
            let rate = mb_s(second as f64) * (1.0 + noise * random.normal());
            Step { elapsed_ns: Nanos::from_secs(1), bytes: Bytes((rate * 1e6) as u64) }
        }))
    }

    /// The state at the end, and the level in MB/s within 1 %.
    fn check(known: &Known, series: &Series, word: &str, mb_s: Option<f64>) -> Steady {
        let steady = analyze(series, known).steady;
        let near = match (steady.rate(), mb_s) {
            (Some(rate), Some(mb_s)) => (rate.mb_s() / mb_s - 1.0).abs() < 0.01,
            (rate, mb_s) => rate.is_none() && mb_s.is_none(),
        };
        assert!(steady.word() == word && near, "{steady:?} instead of {word} {mb_s:?}");
        steady
    }

    const UNKNOWN: Known = Known { workload: Workload::RandomWrite, drive: None, range: None, others: Bytes(0) };
    const FILL: Known = Known { workload: Workload::Fill, ..UNKNOWN };

    #[test]
    fn the_level_after_the_last_change_is_steady_since_then() {
        let steady =
            check(&UNKNOWN, &series(0.02, 900, |s| if s < 200.0 { 500.0 } else { 200.0 }), "reached", Some(200.0));
        let State::Reached(settled) = steady.state else { panic!("{steady:?}") };
        assert!((195.0..215.0).contains(&settled.since.secs()), "{settled:?}");
        assert!(steady.snia.is_some_and(|snia| snia.passes()) && steady.oscillation.is_none());
    }

    #[test]
    fn the_interval_holds_the_level_nine_times_in_ten_also_with_correlated_noise() {
        let mut held = 0;
        for seed in 0..100 {
            let (mut random, mut wander) = (Random(seed), 0.0);
            let steps = (0..2000).map(|_| {
                wander = 0.9 * wander + libm::sqrt(1.0 - 0.81) * random.normal();
                Step { elapsed_ns: Nanos::from_secs(1), bytes: Bytes((500e6 * libm::exp(0.05 * wander)) as u64) }
            });
            let steady = analyze(&Series::new(steps), &UNKNOWN).steady;
            let State::Reached(settled) = steady.state else { panic!("seed {seed}: {steady:?}") };
            held += usize::from((settled.low.mb_s()..settled.high.mb_s()).contains(&500.0));
        }
        assert!((90..=99).contains(&held), "{held} of 100");
    }

    #[test]
    fn a_drive_that_cycles_is_never_steady_and_has_a_period_and_a_range() {
        let steady = check(&UNKNOWN, &series(0.02, 3600, |s| 400.0 + 10.0 * (s % 60.0)), "never", None);
        let wave = steady.oscillation.expect("an oscillation");
        assert!((58.0..62.0).contains(&wave.period.secs()), "{wave:?}");
        assert!((420.0..500.0).contains(&wave.low.mb_s()) && (900.0..980.0).contains(&wave.high.mb_s()), "{wave:?}");
    }

    #[test]
    fn random_writes_that_never_changed_may_be_on_the_plateau() {
        check(&UNKNOWN, &series(0.02, 1200, |_| 500.0), "too-short", None);
        check(&UNKNOWN, &series(0.02, 1600, |_| 500.0), "reached", Some(500.0));
        check(&FILL, &series(0.02, 1200, |_| 500.0), "reached", Some(500.0));
    }

    #[test]
    fn what_goes_up_and_down_or_slides_for_less_than_a_judgement_takes_is_too_short() {
        let waves = |period: f64| move |s: f64| if s % period < period / 2.0 { 300.0 } else { 600.0 };
        let small = Known { drive: Some(Bytes(100 << 30)), range: Some(Bytes(2 << 30)), ..UNKNOWN };
        for (known, seconds) in [(UNKNOWN, 30), (UNKNOWN, 1400), (small, 30), (FILL, 200)] {
            let steady = check(&known, &series(0.02, seconds, waves(8.0)), "too-short", None);
            assert!(steady.oscillation.is_some(), "{known:?}, {seconds} s: {steady:?}");
            check(&known, &series(0.02, seconds, |s| 200.0 - 0.4 * s * 200.0 / seconds as f64), "too-short", None);
        }
        check(&UNKNOWN, &series(0.02, 1600, waves(60.0)), "never", None);
        check(&FILL, &series(0.02, 400, waves(60.0)), "never", None);
        // 160 GiB and 50 once more must be written, of which 50 are the fill.
        let known = Known { range: Some(Bytes(50 << 30)), ..small };
        check(&known, &series(0.02, 350, waves(8.0)), "too-short", None);
        check(&known, &series(0.02, 420, waves(8.0)), "never", None);
        // A range that is overwritten within one turn.
        check(&small, &series(0.02, 2000, waves(60.0)), "never", None);
        // However fast a drive is used up.
        check(&known, &series(0.02, 200, |s| 10.0 * waves(8.0)(s)), "too-short", None);
    }

    #[test]
    fn half_a_minute_after_a_fall_nothing_is_steady_yet() {
        let falls = |s: f64| if s < 10.0 { 500.0 } else { 200.0 };
        check(&UNKNOWN, &series(0.01, 40, falls), "too-short", None);
        check(&UNKNOWN, &series(0.01, 400, falls), "reached", Some(200.0));
        check(&FILL, &series(0.01, 40, falls), "reached", Some(200.0));
    }

    #[test]
    fn what_slides_all_the_time_is_never_steady() {
        check(&FILL, &series(0.02, 2000, |s| 200.0 - 0.05 * s), "never", None);
        check(&UNKNOWN, &series(0.02, 2000, |s| 200.0 - 0.05 * s), "never", None);
    }

    #[test]
    fn what_was_steady_and_is_not_at_the_end_is_lost() {
        let rate = |s: f64| if s < 3000.0 { 500.0 } else { 500.0 - (s - 3000.0) };
        check(&UNKNOWN, &series(0.01, 3300, rate), "lost", None);
    }

    #[test]
    fn stalls_and_dips_leave_a_level_steady() {
        let rate = |s: f64| if s % 10.0 < 1.0 { 250.0 } else { 500.0 } * if s == 1500.0 { 0.01 } else { 1.0 };
        check(&UNKNOWN, &series(0.02, 2000, rate), "reached", Some(500.0));
    }

    #[test]
    fn nothing_is_too_short() {
        for known in [UNKNOWN, FILL] {
            check(&known, &Series::new([]), "too-short", None);
            check(&known, &series(0.0, 3, |_| 100.0), "too-short", None);
        }
    }
}
