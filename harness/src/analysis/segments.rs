//! Which changes of a fill are its segments': a burst at the start of each file, a dip at the end of each.
//!
//! Owns that one question; knows nothing of how changes are found.

use super::cliff::Cliff;
use super::series::Series;
use crate::units::{Bytes, Rate};

/// A level lasts at least a twentieth of the fill, so segments that are shorter cannot make one; a
/// few more for those that nearly can.
const MOST: usize = 25;
/// Nearer to a border than one in so many of a segment, a change is at the border.
const BORDER: u64 = 20;
/// The share of the change that other segments show as well.
const ALIKE: f64 = 0.6;

/// Whether at least half of the other segments have the same change at the same place of theirs.
///
/// Inside a segment the part before that place is compared with the rest, at a border the end of one segment with
/// the start of the next, both by their median rates, which a flush hardly moves. Fails where
/// only some of the segments burst, as those after idle time do.
pub(super) fn repeats(series: &Series, starts: &[Bytes], change: &Cliff) -> bool {
    if !(2..=MOST).contains(&starts.len()) {
        return false;
    }
    let ends = starts.iter().skip(1).copied().chain([series.total()]);
    let segments: Vec<(Bytes, Bytes)> = starts.iter().copied().zip(ends).filter(|(from, to)| from < to).collect();
    let Some(own) = segments.iter().position(|&(from, to)| from <= change.at && change.at < to) else { return false };
    let (from, to) = segments[own];
    let (length, offset) = ((to - from).0, (change.at - from).0);
    // Nor does a place that is known to a step only lie inside a segment when the border is within that step.
    let uncertain = (change.high - change.low).0 / 2;
    let margin = (length / BORDER).max(uncertain).min(length / 2);
    let jump = ratio(change.before, change.after);
    let contrasts: Vec<Option<f64>> = if offset < margin || offset + margin >= length {
        let own = if offset < margin { own } else { own + 1 };
        if whole_segments_differ(series, &segments, own, jump) {
            return false;
        }
        let borders = (1..segments.len()).filter(|&border| border != own);
        borders
            .map(|border| contrast(series, part(segments[border - 1], 9, 10), part(segments[border], 0, 1)))
            .collect()
    } else {
        let others = (0..segments.len()).filter(|&segment| segment != own).map(|segment| segments[segment]);
        others
            .map(|(from, to)| {
                let middle = from + Bytes(offset.min((to - from).0));
                contrast(series, (from, middle), (middle, to))
            })
            .collect()
    };
    let alike = contrasts.iter().flatten().filter(|&&contrast| contrast / jump >= ALIKE).count();
    alike > 0 && alike * 2 >= contrasts.len()
}

/// Whether the segment before a border and the one after it differ as a whole by most of the change: then the
/// drive changed there by chance of the place, whatever the other borders look like.
fn whole_segments_differ(series: &Series, segments: &[(Bytes, Bytes)], border: usize, jump: f64) -> bool {
    let (Some(&before), Some(&after)) = (border.checked_sub(1).and_then(|at| segments.get(at)), segments.get(border))
    else {
        return false;
    };
    let means = series.rate_between(before.0, before.1).zip(series.rate_between(after.0, after.1));
    means.is_some_and(|(before, after)| ratio(before, after) / jump >= ALIKE)
}

/// From so many tenths to so many tenths of a segment.
fn part((from, to): (Bytes, Bytes), first: u64, last: u64) -> (Bytes, Bytes) {
    let tenth = (to - from).0 / 10;
    (from + Bytes(tenth * first), from + Bytes(tenth * last))
}

/// Log of the median rate of one stretch over that of another; none where one has no bytes.
fn contrast(series: &Series, one: (Bytes, Bytes), other: (Bytes, Bytes)) -> Option<f64> {
    Some(ratio(series.median_between(one.0, one.1)?, series.median_between(other.0, other.1)?))
}

/// Natural logarithm of the second rate over the first.
fn ratio(first: Rate, second: Rate) -> f64 {
    libm::log(second.0) - libm::log(first.0)
}
