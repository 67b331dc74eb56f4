//! Thousands of intervals as a few hundred: mean, slowest and fastest of each share of the time, so that no stall and
//! no peak is lost where several intervals fall on one column of a picture.
//!
//! Knows numbers alone.

use crate::report::Interval;

/// Columns of a picture at the most.
pub(super) const MOST: usize = 400;

/// A share of the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share {
    /// Its middle, in seconds.
    pub(super) at_s: f64,
    /// MB/s over it.
    pub(super) mean: f64,
    /// MB/s of its slowest interval.
    pub(super) low: f64,
    /// MB/s of its fastest interval.
    pub(super) high: f64,
}

/// The intervals in order, as `most` shares at the most. Each interval belongs to the share in which it ends; what took
/// no time has no rate, and its bytes are those of its share.
pub(super) fn shares(intervals: &[Interval], most: usize) -> Vec<Share> {
    let end = intervals.last().map_or(0.0, |last| last.end_s);
    let whole = end.is_finite() && end > 0.0 && most > 0;
    let width = if whole { end / most.min(intervals.len()) as f64 } else { return Vec::new() };
    let share = |interval: &Interval| (interval.end_s / width - 1e-9).max(0.0) as usize;
    let longest = intervals.iter().map(|interval| interval.elapsed_s).fold(0.0, f64::max);
    intervals.chunk_by(|a, b| share(a) == share(b)).filter_map(|share| of(share, longest / 2.0)).collect()
}

/// `least_s`: what is shorter has no rate of its own. An interval that a segment's end cuts leaves pieces in which a
/// completion or two are any rate at all.
fn of(intervals: &[Interval], least_s: f64) -> Option<Share> {
    let (first, last) = (intervals.first()?, intervals.last()?);
    let seconds: f64 = intervals.iter().map(|interval| interval.elapsed_s).sum();
    let bytes: f64 = intervals.iter().map(|interval| interval.bytes as f64).sum();
    let mean = bytes / 1e6 / seconds;
    let (mut low, mut high, mut stretch) = (mean, mean, (0.0, 0.0));
    for interval in intervals {
        stretch = (stretch.0 + interval.bytes as f64, stretch.1 + interval.elapsed_s);
        if stretch.1 >= least_s && stretch.1 > 0.0 {
            let rate = stretch.0 / 1e6 / stretch.1;
            (low, high, stretch) = (low.min(rate), high.max(rate), (0.0, 0.0));
        }
    }
    let start = first.end_s - first.elapsed_s;
    (seconds > 0.0).then_some(Share { at_s: (start + last.end_s) / 2.0, mean, low, high })
}

/// A stretch of the bytes: from and to in GB, and MB/s between.
pub(super) type Stretch = (f64, f64, f64);

/// The intervals in order as stretches of the bytes, `most` at the most: of equal length, or with `log` of equal ratio.
/// A stretch takes at least half of an interval's time, for the reason that a share does.
pub(super) fn stretches(intervals: &[Interval], most: usize, log: bool) -> Vec<Stretch> {
    let gb = |interval: &Interval| interval.bytes as f64 / 1e9;
    let end: f64 = intervals.iter().map(gb).sum();
    let least_s = intervals.iter().map(|interval| interval.elapsed_s).fold(0.0, f64::max) / 2.0;
    let first = intervals.iter().map(gb).find(|gb| *gb > 0.0).unwrap_or(end);
    let column = |at: f64| {
        let share = if log { libm::log(at.max(first) / first) / libm::log(end / first).max(1e-9) } else { at / end };
        (share * most as f64) as usize
    };
    let (mut done, mut from, mut seconds) = (0.0, 0.0, 0.0);
    let mut stretches = Vec::new();
    for (at, interval) in intervals.iter().enumerate() {
        done += gb(interval);
        seconds += interval.elapsed_s;
        let whole = done > from && seconds > 0.0 && seconds >= least_s && column(done) > column(from);
        if whole || at == 0 && done > 0.0 && seconds > 0.0 {
            stretches.push((from, done, (done - from) * 1e3 / seconds));
            (from, seconds) = (done, 0.0);
        }
    }
    // What is left at the end, a last flush perhaps, belongs to the stretch before.
    if let Some((start, end, rate)) = stretches.last_mut().filter(|_| seconds > 0.0) {
        let before = if *rate > 0.0 { (*end - *start) * 1e3 / *rate } else { 0.0 };
        (*end, *rate) = (done, (done - *start) * 1e3 / (before + seconds));
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intervals(megabytes: &[u64]) -> Vec<Interval> {
        let one = |(at, mb): (usize, &u64)| Interval { end_s: at as f64 + 1.0, elapsed_s: 1.0, bytes: mb * 1_000_000 };
        megabytes.iter().enumerate().map(one).collect()
    }

    #[test]
    fn no_stall_and_no_peak_is_lost() {
        let mut rates = vec![100; 10_000];
        (rates[4321], rates[8765]) = (0, 900);
        let shares = shares(&intervals(&rates), MOST);
        assert_eq!(shares.len(), MOST);
        let least = shares.iter().map(|share| share.low).fold(f64::INFINITY, f64::min);
        let most = shares.iter().map(|share| share.high).fold(0.0, f64::max);
        let mean = shares.iter().map(|share| share.mean).sum::<f64>() / MOST as f64;
        assert!((least, most) == (0.0, 900.0) && (mean - 100.07).abs() < 1e-6, "{least} {most} {mean}");
    }

    #[test]
    fn bytes_are_shared_out_evenly_or_by_ratio() {
        let even = intervals(&[100; 10_000]);
        let linear = stretches(&even, MOST, false);
        assert!((MOST - 1..=MOST + 1).contains(&linear.len()) && linear.iter().all(|s| (s.2 - 100.0).abs() < 1e-6));
        assert!((linear.last().unwrap().1 - 1000.0).abs() < 1e-6);
        let log = stretches(&even, MOST, true);
        assert!(log.len() <= MOST + 1 && log[1].1 - log[1].0 < 0.2 && log[log.len() - 1].0 < 999.0, "{log:?}");
        let flushed = stretches(&intervals(&[100, 100, 0]), 2, false);
        assert_eq!(flushed, [(0.0, 0.1, 100.0), (0.1, 0.2, 50.0)]);
        assert_eq!(stretches(&intervals(&[0, 0]), MOST, true), []);
        assert_eq!(stretches(&[], MOST, false), []);
    }

    #[test]
    fn a_piece_of_an_interval_is_no_peak() {
        let piece = |end_s, elapsed_s, bytes| Interval { end_s, elapsed_s, bytes };
        let cut = [piece(1.0, 1.0, 100_000_000), piece(1.001, 0.001, 8_000_000), piece(2.0, 0.999, 92_000_000)];
        assert_eq!(shares(&cut, 1)[0].high, 100.0);
    }

    #[test]
    fn few_intervals_stay_as_they_are() {
        let few = shares(&intervals(&[5, 7]), MOST);
        assert_eq!(few[1], Share { at_s: 1.5, mean: 7.0, low: 7.0, high: 7.0 });
        assert_eq!(shares(&[], MOST), []);
        assert_eq!(shares(&[Interval { end_s: 0.0, elapsed_s: 0.0, bytes: 3 }], MOST), []);
    }
}
