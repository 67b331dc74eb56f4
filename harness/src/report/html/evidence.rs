//! The evidence for what is said of one metric, in sentences: figures, noise, what could have been seen.

use crate::report::table::row;
use crate::verdict::baseline::Level;
use crate::verdict::compare::Against;
use crate::verdict::judge::Judged;

/// Sentences, the reason first.
pub(super) fn evidence(judged: &Judged) -> Vec<String> {
    let row = row(judged);
    let mut lines = Vec::new();
    if !row.reason.is_empty() {
        lines.push(row.reason.clone());
    }
    let Some(Against { level, runs, weighed, .. }) = &judged.against else {
        lines.push(if row.reason.is_empty() { "nothing to compare it with".to_owned() } else { String::new() });
        lines.retain(|line| !line.is_empty());
        return lines;
    };
    let kind = if matches!(level, Level::MoreThan(_)) { "no cliff" } else { "the middle" };
    lines.push(format!("baseline: {}, {kind} of {runs} runs; this: {}", row.baseline, row.value));
    if let Some(weighed) = weighed {
        let figures: Vec<String> =
            weighed.figures().iter().map(|figure| crate::report::table::number(*figure)).collect();
        if figures.len() > 1 {
            lines.push(format!("the runs judged together: {}", figures.join(", ")));
        }
        lines.push(weighed.noise_text());
        lines.push(format!(
            "these runs leave a loss of at most {} possible, and would have shown one of {} nineteen times of twenty",
            weighed.text(weighed.most_loss()),
            weighed.text(weighed.smallest_loss())
        ));
        let own = if weighed.same_unit { "the same unit" } else { "another unit" };
        lines.push(format!("compared with {own} of the model"));
    }
    lines
}
