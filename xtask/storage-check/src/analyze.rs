//! `analyze`: what others' logs and our journals say, drawn for the terminal or as JSON.

use std::fmt::Write as _;

use comfy_table::{Table, presets};
use harness::import::{Jobs, LogKind, Options};
use harness::report::series::SeriesReport;
use harness::report::table::number;
use harness::report::{CliffLine, curve, json};
use harness::session::analyze::{self, Request};
use harness::units::{Bytes, Nanos};
use owo_colors::Style;

use crate::arguments::{AnalyzeArguments, Format, Log, Together};
use crate::console::Console;
use crate::exit::Exit;

pub(crate) fn analyze(arguments: &AnalyzeArguments, console: &Console) -> Exit {
    let log = arguments.log.map(|log| match log {
        Log::Bw => LogKind::Bandwidth,
        Log::Iops => LogKind::Iops,
        Log::Lat => LogKind::Latency,
    });
    let jobs = match arguments.jobs {
        Together::Auto => Jobs::ByName,
        Together::Sum => Jobs::Sum,
        Together::Apart => Jobs::Apart,
    };
    let (series, refused) = analyze::analyze(&Request {
        files: arguments.files.clone(),
        options: Options { block_size: arguments.block_size, log, jobs },
        drive: arguments.drive_gib,
        range: arguments.range_gib,
    });
    match console.format {
        Format::Json => console.result(json::series::render(&series).trim_end()),
        Format::Text => {
            let parts: Vec<String> = series.iter().map(|series| text(series, console)).collect();
            if !parts.is_empty() {
                console.result(&parts.join("\n\n"));
            }
        }
    }
    for refusal in &refused {
        console.error(&refusal.to_string());
    }
    if refused.is_empty() { Exit::Held } else { Exit::Usage }
}

/// One series: what it is, its curve, what was found, and what was done to it on the way.
fn text(series: &SeriesReport, console: &Console) -> String {
    let mut out = console.paint(&title(series), Style::new().bold());
    if console.quiet {
        if series.bytes > 0 {
            let _ = write!(out, "\nsteady {}", steady(series));
        }
        return out;
    }
    if series.curve.len() > 1 {
        let chart = curve::chart(&series.curve, &series.cliffs, curve::WIDTH, curve::HEIGHT);
        let _ = write!(out, "\n\n{chart}\n");
    }
    out.push('\n');
    out.push_str(&findings(series));
    for warning in &series.warnings {
        let _ = write!(out, "\n{} {warning}", console.paint("warning:", Style::new().yellow()));
    }
    out
}

fn title(series: &SeriesReport) -> String {
    let mut title = series.files.first().cloned().unwrap_or_default();
    if let Some(more) = series.files.len().checked_sub(1).filter(|more| *more > 0) {
        let _ = write!(title, " and {more} more");
    }
    if let Some(part) = &series.part {
        let _ = write!(title, ", {part}");
    }
    let span = Nanos((series.seconds.max(0.0) * 1e9) as u64);
    match series.mean_mb_s {
        Some(mean) if series.bytes > 0 => {
            let _ = write!(title, ": {}, {} in {span}, mean {} MB/s", series.kind, Bytes(series.bytes), number(mean));
        }
        _ => {
            let _ = write!(title, ": {}", series.kind);
        }
    }
    title
}

/// A row a finding, in the order in which a person reads the curve.
fn findings(series: &SeriesReport) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for (at, cliff) in series.cliffs.iter().enumerate() {
        table.add_row([format!("cliff {}", at + 1), place(cliff), change(cliff)]);
    }
    for (at, rise) in series.recoveries.iter().enumerate() {
        table.add_row([format!("recovery {}", at + 1), place(rise), change(rise)]);
    }
    if series.bytes > 0 {
        if series.cliffs.is_empty() {
            table.add_row([
                "cliff".to_owned(),
                format!("more than {} GB", number(Bytes(series.bytes).gb())),
                String::new(),
            ]);
        }
        table.add_row(["steady".to_owned(), steady(series), evidence(series)]);
        if let Some((seconds, mb_s)) = series.steady.decided {
            let when = Nanos((seconds * 1e9) as u64);
            table.add_row([
                "first claim".to_owned(),
                format!("{} MB/s", number(mb_s)),
                format!("after {when}, as an observer could have said"),
            ]);
        }
    }
    if let Some(stalled) = &series.stalled {
        let [all, longest, at] =
            [stalled.seconds, stalled.longest_s, stalled.longest_at_s].map(|s| Nanos((s * 1e9) as u64));
        table.add_row([
            "stalled".to_owned(),
            format!("{all} without a byte"),
            format!("the longest {longest} from {at} on"),
        ]);
    }
    if let Some(latency) = &series.latency {
        let [p50, p99, max] = [latency.p50_us, latency.p99_us, latency.max_us].map(number);
        let of = if latency.of == "ios" { "I/Os" } else { "windows' means" };
        table.add_row([
            "latency".to_owned(),
            format!("p50 {p50} µs, p99 {p99} µs, max {max} µs"),
            format!("of {} {of}", latency.count),
        ]);
    }
    // The table pads its last column; a terminal and a log need no spaces there.
    table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn place(cliff: &CliffLine) -> String {
    format!("{} GB ({} to {})", number(cliff.at_gb), number(cliff.low_gb), number(cliff.high_gb))
}

fn change(cliff: &CliffLine) -> String {
    let by = (cliff.after_mb_s / cliff.before_mb_s - 1.0) * 100.0;
    format!("{} → {} MB/s ({by:+.0} %)", number(cliff.before_mb_s), number(cliff.after_mb_s))
}

fn steady(series: &SeriesReport) -> String {
    let found = &series.steady;
    match (found.mb_s, found.bounds_mb_s, found.since_s) {
        (Some(mb_s), Some((low, high)), Some(since)) => {
            format!("{} MB/s ({} to {}) since {}", number(mb_s), number(low), number(high), Nanos((since * 1e9) as u64))
        }
        _ => found.state.replace('-', " "),
    }
}

/// Why, in the rules' own figures.
fn evidence(series: &SeriesReport) -> String {
    let mut parts = Vec::new();
    if let Some(wave) = series.steady.oscillation {
        let (low, high, period) = (number(wave.low_mb_s), number(wave.high_mb_s), Nanos((wave.period_s * 1e9) as u64));
        parts.push(format!("goes up and down between {low} and {high} MB/s every {period}"));
    }
    if let Some((range, excursion)) = series.steady.snia {
        parts.push(format!("SNIA: range {:.1} % of 20 %, slope {:.1} % of 10 %", range * 100.0, excursion * 100.0));
    }
    parts.join("; ")
}
