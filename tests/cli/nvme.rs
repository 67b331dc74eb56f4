//! An NVMe drive in a virtual machine: on the second NUMA node, and what root and others can read of it.

use std::fs;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use storage_check_tests::rig::{Need, note, trial};
use storage_check_tests::vm::{Booted, Drive, Vm};
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
setuidgid 1000:1000 storage-check devices --format json > user.json
setuidgid 1000:1000 storage-check devices > user.txt
echo tests > who
storage-check run --target /dev/nvme0n1 --erase FAR1 --profile machine.toml --out root > root.log 2>&1 & run=$!
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  for thread in /proc/$run/task/*; do grep -h Cpus_allowed_list $thread/status; done >> threads
  sleep 0.3
done
wait $run; echo $? > code.root
mkfs.ext4 -q /dev/nvme0n1; modprobe ext4; mount /dev/nvme0n1 /mnt; chmod 777 /mnt
mkdir user; chmod 777 user
setuidgid 1000:1000 storage-check run --target /mnt --profile machine.toml --out user > user.log 2>&1; echo $? > code.user
umount /mnt
"#;

fn nvme() -> Result<()> {
    let vm = Vm::new(&dist::build()?, &["mkfs.ext4"])?;
    vm.put("machine.toml", PROFILE)?;
    let image = vm.image("far", 256 * MIB)?;
    let booted = vm.boot(&[Drive::nvme_on_second_node(&image, "FAR1")], SCRIPT)?.well()?;
    let read = |name: &str| fs::read_to_string(booted.work.join(name)).with_context(|| booted.said.clone());
    for name in ["root.json", "root.txt", "user.json", "user.txt", "threads", "root.log", "user.log", "code.root", "code.user"] {
        println!("--- {name}\n{}", read(name)?);
    }
    for name in ["root", "user"] {
        let run = run::only(&booted.work.join(name))?;
        println!("{}", fs::read_to_string(run.join("report.md"))?);
        println!("{}", fs::read_to_string(run.join("journal.jsonl"))?);
    }
    Ok(())
}
