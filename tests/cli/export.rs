//! What other programs are given: they accept it, and find in it what was measured.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use storage_check_tests::folder;
use storage_check_tests::rig::{Need, trial};
use storage_check_tests::stored::Stored;
use xshell::{Shell, cmd};

use super::gate::Home;
use super::plain;

pub(crate) fn trials() -> Vec<Trial> {
    let promtool = [Need::Command("promtool")];
    let prometheus = [Need::Python("prometheus_client")];
    vec![
        trial("promtool accepts what is exported, hostile names too", &promtool, promtool_accepts),
        trial("Prometheus' own client reads the same figures", &prometheus, client_reads),
        trial("Bencher's format, the reports and CSV hold what the run measured", &[], same_figures),
        trial("an exported file is whole, and readable by others", &[], whole_files),
        trial("man pages tell every command, and bash takes its completions", &[Need::Command("bash")], manual),
    ]
}

/// Runs of a home, `first/…`.
fn run_of(home: &Home) -> Result<String> {
    let runs = folder::names(&home.path().join("first"));
    Ok(format!("first/{}", runs.first().context("no run")?))
}

fn promtool_accepts() -> Result<()> {
    let home = Home::accepted()?;
    let name = "a \"drive\" \\ ::error:: {x=\"y\"} 😀\nstorage_check_verdict{} 1";
    let hostile = Stored {
        drive: serde_json::json!({
            "name": "nvme9n1", "device": "259:9", "model": name, "serial": "S1", "firmware": name, "size": 1_u64 << 40, "stack": [],
        }),
        ..Stored::new("hostile", 500.0)
    };
    hostile.write(home.path())?;
    let shell = Shell::new()?;
    for run in [run_of(&home)?, "hostile".to_owned()] {
        let text = home.call(["export", "openmetrics", &run])?.with_code(0)?.stdout;
        cmd!(shell, "promtool check metrics").stdin(&text).quiet().run().with_context(|| text.clone())?;
        let wrong = text.replacen("gauge", "gouge", 1);
        let refused = cmd!(shell, "promtool check metrics").stdin(&wrong).quiet().ignore_stderr().run();
        ensure!(refused.is_err(), "promtool accepts anything");
    }
    Ok(())
}

fn client_reads() -> Result<()> {
    const READER: &str = "
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read
found = {}
for family in read(sys.stdin.read()):
    for sample in family.samples:
        found[sample.name + ' ' + sample.labels.get('metric', sample.labels.get('verdict', ''))] = sample.value
print(json.dumps(found))
";
    let home = Home::accepted()?;
    let run = run_of(&home)?;
    let text = home.call(["export", "openmetrics", &run])?.with_code(0)?.stdout;
    let shell = Shell::new()?;
    let found: Value = serde_json::from_str(&cmd!(shell, "python3 -c {READER}").stdin(text).quiet().read()?)?;
    let report: Value = serde_json::from_str(&home.call(["judge", &run, "--format", "json"])?.stdout)?;
    let floor = storage_check_tests::run::metric(&report, "fill.floor_mb_s")?["value"].as_f64().context("no floor")?;
    let theirs = found["storage_check_throughput_bytes_per_second fill.floor_mb_s"].as_f64().context("no rate")?;
    ensure!((theirs / 1e6 - floor).abs() < 1e-3, "{theirs} and {floor}");
    ensure!(found["storage_check_verdict held"] == 1.0 && found["storage_check_verdict regressed"] == 0.0, "{found}");
    Ok(())
}

fn same_figures() -> Result<()> {
    let home = Home::accepted()?;
    let run = run_of(&home)?;
    let export = |format: &str| -> Result<String> { Ok(home.call(["export", format, &run])?.with_code(0)?.stdout) };
    let report: Value = serde_json::from_str(&export("json")?)?;
    let bencher: Value = serde_json::from_str(&export("bencher")?)?;
    let fast = storage_check_tests::run::metric(&report, "fill.fast_mb_s")?;
    ensure!(fast["value"].is_number() && bencher["gate/fill"]["fast_mb_s"]["value"] == fast["value"], "{bencher}");
    let stored = |name: &str| fs::read_to_string(home.path().join(&run).join(name));
    // Judged now, and there was no baseline when it was made.
    ensure!(export("markdown")?.contains("held") && stored("report.md")?.contains("no-baseline"), "not judged again");
    ensure!(export("junit")?.contains("gate.toml"), "the baseline is not named");
    let samples = export("csv")?;
    let bytes = samples.lines().skip(1).filter_map(|row| row.split(',').nth(6)?.parse::<u64>().ok()).sum::<u64>();
    ensure!(Some(bytes) == report["bytes_written"].as_u64(), "{bytes} and {}", report["bytes_written"]);
    fs::write(home.path().join("samples.csv"), &samples)?;
    let analyze = |file: &str| -> Result<Value> {
        let said = home.call(["analyze", file, "--format", "json"])?.with_code(0)?.stdout;
        Ok(serde_json::from_str::<Value>(&said)?[0]["cliffs"].clone())
    };
    let (exported, own) = (analyze("samples.csv")?, analyze(&run)?);
    ensure!(exported[0]["at_gb"].is_number() && exported == own, "{exported} and {own}");
    home.call(["export", "csv", "nothing"])?.with_code(2)?.says(&["name a run folder"])
}

fn whole_files() -> Result<()> {
    let home = Home::accepted()?;
    let run = run_of(&home)?;
    home.call(["export", "openmetrics", &run, "--output", "drive.prom"])?.with_code(0)?;
    let file = home.path().join("drive.prom");
    ensure!(fs::read_to_string(&file)?.ends_with("# EOF\n"), "cut");
    let mode = fs::metadata(&file)?.permissions().mode() & 0o777;
    ensure!(mode == 0o666 & !umask()?, "mode {mode:o}");
    home.call(["export", "openmetrics", &run, "--output", "no/such/folder.prom"])?.with_code(4)?.says(&["failed"])?;
    let left = folder::names(home.path()).into_iter().filter(|name| name.starts_with(".storage-check"));
    ensure!(left.count() == 0, "something was left");
    Ok(())
}

/// What new files are kept from, as the process that tests has it.
fn umask() -> Result<u32> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:")).context("no umask")?;
    Ok(u32::from_str_radix(line.trim(), 8)?)
}

fn manual() -> Result<()> {
    let home = folder::folder()?;
    let call = |arguments: &[&str]| plain().call(home.path(), arguments).end()?.with_code(0);
    call(&["man", "pages"])?;
    let pages = folder::names(&home.path().join("pages"));
    let help = call(&["--help"])?.stdout;
    let commands = help.split("Commands:").nth(1).context("no commands")?.split("Options:").next().unwrap_or_default();
    let names = commands.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let names: Vec<&str> =
        names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect();
    ensure!(names.len() > 10, "{help}");
    for name in &names {
        ensure!(pages.contains(&format!("storage-check-{name}.1")), "no page of {name} in {pages:?}");
    }
    let shell = Shell::new()?;
    let completions = call(&["completions", "bash"])?.stdout;
    let script = format!(
        "{completions}\nCOMP_WORDS=(storage-check jud); COMP_CWORD=1; _storage__check storage-check jud storage-check; \
         echo \"${{COMPREPLY[*]}}\""
    );
    let completed = cmd!(shell, "bash -c {script}").quiet().read()?;
    ensure!(completed == "judge", "{completed}");
    Ok(())
}
