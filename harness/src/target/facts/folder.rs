//! Gathers the facts of a folder: opens it once, and asks the descriptor.
//!
//! Writes nothing and judges nothing; what the mount table, the device tree and the quota say is read by their modules.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, Mode, OFlags, StatVfsMountFlags, StatxFlags};
use thiserror::Error;

use super::mounts::{Mount, Mounts};
use super::sysfs::{self, Host};
use super::{Device, Facts, Filesystem, Folder, Place, drive, pool, quota, text};
use crate::units::Bytes;

/// Why nothing can be known of a target.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FactsError {
    /// No such path.
    #[error("reading the target {}: there is no such folder. Make it first, or name another.", .0.display())]
    Missing(PathBuf),
    /// A regular file, socket or pipe.
    #[error("reading the target {}: it is no folder. Name the folder in which the test files may be made.", .0.display())]
    NotAFolder(PathBuf),
    /// A block device, by a caller who wants a folder.
    #[error(
        "reading the target {}: it is a block device and no folder. Name a folder on a filesystem that lies on it.",
        .0.display()
    )]
    BlockDevice(PathBuf),
    /// The kernel's tree does not show the device.
    #[error(
        "reading the target {}: /sys does not show this device, so that nobody can know what uses it. \
         Mount /sys, or run outside the container.", .0.display()
    )]
    NotInTree(PathBuf),
    /// Such as `/dev/nvme0` or `/dev/null`.
    #[error(
        "reading the target {}: it is a character device, which stores nothing. \
         Name a folder on the drive to be measured, or the drive's block device.", .0.display()
    )]
    CharacterDevice(PathBuf),
    /// A folder on the way may not be entered, or the target not be looked at.
    #[error(
        "reading the target {}: this user may not enter it. \
         Run as a user who may, or name a folder of your own.", .0.display()
    )]
    NoPermission(PathBuf),
    /// The path is not UTF-8, so that no journal or report could name it.
    #[error("reading the target {}: its path is not UTF-8. Rename it, or name another folder.", .0.display())]
    NotUtf8(PathBuf),
    /// The mount table has no line for the folder.
    #[error(
        "finding the filesystem of {}: the mount table does not show it. \
         Mount /proc, or run in the namespace where the folder is mounted.", .0.display()
    )]
    NoMount(PathBuf),
    /// Anything else that the system answered.
    #[error("{operation} {}: {source}. Look whether the drive and its filesystem still answer.", .path.display())]
    System {
        /// What was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The facts of a folder, as `host` shows it.
pub(super) fn read(path: &Path, host: &Host) -> Result<Facts, FactsError> {
    let (path, folder) = open(path)?;
    let failed = |operation| {
        let path = path.clone();
        move |error: rustix::io::Errno| FactsError::System { operation, path, source: error.into() }
    };
    let basic = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let stat = rustix::fs::statx(&folder, c"", AtFlags::EMPTY_PATH, basic).map_err(failed("reading the target"))?;
    let space = rustix::fs::fstatvfs(&folder).map_err(failed("asking for the space of"))?;

    let mount_id = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::MNT_ID).then_some(stat.stx_mnt_id);
    let mounts = host.mounts().map_err(|source| FactsError::System {
        operation: "reading the mount table",
        path: host.proc.join("self/mountinfo"),
        source,
    })?;
    let mount = mounts.of(&path, mount_id).ok_or_else(|| FactsError::NoMount(path.clone()))?;

    let blocks = |count: u64| Bytes(count.saturating_mul(space.f_frsize));
    let (total, free) = (blocks(space.f_blocks), blocks(space.f_bfree));
    let carriers = carriers(mount, host);
    let filesystem = Filesystem {
        type_name: mount.type_name.clone(),
        mount_point: mount.mount_point.clone(),
        source: text::clean(mount.source.as_os_str().as_encoded_bytes()).unwrap_or_default(),
        options: mount.options(),
        total,
        free,
        available: blocks(space.f_bavail),
        device: mount.device,
        read_only: mount.read_only() || space.f_flag.contains(StatVfsMountFlags::RDONLY),
        carries_root: mounts.carries_root(mount),
        own: mounts.is_own(mount),
        carriers,
    };
    let used = total.saturating_sub(free);
    let drive = filesystem.carriers.first().and_then(|&device| drive::ask(device, host, &mounts));
    let known = Folder {
        device: Device { major: stat.stx_dev_major, minor: stat.stx_dev_minor },
        inode: stat.stx_ino,
        writable: rustix::fs::accessat(&folder, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).is_ok(),
        pool: tightest_pool(&filesystem.carriers, used, host, &mounts),
        quota_left: quota::left(folder.as_fd(), &mount.source, group_of_new_files(&stat)),
        filesystem,
    };
    Ok(Facts { path, drive, place: Place::Folder(known) })
}

fn said(named: &Path, source: io::Error) -> FactsError {
    match source.kind() {
        io::ErrorKind::NotFound => FactsError::Missing(named.to_owned()),
        io::ErrorKind::NotADirectory => FactsError::NotAFolder(named.to_owned()),
        io::ErrorKind::PermissionDenied => FactsError::NoPermission(named.to_owned()),
        _ => FactsError::System { operation: "reading the target", path: named.to_owned(), source },
    }
}

/// The path without symbolic links: what the user named cannot lead elsewhere later.
pub(super) fn canonical(named: &Path) -> Result<PathBuf, FactsError> {
    named.canonicalize().map_err(|source| said(named, source))
}

/// The canonical path and one descriptor of it, or why not.
fn open(named: &Path) -> Result<(PathBuf, OwnedFd), FactsError> {
    let path = canonical(named)?;
    let said = |source| said(named, source);
    let kind = fs::metadata(&path).map_err(said)?.file_type();
    match () {
        () if kind.is_block_device() => return Err(FactsError::BlockDevice(path)),
        () if kind.is_char_device() => return Err(FactsError::CharacterDevice(path)),
        () if !kind.is_dir() => return Err(FactsError::NotAFolder(path)),
        () if path.to_str().is_none() => return Err(FactsError::NotUtf8(path)),
        () => {}
    }
    // O_DIRECTORY also makes an automounter mount what belongs here.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(&path, flags, Mode::empty()).map_err(|errno| said(errno.into()))?;
    Ok((path, folder))
}

/// The block devices that carry a mount. A filesystem with an anonymous number says by its source which one it is on;
/// btrfs lists all of its members.
fn carriers(mount: &Mount, host: &Host) -> Vec<Device> {
    if !mount.device.is_anonymous() {
        return vec![mount.device];
    }
    let Some(first) = host.device_of(&mount.source) else { return Vec::new() };
    let members = if mount.type_name == "btrfs" { btrfs_members(first, host) } else { Vec::new() };
    if members.is_empty() { vec![first] } else { members }
}

/// `/sys/fs/btrfs/<uuid>/devices/` links to each member of a mounted filesystem.
fn btrfs_members(first: Device, host: &Host) -> Vec<Device> {
    let all = sysfs::children(&host.sys.join("fs/btrfs"));
    let numbers = |dir: &PathBuf| -> Vec<Device> {
        sysfs::children(&dir.join("devices")).iter().filter_map(|member| sysfs::number_of(member)).collect()
    };
    all.iter().map(numbers).find(|members| members.contains(&first)).unwrap_or_default()
}

/// What limits any of the carriers; `used` is each one's only where there is one.
fn tightest_pool(carriers: &[Device], used: Bytes, host: &Host, mounts: &Mounts) -> Option<super::Pool> {
    let used = if carriers.len() == 1 { used } else { Bytes(u64::MAX) };
    carriers.iter().filter_map(|&device| pool::read(device, used, host, mounts)).min_by_key(|pool| pool.available)
}

/// A folder with the set-group-ID bit hands its group down; else a file gets the process' group.
fn group_of_new_files(folder: &rustix::fs::Statx) -> u32 {
    let inherits = Mode::from_raw_mode(folder.stx_mode.into()).contains(Mode::SGID);
    if inherits { folder.stx_gid } else { rustix::process::getegid().as_raw() }
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
