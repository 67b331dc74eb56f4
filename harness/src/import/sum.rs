//! The sum of jobs that ran together, on one grid of intervals.
//!
//! Logs of several jobs have windows of the same length that end some milliseconds apart, and drift. A window is taken
//! as a whole interval, at its rate: the first one as the nearest, each next one as the next, and again as the nearest where
//! the clocks have drifted apart by three quarters of an interval. Where
//! windows are no whole intervals, or would have other bytes as such, they are cut at the grid's borders instead, each byte evenly spread over its window. Either
//! way the rates of an interval add up, and an interval that a job's log does not cover has nothing of it.

use super::moved;
use super::track::{Span, Track};
use crate::analysis::series::Step;
use crate::units::{Bytes, Nanos};

/// Intervals of a grid at the most, for each window of the logs: more are a clock that jumped.
const MOST_INTERVALS_A_SPAN: u64 = 50;
/// And always so many.
const ALWAYS: u64 = 100_000;

/// Windows at their rates for whole intervals may have other bytes than in their own time, by this part of all.
const MOST_OTHER: u64 = 1000;

/// The steps of the sum, and what was done.
///
/// # Errors
/// Why the tracks are no jobs that ran together.
pub(super) fn sum(tracks: &[Track]) -> Result<(Vec<Step>, Vec<String>), String> {
    let what = format!("{} and {} more ({})", tracks[0].file, tracks.len() - 1, tracks[0].kind);
    if tracks.iter().any(|track| track.epoch != tracks[0].epoch) {
        return Err(format!("{what}: some clocks count from 1970 and others from the start: not summed"));
    }
    let origin = if tracks[0].epoch { tracks.iter().map(|track| track.start_ns).min().unwrap_or(0) } else { 0 };
    let end = tracks.iter().map(Track::end_ns).max().unwrap_or(origin);
    let latest_start = tracks.iter().map(|track| track.start_ns).max().unwrap_or(origin);
    let first_end = tracks.iter().map(Track::end_ns).min().unwrap_or(end);
    if latest_start >= first_end {
        return Err(format!("{what}: their times do not overlap, so they did not run together: not summed"));
    }
    // The finest windows, so that nothing of any log is lost.
    let period = tracks.iter().map(|track| track.period_ns).min().unwrap_or(1).max(1);
    let first = tracks.iter().map(|track| track.start_ns).min().unwrap_or(origin);
    let start = nearest(first - origin, period);
    let intervals = (end - origin).div_ceil(period).saturating_sub(start);
    let spans: u64 = tracks.iter().map(|track| track.spans.len() as u64).sum();
    if intervals > ALWAYS + MOST_INTERVALS_A_SPAN * spans {
        return Err(format!(
            "{what}: {intervals} intervals of {} for {spans} rows: a clock jumps; not summed",
            Nanos(period)
        ));
    }
    let on_grid: Vec<(bool, Vec<Piece>)> = tracks.iter().map(|track| pieces(track, origin, period)).collect();
    let cut = on_grid.iter().filter(|(aligned, _)| !aligned).count();
    let last = on_grid.iter().filter_map(|(_, pieces)| pieces.last()).map(|piece| piece.to).max().unwrap_or(0);
    let count = last.div_ceil(period).saturating_sub(start) as usize;
    let mut bytes = vec![0_u64; count];
    for (_, pieces) in &on_grid {
        for piece in pieces {
            add(&mut bytes, piece, start, period);
        }
    }
    let mut done =
        vec![format!("{what}: {} jobs were summed, aligned to intervals of {}", tracks.len(), Nanos(period))];
    let off = tracks.iter().zip(&on_grid).filter(|(_, (aligned, _))| *aligned);
    let off = off.flat_map(|(track, (_, pieces))| {
        track.spans.iter().zip(pieces).map(|(span, piece)| (span.end_ns - origin).abs_diff(piece.to))
    });
    match off.max() {
        Some(off) if off > 0 => done[0] = format!("{}; windows were moved by {} at the most", done[0], Nanos(off)),
        _ => {}
    }
    if cut > 0 {
        done.push(format!("{what}: the windows of {cut} jobs do not fit the intervals, and were cut at their borders"));
    }
    if (end - first_end) * 2 >= period {
        let (from, to) = (Nanos(first_end - origin), Nanos(end - origin));
        done.push(format!("{what}: the jobs' logs end between {from} and {to}: the last intervals are of fewer jobs"));
    }
    if (latest_start - first) * 2 >= period {
        let (from, to) = (Nanos(first - origin), Nanos(latest_start - origin));
        done.push(format!(
            "{what}: the jobs' logs begin between {from} and {to}: the first intervals are of fewer jobs"
        ));
    }
    let step = |&bytes: &u64| Step { elapsed_ns: Nanos(period), bytes: Bytes(bytes) };
    Ok((bytes.iter().map(step).collect(), done))
}

/// A span on the grid's clock.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: u64,
    to: u64,
    bytes: u64,
}

/// A track's spans on the grid's clock; true where each is whole intervals.
fn pieces(track: &Track, origin: u64, period: u64) -> (bool, Vec<Piece>) {
    let own = |(start, span): (u64, Span)| {
        let bytes = moved(span.bytes_s, Nanos(span.end_ns - start)).0;
        Piece { from: start - origin, to: span.end_ns - origin, bytes }
    };
    let own: Vec<Piece> = track.starts().map(own).collect();
    let border = nearest(track.start_ns - origin, period);
    let mut from = border * period;
    let whole = |(piece, (to, span)): (&Piece, (u64, &Span))| {
        let length = piece.to - piece.from;
        let from = std::mem::replace(&mut from, to);
        // A last window that was cut has the bytes of its own time, not of a whole interval.
        let bytes = if length * 2 < period { piece.bytes } else { moved(span.bytes_s, Nanos(to - from)).0 };
        Piece { from, to, bytes }
    };
    let whole = whole_intervals(&own, border, period)
        .map(|ends| own.iter().zip(ends.into_iter().zip(&track.spans)).map(whole).collect::<Vec<_>>());
    let sum = |pieces: &[Piece]| pieces.iter().fold(0_u64, |sum, piece| sum.saturating_add(piece.bytes));
    match whole {
        Some(whole) if sum(&whole).abs_diff(sum(&own)) <= sum(&own) / MOST_OTHER => (true, whole),
        _ => (false, own),
    }
}

/// The ends of a track's spans on the grid, where each gets an interval of its own at least.
fn whole_intervals(own: &[Piece], mut border: u64, period: u64) -> Option<Vec<u64>> {
    let ends = own.iter().enumerate().map(|(at, piece)| {
        let length = piece.to - piece.from;
        let whole = nearest(length, period);
        let cut = at + 1 == own.len() && length * 2 < period;
        if !cut && (whole * period).abs_diff(length) * 4 > period {
            return None;
        }
        let next = border + whole.max(1);
        let drifted = (next * period).abs_diff(piece.to) * 4 > period * 3 && !cut;
        let next = if drifted { nearest(piece.to, period) } else { next };
        (std::mem::replace(&mut border, next) < next).then_some(next * period)
    });
    ends.collect()
}

/// The number of the grid's border that is nearest.
fn nearest(at: u64, period: u64) -> u64 {
    (at + period / 2) / period
}

/// Adds a piece's bytes to the intervals that it covers, in proportion, all of them.
fn add(bytes: &mut [u64], piece: &Piece, start: u64, period: u64) {
    let length = piece.to - piece.from;
    if piece.bytes == 0 || length == 0 {
        return;
    }
    let up_to = |at: u64| (u128::from(piece.bytes) * u128::from(at - piece.from) / u128::from(length)) as u64;
    let (mut at, mut given) = (piece.from, 0);
    while at < piece.to {
        let interval = at / period;
        let next = ((interval + 1) * period).min(piece.to);
        let all = up_to(next);
        if let Some(sum) = bytes.get_mut(interval.saturating_sub(start) as usize) {
            *sum = sum.saturating_add(all - given);
        }
        (at, given) = (next, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A job's log of (milliseconds, bytes a second), windows of this many milliseconds.
    fn track(period_ms: u64, start_ms: u64, spans: &[(u64, f64)]) -> Track {
        let span = |&(ms, bytes_s): &(u64, f64)| Span { end_ns: ms * MS, bytes_s };
        Track {
            file: "x_bw.1.log".to_owned(),
            family: "x_bw".to_owned(),
            kind: "write",
            part: None,
            start_ns: start_ms * MS,
            epoch: false,
            spans: spans.iter().map(span).collect(),
            period_ns: period_ms * MS,
            warnings: Vec::new(),
        }
    }

    fn check(tracks: &[Track], bytes: &[u64], said: &[&str]) {
        let (steps, done) = sum(tracks).unwrap();
        assert_eq!(steps.iter().map(|step| step.bytes.0).collect::<Vec<_>>(), bytes, "{done:?}");
        assert_eq!(done.len(), said.len(), "{done:?}");
        assert!(done.iter().zip(said).all(|(done, part)| done.contains(part)), "{done:?}");
    }

    #[test]
    fn windows_are_the_intervals_that_they_are_nearest_to() {
        let a = track(1000, 0, &[(1000, 100.0), (2001, 200.0), (3000, 300.0)]);
        let b = track(1000, 0, &[(999, 10.0), (2002, 20.0), (3003, 30.0)]);
        check(&[a, b], &[110, 220, 330], &["moved by 3 ms"]);
    }

    #[test]
    fn a_clock_that_wavers_between_two_intervals_makes_no_hole() {
        let wavering: Vec<(u64, f64)> = (1..=600).map(|n| (1000 * n + 499 + n % 2, 10.0)).collect();
        let even: Vec<(u64, f64)> = (1..=600).map(|n| (1000 * n, 10.0)).collect();
        let (steps, _) = sum(&[track(1000, 499, &wavering), track(1000, 0, &even)]).unwrap();
        assert!(steps.iter().all(|step| step.bytes.0 == 20), "{:?}", &steps[..9]);
    }

    #[test]
    fn a_last_window_that_was_cut_has_its_own_bytes() {
        let a = track(1000, 0, &[(1000, 100.0), (2000, 200.0), (2100, 300.0)]);
        let b = track(1000, 0, &[(1000, 1.0), (2000, 2.0)]);
        check(&[a, b], &[101, 202, 30], &["2 jobs"]);
    }

    #[test]
    fn a_drifting_clock_makes_no_hole() {
        let drifting: Vec<(u64, f64)> = (1..=600).map(|n| (1001 * n, 10.0)).collect();
        let even: Vec<(u64, f64)> = (1..=600).map(|n| (1000 * n, 10.0)).collect();
        let (steps, _) = sum(&[track(1001, 0, &drifting), track(1000, 0, &even)]).unwrap();
        assert!(steps[..600].iter().all(|step| step.bytes.0 == 20), "{:?}", &steps[495..505]);
    }

    #[test]
    fn windows_of_twice_the_length_hold_for_two_intervals() {
        let a = track(1000, 0, &[(1000, 100.0), (2000, 200.0)]);
        let b = track(500, 0, &[(500, 10.0), (1001, 20.0), (1500, 30.0), (2000, 40.0)]);
        check(&[a, b], &[55, 60, 115, 120], &["intervals of 500 ms"]);
    }

    #[test]
    fn windows_without_a_clock_are_cut_and_no_byte_is_lost() {
        let a = track(1000, 0, &[(1000, 100.0), (2000, 200.0), (3000, 300.0)]);
        let b = track(1000, 0, &[(1400, 10.0), (1450, 20.0), (3000, 40.0)]);
        // 10, then 4 + 1 + 22, then 40.
        check(&[a, b], &[110, 227, 340], &["2 jobs", "cut at their borders"]);
    }

    #[test]
    fn logs_of_other_lengths_say_so() {
        let a = track(1000, 0, &[(1000, 100.0), (2000, 200.0), (3000, 300.0)]);
        let b = track(1000, 0, &[(1000, 1.0), (2000, 2.0)]);
        check(&[a.clone(), b], &[101, 202, 300], &["2 jobs", "fewer jobs"]);
        let late = track(1000, 1000, &[(2000, 2.0), (3000, 3.0)]);
        check(&[a, late], &[100, 202, 303], &["2 jobs", "begin between"]);
    }

    #[test]
    fn what_did_not_run_together_is_not_summed() {
        let refused = |tracks: &[Track], why: &str| assert!(sum(tracks).unwrap_err().contains(why));
        let a = track(1000, 0, &[(1000, 100.0)]);
        refused(&[a.clone(), track(1000, 5000, &[(6000, 1.0)])], "do not overlap");
        refused(&[a.clone(), Track { epoch: true, ..a.clone() }], "1970");
        let jump = track(1000, 0, &[(1000, 1.0), (1_000_000_000_000, 0.0)]);
        refused(&[jump, a], "a clock jumps");
    }
}
