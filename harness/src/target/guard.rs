//! PURE: facts and consent → armed, or refused with what, why and the way out.
//!
//! Nothing is written to a target that was not armed here. Reads nothing: `facts` did.

use std::path::{Path, PathBuf};

use self::purge::ArmedPurge;
use super::facts::{Block, Facts, Folder, Place, Simulated};
use crate::sample::purge::NamedPurge;
use crate::units::{Bytes, GIB, Ppm};

mod device;
mod device_refusal;
#[cfg(test)]
mod device_tests;
pub mod purge;
mod purge_refusal;
#[cfg(test)]
mod purge_tests;
mod refusal;
#[cfg(test)]
mod tests;

pub use device_refusal::DeviceRefusal;
pub use purge_refusal::PurgeRefusal;
pub use refusal::Refusal;

/// What a plan asks of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The most bytes that lie on the target at once.
    pub space: Bytes,
    /// All bytes written, those written again counted each time.
    pub writes: Bytes,
}

/// What the user agreed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consent {
    /// `--fill-volume`: the filesystem, by its mount point, that may be filled to the last byte.
    pub fill_volume: Option<PathBuf>,
    /// `--erase`: the identity of the device that may be erased, and of each other that its own purge reaches.
    pub erase: Vec<String>,
    /// `--erase-contents`: whatever lies on that device may go.
    pub erase_contents: bool,
    /// `--erase-shared`: that device is this host's alone, though others could reach it.
    pub shared_storage: bool,
    /// `--purge`: the drive is told to erase itself before the run.
    pub purge: Option<NamedPurge>,
    /// The run that goes on: the device must be as that run left it.
    pub resumes: Option<String>,
    /// The folder that the run's journal goes into, without symbolic links.
    pub journal: Option<PathBuf>,
}

/// Why no consent at all would let this device be erased, in words that follow its name; none where `--erase` with one
/// of its own identities would, and `--erase-contents` where something lies on it.
#[must_use]
pub fn never_erased(path: &Path, block: &Block) -> Option<String> {
    let own = block.identity.iter().find(|identity| identity.shared_with.is_empty());
    let erase = own.map(|identity| identity.name.clone()).into_iter().collect();
    let consent = Consent { erase, erase_contents: true, ..Consent::default() };
    let need = Need { space: Bytes(0), writes: Bytes(0) };
    device::may_be_erased(path, block, &need, &consent).err().map(|refusal| match refusal {
        Refusal::Device { why, .. } => why.to_string(),
        other => other.to_string(),
    })
}

/// A target that may be written to. Only [`guard()`] makes one.
///
/// ```compile_fail
/// fn forged(facts: harness::target::Facts) -> harness::target::Armed {
///     harness::target::Armed { facts }
/// }
/// ```
#[derive(Debug)]
pub struct Armed {
    facts: Facts,
    purge: Option<ArmedPurge>,
}

impl Armed {
    /// What is known of the target.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What the drive is to be ordered before the run.
    #[must_use]
    pub fn purge(&self) -> Option<&ArmedPurge> {
        self.purge.as_ref()
    }
}

/// A plan of at most this much only has to leave the share: the quick profile fits anywhere.
pub const SMALL_PLAN: Bytes = Bytes(2 * GIB);
/// The share of what an ordinary user may use that any plan leaves free.
pub const SHARE_LEFT: Ppm = Ppm(50_000);
/// What a larger plan leaves free at least.
pub const LEAST_LEFT: Bytes = Bytes(10 * GIB);

/// Filesystems that show the kernel's or a program's state and store nothing.
const PSEUDO: [&str; 30] = [
    "autofs",
    "binder",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "cpuset",
    "debugfs",
    "devfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "functionfs",
    "fuse.gvfsd-fuse",
    "fuse.lxcfs",
    "fuse.portal",
    "fusectl",
    "mqueue",
    "nsfs",
    "pipefs",
    "proc",
    "pstore",
    "resctrl",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "smackfs",
    "sysfs",
    "tracefs",
];

/// Filesystems in memory.
const MEMORY: [&str; 4] = ["hugetlbfs", "ramfs", "rootfs", "tmpfs"];

/// Filesystems that another machine, or the host of this virtual one, serves. Of FUSE those that are known to be.
const REMOTE: [&str; 45] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "cvmfs",
    "davfs",
    "drvfs",
    "fakeowner",
    "fuse.blobfuse",
    "fuse.blobfuse2",
    "fuse.ceph",
    "fuse.ceph-fuse",
    "fuse.cvmfs2",
    "fuse.davfs",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.goofys",
    "fuse.grpcfuse",
    "fuse.hdfs",
    "fuse.juicefs",
    "fuse.mfs",
    "fuse.mount-s3",
    "fuse.osxfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.seaweedfs",
    "fuse.smbnetfs",
    "fuse.sshfs",
    "fuse.vmhgfs-fuse",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "orangefs",
    "prl_fs",
    "pvfs2",
    "smb3",
    "smbfs",
    "vboxsf",
    "virtiofs",
    "vmhgfs",
];

/// Folders of the system itself: nobody measures a drive there, and a full one breaks the host.
const SYSTEM: [&str; 15] = [
    "/bin",
    "/boot",
    "/dev",
    "/efi",
    "/etc",
    "/gnu/store",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/proc",
    "/sbin",
    "/sys",
    "/usr",
];

/// Decides whether a plan may run on a target.
///
/// # Errors
/// The first reason against it; its text says what, why and the way out.
pub fn guard(facts: Facts, need: &Need, consent: &Consent) -> Result<Armed, Refusal> {
    let mut purge = None;
    match (&facts.place, consent.purge) {
        (Place::Folder(_) | Place::Simulated(_), Some(named)) => {
            return Err(Refusal::NoDrive { target: facts.path.clone(), purge: named.word() });
        }
        (Place::Folder(folder), None) => {
            is_a_place_for_files(&facts.path, folder)?;
            may_be_written(&facts.path, folder)?;
            if let Some(named) = &consent.fill_volume {
                may_be_filled(&facts.path, folder, named)?;
            }
            has_room(folder, need, consent, facts.usable(consent))?;
        }
        (Place::Device(block), _) => purge = device::may_be_erased(&facts.path, block, need, consent)?,
        (Place::Simulated(drive), None) => can_hold(&facts.path, drive, need, consent)?,
    }
    Ok(Armed { facts, purge })
}

impl Facts {
    /// The most that a plan may have on this target at once: [`guard()`] arms a plan of so much, and refuses a larger
    /// one. A `--fill-volume` that names something else counts as none.
    #[must_use]
    pub fn usable(&self, consent: &Consent) -> Bytes {
        let folder = match &self.place {
            Place::Folder(folder) => folder,
            Place::Device(block) => {
                let pool = block.pool.as_ref().map_or(LARGEST, |pool| pool.available.unwrap_or(SMALL_PLAN));
                return block.capacity().min(pool);
            }
            Place::Simulated(drive) => return drive.capacity,
        };
        let available = folder.filesystem.available;
        let filled = consent.fill_volume.as_ref().is_some_and(|named| may_be_filled(&self.path, folder, named).is_ok());
        let allowed = if filled {
            available
        } else {
            let large = available.saturating_sub(reserve(available, LARGEST));
            let small = available.saturating_sub(reserve(available, SMALL_PLAN)).min(SMALL_PLAN);
            large.max(small)
        };
        let pool = match &folder.pool {
            // Nobody knows what it has: only what fits anywhere.
            Some(pool) => pool.available.unwrap_or(SMALL_PLAN),
            None => LARGEST,
        };
        allowed.min(pool).min(folder.quota_left.unwrap_or(LARGEST))
    }
}

const LARGEST: Bytes = Bytes(u64::MAX);

/// What a plan of `space` must leave of the `available` bytes.
fn reserve(available: Bytes, space: Bytes) -> Bytes {
    let share = available.share(SHARE_LEFT);
    if space <= SMALL_PLAN { share } else { share.max(LEAST_LEFT) }
}

/// A simulated drive harms nobody: it only has to be large enough.
fn can_hold(path: &Path, drive: &Simulated, need: &Need, consent: &Consent) -> Result<(), Refusal> {
    let target = path.to_owned();
    match &consent.fill_volume {
        Some(named) => Err(Refusal::NoFilesystem { target, named: named.clone() }),
        None if need.space > drive.capacity => {
            Err(Refusal::DriveTooSmall { target, need: need.space, capacity: drive.capacity })
        }
        None => Ok(()),
    }
}

fn is_a_place_for_files(target: &Path, folder: &Folder) -> Result<(), Refusal> {
    let path = || target.to_owned();
    let type_name = folder.filesystem.type_name.as_str();
    if target == Path::new("/") {
        return Err(Refusal::Root);
    }
    if PSEUDO.contains(&type_name) {
        return Err(Refusal::Pseudo { path: path(), type_name: type_name.to_owned() });
    }
    if MEMORY.contains(&type_name) {
        return Err(Refusal::Memory { path: path(), type_name: type_name.to_owned() });
    }
    if REMOTE.contains(&type_name) {
        return Err(Refusal::Remote { path: path(), type_name: type_name.to_owned() });
    }
    match SYSTEM.iter().find(|folder| target.starts_with(folder)) {
        Some(folder) => Err(Refusal::SystemFolder { path: path(), folder }),
        None => Ok(()),
    }
}

fn may_be_written(target: &Path, folder: &Folder) -> Result<(), Refusal> {
    let path = target.to_owned();
    if folder.filesystem.read_only {
        return Err(Refusal::ReadOnly { path, mount_point: folder.filesystem.mount_point.clone() });
    }
    if !folder.writable {
        return Err(Refusal::NoPermission { path });
    }
    Ok(())
}

/// Whether `--fill-volume` names the target's own filesystem, and one that nothing else needs.
fn may_be_filled(target: &Path, folder: &Folder, named: &Path) -> Result<(), Refusal> {
    let filesystem = &folder.filesystem;
    let named = named.to_owned();
    if named != filesystem.mount_point {
        let (path, mount_point) = (target.to_owned(), filesystem.mount_point.clone());
        return Err(Refusal::OtherVolume { named, path, mount_point });
    }
    if named == Path::new("/") || filesystem.carries_root {
        return Err(Refusal::RootVolume { named });
    }
    if !filesystem.own {
        return Err(Refusal::SharedVolume { named });
    }
    Ok(())
}

fn has_room(folder: &Folder, need: &Need, consent: &Consent, usable: Bytes) -> Result<(), Refusal> {
    let filesystem = &folder.filesystem;
    let available = filesystem.available;
    let need = need.space;
    let leave = if consent.fill_volume.is_some() { Bytes(0) } else { reserve(available, need) };
    if need.saturating_add(leave) > available {
        let mount_point = filesystem.mount_point.clone();
        return Err(if consent.fill_volume.is_some() {
            Refusal::VolumeTooSmall { need, available, mount_point }
        } else {
            Refusal::TooLittleSpace { need, available, leave, usable, mount_point }
        });
    }
    if let Some(pool) = &folder.pool {
        let what = pool.what.clone();
        match pool.available {
            Some(left) if need > left => return Err(Refusal::PoolTooSmall { need, available: left, what }),
            None if need > SMALL_PLAN => return Err(Refusal::PoolUnknown { need, what }),
            _ => {}
        }
    }
    match folder.quota_left {
        Some(left) if need > left => {
            Err(Refusal::QuotaTooSmall { need, available: left, mount_point: filesystem.mount_point.clone() })
        }
        _ => Ok(()),
    }
}
