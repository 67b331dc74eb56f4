//! Logs of others, journals and runs side by side: what `analyze` and `compare` print, and how they end.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use storage_check_tests::folder;
use storage_check_tests::rig::trial;
use storage_check_tests::stored::Stored;
use storage_check_tests::tool::Ended;

use super::plain;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("analyze sums the jobs of a run, and says so", &[], jobs),
        trial("what is refused exits 2 with file and line, and the rest is analysed", &[], refused),
        trial("analyze finds in a journal what its report says", &[], journal),
        trial("analyze draws the curve with its cliff", &[], drawn),
        trial("compare shows runs side by side in all its forms", &[], compared),
        trial("compare wants two runs that can be read", &[], unreadable),
    ]
}

fn call(home: &Path, arguments: &[&str]) -> Result<Ended> {
    plain().call(home, arguments).end()
}

/// A fio log of so many seconds at 100 MiB/s, then at 40.
fn log(seconds: u64) -> String {
    let rate = |second| if second <= seconds / 3 { 102_400 } else { 40_960 };
    (1..=seconds).map(|second| format!("{}, {}, 1, 0, 0\n", 1000 * second, rate(second))).collect()
}

fn jobs() -> Result<()> {
    let home = folder::folder()?;
    fs::write(home.path().join("a_bw.1.log"), log(90))?;
    fs::write(home.path().join("a_bw.2.log"), log(90))?;
    let ended = call(home.path(), &["analyze", "a_bw.1.log", "a_bw.2.log", "--format", "json"])?.with_code(0)?;
    let found: Value = serde_json::from_str(&ended.stdout)?;
    let [series] = &found.as_array().context("no array")?[..] else { anyhow::bail!("{found}") };
    let bytes = 2_u64 * 1024 * (30 * 102_400 + 60 * 40_960);
    let expect = serde_json::json!({"file": "a_bw.1.log", "kind": "write", "bytes": bytes, "seconds": 90});
    for (key, value) in expect.as_object().into_iter().flatten() {
        ensure!(&series[key] == value, "{key}: {}", series[key]);
    }
    let cliff = &series["cliffs"][0];
    let at = cliff["at_gb"].as_f64().context("no cliff")?;
    ensure!((at - 6.291).abs() < 0.2 && series["cliffs"].as_array().is_some_and(|cliffs| cliffs.len() == 1), "{cliff}");
    let steady: Vec<&String> = series["steady"].as_object().context("no steady")?.keys().collect();
    for key in ["state", "mb_s", "low_mb_s", "high_mb_s", "since_s", "decided_s", "decided_mb_s"] {
        ensure!(steady.iter().any(|name| *name == key), "{key}: {steady:?}");
    }
    ensure!(series["warnings"][0].as_str().is_some_and(|text| text.contains("2 jobs were summed")), "{series}");
    let apart = call(home.path(), &["analyze", "a_bw.1.log", "a_bw.2.log", "--jobs", "apart", "--format", "json"])?;
    ensure!(serde_json::from_str::<Value>(&apart.stdout)?.as_array().is_some_and(|series| series.len() == 2));
    Ok(())
}

fn refused() -> Result<()> {
    let home = folder::folder()?;
    fs::write(home.path().join("good_bw.log"), log(9))?;
    fs::write(home.path().join("bad_bw.log"), log(9) + "10000, many, 1, 0, 0\n")?;
    let arguments = ["analyze", "bad_bw.log", "good_bw.log", "none_bw.log", "--format", "json"];
    let ended = call(home.path(), &arguments)?.with_code(2)?;
    let found: Value = serde_json::from_str(&ended.stdout)?;
    ensure!(found.as_array().is_some_and(|series| series.len() == 1) && found[0]["file"] == "good_bw.log", "{found}");
    ended.says(&["bad_bw.log:10: \"many\" is no whole number", "none_bw.log: reading it failed"])?;
    for wrong in [&["analyze"][..], &["analyze", "x", "--drive-gib", "-3"], &["analyze", "x", "--jobs", "some"]] {
        call(home.path(), wrong)?.with_code(2)?;
    }
    call(home.path(), &["analyze", "--help"])?.with_code(0)?.says(&["Files that belong together", "--block-size"])
}

/// A run whose fill falls by half after three of its sixteen segments.
fn fallen(name: &str) -> Stored {
    let mut run = Stored::new(name, 500.0);
    run.rates[3..].fill(250.0);
    run
}

fn journal() -> Result<()> {
    let home = folder::folder()?;
    fallen("a").write(home.path())?;
    let judged = call(home.path(), &["judge", "a", "--format", "json"])?.with_code(0)?;
    let judged: Value = serde_json::from_str(&judged.stdout)?;
    let ended = call(home.path(), &["analyze", "a", "--format", "json"])?.with_code(0)?;
    let found: Value = serde_json::from_str(&ended.stdout)?;
    let fill = found.as_array().into_iter().flatten().find(|series| series["kind"] == "fill").context("no fill")?;
    ensure!(fill["cliffs"] == judged["findings"]["fill"]["cliffs"], "{fill} and {judged}");
    ensure!(fill["cliffs"][0]["before_mb_s"] == 500 && fill["part"] == "fill.write", "{fill}");
    Ok(())
}

fn drawn() -> Result<()> {
    let home = folder::folder()?;
    fs::write(home.path().join("a_bw.log"), log(90))?;
    let ended = call(home.path(), &["analyze", "a_bw.log"])?.with_code(0)?;
    ended.says(&["a_bw.log: write, 5.66 GB", "MB/s", "▼ 3.1", "cliff 1", "105 → 41.9 MB/s (-60 %)", "steady"])?;
    let quiet = call(home.path(), &["analyze", "a_bw.log", "--quiet"])?.with_code(0)?;
    ensure!(quiet.stdout.lines().count() == 2, "{}", quiet.stdout);
    Ok(())
}

fn compared() -> Result<()> {
    let home = folder::folder()?;
    Stored::new("a", 500.0).write(home.path())?;
    fallen("b").write(home.path())?;
    let terminal = call(home.path(), &["compare", "a", "b"])?.with_code(0)?;
    terminal.says(&[
        "A  ACME TURBO960",
        "fill.last_10pct_mb_s",
        "250 MB/s (×0.500)",
        "throughput over bytes written",
    ])?;
    let markdown = call(home.path(), &["compare", "a", "b", "--format", "md"])?.with_code(0)?;
    markdown.says(&["# storage-check: comparison", "| `fill.last_10pct_mb_s` | 500 MB/s | 250 MB/s (×0.500) |"])?;
    let json = call(home.path(), &["compare", "a", "b/journal.jsonl", "--format", "json"])?.with_code(0)?;
    let found: Value = serde_json::from_str(&json.stdout)?;
    ensure!(found["runs"][0]["run"] == "a" && found["runs"][1]["run"] == "b", "{found}");
    ensure!(found["runs"][1]["metrics"]["fill.last_10pct_mb_s"]["value"] == 250, "{found}");
    ensure!(found["runs"][0]["metrics"]["fill.cliff_gb"]["reason"] == "no-cliff", "{found}");
    ensure!(found["runs"][0]["levels"] == serde_json::json!([]) && found["runs"][0]["fsef"].is_null(), "{found}");
    Ok(())
}

fn unreadable() -> Result<()> {
    let home = folder::folder()?;
    Stored::new("a", 500.0).write(home.path())?;
    call(home.path(), &["compare", "a"])?.with_code(2)?;
    call(home.path(), &["compare", "a", "b"])?.with_code(2)?.says(&["b", "name a run folder"])
}
