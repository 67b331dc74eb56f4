//! The GitHub action as its runner calls it: for each verdict the right summary, outputs, annotations and exit code.
//!
//! On simulated drives. The runner is played: its variables are set, and nothing else of it is needed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use storage_check_tests::rig::{Need, trial};
use storage_check_tests::tool::Ended;
use storage_check_tests::{folder, source};

use super::gate::{DRIVE, Home};
use super::plain;

pub(crate) fn trials() -> Vec<Trial> {
    let bash = [Need::Command("bash")];
    vec![
        trial("the action leaves summary, outputs, annotations and code of each verdict", &bash, each_verdict),
        trial("the action says so when there is no run at all", &bash, no_run),
        trial("an input is a value: no command, no option, no annotation", &bash, inputs_are_values),
        trial("the action hands on every input and every output", &[], everything_is_handed_on),
        trial("what CI systems are shown in docs/ci is what they read", &[Need::Command("check-jsonschema")], examples),
    ]
}

const ACTION: &str = ".github/actions/storage-check";

/// What a step left.
struct Step {
    ended: Ended,
    outputs: String,
    summary: String,
}

impl Step {
    /// The last value of an output, as GitHub takes it.
    fn output(&self, name: &str) -> &str {
        let mut values = self.outputs.lines().filter_map(|line| line.split_once('='));
        values.rfind(|(found, _)| *found == name).map_or("", |(_, value)| value)
    }

    /// Lines that the runner takes for annotations.
    fn annotations(&self) -> Vec<&str> {
        let mut stopped: Option<&str> = None;
        let mut found = Vec::new();
        for line in self.ended.stdout.lines() {
            match (stopped, line.strip_prefix("::stop-commands::")) {
                (None, Some(token)) => stopped = Some(token),
                (None, None) if line.trim_start().starts_with("::") => found.push(line),
                (Some(token), _) if line == format!("::{token}::") => stopped = None,
                _ => {}
            }
        }
        found
    }
}

/// The action's step in `home`, as the runner starts it.
fn step(home: &Path, inputs: &[(&str, &str)]) -> Result<Step> {
    let runner = folder::folder()?;
    let file = |name: &str| runner.path().join(name).display().to_string();
    let (outputs, summary) = (file("output"), file("summary"));
    let script = source::root().join(ACTION).join("run.sh").display().to_string();
    let mut call = plain().script(home, &format!("exec bash '{script}'"));
    let program = program(home)?.display().to_string();
    let usual =
        [("INPUT_PROGRAM", program.as_str()), ("INPUT_PROFILE", "gate.toml"), ("INPUT_REQUIRE_BASELINE", "true")];
    for (name, value) in usual.iter().chain(inputs) {
        call = call.env(name, value);
    }
    call = call.env("GITHUB_OUTPUT", &outputs).env("GITHUB_STEP_SUMMARY", &summary);
    let ended = call.env("GITHUB_ACTION_PATH", &source::root().join(ACTION).display().to_string()).end()?;
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    Ok(Step { ended, outputs: read(&outputs), summary: read(&summary) })
}

/// The program by the name that it is shipped under.
fn program(home: &Path) -> Result<PathBuf> {
    let path = home.join("storage-check");
    if !path.exists() {
        let text = format!("#!/bin/sh\nexec '{}' storage-check \"$@\"\n", env!("CARGO_BIN_EXE_xtask"));
        fs::write(&path, text)?;
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    }
    Ok(path)
}

fn each_verdict() -> Result<()> {
    let home = Home::accepted()?;
    // What changes of the drive, verdict, exit code, first annotation's kind, a part of it.
    let cases = [
        ("&seed=4", "held", 0, "notice", "as good as the baseline of 3 runs"),
        ("&seed=4&slower=40%&firmware=FW02", "regressed", 1, "error", "drive.firmware FW01 → FW02"),
        ("&seed=4&unit=7", "inconclusive", 5, "warning", "another unit"),
        ("&seed=4&fault=gone@10s", "error", 4, "error", "failed: writing segment"),
    ];
    for (change, verdict, code, kind, part) in cases {
        check(home.path(), &format!("{DRIVE}{change}"), &[], (verdict, code, kind, part))?;
    }
    check(home.path(), "/proc", &[], ("error", 3, "error", "refused: /proc"))?;
    let other = "sim:consumer-tlc?scale=20";
    check(home.path(), other, &[], ("no-baseline", 6, "notice", "there is no baseline"))?;
    check(home.path(), other, &[("INPUT_REQUIRE_BASELINE", "false")], ("no-baseline", 0, "notice", "no baseline"))?;
    let unit = format!("{DRIVE}&unit=7");
    check(home.path(), &unit, &[("INPUT_INCONCLUSIVE", "warn")], ("inconclusive", 0, "warning", "another unit"))?;
    // Of repeated runs the last one speaks for all.
    check(home.path(), &unit, &[("INPUT_REPEAT", "3")], ("inconclusive", 5, "warning", "another unit"))
}

fn check(home: &Path, target: &str, more: &[(&str, &str)], expect: (&str, i32, &str, &str)) -> Result<()> {
    let (verdict, code, kind, part) = expect;
    let inputs: Vec<(&str, &str)> = [("INPUT_TARGET", target)].iter().chain(more).copied().collect();
    let step = step(home, &inputs)?;
    let context = || format!("{target}: {}\n{}", step.outputs, step.ended.stdout);
    ensure!(step.ended.status.code() == Some(code), "{code}: {} {}", step.ended.status, context());
    ensure!(step.output("verdict") == verdict && step.output("exit-code") == code.to_string(), "{}", context());
    for name in ["report", "junit"] {
        let path = Path::new(step.output(name));
        ensure!(path.is_file() && path.starts_with(step.output("run")), "{name}: {}", context());
    }
    ensure!(step.summary == fs::read_to_string(step.output("report"))?, "the summary is not the report");
    ensure!(step.summary.starts_with('#') && step.summary.contains(verdict), "{}", step.summary);
    let annotations = step.annotations();
    let first = annotations.first().context("no annotation").with_context(context)?;
    ensure!(first.starts_with(&format!("::{kind} title=storage-check%3A {verdict}::")), "{first}");
    ensure!(first.contains(part), "{first}");
    for kind in ["error", "warning", "notice"] {
        let of_kind = annotations.iter().filter(|line| line.starts_with(&format!("::{kind} "))).count();
        ensure!(of_kind <= 10, "{of_kind} of {kind}");
    }
    let worst = annotations.iter().any(|line| line.starts_with("::error "));
    ensure!(worst == (code == 1 || code == 3 || code == 4), "{annotations:?}");
    Ok(())
}

fn no_run() -> Result<()> {
    let home = Home::accepted()?;
    let absent = step(home.path(), &[("INPUT_PROFILE", "nosuch")])?;
    ensure!(absent.annotations().iter().any(|line| line.contains("named \"nosuch\"")), "{}", absent.ended.stdout);
    ensure!(absent.summary.contains("no verdict"), "{}", absent.summary);
    for step in [
        absent,
        step(home.path(), &[("INPUT_REPEAT", "often")])?,
        step(home.path(), &[("INPUT_PROGRAM", "/dev/null")])?,
    ] {
        ensure!(step.ended.status.code() == Some(2), "{}", step.ended.status);
        ensure!((step.output("verdict"), step.output("exit-code")) == ("error", "2"), "{}", step.outputs);
        ensure!(step.output("run").is_empty(), "{}", step.outputs);
    }
    Ok(())
}

fn inputs_are_values() -> Result<()> {
    let home = Home::accepted()?;
    let hostile = "$(touch pwned)`touch pwned`; touch pwned\n::error::injected\nverdict=held";
    for input in ["INPUT_TARGET", "INPUT_PROFILE", "INPUT_BASELINES", "INPUT_MAX_TIME", "INPUT_UNDER_TEST"] {
        // The last value of a variable counts.
        let step = step(home.path(), &[("INPUT_TARGET", DRIVE), (input, hostile)])?;
        ensure!(step.output("verdict") != "held" && step.ended.status.code() != Some(0), "{input}: {}", step.outputs);
        ensure!(!step.annotations().iter().any(|line| line.starts_with("::error::")), "{input}: {}", step.ended.stdout);
    }
    let option = step(home.path(), &[("INPUT_TARGET", "--discard=x")])?;
    ensure!(option.ended.status.code() == Some(3), "{}", option.ended.stdout);
    ensure!(!home.path().join("pwned").exists(), "an input was run");
    Ok(())
}

fn everything_is_handed_on() -> Result<()> {
    let (action, script) = (source::read(&format!("{ACTION}/action.yml"))?, source::read(&format!("{ACTION}/run.sh"))?);
    let (inputs, rest) = action.split_once("\noutputs:\n").context("no outputs")?;
    let (outputs, steps) = rest.split_once("\nruns:\n").context("no runs")?;
    let keys = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'));
        lines.filter(|name| !name.starts_with(' ')).map(str::to_owned).collect()
    };
    let inputs = keys(inputs);
    ensure!(inputs.len() > 10, "{inputs:?}");
    let words: Vec<&str> = script.split_whitespace().map(|word| word.trim_end_matches(';')).collect();
    for input in inputs.iter().filter(|input| *input != "artifact") {
        let variable = format!("INPUT_{}", input.to_uppercase().replace('-', "_"));
        ensure!(steps.contains(&format!("{variable}: ${{{{ inputs.{input} }}}}\n")), "{input} is in no variable");
        // All but the program's path become options of the same name.
        ensure!(input == "program" || words.contains(&input.as_str()), "{input} is not handed on");
    }
    ensure!(!steps.contains("run: ${{"), "an input is pasted into a script");
    let said = plain().call(&source::root(), ["github", "--help"]).end()?.with_code(0)?.stdout;
    // What became of the upload, the program does not know.
    for output in keys(outputs).into_iter().filter(|output| output != "artifact-url") {
        ensure!(action.contains(&format!("value: ${{{{ steps.run.outputs.{output} }}}}\n")), "{output}");
        ensure!(said.contains(&format!("\n  {output} ")), "the help does not tell of {output}");
    }
    Ok(())
}

fn examples() -> Result<()> {
    let shell = xshell::Shell::new()?;
    shell.change_dir(source::root());
    for (schema, file) in [
        ("vendor.github-actions", ".github/actions/storage-check/action.yml"),
        ("vendor.gitlab-ci", "docs/ci/gitlab-ci.yml"),
        ("vendor.buildkite", "docs/ci/buildkite.yml"),
    ] {
        xshell::cmd!(shell, "check-jsonschema --builtin-schema {schema} {file}").quiet().ignore_stdout().run()?;
    }
    Ok(())
}
