//! The drive behind a block device: what the kernel's device tree says of it and of what lies beneath.
//!
//! Source: Linux `Documentation/ABI/stable/sysfs-block`, `testing/sysfs-block-*`. Opens no device.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::mounts::Mounts;
use super::sysfs::{self, Host, attribute, flag, number};
use super::{Device, Drive, Layer, Member, details, numa, text, tiers};
use crate::units::Bytes;

/// Deeper stacks than anybody builds; guards against a tree that goes in circles.
const DEEPEST: usize = 16;

/// Drivers of the disk layer, which say nothing of how the host reaches the drive.
const DISK_LAYER: [&str; 3] = ["sd", "sr", "mmcblk"];

/// The drive that carries `device`, as the tree shows it; none where it has no such device. Asks the drive nothing.
pub(super) fn read(device: Device, host: &Host, mounts: &Mounts) -> Option<Drive> {
    let dir = host.block(device)?;
    let (top, _) = sysfs::whole(&dir);
    let mut stack = Vec::new();
    let mut physical = Vec::new();
    descend(&dir, host, mounts, &mut stack, &mut physical);
    physical.sort();
    physical.dedup();
    let source = match physical.as_slice() {
        [only] => only.as_path(),
        _ => top,
    };
    let reached = Reached::read(source);
    let mut drive = Drive {
        name: sysfs::name(top),
        device: sysfs::number_of(top).unwrap_or(device),
        model: model(source),
        serial: serial(source),
        firmware: ["device/firmware_rev", "device/rev", "device/fwrev"].iter().find_map(|name| attribute(source, name)),
        wwid: wwid(source),
        transport: transport(source),
        driver_version: reached
            .driver
            .as_ref()
            .and_then(|driver| attribute(&host.sys.join("module").join(driver), "version")),
        driver: reached.driver,
        link: reached.link,
        size: number(top, "size").map(|sectors| Bytes(sectors.saturating_mul(512))),
        logical_block: number(top, "queue/logical_block_size").map(Bytes),
        physical_block: number(top, "queue/physical_block_size").map(Bytes),
        rotational: flag(source, "queue/rotational"),
        removable: flag(source, "removable"),
        scheduler: attribute(source, "queue/scheduler").map(|all| chosen(&all)),
        write_cache: attribute(top, "queue/write_cache"),
        backing_file: attribute(top, "loop/backing_file"),
        stack,
        details: details::read(top, source),
    };
    drive.details.numa_node = numa::node_of(&physical);
    drive.details.tiers = tiers::of(&drive.stack, host);
    if physical.len() > 1 {
        drive.details.members = physical.iter().map(|source| member(source, host)).collect();
    }
    Some(drive)
}

/// The same, with what the physical drive itself answers, where there is one and it is this host's.
pub(super) fn ask(device: Device, host: &Host, mounts: &Mounts) -> Option<Drive> {
    let mut drive = read(device, host, mounts)?;
    if let (true, [source]) = (host.is_this(), sources(device, host, mounts).as_slice()) {
        super::controller::ask(&mut drive, source);
    }
    Some(drive)
}

/// The physical drives beneath `device`: their folders in the tree.
pub(super) fn sources(device: Device, host: &Host, mounts: &Mounts) -> Vec<PathBuf> {
    let Some(dir) = host.block(device) else { return Vec::new() };
    let mut physical = Vec::new();
    descend(&dir, host, mounts, &mut Vec::new(), &mut physical);
    physical.sort();
    physical.dedup();
    physical
}

/// One of several drives beneath a stack.
fn member(source: &Path, host: &Host) -> Member {
    // The tree has a folder for each, so that only what it says is needed.
    let drive = sysfs::number_of(source).and_then(|device| read(device, host, &Mounts::default()));
    let Some(drive) = drive else { return Member { name: sysfs::name(source), ..Member::default() } };
    Member { name: drive.name, model: drive.model, serial: drive.serial, firmware: drive.firmware, link: drive.link }
}

/// The link that a physical drive trained at.
pub(super) fn trained(source: &Path) -> Option<String> {
    Reached::read(source).link
}

/// The worldwide identity; of SCSI disks behind older kernels, from page 83h of their vital product data.
fn wwid(source: &Path) -> Option<String> {
    let named = ["wwid", "device/wwid", "dm/uuid", "md/uuid"].iter().find_map(|name| attribute(source, name));
    named.or_else(|| details::vpd83(&std::fs::read(source.join("device/vpd_pg83")).ok()?))
}

/// The block devices directly beneath a whole device.
pub(super) fn beneath(dir: &Path) -> Vec<PathBuf> {
    sysfs::children(&dir.join("slaves"))
}

/// The file behind a loop device, if it can be reached under the name that the tree has.
pub(super) fn backing_file(dir: &Path) -> Option<PathBuf> {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let mut raw = std::fs::read(dir.join("loop/backing_file")).ok()?;
    raw.pop_if(|last| *last == b'\n');
    let path = PathBuf::from(OsString::from_vec(raw));
    // A name from another mount namespace may be another file here: it must at least have room for the device.
    let meta = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let offset = number(dir, "loop/offset").unwrap_or(0);
    let size = number(dir, "size")?.saturating_mul(512);
    (meta.len() >= offset.saturating_add(size)).then_some(path)
}

/// Adds `dir` and all beneath it to the stack, depth first, and drives that have nothing beneath to `physical`.
/// A loop device counts as a drive of its own, though what carries its file is in the stack.
fn descend(dir: &Path, host: &Host, mounts: &Mounts, stack: &mut Vec<Layer>, physical: &mut Vec<PathBuf>) {
    let (disk, partition) = sysfs::whole(dir);
    if partition {
        stack.push(Layer { name: sysfs::name(dir), kind: "partition".to_owned() });
    }
    stack.push(Layer { name: sysfs::name(disk), kind: kind(disk) });
    if stack.len() > DEEPEST {
        return;
    }
    let lower = beneath(disk);
    if lower.is_empty() {
        physical.push(disk.to_owned());
    }
    for next in lower {
        descend(&next, host, mounts, stack, physical);
    }
    if let Some(next) = carrier(disk, host, mounts) {
        descend(&next, host, mounts, stack, &mut Vec::new());
    }
}

/// The block device that carries the file behind a loop device.
fn carrier(dir: &Path, host: &Host, mounts: &Mounts) -> Option<PathBuf> {
    let file = backing_file(dir)?;
    host.block(carrier_of(&file, host, mounts)?)
}

/// The block device that carries a file's filesystem.
pub(super) fn carrier_of(file: &Path, host: &Host, mounts: &Mounts) -> Option<Device> {
    let device = Device::from_raw(file.metadata().ok()?.dev());
    if device.is_anonymous() {
        return host.device_of(&mounts.of(file, None)?.source);
    }
    Some(device)
}

/// What a whole device is: of a stacked one its method, of a drive its transport.
pub(super) fn kind(disk: &Path) -> String {
    let transport = transport(disk);
    match transport.as_deref() {
        Some("dm") => mapped_kind(disk),
        Some("md") => attribute(disk, "md/level").map_or("md".to_owned(), |level| format!("md-{level}")),
        // Without direct I/O the host's page cache takes what the loop device is said to have written.
        Some("loop") if flag(disk, "loop/dio") == Some(false) => "loop-buffered".to_owned(),
        Some(other) => other.to_owned(),
        None => "unknown".to_owned(),
    }
}

/// The makers of mapped devices mark them in the UUID, which, unlike the table, anybody may read.
fn mapped_kind(disk: &Path) -> String {
    let uuid = attribute(disk, "dm/uuid").unwrap_or_default();
    let maker = match uuid.split('-').next().unwrap_or_default() {
        "LVM" => "dm-lvm",
        "CRYPT" => "dm-crypt",
        "mpath" => "dm-multipath",
        part if part.starts_with("part") => "dm-partition",
        _ => "dm",
    };
    maker.to_owned()
}

/// How the host reaches a whole device, from the kernel's name and the device's place in the tree.
pub(super) fn transport(disk: &Path) -> Option<String> {
    let name = sysfs::name(disk);
    let named = [
        ("nvme", "nvme"),
        ("vd", "virtio"),
        ("xvd", "xen"),
        ("mmcblk", "mmc"),
        ("loop", "loop"),
        ("zram", "zram"),
        ("ram", "ram"),
        ("pmem", "pmem"),
        ("dm-", "dm"),
        ("md", "md"),
        ("nbd", "nbd"),
        ("rbd", "rbd"),
        ("zd", "zvol"),
        ("bcache", "bcache"),
        ("drbd", "drbd"),
        ("nullb", "null"),
        ("ublkb", "ublk"),
    ];
    let by_name = named.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, transport)| *transport);
    let transport = match by_name {
        // `pcie` for a local controller, else the fabric: `tcp`, `rdma`, `fc`.
        Some("nvme") => match attribute(disk, "device/transport") {
            Some(fabric) if fabric != "pcie" => return Some(format!("nvme-{fabric}")),
            _ => "nvme",
        },
        Some(other) => other,
        None if name.starts_with("sd") || name.starts_with("sr") => scsi_transport(disk),
        None => return None,
    };
    Some(transport.to_owned())
}

/// SCSI disks stand for many buses; the path through the tree tells which.
fn scsi_transport(disk: &Path) -> &'static str {
    let place = disk.to_string_lossy();
    let through = |part: &str| place.contains(part);
    match () {
        () if through("/usb") => "usb",
        () if through("/session") => "iscsi",
        () if through("/rport-") => "fc",
        () if through("/ata") || attribute(disk, "device/vendor").as_deref() == Some("ATA") => "sata",
        () if through("/end_device-") => "sas",
        () => "scsi",
    }
}

/// Vendor and model; SATA disks all have the vendor `ATA`, virtio a number.
fn model(disk: &Path) -> Option<String> {
    let model = attribute(disk, "device/model").or_else(|| attribute(disk, "device/name"))?;
    match attribute(disk, "device/vendor").filter(|vendor| vendor != "ATA" && !vendor.starts_with("0x")) {
        Some(vendor) if !model.starts_with(&vendor) => Some(format!("{vendor} {model}")),
        _ => Some(model),
    }
}

/// NVMe and MMC have an attribute, virtio another, SCSI page 80h of its vital product data: four bytes, then text.
fn serial(disk: &Path) -> Option<String> {
    let page = || text::clean(std::fs::read(disk.join("device/vpd_pg80")).ok()?.get(4..)?);
    attribute(disk, "device/serial").or_else(|| attribute(disk, "serial")).or_else(page)
}

/// `none [mq-deadline] kyber` → `mq-deadline`.
fn chosen(all: &str) -> String {
    let inner = all.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(name, _)| name);
    inner.unwrap_or(all).to_owned()
}

/// How the host reaches a drive: driver and link, found on the way from the device up to its bus.
#[derive(Default)]
struct Reached {
    driver: Option<String>,
    link: Option<String>,
}

impl Reached {
    fn read(disk: &Path) -> Reached {
        let mut reached = Reached::default();
        let Some(start) = controller(disk) else { return reached };
        for at in start.ancestors().take_while(|at| at.components().count() > 2) {
            reached.link = reached.link.or_else(|| link(at));
            let driver = at.join("driver").canonicalize().map(|dir| sysfs::name(&dir)).ok();
            if let Some(driver) = driver.filter(|name| !DISK_LAYER.contains(&name.as_str())) {
                // An HBA's or a USB controller's own PCIe link is not the drive's.
                reached.driver = Some(driver);
                reached.link = reached.link.or_else(|| usb_link(at));
                break;
            }
        }
        reached
    }
}

/// The device's place in the tree. With NVMe's native multipath a disk hangs below a subsystem, which links to its
/// controllers; the first is taken.
pub(super) fn controller(disk: &Path) -> Option<PathBuf> {
    let device = disk.join("device").canonicalize().ok()?;
    if !sysfs::name(&device).starts_with("nvme-subsys") {
        return Some(device);
    }
    sysfs::children(&device).into_iter().find(|child| child.join("device").exists() && child.join("cntlid").exists())
}

/// PCIe: `8.0 GT/s PCIe` and `4`. SATA: `ata1/link1/ata_link/link1/sata_spd`.
fn link(at: &Path) -> Option<String> {
    if let Some(link) = pci_link(at, "current_link_speed", "current_link_width") {
        // Ahead of the driver only an NVMe controller's own folder has these; others are asked before they get here.
        return is_nvme(at).then_some(link);
    }
    let port = sysfs::name(at).strip_prefix("ata")?.parse::<u32>().ok()?;
    attribute(at, &format!("link{port}/ata_link/link{port}/sata_spd")).filter(|speed| speed != "<unknown>")
}

/// Speed and width of a PCIe function's link, from the attributes of these names.
pub(super) fn pci_link(at: &Path, speed: &str, width: &str) -> Option<String> {
    let speed = attribute(at, speed).filter(|speed| !speed.starts_with("Unknown"))?;
    let width = attribute(at, width).filter(|width| width != "0" && width != "255")?;
    Some(format!("{speed} x{width}"))
}

pub(super) fn is_nvme(at: &Path) -> bool {
    at.join("nvme").is_dir()
}

/// The speed that a USB device trained at, in Mb/s; the driver sits on an interface, the speed on the device above.
fn usb_link(interface: &Path) -> Option<String> {
    attribute(interface.parent()?, "speed").map(|speed| format!("USB {speed} Mb/s"))
}

#[cfg(test)]
#[path = "drive_tests.rs"]
mod tests;
