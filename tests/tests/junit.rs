//! JUnit reports are valid against the schema that Jenkins reads them with, and a reader that is not ours finds in
//! them what was written, whatever a run had to say.
//!
//! `xmllint` judges, `junitparser` and `xunitparser` (PyPI) read, each with a reading of its own; where one or the
//! schema is missing, each of its tests says so and counts as ignored. The schema is not part of the project: `STORAGE_CHECK_SHARED` names the folder that holds
//! `schemas/junit-10.xsd`, by default `shared` beside the workspace.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use harness::analysis::metric::{Metric, Value};
use harness::environment::{Check, Outcome};
use harness::report::{BaselineLine, CliffLine, Failure, FailureKind, FillReport, ProfileLine, Report, Target, junit};
use harness::verdict::Verdict;
use harness::verdict::judge::{Judged, Role};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value as Json, json};
use storage_check_tests::rig::Need;
use xshell::{Shell, cmd};

fn main() {
    let arguments = Arguments::from_args();
    let schema = schema();
    let canary = Trial::test("what_is_wrong_is_told_apart", {
        let schema = schema.clone();
        move || rejects_what_is_wrong(&schema)
    });
    let valid = reports().into_iter().map(|(name, report, _)| {
        let schema = schema.clone();
        Trial::test(format!("{name}_is_valid_junit"), move || validate(&junit::render(&report)?, &schema))
    });
    let read = reports().into_iter().map(|(name, report, expect)| {
        Trial::test(format!("{name}_is_read_as_it_was_meant"), move || reads(&junit::render(&report)?, expect))
    });
    let ends = reports().into_iter().map(|(name, report, expect)| {
        Trial::test(format!("{name}_ends_for_another_reader_as_it_was_meant"), move || {
            ends(&junit::render(&report)?, expect)
        })
    });
    let valid = ignored(valid.chain([canary]).collect(), missing(&schema));
    let read = ignored(read.collect(), Need::Python("junitparser").missing());
    let ends = ignored(ends.collect(), Need::Python("xunitparser").missing());
    libtest_mimic::run(&arguments, valid.into_iter().chain(read).chain(ends).collect()).exit();
}

/// How many cases of a report pass, fail, are in error and are skipped.
type Ends = [u64; 4];

/// Reports of each kind, by name, and how their cases end.
fn reports() -> Vec<(&'static str, Report, Ends)> {
    let hostile = hostile();
    let bare = |report: Report| Report { metrics: Vec::new(), ..report };
    let plain = |verdict, failure| report("quick", verdict, failure);
    vec![
        ("a_pass", plain(Verdict::Held, None), [3, 0, 0, 2]),
        ("a_regression", plain(Verdict::Regressed, None), [0, 3, 0, 2]),
        ("an_inconclusive_run", plain(Verdict::Inconclusive, None), [0, 0, 0, 5]),
        ("a_run_without_a_baseline", plain(Verdict::NoBaseline, None), [0, 0, 0, 5]),
        ("a_failed_run", plain(Verdict::Error, Some(FailureKind::Failed)), [0, 0, 4, 2]),
        ("an_interrupted_run", plain(Verdict::Error, Some(FailureKind::Interrupted)), [0, 0, 4, 2]),
        ("a_refusal", bare(plain(Verdict::Error, Some(FailureKind::Refused))), [0, 0, 1, 1]),
        ("nothing_measured", bare(plain(Verdict::NoBaseline, None)), [0, 0, 1, 1]),
        ("hostile_text", report(&hostile, Verdict::Regressed, Some(FailureKind::Failed)), [0, 3, 1, 2]),
        ("hostile_text_that_passes", report(&hostile, Verdict::Held, None), [3, 0, 0, 2]),
    ]
}

/// The tests as they are, or ignored for want of what is missing.
fn ignored(trials: Vec<Trial>, missing: Option<String>) -> Vec<Trial> {
    let Some(why) = missing else { return trials };
    trials.into_iter().map(|trial| trial.with_ignored_flag(true).with_kind(why.as_str())).collect()
}

/// Where the schema should be.
fn schema() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let shared = std::env::var_os("STORAGE_CHECK_SHARED").map_or_else(beside, PathBuf::from);
    shared.join("schemas/junit-10.xsd")
}

/// What the tests lack, if anything.
fn missing(schema: &Path) -> Option<String> {
    if !schema.is_file() {
        return Some(format!("no schema at {}", schema.display()));
    }
    let found = Shell::new().and_then(|shell| cmd!(shell, "xmllint --version").quiet().ignore_stderr().run());
    found.err().map(|_| "no xmllint here".to_owned())
}

/// Prints what `junitparser` finds: the suite's own counts, and each case with its name, end and message.
const READER: &str = "
import json, sys
from junitparser import JUnitXml

def case(case):
    ends = [(type(end).__name__.lower(), end.message) for end in case.result] or [('passed', None)]
    return {'name': case.name, 'class': case.classname, 'ends': ends}

suite, = JUnitXml.fromstring(sys.stdin.buffer.read())
counts = [suite.tests, suite.failures, suite.errors]
print(json.dumps({'counts': counts, 'cases': [case(one) for one in suite]}))
";

/// Whether `junitparser` finds the cases that were written, each with one end, and says why they did not pass.
fn reads(xml: &str, expect: Ends) -> Result<(), Failed> {
    let shell = Shell::new()?;
    let found: Json = serde_json::from_str(&cmd!(shell, "python3 -c {READER}").stdin(xml).quiet().read()?)?;
    let cases = found["cases"].as_array().ok_or("no cases")?;
    let ends: Vec<&str> = cases.iter().filter_map(|case| case["ends"][0][0].as_str()).collect();
    let count = |end: &str| ends.iter().filter(|&&found| found == end).count() as u64;
    let counted = ["passed", "failure", "error", "skipped"].map(count);
    if counted != expect {
        return Err(format!("passed, failed, in error, skipped: {counted:?} and not {expect:?} in {found}").into());
    }
    if found["counts"] != json!([cases.len(), expect[1], expect[2]]) {
        return Err(format!("the suite counts {} of {expect:?}", found["counts"]).into());
    }
    let silent = cases.iter().find(|case| {
        let (end, message) = (&case["ends"][0][0], case["ends"][0][1].as_str().unwrap_or_default());
        let named = case["name"].as_str().is_some_and(|name| name == "run" || message.contains(name));
        end != "passed" && !named || case["ends"].as_array().is_none_or(|ends| ends.len() != 1)
    });
    silent.map_or(Ok(()), |case| Err(format!("its message does not say what it is about: {case}").into()))
}

/// Prints what `xunitparser` finds: each case as Python's own test runner would report it.
const OTHER_READER: &str = "
import io, json, sys
import xunitparser

suite, result = xunitparser.parse(io.TextIOWrapper(sys.stdin.buffer, 'utf-8'))
cases = [[case.classname, case.methodname, case.result, case.message, case.trace] for case in suite]
counts = [result.testsRun, len(result.failures), len(result.errors), len(result.skipped)]
print(json.dumps({'counts': counts, 'cases': cases}))
";

/// Whether `xunitparser` finds as many ends of each kind, no case twice, and the baseline where one does not pass.
fn ends(xml: &str, expect: Ends) -> Result<(), Failed> {
    let shell = Shell::new()?;
    let found: Json = serde_json::from_str(&cmd!(shell, "python3 -c {OTHER_READER}").stdin(xml).quiet().read()?)?;
    let [passed, failed, errors, skipped] = expect;
    if found["counts"] != json!([passed + failed + errors + skipped, failed, errors, skipped]) {
        return Err(format!("{} and not {expect:?}", found["counts"]).into());
    }
    let cases = found["cases"].as_array().ok_or("no cases")?;
    let names: BTreeSet<String> = cases.iter().map(|case| format!("{} {}", case[0], case[1])).collect();
    if names.len() != cases.len() {
        return Err(format!("a case stands there twice: {found}").into());
    }
    let silent = cases.iter().find(|case| {
        let red = matches!(case[2].as_str(), Some("failure" | "error"));
        let text = case[4].as_str().unwrap_or_default();
        red && !(text.contains("baseline: ") && text.contains("gate.toml"))
    });
    silent.map_or(Ok(()), |case| Err(format!("it does not name the baseline: {case}").into()))
}

/// Whether the document is valid; if not, what `xmllint` says.
fn validate(xml: &str, schema: &Path) -> Result<(), Failed> {
    let shell = Shell::new()?;
    let output = cmd!(shell, "xmllint --noout --schema {schema} -").stdin(xml).quiet().ignore_status().output()?;
    if output.status.success() {
        return Ok(());
    }
    let start: String = xml.chars().take(2000).collect();
    Err(Failed::from(format!("{}\n{start}", String::from_utf8_lossy(&output.stderr))))
}

/// Proof that these tests can fail: what the report's writer guards against is told apart.
fn rejects_what_is_wrong(schema: &Path) -> Result<(), Failed> {
    let case = "<testcase name='a'><failure message='b'/></testcase>";
    let suite = |time: &str, inside: &str| {
        let head = format!("<testsuite name='s' tests='1' failures='1' errors='0' time='{time}'>");
        format!("<testsuites>{head}{inside}</testsuite></testsuites>")
    };
    validate(&suite("3.861", case), schema)?;
    for wrong in [suite("3.8609999999999998", case), suite("1", "a\u{1b}b"), suite("1", "<x/>")] {
        if validate(&wrong, schema).is_ok() {
            return Err(format!("passes and should not: {wrong:?}").into());
        }
    }
    Ok(())
}

/// 4 KiB and more of what breaks careless writers of XML.
fn hostile() -> String {
    "\0\u{1}\u{1b}[31mred\u{9b}0m ]]> <![CDATA[ &amp; & < > \" ' \u{fffe}\u{ffff}\u{10ffff} 😀 \r\n\t".repeat(64)
}

/// A report whose texts hold `text`, and whose gates are judged `verdict`.
fn report(text: &str, verdict: Verdict, failure: Option<FailureKind>) -> Report {
    let judged = |id: &str, value: Value, role: Role, verdict: Verdict| Judged {
        metric: Metric::new(id, value),
        role,
        verdict,
        reason: text.to_owned(),
        against: None,
    };
    let own = || text.to_owned();
    Report {
        verdict,
        exit_code: 0,
        headline: own(),
        run: own(),
        started: own(),
        host: Some(own()),
        target: Target { path: own(), kind: own(), drive: own(), filesystem: Some(own()), engine: own() },
        profile: ProfileLine { name: own(), version: 1, fingerprint: own() },
        runs: vec![own()],
        metrics: vec![
            judged("fill.fast_mb_s", Value::Number(2384.123), Role::Gate, verdict),
            judged("fill.cliff_gb", Value::MoreThan(121.3), Role::Gate, verdict),
            judged("fill.floor_mb_s", Value::Absent("not-applicable"), Role::Info, Verdict::NoBaseline),
            judged(&format!("fill.{text}"), Value::Number(f64::NAN), Role::Gate, verdict),
        ],
        fill: Some(FillReport {
            cliffs: vec![CliffLine { at_gb: 1.0, low_gb: 0.9, high_gb: 1.1, before_mb_s: 2.0, after_mb_s: 1.0 }],
            bad_blocks: vec![own()],
            ..FillReport::default()
        }),
        random_write: Vec::new(),
        fsef: None,
        thermal: Vec::new(),
        preflight: vec![Check { name: "link".to_owned(), outcome: Outcome::Warn, message: own() }],
        environment: [(own(), own())].into(),
        plan: None,
        notes: vec![own()],
        failure: failure.map(|kind| Failure { kind, message: own() }),
        changes: Vec::new(),
        baseline: Some(BaselineLine { path: format!("{text}gate.toml"), ..BaselineLine::default() }),
        ghosts: std::collections::BTreeMap::new(),
        bytes_written: u64::MAX,
        elapsed_s: 27.026_999_999_999_997,
    }
}
