//! JUnit reports are valid against the schema that Jenkins reads them with, whatever a run had to say.
//!
//! `xmllint` judges; where it or the schema is missing, each test says so and counts as ignored. The schema
//! is not part of the project: `STORAGE_CHECK_SHARED` names the folder that holds `schemas/junit-10.xsd`,
//! by default `shared` beside the workspace.

use std::path::{Path, PathBuf};

use harness::analysis::metric::{Metric, Value};
use harness::report::{CliffLine, Failure, FailureKind, FillReport, ProfileLine, Report, Target, junit};
use harness::verdict::Verdict;
use harness::verdict::judge::{Judged, Role};
use libtest_mimic::{Arguments, Failed, Trial};
use xshell::{Shell, cmd};

fn main() {
    let arguments = Arguments::from_args();
    let schema = schema();
    let missing = missing(&schema);
    let hostile = hostile();
    let reports = [
        ("a_pass", report("quick", Verdict::Held, None)),
        ("a_regression", report("quick", Verdict::Regressed, None)),
        ("an_inconclusive_run", report("quick", Verdict::Inconclusive, None)),
        ("a_run_without_a_baseline", report("quick", Verdict::NoBaseline, None)),
        ("a_failed_run", report("quick", Verdict::Error, Some(FailureKind::Failed))),
        ("an_interrupted_run", report("quick", Verdict::Error, Some(FailureKind::Interrupted))),
        ("a_refusal", Report { metrics: Vec::new(), ..report("quick", Verdict::Error, Some(FailureKind::Refused)) }),
        ("nothing_measured", Report { metrics: Vec::new(), ..report("quick", Verdict::NoBaseline, None) }),
        ("hostile_text", report(&hostile, Verdict::Regressed, Some(FailureKind::Failed))),
        ("hostile_text_that_passes", report(&hostile, Verdict::Held, None)),
    ];
    let valid = reports.into_iter().map(|(name, report)| {
        let schema = schema.clone();
        Trial::test(format!("{name}_is_valid_junit"), move || validate(&junit::render(&report)?, &schema))
    });
    let canary = Trial::test("what_is_wrong_is_told_apart", {
        let schema = schema.clone();
        move || rejects_what_is_wrong(&schema)
    });
    let trials = valid.chain([canary]).map(|trial| match &missing {
        Some(why) => trial.with_ignored_flag(true).with_kind(why.as_str()),
        None => trial,
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
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
        environment: [(own(), own())].into(),
        plan: None,
        notes: vec![own()],
        failure: failure.map(|kind| Failure { kind, message: own() }),
        changes: Vec::new(),
        baseline: None,
        bytes_written: u64::MAX,
        elapsed_s: 27.026_999_999_999_997,
    }
}
