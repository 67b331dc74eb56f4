//! What is known of a target: the types, and gathering them for a folder or a block device.
//!
//! What differs between kinds of targets is in [`Place`]; all else is common.
//!
//! `mounts` and `dm` parse text, `drive`, `details`, `uses` and `pool` read sysfs, `controller` asks the drive itself,
//! `quota` the filesystem, `host` reads what surrounds the target. Judges nothing: that is `guard`'s.
//! What is unknown is absent, never zero or empty.

pub(super) mod block;
mod contents;
mod controller;
mod details;
pub mod devices;
mod dm;
mod drive;
mod folder;
mod host;
mod identity;
mod limits;
mod mounts;
mod numa;
mod number;
pub(super) mod nvme;
mod openers;
mod pool;
mod quota;
#[cfg(test)]
mod recorded;
mod reservation;
mod smartctl;
mod sysfs;
mod text;
mod tiers;
mod uses;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(super) use self::block::identity_now;
pub use self::block::{Block, Sibling, Subsystem};
pub use self::contents::Contents;
pub use self::details::{Condition, Details, Member};
pub use self::folder::FactsError;
pub use self::host::environment;
pub use self::identity::Identity;
pub use self::numa::{Cpus, Placement};
pub use self::number::Device;
pub use self::nvme::erase::{Abilities, SanitizeAction};
pub use self::reservation::{Reservation, Reserved};
pub use self::uses::{Use, User};
use crate::units::Bytes;

/// What is known of a target before anything is written to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The target: an absolute path without symbolic links, or `sim:` and what the user named.
    pub path: PathBuf,
    /// The drive; none for filesystems in memory, on the network, overlay and ZFS.
    pub drive: Option<Drive>,
    /// What kind of target it is, and what is known of that kind only.
    #[serde(flatten)]
    pub place: Place,
}

/// The kinds of targets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind")]
#[non_exhaustive]
pub enum Place {
    /// Files in a folder of our own inside a folder.
    #[serde(rename = "folder")]
    Folder(Folder),
    /// A block device, all of it but a margin at each end.
    #[serde(rename = "device")]
    Device(Box<Block>),
    /// A simulated drive, all of it.
    #[serde(rename = "sim")]
    Simulated(Simulated),
}

/// What is known of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folder {
    /// The folder's own `st_dev`; with `inode` it tells a descriptor opened later that the folder is the same.
    pub device: Device,
    /// The folder's inode number.
    pub inode: u64,
    /// Whether this process may make files in the folder.
    pub writable: bool,
    /// The filesystem that the folder lies on.
    pub filesystem: Filesystem,
    /// The storage beneath the filesystem that can run out before the filesystem does.
    pub pool: Option<Pool>,
    /// What this user's or group's quota leaves; none where no quota binds this process.
    pub quota_left: Option<Bytes>,
}

/// What is known of a simulated drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Simulated {
    /// Capacity and rates are this part of the real drive's: 1 is all of it.
    pub scale: u32,
    /// Its rate over used space was measured elsewhere and put in: it does not follow from how flash works.
    pub fitted: bool,
    /// Where its figures are from.
    pub source: String,
    /// Faults that were planted, as they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// Of all that describes the drive: it says whether the drive is still the same when a run goes on.
    pub digest: String,
    /// Addressable bytes, none of them in use.
    pub capacity: Bytes,
}

/// A mounted filesystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filesystem {
    /// As the kernel names it: `ext4`, `tmpfs`, `fuse.sshfs`.
    pub type_name: String,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// What is mounted: a device's path, a server's share, or a mere word.
    pub source: String,
    /// The mount's options, then those of the filesystem that it does not repeat; comma-separated.
    pub options: String,
    /// All its blocks (`f_blocks`).
    pub total: Bytes,
    /// Blocks in no use, those reserved for root counted (`f_bfree`).
    pub free: Bytes,
    /// Blocks that an ordinary user may still use (`f_bavail`).
    pub available: Bytes,
    /// The mount's device number; its major is 0 where no block device carries it directly.
    pub device: Device,
    /// The block devices that carry it: one for most, several for btrfs, none for memory and network.
    /// Their counters show whether writes reach the drive.
    pub carriers: Vec<Device>,
    /// Mounted or made read-only.
    pub read_only: bool,
    /// Whether `/` lies on it.
    pub carries_root: bool,
    /// Whether the mount shows the whole filesystem, and no other mount point shows any of it.
    pub own: bool,
}

/// The drive behind a filesystem.
///
/// Size, block sizes and write cache are those of the whole device that carries the filesystem. Model, serial,
/// firmware, transport and driver are the physical drive's where a stack (LVM, dm-crypt, md …) has exactly one beneath.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drive {
    /// The kernel's name of the whole device that carries the filesystem: `nvme0n1`, `dm-0`. May change at a reboot.
    pub name: String,
    /// Its number.
    pub device: Device,
    /// Vendor and model as the drive says them.
    pub model: Option<String>,
    /// The drive's serial number.
    pub serial: Option<String>,
    /// The firmware's revision.
    pub firmware: Option<String>,
    /// The worldwide identity: `eui.…`, `naa.…`, `uuid.…`; of dm and md over several drives their UUID.
    pub wwid: Option<String>,
    /// `nvme`, `sata`, `sas`, `scsi`, `usb`, `virtio`, `mmc`, `loop`, `zram`, `dm`, `md` …
    pub transport: Option<String>,
    /// The host's driver: `nvme`, `ahci`, `virtio_blk`.
    pub driver: Option<String>,
    /// The driver module's own version, where it has one.
    pub driver_version: Option<String>,
    /// The link as trained: `16.0 GT/s PCIe x4`, `6.0 Gbps`.
    pub link: Option<String>,
    /// Addressable bytes.
    pub size: Option<Bytes>,
    /// The smallest addressable unit.
    pub logical_block: Option<Bytes>,
    /// The smallest unit that is written without read-modify-write.
    pub physical_block: Option<Bytes>,
    /// Whether the drive says that it spins.
    pub rotational: Option<bool>,
    /// Whether the medium can be taken out.
    pub removable: Option<bool>,
    /// The I/O scheduler in use: `none`, `mq-deadline`.
    pub scheduler: Option<String>,
    /// `write back` or `write through`, as the kernel understood the device.
    pub write_cache: Option<String>,
    /// The file behind a loop device.
    pub backing_file: Option<String>,
    /// All block devices from the filesystem's down to the lowest known, depth first.
    pub stack: Vec<Layer>,
    /// What else is known of it.
    #[serde(default)]
    pub details: Details,
}

/// One block device of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// The kernel's name: `dm-0`, `sda2`.
    pub name: String,
    /// What it is: `partition`, `dm-crypt`, `dm-lvm`, `md-raid1`, `loop`, `loop-buffered`, or a drive's transport.
    pub kind: String,
}

/// Storage beneath a filesystem that can run out before the filesystem is full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// What kind of storage.
    pub kind: PoolKind,
    /// What it can still take, blocks that it holds but the filesystem does not use included.
    /// None: it may run out, and nobody here may know when.
    pub available: Option<Bytes>,
    /// What it is, with its name, for a sentence: `the sparse file /srv/disk.img`.
    pub what: String,
}

/// Kinds of storage that can run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PoolKind {
    /// A loop device on a file with holes.
    SparseFile,
    /// dm-thin, such as LVM's thin pools.
    Thin,
    /// dm-snapshot: copy-on-write space of a snapshot, or of the snapshots of an origin.
    Snapshot,
    /// dm-vdo: deduplicated and compressed.
    Vdo,
    /// Compressed memory.
    Zram,
}

impl Facts {
    /// Gathers what is known of a folder. Writes nothing.
    ///
    /// # Errors
    /// The path is missing, no folder, not allowed, or its filesystem does not answer.
    pub fn read(path: &Path) -> Result<Facts, FactsError> {
        folder::read(path, &sysfs::Host::this())
    }

    /// Gathers what is known of the block device at `path`, symbolic links followed. Writes nothing.
    ///
    /// # Errors
    /// The path is missing, no block device, or not in this host's tree. One that may not be opened is no error: what lies
    /// on it is unknown then.
    pub fn read_device(path: &Path) -> Result<Facts, FactsError> {
        block::read(folder::canonical(path)?, &sysfs::Host::this())
    }

    /// What uses a block device; none where this host's tree does not have it, or the mounts are not to be read.
    #[must_use]
    pub fn uses(device: Device) -> Option<Vec<Use>> {
        let host = sysfs::Host::this();
        uses::read(device, &host, &host.mounts().ok()?)
    }

    /// What is known of a folder, if it is one.
    #[must_use]
    pub fn folder(&self) -> Option<&Folder> {
        if let Place::Folder(folder) = &self.place { Some(folder) } else { None }
    }

    /// What is known of a block device, if it is one.
    #[must_use]
    pub fn block(&self) -> Option<&Block> {
        if let Place::Device(block) = &self.place { Some(block) } else { None }
    }

    /// The block devices whose counters show whether writes reach the drive.
    #[must_use]
    pub fn carriers(&self) -> &[Device] {
        match &self.place {
            Place::Folder(folder) => &folder.filesystem.carriers,
            Place::Device(block) => std::slice::from_ref(&block.device),
            Place::Simulated(_) => &[],
        }
    }

    /// What is known of a simulated drive, if it is one.
    #[must_use]
    pub fn simulated(&self) -> Option<&Simulated> {
        if let Place::Simulated(simulated) = &self.place { Some(simulated) } else { None }
    }

    /// Bytes that are not in use, those reserved for root counted.
    #[must_use]
    pub fn free(&self) -> Bytes {
        match &self.place {
            Place::Folder(folder) => folder.filesystem.free,
            Place::Device(block) => block.capacity(),
            Place::Simulated(simulated) => simulated.capacity,
        }
    }

    /// Bytes that an ordinary user may still use.
    #[must_use]
    pub fn available(&self) -> Bytes {
        match &self.place {
            Place::Folder(folder) => folder.filesystem.available,
            Place::Device(block) => block.capacity(),
            Place::Simulated(simulated) => simulated.capacity,
        }
    }

    /// The filesystem's type, where there is a filesystem.
    #[must_use]
    pub fn filesystem(&self) -> Option<&str> {
        self.folder().map(|folder| folder.filesystem.type_name.as_str())
    }
}

impl Place {
    /// The kind's name in reports and baselines, as it is serialised.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Place::Folder(_) => "folder",
            Place::Device(_) => "device",
            Place::Simulated(_) => "sim",
        }
    }
}

/// The physical drives beneath a device, as folders of this host's tree.
pub(super) fn sources(device: Device) -> Vec<PathBuf> {
    let host = sysfs::Host::this();
    let mounts = host.mounts().unwrap_or_default();
    drive::sources(device, &host, &mounts)
}

/// What is looked at again while a run goes on, of a physical drive's folder.
pub(super) mod watched {
    use std::path::Path;

    pub(in crate::target) use super::controller::{condition, has_ocp, names, unread};
    use super::{Condition, details, drive};

    /// Temperature and the kernel's own counters: no command to the drive.
    pub(in crate::target) fn cheap(source: &Path) -> Condition {
        Condition { counters: details::counters(source), ..details::temperature(source) }
    }

    /// The link as trained.
    pub(in crate::target) fn link(source: &Path) -> Option<String> {
        drive::trained(source)
    }
}
