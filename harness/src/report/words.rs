//! What metrics and verdicts are called where people read them who did not write the gate.
//!
//! Must never change an id: a name stands beside it.

use super::{FailureKind, Report};
use crate::verdict::Verdict;

/// A metric's name for people; of an unknown id its last part.
#[must_use]
pub(super) fn metric(id: &str) -> String {
    match id.split('.').collect::<Vec<_>>().as_slice() {
        ["fill", figure] => format!("Fill: {}", self::figure(figure)),
        ["random_write", "fsef_mb_s_per_gb"] => "Free space erase factor".to_owned(),
        ["random_write", level, figure] => format!("Random writes at {}: {}", self::level(level), self::figure(figure)),
        ["health", figure] => format!("Health: {}", figure.replace('_', " ")),
        _ => id.to_owned(),
    }
}

/// A level's name for people.
#[must_use]
pub(super) fn level(level: &str) -> String {
    match level.strip_suffix("pct").filter(|share| !share.is_empty() && share.bytes().all(|b| b.is_ascii_digit())) {
        Some("100") => "a full drive".to_owned(),
        Some(share) => format!("{share} % full"),
        None => level.to_owned(),
    }
}

fn figure(figure: &str) -> String {
    let number = |start: &str, end: &str| {
        figure.strip_prefix(start).and_then(|rest| rest.strip_suffix(end)).map(|number| number.replace('_', "."))
    };
    match figure {
        "fast_mb_s" => "fast rate, before the cliff".to_owned(),
        "cliff_gb" => "capacity at the cliff".to_owned(),
        "floor_mb_s" => "floor, the rate after the cliff".to_owned(),
        "mean_mb_s" => "mean rate".to_owned(),
        "first_10pct_mb_s" => "rate of the first tenth".to_owned(),
        "last_10pct_mb_s" => "rate of the last tenth".to_owned(),
        "read_mb_s" => "rate of reading back".to_owned(),
        "verify_errors" => "blocks that read back wrong".to_owned(),
        "steady_mb_s" => "steady rate".to_owned(),
        "slice_mb_s" => "rate after the stated time".to_owned(),
        "p99_us" => "99 of 100 writes are faster than".to_owned(),
        "p999_us" => "999 of 1000 writes are faster than".to_owned(),
        "stalled_s_per_h" => "time in stalls".to_owned(),
        _ => match (number("burst_", "s_gb"), number("cliff", "_gb")) {
            (Some(idle), _) => format!("burst after {idle} s of rest"),
            (_, Some(which)) => format!("capacity at cliff {which}"),
            _ => figure.replace('_', " "),
        },
    }
}

/// The verdict as a sentence's beginning.
#[must_use]
pub(super) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Held => "Held: no worse than accepted",
        Verdict::Improved => "Improved",
        Verdict::NoBaseline => "Measured: no baseline yet",
        Verdict::Inconclusive => "Not decided",
        Verdict::Regressed => "Regressed: worse than accepted",
        Verdict::Error => "No verdict",
    }
}

/// What a reader can do now.
#[must_use]
pub(super) fn next(report: &Report) -> &'static str {
    match (report.failure.as_ref().map(|failure| failure.kind), report.verdict) {
        (Some(FailureKind::Refused), _) => {
            "Nothing was measured. The reason above says what to change; then run again."
        }
        (Some(FailureKind::Interrupted), _) => "Go on with it: storage-check run --resume with this run's folder.",
        (Some(FailureKind::Failed), _) | (None, Verdict::Error) => {
            "This says nothing of the drive's speed. Remove the cause above, and run again."
        }
        (None, Verdict::Regressed) => {
            "Do not roll this change out. In doubt measure again with --repeat 3, which judges all runs together; if the \
             loss is wanted, accept it: storage-check baseline accept RUN --reason TEXT."
        }
        (None, Verdict::Inconclusive) => {
            "Neither better nor worse is proven. Where more runs would decide, measure with --repeat; where something \
             else changed, set it back or name it with --under-test."
        }
        (None, Verdict::NoBaseline) => {
            "Look at the curves; if the drive is as it should be, accept it: storage-check baseline accept RUN --reason TEXT."
        }
        (None, Verdict::Held) => "Nothing to do.",
        (None, Verdict::Improved) => {
            "Nothing to do. To hold the drive to it from now on: storage-check baseline accept RUN --reason TEXT."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_names_that_need_no_manual() {
        let check = |id: &str, expect: &str| assert_eq!(metric(id), expect);
        check("fill.floor_mb_s", "Fill: floor, the rate after the cliff");
        check("fill.cliff2_gb", "Fill: capacity at cliff 2");
        check("fill.burst_600s_gb", "Fill: burst after 600 s of rest");
        check("random_write.90pct.steady_mb_s", "Random writes at 90 % full: steady rate");
        check("random_write.scratch.new_thing_mb_s", "Random writes at scratch: new thing mb s");
        check("random_write.fsef_mb_s_per_gb", "Free space erase factor");
        check("else", "else");
    }
}
