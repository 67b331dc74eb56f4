//! Where exactly a change found among bins lies, at the resolution of the steps themselves.
//!
//! Owns the place, its uncertainty, and the rate right after it; knows nothing of what makes a change count.

use super::bins::{Bins, log_rate, median, smooth, spread_about, step_noise};
use super::cliff::Cliff;
use super::judge::Change;
use super::series::{Series, Step};
use crate::units::{Bytes, Rate};

/// Bins on either side of the change in which its place is searched.
const REACH: usize = 3;
/// How far beyond a level a step counts, in half distances of both levels from their middle.
const BOUND: f64 = 1.5;
/// Twice the log likelihood by which a place may be worse than the best and still be possible.
const POSSIBLE: f64 = 6.0;
/// Most steps after the place in which the rate right after it is read.
const MOST_AFTER: usize = 600;
/// Most steps on either side of the place over which noise and levels are read.
const LEVEL: usize = 60;

/// The place that splits the steps around the change best into two levels.
///
/// The most likely split for the log rates, median of three, each step's part bounded (after Huber
/// 1964), so that a stall beside the cliff does not move it. `low` to `high` are the places whose likelihood ratio
/// to the best is within 6 (about 98 %), and a step more on each side, as a change may lie anywhere in
/// its step. A step clearly between both levels has the change in it, at the byte that its time gives.
///
/// Fails: where the fall takes several steps, the place is where they cross the middle in log rate.
pub(super) fn place(series: &Series, bins: &Bins, change: &Change) -> Cliff {
    let steps = series.steps();
    let first = bins.firsts[change.bin.saturating_sub(REACH)];
    let end = bins.firsts[(change.bin + REACH).min(bins.len())].min(steps.len() - 1);
    let seen = first.saturating_sub(LEVEL)..(end + LEVEL).min(steps.len());
    let logs: Vec<f64> = steps[seen.clone()].iter().map(log_rate).collect();
    let noise = step_noise(&logs);
    let ways = splits(&smooth(&logs)[first - seen.start..end - seen.start], change);
    let &(best, most) = ways.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(&(0, 0.0));

    let half = (change.before - change.after) / 2.0;
    let spare = POSSIBLE * noise * noise / (4.0 * half * half);
    let mut possible = ways.iter().filter(|way| way.1 >= most - spare).map(|way| first + way.0);
    let (best, earliest) = ((first + best).max(1), possible.next().unwrap_or(first));
    let latest = possible.next_back().unwrap_or(earliest).max(best);

    let boundary = series.bytes_before(best);
    let at = mixed(steps, best, change, noise)
        .and_then(|step| Some(series.bytes_before(step) + bytes_before_change(&steps[step], change)?))
        .unwrap_or(boundary);
    Cliff {
        at,
        low: series.bytes_before(earliest.saturating_sub(1)).min(at),
        high: series.bytes_before(latest + 1).max(at),
        before: Rate(libm::exp(change.before)),
        after: Rate(libm::exp(change.after)),
    }
}

/// Each way to split the values into the level before and the level after, with its log likelihood in units
/// of two half jumps over the variance, from an origin of its own.
fn splits(logs: &[f64], change: &Change) -> Vec<(usize, f64)> {
    let half = (change.before - change.after) / 2.0;
    let middle = f64::midpoint(change.before, change.after);
    let likelihoods = logs.iter().scan(0.0, |sum, log| {
        *sum += ((log - middle) / half).clamp(-BOUND, BOUND);
        Some(*sum)
    });
    std::iter::once(0.0).chain(likelihoods).enumerate().collect()
}

/// The step next to the split that is clearly off both levels and between them.
fn mixed(steps: &[Step], split: usize, change: &Change, noise: f64) -> Option<usize> {
    let (lower, upper) = (change.before.min(change.after), change.before.max(change.after));
    let middle = f64::midpoint(lower, upper);
    [split - 1, split]
        .into_iter()
        .filter_map(|step| Some((step, log_rate(steps.get(step)?))))
        .filter(|&(_, log)| log > lower + 3.0 * noise && log < upper - 3.0 * noise)
        .min_by(|a, b| (a.1 - middle).abs().total_cmp(&(b.1 - middle).abs()))
        .map(|(step, _)| step)
}

/// Bytes of a step that went at the level before the change, when the rest went at the level after it.
fn bytes_before_change(step: &Step, change: &Change) -> Option<Bytes> {
    let (before, after) = (libm::exp(change.before), libm::exp(change.after));
    let (bytes, seconds) = (step.bytes.0 as f64, step.elapsed_ns.secs());
    let at_first = (bytes - after * seconds) / (before - after) * before;
    (0.0..=bytes).contains(&at_first).then_some(Bytes(at_first as u64))
}

/// The rate right after the place `at` of a change, up to the end of its level: of the next tenth of the steps
/// the median, or after a fall the trough where there is one.
///
/// A trough is the least median of as many consecutive steps as bring the noise under 2 %, and of three at the least,
/// since one slow step is none; if it is
/// lower than the rest by more than 5 % and by more than noise makes. Noise here is by second differences,
/// which a steady climb out of the trough leaves at zero.
pub(super) fn rate_after(series: &Series, at: Bytes, end: Bytes, falls: bool) -> Option<Rate> {
    let steps = series.steps();
    let from = (0..steps.len()).find(|&step| series.bytes_before(step) >= at)?;
    let most = (steps.len() / 10).clamp(8, MOST_AFTER);
    let last = (from..steps.len().min(from + most)).take_while(|&step| series.bytes_before(step + 1) <= end).last()?;
    let level: Vec<f64> = steps[from..=last].iter().map(log_rate).collect();
    let bends = level.windows(3).map(|three| three[0] - 2.0 * three[1] + three[2]);
    let noise = spread_about(bends, 0.0) / libm::sqrt(6.0);
    let together = ((noise / 0.02) * (noise / 0.02)).ceil().clamp(3.0, 1e6) as usize;
    let usual = libm::log(series.median_between(series.bytes_before(from), series.bytes_before(last + 1))?.0);
    let trough = level.windows(together).map(|some| median(some.to_vec())).fold(usual, f64::min);
    let chance = 4.0 * noise / libm::sqrt(together as f64);
    Some(Rate(libm::exp(if falls && usual - trough > chance.max(0.05) { trough } else { usual })))
}
