//! Which changes of a binned series a person would call a fall or a recovery between two levels.
//!
//! Owns the criteria; knows nothing of bytes per second, segments or reports.

use super::bins::{Bins, median, spread_about, step_noise};
use super::lasting::{oscillates, persists, separates};

/// The least change worth a name: to 90 % of the level before, or from there.
const LEAST: f64 = 0.105_360_515_657_826_3;
/// The least change from or to a level seen in one bin only, `ln 1.5` …
const LEAST_OF_ONE: f64 = 0.405_465_108_108_164_4;
/// … and `ln 3` where that bin holds less than this share of the bytes, as one outlier does.
const LEAST_OF_ONE_SMALL: f64 = 1.098_612_288_668_109_8;
/// The share of the bytes from which one bin is no small level.
const SMALL: f64 = 0.03;
/// The least change in deviations of single bins: what noise covers is no cliff to a reader of the plot.
const NOISES: f64 = 1.8;
/// The least change in standard errors of the difference of the two means.
const ERRORS: f64 = 4.0;
/// The least change in deviations of the same difference elsewhere in the series.
const WANDERS: f64 = 4.0;
/// How much worse two constants may fit than one line …
const STEP_OVER_LINE: f64 = 1.15;
/// … and, where both windows are over a third of a short series, how much better they must.
const STEP_OVER_LINE_SHORT: f64 = 0.9;
/// Up to so many bins a series is short: windows there see noise as steps on a slope, and so a change
/// under [`CLEAR`] deviations has to be a step over [`WIDE`] bins as well.
const SHORT: usize = 64;
/// Deviations of single bins from which a step is plain.
const CLEAR: f64 = 6.0;
/// Bins on each side over which a step that is not plain is seen again.
const WIDE: usize = 24;

/// A change between two levels, in log rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change {
    /// First bin after it.
    pub(super) bin: usize,
    /// Mean before, over a window.
    pub(super) before: f64,
    /// Mean after, over a window.
    pub(super) after: f64,
    /// How much of the windows' variance it explains, to choose among rivals.
    gain: f64,
}

impl Change {
    /// Whether the rate fell.
    pub(super) fn falls(&self) -> bool {
        self.after < self.before
    }

    /// Where a log rate is between both levels: a half at the one before, minus a half at the one after.
    pub(super) fn like_before(&self, log_rate: f64) -> f64 {
        (log_rate - f64::midpoint(self.before, self.after)) / (self.before - self.after)
    }
}

/// The persistent changes among candidate places, in order.
///
/// A moving-sum contrast (Eichinger and Kirch 2018) at each candidate: the means of up to `window` bins
/// on both sides differ by more than 10 %, than the noise of single bins, than their standard error,
/// and than such means differ elsewhere in the series, which is what tells a cliff from drift and
/// oscillation; the drift that most of the series has is taken off; two levels explain the window better than
/// one line does; both levels persist; and the level before does not come back again and again.
///
/// The thresholds are this tool's own, set on simulated drives (`simulated.rs`): of falls over three times the noise
/// 1 in 100 is missed or misplaced, of series without a cliff 1 in 1,000 is given one.
///
/// Fails: two changes nearer than a window are one; a decline longer than about two windows is a
/// slope (a window is 4 % of the bins, at least eight); a fall under twice the noise is not seen; with
/// fewer than 40 samples the rates are 7 in 100 and 1 in 100.
pub(super) fn persistent(bins: &Bins, candidates: &[usize]) -> Vec<Change> {
    let window = (bins.len() / 25).clamp(8, 60).min(bins.len() / 2);
    let usual = Contrasts::new(&bins.tame, window);
    let mut changes: Vec<Change> = candidates
        .iter()
        .map(|&bin| contrast(&bins.tame, bin, window))
        .filter(|change| {
            stands_out(bins, change, window, &usual)
                && is_step(bins, change, window)
                && (bins.len() > SHORT || is_clear(bins, change) || is_step(bins, change, WIDE))
                && persists(bins, change)
                && !oscillates(bins, change)
        })
        .collect();
    changes.sort_by(|a, b| b.gain.total_cmp(&a.gain).then(a.bin.cmp(&b.bin)));
    let mut kept: Vec<Change> = Vec::new();
    for change in changes {
        let rival = |other: &Change| other.falls() == change.falls() && other.bin.abs_diff(change.bin) <= window;
        if !kept.iter().any(rival) {
            kept.push(change);
        }
    }
    kept.sort_by_key(|change| change.bin);
    let apart = |i: &usize| separates(bins, &kept[*i], kept[..*i].last(), kept.get(*i + 1));
    (0..kept.len()).filter(apart).map(|i| kept[i]).collect()
}

/// The change at `bin` by the means of the windows before and after it.
fn contrast(tame: &[f64], bin: usize, window: usize) -> Change {
    let (left, right) = sides(tame, bin, window);
    let (before, after) = (mean(left), mean(right));
    let weight = (left.len() * right.len()) as f64 / (left.len() + right.len()) as f64;
    Change { bin, before, after, gain: weight * (after - before) * (after - before) }
}

/// The values of the windows before and after `bin`, shorter at the ends.
fn sides(values: &[f64], bin: usize, window: usize) -> (&[f64], &[f64]) {
    (&values[bin.saturating_sub(window)..bin], &values[bin..values.len().min(bin + window)])
}

/// Whether the change is larger than the noise, its own error, and the series' wander.
fn stands_out(bins: &Bins, change: &Change, window: usize, usual: &Contrasts) -> bool {
    let (left, right) = sides(&bins.tame, change.bin, window);
    let noise = |side: &[f64]| match side.len() {
        0..5 => None,
        5..24 => Some(step_noise(side).max(bins.noise * 0.8)),
        _ => Some(step_noise(side)),
    };
    let (wide_left, wide_right) = sides(&bins.raw, change.bin, 2 * window);
    let (left_noise, right_noise) = match (noise(wide_left), noise(wide_right)) {
        (Some(l), Some(r)) => (l, r),
        (Some(one), None) | (None, Some(one)) => (one, one),
        (None, None) => (bins.noise, bins.noise),
    };
    let squares = |a: f64, b: f64| libm::sqrt(a * a + b * b);
    let noise = squares(left_noise, right_noise) / std::f64::consts::SQRT_2;
    let error = squares(left_noise / libm::sqrt(left.len() as f64), right_noise / libm::sqrt(right.len() as f64));
    let (drift, wander) = usual.away_from(change.bin);
    let drift = drift * (left.len() + right.len()) as f64 / (2 * window).max(1) as f64;
    let jump = change.after - change.before;
    let jump = jump.abs().min((jump - drift).abs());
    let least = match left.len().min(right.len()) {
        1 if bins.places[change.bin].min(1.0 - bins.places[change.bin]) < SMALL => {
            LEAST_OF_ONE_SMALL.max(greatest_outlier(bins, change))
        }
        1 => LEAST_OF_ONE.max(greatest_outlier(bins, change)),
        2 => LEAST.max(greatest_outlier(bins, change)),
        _ => LEAST,
    };
    jump >= least && jump >= NOISES * noise && jump >= ERRORS * error && jump >= WANDERS * wander
}

/// The greatest deviation of a single bin from its neighbours, away from the change and towards the level
/// that is brief: what that level must exceed, or it is but one more of these.
fn greatest_outlier(bins: &Bins, change: &Change) -> f64 {
    let starts = change.bin < bins.len() - change.bin;
    let up = starts == change.falls();
    let away = (0..bins.len()).filter(|bin| bin.abs_diff(change.bin) > 3);
    away.map(|bin| (bins.raw[bin] - bins.smooth[bin]) * if up { 1.0 } else { -1.0 }).fold(0.0, f64::max)
}

/// The contrast at every place with two whole windows.
struct Contrasts {
    window: usize,
    values: Vec<f64>,
}

impl Contrasts {
    fn new(tame: &[f64], window: usize) -> Contrasts {
        let mut sums = vec![0.0; tame.len() + 1];
        for (i, value) in tame.iter().enumerate() {
            sums[i + 1] = sums[i] + value - tame[0];
        }
        let values = (window..(tame.len() + 1).saturating_sub(window))
            .map(|i| (sums[i + window] - 2.0 * sums[i] + sums[i - window]) / window.max(1) as f64);
        Contrasts { window, values: values.collect() }
    }

    /// Median contrast, and deviation from it, where the windows do not touch `bin`. Zero where
    /// fewer than a window of such places remain.
    fn away_from(&self, bin: usize) -> (f64, f64) {
        let away = self.values.iter().enumerate().filter(|(i, _)| (i + self.window).abs_diff(bin) >= self.window);
        let away: Vec<f64> = away.map(|(_, &value)| value).collect();
        if away.len() < self.window {
            return (0.0, 0.0);
        }
        let drift = median(away.clone());
        (drift, spread_about(away.into_iter(), drift))
    }
}

/// Whether the change is beyond what noise makes of a slope.
fn is_clear(bins: &Bins, change: &Change) -> bool {
    (change.after - change.before).abs() > CLEAR * bins.noise
}

/// Whether two constants fit the windows better than one straight line, which has as many parameters.
fn is_step(bins: &Bins, change: &Change, window: usize) -> bool {
    let (left, right) = sides(&bins.tame, change.bin, window);
    let about_mean = |side: &[f64]| {
        let centre = mean(side);
        side.iter().map(|v| (v - centre) * (v - centre)).sum::<f64>()
    };
    let short = (left.len() + right.len()) * 3 > bins.len();
    let bound = if short { STEP_OVER_LINE_SHORT } else { STEP_OVER_LINE };
    about_mean(left) + about_mean(right) < bound * about_line(&[left, right].concat())
}

/// Sum of squared deviations from the least-squares line.
fn about_line(values: &[f64]) -> f64 {
    let (middle, centre) = ((values.len() as f64 - 1.0) / 2.0, mean(values));
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in values.iter().enumerate().map(|(i, v)| (i as f64 - middle, v - centre)) {
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    if xx > 0.0 { yy - xy * xy / xx } else { yy }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
