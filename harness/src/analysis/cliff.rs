//! Cliffs of a series: its persistent falls between two levels, its recoveries, and its levels.
//!
//! Owns the words and the order of the work; the criteria are in `judge` and `segments`, the place in `refine`.

use super::bins::Bins;
use super::series::Series;
use super::{judge, partition, refine, segments};
use crate::units::{Bytes, Rate};

/// A persistent change between two levels: a fall, or among recoveries a rise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cliff {
    /// Bytes before it, from the start of the series.
    pub at: Bytes,
    /// Least bytes before it that the samples allow; at least a sampling step below `high`.
    pub low: Bytes,
    /// Greatest bytes before it that the samples allow.
    pub high: Bytes,
    /// Median rate of the steps right before it.
    pub before: Rate,
    /// Median rate of the steps right after it: the level, or the trough where there is one.
    pub after: Rate,
}

/// A stretch between two changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Bytes before it.
    pub from: Bytes,
    /// Bytes up to its end.
    pub to: Bytes,
    /// Median rate of its bytes.
    pub rate: Rate,
}

/// All persistent changes of a series, and what lies between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Levels {
    /// Falls, in order.
    pub cliffs: Vec<Cliff>,
    /// Rises, in order.
    pub recoveries: Vec<Cliff>,
    /// From the start to the end of the series without gaps; one where nothing changed, none
    /// where there is no byte.
    pub levels: Vec<Level>,
}

/// The levels of a series.
///
/// Change points in the log rate over bytes written are candidates; the persistent changes among
/// them are judged at the scale at which a person sees them on the plot, then placed among the steps.
#[must_use]
pub fn find(series: &Series) -> Levels {
    find_in_segments(series, &[])
}

/// The levels of a series written in segments that start at these bytes: what every segment does again is no change
/// of level.
#[must_use]
pub fn find_in_segments(series: &Series, starts: &[Bytes]) -> Levels {
    let bins = Bins::new(series);
    let candidates = partition::changes(&bins.tame, bins.noise);
    let mut found = Levels::default();
    let mut borders = vec![Bytes(0)];
    for change in judge::persistent(&bins, &candidates) {
        let cliff = refine::place(series, &bins, &change);
        if !segments::repeats(series, starts, &cliff) {
            borders.push(cliff.at);
            if change.falls() { found.cliffs.push(cliff) } else { found.recoveries.push(cliff) }
        }
    }
    borders.push(series.total());
    found.levels = borders
        .windows(2)
        .filter_map(|ends| {
            let rate = series.median_between(ends[0], ends[1])?;
            Some(Level { from: ends[0], to: ends[1], rate })
        })
        .collect();
    found
}
