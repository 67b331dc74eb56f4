//! `report.md`: the report for people, for a step summary or a pull request's comment.
//!
//! The verdict comes first and failures come before what is fine. It stays under `MOST_BYTES` whatever the
//! run had to say: each part has a share of its own, and says how many lines it left out. Must never
//! know how a number is written (`table`) or where the text comes from: all of it may be hostile.

pub mod compare;
mod curves;
mod suites;

use std::fmt::Write as _;

use super::table::{Row, number, rows, symbol};
use super::text::{cell, code, sentence};
use super::{FailureKind, Report};
use crate::environment::Outcome;
use crate::units::{Bytes, Nanos};
use crate::verdict::judge::Role;
use suites::{fill_section, fsef_line, level_section};

/// No report is larger: a pull request's comment holds 65,536 characters, and others write in it, too.
pub const MOST_BYTES: usize = 60_000;

/// Most bytes of a name, a path or another fact.
const FACT: usize = 200;
/// Most bytes of a reason or a note.
const REASON: usize = 600;

/// The report as GitHub-flavoured markdown of at most [`MOST_BYTES`] bytes.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut page = String::new();
    head(&mut page, report);
    first_curve(&mut page, report);
    changed(&mut page, report);
    list(&mut page, "", report.notes.iter().map(|note| format!("- {}", sentence(note, REASON))), 8_000, "notes");
    metrics(&mut page, report);
    let bases = rows(report).into_iter().filter(|row| !row.basis.is_empty());
    let bases = bases.map(|row| format!("- {}: {}", code(&row.id, FACT), sentence(&row.basis, REASON)));
    list(&mut page, "## What the judgements rest on", bases, 4_000, "metrics");
    if let Some(fill) = &report.fill {
        fill_section(&mut page, report, fill);
    }
    for (at, level) in report.random_write.iter().enumerate() {
        if page.len() > MOST_BYTES / 2 + 8_000 {
            let _ = writeln!(page, "\n… and {} more levels, all in report.html.", report.random_write.len() - at);
            break;
        }
        level_section(&mut page, report, level);
    }
    fsef_line(&mut page, report.fsef);
    measured(&mut page, report);
    cost(&mut page, report);
    preflight(&mut page, report);
    let facts = report.environment.iter();
    let facts = facts.map(|(name, value)| format!("- {}: {}", code(name, FACT), code(value, FACT)));
    list(&mut page, "## Environment", facts, 8_000, "facts");
    let _ = writeln!(page, "\nPictures, evidence and all figures: `report.html` of this run, in the job's artifact.");
    page
}

/// The verdict, its reason, and what ended the run.
fn head(page: &mut String, report: &Report) {
    let (symbol, word) = (symbol(report.verdict), report.verdict.word());
    let _ = writeln!(page, "# {symbol} storage-check: {word}\n\n{}", sentence(&report.headline, REASON));
    if let Some(failure) = &report.failure {
        let what = match failure.kind {
            FailureKind::Refused if report.bytes_written == 0 => "The target was refused and nothing was written",
            FailureKind::Refused => "The target was refused and nothing more was written",
            FailureKind::Failed => "The run failed",
            FailureKind::Interrupted => "The run was interrupted",
        };
        // A headline that says it all is not said again.
        let said = report.headline.len() <= REASON / 2 && report.headline.contains(&failure.message);
        let why = if said { "" } else { &failure.message };
        let _ = writeln!(page, "\n{}", format!("> **{what}.** {}", sentence(why, 4_000)).trim_end());
    }
}

/// The curve that tells most, in a line.
fn first_curve(page: &mut String, report: &Report) {
    let fill = report.fill.as_ref().map(|fill| ("Fill", fill.curve.as_slice()));
    let level = report.random_write.last().map(|level| ("Random writes", level.curve.as_slice()));
    if let Some((what, points)) = fill.or(level).filter(|(_, points)| points.len() > 1) {
        let _ = writeln!(page, "\n{what}: {}", curves::line(points));
    }
}

/// What is not what it was with the baseline, before → after; right after the verdict, since it may explain it.
fn changed(page: &mut String, report: &Report) {
    let value = |value: &Option<String>| value.as_ref().map_or_else(|| "unknown".to_owned(), |value| code(value, FACT));
    let lines = report.changes.iter().map(|change| {
        let role = match (change.under_test, change.must_match) {
            (true, _) => " (under test)",
            (false, true) => " (**must match**)",
            (false, false) => "",
        };
        format!("- {}: {} → {}{role}", code(&change.name, FACT), value(&change.before), value(&change.after))
    });
    list(page, "## What changed since the baseline", lines, 4_000, "facts");
}

/// The table of metrics; columns that no row fills are left out.
fn metrics(page: &mut String, report: &Report) {
    let rows = rows(report);
    if rows.is_empty() {
        page.push_str("\nNo metric was measured.\n");
        return;
    }
    let compared = rows.iter().any(|row| !row.baseline.is_empty() || !row.change.is_empty());
    let (heads, rule) = if compared {
        ("| Metric | Value | Baseline | Change | Tolerance | Verdict | Why |", "|---|--:|--:|--:|--:|---|---|")
    } else {
        ("| Metric | Value | Verdict | Why |", "|---|--:|---|---|")
    };
    let lines = rows.iter().map(|row| table_line(row, compared));
    list(page, &format!("## Metrics\n\n{heads}\n{rule}"), lines, 20_000, "metrics");
}

fn table_line(row: &Row, compared: bool) -> String {
    let value = if row.range.is_empty() { row.value.clone() } else { format!("{} ({})", row.value, row.range) };
    let mut line = format!("| {} | {} |", cell(&row.id, FACT), sentence(&value, FACT));
    if compared {
        for text in [&row.baseline, &row.change, &row.tolerance] {
            let _ = write!(line, " {} |", sentence(text, FACT));
        }
    }
    let role = if row.role == Role::Info { " (info)" } else { "" };
    let _ = write!(line, " {} {}{role} | {} |", symbol(row.verdict), row.verdict, sentence(&row.reason, REASON));
    line
}

/// What was measured, by what and where; a refused run may know little of it.
fn measured(page: &mut String, report: &Report) {
    let (target, profile) = (&report.target, &report.profile);
    let optional = |before: &str, text: Option<&str>| match text {
        Some(text) if !text.trim().is_empty() => format!("{before}{}", code(text, FACT)),
        _ => String::new(),
    };
    let kind = optional(", ", Some(&target.kind)) + &optional(" on ", target.filesystem.as_deref());
    let by = format!(" version {}{}", profile.version, optional(", fingerprint ", Some(&profile.fingerprint)));
    let when = optional(", started ", Some(&report.started)) + &optional(" on ", report.host.as_deref());
    let found = report.baseline.as_ref();
    let baseline = found.map(|found| found.path.clone()).unwrap_or_default();
    let rests = found.map_or_else(String::new, |found| match (&found.not_used, found.runs.len()) {
        (Some(_), _) => ", not used".to_owned(),
        (None, runs) => format!(", runs {runs}{}", optional(", accepted ", Some(&found.accepted))),
    });
    let lines = [
        ("Drive", &target.drive, String::new()),
        ("Target", &target.path, kind),
        ("Engine", &target.engine, String::new()),
        ("Profile", &profile.name, by),
        ("Run", &report.run, when),
        ("Baseline", &baseline, rests),
    ];
    let lines = lines.into_iter().filter(|(_, text, _)| !text.trim().is_empty());
    let lines = lines.map(|(what, text, more)| format!("- {what}: {}{more}", code(text, FACT)));
    list(page, "## What was measured", lines, 4_000, "lines");
    let others = report.runs.iter().filter(|run| **run != report.run).map(|run| format!("- {}", code(run, FACT)));
    list(page, "Also judged:", others, 2_000, "runs");
}

/// The checks before the run; those that found something stand among the notes as well.
fn preflight(page: &mut String, report: &Report) {
    let checks = report.preflight.iter();
    let lines = checks.map(|check| {
        let symbol = match check.outcome {
            Outcome::Pass => "✔",
            Outcome::Warn => "△",
            Outcome::NotComparable => "✖",
        };
        let (name, message) = (code(&check.name, FACT), sentence(&check.message, REASON));
        format!("- {symbol} {name} {}: {message}", check.outcome.word())
    });
    list(page, "## Preflight", lines, 3_000, "checks");
}

/// What the run cost, and what it left out.
fn cost(page: &mut String, report: &Report) {
    let (written, span) = (Bytes(report.bytes_written), span(report.elapsed_s));
    let mut lines = match report.bytes_written {
        0 => vec!["- Written: nothing".to_owned()],
        _ => vec![format!("- Written: {written} in {span}")],
    };
    if let Some(plan) = &report.plan {
        let times = plan.drive_writes().map(|times| format!(", {} drive writes", number(times)));
        lines.push(format!("- Planned: {} written{}", plan.writes, times.unwrap_or_default()));
    }
    list(page, "## Cost", lines.into_iter(), 1_000, "lines");
    let skipped = report.plan.iter().flat_map(|plan| &plan.skipped);
    let skipped =
        skipped.map(|skipped| format!("- {}: {}", code(&skipped.what, FACT), sentence(&skipped.reason, REASON)));
    list(page, "Left out of the profile:", skipped, 3_000, "parts");
}

/// A time that may be no number at all.
fn span(seconds: f64) -> Nanos {
    Nanos((seconds.max(0.0) * 1e9) as u64)
}

/// Lines under a heading in at most `share` bytes; nothing where there are no lines.
fn list(page: &mut String, heading: &str, lines: impl Iterator<Item = String>, share: usize, what: &str) {
    /// Room for the line that says how many were left out.
    const REST: usize = 80;
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    let start = page.len();
    page.push('\n');
    if !heading.is_empty() {
        let gap = if heading.ends_with('|') { "\n" } else { "\n\n" };
        let _ = write!(page, "{heading}{gap}");
    }
    let mut left_out = 0_usize;
    for line in lines {
        if left_out == 0 && page.len() - start + line.len() + REST <= share {
            let _ = writeln!(page, "{line}");
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        let _ = writeln!(page, "\n… and {left_out} more {what}, all in report.html.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use crate::verdict::Verdict;

    #[test]
    fn the_verdict_comes_first_and_failures_before_what_is_fine() {
        let page = render(&samples::finished());
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text} in\n{page}"));
        assert!(page.starts_with("# ✖ storage-check: regressed\n\nregressed: fill.floor_mb_s"), "{page}");
        let order = [
            "the journal lies on",
            "`fill.floor_mb_s`",
            "too short |",
            "`fill.fast_mb_s`",
            "cliff at 121 GB",
            "bench-7",
        ];
        assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{page}");
    }

    #[test]
    fn a_row_says_value_range_verdict_and_why() {
        let page = render(&samples::finished());
        for line in [
            "| `fill.floor_mb_s` | 400 MB/s | ✖ regressed | outside the limit of at least 400 MB/s; measured 399.9 MB/s |",
            "| `fill.cliff_gb` | 121 GB (120 to 122) | ○ no-baseline |  |",
            "| `fill.cliff2_gb` | more than 1070 GB | ○ no-baseline (info) |  |",
            "- Cliff 1 at 121 GB (120 to 122): 2380 → 138 MB/s",
        ] {
            assert!(page.lines().any(|found| found == line), "no {line} in\n{page}");
        }
    }

    #[test]
    fn a_run_without_a_verdict_says_why() {
        let check = |kind, expect: &str| {
            let page =
                render(&Report { headline: "no verdict".to_owned(), ..samples::ended(kind, "/dev/x is mounted") });
            assert!(page.starts_with("# ‼ storage-check: error\n"), "{page}");
            assert!(page.contains(&format!("> **{expect}.** /dev/x is mounted\n")), "{page}");
            assert!(page.contains("No metric was measured."));
        };
        check(FailureKind::Refused, "The target was refused and nothing was written");
        check(FailureKind::Failed, "The run failed");
        let resumed = Report { bytes_written: 1, ..samples::ended(FailureKind::Refused, "it changed") };
        assert!(render(&resumed).contains("nothing more was written"));
        check(FailureKind::Interrupted, "The run was interrupted");
    }

    #[test]
    fn what_the_headline_says_is_said_once_and_what_is_unknown_not_at_all() {
        let mut report = samples::ended(FailureKind::Refused, "/dev/x is mounted");
        (report.target, report.profile) = (Default::default(), Default::default());
        report.environment.clear();
        let page = render(&report);
        let expect = "# ‼ storage-check: error\n\n/dev/x is mounted\n\n\
                      > **The target was refused and nothing was written.**\n\n\
                      No metric was measured.\n\n## What was measured\n\n\
                      - Run: `20260102T030405Z-sim-acceptance`, started `2026-01-02T03:04:05Z` on `bench-7`\n\n\
                      ## Cost\n\n- Written: nothing\n\n\
                      Pictures, evidence and all figures: `report.html` of this run, in the job's artifact.\n";
        assert_eq!(page, expect);
    }

    #[test]
    fn hostile_text_breaks_no_table_and_becomes_no_markup() {
        let page = render(&samples::all_hostile());
        assert!(!page.contains(|char: char| char.is_control() && char != '\n'), "{page}");
        let prose = page.lines().filter(|line| !line.contains('`') || line.starts_with('|'));
        for line in prose {
            let bare = line.replace("\\|", "").replace("\\<", "");
            assert!(!bare.contains('<'), "{line}");
            assert!(!line.starts_with('|') || bare.matches('|').count() == 5, "{line}");
        }
        assert_eq!(page.lines().filter(|line| line.starts_with("```")).count(), 4, "{page}");
        assert_eq!(page.lines().filter(|line| line.starts_with('#')).count(), 8, "{page}");
    }

    #[test]
    fn a_page_fits_into_a_comment_and_says_what_it_left_out() {
        let mut report = samples::all_hostile();
        let metrics = report.metrics.clone();
        report.metrics = std::iter::repeat_n(metrics, 300).flatten().collect();
        report.runs = vec![format!("2{}", samples::hostile()); 1000];
        let page = render(&report);
        assert!(page.len() <= MOST_BYTES, "{} bytes", page.len());
        for what in ["notes", "metrics", "blocks", "phases", "runs", "facts"] {
            let line = page.lines().find(|line| line.starts_with("… and ") && line.contains(what));
            assert!(line.is_some(), "{what}");
        }
    }

    #[test]
    fn verdicts_differ_in_shape() {
        let all = [Verdict::Held, Verdict::Improved, Verdict::NoBaseline, Verdict::Inconclusive, Verdict::Regressed];
        let mut shapes: Vec<char> = all.into_iter().chain([Verdict::Error]).map(symbol).collect();
        shapes.sort_unstable();
        shapes.dedup();
        assert_eq!(shapes.len(), 6);
    }

    #[test]
    fn the_same_report_is_the_same_bytes() {
        assert_eq!(render(&samples::finished()), render(&samples::finished()));
    }
}
