//! Opens what the guard armed: checks its identity again, locks the drive, makes the scratch folder or marks the device,
//! and proves with a real write that direct I/O works.
//!
//! Takes only an [`Armed`]. Knows nothing of plans or journals.

mod device;

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::guard::Armed;
use super::ioctl;
use super::space::{PROBE, Scratch};
use crate::engine::buffers::AlignedBuffer;
use crate::units::Bytes;
pub use device::{OpenedDevice, open_device};

/// An opened target; the lock lives as long as it does and dies with the process.
#[derive(Debug)]
pub struct Opened {
    /// The run's scratch folder.
    pub scratch: Arc<Scratch>,
    /// Offsets and lengths of direct I/O are multiples of it.
    pub alignment: Bytes,
    /// What runs that died here had left, removed by this one: run id and bytes.
    pub removed: Vec<(String, Bytes)>,
    _lock: OwnedFd,
}

/// What to open the target for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A new run: what dead runs left here is removed, a new scratch folder made.
    New,
    /// A run that was cut: its scratch folder must be there.
    Resume,
    /// Only to remove what a run left.
    Discard,
}

/// Why an armed target could not be opened; nothing of the run was written.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder is not the one that was looked at.
    #[error(
        "{} is another folder than a moment ago: it was replaced or something was mounted over it; look what happened and start again", path.display()
    )]
    Changed {
        /// The target.
        path: PathBuf,
    },
    /// The device is not the one that was looked at.
    #[error(
        "{} is another device than a moment ago: it was replaced, or went away and came back; nothing was written; look which drives are there now, and start again", path.display()
    )]
    DeviceChanged {
        /// The target.
        path: PathBuf,
    },
    /// Somebody opened the device exclusively since it was looked at.
    #[error(
        "{} was taken into use a moment ago: mounted, or claimed by a program; nothing was written; end that use, and start again", path.display()
    )]
    Claimed {
        /// The target.
        path: PathBuf,
    },
    /// The marker of the run to resume is not there.
    #[error(
        "{} does not carry the marker of run {run}: somebody else has written there, so the run cannot go on; start a new run", path.display()
    )]
    NoMarker {
        /// The target.
        path: PathBuf,
        /// The run.
        run: String,
    },
    /// Another run has the drive.
    #[error(
        "another run is measuring the drive behind {} ({drive}): wait until it has ended, or choose another drive", path.display()
    )]
    Locked {
        /// The target.
        path: PathBuf,
        /// The drive.
        drive: String,
    },
    /// The scratch folder of the run to resume is not there.
    #[error(
        "the files of run {run} are not in {}: the filesystem was made anew, or they were removed, so the run cannot go on; start a new run", path.display()
    )]
    NoScratch {
        /// The target.
        path: PathBuf,
        /// The run.
        run: String,
    },
    /// Direct I/O does not work here.
    #[error(
        "direct I/O does not work in {} ({filesystem}): {why}; without it the page cache would be measured, so choose a folder on ext4, XFS or another filesystem with O_DIRECT", path.display()
    )]
    NoDirectIo {
        /// The target.
        path: PathBuf,
        /// Type of the filesystem.
        filesystem: String,
        /// The kernel's answer.
        why: String,
    },
    /// Anything else.
    #[error("{operation} in {} failed: {}", path.display(), std::io::Error::from(*errno))]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The target.
        path: PathBuf,
        /// The kernel's answer.
        errno: Errno,
    },
}

/// Opens an armed folder for run `run`.
///
/// # Errors
/// The folder changed, is locked, has no direct I/O, or lacks the run's files.
pub fn open(armed: &Armed, run: &str, purpose: Purpose) -> Result<Opened, OpenError> {
    let path = &armed.facts().path;
    let failed = |operation| move |errno| OpenError::Io { operation, path: path.clone(), errno };
    let folder = open_folder(armed)?;
    let lock = lock(armed, &folder)?;
    let mut removed = Vec::new();
    let scratch = match purpose {
        Purpose::New => {
            for dead in Scratch::left_in(&folder).map_err(failed("looking for what dead runs left"))? {
                let folder = dup(&folder).map_err(failed("opening the folder"))?;
                // A folder that only looks like ours has no marker and stays; so does one whose run still lives.
                if let Ok(scratch) = Scratch::find(folder, &dead) {
                    let freed = scratch.remove().map_err(failed("removing what a dead run left"))?;
                    removed.push((dead, freed));
                }
            }
            Scratch::create(folder, run).map_err(failed("making the scratch folder"))?
        }
        Purpose::Resume | Purpose::Discard => Scratch::find(folder, run).map_err(|errno| match errno {
            Errno::NOENT => OpenError::NoScratch { path: path.clone(), run: run.to_owned() },
            Errno::WOULDBLOCK => locked(armed),
            errno => OpenError::Io { operation: "opening the scratch folder", path: path.clone(), errno },
        })?,
    };
    let alignment = match purpose {
        Purpose::Discard => Ok(Bytes(1)),
        Purpose::New | Purpose::Resume => probe(armed, &scratch),
    };
    match alignment {
        Ok(alignment) => Ok(Opened { scratch: Arc::new(scratch), alignment, removed, _lock: lock }),
        Err(why) => {
            if purpose == Purpose::New {
                scratch.remove().map_err(failed("removing the scratch folder"))?;
            }
            Err(why)
        }
    }
}

fn open_folder(armed: &Armed) -> Result<OwnedFd, OpenError> {
    let facts = armed.facts();
    let failed = |errno| OpenError::Io { operation: "opening the folder", path: facts.path.clone(), errno };
    let known = facts.folder().ok_or(Errno::NOTDIR).map_err(failed)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(&facts.path, flags, Mode::empty()).map_err(failed)?;
    let stat = rustix::fs::fstat(&folder).map_err(failed)?;
    if super::Device::from_raw(stat.st_dev) != known.device || stat.st_ino != known.inode {
        return Err(OpenError::Changed { path: facts.path.clone() });
    }
    Ok(folder)
}

/// Locks the drive: `flock` on its folder in sysfs, which every user may open, leaves no file behind, and
/// ends with the process; where no drive is known, on the target itself.
fn lock(armed: &Armed, target: &OwnedFd) -> Result<OwnedFd, OpenError> {
    let facts = armed.facts();
    let sysfs = facts.drive.as_ref().and_then(|drive| File::open(format!("/sys/block/{}", drive.name)).ok());
    let failed = |operation| move |errno| OpenError::Io { operation, path: facts.path.clone(), errno };
    let lock = match sysfs {
        Some(file) => OwnedFd::from(file),
        None => dup(target).map_err(failed("locking the drive"))?,
    };
    match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(Errno::WOULDBLOCK) => Err(locked(armed)),
        Err(errno) => Err(failed("locking the drive")(errno)),
    }
}

fn locked(armed: &Armed) -> OpenError {
    let facts = armed.facts();
    let drive = facts.drive.as_ref().map_or("its filesystem", |drive| &drive.name);
    OpenError::Locked { path: facts.path.clone(), drive: drive.to_owned() }
}

/// Writes one block with `O_DIRECT` and reads it back; gives the alignment with which it worked.
///
/// A filesystem may refuse at open (tmpfs before 6.6), at the first transfer (some overlays), or say an
/// alignment that only the transfer proves.
fn probe(armed: &Armed, scratch: &Scratch) -> Result<Bytes, OpenError> {
    let facts = armed.facts();
    let refused = |step: &str, errno: Errno| OpenError::NoDirectIo {
        path: facts.path.clone(),
        filesystem: facts.filesystem().unwrap_or("no filesystem").to_owned(),
        why: format!("{step}: {}", std::io::Error::from(errno)),
    };
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::DIRECT | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let result = (|| {
        let file = rustix::fs::openat(scratch.dir(), PROBE, flags, Mode::from_raw_mode(0o600))
            .map_err(|errno| refused("opening a file", errno))?;
        let stated = ioctl::direct_io_alignment(file.as_fd()).map(|alignment| alignment.offset);
        let logical = facts.drive.as_ref().and_then(|drive| drive.logical_block);
        let first = stated.or(logical).unwrap_or(Bytes(512));
        let mut last = Errno::INVAL;
        for alignment in [first, Bytes(4096)] {
            let mut buffer = AlignedBuffer::new(alignment.0 as usize).map_err(|_| refused("a buffer", Errno::NOMEM))?;
            buffer.fill(0xa5);
            match transfer(&file, &mut buffer) {
                Ok(()) => return Ok(alignment),
                Err(errno) => last = errno,
            }
        }
        Err(refused("writing a block", last))
    })();
    // The probe's file is ours in any case; the run goes on without it.
    match rustix::fs::unlinkat(scratch.dir(), PROBE, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => result,
        Err(errno) => result.and(Err(refused("removing the probe's file", errno))),
    }
}

fn transfer(file: &OwnedFd, buffer: &mut [u8]) -> Result<(), Errno> {
    let written = rustix::io::pwrite(file, buffer, 0)?;
    let read = rustix::io::pread(file, &mut *buffer, 0)?;
    let right = written == buffer.len() && read == buffer.len() && buffer.iter().all(|&byte| byte == 0xa5);
    if right { Ok(()) } else { Err(Errno::IO) }
}

fn dup(fd: &OwnedFd) -> Result<OwnedFd, Errno> {
    rustix::io::fcntl_dupfd_cloexec(fd, 0)
}
