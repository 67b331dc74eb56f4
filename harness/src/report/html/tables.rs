//! The tables of a page: every metric with its evidence, what surrounded the drive, what was measured and what it cost.

use maud::{Markup, html};

use super::evidence::evidence;
use super::text;
use crate::report::table::{number, row, rows, symbol};
use crate::report::{Report, words};
use crate::units::{Bytes, Nanos};
use crate::verdict::judge::Role;

/// Every metric; columns that nothing fills are left out.
pub(super) fn metrics(report: &Report) -> Markup {
    let rows = rows(report);
    let compared = rows.iter().any(|row| !row.baseline.is_empty());
    html! {
        @if !rows.is_empty() {
            section id="metrics" {
                h2 { "Every metric" }
                table.wide {
                    thead {
                        tr {
                            th scope="col" { "Metric" } th scope="col" { "Verdict" } th.number scope="col" { "This run" }
                            @if compared {
                                th.number scope="col" { "Baseline" } th.number scope="col" { "Change" }
                                th.number scope="col" { "Tolerated" }
                            }
                        }
                    }
                    tbody {
                        @for row in &rows {
                            tr class=(row.verdict.word()) {
                                th scope="row" { (text(&words::metric(&row.id))) code { (text(&row.id)) } }
                                td data-label="Verdict" {
                                    span.verdict { (symbol(row.verdict)) " " (row.verdict) }
                                    @if row.role == Role::Info { " " small { "shown only" } }
                                }
                                td.number data-label="This run" {
                                    (row.value) @if !row.range.is_empty() { small { " (" (row.range) ")" } }
                                }
                                @if compared {
                                    td.number data-label="Baseline" { (row.baseline) }
                                    td.number data-label="Change" { (row.change) }
                                    td.number data-label="Tolerated" { (row.tolerance) }
                                }
                            }
                        }
                    }
                }
                details {
                    summary { "The evidence for each judgement" }
                    dl.evidence {
                        @for judged in &report.metrics {
                            dt { code { (text(&judged.metric.id)) } " " (row(judged).verdict) }
                            @for line in evidence(judged) { dd { (text(&line)) } }
                        }
                    }
                }
            }
        }
    }
}

/// Facts around the run, before → after where the baseline's are known.
pub(super) fn environment(report: &Report) -> Markup {
    let before = |name: &str| report.changes.iter().find(|change| change.name == name);
    let gone = report.changes.iter().filter(|change| !report.environment.contains_key(&change.name));
    html! {
        @if !report.environment.is_empty() {
            section {
                h2 { "Around the drive" }
                details open[!report.changes.is_empty()] {
                    summary { (report.environment.len()) " facts, " (report.changes.len()) " of them changed" }
                    table {
                        thead { tr { th scope="col" { "Fact" } th scope="col" { "With the baseline" } th scope="col" { "Now" } } }
                        tbody {
                            @for change in gone {
                                tr.changed {
                                    th scope="row" { (text(&change.name)) }
                                    td { (text(change.before.as_deref().unwrap_or("unknown"))) } td { "unknown" }
                                }
                            }
                            @for (name, value) in &report.environment {
                                @let change = before(name);
                                tr.changed[change.is_some()] {
                                    th scope="row" { (text(name)) }
                                    td {
                                        @match change {
                                            Some(change) => { "≠ " (text(change.before.as_deref().unwrap_or("unknown"))) }
                                            None => { @if report.baseline.is_some() { span.quiet { "the same" } } }
                                        }
                                    }
                                    td { (text(value)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What was measured, by what, against what, and what it cost.
pub(super) fn measured(report: &Report) -> Markup {
    let (target, profile) = (&report.target, &report.profile);
    let span = Nanos((report.elapsed_s.max(0.0) * 1e9) as u64);
    let mut lines = vec![
        ("Drive", target.drive.clone()),
        ("Target", format!("{} ({}{})", target.path, target.kind, on(target.filesystem.as_deref()))),
        ("Engine", target.engine.clone()),
        ("Profile", format!("{} version {}, fingerprint {}", profile.name, profile.version, profile.fingerprint)),
        ("Run", report.run.clone()),
        ("Started", format!("{}{}", report.started, on(report.host.as_deref()))),
        ("Written", format!("{} in {span}", Bytes(report.bytes_written))),
    ];
    if let Some(plan) = &report.plan {
        let times = plan.drive_writes().map(|times| format!(", {} drive writes", number(times)));
        lines.push(("Planned", format!("{} written{}", plan.writes, times.unwrap_or_default())));
    }
    if let Some(found) = &report.baseline {
        let used = found.not_used.as_ref().map(|why| format!("; not used: {why}")).unwrap_or_default();
        let runs = found.runs.len();
        lines.push(("Baseline", format!("{}, {runs} run(s), accepted {}{used}", found.path, found.accepted)));
    }
    let others: Vec<&str> = report.runs.iter().filter(|run| **run != report.run).map(String::as_str).collect();
    if !others.is_empty() {
        lines.push(("Judged together with", others.join(", ")));
    }
    html! {
        section {
            h2 { "What was measured" }
            dl.facts { @for (name, value) in &lines { dt { (name) } dd { (text(value)) } } }
        }
    }
}

fn on(what: Option<&str>) -> String {
    what.map(|what| format!(" on {what}")).unwrap_or_default()
}
