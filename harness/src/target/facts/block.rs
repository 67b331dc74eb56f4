//! Gathers the facts of a block device: asks the kernel's tree, then the drives, then opens it once to read.
//!
//! Whatever the tree tells needs no right to open the device. Writes nothing and judges nothing.

pub(in crate::target) mod promise;
pub(in crate::target) mod subsystem;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

pub use self::subsystem::{Sibling, Subsystem};
use super::contents::{self, Contents};
use super::identity::{self, Identity};
use super::mounts::Mounts;
use super::reservation::Reservation;
use super::sysfs::{self, Host, attribute, number};
use super::{Device, Facts, FactsError, Place, Pool, Use, controller, drive, openers, pool, uses};
use crate::sample::purge::Reads;
use crate::target::{ioctl, space};
use crate::units::Bytes;

/// What is known of a block device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Its number.
    pub device: Device,
    /// The kernel's sequence number: no other disk of this boot has it, not even under the same name. Since Linux 5.15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// Its names, the most precise first.
    pub identity: Vec<Identity>,
    /// The whole disk, if this is a partition of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_of: Option<String>,
    /// Addressable bytes.
    pub size: Bytes,
    /// Whether the kernel lets nobody write.
    pub read_only: bool,
    /// `host-managed` or `host-aware`; none of drives that can be written anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zoned: Option<String>,
    /// The transport, if other hosts may use the device too: `nvme-tcp`, `iscsi`, `fc` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_storage: Option<String>,
    /// What uses it, its partitions and what is stacked upon these; none where that cannot be known.
    pub uses: Option<Vec<Use>>,
    /// Whether somebody has opened it exclusively.
    pub claimed: bool,
    /// Processes that have it or a partition of it open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opened_by: Vec<String>,
    /// Which drives beneath are reserved, or may be; and what is registered for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reservations: Vec<Reservation>,
    /// What lies on it.
    pub contents: Contents,
    /// Discards begin and end at multiples of it; none where the device takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discard_granularity: Option<Bytes>,
    /// The first place from which on discards may begin: they do at this one and at steps of the granularity after it.
    #[serde(default)]
    pub discard_alignment: Bytes,
    /// What the device promises that discarded blocks read as; none where it promises nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discarded_reads: Option<Reads>,
    /// What an NVMe drive's own purge would reach; only where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subsystem: Option<Box<Subsystem>>,
    /// The storage beneath that can run out before the device is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Pool>,
    /// The drives beneath, each with model, serial number and firmware, where there is more than one device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
}

impl Block {
    /// Bytes that phases may use: all but a margin at each end.
    #[must_use]
    pub fn capacity(&self) -> Bytes {
        Bytes(space::capacity(self.size.0))
    }
}

/// Transports by which several hosts reach one device.
const SHARED: [&str; 8] = ["iscsi", "fc", "nvme-tcp", "nvme-rdma", "nvme-fc", "nbd", "rbd", "drbd"];

/// The facts of the block device at the canonical `path`, as `host` shows it. Where it may not be opened, what the tree
/// tells is known all the same.
pub(super) fn read(path: PathBuf, host: &Host) -> Result<Facts, FactsError> {
    let failed = |operation: &'static str| {
        let path = path.clone();
        move |source: io::Error| FactsError::System { operation, path, source }
    };
    let meta = path.metadata().map_err(failed("asking for the number of"))?;
    if !meta.file_type().is_block_device() {
        return Err(FactsError::NotAFolder(path));
    }
    let device = Device::from_raw(meta.rdev());
    let mounts = host.mounts().map_err(failed("reading the mount table for"))?;
    let dir = host.block(device).ok_or_else(|| FactsError::NotInTree(path.clone()))?;
    let mut drive = drive::ask(device, host, &mounts);
    let mut block = by_the_tree(device, &dir, host, &mounts);
    block.discarded_reads = promise::read(sysfs::whole(&dir).0, drive.as_ref());
    for source in drive::sources(device, host, &mounts).iter().filter(|_| host.is_this()) {
        match (controller::reservation(source, drive::transport(source).as_deref()), &mut drive) {
            (Ok(found), _) => block.reservations.extend(found),
            (Err(why), Some(drive)) => drive.details.unread.push(why),
            (Err(_), None) => {}
        }
    }
    block.contents = match open(&path, device) {
        Ok(file) => {
            block.sequence = ioctl::disk_sequence(file.as_fd());
            let size = rustix::fs::seek(&file, SeekFrom::End(0));
            let size = size.map_err(|errno| failed("asking for the size of")(errno.into()))?;
            block.size = Bytes(size);
            contents::look(size, &|at, len| bytes_of(&file, at, len))
        }
        Err(why) => Contents { unread: Some(why), ..Contents::default() },
    };
    let patient = block.uses.as_ref().is_some_and(Vec::is_empty) && block.contents.unread.is_none();
    (block.claimed, block.opened_by) = users(&path, device, &dir, host, patient);
    Ok(Facts { path, drive, place: Place::Device(Box::new(block)) })
}

/// What the tree alone tells: nothing of what lies on the device.
pub(super) fn by_the_tree(device: Device, dir: &Path, host: &Host, mounts: &Mounts) -> Block {
    let (disk, is_partition) = sysfs::whole(dir);
    let mut transports =
        drive::sources(device, host, mounts).into_iter().filter_map(|source| drive::transport(&source));
    Block {
        device,
        sequence: number(disk, "diskseq"),
        identity: identity::read(device, host, mounts),
        partition_of: is_partition.then(|| sysfs::name(disk)),
        size: Bytes(number(dir, "size").unwrap_or(0).saturating_mul(512)),
        read_only: number(dir, "ro") == Some(1),
        zoned: attribute(disk, "queue/zoned").filter(|zoned| zoned != "none"),
        shared_storage: transports.find(|transport| SHARED.contains(&transport.as_str())),
        uses: uses::read(device, host, mounts),
        claimed: false,
        opened_by: Vec::new(),
        reservations: Vec::new(),
        contents: Contents { unread: Some("nobody looked".to_owned()), ..Contents::default() },
        discard_granularity: number(disk, "queue/discard_max_bytes")
            .filter(|&most| most > 0)
            .map(|_| Bytes(number(disk, "queue/discard_granularity").unwrap_or(512).max(512))),
        discard_alignment: Bytes(number(disk, "discard_alignment").unwrap_or(0)),
        discarded_reads: None,
        subsystem: None,
        pool: pool::read(device, Bytes(0), host, mounts),
        members: members(disk, host, mounts),
    }
}

/// Why a device is not opened by who may not.
pub(super) const NOT_ALLOWED: &str = "this user may not read the device, and so cannot know what lies on it. \
    Run as root, or name a folder on a filesystem that lies on it";

const FORBIDDEN: &str = "not even root may open it here: a container or a security module forbids that. Allow it there, or \
    name a folder on a filesystem that lies on it";

/// Opens `device` to read, and does; or says why its contents cannot be known.
fn open(path: &Path, device: Device) -> Result<File, String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).map(File::from).map_err(|errno| match errno {
        Errno::ACCESS | Errno::PERM if rustix::process::geteuid().is_root() => FORBIDDEN.to_owned(),
        Errno::ACCESS | Errno::PERM => NOT_ALLOWED.to_owned(),
        Errno::NXIO | Errno::NODEV | Errno::NOMEDIUM => {
            "there is no drive or medium behind it. Look whether the drive is still attached".to_owned()
        }
        errno => format!("opening it failed: {}. Look whether the drive still answers", io::Error::from(errno)),
    })?;
    match file.metadata() {
        Ok(meta) if Device::from_raw(meta.rdev()) == device => {}
        _ => return Err("another device has its name now. Look which drive is meant".to_owned()),
    }
    // Of one that is reserved for another nothing can be read, and it is not asked for all of its samples.
    let failed = |why| format!("reading its first sector failed: {why}. Look whether the drive still answers");
    file.read_at(&mut [0; 512], 0).map_err(failed)?;
    Ok(file)
}

/// The names of a device now: whether it is still the one that was looked at.
pub(in crate::target) fn identity_now(device: Device) -> Vec<Identity> {
    let host = Host::this();
    host.mounts().map(|mounts| identity::read(device, &host, &mounts)).unwrap_or_default()
}

/// What can be read from there: of a place that cannot, nothing is known, and an error here is no reason yet.
fn bytes_of(file: &File, at: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let mut filled = 0;
    while let Ok(n @ 1..) = file.read_at(&mut bytes[filled..], at + filled as u64) {
        filled += n;
    }
    bytes.truncate(filled);
    bytes
}

/// Who has the device open. udev looks at each device that was closed after writing, for a moment only: who is `patient`
/// does not count what is gone within a second.
fn users(path: &Path, device: Device, dir: &Path, host: &Host, patient: bool) -> (bool, Vec<String>) {
    let devices: Vec<Device> =
        std::iter::once(device).chain(uses::partitions(dir).iter().filter_map(|part| sysfs::number_of(part))).collect();
    let exclusive = OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut users = (false, Vec::new());
    for _ in 0..10 {
        users.0 = rustix::fs::open(path, exclusive, Mode::empty()).err() == Some(Errno::BUSY);
        users.1 = openers::of(&devices, &host.proc);
        if !patient || !users.0 && users.1.is_empty() {
            break;
        }
        #[expect(clippy::disallowed_methods, reason = "before any run: waits for other programs in real time")]
        thread::sleep(Duration::from_millis(100));
    }
    users
}

/// The devices beneath that have nothing beneath them, each in one line for people.
fn members(disk: &Path, host: &Host, mounts: &Mounts) -> Vec<String> {
    let mut members = Vec::new();
    let mut rest = drive::beneath(disk);
    // Deeper or wider stacks than anybody builds end here.
    while let Some(dir) = rest.pop().filter(|_| members.len() < 256) {
        let (whole, _) = sysfs::whole(&dir);
        let below = drive::beneath(whole);
        if below.is_empty() {
            let drive = sysfs::number_of(whole).and_then(|device| drive::read(device, host, mounts));
            let said = drive.map(|drive| [drive.model, drive.serial, drive.firmware]).unwrap_or_default();
            let parts: Vec<String> = std::iter::once(sysfs::name(&dir)).chain(said.into_iter().flatten()).collect();
            members.push(parts.join(" "));
        }
        rest.extend(below);
    }
    members.sort();
    members.dedup();
    members
}
