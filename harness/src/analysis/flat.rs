//! Whether a stretch of a series is flat: our own rule, stricter than SNIA's and of any length.
//!
//! Owns the tests on one stretch; knows nothing of where a stretch must begin, of cliffs and of drives.

use super::bins::{median, smooth, step_noise};
use super::snia::Evidence;

/// Equal parts of a stretch, as many as SNIA's rounds.
const PARTS: usize = 5;
/// Fewest units of a stretch of which anything is said.
const FEWEST: usize = PARTS;
/// Fewest units that are the end of a stretch.
const FEWEST_AT_END: usize = 3;
/// Half of SNIA's limits: what a rate may still drift within 3 % of its level.
const MOST_RANGE: f64 = 0.10;
const MOST_EXCURSION: f64 = 0.05;
/// SNIA's limit of the range, here for the units themselves.
const MOST_SWING: f64 = 0.20;
/// Standard errors of a part by which its rate may be off by chance.
const ERRORS: f64 = 3.0;
/// The standard error of a median over that of a mean (Kenney and Keeping 1962).
pub(super) const MEDIAN: f64 = 1.2533;
/// The largest standard error of a part that still says something.
const MOST_ERROR: f64 = 0.03;

/// What a stretch shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Look {
    /// Of five equal parts, what chance makes of them taken off.
    pub(super) parts: Evidence,
    /// Whether its units swing wide.
    wide: bool,
    /// Whether its last tenth is off the level.
    leaves: bool,
}

impl Look {
    /// Looks at a stretch by the log rates of its equal units; none where they are fewer than five, or too noisy to say.
    ///
    /// The drift test is SNIA's at half its limits, on medians of five equal parts, each of which may be off by three
    /// standard errors. It cannot see what comes and goes within a part, so the units are looked at as well: how far
    /// their medians of three swing beyond what their noise from one to the next explains. A garbage collection that
    /// cycles passes the first test wherever its period is a part's, and never the second. Neither sees what happens to less
    /// than a tenth of the units, so the last tenth must be within 10 % of the level as well.
    ///
    /// The limits are this tool's own. Fails: swings faster than two units are noise to it.
    pub(super) fn at(logs: &[f64]) -> Option<Look> {
        if logs.len() < FEWEST {
            return None;
        }
        let swing = Swing::of(logs)?;
        let rates: Vec<f64> = parts(logs.len()).map(|(from, to)| libm::exp(median(logs[from..to].to_vec()))).collect();
        let evidence = Evidence::of(&rates);
        let error = MEDIAN * swing.noise / libm::sqrt(logs.len() as f64 / PARTS as f64);
        let less = |value: f64| (value - ERRORS * error).max(0.0);
        let parts = Evidence { range: less(evidence.range), excursion: less(evidence.excursion) };
        let end = &logs[logs.len() - logs.len().div_ceil(10).max(FEWEST_AT_END)..];
        let off = (median(end.to_vec()) - median(logs.to_vec())).abs();
        let chance = ERRORS * MEDIAN * swing.noise / libm::sqrt(end.len() as f64);
        let look = Look { parts, wide: swing.is_wide(), leaves: off > MOST_RANGE + chance };
        (error <= MOST_ERROR).then_some(look)
    }

    /// Whether the stretch is flat.
    pub(super) fn is_flat(&self) -> bool {
        self.parts.range <= MOST_RANGE && self.parts.excursion <= MOST_EXCURSION && !self.wide && !self.leaves
    }
}

/// First unit and end of each part.
fn parts(units: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..PARTS).map(move |part| (units * part / PARTS, units * (part + 1) / PARTS))
}

/// How units swing.
#[derive(Clone, Debug)]
pub(super) struct Swing {
    /// Medians of three of the units' log rates.
    pub(super) smooth: Vec<f64>,
    /// Their tenth percentile.
    pub(super) low: f64,
    /// Their ninetieth percentile.
    pub(super) high: f64,
    /// From low to high, white noise taken off: the ratio less one.
    beyond_noise: f64,
    /// Deviation of the log rates from unit to unit.
    pub(super) noise: f64,
}

impl Swing {
    /// Of units with these log rates; none where there is none.
    ///
    /// The medians of three of white noise have 0.67 of its deviation.
    pub(super) fn of(logs: &[f64]) -> Option<Swing> {
        const TENTHS: f64 = 2.0 * 1.2816;
        let smooth = smooth(logs);
        let mut sorted = smooth.clone();
        sorted.sort_by(f64::total_cmp);
        let outside = sorted.len() / 10;
        let (low, high) = (*sorted.get(outside)?, sorted[sorted.len() - 1 - outside]);
        let noise = step_noise(logs);
        let (seen, chance) = (high - low, TENTHS * 0.67 * noise);
        let beyond_noise = libm::exp(libm::sqrt((seen * seen - chance * chance).max(0.0))) - 1.0;
        Some(Swing { smooth, low, high, beyond_noise, noise })
    }

    /// Whether it is more than a steady rate may swing.
    pub(super) fn is_wide(&self) -> bool {
        self.beyond_noise > MOST_SWING
    }
}

#[cfg(test)]
mod tests {
    use super::super::simulated::Random;
    use super::*;

    /// Whether units of these rates are flat, with noise.
    fn check(noise: f64, units: usize, rate: impl Fn(f64) -> f64, flat: Option<bool>) {
        let mut random = Random(3);
        let logs: Vec<f64> =
            (0..units).map(|n| libm::log(rate(n as f64 / units as f64) * (1.0 + noise * random.normal()))).collect();
        let look = Look::at(&logs);
        assert_eq!(look.map(|look| look.is_flat()), flat, "{look:?}");
    }

    #[test]
    fn flat_is_flat_with_little_noise_or_many_units() {
        check(0.0, 5, |_| 500.0, Some(true));
        check(0.01, 10, |_| 500.0, Some(true));
        check(0.1, 1000, |_| 500.0, Some(true));
        check(0.1, 10, |_| 500.0, None);
        check(0.0, 4, |_| 500.0, None);
    }

    #[test]
    fn drift_is_not_flat() {
        check(0.01, 100, |x| 500.0 + 20.0 * x, Some(true));
        check(0.01, 100, |x| 500.0 + 40.0 * x, Some(false));
        check(0.01, 100, |x| if x < 0.9 { 500.0 } else { 420.0 }, Some(false));
    }

    #[test]
    fn a_swing_is_not_flat_whatever_its_period() {
        for periods in [1.0, 5.0, 10.0, 50.0] {
            check(0.01, 500, |x| 500.0 + 150.0 * libm::sin(std::f64::consts::TAU * periods * x), Some(false));
        }
        check(0.01, 500, |x| 500.0 + 10.0 * libm::sin(std::f64::consts::TAU * 50.0 * x), Some(true));
    }

    #[test]
    fn rare_dips_and_noise_of_two_values_are_flat() {
        check(0.01, 200, |x| if (x * 200.0) % 9.0 < 1.0 { 250.0 } else { 500.0 }, Some(true));
    }
}
