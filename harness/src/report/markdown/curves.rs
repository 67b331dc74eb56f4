//! Curves in markdown: a line of blocks that reads everywhere, and a Mermaid chart where that is drawn.
//!
//! Mermaid knows no escapes that all its versions share, so nothing foreign goes into a chart: numbers and our own
//! words alone.

use std::fmt::Write as _;

use crate::report::table::number;
use crate::report::{CliffLine, Point, curve};
use crate::verdict::curve::Spread;

/// Points of a chart: what a comment's width can show.
const POINTS: usize = 48;

/// `▇▇▇▁▁▁ 318 → 117 MB/s over 1100 GB`; nothing where there is no curve.
pub(super) fn line(points: &[Point]) -> String {
    let blocks = curve::sparkline(points, POINTS);
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return String::new() };
    if blocks.is_empty() {
        return String::new();
    }
    let (from, to, end) = (number(first.mb_s), number(last.mb_s), number(last.at_gb));
    format!("`{blocks}` {from} → {to} MB/s over {end} GB")
}

/// A chart of the curve and the baseline's; nothing where there is no curve.
pub(super) fn chart(points: &[Point], cliffs: &[CliffLine], ghost: Option<&Spread>) -> String {
    let rates = curve::shares(points, POINTS);
    let Some(end) = points.last().map(|point| point.at_gb).filter(|_| !rates.is_empty()) else { return String::new() };
    let ghost: Vec<f64> = ghost.iter().flat_map(|ghost| middle(ghost, end)).collect();
    let top = curve::axis_top(rates.iter().chain(&ghost).copied().fold(0.0, f64::max));
    let cliff = cliffs.first().map(|cliff| format!(", cliff at {} GB", number(cliff.at_gb))).unwrap_or_default();
    let (what, base) = if ghost.is_empty() { ("", "") } else { (" (second line: the baseline)", ": baseline") };
    let list = |rates: &[f64]| rates.iter().map(|rate| plain(*rate)).collect::<Vec<_>>().join(", ");
    let mut out = format!(
        "```mermaid\nxychart-beta\n    title \"MB/s over GB written{cliff}{what}\"\n    x-axis \"GB written\" 0 --> {}\n    \
         y-axis \"MB/s\" 0 --> {}\n    line \"this run\" [{}]\n",
        plain(end),
        plain(top),
        list(&rates)
    );
    if !ghost.is_empty() {
        let _ = writeln!(out, "    line \"{}\" [{}]", base.trim_start_matches(": "), list(&ghost));
    }
    out + "```\n"
}

/// The baseline's middle at the places of the chart's points; what it did not reach is 0.
fn middle(ghost: &Spread, end: f64) -> Vec<f64> {
    let at = |point: usize| {
        let place = end * (point as f64 + 0.5) / POINTS as f64;
        ghost.at_gb.iter().position(|to| *to >= place).map_or(0.0, |step| ghost.mb_s[step][1])
    };
    (0..POINTS).map(at).collect()
}

/// Mermaid reads no powers of ten.
fn plain(value: f64) -> String {
    let text = number(value);
    if text.contains('e') || text.contains('n') {
        format!("{:.0}", if value.is_finite() { value } else { 0.0 })
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn a_chart_holds_both_curves_and_names_the_cliff() {
        let report = samples::finished();
        let fill = report.fill.unwrap();
        let text = chart(&fill.curve, &fill.cliffs, report.ghosts.get("fill"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["```mermaid", "xychart-beta"]);
        assert!(lines[2].contains("cliff at 121 GB (second line: the baseline)"), "{text}");
        assert_eq!(lines[3..5], ["    x-axis \"GB written\" 0 --> 1070", "    y-axis \"MB/s\" 0 --> 2400"]);
        for line in &lines[5..7] {
            assert_eq!(line.matches(", ").count(), POINTS - 1, "{line}");
        }
        assert_eq!(chart(&[], &[], None), "");
    }

    #[test]
    fn a_line_reads_without_a_chart() {
        let line = line(&samples::finished().fill.unwrap().curve);
        assert!(line.starts_with('`') && line.ends_with("` 2380 → 144 MB/s over 1070 GB"), "{line}");
    }
}
