//! Bad input: each kind has its own clear text and exit code, and leaves nothing behind.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use storage_check_tests::loop_fs::LoopFs;
use storage_check_tests::rig::{Need, trial};
use storage_check_tests::{folder, profile, run};

use super::{plain, run_arguments};

const MIB: u64 = 1 << 20;

pub(crate) fn trials() -> Vec<Trial> {
    let profiles = PROFILES.iter().map(|&(what, suite, says)| {
        trial(format!("a profile with {what} is a usage error"), &[], move || bad_profile(suite, says))
    });
    let targets = TARGETS.iter().map(|&(target, says)| {
        trial(format!("{target} as target is refused"), &[], move || refused(Path::new(target), says))
    });
    let others = [
        trial("a folder that is not there is refused", &[], missing_folder),
        trial("a file as target is refused", &[], file_as_target),
        trial("tmpfs as target is refused", &[], tmpfs),
        trial("more than the disk holds is refused", &[], too_little_space),
        trial("a read-only filesystem as target is refused", &[Need::LoopFs], read_only_filesystem),
        trial("a folder that may not be written to is refused", &[Need::LoopFs], read_only_folder),
        trial("an output folder that is a file is a usage error", &[], out_is_a_file),
        trial("an output folder on a read-only filesystem is a usage error", &[Need::LoopFs], out_is_read_only),
        trial("a second run on the same folder is refused while the first runs", &[Need::LoopFs], second_run),
        trial("a profile that is not there names the nearest one", &[], unknown_profile),
        trial("a plan over the write budget is a usage error", &[], over_budget),
    ];
    profiles.chain(targets).chain(others).collect()
}

/// What is wrong, the suite's keys, and what the error must say.
const PROFILES: [(&str, &str, &[&str]); 14] = [
    ("an unknown key", "segments = 4\nblok = \"1MiB\"", &["line 6", "`blok`", "did you mean `block`?"]),
    ("a key of another table", "segments = 4\nscratch = \"1GiB\"", &["`scratch`", "another table"]),
    ("no segments", "size = \"1MiB\"\nsegments = 0", &["segments", "0"]),
    ("negative segments", "size = \"1MiB\"\nsegments = -1", &["line 6", "-1"]),
    ("more segments than a number holds", "segments = 99999999999999999999", &["line 5"]),
    ("a negative size", "size = \"-1MiB\"\nsegments = 1", &["line 5", "-1MiB"]),
    ("a size that overflows", "size = \"99999999999999TiB\"\nsegments = 1", &["line 5", "99999999999999TiB"]),
    ("a size without a unit", "size = \"4096\"\nsegments = 1", &["line 5", "4096"]),
    ("a block of nothing", "segments = 1\nblock = \"0B\"", &["block"]),
    ("a block of half a sector", "segments = 1\nblock = \"100B\"", &["block", "512"]),
    ("200 % left free", "segments = 1\nleft_free = \"200%\"", &["left_free", "200%"]),
    ("no interval", "segments = 1\ninterval = \"0s\"", &["interval"]),
    ("no depth", "segments = 1\nqueue_depth = 0", &["queue_depth"]),
    ("a broken string", "segments = 1\nblock = \"1MiB", &["line 6"]),
];

/// Targets that every machine has and that nobody measures.
const TARGETS: [(&str, &[&str]); 5] = [
    ("/proc", &["proc", "no files"]),
    ("/", &["/", "folder inside it"]),
    ("/sys", &["sys"]),
    ("/usr", &["belongs to the system"]),
    ("/dev/null", &["character device"]),
];

/// Exit 2, nothing in the target, no run folder.
fn bad_profile(suite: &str, says: &[&str]) -> Result<()> {
    let home = folder::folder()?;
    let (target, out) = (home.path().join("target"), home.path().join("out"));
    fs::create_dir(&target)?;
    let profile = profile::file(home.path(), &profile::fill(suite))?;
    let ended = plain().call(home.path(), run_arguments(&target, &profile, &out)).end()?.with_code(2)?;
    ended.says(says)?;
    ended.says(&["rig.toml"])?;
    ensure!(folder::names(&target).is_empty() && folder::names(&out).is_empty(), "something was left behind");
    Ok(())
}

/// Exit 3, the reason printed and reported, nothing in the target.
fn refused(target: &Path, says: &[&str]) -> Result<()> {
    refused_with(target, "size = \"4MiB\"\nsegments = 4", says)
}

fn refused_with(target: &Path, suite: &str, says: &[&str]) -> Result<()> {
    let home = folder::folder()?;
    let out = home.path().join("out");
    let profile = profile::file(home.path(), &profile::fill(suite))?;
    let before = folder::names(target);
    let ended = plain().call(home.path(), run_arguments(target, &profile, &out)).end()?.with_code(3)?;
    ended.says(says)?;
    ensure!(folder::scratch_in(target).is_empty(), "a scratch folder was left in {}", target.display());
    if !target.starts_with("/proc") {
        ensure!(folder::names(target) == before, "{} was changed", target.display());
    }
    let run = run::only(&out)?;
    let report = run::report(&run)?;
    ensure!(report["exit_code"] == 3 && report["failure"]["kind"] == "refused", "{report}");
    ensure!(fs::read_to_string(run.join("junit.xml"))?.contains("<error"), "JUnit has no <error>");
    Ok(())
}

fn missing_folder() -> Result<()> {
    let home = folder::folder()?;
    let target = home.path().join("nowhere");
    refused(&target, &["nowhere", "no such folder"])?;
    ensure!(!target.exists(), "the folder was made");
    Ok(())
}

fn file_as_target() -> Result<()> {
    let home = folder::folder()?;
    let target = home.path().join("file");
    fs::write(&target, "mine")?;
    refused(&target, &["no folder"])?;
    ensure!(fs::read_to_string(&target)? == "mine", "the file was changed");
    Ok(())
}

fn tmpfs() -> Result<()> {
    let target = tempfile::tempdir_in("/dev/shm")?;
    refused(target.path(), &["tmpfs", "memory, not a drive"])
}

fn too_little_space() -> Result<()> {
    let target = folder::folder()?;
    refused_with(target.path(), "size = \"4000TiB\"\nsegments = 4", &["must stay free", "needs at most"])
}

fn read_only_filesystem() -> Result<()> {
    let mut disk = LoopFs::new(64 * MIB)?;
    disk.remount("ro")?;
    refused(&disk.path(), &["read-only", "remount"])
}

fn read_only_folder() -> Result<()> {
    let disk = LoopFs::new(64 * MIB)?;
    let target = disk.path().join("kept");
    fs::create_dir(&target)?;
    // Root may write where the mode says no, but not where the filesystem does.
    let shell = xshell::Shell::new()?;
    xshell::cmd!(shell, "chattr +i {target}").quiet().run()?;
    refused(&target, &["may not make files"])
}

/// Exit 2, nothing in the target.
fn bad_out(out: &Path, says: &[&str]) -> Result<()> {
    let home = folder::folder()?;
    let target = home.path().join("target");
    fs::create_dir(&target)?;
    let profile = profile::file(home.path(), &profile::fill("size = \"4MiB\"\nsegments = 4"))?;
    let ended = plain().call(home.path(), run_arguments(&target, &profile, out)).end()?.with_code(2)?;
    ended.says(says)?;
    ended.says(&["--out"])?;
    ensure!(folder::names(&target).is_empty(), "something was left behind in the target");
    Ok(())
}

fn out_is_a_file() -> Result<()> {
    let home = folder::folder()?;
    let out = home.path().join("out");
    fs::write(&out, "mine")?;
    bad_out(&out, &["output folder", "out"])?;
    ensure!(fs::read_to_string(&out)? == "mine", "the file was changed");
    Ok(())
}

fn out_is_read_only() -> Result<()> {
    let mut disk = LoopFs::new(64 * MIB)?;
    disk.remount("ro")?;
    bad_out(&disk.path(), &["output folder", "Read-only"])?;
    bad_out(&disk.path().join("out"), &["output folder", "Read-only"])
}

fn second_run() -> Result<()> {
    let disk = LoopFs::new(64 * MIB)?;
    let home = folder::folder()?;
    let profile = profile::file(home.path(), &profile::fill("size = \"4MiB\"\nsegments = 4\nsettle = \"60s\""))?;
    let out = home.path().join("out");
    let first = plain().call(home.path(), run_arguments(&disk.path(), &profile, &out)).start()?;
    run::wait_for(&out, Duration::from_secs(20), |record| run::ends(record, "fill.write"))?;
    let second = home.path().join("second");
    let ended = plain().call(home.path(), run_arguments(&disk.path(), &profile, &second)).end()?.with_code(3)?;
    ended.says(&["another run is measuring the drive", "wait"])?;
    ensure!(folder::scratch_in(&disk.path()).len() == 1, "the first run's scratch folder is gone or not alone");
    first.signal(rustix::process::Signal::INT)?;
    first.end()?.with_code(4)?;
    // The lock died with its owner.
    let short = profile::file(home.path(), &profile::fill("size = \"4MiB\"\nsegments = 4"))?;
    let third = home.path().join("third");
    plain().call(home.path(), run_arguments(&disk.path(), &short, &third)).end()?.with_code(0).map(|_| ())
}

fn unknown_profile() -> Result<()> {
    let home = folder::folder()?;
    let ended = plain().call(home.path(), ["run", "--profile", "quik"]).end()?.with_code(2)?;
    ended.says(&["quik", "quick"])?;
    ensure!(folder::names(home.path()).is_empty(), "something was left behind");
    Ok(())
}

fn over_budget() -> Result<()> {
    let home = folder::folder()?;
    let ended = plain().call(home.path(), ["run", "--max-write", "1MB"]).end()?.with_code(2)?;
    ended.says(&["budget", "--max-write"])?;
    ensure!(folder::scratch_in(home.path()).is_empty(), "a scratch folder was left behind");
    let runs = folder::names(&home.path().join("storage-check-runs"));
    ensure!(runs.is_empty(), "run folders were left behind: {runs:?}");
    Ok(())
}
