//! `compare`: runs side by side, for the terminal, as markdown, HTML, SVG or JSON.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};
use harness::report::compare::{Comparison, Line, letter};
use harness::report::{html, json, markdown, svg};
use harness::session::compare;

use crate::arguments::{CompareArguments, Rendering};
use crate::console::Console;
use crate::exit::Exit;
use crate::judge::failed;

/// Columns of a small curve.
const WIDTH: usize = 48;
/// Rows of a small curve.
const HEIGHT: usize = 6;

pub(crate) fn compare(arguments: &CompareArguments, console: &Console) -> Exit {
    let comparison = match compare::compare(&arguments.runs) {
        Ok(comparison) => comparison,
        Err(why) => return failed(&why, console),
    };
    let text = match arguments.format {
        Rendering::Terminal => text(&comparison),
        Rendering::Md => markdown::compare::render(&comparison),
        Rendering::Json => json::compare::render(&comparison),
        Rendering::Html => html::compare::render(&comparison),
        Rendering::Svg => svg::compare::render(&comparison),
    };
    console.result(text.trim_end());
    Exit::Held
}

fn text(comparison: &Comparison) -> String {
    let mut out = String::new();
    for (letter, what) in comparison.legend() {
        let what: Vec<&str> = what.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        let _ = writeln!(out, "{letter}  {}", what.join(" · "));
    }
    for note in comparison.notes() {
        let _ = writeln!(out, "  note: {note}");
    }
    let letters: Vec<String> = (0..comparison.runs.len()).map(letter).collect();
    table(&mut out, "metric", &letters, &comparison.metrics());
    let levels: Vec<Line> = comparison.levels().into_iter().chain(comparison.fsef()).collect();
    table(&mut out, "steady at level", &letters, &levels);
    for (letter, chart) in comparison.space_charts(WIDTH, HEIGHT) {
        let _ = write!(out, "\n{letter}, steady MB/s over GB in use\n{chart}\n");
    }
    let mut last = String::new();
    for (name, cells) in comparison.timelines(WIDTH) {
        if name != last {
            let _ = writeln!(out, "\n{name}, throughput over bytes written (each from zero to its own top)");
            last = name;
        }
        let _ = writeln!(out, "{}", cells.join("  "));
    }
    out
}

fn table(out: &mut String, first: &str, letters: &[String], lines: &[Line]) {
    if lines.is_empty() {
        return;
    }
    let mut table = Table::new();
    let heads = std::iter::once(first.to_owned()).chain(letters.iter().cloned());
    table.load_style(presets::NOTHING).set_header(heads);
    for (name, cells) in lines {
        table.add_row(std::iter::once(name).chain(cells));
    }
    for column in 1..=letters.len() {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    // The table pads its last column; a terminal and a log need no spaces there.
    let _ = writeln!(out, "\n{}", table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n"));
}
