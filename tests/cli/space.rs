//! Somebody else fills the disk while a run goes on: it ends with what it has measured, in files that are whole.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use harness::journal::record::{FaultKind, Record};
use libtest_mimic::Trial;
use rustix::fs::FallocateFlags;
use storage_check_tests::loop_fs::LoopFs;
use storage_check_tests::rig::{Need, trial};
use storage_check_tests::throttle::Throttle;
use storage_check_tests::{folder, profile, run};

use super::{plain, run_arguments};

const MIB: u64 = 1 << 20;
const SEGMENTS: u32 = 20;
/// A fifth of the filesystem is not the fill's, and somebody else takes that too.
const SUITE: &str = "left_free = \"20%\"\nsegments = 20\nblock = \"256KiB\"\ninterval = \"20ms\"";

pub(crate) fn trials() -> Vec<Trial> {
    let needs = [Need::LoopFs, Need::Throttle];
    vec![
        trial("a disk that others fill at 30 % of the fill: exit 4, reports on the full disk", &needs, || full(false)),
        trial("so it is with --keep: reports on the full disk", &needs, || full(true)),
    ]
}

fn full(keep: bool) -> Result<()> {
    let disk = LoopFs::new(192 * MIB)?;
    let throttle = Throttle::new(disk.number()?)?;
    throttle.limit(64 * MIB)?;
    let home = folder::folder()?;
    let profile = profile::file(home.path(), &profile::fill(SUITE))?;
    let out = disk.path().join("out");
    let mut arguments = run_arguments(&disk.path(), &profile, &out);
    arguments.extend(["--fill-volume".to_owned(), disk.path().display().to_string()]);
    arguments.extend(keep.then(|| "--keep".to_owned()));
    let running = plain().throttled(&throttle, home.path(), arguments).start()?;
    let third = SEGMENTS * 3 / 10;
    run::wait_for(
        &out,
        Duration::from_secs(30),
        |record| matches!(record, Record::SegmentStart { segment, .. } if *segment == third),
    )?;
    let taken = take_all(&disk.path().join("somebody-else"))?;
    ensure!(taken > 10 * MIB, "only {taken} bytes were left to take");
    running.end()?.with_code(4)?.says(&["somebody else filled the disk"])?;

    let run = run::only(&out)?;
    run::has_reports(&run)?;
    let report = run::report(&run)?;
    ensure!(report["failure"]["kind"] == "failed" && report["exit_code"] == 4, "{report}");
    let journal = run::journal(&run)?;
    let finished = journal.phase("fill.write").context("no fill")?.finished.len();
    ensure!((third as usize..SEGMENTS as usize).contains(&finished), "{finished} segments");
    let fault = journal.faults.first().context("no fault in the journal")?;
    ensure!(fault.what == FaultKind::NoSpace && fault.segment.is_some(), "{fault:?}");
    ensure!(journal.conservation().is_empty(), "{:?}", journal.conservation());
    ensure!(report["findings"]["fill"]["bytes"].as_u64() > Some(30 * MIB), "the report has no segments");
    let left = folder::scratch_in(&disk.path()).len();
    ensure!(left == usize::from(keep), "{left} scratch folders");
    Ok(())
}

/// Takes every free block; the number of bytes.
fn take_all(path: &Path) -> Result<u64> {
    let mut file = File::create(path)?;
    let (mut taken, mut step) = (0, 64 * MIB);
    // A filesystem says no to a large piece while smaller ones still fit.
    while step >= 4096 {
        match rustix::fs::fallocate(&file, FallocateFlags::empty(), taken, step) {
            Ok(()) => taken += step,
            Err(rustix::io::Errno::NOSPC) => step /= 2,
            Err(errno) => return Err(errno.into()),
        }
    }
    // What is left for the last block, if any, goes to plain writes.
    let mut last = File::create(path.with_extension("last"))?;
    while last.write_all(&[1; 4096]).and_then(|()| last.sync_data()).is_ok() {
        taken += 4096;
    }
    file.flush()?;
    fs::metadata(path)?;
    Ok(taken)
}
