//! The report for Prometheus: a file for the textfile collector of its node exporter.
//!
//! Valid both as OpenMetrics 1.0 and as the older text format 0.0.4 that the collector reads: only gauges, base units
//! (bytes, seconds, ratios), escaped labels, `# EOF` at the end. The labels `drive`, `target` and `profile` are the same
//! from run to run, so that a series goes on when the firmware changes; what changes is in `storage_check_run_info`. A
//! figure without a value has no sample. Must never know how people read a number.

use std::fmt::Write as _;

use super::Report;
use crate::analysis::metric::{Kind, Metric, Value};
use crate::verdict::Verdict;
use crate::verdict::judge::{Judged, Role};

/// A label and its value.
type Label<'a> = (&'a str, &'a str);

const VERDICTS: [Verdict; 6] =
    [Verdict::Held, Verdict::Improved, Verdict::NoBaseline, Verdict::Inconclusive, Verdict::Regressed, Verdict::Error];

/// Families of figures: kind, name, unit, meaning, and what one of ours is in the base unit.
const FIGURES: [(Kind, &str, &str, &str, f64); 6] = [
    (Kind::Throughput, "throughput", "bytes_per_second", "Rates that were measured.", 1e6),
    (Kind::Capacity, "capacity", "bytes", "Bytes at a cliff or taken by a burst.", 1e9),
    (Kind::TailLatency, "latency", "seconds", "Latencies from submission to completion.", 1e-6),
    (Kind::Stalls, "stalled", "ratio", "Share of the time in gaps of over 100 ms.", 1.0 / 3600.0),
    (Kind::Count, "errors", "", "Bad things that were counted, such as blocks that did not read back.", 1.0),
    (Kind::Finding, "free_space_erase_factor", "hertz", "Steady bytes a second for each free byte more.", 1e-3),
];

/// The report as text, with a newline at its end.
#[must_use]
pub fn render(report: &Report) -> String {
    let drive = report.environment.get("drive.model").unwrap_or(&report.target.drive);
    let own =
        [("drive", drive.as_str()), ("target", report.target.path.as_str()), ("profile", report.profile.name.as_str())];
    let mut out = String::new();
    verdicts(&mut out, report, &own);
    for (kind, name, unit, help, factor) in FIGURES {
        let of_kind = || report.metrics.iter().map(|judged| &judged.metric).filter(|metric| metric.kind == kind);
        let measured = of_kind().filter_map(|metric| Some((metric, measured(metric)? * factor)));
        figures(&mut out, name, unit, help, measured.collect(), &own);
        let at_least = of_kind().filter_map(|metric| Some((metric, least(metric)? * factor)));
        let name = format!("{name}_at_least");
        figures(&mut out, &name, unit, "There was no cliff up to this.", at_least.collect(), &own);
    }
    about(&mut out, report, &own);
    out.push_str("# EOF\n");
    out
}

/// One state of all: the run's, and that of each metric that decides.
fn verdicts(out: &mut String, report: &Report, own: &[Label<'_>]) {
    head(out, "verdict", "", "Whether this is the verdict of the whole run: 1 or 0.");
    for verdict in VERDICTS {
        let is = if verdict == report.verdict { 1.0 } else { 0.0 };
        sample(out, "verdict", "", own, &[("verdict", verdict.word())], is);
    }
    let gates: Vec<&Judged> = report.metrics.iter().filter(|judged| judged.role == Role::Gate).collect();
    if gates.is_empty() {
        return;
    }
    head(out, "gate", "", "The verdict on a metric that decides: always 1.");
    for gate in gates {
        sample(out, "gate", "", own, &[("metric", &gate.metric.id), ("verdict", gate.verdict.word())], 1.0);
    }
}

fn figures(out: &mut String, name: &str, unit: &str, help: &str, figures: Vec<(&Metric, f64)>, own: &[Label<'_>]) {
    if figures.is_empty() {
        return;
    }
    head(out, name, unit, help);
    for (metric, value) in figures {
        sample(out, name, unit, own, &[("metric", &metric.id)], value);
    }
}

/// What changes from run to run.
fn about(out: &mut String, report: &Report, own: &[Label<'_>]) {
    head(out, "run_info", "", "What was run: always 1.");
    let around = |name: &str| report.environment.get(name).map_or("", String::as_str);
    let more = [
        ("run", report.run.as_str()),
        ("fingerprint", report.profile.fingerprint.as_str()),
        ("firmware", around("drive.firmware")),
        ("kernel", around("kernel")),
        ("engine", report.target.engine.as_str()),
    ];
    sample(out, "run_info", "", own, &more, 1.0);
    let numbers = [
        ("exit_code", "", "What the program ended with.", f64::from(report.exit_code)),
        ("written", "bytes", "Bytes that the run wrote.", report.bytes_written as f64),
        ("elapsed", "seconds", "How long the run took.", report.elapsed_s),
    ];
    for (name, unit, help, value) in numbers {
        head(out, name, unit, help);
        sample(out, name, unit, own, &[], value);
    }
}

fn measured(metric: &Metric) -> Option<f64> {
    if let Value::Number(value) = metric.value { Some(value).filter(|value| value.is_finite()) } else { None }
}

fn least(metric: &Metric) -> Option<f64> {
    if let Value::MoreThan(least) = metric.value { Some(least).filter(|least| least.is_finite()) } else { None }
}

/// `storage_check_`, what it is, and its unit.
fn family(name: &str, unit: &str) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!("_{unit}") };
    format!("storage_check_{name}{unit}")
}

fn head(out: &mut String, name: &str, unit: &str, help: &str) {
    let family = family(name, unit);
    let _ = writeln!(out, "# TYPE {family} gauge");
    if !unit.is_empty() {
        let _ = writeln!(out, "# UNIT {family} {unit}");
    }
    let _ = writeln!(out, "# HELP {family} {help}");
}

fn sample(out: &mut String, name: &str, unit: &str, own: &[Label<'_>], more: &[Label<'_>], value: f64) {
    let labels: Vec<String> =
        own.iter().chain(more).map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    let _ = writeln!(out, "{}{{{}}} {}", family(name, unit), labels.join(","), number(value));
}

/// Six significant digits: `2384120000`, `0.00554`.
fn number(value: f64) -> String {
    format!("{value:.5e}").parse::<f64>().unwrap_or(value).to_string()
}

/// A label's value: what the format escapes, and no control characters.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for char in text.chars() {
        match char {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            char if char.is_control() => {}
            char => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{FailureKind, samples};

    fn check(report: &Report, expect: &str) {
        let text = render(report);
        assert!(text.lines().any(|line| line == expect), "no {expect} in\n{text}");
    }

    const OWN: &str = "drive=\"Example Fusion 1.1 TB\",target=\"/mnt/drive\",profile=\"acceptance\"";

    #[test]
    fn figures_are_in_base_units() {
        let report = samples::finished();
        let sample = |name: &str, metric: &str, value: &str| format!("{name}{{{OWN},metric=\"{metric}\"}} {value}");
        check(&report, &sample("storage_check_throughput_bytes_per_second", "fill.fast_mb_s", "2384120000"));
        check(&report, &sample("storage_check_capacity_bytes", "fill.cliff_gb", "121333000000"));
        check(&report, &sample("storage_check_capacity_at_least_bytes", "fill.cliff2_gb", "1072500000000"));
        check(&report, &sample("storage_check_errors", "fill.verify_errors", "0"));
        check(&report, &format!("storage_check_elapsed_seconds{{{OWN}}} 7412.35"));
    }

    #[test]
    fn the_verdict_is_one_of_six() {
        let report = samples::finished();
        check(&report, &format!("storage_check_verdict{{{OWN},verdict=\"regressed\"}} 1"));
        check(&report, &format!("storage_check_verdict{{{OWN},verdict=\"held\"}} 0"));
        check(&report, &format!("storage_check_gate{{{OWN},metric=\"fill.floor_mb_s\",verdict=\"regressed\"}} 1"));
    }

    #[test]
    fn what_has_no_value_has_no_sample() {
        let text = render(&samples::finished());
        assert!(!text.contains("metric=\"random_write.scratch.steady_mb_s\"} "), "{text}");
        let failed = render(&samples::ended(FailureKind::Failed, "gone"));
        assert!(failed.contains("verdict=\"error\"} 1\n") && !failed.contains("metric="), "{failed}");
    }

    #[test]
    fn hostile_text_stays_in_its_label() {
        let text = render(&samples::all_hostile());
        assert!(text.ends_with("# EOF\n") && !text.contains(|char: char| char.is_control() && char != '\n'));
        let line = |line: &str| line.starts_with("storage_check_") || line.starts_with("# ");
        assert!(text.lines().all(line), "{text}");
    }
}
