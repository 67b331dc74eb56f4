//! `compare --format md`: runs side by side, for a comment or a wiki.

use std::fmt::Write as _;

use super::{FACT, REASON, list};
use crate::report::compare::{Comparison, Line, letter};
use crate::report::text::{cell, code, sentence};

/// Columns of a small curve.
const WIDTH: usize = 40;
/// Rows of a small curve.
const HEIGHT: usize = 5;

/// The comparison as GitHub-flavoured markdown.
#[must_use]
pub fn render(comparison: &Comparison) -> String {
    let mut page = "# storage-check: comparison\n".to_owned();
    let legend = comparison.legend().into_iter().map(|(letter, what)| {
        let what: Vec<String> = what.iter().filter(|text| !text.is_empty()).map(|text| code(text, FACT)).collect();
        format!("- **{letter}**: {}", what.join(", "))
    });
    list(&mut page, "", legend, 8_000, "runs");
    list(&mut page, "", comparison.notes().iter().map(|note| format!("- {}", sentence(note, REASON))), 8_000, "notes");
    let letters: Vec<String> = (0..comparison.runs.len()).map(letter).collect();
    table(&mut page, "Metrics", "Metric", &letters, &comparison.metrics(), 20_000);
    let levels: Vec<Line> = comparison.levels().into_iter().chain(comparison.fsef()).collect();
    table(&mut page, "Steady rate of random writes over the bytes in use", "Level", &letters, &levels, 8_000);
    for (letter, chart) in comparison.space_charts(WIDTH, HEIGHT) {
        let _ = writeln!(page, "\n{letter}, steady MB/s over GB in use:\n\n```text\n{chart}\n```");
    }
    let timelines = comparison.timelines(WIDTH);
    let lines = timelines.iter().map(|(name, cells)| {
        let [letter, line, scale] = &cells[..] else { return String::new() };
        format!("| {} | {letter} | {line} | {} |", cell(name, FACT), sentence(scale, FACT))
    });
    let heading = "## Timelines\n\nThroughput over bytes written, each line from zero to its own top.\n\n\
                   | Suite | Run | Curve | Top, end |\n|---|---|---|---|";
    list(&mut page, heading, lines, 12_000, "curves");
    page
}

fn table(page: &mut String, title: &str, first: &str, letters: &[String], lines: &[Line], share: usize) {
    let heading = format!("## {title}\n\n| {first} | {} |\n|---|{}", letters.join(" | "), "--:|".repeat(letters.len()));
    let lines = lines.iter().map(|(name, cells)| {
        let cells: Vec<String> = cells.iter().map(|text| sentence(text, FACT)).collect();
        format!("| {} | {} |", cell(name, FACT), cells.join(" | "))
    });
    list(page, &heading, lines, share, "lines");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::compare::Compared;
    use crate::report::samples;

    #[test]
    fn runs_stand_side_by_side_and_hostile_text_breaks_no_table() {
        let compared = |report| Compared { report, levels: Vec::new() };
        let page = render(&Comparison { runs: vec![compared(samples::finished()), compared(samples::finished())] });
        assert!(page.contains("\n| `fill.floor_mb_s` | 400 MB/s | 400 MB/s (×1.00) |\n"), "{page}");
        assert!(page.contains("\n| `fill` | A | "), "{page}");
        let hostile =
            render(&Comparison { runs: vec![compared(samples::all_hostile()), compared(samples::finished())] });
        for line in hostile.lines().filter(|line| line.starts_with("| ")) {
            assert!([4, 5].contains(&line.replace("\\|", "").matches('|').count()), "{line}");
        }
        assert!(hostile.len() < super::super::MOST_BYTES && !hostile.contains("\u{1b}"));
    }
}
