//! A drive's own purge, asked for by name: refused where it must be, done to its end, and begun again after a kill.

use std::fs;

use anyhow::{Context, Result, ensure};
use harness::journal::record::{Outcome, PurgeGrade, Record};
use harness::sample::purge::{NamedPurge, PurgeCheck, Reads};
use harness::units::Nanos;
use libtest_mimic::Trial;
use storage_check_tests::loop_device::LoopDevice;
use storage_check_tests::rig::{Need, note, trial};
use storage_check_tests::stored::Stored;
use storage_check_tests::vm::{Booted, Drive, Vm, digest};
use storage_check_tests::{dist, folder, profile, run};

use super::{plain, run_arguments};

const MIB: u64 = 1 << 20;
const SUITE: &str = "size = \"24MiB\"\nsegments = 3\nblock = \"1MiB\"\ninterval = \"100ms\"";

pub(crate) fn trials() -> Vec<Trial> {
    let with_mkfs = [Need::Vm, Need::Command("mkfs.ext4")];
    vec![
        trial("runs that were purged otherwise, or not as the device promises, are not compared", &[], not_compared),
        trial("a purge by name of what is no NVMe drive is refused, and nothing is written", &[Need::LoopFs], no_drive),
        trial(
            "in a machine: a format erases its namespace and no other, and is refused while one is used",
            &with_mkfs,
            formats,
        ),
        trial(
            "in a machine: a format outlasts a signal and a kill, and a killed run begins with it again",
            &[Need::Vm],
            outlasts,
        ),
    ]
}

fn not_compared() -> Result<()> {
    let home = folder::folder()?;
    let call = |arguments: &[&str]| plain().call(home.path(), arguments.iter().copied()).end();
    let judged = |id: &str, grade: PurgeGrade, check: PurgeCheck| {
        let mut run = Stored::new(id, 500.0);
        run.environment.note("purge", Some(grade.word()));
        let how = "format namespace 1".to_owned();
        let purge = Record::Purge { at_ns: Nanos(0), grade, check: Some(check) };
        run.behind_header = vec![Record::PurgeBegun { at_ns: Nanos(0), what: NamedPurge::Format, how }, purge];
        run.write(home.path())?;
        if id == "first" { call(&["baseline", "accept", id, "--reason", "new"]) } else { call(&["judge", id]) }
    };
    let fine = || PurgeCheck { promise: Some(Reads::Zeros), sampled: 64, ..PurgeCheck::default() };
    judged("first", PurgeGrade::Format, fine())?.with_code(0)?;
    judged("equal", PurgeGrade::Format, fine())?.with_code(0)?;
    judged("unknown", PurgeGrade::Format, PurgeCheck::default())?.with_code(0)?;
    judged("other", PurgeGrade::Discard, fine())?.with_code(5)?.says(&["not comparable: purge format → discard"])?;
    let broken = PurgeCheck { wrong: 3, first_wrong: Some(1 << 20), ..fine() };
    let words =
        "not comparable: the purge before the run: format; not verified: 3 of 64 sampled blocks do not read as zeros";
    judged("broken", PurgeGrade::Format, broken)?.with_code(5)?.says(&[words])?;
    Ok(())
}

fn no_drive() -> Result<()> {
    let (disk, home) = (LoopDevice::new(64 * MIB)?, folder::folder()?);
    fs::write(disk.image(), vec![0x5a; 64 * MIB as usize])?;
    let profile = profile::file(home.path(), &profile::fill(SUITE))?;
    let identity = disk.image().display().to_string();
    let call = |target: &std::path::Path, more: &[&str]| {
        let mut arguments = run_arguments(target, &profile, &home.path().join("out"));
        arguments.extend(more.iter().map(|&word| word.to_owned()));
        plain().call(home.path(), arguments).end()
    };
    let own = ["--erase", &identity, "--erase-contents", "--purge"];
    for purge in ["format", "sanitize"] {
        let words = ["is no NVMe drive", &format!("Leave --purge {purge} out")];
        call(disk.path(), &[&own[..], &[purge]].concat())?.with_code(3)?.says(&words)?;
        let words = [&format!("--purge {purge} is for a whole NVMe drive")[..]];
        call(home.path(), &["--erase", "x", "--purge", purge])?.with_code(3)?.says(&words)?;
        call(disk.path(), &["--purge", purge])?.with_code(2)?.says(&["--erase"])?;
    }
    // What was not named twice is not erased because it was named once.
    call(disk.path(), &["--erase", &identity, "--erase", "x", "--erase-contents"])?.with_code(3)?.says(&["names x"])?;
    rustix::fs::sync();
    ensure!(fs::read(disk.image())?.iter().all(|byte| *byte == 0x5a), "the device was written to");
    Ok(())
}

/// Helpers of the scripts: a controller by its serial number, a run's exit code and words.
const HELPERS: &str = "find() { for d in /sys/class/nvme/nvme*; do grep -q \"$1\" $d/serial && basename $d; done; }\n\
    ended() { want=$1 words=$2; [ $code = $want ] || { cat out.txt; echo \"exit $code instead of $want\"; exit 1; }; \
    grep -q -e \"$words\" out.txt || { cat out.txt; echo \"no word of $words\"; exit 1; }; }\n\
    try() { storage-check \"$@\" --profile purge.toml > out.txt 2>&1; code=$?; }\n";

fn machine(programs: &[&str]) -> Result<Vm> {
    let vm = Vm::new(&dist::build()?, programs)?;
    vm.put("purge.toml", &profile::fill(SUITE))?;
    Ok(vm)
}

fn formats() -> Result<()> {
    let vm = machine(&["mkfs.ext4"])?;
    let images = [vm.image("target", 64 * MIB)?, vm.image("sibling", 64 * MIB)?];
    let drives = [Drive::nvme(&[&images[0], &images[1]], "TWO")];
    let fill = "c=$(find TWO); yes data | dd of=/dev/${c}n1 bs=1M count=64 iflag=fullblock conv=fsync 2>/dev/null\n\
        mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/${c}n2; mount /dev/${c}n2 /mnt; umount /mnt\n";
    vm.boot(&drives, &[HELPERS, fill].concat())?.well()?;
    let before = [digest(&images[0])?, digest(&images[1])?];
    let refused = "c=$(find TWO) own=$(cat /sys/block/${c}n1/wwid)\n\
        try run --target /dev/${c}n1 --erase $own --erase-contents --purge sanitize; ended 3 'cannot sanitize itself'\n\
        mount -o ro,noload /dev/${c}n2 /mnt\n\
        try run --target /dev/${c}n1 --erase $own --erase-contents --purge format\n\
        ended 3 \"drive that is in use: /dev/${c}n2.*mounted at /mnt\"; umount /mnt\n\
        try run --target /dev/${c}n1 --erase $own --purge format; ended 3 'is not empty'\n\
        try plan --target /dev/${c}n1 --erase $own --erase-contents --purge format; ended 0 'told to format namespace 1'\n\
        cat out.txt\n";
    let booted = vm.boot(&drives, &[HELPERS, refused].concat())?.well()?;
    note(booted.said.lines().find(|line| line.starts_with("erases")).unwrap_or_default());
    ensure!([digest(&images[0])?, digest(&images[1])?] == before, "a refused purge changed a namespace");

    let format = "c=$(find TWO) own=$(cat /sys/block/${c}n1/wwid)\n\
        try run --target /dev/${c}n1 --erase $own --erase-contents --purge format --out runs\n\
        ended 0 'the drive has purged itself (format)'; cat out.txt\n";
    let booted = vm.boot(&drives, &[HELPERS, format].concat())?.well()?;
    let found = run::only(&booted.work.join("runs"))?;
    let (journal, report) = (run::journal(&found)?, run::report(&found)?);
    ensure!(journal.header.environment.get("purge") == Some("format"), "{:?}", journal.header.environment);
    let grades: Vec<PurgeGrade> = journal.purges.iter().map(|purge| purge.grade).collect();
    ensure!(grades == [PurgeGrade::Format, PurgeGrade::Discard], "{grades:?}");
    // All that lay there was data; right after the format none of the samples is.
    let check = journal.purges[0].check.as_ref().context("nobody looked at the namespace")?;
    ensure!(check.sampled == 64 && check.wrong == 0, "{check}");
    let notes = report["notes"].to_string();
    ensure!(notes.contains("purge before the run: format; 64 sampled blocks read as discarded ones"), "{notes}");
    note(&format!("{check}"));
    ensure!(digest(&images[0])? != before[0], "the namespace is as it was");
    ensure!(digest(&images[1])? == before[1], "the other namespace was changed");
    Ok(())
}

/// The journal of the guest's run in this folder.
fn journal(booted: &Booted, out: &str) -> Result<harness::journal::replay::Replay> {
    run::journal(&run::only(&booted.work.join(out)).with_context(|| booted.said.clone())?)
}

fn outlasts() -> Result<()> {
    let vm = machine(&[])?;
    // All holes. QEMU formats 2 GiB at once, and waits after each for the throttle: some six seconds in all.
    let image = vm.image("slow", 8 * 1024 * MIB)?;
    let drive = Drive::nvme(&[&image], "SLOW").throttled("throttling.bps-write=1073741824");
    let script = "t=/dev/$(find SLOW)n1\n\
        begin() { storage-check run --target $t --erase SLOW --purge format --profile purge.toml --out $1 \
          > out.txt 2>&1 & run=$!; until grep -q purge-begun $1/*/journal.jsonl 2>/dev/null; do sleep 0.1; done; sleep 1; }\n\
        begin signal; kill -INT $run; wait $run; code=$?; ended 4 'a purge cannot be stopped'\n\
        begin killed; kill -9 $run; wait $run; grep '\"grade\"' killed/*/journal.jsonl && exit 1\n\
        cp -r killed discarded\n\
        storage-check run --discard discarded/* > out.txt 2>&1; code=$?; ended 0 'has nothing on the drive'\n\
        storage-check run --resume killed/* > out.txt 2>&1; code=$?; ended 0 'begins with that again'; cat out.txt\n";
    let booted = vm.boot(&[drive], &[HELPERS, script].concat())?.well()?;
    let signal = journal(&booted, "signal")?;
    ensure!(matches!(signal.end, Some((Outcome::Interrupted, _))), "{:?}", signal.end);
    // The purge was not left in the middle, and nothing came after it.
    ensure!(signal.purges.len() == 1 && signal.purging.is_none() && signal.phases.is_empty(), "{:?}", signal.purges);
    let discarded = journal(&booted, "discarded")?;
    ensure!(discarded.purging == Some(NamedPurge::Format) && discarded.purges.is_empty(), "{:?}", discarded.purges);
    let resumed = journal(&booted, "killed")?;
    ensure!(matches!(resumed.end, Some((Outcome::Complete, _))) && resumed.resumes == 1, "{:?}", resumed.end);
    ensure!(resumed.purges[0].grade == PurgeGrade::Format && resumed.verify_errors() == 0, "{:?}", resumed.purges);
    Ok(())
}
