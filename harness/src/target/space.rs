//! The scratch folder of a run, and the linear byte space on its files or on a whole device.
//!
//! Everything is reached from one descriptor of the scratch folder or the device, never by path again. Only files
//! whose names this module gave are ever removed. Knows nothing of plans, stamps or time.

mod raw;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, PoisonError, RwLock};

use rustix::fs::{AtFlags, Dir, FallocateFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

pub use super::ioctl::own_descriptors;
use crate::units::Bytes;
pub use raw::{MARGIN, RawDevice, Steps};
pub(super) use raw::{capacity, marked_by};

/// Every scratch folder's name begins like this, so that a person and a later run know it.
pub const SCRATCH_PREFIX: &str = "storage-check-scratch-";
/// The file in a scratch folder that says whose it is.
pub const MARKER: &str = "owner";
/// The file that the direct I/O probe writes.
pub(super) const PROBE: &str = "probe";

/// A scratch folder: ours alone, made by us, marked with the run's id.
#[derive(Debug)]
pub struct Scratch {
    parent: OwnedFd,
    dir: OwnedFd,
    name: String,
}

impl Scratch {
    /// Makes the scratch folder of run `run` in the folder `parent`.
    ///
    /// # Errors
    /// The kernel's error; `EXIST` when the folder is there already.
    pub fn create(parent: OwnedFd, run: &str) -> Result<Scratch, Errno> {
        let name = format!("{SCRATCH_PREFIX}{run}");
        rustix::fs::mkdirat(&parent, &name, Mode::from_raw_mode(0o700))?;
        let scratch = Scratch::at(parent, name)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let marker = rustix::fs::openat(&scratch.dir, MARKER, flags, Mode::from_raw_mode(0o600))?;
        rustix::io::write(&marker, run.as_bytes())?;
        rustix::fs::fsync(&marker)?;
        rustix::fs::fsync(&scratch.dir)?;
        Ok(scratch)
    }

    /// Finds the scratch folder of run `run` in the folder `parent`, with its marker.
    ///
    /// # Errors
    /// `NOENT` when it is not there or not marked with this run; `WOULDBLOCK` while that run lives.
    pub fn find(parent: OwnedFd, run: &str) -> Result<Scratch, Errno> {
        let scratch = Scratch::at(parent, format!("{SCRATCH_PREFIX}{run}"))?;
        if scratch.owner().as_deref() == Some(run) { Ok(scratch) } else { Err(Errno::NOENT) }
    }

    fn at(parent: OwnedFd, name: String) -> Result<Scratch, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(&parent, &name, flags, Mode::empty())?;
        // Held as long as the run lives: nobody takes a living run's files for a dead one's.
        rustix::fs::flock(&dir, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Scratch { parent, dir, name })
    }

    /// The run that the marker names.
    fn owner(&self) -> Option<String> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let marker = rustix::fs::openat(&self.dir, MARKER, flags, Mode::empty()).ok()?;
        let mut text = [0; 256];
        let read = rustix::io::read(&marker, &mut text).ok()?;
        std::str::from_utf8(&text[..read]).ok().map(str::to_owned)
    }

    /// The scratch folders in `parent` that some run of ours left, by the run's id.
    ///
    /// # Errors
    /// The folder could not be listed.
    pub fn left_in(parent: impl AsFd) -> Result<Vec<String>, Errno> {
        let mut runs = Vec::new();
        for entry in Dir::read_from(parent.as_fd())? {
            let entry = entry?;
            if let Some(run) = entry.file_name().to_str().ok().and_then(|name| name.strip_prefix(SCRATCH_PREFIX)) {
                runs.push(run.to_owned());
            }
        }
        runs.sort();
        Ok(runs)
    }

    /// The folder's name within the target.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn dir(&self) -> &OwnedFd {
        &self.dir
    }

    /// Makes everything written so far durable.
    ///
    /// # Errors
    /// The kernel's error, such as a write that failed late.
    pub fn sync(&self) -> Result<(), Errno> {
        rustix::fs::syncfs(&self.dir)
    }

    /// Removes the last segment that occupies space, and says whether there was one.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn remove_last(&self) -> Result<bool, Errno> {
        let mut segments = Vec::new();
        for entry in Dir::read_from(&self.dir)? {
            let name = entry?.file_name().to_owned();
            let stat = rustix::fs::statat(&self.dir, &name, AtFlags::SYMLINK_NOFOLLOW);
            if name.to_str().is_ok_and(is_segment_name) && stat.is_ok_and(|stat| stat.st_blocks > 0) {
                segments.push(name);
            }
        }
        let Some(last) = segments.into_iter().max_by_key(|name| (name.to_bytes().len(), name.clone())) else {
            return Ok(false);
        };
        rustix::fs::unlinkat(&self.dir, &last, AtFlags::empty())?;
        Ok(true)
    }

    /// Tells the drive which space of the filesystem is unused; gives the bytes it was told of.
    ///
    /// # Errors
    /// The kernel's error; see [`super::ioctl::trim`].
    pub fn trim(&self) -> Result<Bytes, Errno> {
        super::ioctl::trim(self.dir.as_fd())
    }

    /// Removes our files and then the folder; says how many bytes that freed.
    ///
    /// A file that is not ours stays, and with it the folder.
    ///
    /// # Errors
    /// The kernel's error; `NOTEMPTY` when somebody else put something there.
    pub fn remove(&self) -> Result<Bytes, Errno> {
        let mut freed = 0;
        let mut ours = Vec::new();
        for entry in Dir::read_from(&self.dir)? {
            let name = entry?.file_name().to_owned();
            let is_ours = name.to_str().is_ok_and(|name| name == MARKER || name == PROBE || is_segment_name(name));
            let stat = rustix::fs::statat(&self.dir, &name, AtFlags::SYMLINK_NOFOLLOW);
            if let (true, Ok(stat)) = (is_ours, stat)
                && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
            {
                freed += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
                ours.push(name);
            }
        }
        // The marker goes last: a removal that is cut short is still recognised.
        ours.sort_by_key(|name| name.to_bytes() == MARKER.as_bytes());
        for name in ours {
            rustix::fs::unlinkat(&self.dir, &name, AtFlags::empty())?;
        }
        rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR)?;
        Ok(Bytes(freed))
    }
}

/// `<suite>-<number>`: the names that [`Space`] gives.
fn is_segment_name(name: &str) -> bool {
    name.rsplit_once('-').is_some_and(|(suite, number)| {
        !suite.is_empty()
            && suite.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
            && number.len() >= 4
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// What a byte space lies on.
#[derive(Clone, Debug)]
pub enum Ground {
    /// Files in a scratch folder, one a segment.
    Files(Arc<Scratch>),
    /// A whole device, of which each segment is a range.
    Device(Arc<RawDevice>),
}

impl From<Arc<Scratch>> for Ground {
    fn from(scratch: Arc<Scratch>) -> Ground {
        Ground::Files(scratch)
    }
}

impl Ground {
    /// A linear space of segments of `segment_bytes`; where they are files, their names begin with `files`.
    #[must_use]
    pub fn space(&self, files: &str, segment_bytes: u64, dsync: bool) -> Space {
        Space { ground: self.clone(), files: files.to_owned(), segment_bytes, dsync, open: RwLock::new(Vec::new()) }
    }
}

/// One linear byte space of equal segments.
#[derive(Debug)]
pub struct Space {
    ground: Ground,
    files: String,
    segment_bytes: u64,
    dsync: bool,
    open: RwLock<Vec<(u32, Arc<OwnedFd>)>>,
}

/// Where a byte of the space lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The segment.
    pub segment: u32,
    /// The byte's place in the file or device that holds the segment.
    pub at: u64,
    /// Bytes from there to the segment's end.
    pub left: u64,
}

impl Space {
    /// Bytes of a segment.
    #[must_use]
    pub fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// Where a byte lies.
    #[must_use]
    #[inline]
    pub fn locate(&self, offset: u64) -> Spot {
        let segment = offset / self.segment_bytes;
        let within = offset - segment * self.segment_bytes;
        let at = match &self.ground {
            Ground::Files(_) => within,
            Ground::Device(_) => MARGIN + offset,
        };
        Spot { segment: u32::try_from(segment).unwrap_or(u32::MAX), at, left: self.segment_bytes - within }
    }

    /// The open file of a segment; of a device its one descriptor.
    #[must_use]
    pub fn file(&self, segment: u32) -> Option<Arc<OwnedFd>> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.iter().find(|(number, _)| *number == segment).map(|(_, file)| file.clone())
    }

    /// The open file of a segment under a descriptor of the caller's own: workers that share one make the
    /// processors take turns at counting its users, twice an I/O. The common one where there is no more to be had, and
    /// of a device, which is never opened again.
    #[must_use]
    pub fn own_file(&self, segment: u32) -> Option<Arc<OwnedFd>> {
        let common = self.file(segment)?;
        let Ground::Files(scratch) = &self.ground else { return Some(common) };
        let own = rustix::fs::openat(&scratch.dir, self.name(segment), self.flags(), Mode::empty());
        Some(own.map_or(common, Arc::new))
    }

    fn flags(&self) -> OFlags {
        let mut flags = OFlags::RDWR | OFlags::DIRECT | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        flags.set(OFlags::DSYNC, self.dsync);
        flags
    }

    /// Opens a segment for direct I/O; with `create` its file is made anew and allocated in full.
    ///
    /// # Errors
    /// The kernel's error; `NOSPC` when the filesystem or device cannot hold it.
    pub fn open(&self, segment: u32, create: bool) -> Result<(), Errno> {
        let file = match &self.ground {
            Ground::Files(scratch) => Arc::new(self.open_file(scratch, segment, create)?),
            Ground::Device(device) => {
                let end = (u64::from(segment) + 1).checked_mul(self.segment_bytes);
                end.filter(|&end| end <= device.capacity()).ok_or(Errno::NOSPC)?;
                device.descriptor(self.dsync)
            }
        };
        self.open.write().unwrap_or_else(PoisonError::into_inner).push((segment, file));
        Ok(())
    }

    fn open_file(&self, scratch: &Scratch, segment: u32, create: bool) -> Result<OwnedFd, Errno> {
        let name = self.name(segment);
        let mut flags = self.flags();
        if create {
            flags |= OFlags::CREATE | OFlags::EXCL;
            remove(scratch, &name)?;
        }
        let file = rustix::fs::openat(&scratch.dir, &name, flags, Mode::from_raw_mode(0o600))?;
        if create {
            allocate(&file, self.segment_bytes)?;
        }
        Ok(file)
    }

    /// Ends I/O to a segment.
    pub fn close(&self, segment: u32) {
        self.open.write().unwrap_or_else(PoisonError::into_inner).retain(|(number, _)| *number != segment);
    }

    /// Makes one open segment durable, or everything.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn flush(&self, segment: Option<u32>) -> Result<(), Errno> {
        match (segment, &self.ground) {
            (Some(segment), _) => rustix::fs::fdatasync(self.file(segment).ok_or(Errno::BADF)?),
            (None, Ground::Files(scratch)) => scratch.sync(),
            (None, Ground::Device(device)) => device.sync(),
        }
    }

    /// Gives back the space of segments `from..to`: their files are removed. A device has nothing to give back: only
    /// a purge tells it that its blocks are unused.
    ///
    /// # Errors
    /// The kernel's error; a segment that is not there is none.
    pub fn discard(&self, from: u32, to: u32) -> Result<(), Errno> {
        for segment in from..to {
            self.close(segment);
            if let Ground::Files(scratch) = &self.ground {
                remove(scratch, &self.name(segment))?;
            }
        }
        Ok(())
    }

    /// Tells the drive which space is unused: of the filesystem, or all of the space of a device.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn trim(&self) -> Result<(), Errno> {
        match &self.ground {
            Ground::Files(scratch) => scratch.trim().map(|_| ()),
            Ground::Device(device) => device.discard(),
        }
    }

    fn name(&self, segment: u32) -> String {
        format!("{}-{segment:04}", self.files)
    }
}

/// Removes a file of ours; one that is not there is no error.
fn remove(scratch: &Scratch, name: &str) -> Result<(), Errno> {
    match rustix::fs::unlinkat(&scratch.dir, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

/// Allocates without writing; a filesystem that cannot is left to allocate as it writes.
fn allocate(file: &OwnedFd, bytes: u64) -> Result<(), Errno> {
    loop {
        match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}
