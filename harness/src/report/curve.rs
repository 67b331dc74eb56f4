//! Throughput over bytes written, drawn as text: a line of blocks, and a small chart with axes.
//!
//! Knows only numbers: whatever they are, the text has the size asked for and nothing but blocks, digits
//! and axes in it. Must never know a terminal, markup or where the numbers came from.

use super::table::number;
use super::{CliffLine, Point};

/// Columns of a chart where nothing else is asked for.
pub const WIDTH: usize = 60;
/// Rows of a chart where nothing else is asked for.
pub const HEIGHT: usize = 10;

/// Eighths of a character cell, from below; the first stands for nothing.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A line of `width` blocks from 0 to the largest rate; empty where no point has a place.
#[must_use]
pub fn sparkline(points: &[Point], width: usize) -> String {
    let bins = shares(points, width);
    let top = bins.iter().copied().fold(0.0, f64::max);
    // A line has no axis that would show where zero is: nothing is drawn lower than an eighth.
    bins.into_iter().map(|rate| EIGHTHS[eighths(rate, top, 8).max(1)]).collect()
}

/// A chart of `width` × `height` blocks with MB/s at the left, GB below and each cliff marked above;
/// empty where no point has a place. Lines end without spaces, the last one without a newline.
#[must_use]
pub fn chart(points: &[Point], cliffs: &[CliffLine], width: usize, height: usize) -> String {
    let (width, height) = (width.max(1), height.max(1));
    let bins = shares(points, width);
    let Some(end_gb) = end_gb(points).filter(|_| !bins.is_empty()) else { return String::new() };
    let top = axis_top(bins.iter().copied().fold(0.0, f64::max));
    let middle = height / 2;
    let labels = [number(top), number(top * (height - middle) as f64 / height as f64), "0".to_owned()];
    let margin = labels.iter().map(String::len).max().unwrap_or(0).max("MB/s".len());
    let mut lines = vec![format!("{:>margin$} {}", "MB/s", mark_cliffs(cliffs, end_gb, width))];
    for row in 0..height {
        let (label, edge) = match row {
            0 => (labels[0].as_str(), '┤'),
            row if row == middle => (labels[1].as_str(), '┤'),
            _ => ("", '│'),
        };
        let below = (height - 1 - row) * 8;
        let blocks = bins.iter().map(|&rate| EIGHTHS[eighths(rate, top, height * 8).saturating_sub(below).min(8)]);
        lines.push(format!("{label:>margin$} {edge}{}", blocks.collect::<String>()));
    }
    lines.push(format!("{:>margin$} └{}", labels[2], "─".repeat(width)));
    lines.push(format!("{:>margin$}  {}", "", places(end_gb, width)));
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    lines.join("\n")
}

/// Rates of `width` equal shares of the bytes: what a share's bytes take at the rates of their steps.
///
/// A point stands for the bytes since the point before it. Points that are out of order, not finite or
/// without bytes of their own have no place.
pub(super) fn shares(points: &[Point], width: usize) -> Vec<f64> {
    let Some(end) = end_gb(points).filter(|_| width > 0) else { return Vec::new() };
    let share = end / width as f64;
    let mut steps = steps(points).peekable();
    let mut start = 0.0;
    let mut rates = Vec::with_capacity(width);
    for bin in 1..=width {
        let bin_end = if bin == width { end } else { share * bin as f64 };
        let (mut bytes, mut time) = (0.0, 0.0);
        while let Some(&step) = steps.peek() {
            let part = (step.at_gb.min(bin_end) - start).max(0.0);
            bytes += part;
            if part > 0.0 {
                time += part / step.mb_s;
            }
            start = start.max(step.at_gb.min(bin_end));
            if step.at_gb > bin_end {
                break;
            }
            steps.next();
        }
        // Shares that rounding left without bytes go on as before.
        let rate = if bytes > 0.0 { bytes / time } else { rates.last().copied().unwrap_or(0.0) };
        rates.push(if rate.is_finite() { rate } else { 0.0 });
    }
    rates
}

/// The points that stand for bytes.
fn steps(points: &[Point]) -> impl Iterator<Item = Point> {
    let mut last = 0.0;
    points.iter().copied().filter(move |point| {
        let counts = point.at_gb.is_finite() && point.mb_s.is_finite() && point.mb_s >= 0.0 && point.at_gb > last;
        if counts {
            last = point.at_gb;
        }
        counts
    })
}

/// GB at the end of the last step.
fn end_gb(points: &[Point]) -> Option<f64> {
    steps(points).last().map(|point| point.at_gb)
}

/// `rate` in eighths of a cell, where `most` eighths are `top`; anything above zero shows.
fn eighths(rate: f64, top: f64, most: usize) -> usize {
    if rate > 0.0 && top > 0.0 { ((rate / top * most as f64).round() as usize).clamp(1, most) } else { 0 }
}

/// The least round number that is no smaller than `most`: 1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6 or 8 times a power of ten.
pub(super) fn axis_top(most: f64) -> f64 {
    if !(most > 0.0 && most.is_finite()) {
        return 1.0;
    }
    let text = format!("{most:e}");
    let (_, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let nice = [1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0].map(|times| format!("{times}e{exponent}"));
    let found = nice.iter().filter_map(|nice| nice.parse::<f64>().ok()).find(|nice| *nice >= most);
    found.filter(|nice| nice.is_finite()).unwrap_or(most)
}

/// The column of a place.
fn column(at_gb: f64, end_gb: f64, width: usize) -> usize {
    ((at_gb / end_gb * width as f64) as usize).min(width - 1)
}

/// The line above the chart: `▼ 121 GB` over each cliff, without the text where it would run into another.
fn mark_cliffs(cliffs: &[CliffLine], end_gb: f64, width: usize) -> String {
    let mut places: Vec<(usize, String)> = cliffs
        .iter()
        .filter(|cliff| cliff.at_gb.is_finite() && (0.0..=end_gb).contains(&cliff.at_gb))
        .map(|cliff| (column(cliff.at_gb, end_gb, width), format!("▼ {} GB", number(cliff.at_gb))))
        .collect();
    places.sort();
    places.dedup_by_key(|(column, _)| *column);
    let mut line: Vec<char> = vec![' '];
    for (at, (column, label)) in places.iter().enumerate() {
        line.resize((column + 1).max(line.len()), ' ');
        let room = places.get(at + 1).map_or(usize::MAX, |(next, _)| next - column - 1);
        let shown = if label.chars().count() <= room { label.as_str() } else { "▼" };
        line.extend(shown.chars());
    }
    line.into_iter().collect()
}

/// The line below the chart: 0, the middle and the end in GB.
fn places(end_gb: f64, width: usize) -> String {
    let (middle, end) = (number(end_gb / 2.0), format!("{} GB", number(end_gb)));
    let half = width / 2;
    if half + middle.len() + end.len() + 1 > width || half < 3 {
        return format!("0 to {end}");
    }
    format!("{:<half$}{middle:<rest$}{end}", "0", rest = width - half - end.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    fn points(rates: &[f64]) -> Vec<Point> {
        rates.iter().zip(1_u32..).map(|(&mb_s, at)| Point { at_gb: f64::from(at), mb_s }).collect()
    }

    fn check(rates: &[f64], width: usize, expect: &str) {
        assert_eq!(sparkline(&points(rates), width), expect, "{rates:?}");
    }

    #[test]
    fn a_line_goes_from_zero_to_the_largest_rate() {
        check(&[0.0, 125.0, 500.0, 1000.0], 4, "▁▁▄█");
        check(&[500.0, 500.0, 500.0], 6, "██████");
        check(&[500.0], 3, "███");
        check(&[0.0, 0.0], 2, "▁▁");
        check(&[], 5, "");
        check(&[1.0], 0, "");
    }

    #[test]
    fn shares_of_equal_bytes_have_the_rate_their_bytes_took() {
        assert_eq!(shares(&points(&[100.0, 300.0]), 1), [150.0]);
        assert_eq!(shares(&points(&[100.0, 300.0]), 4), [100.0, 100.0, 300.0, 300.0]);
        let uneven = [Point { at_gb: 1.0, mb_s: 100.0 }, Point { at_gb: 4.0, mb_s: 200.0 }];
        assert_eq!(shares(&uneven, 4), [100.0, 200.0, 200.0, 200.0]);
    }

    #[test]
    fn points_without_a_place_are_left_out() {
        let strange = [
            Point { at_gb: f64::NAN, mb_s: 1.0 },
            Point { at_gb: 1.0, mb_s: f64::INFINITY },
            Point { at_gb: 2.0, mb_s: -5.0 },
            Point { at_gb: 3.0, mb_s: 100.0 },
            Point { at_gb: 3.0, mb_s: 0.0 },
            Point { at_gb: 1.0, mb_s: 7.0 },
        ];
        assert_eq!(shares(&strange, 2), [100.0, 100.0]);
        assert_eq!(shares(&strange[..3], 2), [0.0; 0]);
        assert_eq!(chart(&strange[..3], &[], WIDTH, HEIGHT), "");
    }

    #[test]
    fn any_number_of_points_makes_a_chart_of_the_size_asked_for() {
        for count in [1, 2, 59, 60, 61, 1000, 100_000] {
            let rates: Vec<f64> = (0..count).map(|at| f64::from(at % 7) * 1e3).collect();
            let chart = chart(&points(&rates), &[], WIDTH, HEIGHT);
            assert_eq!(chart.lines().count(), HEIGHT + 3, "{count} points");
            assert!(chart.lines().all(|line| line.chars().count() <= WIDTH + 8), "{count} points:\n{chart}");
        }
        for (width, height) in [(0, 0), (1, 1), (2, 40), (7, 3)] {
            assert!(!chart(&points(&[1.0, f64::MAX, 1e-300]), &[], width, height).is_empty());
        }
    }

    #[test]
    fn a_chart_names_its_axes_and_marks_its_cliffs() {
        let fill = samples::finished().fill.unwrap();
        let text = chart(&fill.curve, &fill.cliffs, 40, 4);
        let expect = "\
MB/s      ▼ 121 GB
2400 ┤████
     │████
1200 ┤████
     │████▃▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂
   0 └────────────────────────────────────────
      0                   536          1070 GB";
        assert_eq!(text, expect, "\n{text}");
    }

    #[test]
    fn crowded_cliffs_keep_their_marks() {
        let cliff = |at_gb| CliffLine { at_gb, low_gb: at_gb, high_gb: at_gb, before_mb_s: 2.0, after_mb_s: 1.0 };
        let cliffs = [cliff(30.0), cliff(10.0), cliff(12.0), cliff(f64::NAN), cliff(1e9)];
        assert_eq!(mark_cliffs(&cliffs, 60.0, 60), format!("{:11}▼ ▼ 12.0 GB{:9}▼ 30.0 GB", "", ""));
    }

    proptest::proptest! {
        #[test]
        fn any_numbers_make_a_chart_or_nothing(
            numbers in proptest::collection::vec((proptest::num::f64::ANY, proptest::num::f64::ANY), 0..50),
            width in 1_usize..80,
            height in 1_usize..20,
        ) {
            let points: Vec<Point> = numbers.iter().map(|&(at_gb, mb_s)| Point { at_gb, mb_s }).collect();
            let cliff = |&(at_gb, _): &(f64, f64)| CliffLine {
                at_gb, low_gb: at_gb, high_gb: at_gb, before_mb_s: 2.0, after_mb_s: 1.0,
            };
            let cliffs: Vec<CliffLine> = numbers.iter().map(cliff).collect();
            let lines = chart(&points, &cliffs, width, height).lines().count();
            proptest::prop_assert!(lines == 0 || lines == height + 3, "{lines} lines");
            let blocks = sparkline(&points, width).chars().count();
            proptest::prop_assert!(blocks == 0 || blocks == width, "{blocks} blocks");
        }
    }
}
