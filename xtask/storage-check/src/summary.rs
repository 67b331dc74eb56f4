//! What a run came to, for the terminal.

use std::fmt::Write as _;
use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use harness::report::{Report, curve, table};
use harness::verdict::Verdict;
use harness::verdict::judge::Role;
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
pub(crate) fn render(report: &Report, folder: Option<&Path>, console: &Console) -> String {
    let mut out = verdict_line(report, console);
    out.push('\n');
    for change in &report.changes {
        let role = match (change.under_test, change.must_match) {
            (true, _) => " (under test)",
            (false, true) => " (must match)",
            (false, false) => "",
        };
        let _ = writeln!(out, "  changed: {change}{role}");
    }
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
        for row in table::rows(report).iter().filter(|row| weighs(row)) {
            let _ = writeln!(out, "  {}: {}", row.id, row.basis);
        }
    }
    if let Some(folder) = folder {
        let _ = write!(out, "\nreports in {}", folder.display());
    }
    out
}

/// Whether a reader will ask what the judgement of this metric rests on.
fn weighs(row: &table::Row) -> bool {
    row.role == Role::Gate && !row.basis.is_empty() && matches!(row.verdict, Verdict::Regressed | Verdict::Inconclusive)
}

fn metrics(report: &Report) -> Table {
    let rows = table::rows(report);
    let compared = rows.iter().any(|row| !row.baseline.is_empty());
    let heads: &[&str] = if compared {
        &["metric", "value", "baseline", "change", "tolerance", "verdict", ""]
    } else {
        &["metric", "value", "verdict", ""]
    };
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(heads.to_vec());
    for row in rows {
        let role = if row.role == Role::Info { " (info)" } else { "" };
        let verdict = format!("{}{role}", row.verdict);
        if compared {
            table.add_row([row.id, row.value, row.baseline, row.change, row.tolerance, verdict, row.reason]);
        } else {
            table.add_row([row.id, row.value, verdict, row.reason]);
        }
    }
    for figures in 1..heads.len() - 2 {
        if let Some(column) = table.column_mut(figures) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
