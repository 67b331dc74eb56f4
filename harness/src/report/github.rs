//! Annotations of a GitHub job: workflow commands, a line each, that the runner shows beside the run.
//!
//! GitHub keeps ten errors, ten warnings and ten notices a step and drops the rest without a word (docs.github.com,
//! "Workflow commands", and the limits of check runs): the whole verdict comes first, and what is left out is said.
//! Must never know where a job's files lie.

use std::fmt::Write as _;

use super::sentence::sentence;
use super::{Failure, Report};
use crate::verdict::Verdict;
use crate::verdict::judge::{Judged, Role};

/// Annotations of a kind that a step may have.
const MOST: usize = 10;

/// Longest message in characters; the runner's own limit is in kibibytes, and a reader's far below.
const LONGEST: usize = 1000;

/// The annotations: the whole verdict, then each metric that made it what it is, worst first.
#[must_use]
pub fn annotations(report: &Report) -> String {
    let kind = kind(report.verdict);
    let mut out = String::new();
    let message = match &report.failure {
        Some(Failure { kind, message }) => format!("{}: {message}", kind.word()),
        None => report.headline.clone(),
    };
    annotation(&mut out, kind, &format!("storage-check: {}", report.verdict), &message);
    let decides = |judged: &&Judged| judged.verdict == Verdict::Error || judged.role == Role::Gate;
    let deciding = report.metrics.iter().filter(decides);
    for each in ["error", "warning"] {
        let of_kind: Vec<&Judged> = deciding.clone().filter(|judged| self::kind(judged.verdict) == each).collect();
        // One is the whole verdict's, where it is of this kind, and one says what is left out.
        let room = MOST - usize::from(kind == each);
        let shown = if of_kind.len() > room { room - 1 } else { of_kind.len() };
        for judged in &of_kind[..shown] {
            let title = format!("storage-check: {} {}", judged.metric.id, judged.verdict);
            annotation(&mut out, each, &title, &sentence(report, judged));
        }
        if of_kind.len() > shown {
            let left = of_kind.len() - shown;
            annotation(&mut out, each, "storage-check", &format!("and {left} more metrics: see the job's summary"));
        }
    }
    out
}

/// The annotation of something that came to no report.
#[must_use]
pub fn no_report(message: &str) -> String {
    let mut out = String::new();
    annotation(&mut out, "error", "storage-check: error", message);
    out
}

/// Outputs of a step, a line each: name, `=`, value.
#[must_use]
pub fn outputs(values: &[(&str, &str)]) -> String {
    values.iter().fold(String::new(), |mut out, (name, value)| {
        // A line break would begin another output.
        let value: String = value.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
        let _ = writeln!(out, "{name}={value}");
        out
    })
}

fn kind(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regressed | Verdict::Error => "error",
        Verdict::Inconclusive => "warning",
        Verdict::Held | Verdict::Improved | Verdict::NoBaseline => "notice",
    }
}

fn annotation(out: &mut String, kind: &str, title: &str, message: &str) {
    let _ = writeln!(out, "::{kind} title={}::{}", property(&cut(title)), data(&cut(message)));
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// A message as the runner's parser wants it (actions/toolkit, `escapeData`); other control characters vanish.
fn data(text: &str) -> String {
    let mut out = String::new();
    for char in text.chars() {
        match char {
            '%' => out.push_str("%25"),
            '\r' => out.push_str("%0D"),
            '\n' => out.push_str("%0A"),
            char if char.is_control() => {}
            char => out.push(char),
        }
    }
    out
}

/// The same for a property, which a colon or a comma would end (`escapeProperty`).
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::metric::Value;
    use crate::report::{FailureKind, samples};

    #[test]
    fn the_whole_verdict_comes_first_and_then_what_made_it() {
        let text = annotations(&samples::finished());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "::error title=storage-check%3A regressed::regressed: fill.floor_mb_s is outside its limit",
                "::error title=storage-check%3A fill.floor_mb_s regressed::fill.floor_mb_s regressed: measured 399.9 \
                 MB/s; outside the limit of at least 400 MB/s",
                "::warning title=storage-check%3A random_write.scratch.steady_mb_s inconclusive::\
                 random_write.scratch.steady_mb_s inconclusive: no value (too short); 20 s are too short for a steady \
                 state",
            ]
        );
    }

    #[test]
    fn a_pass_is_one_notice_and_a_refusal_one_error() {
        let mut report = samples::finished();
        report.metrics.truncate(1);
        (report.verdict, report.headline) = (Verdict::Held, "held: as good as the baseline".to_owned());
        assert_eq!(annotations(&report), "::notice title=storage-check%3A held::held: as good as the baseline\n");
        let refused = annotations(&samples::ended(FailureKind::Refused, "/dev/x is mounted"));
        assert_eq!(refused, "::error title=storage-check%3A error::refused: /dev/x is mounted\n");
    }

    #[test]
    fn there_are_ten_of_a_kind_at_most_and_the_last_says_what_is_left_out() {
        for (verdict, whole, word) in [
            (Verdict::Regressed, Verdict::Regressed, "::error"),
            (Verdict::Inconclusive, Verdict::Regressed, "::warning"),
        ] {
            for count in [9, 10, 11, 30] {
                let metric = samples::judged("fill.fast_mb_s", Value::Number(1.0), Role::Gate, verdict, "");
                let metrics = vec![metric; count];
                let text = annotations(&Report { verdict: whole, metrics, ..samples::finished() });
                let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(word)).collect();
                let own = usize::from(verdict == whole);
                assert_eq!(lines.len(), (count + own).min(MOST), "{text}");
                let left = (count + own).saturating_sub(MOST);
                let said = lines.last().is_some_and(|line| line.contains(&format!("and {} more", left + 1)));
                assert_eq!(said, left > 0, "{text}");
            }
        }
    }

    #[test]
    fn hostile_text_is_no_command_and_ends_no_line() {
        let text = annotations(&samples::all_hostile());
        assert!(text.lines().all(|line| line.starts_with("::error ") || line.starts_with("::warning ")), "{text}");
        assert!(text.lines().all(|line| line.chars().count() < 8 * LONGEST));
        let escaped = annotations(&samples::ended(FailureKind::Failed, "50 %\n::error::x"));
        assert_eq!(escaped, "::error title=storage-check%3A error::failed: 50 %25%0A::error::x\n");
    }

    #[test]
    fn an_output_cannot_begin_another() {
        assert_eq!(outputs(&[("run", "a\nverdict=held"), ("verdict", "error")]), "run=a verdict=held\nverdict=error\n");
    }
}
