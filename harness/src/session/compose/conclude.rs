//! From judged metrics to the verdict of the run: what leads the report, and the exit code.
//!
//! Pure. Owns the precedence: 4 before 1 before 5 before 6.

use crate::report::table::row;
use crate::report::{FailureKind, Report, changed};
use crate::session::judging::Bench;
use crate::verdict::Verdict;
use crate::verdict::judge::{Judged, Role, overall};

/// What the comparison rests on.
pub(super) enum Basis<'a> {
    /// Nobody asked for one.
    NotAsked,
    /// There is no baseline.
    None(&'a Bench),
    /// There is one, of something else; why.
    Unusable(&'a Bench, String),
    /// The run was compared, with those that went before it.
    Compared {
        /// What was found.
        bench: &'a Bench,
        /// Runs of the baseline.
        baseline_runs: usize,
        /// Runs that were judged together.
        runs: usize,
    },
}

impl Basis<'_> {
    fn bench(&self) -> Option<&Bench> {
        match self {
            Basis::NotAsked => None,
            Basis::None(bench) | Basis::Unusable(bench, _) | Basis::Compared { bench, .. } => Some(bench),
        }
    }

    fn compared(&self) -> bool {
        matches!(self, Basis::Compared { .. })
    }
}

/// Sets verdict, exit code and headline, and says before all other notes what follows from the baseline.
pub(super) fn conclude(report: &mut Report, basis: &Basis<'_>, verify_errors: u64, incomparable: Option<&str>) {
    let judged = overall(&report.metrics);
    report.verdict = match (&report.failure, judged) {
        (Some(_), _) => Verdict::Error,
        (None, Verdict::Error | Verdict::Regressed) => judged,
        (None, _) if incomparable.is_some() => Verdict::Inconclusive,
        (None, _) if matches!(basis, Basis::Unusable(..)) => Verdict::Inconclusive,
        (None, judged) if basis.compared() => judged,
        (None, judged) => without_baseline(&report.metrics, judged),
    };
    let bench = basis.bench();
    let missing = bench.is_some_and(|bench| bench.judging.require_baseline) && !basis.compared();
    if missing && report.failure.is_none() && matches!(report.verdict, Verdict::Held | Verdict::Improved) {
        report.verdict = Verdict::NoBaseline;
    }
    let warns = bench.is_some_and(|bench| bench.judging.inconclusive_warns);
    report.exit_code = exit_code(report, missing, warns);
    report.headline = headline(report, basis, verify_errors, incomparable);
    // What changed leads, then what it did.
    if let (Some(changed), None) = (changed(&report.changes), &report.failure) {
        report.headline = format!("{changed}: {}", report.headline);
    }
    let notes = notes(report, basis, missing);
    report.notes.splice(0..0, notes);
}

/// 0 held, improved or first run · 1 regressed · 3 refused · 4 failed or interrupted · 5 inconclusive · 6 no baseline
/// where one is required; the gravest of several is 4 before 1 before 5 before 6.
pub(super) fn exit_code(report: &Report, baseline_missing: bool, inconclusive_warns: bool) -> u8 {
    match (&report.failure, report.verdict) {
        (Some(failure), _) if failure.kind == FailureKind::Refused => 3,
        (Some(_), _) | (None, Verdict::Error) => 4,
        (None, Verdict::Regressed) => 1,
        (None, Verdict::Inconclusive) if !inconclusive_warns => 5,
        (None, _) if baseline_missing => 6,
        (None, _) => 0,
    }
}

/// Without a baseline nothing but limits was judged: held only where they decide something.
fn without_baseline(metrics: &[Judged], judged: Verdict) -> Verdict {
    match judged {
        Verdict::Inconclusive | Verdict::Regressed | Verdict::Error => judged,
        _ if metrics.iter().any(|metric| metric.verdict == Verdict::NoBaseline && metric.role == Role::Gate) => {
            Verdict::NoBaseline
        }
        other => other,
    }
}

fn headline(report: &Report, basis: &Basis<'_>, verify_errors: u64, incomparable: Option<&str>) -> String {
    if let Some(failure) = &report.failure {
        return failure_line(failure.kind, &failure.message);
    }
    match (report.verdict, basis) {
        (Verdict::Regressed, _) if verify_errors > 0 => {
            format!("{verify_errors} blocks read back are not what was written: do not trust this drive with data")
        }
        (Verdict::Regressed, _) => deciding(report, Verdict::Regressed, broken_line).join("; "),
        (Verdict::Error, _) => deciding(report, Verdict::Error, plain_line).join("; "),
        (Verdict::Inconclusive, _) if incomparable.is_some() => {
            format!("the figures are not comparable: {}", bare(incomparable.unwrap_or_default()))
        }
        (Verdict::Inconclusive, Basis::Unusable(_, why)) => format!("not compared: {why}"),
        (Verdict::Inconclusive, _) => {
            let mut lines = deciding(report, Verdict::Inconclusive, plain_line);
            let more = lines.len().saturating_sub(2);
            lines.truncate(2);
            let more = if more > 0 { format!("; and {more} more metrics") } else { String::new() };
            format!("not decided: {}{more}", lines.join("; "))
        }
        (Verdict::NoBaseline, Basis::None(bench)) if bench.judging.require_baseline => {
            format!("there is no baseline at {}, and one is required", bench.found.path.display())
        }
        (Verdict::NoBaseline, _) => "measured; there is no baseline to compare with yet".to_owned(),
        (Verdict::Improved, Basis::Compared { .. }) => {
            format!("better than the baseline: {}", deciding(report, Verdict::Improved, broken_line).join("; "))
        }
        (Verdict::Held, Basis::Compared { baseline_runs, runs, .. }) => {
            let several = |runs: usize| format!("{runs} run{}", if runs == 1 { "" } else { "s" });
            let by = if *runs == 1 { String::new() } else { format!(", by {} together", several(*runs)) };
            format!("as good as the baseline of {}{by}", several(*baseline_runs))
        }
        (Verdict::Held | Verdict::Improved, _) => "within all limits".to_owned(),
    }
}

/// What ended the run.
pub(super) fn failure_line(kind: FailureKind, message: &str) -> String {
    let what = match kind {
        FailureKind::Refused => "target refused",
        FailureKind::Failed => "run failed",
        FailureKind::Interrupted => "run interrupted",
    };
    format!("{what}: {message}")
}

/// The metrics that made the verdict, each in a line.
fn deciding(report: &Report, verdict: Verdict, line: fn(&Judged) -> String) -> Vec<String> {
    let decides =
        |judged: &&Judged| judged.verdict == verdict && (judged.role == Role::Gate || verdict == Verdict::Error);
    report.metrics.iter().filter(decides).map(line).collect()
}

/// `fill.floor_mb_s 450 MB/s, baseline 512 MB/s, change -12.1 %, tolerance 5 %`
fn broken_line(judged: &Judged) -> String {
    let row = row(judged);
    if row.baseline.is_empty() || row.change.is_empty() {
        return plain_line(judged);
    }
    let tolerance = if row.tolerance.is_empty() { String::new() } else { format!(", tolerance {}", row.tolerance) };
    let cause = judged.reason.split_once("; cause: ").map(|(_, cause)| format!(" ({cause})")).unwrap_or_default();
    let drift = if judged.reason.starts_with("drift") { format!(" ({})", judged.reason) } else { String::new() };
    format!("{} {}, baseline {}, change {}{tolerance}{cause}{drift}", row.id, row.value, row.baseline, row.change)
}

fn plain_line(judged: &Judged) -> String {
    format!("{} {}", judged.metric.id, judged.reason)
}

/// A reason without the words that its headline begins with.
fn bare(reason: &str) -> &str {
    reason.strip_prefix("not comparable: ").unwrap_or(reason)
}

fn notes(report: &Report, basis: &Basis<'_>, required: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let accept = |bench: &Bench| format!("cargo xtask storage-check baseline accept {} --reason TEXT", bench.run);
    match basis {
        Basis::None(bench) if report.failure.is_none() => {
            let folder = &bench.judging.baselines;
            let place = if folder.as_os_str() == "baselines" {
                String::new()
            } else {
                format!(" --baselines {}", folder.display())
            };
            let what = if required {
                "to accept this run as the baseline"
            } else {
                "to accept this first run as the baseline"
            };
            notes.push(format!("{what}: {}{place}", accept(bench)));
            if !bench.found.others.is_empty() {
                let others = bench.found.others.join(", ");
                notes.push(format!("baselines of this profile are of other drives, sizes or targets: {others}"));
            }
        }
        Basis::Unusable(bench, why) => notes.push(format!("{} was not used: {why}", bench.found.path.display())),
        _ => {}
    }
    let tested = report.changes.iter().filter(|change| change.under_test).count();
    if tested > 1 {
        notes.push(format!("{tested} variables under test changed together: a difference is not attributable to one"));
    }
    let too_good = report.metrics.iter().filter(|judged| judged.reason.contains("too good to be true"));
    let too_good: Vec<&str> = too_good.map(|judged| judged.metric.id.as_str()).collect();
    if !too_good.is_empty() {
        notes.push(format!("too good to be true until it is explained: {}", too_good.join(", ")));
    }
    notes
}
