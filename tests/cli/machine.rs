//! Whole stories in a virtual machine: drives with identity and firmware of our choice, another driver, drives that fail
//! and vanish.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use storage_check_tests::rig::{Need, note, trial};
use storage_check_tests::vm::{Booted, Drive, Vm, digest};
use storage_check_tests::{dist, folder, run};

const MIB: u64 = 1 << 20;

pub(crate) fn trials() -> Vec<Trial> {
    let needs = [Need::Vm];
    let with_dm = [Need::Vm, Need::Command("dmsetup")];
    vec![
        trial(
            "in a machine: accepted, held, worse firmware found, equal firmware and another driver shown",
            &needs,
            story,
        ),
        trial(
            "in a machine: errors in mid-fill end the run with 4, the place named, what was measured kept",
            &with_dm,
            failing,
        ),
        trial(
            "in a machine: a cache before a slow drive is not reset by a purge, and is by the profile's command",
            &with_dm,
            tiered,
        ),
        trial("in a machine: a drive removed in mid-run ends it with 4, and no other is touched", &needs, removed),
    ]
}

const PROFILE: &str = r#"name = "machine"
version = 1
description = "a fill across a throttle's cliff"

[fill]
size = "384MiB"
segments = 6
block = "1MiB"
interval = "100ms"
verify = false

[judge]
gates = ["fill.floor_mb_s"]
"#;

/// Bytes a second of the throttle's burst, for two seconds; QEMU holds a burst that may last longer than one to them.
const BURST: u64 = 80_000_000;
/// Bytes a second on average.
const FLOOR: u64 = 20_000_000;

struct Story {
    vm: Vm,
    image: PathBuf,
}

/// What a run in the guest came to.
struct Judged {
    code: i32,
    report: Value,
    markdown: String,
    junit: String,
}

impl Story {
    fn new() -> Result<Story> {
        let vm = Vm::new(&dist::build()?, &[])?;
        let image = vm.image("turbo", 512 * MIB)?;
        vm.put("machine.toml", PROFILE)?;
        Ok(Story { vm, image })
    }

    /// Boots with this firmware, speed and controller, measures, and runs `then`.
    fn run(&self, firmware: &str, floor: u64, controller: &str, then: &str) -> Result<Judged> {
        let device = format!("vendor=ACME,product=TURBO960,ver={firmware},serial=S123");
        let throttle =
            format!("throttling.bps-write={floor},throttling.bps-write-max={BURST},throttling.bps-write-max-length=2");
        let runs = self.vm.work().join("runs");
        let _ = fs::remove_dir_all(&runs);
        let script = format!(
            "storage-check run --target /dev/sda --erase S123 --profile machine.toml --out runs --baselines baselines\n\
             echo $? > exit\n{then}\n"
        );
        let booted = self.vm.boot(&[Drive::scsi(&self.image, controller, &device, &throttle)], &script)?.well()?;
        let run = run::only(&runs).with_context(|| booted.said.clone())?;
        let text = |name: &str| fs::read_to_string(run.join(name)).with_context(|| format!("reading {name}"));
        let code = fs::read_to_string(booted.work.join("exit"))?.trim().parse()?;
        Ok(Judged { code, report: run::report(&run)?, markdown: text("report.md")?, junit: text("junit.xml")? })
    }
}

impl Judged {
    fn verdict(&self, code: i32, verdict: &str) -> Result<()> {
        let reports = format!("{}\n{}", self.report["verdict"], self.markdown);
        ensure!(self.code == code && self.report["verdict"] == verdict, "exit {}, {reports}", self.code);
        Ok(())
    }

    /// Whether the report shows this change.
    fn shows(&self, change: &str) -> Result<()> {
        ensure!(self.markdown.contains(change), "{change} is not in\n{}", self.markdown);
        Ok(())
    }
}

fn story() -> Result<()> {
    let story = Story::new()?;
    let accept = "storage-check baseline accept runs/* --reason delivered --baselines baselines";
    let first = story.run("FW01", FLOOR, "virtio", accept)?;
    first.verdict(0, "no-baseline")?;
    ensure!(first.report["target"]["firmware"] == "FW01" || first.markdown.contains("FW01"), "{}", first.report);
    // The bucket leaks while it fills: B·R/(R − A), with the rates that were measured. A quick machine has a smaller
    // fall before: QEMU holds a burst to its rate only after a tenth of a second of it.
    let cliffs = first.report["findings"]["fill"]["cliffs"].as_array().context("cliffs")?;
    let figure = |cliff: &Value, name: &str| cliff[name].as_f64().with_context(|| format!("no {name} in {cliff}"));
    let mut falls = Vec::new();
    for cliff in cliffs {
        falls.push((figure(cliff, "at_gb")?, figure(cliff, "before_mb_s")?, figure(cliff, "after_mb_s")?));
    }
    let deepest = falls.into_iter().max_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)));
    let (cliff, fast, floor) = deepest.context("no cliff")?;
    let expected = 2.0 * BURST as f64 / 1e9 * fast / (fast - floor);
    note(&format!("cliff at {cliff:.4} GB, computed {expected:.4} GB; {fast:.1} MB/s, then {floor:.1} MB/s"));
    ensure!((cliff / expected - 1.0).abs() < 0.05, "cliff at {cliff} GB instead of {expected} GB: {cliffs:?}");

    story.run("FW01", FLOOR, "virtio", "")?.verdict(0, "held")?;

    let worse = story.run("FW02", FLOOR * 85 / 100, "virtio", "")?;
    worse.verdict(1, "regressed")?;
    let line = worse.markdown.lines().find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
    ensure!(line.contains("FW01 → FW02") && line.contains("fill.floor_mb_s"), "{line}");
    ensure!(run::metric(&worse.report, "fill.floor_mb_s")?["verdict"] == "regressed", "{}", worse.report);
    ensure!(worse.junit.contains("<failure") && worse.junit.contains("fill.floor_mb_s regressed"), "{}", worse.junit);
    note(line);

    let equal = story.run("FW02", FLOOR, "virtio", "")?;
    equal.verdict(0, "held")?;
    equal.shows("`FW01` → `FW02`")?;

    let other_driver = story.run("FW01", FLOOR, "pv", "")?;
    other_driver.verdict(0, "held")?;
    other_driver.shows("`virtio_scsi` → `vmw_pvscsi")?;
    Ok(())
}

/// The run in the guest's `out`, and its exit code.
fn outcome(booted: &Booted) -> Result<(i32, Value)> {
    let code = fs::read_to_string(booted.work.join("exit"))?.trim().parse()?;
    let run = run::only(&booted.work.join("out")).with_context(|| booted.said.clone())?;
    Ok((code, run::report(&run)?))
}

const SEVERAL: &str = r#"name = "machine"
version = 1
description = "segments that are finished one after the other"

[fill]
size = "48MiB"
segments = 6
block = "1MiB"
interval = "100ms"
"#;

fn failing() -> Result<()> {
    let vm = Vm::new(&dist::build()?, &["dmsetup"])?;
    vm.put("machine.toml", SEVERAL)?;
    let image = vm.image("flaky", 64 * MIB)?;
    let slow = "throttling.bps-write=8000000";
    let drive = Drive::scsi(&image, "virtio", "vendor=ACME,product=FLAKY,ver=FW01,serial=S9", slow);
    // Good for some seconds, of which the fill needs six, then every write fails.
    let script = "modprobe dm_flakey\n\
        echo '0 131072 flakey /dev/sda 0 5 3600 1 error_writes' | dmsetup create flaky -u STORAGE-flaky\n\
        storage-check run --target /dev/dm-0 --erase STORAGE-flaky --profile machine.toml --out out; echo $? > exit\n\
        dmsetup remove flaky; true\n";
    let booted = vm.boot(&[drive], script)?.well()?;
    let (code, report) = outcome(&booted)?;
    ensure!(code == 4, "exit {code}: {}", booted.said);
    let message = report["failure"]["message"].as_str().unwrap_or_default();
    note(message);
    let named = message.strip_prefix("writing segment ").and_then(|rest| rest.split_once(" at byte "));
    let (segment, rest) = named.with_context(|| format!("no segment and byte in {message:?}"))?;
    let byte: u64 = rest.split(' ').next().unwrap_or_default().parse()?;
    ensure!(segment.parse::<u64>()? == byte / (8 * MIB) && byte.is_multiple_of(MIB), "{message}");
    // What was finished before is there.
    ensure!(report["bytes_written"].as_u64() == Some(byte), "{} bytes, then {message}", report["bytes_written"]);
    Ok(())
}

/// A write cache in front of a disk: the bytes that it takes are fast, also for a run whose purge went before.
fn tiered() -> Result<()> {
    let vm = Vm::new(&dist::build()?, &["dmsetup"])?;
    let images = [vm.image("slow", 64 * MIB)?, vm.image("fast", 64 * MIB)?];
    let drive = |n: usize, serial: &str| {
        Drive::scsi(&images[n], "virtio", &format!("vendor=ACME,product=TIER,ver=FW01,serial={serial}"), "")
    };
    vm.put("plain.toml", SEVERAL)?;
    // dm-writecache writes back all that it holds when it is told to flush.
    let reset = SEVERAL.replacen("version", "reset = 'dmsetup message tiered 0 flush'\nversion", 1);
    vm.put("reset.toml", &reset)?;
    let script = "find() { for d in /sys/block/sd*; do grep -q \"$1\" $d/device/vpd_pg80 && basename $d; done; }\n\
        modprobe dm_writecache; slow=/dev/$(find SLOW) fast=/dev/$(find FAST)\n\
        echo \"0 131072 writecache s $slow $fast 4096 0\" | dmsetup create tiered -u STORAGE-tiered || exit 1\n\
        for profile in plain reset; do\n\
        storage-check run --target /dev/dm-0 --erase STORAGE-tiered --erase-contents --profile $profile.toml \\\n\
        --out $profile || exit 1\n\
        done; dmsetup remove tiered\n";
    let booted = vm.boot(&[drive(0, "SLOW"), drive(1, "FAST")], script)?.well()?;
    for (profile, expect) in [("plain", "not reset"), ("reset", "reset")] {
        let report = run::report(&run::only(&booted.work.join(profile))?)?;
        let environment = &report["environment"];
        note(&format!("{profile}: {}, {}", environment["stack"], environment["stack.reset"]));
        ensure!(environment["stack.reset"] == expect, "{environment}");
    }
    Ok(())
}

fn removed() -> Result<()> {
    let vm = Vm::new(&dist::build()?, &[])?;
    vm.put("machine.toml", &SEVERAL.replace("48MiB", "240MiB"))?;
    let images = [vm.image("goes", 256 * MIB)?, vm.image("stays", 256 * MIB)?];
    let drive = |n: usize, serial: &str| {
        let throttle = if n == 0 { "throttling.bps-write=20000000" } else { "" };
        Drive::scsi(&images[n], "virtio", &format!("vendor=ACME,product=GONE,ver=FW01,serial={serial}"), throttle)
    };
    let before = digest(&images[1])?;
    // The kernel gives names in any order.
    let script = "for d in /sys/block/sd*; do grep -q GOES $d/device/vpd_pg80 && gone=$(basename $d); done\n\
        storage-check run --target /dev/$gone --erase GOES --profile machine.toml --out out & run=$!\n\
        sleep 4; echo 1 > /sys/block/$gone/device/delete\n\
        wait $run; echo $? > exit; true\n";
    let booted = vm.boot(&[drive(0, "GOES"), drive(1, "STAYS")], script)?.well()?;
    let (code, report) = outcome(&booted)?;
    ensure!(code == 4, "exit {code}: {}", booted.said);
    ensure!(report["failure"]["kind"] == "failed", "{report}");
    let message = report["failure"]["message"].as_str().unwrap_or_default();
    note(message);
    ensure!(message.contains("it was removed") || message.contains("the drive is gone"), "{message}");
    ensure!(digest(&images[1])? == before, "the other drive was changed");
    ensure!(folder::names(&booted.work.join("out")).len() == 1, "{:?}", folder::names(&booted.work));
    Ok(())
}
