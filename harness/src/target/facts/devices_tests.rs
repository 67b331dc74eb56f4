//! Recorded hosts → what `devices` says of each of their drives, as JSON.

use super::super::recorded::Tree;
use super::*;

const A: &str = "pci0000:00/0000:00:01.1/0000:01:00.0/nvme/nvme0/nvme0n1";
const B: &str = "pci0000:00/0000:00:01.2/0000:02:00.0/nvme/nvme1/nvme1n1";
const SATA: &str = "pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sda";
const SCSI: &str = "pci0000:00/0000:03:00.0/host4/port-4:0/end_device-4:0/target4:0:0/4:0:0:0/block/sdb";
const USB: &str = "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdc";
const VIRTIO: &str = "pci0000:00/0000:00:02.0/virtio1/block/vda";

/// An NVMe drive behind a port: trained to `width` lanes of four.
fn nvme(tree: &Tree, place: &str, number: &str, serial: &str, firmware: &str, width: &str) {
    let controller = place.rsplit_once('/').unwrap().0;
    let function = controller.split("/nvme/").next().unwrap();
    let port = function.rsplit_once('/').unwrap().0;
    let wwid = format!("eui.0025385b1123{number:0>4}").replace(':', "");
    tree.block(
        place,
        number,
        &[
            ("size", "1953525168"),
            ("ro", "0"),
            ("nsid", "1"),
            ("wwid", &wwid),
            ("metadata_bytes", "0"),
            ("queue/logical_block_size", "4096"),
            ("queue/physical_block_size", "4096"),
            ("queue/rotational", "0"),
            ("queue/scheduler", "[none] mq-deadline"),
            ("queue/write_cache", "write back"),
            ("queue/nr_requests", "1023"),
            ("queue/max_sectors_kb", "128"),
            ("queue/discard_granularity", "4096"),
            ("queue/zoned", "none"),
        ],
    );
    for queue in ["0", "1"] {
        tree.file(&format!("sys/devices/{place}/mq/{queue}/cpu_list"), "0\n");
    }
    let attributes = [
        (format!("{controller}/model"), "Samsung SSD 980 PRO 1TB                 ".to_owned()),
        (format!("{controller}/serial"), serial.to_owned()),
        (format!("{controller}/firmware_rev"), firmware.to_owned()),
        (format!("{controller}/transport"), "pcie".to_owned()),
        (format!("{controller}/hwmon3/temp1_input"), "43850".to_owned()),
        (format!("{controller}/hwmon3/temp1_max"), "81850".to_owned()),
        (format!("{controller}/hwmon3/temp1_crit"), "84850".to_owned()),
        (format!("{function}/current_link_speed"), "16.0 GT/s PCIe".to_owned()),
        (format!("{function}/current_link_width"), width.to_owned()),
        (format!("{function}/max_link_speed"), "16.0 GT/s PCIe".to_owned()),
        (format!("{function}/max_link_width"), "4".to_owned()),
        (format!("{function}/link/l1_aspm"), "1".to_owned()),
        (format!("{function}/link/l0s_aspm"), "0".to_owned()),
        (format!("{function}/numa_node"), "0".to_owned()),
        (format!("{function}/aer_dev_correctable"), "RxErr 2\nBadTLP 1\nTOTAL_ERR_COR 3".to_owned()),
        (format!("{port}/max_link_speed"), "8.0 GT/s PCIe".to_owned()),
        (format!("{port}/max_link_width"), "4".to_owned()),
    ];
    for (path, value) in attributes {
        tree.file(&format!("sys/devices/{path}"), value + "\n");
    }
    tree.link(&format!("sys/devices/{function}/driver"), "sys/bus/pci/drivers/nvme")
        .link(&format!("sys/devices/{place}/device"), &format!("sys/devices/{controller}"));
}

/// A disk of the SCSI layer, whose driver sits at `at`.
fn scsi(tree: &Tree, place: &str, number: &str, at: (&str, &str), inquiry: [&str; 3]) {
    let lun = place.split("/block/").next().unwrap();
    let [vendor, model, revision] = inquiry;
    tree.block(place, number, &[("size", "7814037168"), ("ro", "0"), ("queue/rotational", "1")])
        .file(&format!("sys/devices/{lun}/vendor"), format!("{vendor}\n"))
        .file(&format!("sys/devices/{lun}/model"), format!("{model}\n"))
        .file(&format!("sys/devices/{lun}/rev"), format!("{revision}\n"))
        .file(&format!("sys/devices/{lun}/ioerr_cnt"), "0x1f\n")
        .file(&format!("sys/devices/{lun}/iotmo_cnt"), "0x0\n")
        .file(
            &format!("sys/devices/{lun}/vpd_pg80"),
            [&[0, 0x80, 0, 8][..], format!("SER{number:>5}").as_bytes()].concat(),
        )
        .link(&format!("sys/devices/{lun}/driver"), "sys/bus/scsi/drivers/sd")
        .link(&format!("sys/devices/{}/driver", at.0), &format!("sys/bus/pci/drivers/{}", at.1))
        .link(&format!("sys/devices/{place}/device"), &format!("sys/devices/{lun}"));
}

/// A host with a drive of each kind.
fn host() -> Tree {
    let tree = Tree::new();
    nvme(&tree, A, "259:0", "S5GXNX0R123456", "5B2QGXA7", "4");
    nvme(&tree, B, "259:1", "S5GXNX0R654321", "3B2QGXA7", "2");
    tree.block("virtual/block/md0", "9:0", &[("size", "1953260976"), ("md/level", "raid1"), ("md/uuid", "6ba7:9d20")])
        .over("virtual/block/md0", A)
        .over("virtual/block/md0", B);
    scsi(&tree, SATA, "8:0", ("pci0000:00/0000:00:1f.2", "ahci"), ["ATA     ", "WDC WD40EFRX-68N", "0A82"]);
    let lun = SATA.split("/block/").next().unwrap();
    // Page 83h: first the target port's designator, then the unit's own.
    let page =
        b"\0\x83\0\x18\x61\x93\0\x08\x5a\x11\x11\x11\x11\x11\x11\x11\x01\x03\0\x08\x50\x01\x4e\xe2\xb1\x23\x45\x67";
    tree.file(&format!("sys/devices/{lun}/vpd_pg83"), page)
        .block(&format!("{SATA}/sda1"), "8:1", &[("partition", "1"), ("size", "2048")])
        .block("virtual/block/dm-0", "253:0", &[("size", "1024"), ("dm/name", "vg-home"), ("dm/uuid", "LVM-Xy1z")])
        .over("virtual/block/dm-0", &format!("{SATA}/sda1"));
    scsi(&tree, SCSI, "8:16", ("pci0000:00/0000:03:00.0", "mpt3sas"), ["SEAGATE ", "ST4000NM0034    ", "E005"]);
    scsi(
        &tree,
        USB,
        "8:32",
        ("pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0", "uas"),
        ["SanDisk ", "Extreme 55AE    ", "3001"],
    );
    tree.file("sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/speed", "480\n")
        .block(VIRTIO, "254:0", &[("size", "2048"), ("ro", "0"), ("serial", "vd-1")])
        .link("sys/devices/pci0000:00/0000:00:02.0/virtio1/driver", "sys/bus/virtio/drivers/virtio_blk")
        .link(&format!("sys/devices/{VIRTIO}/device"), "sys/devices/pci0000:00/0000:00:02.0/virtio1")
        .block("virtual/block/loop0", "7:0", &[("size", "0")])
        .block(
            "virtual/block/loop1",
            "7:1",
            &[("size", "2048"), ("loop/backing_file", "/srv/a.img"), ("loop/dio", "1")],
        );
    tree
}

const MOUNTS: &str = "1 0 254:0 / / rw - ext4 /dev/vda rw\n2 1 253:0 / /home rw - ext4 /dev/mapper/vg-home rw\n";

#[test]
fn each_kind_of_drive_is_listed_with_what_it_says_and_who_uses_it() {
    let tree = host();
    let listed = on(&tree.host(), &Mounts::parse(MOUNTS.as_bytes()));
    let expect = include_str!("devices_snapshot.jsonl").lines();
    for (found, expect) in listed.iter().zip(expect.clone()) {
        assert_eq!(serde_json::to_string(found).unwrap(), expect, "{} is not as in devices_snapshot.jsonl", found.path);
    }
    assert_eq!(listed.len(), expect.count());
}

#[test]
fn a_drive_in_use_may_not_be_erased_and_a_free_one_may() {
    let tree = host();
    let listed = on(&tree.host(), &Mounts::parse(MOUNTS.as_bytes()));
    let lines: Vec<String> =
        listed.iter().map(|drive| format!("{} {} {}", drive.path, drive.erasable, drive.why_not.join(", "))).collect();
    assert_eq!(
        lines,
        [
            "/dev/dm-0 false is in use: dm-0 is mounted at /home. Unmount it first; --erase does not override use",
            "/dev/loop1 true ",
            "/dev/md0 true ",
            "/dev/nvme0n1 false is in use: nvme0n1 is held by md0 (md-raid1). Stop or remove what holds it first; --erase does not override use",
            "/dev/nvme1n1 false is in use: nvme1n1 is held by md0 (md-raid1). Stop or remove what holds it first; --erase does not override use",
            "/dev/sda false is in use: dm-0 is mounted at /home; sda1 is held by dm-0 (dm-lvm). Unmount it first; --erase does not override use",
            "/dev/sdb true ",
            "/dev/sdc true ",
            "/dev/vda false carries the system itself: vda is mounted at / and carries the root filesystem. It is never erased. Name another drive",
        ]
    );
}

#[test]
fn this_host_lists_its_drives_without_root_or_with() {
    let listed = list().unwrap();
    assert!(listed.iter().all(|drive| drive.drive.size != Some(crate::units::Bytes(0))), "{listed:?}");
    assert!(listed.iter().all(|drive| drive.erasable == drive.why_not.is_empty()), "{listed:?}");
}

#[test]
fn hostile_names_of_drives_and_mounts_stay_one_clean_line() {
    let tree = Tree::new();
    let hostile = "\u{1b}[31m<script>\"'&]]>\u{202e}😀\u{0}|`\n".repeat(200);
    tree.block("virtual/block/sdz", "65:144", &[("size", "8"), ("ro", "0")])
        .file("sys/devices/virtual/x/model", &hostile)
        .file("sys/devices/virtual/x/serial", &hostile)
        .link("sys/devices/virtual/block/sdz/device", "sys/devices/virtual/x");
    let mounts = "1 0 65:144 / /mnt/<b>\\033[31m\\012evil\\040\"'&\u{202e}😀 rw - ext4 /dev/sdz rw\n";
    let listed = on(&tree.host(), &Mounts::parse(mounts.as_bytes()));
    let [one] = listed.as_slice() else { panic!("{listed:?}") };
    let texts = [one.drive.model.clone().unwrap(), one.drive.serial.clone().unwrap(), one.why_not.join("\n")];
    for text in texts {
        assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
        assert!(text.chars().count() <= 600 && text.contains('😀'), "{text:?}");
    }
}
