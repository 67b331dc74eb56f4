//! A drive that becomes slower after a known number of bytes: the cliff is found there, and both levels.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use storage_check_tests::loop_fs::LoopFs;
use storage_check_tests::rig::{Need, note, trial};
use storage_check_tests::throttle::Throttle;
use storage_check_tests::{folder, profile, run, wait};

use super::{optimised, run_arguments};

const MB: u64 = 1_000_000;
const GIB: u64 = 1 << 30;
/// Before and after, and where the drive becomes slower.
const FAST: u64 = 200 * MB;
const SLOW: u64 = 80 * MB;
const AT: u64 = 1_300 * MB;

pub(crate) fn trials() -> Vec<Trial> {
    let claim = "the cliff of a drive that becomes slower is within 3 % of the place, its levels within 10 %";
    vec![trial(claim, &[Need::LoopFs, Need::Throttle], finds_the_cliff)]
}

fn finds_the_cliff() -> Result<()> {
    let tool = optimised()?;
    let disk = LoopFs::new(2 * GIB)?;
    let throttle = Throttle::new(disk.number()?)?;
    let home = folder::folder()?;
    // The throttle lets through in slices of 100 ms; a shorter step would sample the slices and not the rate.
    let suite = "left_free = \"1%\"\nsegments = 16\nblock = \"256KiB\"\ninterval = \"200ms\"\nverify = false";
    let profile = profile::file(home.path(), &profile::fill(suite))?;
    let out = home.path().join("out");
    let mount = disk.path().display().to_string();
    let mut arguments = run_arguments(&disk.path(), &profile, &out);
    arguments.extend(["--fill-volume".to_owned(), mount]);

    throttle.limit(FAST)?;
    disk.sync()?;
    let start = disk.written()?;
    let running = tool.throttled(&throttle, home.path(), arguments).start()?;
    let lowered = lower(&throttle, &disk, start + AT);
    running.end()?.with_code(0)?;
    let at = (lowered? - start) as f64 / 1e9;

    let report = run::report(&run::only(&out)?)?;
    let found = report["findings"]["fill"]["cliffs"].as_array().context("cliffs")?;
    ensure!(found.len() == 1, "lowered at {at} GB, found {found:?} in {}", report["findings"]["fill"]["curve"]);
    near("cliff", &found[0]["at_gb"], at, 0.03)?;
    near("level before", &found[0]["before_mb_s"], FAST as f64 / 1e6, 0.10)?;
    near("level after", &found[0]["after_mb_s"], SLOW as f64 / 1e6, 0.10)?;
    near("fill.cliff_gb", &run::metric(&report, "fill.cliff_gb")?["value"], at, 0.03)?;
    near("fill.fast_mb_s", &run::metric(&report, "fill.fast_mb_s")?["value"], FAST as f64 / 1e6, 0.10)?;
    near("fill.floor_mb_s", &run::metric(&report, "fill.floor_mb_s")?["value"], SLOW as f64 / 1e6, 0.10)
}

/// Lowers the throttle once the device has been asked to write `at` bytes; gives the number at that moment.
fn lower(throttle: &Throttle, disk: &LoopFs, at: u64) -> Result<u64> {
    let now = wait::until("the fill's first bytes", Duration::from_secs(60), || {
        Ok(Some(disk.written()?).filter(|&written| written >= at))
    })?;
    throttle.limit(SLOW)?;
    Ok(now)
}

fn near(what: &str, found: &serde_json::Value, expected: f64, tolerance: f64) -> Result<()> {
    let found = found.as_f64().with_context(|| format!("{what}: {found}"))?;
    let off = found / expected - 1.0;
    note(&format!("{what}: {found}, expected {expected:.4}, off by {:+.2} %", off * 100.0));
    ensure!(off.abs() <= tolerance, "{what}: found {found}, expected {expected}, off by {:.1} %", off * 100.0);
    Ok(())
}
