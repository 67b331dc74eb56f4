//! ReFrame runs the example of `docs/ci/reframe.py` as it stands: green where the drive is as good, red where not.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use storage_check_tests::rig::{Need, trial};
use storage_check_tests::source;
use xshell::{Shell, cmd};

use super::gate::{DRIVE, Home};

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial(
        "ReFrame is green on an equal drive and red on a worse, an unknown and a broken one",
        &[Need::Command("reframe")],
        colours,
    )]
}

fn colours() -> Result<()> {
    let home = Home::accepted()?;
    let (green, log) = reframe(&home, &format!("{DRIVE}&seed=4"))?;
    ensure!(green && log.contains("PASSED") && log.contains("fill.cliff_gb: 2."), "{log}");
    let (green, log) = reframe(&home, &format!("{DRIVE}&seed=4&slower=40%&firmware=FW02"))?;
    ensure!(!green && log.contains("since drive.firmware FW01 → FW02"), "{log}");
    let (green, log) = reframe(&home, "sim:consumer-tlc?scale=20")?;
    ensure!(!green && log.contains("no baseline"), "{log}");
    let (green, log) = reframe(&home, &format!("{DRIVE}&fault=gone@10s"))?;
    ensure!(!green && log.contains("the drive is gone"), "{log}");
    Ok(())
}

/// Whether ReFrame is content, and what it says. All that it writes goes into the home.
fn reframe(home: &Home, target: &str) -> Result<(bool, String)> {
    let shell = Shell::new()?;
    shell.change_dir(home.path());
    let programs = home.path().join("bin");
    if !programs.exists() {
        fs::create_dir(&programs)?;
        let program = programs.join("storage-check");
        fs::write(&program, format!("#!/bin/sh\nexec '{}' storage-check \"$@\"\n", env!("CARGO_BIN_EXE_xtask")))?;
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        fs::copy(source::root().join("docs/ci/reframe.py"), home.path().join("reframe.py"))?;
    }
    let path = std::env::var_os("PATH").context("no PATH")?;
    let path = std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&path)))?;
    let profile: PathBuf = home.path().join("gate.toml");
    let (target, profile) =
        (format!("storage_check.target={target}"), format!("storage_check.profile={}", profile.display()));
    let output = cmd!(shell, "reframe --nocolor -c reframe.py -r --prefix reframe -S {target} -S {profile}")
        .env("PATH", path)
        .env("HOME", home.path())
        .env("TMPDIR", home.path())
        .env_remove("CI")
        .quiet()
        .ignore_status()
        .output()?;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Ok((output.status.success(), said))
}
