//! The sections of `report.md` on the suites: curves, cliffs, steady states.

use std::fmt::Write as _;

use super::{FACT, curves, list, span};
use crate::report::table::number;
use crate::report::text::{code, sentence};
use crate::report::{CliffLine, FillReport, FsefLine, LatencyLine, LevelReport, Point, Report, SteadyLine};
use crate::units::Bytes;
use crate::verdict::curve::Spread;

/// The curve and what was found in it.
pub(super) fn fill_section(page: &mut String, report: &Report, fill: &FillReport) {
    let rate = if fill.seconds > 0.0 { fill.bytes as f64 / 1e6 / fill.seconds } else { 0.0 };
    let (bytes, span) = (Bytes(fill.bytes), span(fill.seconds));
    let _ = writeln!(page, "\n## Fill\n\n{bytes} in {span}: {} MB/s on average.", number(rate));
    list(page, "", fill.cliffs.iter().enumerate().map(|(at, cliff)| cliff_line(at, cliff)), 3_000, "cliffs");
    curve(page, &fill.curve, &fill.cliffs, report.ghosts.get("fill"));
    let bad = fill.bad_blocks.iter().map(|block| format!("- {}", sentence(block, FACT)));
    list(page, "Blocks that are not what was written:", bad, 3_000, "blocks");
    ratios(page, &fill.counter_ratios);
}

/// One level of random writes: its curve, and whether it settled.
pub(super) fn level_section(page: &mut String, report: &Report, level: &LevelReport) {
    let rate = if level.seconds > 0.0 { level.bytes as f64 / 1e6 / level.seconds } else { 0.0 };
    let (bytes, span) = (Bytes(level.bytes), span(level.seconds));
    let _ = writeln!(page, "\n## Random writes, level {}\n", code(&level.level, FACT));
    let _ = writeln!(page, "{bytes} in {span}: {} MB/s on average. {}", number(rate), steady_line(&level.steady));
    if let Some(latency) = level.latency {
        let LatencyLine { p50_us, p99_us, p999_us, p9999_us, max_us } = latency;
        let figures = [p50_us, p99_us, p999_us, p9999_us, max_us].map(number).join(" / ");
        let _ = writeln!(page, "\nLatency p50 / p99 / p99.9 / p99.99 / max: {figures} µs.");
    }
    list(page, "", level.cliffs.iter().enumerate().map(|(at, cliff)| cliff_line(at, cliff)), 3_000, "cliffs");
    let ghost = report.ghosts.get(&format!("random_write.{}", level.level));
    curve(page, &level.curve, &level.cliffs, ghost);
    ratios(page, &level.counter_ratios);
}

/// Throughput over GB written, as a line and as a chart.
fn curve(page: &mut String, points: &[Point], cliffs: &[CliffLine], ghost: Option<&Spread>) {
    let line = curves::line(points);
    if !line.is_empty() {
        let _ = write!(page, "\n{line}\n\n{}", curves::chart(points, cliffs, ghost));
    }
}

fn steady_line(steady: &SteadyLine) -> String {
    let evidence = steady.snia.map_or_else(String::new, |(range, excursion)| {
        let (range, excursion) = (number(range * 100.0), number(excursion * 100.0));
        format!(" (SNIA, last five minutes: range {range} % of at most 20 %, slope {excursion} % of at most 10 %)")
    });
    let wave = steady.oscillation.map_or_else(String::new, |wave| {
        let (low, high) = (number(wave.low_mb_s), number(wave.high_mb_s));
        format!(": it goes up and down between {low} and {high} MB/s every {}", span(wave.period_s))
    });
    match (steady.state, steady.mb_s, steady.since_s) {
        ("reached", Some(mb_s), Some(since)) => {
            format!("Steady at {} MB/s since {}{evidence}.", number(mb_s), span(since))
        }
        ("lost", ..) => format!("It was steady for a while and is not at the end{wave}{evidence}."),
        ("never", ..) => format!("It never became steady{wave}{evidence}."),
        _ => "Too short to say whether it is steady: a plateau is none before the drive's flash is used up and the range \
              written once more."
            .to_owned(),
    }
}

fn ratios(page: &mut String, ratios: &[(String, f64)]) {
    let ratios = ratios.iter().map(|(phase, ratio)| format!("- {}: {} ×", code(phase, FACT), number(*ratio)));
    list(page, "Bytes that the device behind counted, as a multiple of what was submitted:", ratios, 2_000, "phases");
}

fn cliff_line(at: usize, cliff: &CliffLine) -> String {
    let CliffLine { at_gb, low_gb, high_gb, before_mb_s, after_mb_s } = *cliff;
    let place = format!("{} GB ({} to {})", number(at_gb), number(low_gb), number(high_gb));
    format!("- Cliff {} at {place}: {} → {} MB/s", at + 1, number(before_mb_s), number(after_mb_s))
}

/// How the steady rate falls as the drive fills.
pub(super) fn fsef_line(page: &mut String, fsef: Option<FsefLine>) {
    if let Some(FsefLine { mb_s_per_gb, standard_error, levels }) = fsef {
        let (slope, error) = (number(mb_s_per_gb), number(standard_error));
        let _ = writeln!(
            page,
            "\nFree space erase factor: {slope} ± {error} MB/s for each extra free GB, over {levels} steady levels."
        );
    }
}
