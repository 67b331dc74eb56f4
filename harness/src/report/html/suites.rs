//! The sections on the suites: pictures, what was found in them, and the evidence for it.

use maud::{Markup, html};

use super::{figure, text};
use crate::report::svg::charts;
use crate::report::table::number;
use crate::report::{CliffLine, FillReport, LatencyLine, LevelReport, Report, SteadyLine, words};
use crate::units::{Bytes, Nanos};

/// A section a suite, the one over all levels first.
pub(super) fn sections(report: &Report) -> Markup {
    html! {
        @if let Some(fill) = &report.fill { (fill_section(report, fill)) }
        @if let Some(chart) = charts::space(report) {
            section {
                h2 { "Random writes: the fuller, the slower" }
                div.pictures { (figure(&chart, "space")) }
                @if let Some(fsef) = report.fsef {
                    p {
                        "Free space erase factor: " strong { (number(fsef.mb_s_per_gb)) " ± " (number(fsef.standard_error)) " MB/s" }
                        " for each GB more that is free, over " (fsef.levels) " steady levels."
                    }
                }
            }
        }
        @for (at, level) in report.random_write.iter().enumerate() { (level_section(report, level, at)) }
    }
}

fn fill_section(report: &Report, fill: &FillReport) -> Markup {
    html! {
        section {
            h2 { "Fill" }
            p { (moved(fill.bytes, fill.seconds)) }
            div.pictures {
                @for (at, chart) in charts::fill(report, fill).iter().enumerate() { (figure(chart, &format!("fill{at}"))) }
            }
            (cliffs(&fill.cliffs))
            @if !fill.bad_blocks.is_empty() {
                h3 { "Blocks that are not what was written" }
                ul { @for block in &fill.bad_blocks { li { (text(block)) } } }
            }
            (ratios(&fill.counter_ratios))
        }
    }
}

fn level_section(report: &Report, level: &LevelReport, at: usize) -> Markup {
    html! {
        section {
            h2 { "Random writes at " (text(&words::level(&level.level))) }
            p { (moved(level.bytes, level.seconds)) " " (steady(&level.steady)) }
            div.pictures {
                @for (n, chart) in charts::level(report, level).iter().enumerate() { (figure(chart, &format!("level{at}-{n}"))) }
            }
            (cliffs(&level.cliffs))
            @if let Some(latency) = level.latency { (percentiles(latency)) }
            details { summary { "Was it steady? The evidence" } (rules(&level.steady)) }
            (ratios(&level.counter_ratios))
        }
    }
}

fn moved(bytes: u64, seconds: f64) -> String {
    let rate = if seconds > 0.0 { bytes as f64 / 1e6 / seconds } else { 0.0 };
    format!("{} in {}: {} MB/s on average.", Bytes(bytes), span(seconds), number(rate))
}

fn span(seconds: f64) -> Nanos {
    Nanos((seconds.max(0.0) * 1e9) as u64)
}

fn cliffs(cliffs: &[CliffLine]) -> Markup {
    html! {
        @if !cliffs.is_empty() {
            ul.cliffs {
                @for (at, cliff) in cliffs.iter().enumerate() {
                    li {
                        "Cliff " (at + 1) " at " strong { (number(cliff.at_gb)) " GB" }
                        " (" (place(cliff)) "): from "
                        (number(cliff.before_mb_s)) " to " (number(cliff.after_mb_s)) " MB/s."
                    }
                }
            }
        }
    }
}

/// How well the place is known.
fn place(cliff: &CliffLine) -> String {
    let (low, high) = (number(cliff.low_gb), number(cliff.high_gb));
    if low == high {
        format!("known to within {} GB", number(cliff.high_gb - cliff.low_gb))
    } else {
        format!("between {low} and {high} GB")
    }
}

fn steady(steady: &SteadyLine) -> String {
    let wave = steady.oscillation.map_or_else(String::new, |wave| {
        let (low, high) = (number(wave.low_mb_s), number(wave.high_mb_s));
        format!(": it goes up and down between {low} and {high} MB/s every {}", span(wave.period_s))
    });
    match (steady.state, steady.mb_s, steady.since_s) {
        ("reached", Some(mb_s), Some(since)) => format!("Steady at {} MB/s since {}.", number(mb_s), span(since)),
        ("lost", ..) => format!("It was steady for a while and is not at the end{wave}."),
        ("never", ..) => format!("It never became steady{wave}."),
        _ => "Too short for a steady state.".to_owned(),
    }
}

/// Both rules' figures beside what they allow.
fn rules(steady: &SteadyLine) -> Markup {
    let percent = |share: f64| format!("{} %", number(share * 100.0));
    let (range, slope) = steady.snia.unzip();
    let (own_range, own_slope) = steady.own.unzip();
    let lines = [
        ("SNIA's rule, range of the last five rounds", range, "20 %"),
        ("SNIA's rule, slope over them", slope, "10 %"),
        ("our own rule, range", own_range, "10 %"),
        ("our own rule, slope", own_slope, "5 %"),
    ];
    html! {
        table {
            thead { tr { th scope="col" { "Test" } th.number scope="col" { "Found" } th.number scope="col" { "At most" } } }
            tbody {
                @for (name, found, most) in lines {
                    tr {
                        th scope="row" { (name) }
                        td.number { (found.map_or_else(|| "too short".to_owned(), percent)) }
                        td.number { (most) }
                    }
                }
            }
        }
        @if let Some((low, high)) = steady.bounds_mb_s {
            p { "With 95 % confidence between " (number(low)) " and " (number(high)) " MB/s." }
        }
        @if let Some((seconds, mb_s)) = steady.decided {
            p { "Whoever had watched would first have called it steady after " (span(seconds)) ", at " (number(mb_s)) " MB/s." }
        }
    }
}

fn percentiles(latency: LatencyLine) -> Markup {
    let LatencyLine { p50_us, p99_us, p999_us, p9999_us, max_us } = latency;
    let columns = [("p50", p50_us), ("p99", p99_us), ("p99.9", p999_us), ("p99.99", p9999_us), ("slowest", max_us)];
    html! {
        table {
            caption { "Latency of a write, µs" }
            thead { tr { @for (name, _) in columns { th.number scope="col" { (name) } } } }
            tbody { tr { @for (_, value) in columns { td.number { (number(value)) } } } }
        }
    }
}

fn ratios(ratios: &[(String, f64)]) -> Markup {
    html! {
        @if !ratios.is_empty() {
            details {
                summary { "Did the bytes reach the drive? Its own counters" }
                p { "Bytes that the device counted, as a multiple of those submitted; 0.98 to 1.10 is expected." }
                ul { @for (phase, ratio) in ratios { li { code { (text(phase)) } " " (number(*ratio)) " ×" } } }
            }
        }
    }
}
