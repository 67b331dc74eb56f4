//! The first claim: steady state seen online, sample by sample, by an observer who does not know the rest.
//!
//! Owns how long an observer must wait and what it looks at; what flat means is in `flat`. Causal: a claim rests
//! on what came before it alone. Bounded memory, whatever the length of the run.

use super::bins::{log_rate, median, step_noise};
use super::flat::{self, Look};
use super::known::{Flash, Known, Workload};
use super::series::{Series, Step};
use super::snia::ROUND;
use super::swings::Swings;
use crate::units::{Bytes, Nanos, Rate};

/// That a series is steady, said while it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// When, from the start of the series.
    pub decided: Nanos,
    /// The level as it is seen then.
    pub rate: Rate,
    /// Bytes before what it is the level of.
    pub from: Bytes,
}

/// What an observer fed with the series' steps would have claimed first.
pub(super) fn first(series: &Series, known: &Known) -> Option<Claim> {
    let mut observer = Observer::new(known);
    series.steps().iter().find_map(|&step| observer.push(step))
}

/// An observer of random writes.
///
/// On a purged drive the rate stays on a plateau until the spare flash is used up, falls into a trough as all of the
/// garbage collection begins at once, climbs over the steady level and comes back to it. What a drive is then
/// collecting still depends on how the range was filled: until the range has been written about once more. So, where
/// the drive's size and the range are known, the observer waits
///
/// 1. until the flash is used up: until the rate has fallen, after at least as many bytes as the drive offers
///    (flash is never less); or, where it never falls, until the largest drive's flash must be used up;
/// 2. until the range has been overwritten once more (SSD-iq's overwrites, VLDB 2025, settle within 0.5 to 1.1 ranges);
/// 3. and then until the last quarter of the range is flat. The level is that of its last tenth.
///
/// Where they are not known it waits for 25 rounds of 60 s, the most that SNIA's test goes on for, which are
/// flat as a whole. Either way a rate that was seen to come and go must have stayed for two of its periods.
///
/// Fails: a drive that is not known may have a plateau that lasts longer than that; a range that is small against a
/// write cache (pSLC) may be overwritten many times before the flash is used up, and claims come late; a
/// drive with more spare flash than any known one and no fall.
#[derive(Debug)]
pub struct Observer {
    patience: Option<Patience>,
    /// The unit that is not full yet.
    open: Step,
    /// What is needed of the last units.
    units: Vec<Step>,
    /// Bytes and time of all units.
    end: Step,
    /// When the flash was used up.
    fall: Option<Fall>,
    /// Bytes up to the moment when nothing was left of how the range was filled.
    settled: Option<Bytes>,
    /// Whether the rate comes and goes.
    swings: Swings,
}

/// How long an observer waits.
#[derive(Clone, Copy, Debug)]
enum Patience {
    /// By bytes on a range.
    Range { range: Bytes, flash: Flash },
    /// By rounds.
    Rounds,
}

/// The fall from the plateau.
#[derive(Clone, Copy, Debug)]
struct Fall {
    /// Bytes and time up to it: it lies within the first lower unit, which counts as before it.
    at: Step,
    /// Log rate before it.
    before: f64,
}

/// Units of one range.
const UNITS: u64 = 100;
/// Length of a unit where no range is known.
const UNIT: Nanos = Nanos::from_secs(10);
/// Units of which noise is read, and the level before a fall.
const RECENT: usize = 32;
/// Units that are all lower make a fall.
const LOWER: usize = 3;
/// A level's largest standard error.
const LEVEL_ERROR: f64 = 0.015;
/// How often all of the flash is programmed until nothing is left of how the range was filled.
const PASSES: f64 = 2.0;
/// Units that are kept.
const KEPT: usize = 200;
/// SNIA's test goes on for 25 rounds at the most.
pub(super) const PATIENCE: Nanos = Nanos(25 * ROUND.0);
/// Deviations of a unit that are no fall.
const NOISES: f64 = 2.0;
/// The least fall: to 90 %.
const LEAST_FALL: f64 = 0.105_360_515_657_826_3;
/// A fall is over when the rate is back at 95 %.
const BACK: f64 = 0.051_293_294_387_550_6;
impl Observer {
    /// An observer of a run that has just begun.
    #[must_use]
    pub fn new(known: &Known) -> Observer {
        let patience = match (known.workload, known.range, known.flash()) {
            // The rate of a fill is of the place as much as of the time: nothing is claimed before its end.
            (Workload::Fill, ..) => None,
            (Workload::RandomWrite, Some(range), Some(flash)) => Some(Patience::Range { range, flash }),
            (Workload::RandomWrite, ..) => Some(Patience::Rounds),
        };
        Observer {
            patience,
            open: Step::default(),
            units: Vec::new(),
            end: Step::default(),
            fall: None,
            settled: None,
            swings: Swings::default(),
        }
    }

    /// Takes one more step; says whether the series is steady now.
    pub fn push(&mut self, step: Step) -> Option<Claim> {
        let patience = self.patience?;
        self.open = self.open.and(step);
        let full = match patience {
            Patience::Range { range, .. } => self.open.bytes.0 >= range.0 / UNITS,
            Patience::Rounds => self.open.elapsed_ns >= UNIT,
        };
        if !full || self.open.bytes.0 == 0 || self.open.elapsed_ns.0 == 0 {
            return None;
        }
        let unit = std::mem::take(&mut self.open);
        self.end = self.end.and(unit);
        self.units.push(unit);
        if self.units.len() > 2 * KEPT {
            self.units.drain(..self.units.len() - KEPT);
        }
        self.swings.push(log_rate(&unit), self.end.elapsed_ns, self.noise());
        let claim = match patience {
            Patience::Range { range, flash } => self.on_range(range, flash),
            Patience::Rounds => self.over_rounds(),
        };
        claim.filter(|claim| self.swings.are_over(claim.decided))
    }

    /// Noise of the last units.
    fn noise(&self) -> f64 {
        let recent = &self.units[self.units.len().saturating_sub(RECENT)..];
        step_noise(&recent.iter().map(log_rate).collect::<Vec<_>>())
    }

    fn on_range(&mut self, range: Bytes, flash: Flash) -> Option<Claim> {
        if self.fall.is_none() {
            self.fall = self.falls().filter(|fall| fall.at.bytes >= flash.least);
        }
        self.settled = self.settled.or_else(|| self.mixed(range, flash));
        let since = self.end.bytes.saturating_sub(self.settled?);
        if since < Bytes(range.0 / 10) {
            return None;
        }
        let quarter = self.last(|units| units.bytes >= Bytes(range.0 / 4));
        let all = self.last(|units| units.bytes >= since);
        let claim = self.claim(if all.len() > quarter.len() { all } else { quarter }, all);
        let claim = claim.or_else(|| self.claim(quarter, quarter))?;
        if self.fall.is_some_and(|fall| libm::log(claim.rate.0) > fall.before - BACK) {
            (self.fall, self.settled) = (None, None);
            return None;
        }
        Some(claim)
    }

    /// Bytes up to the moment from which on nothing is left of how the range was filled: since the flash was used up, the
    /// range has been overwritten once more, or all of the flash been programmed twice, which on the plateau it was
    /// at full rate.
    fn mixed(&self, range: Bytes, flash: Flash) -> Option<Bytes> {
        let used_up = self.fall.map_or(flash.most, |fall| fall.at.bytes);
        let around = used_up.saturating_add(range);
        let recycled = self.fall.is_some_and(|fall| {
            let programmed = libm::exp(fall.before) * self.end.elapsed_ns.saturating_sub(fall.at.elapsed_ns).secs();
            programmed >= PASSES * flash.used.saturating_add(used_up).0 as f64
        });
        (recycled || self.end.bytes >= around).then(|| around.min(self.end.bytes))
    }

    fn over_rounds(&self) -> Option<Claim> {
        let enough = |units: Step| units.elapsed_ns >= PATIENCE;
        let window = self.last(enough);
        if enough(sum(window)) { self.claim(window, window) } else { None }
    }

    /// Whether the last units are all lower than the level before them, by more than noise.
    fn falls(&self) -> Option<Fall> {
        let (before, after) = self.units.split_at(self.units.len().checked_sub(LOWER).filter(|&rest| rest > 0)?);
        let before: Vec<f64> = before.iter().rev().take(RECENT).map(log_rate).collect();
        let level = median(before.clone());
        let least = LEAST_FALL.max(NOISES * step_noise(&before));
        let lower = after.iter().all(|unit| log_rate(unit) < level - least);
        let since = sum(&after[1..]);
        let at = Step {
            elapsed_ns: self.end.elapsed_ns.saturating_sub(since.elapsed_ns),
            bytes: self.end.bytes.saturating_sub(since.bytes),
        };
        lower.then_some(Fall { at, before: level })
    }

    /// The median rate of `level`, where it is known to 1.5 % and `window` is flat.
    fn claim(&self, window: &[Step], level: &[Step]) -> Option<Claim> {
        let logs = |units: &[Step]| units.iter().map(log_rate).collect::<Vec<_>>();
        let error = flat::MEDIAN * self.noise() / libm::sqrt(level.len() as f64);
        (error <= LEVEL_ERROR && Look::at(&logs(window))?.is_flat()).then(|| Claim {
            decided: self.end.elapsed_ns,
            rate: Rate(libm::exp(median(logs(level)))),
            from: self.end.bytes.saturating_sub(sum(level).bytes),
        })
    }

    /// The fewest units at the end that are enough.
    fn last(&self, enough: impl Fn(Step) -> bool) -> &[Step] {
        let mut sum = Step::default();
        let count = self.units.iter().rev().take_while(|&&unit| {
            let more = !enough(sum);
            sum = sum.and(unit);
            more
        });
        let count = count.count();
        &self.units[self.units.len() - count..]
    }
}

fn sum(units: &[Step]) -> Step {
    units.iter().fold(Step::default(), |sum, &unit| sum.and(unit))
}

#[cfg(test)]
mod tests {
    use super::super::simulated::Random;
    use super::*;

    const GB: u64 = 1_000_000_000;

    /// Random writes of a drive of 100 GB on a range of 50 GB, with 1 % noise: so many GB at so many MB/s, in order.
    fn series(levels: &[(f64, f64)]) -> Series {
        let mut random = Random(1);
        Series::new(levels.iter().flat_map(|&(gb, mb_s)| {
            let steps = (gb * 1e3 / mb_s / 2.0).round() as usize;
            let step = |luck: f64| Step { elapsed_ns: Nanos::from_secs(2), bytes: Bytes((mb_s * 2e6 * luck) as u64) };
            (0..steps).map(|_| step(1.0 + 0.01 * random.normal())).collect::<Vec<_>>()
        }))
    }

    fn known() -> Known {
        Known { drive: Some(Bytes(100 * GB)), range: Some(Bytes(50 * GB)), ..Known::default() }
    }

    /// The first claim: GB written by then, and MB/s.
    fn check(known: &Known, levels: &[(f64, f64)], claim: Option<(std::ops::Range<f64>, f64)>) {
        let series = series(levels);
        let found = first(&series, known);
        let found = found.map(|claim| (series.bytes_at(claim.decided).gb(), claim.rate.mb_s()));
        let right = match (&found, &claim) {
            (Some((gb, mb_s)), Some((place, rate))) => place.contains(gb) && (mb_s / rate - 1.0).abs() < 0.01,
            (found, claim) => found.is_none() && claim.is_none(),
        };
        assert!(right, "{found:?} instead of {claim:?}");
    }

    #[test]
    fn a_plateau_is_not_steady_before_the_flash_of_any_drive_is_used_up() {
        check(&known(), &[(150.0, 500.0)], None);
        // 160 GB of flash at the most, 50 GB of it filled; then 50 GB once more, and 5 GB to look at.
        check(&known(), &[(200.0, 500.0)], Some((164.0..168.0, 500.0)));
    }

    #[test]
    fn a_trough_and_an_overshoot_are_not_steady_and_what_follows_is() {
        let shape = [(60.0, 500.0), (15.0, 200.0), (20.0, 320.0), (80.0, 280.0)];
        // 50 GB after the cliff, and 5 GB to look at; what is looked at begins after the overshoot.
        check(&known(), &shape, Some((114.0..118.0, 280.0)));
    }

    #[test]
    fn flash_that_was_programmed_twice_is_enough() {
        // 110 GB of flash at 500 MB/s are programmed twice in 440 s, in which 35 GB are written.
        check(&known(), &[(60.0, 500.0), (80.0, 80.0)], Some((99.0..104.0, 80.0)));
    }

    #[test]
    fn a_fall_before_the_drive_was_written_once_is_a_write_cache_of_another_kind() {
        check(&known(), &[(20.0, 900.0), (120.0, 300.0)], None);
    }

    #[test]
    fn a_rate_that_comes_back_to_the_plateau_was_only_a_dip() {
        check(&known(), &[(60.0, 500.0), (10.0, 200.0), (80.0, 500.0)], None);
    }

    #[test]
    fn a_rate_that_goes_on_falling_or_cycling_is_never_claimed() {
        let falling: Vec<(f64, f64)> = (0..200).map(|n| (1.0, 500.0 - 2.0 * f64::from(n))).collect();
        check(&known(), &falling, None);
        let cycling: Vec<(f64, f64)> = (0..60).map(|n| (5.0, if n % 2 == 0 { 500.0 } else { 200.0 })).collect();
        check(&known(), &cycling, None);
        check(&Known::default(), &cycling, None);
    }

    #[test]
    fn on_an_unknown_drive_twenty_five_rounds_must_be_flat() {
        check(&Known::default(), &[(740.0, 500.0)], None);
        check(&Known::default(), &[(800.0, 500.0)], Some((745.0..760.0, 500.0)));
        check(&Known::default(), &[(600.0, 500.0), (400.0, 200.0)], Some((865.0..905.0, 200.0)));
    }

    #[test]
    fn a_fill_is_never_claimed() {
        check(&Known { workload: Workload::Fill, ..known() }, &[(400.0, 500.0)], None);
    }

    #[test]
    fn memory_is_bounded_whatever_the_length() {
        let mut observer = Observer::new(&known());
        for n in 0..200_000 {
            observer.push(Step { elapsed_ns: Nanos::from_secs(1), bytes: Bytes(GB / 2 + n % 2) });
            assert!(observer.units.len() <= 2 * KEPT);
        }
    }
}
