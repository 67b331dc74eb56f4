//! Opens an armed block device: exclusively, once, and makes sure that it is still the one that was looked at.
//!
//! The path is used for one `open(2)`; from then on the descriptor is the device. It is compared with what the guard saw
//! by number, size, the kernel's sequence number and all its names, before anything is written.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, SeekFrom};
use rustix::io::Errno;

use super::{OpenError, Purpose, lock, locked};
use crate::target::facts::{self, Block, Device};
use crate::target::guard::Armed;
use crate::target::guard::purge::ArmedPurge;
use crate::target::ioctl;
use crate::target::purge::{Purge, Witness};
use crate::target::space::{RawDevice, Steps};
use crate::units::Bytes;

/// An opened device; the locks live as long as it does and die with the process.
#[derive(Debug)]
pub struct OpenedDevice {
    /// The device.
    pub device: Arc<RawDevice>,
    /// Offsets and lengths of direct I/O are multiples of it.
    pub alignment: Bytes,
    /// The run that had died here, whose data this one has overwritten: its id and the bytes that it could use.
    pub removed: Vec<(String, Bytes)>,
    /// What the drive is to be ordered before the run; the device carries no marker before that is done.
    pub purge: Option<Purge>,
    /// Looks at it before and after its purges.
    pub witness: Witness,
    _lock: OwnedFd,
}

/// Opens an armed device for run `run`, and for a new run marks it as that run's.
///
/// # Errors
/// The device changed, is locked or opened by another, or does not take a direct write.
pub fn open_device(armed: &Armed, run: &str, purpose: Purpose) -> Result<OpenedDevice, OpenError> {
    let facts = armed.facts();
    let path = &facts.path;
    let failed = |operation| move |errno| OpenError::Io { operation, path: path.clone(), errno };
    let known = facts.block().ok_or(Errno::NOTBLK).map_err(failed("opening the device"))?;
    let flags = OFlags::RDWR | OFlags::EXCL | OFlags::DIRECT | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let direct = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::BUSY => OpenError::Claimed { path: path.clone() },
        errno => failed("opening the device")(errno),
    })?;
    let changed = || OpenError::DeviceChanged { path: path.clone() };
    if !is_the_same(&direct, known).map_err(failed("asking for the identity of the device"))? {
        return Err(changed());
    }
    let lock = lock(armed, &direct)?;
    // udev leaves a device alone that is locked like this (systemd, "Locking Block Device Access").
    patiently(|| rustix::fs::flock(&direct, FlockOperation::NonBlockingLockExclusive)).map_err(
        |errno| match errno {
            Errno::WOULDBLOCK => locked(armed),
            errno => failed("locking the device")(errno),
        },
    )?;
    let durable = reopened(&direct).map_err(failed("opening the device for durable writes"))?;
    if !is_the_same(&durable, known).map_err(failed("asking for the identity of the device"))? {
        return Err(changed());
    }
    let discards = known.discard_granularity.map(|step| Steps { step: step.0, first: known.discard_alignment.0 });
    let device = Arc::new(RawDevice::new(direct, durable, known.size.0, discards));
    let ordered = armed.purge().filter(|_| purpose == Purpose::New);
    let purge = match ordered {
        Some(ordered) => Some(Purge::new(ordered.clone(), device.clone(), reached(ordered)?)),
        None => None,
    };
    let mut removed = Vec::new();
    if purpose == Purpose::New {
        let dead = known.contents.marked_by.clone();
        removed.extend(dead.map(|dead| (dead, known.capacity())));
        if purge.is_none() {
            device.mark(run).map_err(failed("writing the first block"))?;
        }
    } else if !device.marked(run).map_err(failed("reading the run's marker"))? {
        return Err(OpenError::NoMarker { path: path.clone(), run: run.to_owned() });
    }
    let alignment = facts.drive.as_ref().and_then(|drive| drive.logical_block).unwrap_or(Bytes(4096));
    let namespace = facts.drive.as_ref().and_then(|drive| u32::try_from(drive.details.namespace?).ok());
    let witness = Witness::new(device.clone(), known.discarded_reads, namespace);
    Ok(OpenedDevice { device, alignment, removed, purge, witness, _lock: lock })
}

impl OpenedDevice {
    /// Whether the device is still the one that the guard saw, under whatever its own purge did.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn is_still(&self, known: &Block) -> Result<bool, Errno> {
        is_the_same(self.device.node(), known)
    }
}

/// Opens the other namespaces that a purge reaches as the target itself is opened: nobody takes them into use meanwhile.
fn reached(purge: &ArmedPurge) -> Result<Vec<OwnedFd>, OpenError> {
    let mut opened = Vec::new();
    for sibling in purge.reached() {
        let path = &sibling.path;
        let failed =
            |errno| OpenError::Io { operation: "opening a namespace of the same drive", path: path.clone(), errno };
        let known = sibling.facts.as_ref().and_then(|facts| facts.block()).ok_or(Errno::NOTBLK).map_err(failed)?;
        let flags = OFlags::RDWR | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let node = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::BUSY => OpenError::Claimed { path: path.clone() },
            errno => failed(errno),
        })?;
        if !is_the_same(&node, known).map_err(failed)? {
            return Err(OpenError::DeviceChanged { path: path.clone() });
        }
        opened.push(node);
    }
    Ok(opened)
}

/// Whether the descriptor leads to what the guard saw.
fn is_the_same(fd: &OwnedFd, known: &Block) -> Result<bool, Errno> {
    let file = File::from(rustix::io::fcntl_dupfd_cloexec(fd, 0)?);
    let Ok(meta) = file.metadata() else { return Ok(false) };
    Ok(meta.file_type().is_block_device()
        && Device::from_raw(meta.rdev()) == known.device
        && ioctl::disk_sequence(fd.as_fd()) == known.sequence
        && rustix::fs::seek(fd, SeekFrom::End(0))? == known.size.0
        && facts::identity_now(known.device) == known.identity)
}

/// The same open device under another descriptor whose writes are durable when they complete: the flag cannot be set
/// later. Reached through the first one, not by the path that the user named.
fn reopened(fd: &OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::DSYNC | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(format!("/proc/self/fd/{}", fd.as_raw_fd()), flags, Mode::empty())
}

/// Tries for a second what another program may hinder for a moment.
fn patiently(mut what: impl FnMut() -> Result<(), Errno>) -> Result<(), Errno> {
    for _ in 0..10 {
        match what() {
            Err(Errno::WOULDBLOCK) => {}
            other => return other,
        }
        #[expect(clippy::disallowed_methods, reason = "before any run: waits for other programs in real time")]
        thread::sleep(Duration::from_millis(100));
    }
    what()
}
