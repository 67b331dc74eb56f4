//! Recorded device trees → the drive that they describe.

use super::super::mounts::Mounts;
use super::super::recorded::{Tree, device};
use super::super::{Drive, Facts};
use super::*;

const NVME: &str = "pci0000:00/0000:00:01.1/0000:01:00.0/nvme/nvme0/nvme0n1";
const SATA: &str = "pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sda";

fn drive(tree: &Tree, number: &str) -> Drive {
    read(device(number), &tree.host(), &Mounts::default()).expect("the tree has this device")
}

/// `name=value` for each field that is known, so that one line says what a tree must give.
fn check(tree: &Tree, number: &str, expect: &str) {
    let drive = drive(tree, number);
    let stack: Vec<String> = drive.stack.iter().map(|layer| format!("{}:{}", layer.name, layer.kind)).collect();
    let yes_no = |flag: Option<bool>| flag.map(|flag| if flag { "yes" } else { "no" }.to_owned());
    let bytes = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0.to_string());
    let fields = [
        ("name", Some(drive.name)),
        ("model", drive.model),
        ("serial", drive.serial),
        ("firmware", drive.firmware),
        ("wwid", drive.wwid),
        ("transport", drive.transport),
        ("driver", drive.driver),
        ("version", drive.driver_version),
        ("link", drive.link),
        ("size", bytes(drive.size)),
        ("logical", bytes(drive.logical_block)),
        ("physical", bytes(drive.physical_block)),
        ("rotational", yes_no(drive.rotational)),
        ("removable", yes_no(drive.removable)),
        ("scheduler", drive.scheduler),
        ("cache", drive.write_cache),
        ("file", drive.backing_file),
        ("stack", Some(stack.join(" "))),
    ];
    let known = fields.iter().filter_map(|(name, value)| value.as_ref().map(|value| format!("{name}={value}")));
    let got: Vec<String> = known.collect();
    let want: Vec<&str> = expect.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(got, want);
}

fn nvme() -> Tree {
    let tree = Tree::new();
    let controller = "sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0";
    tree.block(
        NVME,
        "259:0",
        &[
            ("size", "1953525168"),
            ("removable", "0"),
            ("wwid", "eui.0025385b11234567"),
            ("queue/logical_block_size", "512"),
            ("queue/physical_block_size", "4096"),
            ("queue/rotational", "0"),
            ("queue/scheduler", "[none] mq-deadline kyber"),
            ("queue/write_cache", "write back"),
        ],
    )
    .block(&format!("{NVME}/nvme0n1p2"), "259:2", &[("partition", "2"), ("size", "1048576")])
    .file(&format!("{controller}/nvme/nvme0/model"), "Samsung SSD 980 PRO 1TB                 \n")
    .file(&format!("{controller}/nvme/nvme0/serial"), "S5GXNX0R123456      \n")
    .file(&format!("{controller}/nvme/nvme0/firmware_rev"), "5B2QGXA7\n")
    .file(&format!("{controller}/nvme/nvme0/transport"), "pcie\n")
    .file(&format!("{controller}/current_link_speed"), "16.0 GT/s PCIe\n")
    .file(&format!("{controller}/current_link_width"), "4\n")
    .file("sys/module/nvme/version", "1.0\n")
    .link(&format!("{controller}/driver"), "sys/bus/pci/drivers/nvme")
    .link(&format!("sys/devices/{NVME}/device"), &format!("{controller}/nvme/nvme0"));
    tree
}

fn sata() -> Tree {
    let tree = Tree::new();
    let scsi = "sys/devices/pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0";
    tree.block(
        SATA,
        "8:0",
        &[
            ("size", "7814037168"),
            ("removable", "0"),
            ("queue/logical_block_size", "512"),
            ("queue/physical_block_size", "4096"),
            ("queue/rotational", "1"),
            ("queue/scheduler", "none [mq-deadline]"),
            ("queue/write_cache", "write back"),
        ],
    )
    .block(&format!("{SATA}/sda1"), "8:1", &[("partition", "1")])
    .file(&format!("{scsi}/model"), "WDC WD40EFRX-68N\n")
    .file(&format!("{scsi}/vendor"), "ATA     \n")
    .file(&format!("{scsi}/rev"), "0A82\n")
    .file(&format!("{scsi}/wwid"), "naa.50014ee2b1234567\n")
    .file(&format!("{scsi}/vpd_pg80"), b"\x00\x80\x00\x14     WD-WCC7K1234567")
    .file("sys/devices/pci0000:00/0000:00:1f.2/ata3/link3/ata_link/link3/sata_spd", "6.0 Gbps\n")
    .link(&format!("{scsi}/driver"), "sys/bus/scsi/drivers/sd")
    .link("sys/devices/pci0000:00/0000:00:1f.2/driver", "sys/bus/pci/drivers/ahci")
    .link(&format!("sys/devices/{SATA}/device"), scsi);
    tree
}

#[test]
fn a_partition_of_an_nvme_drive_is_the_whole_drive() {
    check(
        &nvme(),
        "259:2",
        "name=nvme0n1
         model=Samsung SSD 980 PRO 1TB
         serial=S5GXNX0R123456
         firmware=5B2QGXA7
         wwid=eui.0025385b11234567
         transport=nvme
         driver=nvme
         version=1.0
         link=16.0 GT/s PCIe x4
         size=1000204886016
         logical=512
         physical=4096
         rotational=no
         removable=no
         scheduler=none
         cache=write back
         stack=nvme0n1p2:partition nvme0n1:nvme",
    );
}

#[test]
fn a_sata_disk_is_named_without_its_bus_and_by_its_controllers_driver() {
    check(
        &sata(),
        "8:1",
        "name=sda
         model=WDC WD40EFRX-68N
         serial=WD-WCC7K1234567
         firmware=0A82
         wwid=naa.50014ee2b1234567
         transport=sata
         driver=ahci
         link=6.0 Gbps
         size=4000787030016
         logical=512
         physical=4096
         rotational=yes
         removable=no
         scheduler=mq-deadline
         cache=write back
         stack=sda1:partition sda:sata",
    );
}

#[test]
fn a_virtio_disk_says_little_and_nothing_is_made_up() {
    let tree = Tree::new();
    let place = "pci0000:00/0000:00:02.0/virtio1/block/vda";
    tree.block(place, "254:0", &[("size", "2048"), ("serial", "overlayblk"), ("queue/scheduler", "none")])
        .file("sys/devices/pci0000:00/0000:00:02.0/virtio1/vendor", "0x1af4\n")
        .link("sys/devices/pci0000:00/0000:00:02.0/virtio1/driver", "sys/bus/virtio/drivers/virtio_blk")
        .link(&format!("sys/devices/{place}/device"), "sys/devices/pci0000:00/0000:00:02.0/virtio1");
    check(
        &tree,
        "254:0",
        "name=vda
         serial=overlayblk
         transport=virtio
         driver=virtio_blk
         size=1048576
         scheduler=none
         stack=vda:virtio",
    );
}

#[test]
fn a_usb_disk_is_told_by_its_place_in_the_tree() {
    let tree = Tree::new();
    let usb = "pci0000:00/0000:00:14.0/usb2/2-1";
    let scsi = format!("{usb}/2-1:1.0/host6/target6:0:0/6:0:0:0");
    let place = format!("{scsi}/block/sdb");
    tree.block(&place, "8:16", &[("removable", "1")])
        .file(&format!("sys/devices/{scsi}/vendor"), "SanDisk \n")
        .file(&format!("sys/devices/{scsi}/model"), "Extreme 55AE    \n")
        .file(&format!("sys/devices/{usb}/speed"), "480\n")
        .link(&format!("sys/devices/{usb}/2-1:1.0/driver"), "sys/bus/usb/drivers/uas")
        .link(&format!("sys/devices/{place}/device"), &format!("sys/devices/{scsi}"));
    check(
        &tree,
        "8:16",
        "name=sdb
         model=SanDisk Extreme 55AE
         transport=usb
         driver=uas
         link=USB 480 Mb/s
         removable=yes
         stack=sdb:usb",
    );
}

#[test]
fn a_mapped_device_over_one_drive_has_its_identity_and_its_own_size() {
    let tree = nvme();
    tree.block(
        "virtual/block/dm-0",
        "253:0",
        &[("size", "1000"), ("dm/name", "luks"), ("dm/uuid", "CRYPT-LUKS2-0123-luks"), ("queue/scheduler", "none")],
    )
    .block("virtual/block/dm-1", "253:1", &[("size", "500"), ("dm/name", "vg-home"), ("dm/uuid", "LVM-abc")])
    .over("virtual/block/dm-1", "virtual/block/dm-0")
    .over("virtual/block/dm-0", &format!("{NVME}/nvme0n1p2"));
    let drive = drive(&tree, "253:1");
    assert_eq!(drive.name, "dm-1");
    assert_eq!(drive.model.as_deref(), Some("Samsung SSD 980 PRO 1TB"));
    assert_eq!(drive.transport.as_deref(), Some("nvme"));
    assert_eq!(drive.size, Some(Bytes(500 * 512)));
    let kinds: Vec<&str> = drive.stack.iter().map(|layer| layer.kind.as_str()).collect();
    assert_eq!(kinds, ["dm-lvm", "dm-crypt", "partition", "nvme"]);
}

#[test]
fn a_mapped_device_over_two_drives_has_neithers_identity() {
    let tree = sata();
    tree.block("pci0000:00/ata4/block/sdb", "8:16", &[])
        .block("virtual/block/dm-0", "253:0", &[("dm/name", "vg-lv"), ("dm/uuid", "LVM-abc"), ("size", "16")])
        .over("virtual/block/dm-0", &format!("{SATA}/sda1"))
        .over("virtual/block/dm-0", "pci0000:00/ata4/block/sdb");
    check(
        &tree,
        "253:0",
        "name=dm-0
         wwid=LVM-abc
         transport=dm
         size=8192
         stack=dm-0:dm-lvm sda1:partition sda:sata sdb:sata",
    );
}

#[test]
fn a_mirror_names_its_level() {
    let tree = sata();
    tree.block("virtual/block/md0", "9:0", &[("md/level", "raid1"), ("md/uuid", "1234")])
        .over("virtual/block/md0", SATA);
    let kinds: Vec<String> = drive(&tree, "9:0").stack.into_iter().map(|layer| layer.kind).collect();
    assert_eq!(kinds, ["md-raid1", "sata"]);
}

#[test]
fn a_loop_device_is_a_drive_of_its_own_and_names_its_file() {
    let tree = Tree::new();
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(1 << 20).unwrap();
    let path = file.path().to_str().unwrap();
    tree.block("virtual/block/loop7", "7:7", &[("size", "2048"), ("loop/backing_file", path)]);
    check(&tree, "7:7", &format!("name=loop7\ntransport=loop\nsize=1048576\nfile={path}\nstack=loop7:loop"));
    let dir = tree.host().block(device("7:7")).unwrap();
    assert_eq!(backing_file(&dir), Some(file.path().to_owned()));
}

#[test]
fn a_loop_device_through_the_page_cache_is_told_from_one_without() {
    let tree = Tree::new();
    tree.block("virtual/block/loop1", "7:1", &[("loop/dio", "0")]).block(
        "virtual/block/loop2",
        "7:2",
        &[("loop/dio", "1")],
    );
    let kinds = ["7:1", "7:2"].map(|number| drive(&tree, number).stack.remove(0).kind);
    assert_eq!(kinds, ["loop-buffered", "loop"]);
}

#[test]
fn a_backing_file_that_cannot_be_the_devices_is_not_believed() {
    let tree = Tree::new();
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(1 << 19).unwrap();
    let path = file.path().to_str().unwrap();
    let deleted = format!("{path} (deleted)");
    tree.block("virtual/block/loop1", "7:1", &[("size", "2048"), ("loop/backing_file", path)]).block(
        "virtual/block/loop2",
        "7:2",
        &[("size", "2048"), ("loop/backing_file", &deleted)],
    );
    for number in ["7:1", "7:2"] {
        assert_eq!(backing_file(&tree.host().block(device(number)).unwrap()), None);
    }
}

#[test]
fn native_multipath_finds_driver_and_link_through_the_subsystem() {
    let tree = Tree::new();
    let controller = "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0";
    let subsystem = "sys/devices/virtual/nvme-subsystem/nvme-subsys0";
    tree.block("virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "259:0", &[])
        .link("sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1/device", subsystem)
        .file(&format!("{subsystem}/model"), "ACME\n")
        .file(&format!("{controller}/cntlid"), "1\n")
        .file("sys/devices/pci0000:00/0000:01:00.0/current_link_speed", "8.0 GT/s PCIe\n")
        .file("sys/devices/pci0000:00/0000:01:00.0/current_link_width", "2\n")
        .link(&format!("{controller}/device"), "sys/devices/pci0000:00/0000:01:00.0")
        .link("sys/devices/pci0000:00/0000:01:00.0/driver", "sys/bus/pci/drivers/nvme")
        .link(&format!("{subsystem}/nvme0"), controller);
    check(
        &tree,
        "259:0",
        "name=nvme0n1
         model=ACME
         transport=nvme
         driver=nvme
         link=8.0 GT/s PCIe x2
         stack=nvme0n1:nvme",
    );
}

#[test]
fn hostile_names_are_cleaned_and_blank_ones_absent() {
    let tree = Tree::new();
    let device_dir = "sys/devices/virtual/x";
    tree.block("virtual/block/sdz", "65:144", &[])
        .file(&format!("{device_dir}/model"), b"Evil\x1b[2J\x00 <b>\"'&]]>\xff  \n")
        .file(&format!("{device_dir}/serial"), "\u{202E} \u{FFFE}\0\n")
        .file(&format!("{device_dir}/rev"), "    \n")
        .link("sys/devices/virtual/block/sdz/device", device_dir);
    check(
        &tree,
        "65:144",
        "name=sdz
         model=Evil [2J <b>\"'&]]>\u{FFFD}
         transport=scsi
         stack=sdz:scsi",
    );
}

#[test]
fn a_device_that_is_not_in_the_tree_is_unknown() {
    assert_eq!(read(device("1:1"), &Tree::new().host(), &Mounts::default()), None);
}

#[test]
fn facts_go_to_text_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut facts = Facts::read(folder.path()).unwrap();
    facts.drive = Some(drive(&nvme(), "259:2"));
    let text = serde_json::to_string(&facts).unwrap();
    assert!(text.contains(r#""kind":"folder""#), "{text}");
    assert_eq!(serde_json::from_str::<Facts>(&text).unwrap(), facts);
}
