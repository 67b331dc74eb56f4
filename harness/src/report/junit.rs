//! `junit.xml`: one test case a metric, valid against the schema that Jenkins reads JUnit with.
//!
//! The only place that knows the crate `junit-report`. That crate writes what XML 1.0 forbids, and the end
//! of a CDATA section, as they come, and times with up to nine decimals: text and times are put right here.
//! A report without a verdict on the drive never looks green. Must never know how a metric was judged.

use junit_report::{Duration, OffsetDateTime, TestCase, TestResult, TestSuite};
use time::format_description::well_known::Rfc3339;

use super::sentence::sentence;
use super::table::row;
use super::{Failure, Report};
use crate::environment::{Check, Outcome as Checked};
use crate::verdict::Verdict;
use crate::verdict::judge::{Judged, Role};

/// Why no document could be written.
#[derive(Debug, thiserror::Error)]
#[error("writing the JUnit report: {0}")]
pub struct JunitError(#[from] junit_report::Error);

/// The report as JUnit XML: a single suite, whose cases share the run's time equally.
///
/// A gate that regressed is a failure, and whatever is in error an error; a run that failed, was interrupted or refused is an error in
/// a case named `run`; what is inconclusive, without a baseline or only shown is skipped, with the verdict
/// in its message; held and improved gates pass. So do the preflight's checks; what they warn of is skipped.
///
/// # Errors
/// The XML writer's own; there are none on a string in memory.
pub fn render(report: &Report) -> Result<String, JunitError> {
    let mut cases: Vec<TestCase> = report.metrics.iter().map(|judged| metric_case(report, judged)).collect();
    cases.extend(report.preflight.iter().map(|check| preflight_case(report, check)));
    cases.extend(run_case(report));
    share_time(&mut cases, report.elapsed_s);
    // Not `TestSuite::new`, which reads the clock.
    let suite = TestSuite {
        name: attribute(&class(report, None)),
        package: "storage-check".to_owned(),
        timestamp: timestamp(&report.started),
        hostname: attribute(report.host.as_deref().unwrap_or("unknown")),
        testcases: cases,
        system_out: Some(content(&about(report))),
        system_err: None,
    };
    let mut document = junit_report::Report::new();
    document.add_testsuite(suite);
    let mut bytes = Vec::new();
    document.write_xml(&mut bytes)?;
    bytes.push(b'\n');
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn metric_case(report: &Report, judged: &Judged) -> TestCase {
    let id = &judged.metric.id;
    let suite = id.split('.').next().unwrap_or(id).replace('_', "-");
    let message = sentence(report, judged);
    let kind = match (judged.verdict, judged.role) {
        (Verdict::Regressed, Role::Gate) => Outcome::Failure,
        (Verdict::Error, _) => Outcome::Error,
        (Verdict::Held | Verdict::Improved, Role::Gate) => Outcome::Success,
        _ => Outcome::Skipped,
    };
    let word = if judged.role == Role::Info && kind == Outcome::Skipped { "info" } else { judged.verdict.word() };
    let basis = row(judged).basis;
    let basis = if basis.is_empty() { basis } else { format!("{basis}\n") };
    let body = format!("{message}\n{basis}{}", about(report));
    case(id, &class(report, Some(&suite)), kind, word, &message, &body)
}

/// A check of the preflight. One that warns fails nothing by itself, and is not green.
fn preflight_case(report: &Report, check: &Check) -> TestCase {
    let outcome = if check.outcome == Checked::Pass { Outcome::Success } else { Outcome::Skipped };
    let word = check.outcome.word().replace(' ', "-");
    let message = format!("preflight.{}: {}: {}", check.name, check.outcome.word(), check.message);
    let name = format!("preflight.{}", check.name);
    case(&name, &class(report, Some("preflight")), outcome, &word, &message, &about(report))
}

/// The case named `run`: there where no metric says what the whole report says.
fn run_case(report: &Report) -> Option<TestCase> {
    let decides = |judged: &&Judged| judged.role == Role::Gate || judged.verdict == Verdict::Error;
    let said = report.metrics.iter().filter(decides).any(|judged| judged.verdict == report.verdict);
    let headline = report.headline.as_str();
    let (outcome, word, message) = match (&report.failure, report.verdict) {
        (Some(Failure { kind, message }), _) => (Outcome::Error, kind.word(), message.as_str()),
        (None, Verdict::Error) if !said => (Outcome::Error, "error", headline),
        (None, Verdict::Regressed) if !said => (Outcome::Failure, "regressed", headline),
        _ if report.metrics.is_empty() => {
            (Outcome::Error, "no-metrics", "the run measured nothing that could be judged")
        }
        (None, Verdict::Inconclusive) if !said => (Outcome::Skipped, "inconclusive", headline),
        _ => return None,
    };
    Some(case("run", &class(report, None), outcome, word, &format!("{word}: {message}"), &about(report)))
}

/// How a case ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Success,
    Skipped,
    Failure,
    Error,
}

fn case(name: &str, class: &str, outcome: Outcome, type_: &str, message: &str, body: &str) -> TestCase {
    let (type_, cause) = (attribute(type_), Some(content(body)));
    let text = attribute(message);
    let result = match outcome {
        Outcome::Success => TestResult::Success,
        Outcome::Skipped => TestResult::SkippedWithCause { type_, message: text, cause: None },
        Outcome::Failure => TestResult::Failure { type_, message: text, cause },
        Outcome::Error => TestResult::Error { type_, message: text, cause },
    };
    let system_out = (outcome == Outcome::Success).then(|| content(message));
    let (name, classname) = (attribute(name), Some(attribute(class)));
    TestCase { name, time: Duration::ZERO, result, classname, filepath: None, system_out, system_err: None }
}

/// `storage-check.<profile>`, and the suite.
fn class(report: &Report, suite: Option<&str>) -> String {
    let profile = if report.profile.name.is_empty() { "unknown" } else { &report.profile.name };
    let suite = suite.map(|suite| format!(".{suite}")).unwrap_or_default();
    format!("storage-check.{profile}{suite}")
}

/// What a reader of a single case must know of the run.
fn about(report: &Report) -> String {
    let mut text = format!("{}\n", report.headline);
    text += &format!("drive: {}\ntarget: {}\n", report.target.drive, report.target.path);
    text += &format!("profile: {} {}\nrun: {}\n", report.profile.name, report.profile.version, report.run);
    if let Some(baseline) = &report.baseline {
        text += &format!("baseline: {}, accepted {}\n", baseline.path, baseline.accepted);
    }
    report.changes.iter().for_each(|change| text += &format!("changed: {change}\n"));
    report.notes.iter().take(20).for_each(|note| text += &format!("note: {note}\n"));
    text
}

/// Shares the run's time among the cases: whole seconds, and the first one has the rest in milliseconds.
///
/// The crate adds seconds and their fraction as floats and prints 3.861 s as 3.8609999999999998, which the
/// schema forbids: the whole is then a few milliseconds shorter, the most that all its parts print well at.
fn share_time(cases: &mut [TestCase], elapsed_s: f64) {
    let Ok(count @ 1..) = i64::try_from(cases.len()) else { return };
    let whole = (elapsed_s.max(0.0) * 1e3).round() as i64;
    let share = whole / count / 1000 * 1000;
    let others = share * (count - 1);
    let fits = |whole: &i64| prints_well(*whole) && prints_well(*whole - others);
    let whole = (others..=whole).rev().find(fits).unwrap_or(others);
    for (at, case) in cases.iter_mut().enumerate() {
        case.time = Duration::milliseconds(if at == 0 { whole - others } else { share });
    }
}

/// Whether the crate prints a time with three decimals at most.
fn prints_well(milliseconds: i64) -> bool {
    let text = Duration::milliseconds(milliseconds).as_seconds_f64().to_string();
    text.split_once('.').is_none_or(|(_, decimals)| decimals.len() <= 3)
}

/// The moment that RFC 3339 text names; the epoch where it names none.
fn timestamp(text: &str) -> OffsetDateTime {
    let seconds = OffsetDateTime::parse(text, &Rfc3339).map_or(0, OffsetDateTime::unix_timestamp).max(0);
    OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// Text for an attribute: one line of what XML 1.0 allows.
fn attribute(text: &str) -> String {
    text.chars().filter(allowed).map(|char| if char.is_whitespace() { ' ' } else { char }).collect()
}

/// Text for a CDATA section: what XML 1.0 allows, split where it would end the section.
fn content(text: &str) -> String {
    text.chars().filter(allowed).collect::<String>().replace("]]>", "]]]]><![CDATA[>")
}

/// Whether a character may stand in XML 1.0, and is no control character but a line break or a tab.
fn allowed(char: &char) -> bool {
    matches!(char, '\t' | '\n') || !(char.is_control() || matches!(char, '\u{fffe}' | '\u{ffff}'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::metric::Value;
    use crate::report::{BaselineLine, FailureKind, samples};
    use crate::verdict::baseline::Level;
    use crate::verdict::compare::Against;

    fn text(report: &Report) -> String {
        render(report).unwrap()
    }

    /// A report of one metric contains each of the texts.
    fn check(role: Role, verdict: Verdict, reason: &str, expect: &[&str]) {
        let mut report = samples::finished();
        let metric = samples::judged("fill.floor_mb_s", Value::Number(399.9), role, verdict, reason);
        // What is only shown decides nothing.
        let whole = if role == Role::Info { Verdict::NoBaseline } else { verdict };
        (report.verdict, report.metrics) = (whole, vec![metric]);
        let xml = text(&report);
        for expect in expect {
            assert!(xml.contains(expect), "no {expect} in\n{xml}");
        }
        assert_eq!(xml.matches("<testcase").count(), 1, "{xml}");
    }

    #[test]
    fn a_case_ends_as_its_metric_is_judged() {
        let class = "<testcase name=\"fill.floor_mb_s\" time=\"7412.346\" classname=\"storage-check.acceptance.fill\">";
        let failure =
            "<failure type=\"regressed\" message=\"fill.floor_mb_s regressed: measured 399.9 MB/s; below 400\">";
        check(Role::Gate, Verdict::Regressed, "below 400", &[class, failure, "failures=\"1\"", "errors=\"0\""]);
        let info = "<skipped type=\"info\" message=\"fill.floor_mb_s regressed: measured 399.9 MB/s; below 400\"/>";
        check(Role::Info, Verdict::Regressed, "below 400", &[info, "failures=\"0\""]);
        let pass = "<system-out><![CDATA[fill.floor_mb_s held: measured 399.9 MB/s]]></system-out></testcase>";
        check(Role::Gate, Verdict::Held, "", &[class, pass, "failures=\"0\""]);
        check(Role::Gate, Verdict::Improved, "", &["improved: measured 399.9 MB/s"]);
        let skipped =
            "<skipped type=\"inconclusive\" message=\"fill.floor_mb_s inconclusive: measured 399.9 MB/s; 2 more\"/>";
        check(Role::Gate, Verdict::Inconclusive, "2 more", &[skipped, "failures=\"0\"", "errors=\"0\""]);
        let skipped =
            "<skipped type=\"no-baseline\" message=\"fill.floor_mb_s no-baseline: measured 399.9 MB/s; there is no";
        check(Role::Gate, Verdict::NoBaseline, "", &[skipped]);
        check(Role::Info, Verdict::Held, "", &["<skipped type=\"info\" message=\"fill.floor_mb_s held: measured"]);
        check(Role::Gate, Verdict::Error, "it vanished", &["<error type=\"error\" message=\"fill.floor_mb_s error:"]);
    }

    #[test]
    fn a_regression_names_metric_measured_baseline_change_and_tolerance() {
        let mut report = samples::finished();
        let mut judged =
            samples::judged("fill.fast_mb_s", Value::Number(450.0), Role::Gate, Verdict::Regressed, "worse");
        let (level, change) = (Level::Number(512.0), Some(-0.121));
        judged.against = Some(Against { level, runs: 3, change, tolerance: Some(0.05), weighed: None });
        report.metrics = vec![judged];
        let message = "message=\"fill.fast_mb_s regressed: measured 450 MB/s, baseline 512 MB/s, change -12.1 %, \
                       tolerance 5 %; worse\"";
        assert!(text(&report).contains(message), "{}", text(&report));
    }

    #[test]
    fn every_case_that_does_not_pass_names_the_baselines_file() {
        let mut report = samples::finished();
        let path = "baselines/fusion/acceptance.toml".to_owned();
        report.baseline = Some(BaselineLine { path, accepted: "2026-01-01".to_owned(), ..BaselineLine::default() });
        let xml = text(&report);
        let failed = xml.matches("<failure").count() + xml.matches("<error").count();
        let named = xml.matches("\nbaseline: baselines/fusion/acceptance.toml, accepted 2026-01-01\n").count();
        // And once for the suite.
        assert_eq!((failed, named), (1, 2), "{xml}");
    }

    #[test]
    fn a_metric_without_a_value_says_so() {
        let xml = text(&samples::finished());
        assert!(xml.contains("random_write.scratch.steady_mb_s inconclusive: no value (too short); 20 s are"), "{xml}");
    }

    #[test]
    fn a_run_that_ended_early_is_an_error_and_no_regression() {
        for kind in [FailureKind::Refused, FailureKind::Failed, FailureKind::Interrupted] {
            let xml = text(&samples::ended(kind, "/dev/x is mounted"));
            let word = kind.word();
            let error = format!("<error type=\"{word}\" message=\"{word}: /dev/x is mounted\">");
            let case = "<testcase name=\"run\" time=\"0\" classname=\"storage-check.acceptance\">";
            assert!(xml.contains(&format!("{case}{error}")) && xml.contains("failures=\"0\""), "{xml}");
        }
    }

    #[test]
    fn what_no_metric_says_is_still_not_green() {
        let mut report = samples::finished();
        report.metrics.retain(|judged| judged.verdict == Verdict::Held);
        report.verdict = Verdict::Inconclusive;
        assert!(text(&report).contains("<skipped type=\"inconclusive\" message=\"inconclusive: regressed: fill.floor"));
        report.metrics.clear();
        report.verdict = Verdict::Regressed;
        assert!(text(&report).contains("<failure type=\"regressed\""));
        report.verdict = Verdict::NoBaseline;
        assert!(text(&report).contains("<error type=\"no-metrics\""));
        report.verdict = Verdict::Error;
        assert!(text(&report).contains("<error type=\"error\""));
    }

    #[test]
    fn hostile_text_leaves_the_document_well_formed() {
        let xml = text(&samples::all_hostile());
        assert!(xml.chars().all(|char| allowed(&char)), "{xml:?}");
        let outside = xml.replace("]]]]><![CDATA[>", "");
        assert_eq!(outside.matches("<![CDATA[").count(), outside.matches("]]>").count());
        assert!(!outside.split("<![CDATA[").any(|part| part.matches("]]>").count() > 1));
        assert!(xml.contains("😀") && xml.contains("timestamp=\"1970-01-01T00:00:00Z\""));
    }

    #[test]
    fn cdata_ends_are_split_and_line_breaks_kept_out_of_attributes() {
        assert_eq!(content("a]]>b\0\u{fffe}"), "a]]]]><![CDATA[>b");
        assert_eq!(attribute("a\r\nb\t\u{1b}c\u{ffff}"), "a b c");
    }

    #[test]
    fn times_have_at_most_three_decimals_and_add_up() {
        let strange = [0.000_4, 1.0 / 3.0, 7_412.345_678, 1e9 + 0.1, f64::NAN, f64::INFINITY, -1.0];
        let times = (0..20_000).map(|at| f64::from(at) * 1.001).chain(strange);
        for elapsed_s in times {
            let mut cases = vec![case("a", "b", Outcome::Success, "", "", ""); 7];
            share_time(&mut cases, elapsed_s);
            let sum = cases.iter().fold(Duration::ZERO, |sum, case| sum + case.time);
            for time in cases.iter().map(|case| case.time).chain([sum]) {
                let text = time.as_seconds_f64().to_string();
                assert!(text.split_once('.').is_none_or(|(_, decimals)| decimals.len() <= 3), "{elapsed_s}: {text}");
            }
            let off = elapsed_s - sum.as_seconds_f64();
            assert!(off.abs() < 0.01 || !(0.0..1e12).contains(&elapsed_s), "{elapsed_s} is off by {off}");
        }
    }

    #[test]
    fn the_host_and_the_start_are_the_runs() {
        let xml = text(&samples::finished());
        assert!(xml.contains("hostname=\"bench-7\" timestamp=\"2026-01-02T03:04:05Z\" time=\"7412.346\""), "{xml}");
        assert_eq!(xml, text(&samples::finished()));
    }
}
