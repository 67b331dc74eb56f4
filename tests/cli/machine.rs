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
    let with_dm = [Need::Vm, Need::Command("dmsetup"), Need::Command("mkfs.ext4")];
    vec![
        trial(
            "in a machine: accepted, held, worse firmware found, equal firmware and another driver shown",
            &needs,
            story,
        ),
        trial(
            "in a machine: drives and namespaces that are used, shared or stacked are refused, no byte changes",
            &with_dm,
            guarded,
        ),
        trial(
            "in a machine: errors in mid-fill end the run with 4, the place named, what was measured kept",
            &with_dm,
            failing,
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

/// A script's helper: a call that must be refused with these words.
const REFUSED: &str = "refused() { words=$1; shift; storage-check run --profile machine.toml --out out \"$@\" > out.txt 2>&1; \
    code=$?; cat out.txt; [ $code = 3 ] || { echo \"exit $code instead of 3: $*\"; exit 1; }; \
    grep -q -e \"$words\" out.txt || { echo \"no word of $words: $*\"; exit 1; }; }\n";

fn guarded() -> Result<()> {
    let vm = Vm::new(&dist::build()?, &["dmsetup", "mkfs.ext4"])?;
    vm.put("machine.toml", &PROFILE.replace("384MiB", "24MiB"))?;
    let names = ["one", "two", "mounted", "spare", "twin-a", "twin-b", "under", "plain"];
    let images = names.iter().map(|name| vm.image(name, 64 * MIB)).collect::<Result<Vec<_>>>()?;
    let scsi = |n: usize, serial: &str| {
        Drive::scsi(&images[n], "virtio", &format!("vendor=ACME,product=TURBO,ver=FW01,serial={serial}"), "")
    };
    let drives = [
        Drive::nvme(&[&images[2], &images[3]], "NVME1"),
        scsi(0, "ONE"),
        scsi(1, "TWO"),
        scsi(4, "TWIN"),
        scsi(5, "TWIN"),
        scsi(6, "UNDER"),
        scsi(7, "PLAIN"),
    ];
    // The filesystem is made by a boot of its own: what it writes later is not the guard's doing.
    vm.boot(
        &drives[..1],
        "mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/nvme0n1; mount /dev/nvme0n1 /mnt; umount /mnt",
    )?
    .well()?;
    let before = images.iter().map(|image| digest(image)).collect::<Result<Vec<_>>>()?;
    let script = [
        REFUSED,
        // One namespace mounted, the other spare: they share the serial number.
        "mount -o ro /dev/nvme0n1 /mnt\n",
        "refused 'is mounted at /mnt' --target /dev/nvme0n1 --erase NVME1 --erase-contents\n",
        "refused 'is called NVME1, and so is nvme0n1' --target /dev/nvme0n2 --erase NVME1\n",
        "refused 'character device' --target /dev/nvme0 --erase NVME1\n",
        // Which is which: the kernel gives names in any order.
        "find() { for d in /sys/block/sd*; do grep -q \"$1\" $d/device/vpd_pg80 && basename $d; done; }\n",
        "one=$(find ONE) under=$(find UNDER) two=$(find TWO) twins=$(find TWIN)\n",
        "for twin in $twins; do refused 'has the identity TWIN, and so has sd' --target /dev/$twin --erase TWIN; done\n",
        "refused 'is not ONE: it is TWO' --target /dev/$two --erase ONE\n",
        // A volume of LVM and a plain mapped device, as dmsetup makes them; what they lie on is held.
        "echo \"0 65536 linear /dev/$under 0\" | dmsetup create vg-volume -u LVM-abcdef\n",
        "refused 'held by dm-0 (dm-lvm)' --target /dev/$under --erase UNDER\n",
        "refused 'is not UNDER: it is LVM-abcdef' --target /dev/dm-0 --erase UNDER\n",
        "echo \"0 65536 linear /dev/dm-0 0\" | dmsetup create upper\n",
        "refused 'has no identity' --target /dev/dm-1 --erase upper\n",
        "refused 'held by dm-1' --target /dev/dm-0 --erase LVM-abcdef\n",
        // Locked by the kernel.
        "blockdev --setro /dev/$one\n",
        "refused 'is read-only' --target /dev/$one --erase ONE\n",
        // Zones.
        "modprobe null_blk nr_devices=1 zoned=1 zone_size=4 gb=1 memory_backed=1\n",
        "refused 'zoned (host-managed)' --target /dev/nullb0 --erase x\n",
        "umount /mnt; dmsetup remove upper; dmsetup remove vg-volume\n",
        // Half of a mirror, made without a superblock so that not a byte is written.
        "modprobe raid1; echo md9 > /sys/module/md_mod/parameters/new_array; cd /sys/block/md9/md\n",
        "echo none > metadata_version; echo raid1 > level; echo 2 > raid_disks; echo none > resync_start\n",
        "for d in $two $under; do cat /sys/block/$d/dev > new_dev; echo 32768 > dev-$d/size; done\n",
        "echo 0 > dev-$two/slot; echo 1 > dev-$under/slot; echo readonly > array_state; cd /carried\n",
        "refused 'held by md9 (md-raid1)' --target /dev/$two --erase TWO\n",
        "echo inactive > /sys/block/md9/md/array_state; echo clear > /sys/block/md9/md/array_state\n",
        // A thin volume has no more to give than its pool, whatever its own size.
        "truncate -s 4M /tmp/meta; truncate -s 16M /tmp/data; losetup /dev/loop0 /tmp/meta; losetup /dev/loop1 /tmp/data\n",
        "modprobe dm_thin_pool; echo '0 32768 thin-pool /dev/loop0 /dev/loop1 128 0' | dmsetup create pool\n",
        "dmsetup message pool 0 'create_thin 0'\n",
        "pool=$(for d in /sys/block/dm-*; do [ \"$(cat $d/dm/name)\" = pool ] && cat $d/dev; done)\n",
        "echo \"0 131072 thin $pool 0\" | dmsetup create thin -u LVM-thin\n",
        "thin=$(for d in /sys/block/dm-*; do [ \"$(cat $d/dm/uuid)\" = LVM-thin ] && basename $d; done)\n",
        "refused 'the target has 16.8 MB to give' --target /dev/$thin --erase LVM-thin\n",
    ];
    let booted = vm.boot(&drives, &script.concat())?.well()?;
    note(&format!("{} refusals in the machine", booted.said.matches("target refused").count()));
    for (name, (image, before)) in names.iter().zip(images.iter().zip(before)) {
        ensure!(digest(image)? == before, "the drive {name} was changed; it said:\n{}", booted.said);
    }
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
