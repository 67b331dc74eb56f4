//! An NVMe drive in a virtual machine: on the second NUMA node, and what root and others can read of it.

use std::fs;

use anyhow::{Context, Result, ensure};
use harness::units::Bytes;
use libtest_mimic::Trial;
use serde_json::Value;
use storage_check_tests::rig::{Need, note, trial};
use storage_check_tests::vm::{Drive, Vm};
use storage_check_tests::{dist, run};

const MIB: u64 = 1 << 20;

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial(
        "in a machine: workers are on the processors of an NVMe drive's node, and who is not root is told what was not read",
        &[Need::Vm, Need::Command("mkfs.ext4")],
        nvme,
    )]
}

const PROFILE: &str = r#"name = "machine"
version = 1

[fill]
size = "96MiB"
segments = 6
block = "1MiB"
workers = 2
interval = "100ms"
"#;

/// Root measures the device, meanwhile its threads are looked at; then an ordinary user measures a folder on the drive.
const SCRIPT: &str = r#"
storage-check devices --format json > root.json
storage-check devices > root.txt
echo 'user:x:1000:1000::/:/bin/sh' > /etc/passwd
su user -c 'storage-check devices --format json' > user.json
su user -c 'storage-check devices' > user.txt
storage-check run --target /dev/nvme0n1 --erase FAR1 --profile machine.toml --out root > root.log 2>&1 & run=$!
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
  for thread in /proc/$run/task/*; do grep -h Cpus_allowed_list $thread/status; done >> threads
  sleep 0.2
done
wait $run; echo $? > code.root
mkfs.ext4 -q /dev/nvme0n1; modprobe ext4; mount /dev/nvme0n1 /mnt; chmod 777 /mnt
mkdir user; chmod 777 user
su user -c 'storage-check run --target /mnt --profile machine.toml --out user' > user.log 2>&1; echo $? > code.user
umount /mnt
"#;

fn nvme() -> Result<()> {
    let vm = Vm::new(&dist::build()?, &["mkfs.ext4"])?;
    vm.put("machine.toml", PROFILE)?;
    let image = vm.image("far", 256 * MIB)?;
    let booted = vm.boot(&[Drive::nvme_on_second_node(&image, "FAR1")], SCRIPT)?.well()?;
    let read = |name: &str| fs::read_to_string(booted.work.join(name)).with_context(|| booted.said.clone());
    // While the run goes on, its threads may use the second processor alone, and so do the workers that it starts.
    let threads = read("threads")?;
    let bound = threads.lines().filter(|line| *line == "Cpus_allowed_list:\t1").count();
    ensure!(bound >= 3, "no worker was seen on the drive's node:\n{threads}");
    for (name, unread) in [("root", false), ("user", true)] {
        ensure!(read(&format!("code.{name}"))?.trim() == "0", "{name}: {}", read(&format!("{name}.log"))?);
        let all: Vec<Value> = serde_json::from_str(&read(&format!("{name}.json"))?)?;
        let drive = all.iter().find(|one| one["serial"] == "FAR1").context("the drive is not listed")?;
        ensure!(drive["details"]["numa_node"] == 1 && drive["firmware"].is_string(), "{drive}");
        ensure!(drive["unread"].to_string().contains("(ask as root)") == unread, "{name}: {}", drive["unread"]);
        ensure!(drive["details"]["condition"]["percentage_used"].is_number() != unread, "{name}: {drive}");
        let report = run::report(&run::only(&booted.work.join(name))?)?;
        ensure!(report["environment"]["host.numa"] == "node 1 (CPU 1)", "{}", report["environment"]);
        let checks = report["preflight"].as_array().context("no checks")?;
        let outcome = |name: &str| Some(checks.iter().find(|check| check["name"] == name)?["outcome"].clone());
        let health = if unread { "warn" } else { "pass" };
        ensure!(outcome("numa") == Some("pass".into()) && outcome("health") == Some(health.into()), "{checks:?}");
        ensure!(run::metric(&report, "health.media_errors").is_ok() != unread, "{name}: {}", report["metrics"]);
    }
    ensure!(read("user.txt")?.contains("not read: "), "{}", read("user.txt")?);
    // What the drive counted was read once more at the end, though no minute had passed.
    let journal = run::journal(&run::only(&booted.work.join("root"))?)?;
    let written: Vec<Bytes> = journal.telemetry.iter().filter_map(|reading| reading.host_written).collect();
    let (first, last) = written.first().zip(written.last()).context("nothing was counted")?;
    let counted = last.saturating_sub(*first);
    note(&format!("the drive counted {counted}; {bound} looks at threads on its node"));
    ensure!(counted.0.abs_diff(96 * MIB) < 2 * MIB, "the drive counted {counted}");
    Ok(())
}
