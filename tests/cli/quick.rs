//! The quick profile on the disk that the workspace is built on: one run, many claims.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use std::{path::Path, path::PathBuf, thread};

use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use storage_check_tests::rig::Need;
use storage_check_tests::tool::{Ended, Tool};
use storage_check_tests::{folder, rig, run};
use tempfile::TempDir;

/// What the run was seen to do.
struct Quick {
    home: TempDir,
    ended: Ended,
    run: PathBuf,
    report: Value,
    most_space: u64,
}

/// What must hold of a run.
type Claim = fn(&Quick) -> Result<()>;
/// Run once, by the first test that asks; removed with the last.
type Shared = Arc<OnceLock<Result<Quick, String>>>;

pub(crate) fn trials() -> Vec<Trial> {
    let shared = Shared::default();
    let claims: [(&str, &[Need], Claim); 7] = [
        ("quick ends well within 90 s", &[], ends_in_time),
        ("quick needs at most 2 GiB of space and writes at most 16 GiB", &[], is_modest),
        ("quick: the drive counts what was written", &[], reaches_the_drive),
        ("quick leaves every file of a run folder, and nothing in the target", &[], leaves_reports_only),
        ("quick reports every fill metric that applies", &[], reports_every_metric),
        ("quick prints the verdict and where the reports are", &[], prints_the_verdict),
        ("quick: its report opens in a browser and asks for nothing", &[Need::Command("chromium")], opens),
    ];
    claims
        .map(|(claim, needs, check)| {
            let shared = shared.clone();
            rig::trial(claim, needs, move || {
                let quick = shared.get_or_init(|| measured().map_err(|why| format!("{why:#}")));
                check(quick.as_ref().map_err(|why| anyhow!("{why}"))?)
            })
        })
        .into()
}

/// What somebody else did to the disk meanwhile, and no fault of the run's.
const DISTURBED: [&str; 2] = ["others used the drive meanwhile", "another run is measuring the drive"];

/// How long somebody else may have the disk before that is the failure.
const PATIENCE: Duration = Duration::from_secs(180);

/// A run on a disk that nobody else uses.
fn measured() -> Result<Quick> {
    let tool = super::optimised()?;
    let start = Instant::now();
    loop {
        let quick = measure(&tool)?;
        let disturbed = DISTURBED.iter().any(|why| quick.ended.stdout.contains(why));
        if !disturbed || start.elapsed() > PATIENCE {
            return Ok(quick);
        }
        // A refusal comes at once, and asking again at once would only be refused again.
        thread::sleep(Duration::from_secs(1));
    }
}

fn measure(tool: &Tool) -> Result<Quick> {
    let home = folder::folder()?;
    let mut running = tool.call(home.path(), [""; 0]).start()?;
    let mut most_space = 0;
    while !running.is_over()? {
        let now: u64 = folder::scratch_in(home.path()).iter().map(|scratch| folder::allocated(scratch)).sum();
        most_space = most_space.max(now);
        thread::sleep(Duration::from_millis(20));
    }
    let ended = running.end()?;
    let run = run::only(&home.path().join("storage-check-runs")).with_context(|| ended.stderr.clone())?;
    let report = run::report(&run)?;
    Ok(Quick { home, ended, run, report, most_space })
}

fn ends_in_time(quick: &Quick) -> Result<()> {
    let ended = quick.ended.clone().with_code(0)?;
    ensure!(ended.took < Duration::from_secs(90), "it took {:?}", ended.took);
    ensure!(quick.report["exit_code"] == 0, "{}", quick.report["exit_code"]);
    Ok(())
}

fn is_modest(quick: &Quick) -> Result<()> {
    const GIB: u64 = 1 << 30;
    // A little for the folder itself and for what the filesystem needs to find the blocks.
    ensure!(quick.most_space <= 2 * GIB + (1 << 20), "{} bytes of space", quick.most_space);
    ensure!(quick.most_space > GIB, "only {} bytes were seen in the scratch folder", quick.most_space);
    let written = quick.report["bytes_written"].as_u64().context("bytes_written")?;
    ensure!((4 * GIB..=16 * GIB).contains(&written), "{written} bytes written");
    Ok(())
}

fn reaches_the_drive(quick: &Quick) -> Result<()> {
    let ratios = quick.report["findings"]["fill"]["counter_ratios"].as_object().context("counter_ratios")?;
    for phase in ["fill.write", "fill.read", "fill.burst.1", "fill.burst.2"] {
        let ratio = ratios.get(phase).and_then(Value::as_f64).with_context(|| format!("{phase} in {ratios:?}"))?;
        ensure!((0.98..=1.10).contains(&ratio), "{phase}: {ratio}");
    }
    Ok(())
}

fn leaves_reports_only(quick: &Quick) -> Result<()> {
    run::has_reports(&quick.run)?;
    let names = folder::names(quick.home.path());
    ensure!(names == ["storage-check-runs"], "the target holds {names:?}");
    let name = quick.run.file_name().and_then(|name| name.to_str()).context("name")?;
    ensure!(is_run_name(name), "{name} is not <UTC>-<drive>-<profile>");
    let broken = run::journal(&quick.run)?.conservation();
    ensure!(broken.is_empty(), "{broken:?}");
    Ok(())
}

/// `20261130T132402Z-vda-quick`
fn is_run_name(name: &str) -> bool {
    let (moment, rest) = name.split_once('-').unwrap_or_default();
    let digits = moment.bytes().filter(u8::is_ascii_digit).count();
    moment.len() == 16
        && digits == 14
        && moment.ends_with('Z')
        && rest.len() > "-quick".len()
        && rest.ends_with("-quick")
}

fn reports_every_metric(quick: &Quick) -> Result<()> {
    let always =
        ["fast_mb_s", "mean_mb_s", "first_10pct_mb_s", "last_10pct_mb_s", "read_mb_s", "burst_5s_gb", "burst_10s_gb"];
    for name in always {
        let line = run::metric(&quick.report, &format!("fill.{name}"))?;
        let bound = line["value"].as_f64().or_else(|| line["low"].as_f64());
        ensure!(bound.is_some_and(|bound| bound > 0.0), "{line}");
    }
    ensure!(run::metric(&quick.report, "fill.verify_errors")?["value"] == 0, "verify errors");
    // Whether this disk has a cliff is its own affair: a figure, or a reason from the contract.
    for name in ["cliff_gb", "floor_mb_s"] {
        let line = run::metric(&quick.report, &format!("fill.{name}"))?;
        let reason = line["reason"].as_str().unwrap_or_default();
        let has_reason = ["never", "too-short", "no-cliff", "not-applicable"].contains(&reason);
        ensure!(line["value"].is_number() || has_reason, "{line}");
    }
    Ok(())
}

fn prints_the_verdict(quick: &Quick) -> Result<()> {
    let folder = quick.run.strip_prefix(Path::new("/"))?.display().to_string();
    quick.ended.says(&["no-baseline", "fill.mean_mb_s", &folder])?;
    ensure!(!quick.ended.stdout.contains('\u{1b}'), "colour without a terminal");
    ensure!(quick.ended.stderr.lines().count() < 40, "too many remarks:\n{}", quick.ended.stderr);
    Ok(())
}

fn opens(quick: &Quick) -> Result<()> {
    super::browser::opens(&quick.run.join("report.html"), quick.home.path()).map(|_| ())
}
