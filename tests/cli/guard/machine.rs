//! The guard in a virtual machine: drives with names of their own, namespaces, zones, and what LVM, mdadm, cryptsetup and
//! a SCSI target make of drives; and that arrays and volumes are taken by their UUIDs.
//!
//! One boot for all. What QEMU serves is compared by the host before and after; what the guest's own tools wrote to, by
//! the guest, around all that is refused.

use std::fs;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use storage_check_tests::rig::{Need, note, trial};
use storage_check_tests::vm::{Booted, Drive, Vm, digest};
use storage_check_tests::{dist, profile, run};

use super::scene::MIB;

/// What is so, what the guest's shell does so that it is, how the program is called, and what the refusal says: a
/// pattern of grep.
pub(super) type Row = (&'static str, &'static str, &'static str, &'static str);

const PROGRAMS: [&str; 6] = ["dmsetup", "mkfs.ext4", "lvm", "mdadm", "cryptsetup", "sg_persist"];

pub(super) fn trials() -> Vec<Trial> {
    let needs = [Need::Vm].into_iter().chain(PROGRAMS.map(Need::Command)).collect::<Vec<_>>();
    vec![trial(
        "in a machine: used, shared, stacked and reserved drives are refused, no byte changes; stacks go by UUID",
        &needs,
        guarded,
    )]
}

const HELPERS: &str = r#"
refused() { words=$1; shift; storage-check run --profile rig.toml --out out "$@" > out.txt 2>&1; code=$?; cat out.txt
    [ $code = 3 ] || { echo "exit $code instead of 3: $*"; exit 1; }
    grep -q -e "$words" out.txt || { echo "no word of $words: $*"; exit 1; }; }
find() { for d in /sys/block/sd*; do grep -q "$1" $d/device/vpd_pg80 && basename $d; done; true; }
node() { echo dm-$(dmsetup info -c --noheadings -o minor $1); }
uuid() { dmsetup info -c --noheadings -o uuid $1; }
# The kernel gives names in any order.
one=$(find ONE) two=$(find TWO) under=$(find UNDER) plain=$(find PLAIN)
"#;

/// Nothing of this writes to a drive that QEMU serves.
pub(super) const DRIVES: &[Row] = &[
    (
        "an NVMe namespace mounted",
        "mount -o ro /dev/nvme0n1 /mnt",
        "--target /dev/nvme0n1 --erase NVME1 --erase-contents",
        "is mounted at /mnt",
    ),
    (
        "the other namespace, by the serial number that both have",
        "",
        "--target /dev/nvme0n2 --erase NVME1",
        "is called NVME1, and so is nvme0n1",
    ),
    ("an NVMe controller", "", "--target /dev/nvme0 --erase NVME1", "character device"),
    (
        "two drives with one serial number",
        "set -- $(find TWIN)",
        "--target /dev/$1 --erase TWIN",
        "has the identity TWIN, and so has sd",
    ),
    ("the second of these", "", "--target /dev/$2 --erase TWIN", "has the identity TWIN, and so has sd"),
    ("the name of another drive", "", "--target /dev/$two --erase ONE", "is not ONE: it is TWO"),
    (
        "a mapped device upon it",
        "echo \"0 65536 linear /dev/$under 0\" | dmsetup create mapped -u LVM-abcdef",
        "--target /dev/$under --erase UNDER",
        "held by dm-0 (dm-lvm)",
    ),
    (
        "a mapped device by the name of the drive beneath",
        "",
        "--target /dev/dm-0 --erase UNDER",
        "is not UNDER: it is LVM-abcdef",
    ),
    (
        "a mapped device without a UUID",
        "echo \"0 65536 linear /dev/dm-0 0\" | dmsetup create upper",
        "--target /dev/dm-1 --erase upper",
        "has no identity",
    ),
    ("a mapped device beneath another", "", "--target /dev/dm-0 --erase LVM-abcdef", "held by dm-1"),
    (
        "a drive that the kernel was told to protect",
        "umount /mnt; dmsetup remove upper; dmsetup remove mapped; blockdev --setro /dev/$one",
        "--target /dev/$one --erase ONE",
        "is read-only",
    ),
    (
        "a zoned drive",
        "modprobe null_blk nr_devices=1 zoned=1 zone_size=4 gb=1 memory_backed=1",
        "--target /dev/nullb0 --erase x",
        "zoned (host-managed)",
    ),
    (
        "half of a mirror without superblocks",
        // Made by hand, so that not a byte is written.
        "modprobe raid1; echo md9 > /sys/module/md_mod/parameters/new_array; cd /sys/block/md9/md
        echo none > metadata_version; echo raid1 > level; echo 2 > raid_disks; echo none > resync_start
        for d in $two $under; do cat /sys/block/$d/dev > new_dev; echo 32768 > dev-$d/size; done
        echo 0 > dev-$two/slot; echo 1 > dev-$under/slot; echo readonly > array_state; cd /carried",
        "--target /dev/$two --erase TWO",
        "held by md9 (md-raid1)",
    ),
];

/// Volumes of LVM, one in two stripes, one with a filesystem, one thin; a mirror; a container; a logical unit that two
/// hosts reach.
const STACKS: &str = r#"
echo inactive > /sys/block/md9/md/array_state; echo clear > /sys/block/md9/md/array_state
mkdir -p /etc/lvm /run/lock/lvm /etc/target /var/target/pr
echo 'activation { udev_sync=0 udev_rules=0 monitoring=0 }
global { thin_check_executable="" }
devices { obtain_device_list_from_udev=0 external_device_info_source="none" filter=["a|/dev/sd.*|","r|.*|"] }
backup { backup=0 archive=0 }' > /etc/lvm/lvm.conf
modprobe dm_thin_pool; modprobe dm_crypt; modprobe ecb; modprobe xts
set -e
pva=$(find PVA) pvb=$(find PVB) ara=$(find ARA) arb=$(find ARB) box=$(find BOX)
lvm pvcreate -q -y /dev/$pva /dev/$pvb; lvm vgcreate -q vg /dev/$pva /dev/$pvb
lvm lvcreate -q -y -Wn -Zn -n volume -i 2 -L 40M vg
lvm lvcreate -q -y -Wn -Zn -n files -L 8M vg
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/vg-files; mount -o ro /dev/mapper/vg-files /mnt
lvm lvcreate -q -y --type thin-pool -n pool -L 8M --poolmetadatasize 4M -Zn vg; lvm lvcreate -q -y -V 100M -T vg/pool -n thin
mdadm --quiet --create /dev/md7 --run --assume-clean --metadata=1.2 --level=1 --raid-devices=2 /dev/$ara /dev/$arb
echo secret > key
cryptsetup luksFormat -q --disable-keyring --type luks2 --luks2-keyslots-size 512K --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/$box key
cryptsetup open --disable-keyring --key-file key /dev/$box box
modprobe target_core_mod; modprobe target_core_file; modprobe tcm_loop
mount -t configfs none /sys/kernel/config; target=/sys/kernel/config/target
truncate -s 16M /tmp/unit; mkdir -p $target/core/fileio_0/unit
echo fd_dev_name=/tmp/unit,fd_dev_size=16777216 > $target/core/fileio_0/unit/control
echo 1ab5e6ed > $target/core/fileio_0/unit/wwn/vpd_unit_serial; echo 1 > $target/core/fileio_0/unit/enable
for host in 1 2; do
    port=$target/loopback/naa.500140500000000$host/tpgt_1; mkdir -p $port
    echo naa.500140510000000$host > $port/nexus; mkdir -p $port/lun/lun_0; ln -s $target/core/fileio_0/unit $port/lun/lun_0/port
done
for n in 1 2 3 4 5 6 7 8 9 10; do set -- $(find 1ab5e6ed); [ $# = 2 ] && break; sleep 0.2; done
here=$1 there=$2
set +e
hash() { sync; echo 3 > /proc/sys/vm/drop_caches; for d in $pva $pvb $ara $arb $box; do md5sum /dev/$d; done; md5sum /tmp/unit; }
unchanged() { hash > after; cmp before after || { echo "bytes changed"; cat before after; exit 1; }; }
hash > before
"#;

/// While all of that is active.
pub(super) const ACTIVE: &[Row] = &[
    ("a physical volume of LVM in use", "", "--target /dev/$pva --erase PVA", "held by dm-[0-9]* (dm-lvm)"),
    (
        "the disk beneath a thin pool",
        "",
        "--target /dev/$pvb --erase PVB --erase-contents",
        "held by dm-[0-9]* (dm-lvm)",
    ),
    ("a volume of LVM mounted", "", "--target /dev/$(node vg-files) --erase $(uuid vg-files)", "is mounted at /mnt"),
    (
        "a thin pool",
        "",
        "--target /dev/$(node vg-pool-tpool) --erase $(uuid vg-pool-tpool)",
        "held by dm-[0-9]* (dm-lvm)",
    ),
    (
        "a thin volume larger than its pool",
        "",
        "--target /dev/$(node vg-thin) --erase $(uuid vg-thin)",
        "lies on the thin pool vg-pool-tpool, which has 8.39 MB left",
    ),
    ("half of a mirror", "", "--target /dev/$ara --erase ARA", "held by md7 (md-raid1)"),
    ("LUKS, open", "", "--target /dev/$box --erase BOX", "held by dm-[0-9]* (dm-crypt)"),
    (
        "a reservation of registrants",
        "sg_persist -n -o -G -S 0xabc /dev/$here; sg_persist -n -o -R -K 0xabc -T 5 /dev/$here",
        "--target /dev/$here --erase 1ab5e6ed",
        "a persistent reservation (write exclusive, registrants only), held by the key 0xabc",
    ),
    (
        "a reservation of another host",
        "",
        "--target /dev/$there --erase 1ab5e6ed --erase-shared",
        "a persistent reservation (write exclusive, registrants only), held by the key 0xabc",
    ),
    (
        "a reservation that keeps others from reading",
        "sg_persist -n -o -L -K 0xabc -T 5 /dev/$here; sg_persist -n -o -R -K 0xabc -T 3 /dev/$here",
        "--target /dev/$there --erase 1ab5e6ed --erase-contents",
        "a persistent reservation (exclusive access), held by the key 0xabc",
    ),
    (
        "a reservation by the older RESERVE of another host",
        "sg_persist -n -o -C -K 0xabc /dev/$here; sg_raw -t 5 /dev/$here 16 00 00 00 00 00",
        "--target /dev/$there --erase 1ab5e6ed",
        "is reserved for another host",
    ),
];

/// When nothing of it is active any more.
pub(super) const IDLE: &[Row] = &[
    ("a physical volume of LVM", "", "--target /dev/$pva --erase PVA", "is not empty: LVM2 physical volume"),
    ("a member of an array that is stopped", "", "--target /dev/$arb --erase ARB", "is not empty: Linux RAID member"),
    ("LUKS, closed", "", "--target /dev/$box --erase BOX", "is not empty: LUKS"),
];

/// Stacks as targets, by what their own tools call them.
const TAKEN: &str = r#"
taken() { name=$1; shift; storage-check run --profile rig.toml --out $name "$@"; echo $? > $name.code; }
mdadm --quiet --assemble /dev/md7 /dev/$ara /dev/$arb; lvm vgchange -q -ay vg
echo "0 65536 linear /dev/$plain 0" | dmsetup create mapped -u OURS-1
storage-check devices --format json > devices.json
taken array --target /dev/md7 --erase $(mdadm --detail /dev/md7 | sed -n 's/.*UUID : //p')
taken volume --target /dev/$(node vg-volume) --erase $(lvm lvs --noheadings -o uuid vg/volume)
taken mapped --target /dev/$(node mapped) --erase OURS-1
"#;

fn guarded() -> Result<()> {
    let vm = Vm::new(&dist::build()?, &[&PROGRAMS[..], &["sg_raw"]].concat())?;
    vm.put("rig.toml", &profile::fill("size = \"24MiB\"\nsegments = 6\nblock = \"1MiB\"\ninterval = \"50ms\""))?;
    let namespaces = [vm.image("mounted", 32 * MIB)?, vm.image("spare", 32 * MIB)?];
    let scsi = |&(name, serial, mib): &(&str, &str, u64)| {
        let device = format!("vendor=ACME,product=TURBO,ver=FW-{},serial={serial}", &name[..1]);
        let image = vm.image(name, mib * MIB)?;
        let drive = Drive::scsi(&image, "virtio", &device, "");
        anyhow::Ok((image, drive))
    };
    let kept = [
        ("one", "ONE", 32),
        ("two", "TWO", 32),
        ("twin-a", "TWIN", 32),
        ("twin-b", "TWIN", 32),
        ("under", "UNDER", 64),
    ];
    let kept = kept.iter().map(scsi).collect::<Result<Vec<_>>>()?;
    let used = [("a1", "PVA", 48), ("b1", "PVB", 48), ("a2", "ARA", 32), ("b2", "ARB", 32), ("box", "BOX", 24)];
    let used = used.iter().chain(&[("plain", "PLAIN", 64)]).map(scsi).collect::<Result<Vec<_>>>()?;
    let nvme = Drive::nvme(&[&namespaces[0], &namespaces[1]], "NVME1");
    let scsi = kept.iter().chain(&used).map(|(_, drive)| drive.clone());
    let drives: Vec<Drive> = std::iter::once(nvme).chain(scsi).collect();
    // The filesystem is made by a boot of its own: what it writes later is not the guard's doing.
    vm.boot(
        &drives[..1],
        "mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/nvme0n1; mount /dev/nvme0n1 /mnt; umount /mnt",
    )?
    .well()?;
    let images = || namespaces.iter().chain(kept.iter().map(|(image, _)| image));
    let before = images().map(|image| digest(image)).collect::<Result<Vec<_>>>()?;
    let script = [
        HELPERS,
        &rows(DRIVES),
        STACKS,
        &rows(ACTIVE),
        "unchanged\nstorage-check devices > reserved.txt\n",
        "umount /mnt; lvm vgchange -q -an vg; mdadm --quiet --stop /dev/md7; cryptsetup close box; hash > before\n",
        &rows(IDLE),
        "unchanged\n",
        TAKEN,
    ];
    let booted = vm.boot(&drives, &script.concat())?.well()?;
    let refusals = booted.said.matches("target refused").count();
    ensure!(refusals == DRIVES.len() + ACTIVE.len() + IDLE.len(), "{refusals} refusals; it said:\n{}", booted.said);
    for (image, before) in images().zip(before) {
        ensure!(digest(image)? == before, "{} was changed; it said:\n{}", image.display(), booted.said);
    }
    let listed = fs::read_to_string(booted.work.join("reserved.txt"))?;
    ensure!(listed.contains("is reserved for another host"), "{listed}");
    note(&format!("{refusals} situations refused in the machine"));
    took(&booted, "array", &["a2", "b2"])?;
    took(&booted, "volume", &["a1", "b1"])?;
    took(&booted, "mapped", &["plain"])
}

fn rows(rows: &[Row]) -> String {
    rows.iter().map(|(_, arrange, call, says)| format!("{arrange}\nrefused '{says}' {call}\n")).collect()
}

/// A run to the end on a stack over drives that these images are: facts, reports and list name them and their firmware.
fn took(booted: &Booted, name: &str, members: &[&str]) -> Result<()> {
    let code = fs::read_to_string(booted.work.join(format!("{name}.code")))?;
    ensure!(code.trim() == "0", "{name}: exit {code}; it said:\n{}", booted.said);
    let run = run::only(&booted.work.join(name))?;
    let (report, markdown) = (run::report(&run)?, fs::read_to_string(run.join("report.md"))?);
    let facts = serde_json::to_value(&run::journal(&run)?.header.facts)?;
    let listed: serde_json::Value = serde_json::from_str(&fs::read_to_string(booted.work.join("devices.json"))?)?;
    let path = facts["path"].as_str().context("no path")?;
    let listed = listed.as_array().and_then(|all| all.iter().find(|one| one["path"] == path)).context("not listed")?;
    for member in members {
        let firmware = format!("FW-{}", &member[..1]);
        let said = [facts.to_string(), report["environment"].to_string(), listed.to_string(), markdown.clone()];
        ensure!(said.iter().all(|said| said.contains(&firmware)), "{name}: {firmware} is not in all of {said:#?}");
    }
    let named = facts["members"].as_array().map_or(0, Vec::len);
    ensure!(named == members.len(), "{name}: {}", facts["members"]);
    Ok(())
}
