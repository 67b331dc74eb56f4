//! What the program prints, and where: results to stdout, remarks to stderr, nothing more than was asked for.

use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use storage_check_tests::loop_fs::LoopFs;
use storage_check_tests::rig::{Need, trial};
use storage_check_tests::tool::Ended;
use storage_check_tests::{folder, profile, run};

use super::{plain, run_arguments};

const MIB: u64 = 1 << 20;
const SUITE: &str = "size = \"8MiB\"\nsegments = 4\nblock = \"256KiB\"\ninterval = \"20ms\"";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("help has examples and the exit codes", &[], help),
        trial("a wrong argument is a usage error", &[], wrong_arguments),
        trial("output into `head -1` ends quietly", &[], into_head),
        trial("a plan writes nothing and says what it would", &[], plan),
        trial("a run whose stdout is closed keeps its exit code and its reports", &[Need::LoopFs], closed_stdout),
        trial("JSON on stdout is the report and nothing else", &[Need::LoopFs], json),
        trial("--quiet is one line", &[Need::LoopFs], quiet),
    ]
}

fn help() -> Result<()> {
    let home = folder::folder()?;
    for arguments in [&["--help"][..], &["run", "--help"], &["plan", "--help"]] {
        let ended = plain().call(home.path(), arguments).end()?.with_code(0)?;
        ensure!(ended.stderr.is_empty(), "{}", ended.stderr);
        ended.says(&["cargo xtask storage-check"])?;
    }
    plain().call(home.path(), ["--help"]).end()?.says(&["Exit codes", "3  target refused"])
}

fn wrong_arguments() -> Result<()> {
    let home = folder::folder()?;
    let wrong = [&["--no-such"][..], &["run", "--target"], &["run", "--max-write", "-1"], &["measure"]];
    for arguments in wrong {
        let ended = plain().call(home.path(), arguments).end()?.with_code(2)?;
        ensure!(ended.stdout.is_empty() && !ended.stderr.is_empty(), "{arguments:?}: {}", ended.stdout);
    }
    ensure!(folder::names(home.path()).is_empty(), "something was left behind");
    Ok(())
}

fn into_head() -> Result<()> {
    let home = folder::folder()?;
    for command in ["--help", "plan", "plan --format json", "run --profile no-such"] {
        let script = format!("{{ \"$0\" storage-check {command}; echo \"code $?\" >&2; }} | head -1");
        let ended = plain().script(home.path(), &script).end()?.with_code(0)?;
        let code = if command.contains("no-such") { "code 2" } else { "code 0" };
        ended.says(&[code])?;
        ensure!(ended.stdout.lines().count() <= 1, "{}", ended.stdout);
        ensure!(!ended.stderr.contains("Broken pipe"), "{}", ended.stderr);
    }
    Ok(())
}

fn plan() -> Result<()> {
    let home = folder::folder()?;
    let ended = plain().call(home.path(), ["plan"]).end()?.with_code(0)?;
    ended.says(&["writes", "fill.write", "Nothing was written"])?;
    let ended = plain().call(home.path(), ["plan", "--format", "json"]).end()?.with_code(0)?;
    let plan: Value = serde_json::from_str(&ended.stdout)?;
    ensure!(plan["writes_bytes"].as_u64() > Some(0) && plan["space_bytes"].as_u64() <= Some(2 << 30), "{plan}");
    ensure!(folder::names(home.path()).is_empty(), "a plan wrote something");
    Ok(())
}

/// A small run with more arguments, on a disk of its own; `stdout` closed where it says so.
fn small(more: &[&str], closed: bool) -> Result<Ended> {
    let disk = LoopFs::new(64 * MIB)?;
    let home = folder::folder()?;
    let out = home.path().join("out");
    let profile = profile::file(home.path(), &profile::fill(SUITE))?;
    let mut arguments = run_arguments(&disk.path(), &profile, &out);
    arguments.extend(more.iter().map(|&text| text.to_owned()));
    let call = if closed {
        plain().script(home.path(), &format!("\"$0\" storage-check {} >&-", arguments.join(" ")))
    } else {
        plain().call(home.path(), arguments)
    };
    let ended = call.end()?.with_code(0)?;
    run::has_reports(&run::only(&out)?)?;
    ensure!(folder::names(&disk.path()) == ["lost+found"], "something was left behind");
    Ok(ended)
}

fn closed_stdout() -> Result<()> {
    small(&[], true).map(|_| ())
}

fn json() -> Result<()> {
    let ended = small(&["--format", "json"], false)?;
    let report: Value = serde_json::from_str(&ended.stdout)?;
    ensure!(report["exit_code"] == 0 && report["schema"] == 1, "{report}");
    Ok(())
}

fn quiet() -> Result<()> {
    let ended = small(&["--quiet"], false)?;
    ensure!(ended.stdout.lines().count() == 1 && ended.stderr.is_empty(), "{}\n{}", ended.stdout, ended.stderr);
    Ok(())
}
