//! The first screen, also of a phone: verdict, which metric, by how much, what changed around the drive, what now.

use maud::{Markup, html};

use super::text;
use crate::report::table::{Row, rows, symbol};
use crate::report::{Report, words};
use crate::verdict::Verdict;
use crate::verdict::judge::Role;
use crate::verdict::surroundings::Change;

/// Metrics that stand on the first screen at the most.
const MOST_CARDS: usize = 3;

pub(super) fn first_screen(report: &Report) -> Markup {
    let (cards, more) = cards(report);
    html! {
        header class=(report.verdict.word()) {
            h1 { span.mark aria-hidden="true" { (symbol(report.verdict)) } " " (words::verdict(report.verdict)) }
            p.drive {
                strong { (text(&report.target.drive)) }
                " · " (text(&report.profile.name)) " · " time { (day(&report.started)) }
            }
        }
        section.answer {
            @if let Some(failure) = &report.failure {
                p.failure { strong { (failure.kind.word()) ": " } (text(&failure.message)) }
            } @else {
                (changes(report))
                @if !cards.is_empty() {
                    div.cards { @for row in &cards { (card(row)) } }
                    @if more > 0 { p { a href="#metrics" { "and " (more) " more" } } }
                }
                @if !matches!(report.verdict, Verdict::Regressed | Verdict::Improved) && !said(report) {
                    p.headline { (text(&report.headline)) }
                }
            }
            p.next { strong { "What now: " } (words::next(report)) }
            @if !report.notes.is_empty() {
                details.notes {
                    summary { "To believe the figures, know that … (" (report.notes.len()) ")" }
                    ul { @for note in report.notes.iter().take(40) { li { (text(note)) } } }
                }
            }
        }
    }
}

/// Whether the heading says what the headline does.
fn said(report: &Report) -> bool {
    report.verdict == Verdict::NoBaseline && report.headline.starts_with("measured")
}

/// The rows that the verdict rests on, and how many more there are of them.
fn cards(report: &Report) -> (Vec<Row>, usize) {
    let rows = rows(report);
    let decides = |row: &Row| row.role == Role::Gate || row.verdict == Verdict::Error;
    let of_verdict = |row: &&Row| decides(row) && row.verdict == report.verdict;
    let mut chosen: Vec<Row> = rows.iter().filter(of_verdict).cloned().collect();
    if matches!(report.verdict, Verdict::Held | Verdict::NoBaseline) {
        // All is as it should be: whatever has a figure is worth a look.
        chosen.retain(|row| {
            row.value.starts_with(|first: char| first.is_ascii_digit()) && row.id != "fill.verify_errors"
        });
    }
    let more = chosen.len().saturating_sub(MOST_CARDS);
    chosen.truncate(MOST_CARDS);
    (chosen, more)
}

fn card(row: &Row) -> Markup {
    html! {
        div class={ "card " (row.verdict.word()) } {
            h2 { (text(&words::metric(&row.id))) }
            @if row.change.is_empty() {
                p.size { (row.value) }
            } @else {
                p.size { (row.change) }
                p { strong { (row.value) } ", baseline " (row.baseline) }
            }
            @if !row.tolerance.is_empty() { p.quiet { "a loss of " (row.tolerance) " is tolerated" } }
            @if row.change.is_empty() && !row.reason.is_empty() { p.quiet { (text(&row.reason)) } }
        }
    }
}

/// What changed: what is under test in a line of its own, the rest below.
fn changes(report: &Report) -> Markup {
    let (tested, others): (Vec<&Change>, Vec<&Change>) = report.changes.iter().partition(|change| change.under_test);
    html! {
        @if !tested.is_empty() || report.baseline.as_ref().is_some_and(|found| found.not_used.is_none()) {
            ul.changes {
                @for change in &tested { li.tested { (change_line(change)) } }
                @if tested.is_empty() { li { "Firmware, driver and kernel are what they were with the baseline." } }
                @for change in others.iter().filter(|change| change.must_match) {
                    li.must { (change_line(change)) " " em { "must match" } }
                }
            }
        }
    }
}

fn change_line(change: &Change) -> Markup {
    let value = |value: &Option<String>| value.as_ref().map_or_else(|| "unknown".to_owned(), |value| text(value));
    html! {
        (fact(&change.name)) ": " span { (value(&change.before)) } " → " strong { (value(&change.after)) }
    }
}

/// A fact's name for people: what the drive has is the reader's first thought.
fn fact(name: &str) -> String {
    let name = text(name.strip_prefix("drive.").unwrap_or(name)).replace(['.', '_'], " ");
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// `2026-01-02 03:04 UTC` of an RFC 3339 time.
fn day(started: &str) -> String {
    let text = text(started);
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => text,
    }
}
