//! Whether the levels on both sides of a change last, or a rate merely comes and goes.
//!
//! Owns persistence and recurrence along the series; knows nothing of how large a change must be.

use super::bins::{Bins, median};
use super::judge::Change;

/// A level persists when it lasts this share of the bytes, or reaches back to the start …
const PERSISTENT: f64 = 0.05;
/// … or, at the end of the series, this share and the fewest bins.
const PERSISTENT_AT_END: f64 = 0.005;
/// Fewest bins of a persistent level that does not start the series.
const FEWEST: usize = 3;
/// Over this share of the bytes on both sides the levels stay apart, or up to the next change.
const APART: f64 = 0.2;
/// The share of a level's bins that are on its side of the middle between both levels.
const ON_ITS_SIDE: f64 = 0.8;
/// The level before is back when the rate is this far from the middle, in jumps …
const BACK: f64 = 0.42;
/// … and gone when it is as far on the other side.
const GONE: f64 = -0.25;

/// Whether both levels last at least 5 % of the bytes, or from the start, or three bins to the end.
///
/// Judged by medians of three, four in five of which are on their side of the middle. The 5 % are this tool's
/// definition of a fill's floor. Fails: a plateau or a floor shorter than that in the midst of a series
/// is an excursion, however clear.
pub(super) fn persists(bins: &Bins, change: &Change) -> bool {
    let place = bins.places[change.bin];
    let from = bins.places.partition_point(|&p| p <= place - PERSISTENT).saturating_sub(1);
    let from = from.min(change.bin.saturating_sub(FEWEST));
    let to = bins.places.partition_point(|&p| p < place + PERSISTENT);
    let to = to.max(change.bin + FEWEST).min(bins.len());
    to - change.bin >= FEWEST && bins.places[to] - place >= PERSISTENT_AT_END && apart(bins, change, from, to)
}

/// Whether both levels stay apart over a wider stretch than they must last, up to the neighbouring
/// changes: a rate that jumps to and fro has levels that last by chance.
pub(super) fn separates(bins: &Bins, change: &Change, previous: Option<&Change>, next: Option<&Change>) -> bool {
    let place = bins.places[change.bin];
    let from = bins.places.partition_point(|&p| p < place - APART).max(previous.map_or(0, |p| p.bin));
    let to = bins.places.partition_point(|&p| p < place + APART).min(next.map_or(bins.len(), |n| n.bin));
    apart(bins, change, from, to)
}

/// Whether most bins from `from` to the change and from there to `to`, outliers aside, are on their side.
fn apart(bins: &Bins, change: &Change, from: usize, to: usize) -> bool {
    let mostly = |log_rates: &[f64], before: bool| {
        let on_its_side = log_rates.iter().filter(|&&log_rate| (change.like_before(log_rate) > 0.0) == before).count();
        on_its_side as f64 >= ON_ITS_SIDE * log_rates.len() as f64
    };
    mostly(&bins.smooth[from..change.bin], true) && mostly(&bins.smooth[change.bin..to], false)
}

/// Whether the level before the change comes back again and again: at least twice for a third of its length,
/// or at least three times for a tenth of it and for its length together.
///
/// A square wave has falls that persist as long as its lows do; they are a way of running, not a
/// cliff. Once is not enough to say so: a drive may collect garbage, recover, and fall again. Fails: a drive that
/// does so for longer has no cliff, though a reader may call its first fall one.
pub(super) fn oscillates(bins: &Bins, change: &Change) -> bool {
    let brief = change.bin < 4;
    let log_rates = if brief { &bins.raw } else { &bins.smooth };
    let likeness: Vec<f64> = log_rates.iter().map(|&log_rate| change.like_before(log_rate)).collect();
    let length = |&(start, end): &(usize, usize)| bins.places[end] - bins.places[start];
    let stays = stays(&likeness);
    let earlier = stays.iter().filter(|stay| stay.0 < change.bin);
    let Some(plateau) = earlier.max_by(|a, b| length(a).total_cmp(&length(b))) else { return false };
    let others = |share: f64| {
        let others = stays.iter().filter(move |stay| *stay != plateau && length(stay) >= share * length(plateau));
        (others.clone().count(), others.map(length).sum::<f64>() / length(plateau))
    };
    others(1.0 / 3.0).0 >= 2 || matches!(others(0.1), (3.., together) if together >= 1.0)
}

/// First bin and end of each stay at the level before a change: there as a whole, not only on the way.
fn stays(likeness: &[f64]) -> Vec<(usize, usize)> {
    let mut stays = Vec::new();
    let mut start = None;
    for (bin, &like) in likeness.iter().enumerate() {
        match start {
            None if like >= BACK => start = Some(bin),
            Some(from) if like <= GONE => {
                stays.push((from, bin));
                start = None;
            }
            _ => {}
        }
    }
    stays.extend(start.map(|from| (from, likeness.len())));
    stays.retain(|&(from, to)| median(likeness[from..to].to_vec()) >= BACK);
    stays
}
