//! What a run came to, for the terminal.

use std::fmt::Write as _;
use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use harness::report::{Report, curve, table};
use harness::verdict::Verdict;
use owo_colors::Style;

use crate::console::Console;

/// Verdict and headline in one line.
pub(crate) fn verdict_line(report: &Report, console: &Console) -> String {
    let word = report.verdict.word();
    let (mark, style) = match report.verdict {
        Verdict::Held | Verdict::Improved => ("✓", Style::new().green().bold()),
        Verdict::Regressed => ("✗", Style::new().red().bold()),
        Verdict::Error => ("!", Style::new().red().bold()),
        Verdict::Inconclusive => ("?", Style::new().yellow().bold()),
        Verdict::NoBaseline => ("–", Style::new().bold()),
    };
    format!("{} {}", console.paint(&format!("{mark} {word}:"), style), report.headline)
}

/// The verdict, the curve, the metrics, and where to read more.
pub(crate) fn render(report: &Report, folder: &Path, console: &Console) -> String {
    let mut out = verdict_line(report, console);
    out.push('\n');
    for note in &report.notes {
        let _ = writeln!(out, "  note: {note}");
    }
    if let Some(fill) = report.fill.as_ref().filter(|fill| fill.curve.len() > 1) {
        let _ = write!(
            out,
            "\nfill, MB/s over GB written\n{}\n",
            curve::chart(&fill.curve, &fill.cliffs, curve::WIDTH, curve::HEIGHT)
        );
    }
    for level in report.random_write.iter().filter(|level| level.curve.len() > 1) {
        let chart = curve::chart(&level.curve, &level.cliffs, curve::WIDTH, curve::HEIGHT);
        let _ = write!(out, "\nrandom writes at {}, MB/s over GB written\n{chart}\n", level.level);
    }
    if !report.metrics.is_empty() {
        // The table pads its last column; a terminal and a log need no spaces there.
        let table = metrics(report).to_string();
        let _ = writeln!(out, "\n{}", table.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"));
    }
    let _ = write!(out, "\nreports in {}", folder.display());
    out
}

fn metrics(report: &Report) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["metric", "value", "verdict", ""]);
    for row in table::rows(report) {
        table.add_row([row.id, row.value, row.verdict.to_string(), row.reason]);
    }
    if let Some(values) = table.column_mut(1) {
        values.set_cell_alignment(CellAlignment::Right);
    }
    table
}
