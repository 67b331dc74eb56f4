//! The whole verdict on one metric in one line, for what has room for no more: a test's message, an annotation.
//!
//! May hold foreign text as it came: whoever writes it somewhere escapes it.

use super::table::{exact, row};
use super::{Report, changed};
use crate::analysis::metric::Value;
use crate::verdict::Verdict;
use crate::verdict::judge::Judged;

/// Metric, verdict, figure, range, baseline, change, tolerance and reason, in one line.
#[must_use]
pub(super) fn sentence(report: &Report, judged: &Judged) -> String {
    let row = row(judged);
    let measured = match (&judged.metric.value, exact(&judged.metric)) {
        (Value::Absent(_), _) => format!("no value ({})", row.value),
        (_, Some(exact)) => format!("measured {exact} {}", judged.metric.unit),
        _ => format!("measured {}", row.value),
    };
    let mut text = format!("{} {}: {measured}", row.id, row.verdict);
    if !row.range.is_empty() {
        text += &format!(" ({})", row.range);
    }
    if !row.baseline.is_empty() {
        text += &format!(", baseline {}", row.baseline);
        let more = [("change", &row.change), ("tolerance", &row.tolerance)];
        more.iter().filter(|(_, what)| !what.is_empty()).for_each(|(name, what)| text += &format!(", {name} {what}"));
    }
    // What changed leads, then what it did.
    let text = match (changed(&report.changes), judged.verdict) {
        (Some(changed), Verdict::Regressed | Verdict::Improved) => format!("{changed}: {text}"),
        _ => text,
    };
    let reason = match (judged.reason.as_str(), judged.verdict) {
        ("", Verdict::NoBaseline) => "there is no baseline to compare it with",
        (reason, _) => reason,
    };
    if reason.is_empty() { text } else { format!("{text}; {reason}") }
}
