//! PURE: why a target is refused, in words: what, why, way out.
//!
//! One variant a reason. Decides nothing.

use std::path::PathBuf;

use thiserror::Error;

use super::{DeviceRefusal, PurgeRefusal, SMALL_PLAN};
use crate::units::Bytes;

/// Why a plan may not run on a target; nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A block device that may not be erased.
    #[error("{} {why}.", .path.display())]
    Device {
        /// The target.
        path: PathBuf,
        /// Why.
        why: DeviceRefusal,
    },
    /// A drive that may not be told to purge itself.
    #[error("{} {why}.", .path.display())]
    Purge {
        /// The target.
        path: PathBuf,
        /// Why.
        why: PurgeRefusal,
    },
    /// `--purge` for what is no drive.
    #[error(
        "--purge {purge} is for a whole NVMe drive, and {} is none. Name the drive with --target and --erase, \
         or leave --purge out.", .target.display()
    )]
    NoDrive {
        /// The target.
        target: PathBuf,
        /// What was asked for.
        purge: &'static str,
    },
    /// A simulated drive that the plan does not fit on.
    #[error(
        "The plan needs {need}, and {} has {capacity}. \
         Choose a profile that needs less, or a larger drive.", .target.display()
    )]
    DriveTooSmall {
        /// The target.
        target: PathBuf,
        /// What the plan needs at once.
        need: Bytes,
        /// What the drive has.
        capacity: Bytes,
    },
    /// `--fill-volume` for a target that has no filesystem.
    #[error(
        "--fill-volume names {}, and {} has no filesystem: all of it may be filled anyway. Leave the option out.",
        .named.display(), .target.display()
    )]
    NoFilesystem {
        /// The target.
        target: PathBuf,
        /// What the option names.
        named: PathBuf,
    },
    /// `/` itself.
    #[error(
        "The target is /, the top of the whole system, where no test files belong. \
         Name a folder inside it, such as /var/tmp."
    )]
    Root,
    /// A folder that belongs to the system.
    #[error(
        "{} lies in {folder}, which belongs to the system. \
         Test files there could break the host. Name a folder of your own, on the drive to be measured.",
        .path.display()
    )]
    SystemFolder {
        /// The target.
        path: PathBuf,
        /// The system's folder above it, or itself.
        folder: &'static str,
    },
    /// A filesystem that stores nothing.
    #[error(
        "{} lies on {type_name}, which shows the state of the kernel or of a program and stores no files. \
         Name a folder on a drive.", .path.display()
    )]
    Pseudo {
        /// The target.
        path: PathBuf,
        /// The filesystem.
        type_name: String,
    },
    /// A filesystem in memory.
    #[error(
        "{} lies on {type_name}: memory, not a drive. \
         Whatever was measured there would say nothing of a drive. Name a folder on one; findmnt lists what is mounted.",
        .path.display()
    )]
    Memory {
        /// The target.
        path: PathBuf,
        /// The filesystem.
        type_name: String,
    },
    /// A filesystem that another machine serves.
    #[error(
        "{} lies on {type_name}, which another machine or the host of this one serves: no local drive. \
         Run storage-check on the machine that has the drive, or name a folder on a local one.", .path.display()
    )]
    Remote {
        /// The target.
        path: PathBuf,
        /// The filesystem.
        type_name: String,
    },
    /// A read-only filesystem.
    #[error(
        "{} lies on the filesystem at {}, which is mounted read-only, so that no test file can be made. \
         Remount it with `mount -o remount,rw`, or name another folder; a filesystem that became read-only by itself \
         has met errors, which dmesg shows.", .path.display(), .mount_point.display()
    )]
    ReadOnly {
        /// The target.
        path: PathBuf,
        /// Its filesystem's.
        mount_point: PathBuf,
    },
    /// This user may not write there.
    #[error(
        "This user may not make files in {}. \
         Give the folder to the user, run as one who may, or name a folder of your own.", .path.display()
    )]
    NoPermission {
        /// The target.
        path: PathBuf,
    },
    /// `--fill-volume` names something else than the target's filesystem.
    #[error(
        "--fill-volume names {}, but {} lies on the filesystem that is mounted at {}. \
         Nothing is filled that was not named exactly. Name that mount point if it may be filled, or another target.",
        .named.display(), .path.display(), .mount_point.display()
    )]
    OtherVolume {
        /// What the option names.
        named: PathBuf,
        /// The target.
        path: PathBuf,
        /// Its filesystem's.
        mount_point: PathBuf,
    },
    /// `--fill-volume` names the filesystem that the system lives on.
    #[error(
        "--fill-volume names {}, the filesystem that the system itself runs from. \
         Full, it would break the host, so it is never filled. Mount a filesystem of its own and name that, \
         or leave the option out.", .named.display()
    )]
    RootVolume {
        /// What the option names.
        named: PathBuf,
    },
    /// `--fill-volume` names a filesystem of which other mount points show a part too.
    #[error(
        "--fill-volume names {}, but that filesystem is mounted elsewhere too, or only a part of it is mounted there. \
         Filling it would fill the other places as well. Unmount them, mount a filesystem of its own, \
         or leave the option out.", .named.display()
    )]
    SharedVolume {
        /// What the option names.
        named: PathBuf,
    },
    /// The plan would leave too little of the filesystem.
    #[error(
        "The plan needs {need} on the filesystem at {}, which has {available} left for ordinary users; \
         {leave} of that must stay free. \
         Choose a profile that needs at most {usable}, make room, \
         or name with --fill-volume a filesystem of its own that may be filled.", .mount_point.display()
    )]
    TooLittleSpace {
        /// What the plan needs at once.
        need: Bytes,
        /// What an ordinary user may use.
        available: Bytes,
        /// What of it must stay free.
        leave: Bytes,
        /// What a plan may need at most.
        usable: Bytes,
        /// The target's filesystem's.
        mount_point: PathBuf,
    },
    /// The plan does not even fit into a filesystem that may be filled.
    #[error(
        "The plan needs {need} on the filesystem at {}, which has {available} left for ordinary users. \
         Choose a smaller profile, or make room.", .mount_point.display()
    )]
    VolumeTooSmall {
        /// What the plan needs at once.
        need: Bytes,
        /// What an ordinary user may use.
        available: Bytes,
        /// The target's filesystem's.
        mount_point: PathBuf,
    },
    /// The storage beneath the filesystem would run out.
    #[error(
        "The plan needs {need}, but the target lies on {what}, which has {available} left. \
         It would run out beneath the filesystem and fail all that use it. \
         Make room there, discard what is unused with fstrim, or choose a profile that needs less."
    )]
    PoolTooSmall {
        /// What the plan needs at once.
        need: Bytes,
        /// What the pool still takes.
        available: Bytes,
        /// The pool.
        what: String,
    },
    /// The storage beneath the filesystem may run out, and nobody may ask it.
    #[error(
        "The plan needs {need}, but the target lies on {what}, and this user may not ask how much that has left. \
         Run as root, or choose a profile that needs at most {SMALL_PLAN}."
    )]
    PoolUnknown {
        /// What the plan needs at once.
        need: Bytes,
        /// The pool.
        what: String,
    },
    /// The user's or group's quota would be exceeded.
    #[error(
        "The plan needs {need}, but the quota on the filesystem at {} leaves this user {available}. \
         Have the quota raised, remove files, or choose a profile that needs less.", .mount_point.display()
    )]
    QuotaTooSmall {
        /// What the plan needs at once.
        need: Bytes,
        /// What the quota leaves.
        available: Bytes,
        /// The target's filesystem's.
        mount_point: PathBuf,
    },
}
