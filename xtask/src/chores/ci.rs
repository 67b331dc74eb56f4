//! `ci`: everything that must hold before a change lands, step by step, with a table at the end.
//!
//! Owns the list of steps and what becomes of one whose tool is missing. Only runs other programs, and
//! must never know what they check.
#![expect(clippy::print_stdout, reason = "a chore tells what it does")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use xshell::{Cmd, Shell};

use self::Outcome::{Failed, Ignored, Passed};

/// Names of the steps, in their order.
const NAMES: [&str; 9] =
    ["fmt", "clippy", "test", "doc", "deny", "advisories", "workflow-security", "workflow-schema", "scripts"];

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Run only these steps
    #[arg(value_name = "STEP", value_parser = clap::builder::PossibleValuesParser::new(NAMES))]
    steps: Vec<String>,
}

/// One row of the table.
struct Step {
    name: &'static str,
    /// What to run, word by word.
    command: Vec<String>,
    environment: &'static [(&'static str, &'static str)],
    /// What has to work first, and else makes the step ignored.
    needs: &'static [Need],
}

/// A command that must succeed before a step makes sense.
struct Need {
    probe: &'static [&'static str],
    /// Why the step is ignored, and the way out.
    otherwise: &'static str,
    /// Whether a machine that has `CI` set is expected to have it.
    in_ci: bool,
}

const DENY: Need = Need {
    probe: &["cargo", "deny", "--version"],
    otherwise: "cargo-deny is not installed: cargo install cargo-deny --locked",
    in_ci: true,
};
const ADVISORY_DATABASE: Need = Need {
    probe: &["timeout", "120", "cargo", "deny", "--locked", "fetch", "db"],
    otherwise: "advisory database not reachable",
    in_ci: false,
};
const ZIZMOR: Need =
    Need { probe: &["zizmor", "--version"], otherwise: "zizmor is not installed: pip install zizmor", in_ci: true };
const CHECK_JSONSCHEMA: Need = Need {
    probe: &["check-jsonschema", "--version"],
    otherwise: "check-jsonschema is not installed: pip install check-jsonschema",
    in_ci: true,
};

/// How a step ended.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    Ignored(String),
}

/// A step that was run, or would have been.
struct Row {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
}

/// Runs all steps, or those named; a failed one does not keep the next from running.
///
/// # Errors
/// There is no workspace to check.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let shell = Shell::new()?;
    let root = shell.var_os("CARGO_MANIFEST_DIR").context("run it as `cargo xtask ci`")?;
    shell.change_dir(Path::new(&root).join(".."));
    // GitHub and others set it to `true`; an empty one is nobody's.
    let in_ci = shell.var_os("CI").is_some_and(|value| !value.is_empty());
    let wanted = |step: &Step| arguments.steps.is_empty() || arguments.steps.iter().any(|name| name == step.name);
    let rows: Vec<Row> =
        steps(&shell)?.iter().filter(|step| wanted(step)).map(|step| row(&shell, step, in_ci)).collect();
    println!("{}", table(&rows));
    let failed = rows.iter().any(|row| matches!(row.outcome, Failed(_)));
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn steps(shell: &Shell) -> Result<Vec<Step>> {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let step = |name, line: &str, needs| Step { name, command: words(line), environment: &[], needs };
    let mut schema =
        step("workflow-schema", "check-jsonschema --builtin-schema vendor.github-workflows", &[CHECK_JSONSCHEMA]);
    for workflow in shell.read_dir(".github/workflows").context("the workflows are missing")? {
        schema.command.push(workflow.display().to_string());
    }
    Ok(vec![
        step("fmt", "cargo fmt --all --check", &[]),
        step("clippy", "cargo clippy --workspace --all-targets --locked -- -D warnings", &[]),
        step("test", "cargo test --workspace --locked --no-fail-fast", &[]),
        Step {
            environment: &[("RUSTDOCFLAGS", "-Dwarnings")],
            ..step("doc", "cargo doc --no-deps --workspace --locked", &[])
        },
        step("deny", "cargo deny --locked check bans licenses sources", &[DENY]),
        step("advisories", "cargo deny --locked check --disable-fetch advisories", &[DENY, ADVISORY_DATABASE]),
        step("workflow-security", "zizmor --offline .github", &[ZIZMOR]),
        schema,
        step("scripts", "bash -n .ci/run .github/actions/storage-check/run.sh", &[]),
    ])
}

fn row(shell: &Shell, step: &Step, in_ci: bool) -> Row {
    let start = Instant::now();
    println!("\n== {}", step.name);
    let unmet = step
        .needs
        .iter()
        .find(|need| command(shell, need.probe).quiet().ignore_stdout().ignore_stderr().run().is_err());
    let outcome = unmet.map_or_else(|| passed(shell, step), |need| without(need, in_ci));
    if let Ignored(reason) = &outcome {
        println!("ignored: {reason}");
    }
    Row { name: step.name, outcome, took: start.elapsed() }
}

fn passed(shell: &Shell, step: &Step) -> Outcome {
    match command(shell, &step.command).envs(step.environment.iter().copied()).run() {
        Ok(()) => Passed,
        Err(why) => Failed(why.to_string()),
    }
}

/// What becomes of a step whose need is not met. It is never passed: nothing was checked.
fn without(need: &Need, in_ci: bool) -> Outcome {
    if in_ci && need.in_ci { Failed(need.otherwise.to_owned()) } else { Ignored(need.otherwise.to_owned()) }
}

/// A program as a person in the root of the workspace would start it: without what `cargo run` told *us* of
/// the package xtask, which build scripts and tests would take for their own.
fn command<'a>(shell: &'a Shell, words: &[impl AsRef<str>]) -> Cmd<'a> {
    let (program, arguments) = words.split_first().expect("a step's command has words");
    let mut command = shell.cmd(program.as_ref()).args(arguments.iter().map(AsRef::as_ref));
    for name in OF_CARGO_RUN {
        command = command.env_remove(name);
    }
    command
}

/// Set by `cargo run` for the program that it runs.
const OF_CARGO_RUN: [&str; 18] = [
    "CARGO_BIN_NAME",
    "CARGO_CRATE_NAME",
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_PATH",
    "CARGO_PKG_AUTHORS",
    "CARGO_PKG_DESCRIPTION",
    "CARGO_PKG_HOMEPAGE",
    "CARGO_PKG_LICENSE",
    "CARGO_PKG_LICENSE_FILE",
    "CARGO_PKG_NAME",
    "CARGO_PKG_README",
    "CARGO_PKG_REPOSITORY",
    "CARGO_PKG_RUST_VERSION",
    "CARGO_PKG_VERSION",
    "CARGO_PKG_VERSION_MAJOR",
    "CARGO_PKG_VERSION_MINOR",
    "CARGO_PKG_VERSION_PATCH",
    "CARGO_PKG_VERSION_PRE",
];

/// The rows as a table, and their number by outcome.
fn table(rows: &[Row]) -> String {
    let mut out = String::from("\n== steps\n");
    for Row { name, outcome, took } in rows {
        let (word, note) = match outcome {
            Passed => ("passed", ""),
            Failed(why) => ("failed", why.as_str()),
            Ignored(why) => ("ignored", why.as_str()),
        };
        let line = format!("{name:<18}{word:<8}{:>8.1} s  {note}", took.as_secs_f64());
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let count = |is: fn(&Outcome) -> bool| rows.iter().filter(|row| is(&row.outcome)).count();
    let (passed, failed) = (count(|outcome| *outcome == Passed), count(|outcome| matches!(outcome, Failed(_))));
    let _ = write!(out, "\nsteps: {passed} passed, {failed} failed, {} skipped", rows.len() - passed - failed);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_ignored_at_home_and_failed_in_ci() {
        assert_eq!(without(&ZIZMOR, false), Ignored("zizmor is not installed: pip install zizmor".to_owned()));
        assert_eq!(without(&ZIZMOR, true), Failed("zizmor is not installed: pip install zizmor".to_owned()));
    }

    #[test]
    fn an_unreachable_advisory_database_is_ignored_everywhere() {
        assert_eq!(without(&ADVISORY_DATABASE, true), Ignored("advisory database not reachable".to_owned()));
    }

    #[test]
    fn a_failing_step_does_not_keep_the_next_from_running() -> Result<()> {
        let shell = Shell::new()?;
        let step = |name, program: &str| Step { name, command: vec![program.to_owned()], environment: &[], needs: &[] };
        let rows = [step("bad", "false"), step("good", "true")].map(|step| row(&shell, &step, false).outcome);
        assert!(matches!(rows, [Failed(_), Passed]), "{rows:?}");
        Ok(())
    }

    #[test]
    fn every_step_can_be_named() -> Result<()> {
        let shell = Shell::new()?;
        shell.change_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let names: Vec<_> = steps(&shell)?.iter().map(|step| step.name).collect();
        assert_eq!(names, NAMES);
        Ok(())
    }

    #[test]
    fn the_table_tells_each_step_and_closes_with_the_counts() {
        let row = |name, outcome, ms| Row { name, outcome, took: Duration::from_millis(ms) };
        let rows = [
            row("fmt", Passed, 340),
            row("test", Failed("exit code 101".to_owned()), 61_230),
            row("deny", Ignored("not installed".to_owned()), 0),
        ];
        let expect = "\n== steps\n\
            fmt               passed       0.3 s\n\
            test              failed      61.2 s  exit code 101\n\
            deny              ignored      0.0 s  not installed\n\
            \nsteps: 1 passed, 1 failed, 1 skipped";
        assert_eq!(table(&rows), expect);
    }
}
