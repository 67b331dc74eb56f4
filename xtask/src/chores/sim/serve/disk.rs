//! A file system of one file, `disk`, whose requests take as long as a drive's model says.
//!
//! Bytes are kept in a sparse file at once; the answer is held back until the model's time. Time is the machine's,
//! from the drive's first moment on. Knows nothing of mounts and loop devices.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request,
    WriteFlags,
};
use harness::engine::sim::{Model, Request as Io};
use harness::units::{MIB, Nanos};
use rustix::fs::{FallocateFlags, fallocate};

use super::replies::Replies;

/// The file's name.
pub(super) const NAME: &str = "disk";

const FILE: INodeNo = INodeNo(2);

/// Attributes never change.
const FOREVER: Duration = Duration::from_secs(1 << 30);

/// The largest request that the kernel hands over in one piece.
const MAX_WRITE: u32 = MIB as u32;

/// Requests that the kernel may have under way at once, its own queue aside.
const MAX_BACKGROUND: u16 = 256;

/// A drive with its data.
pub(super) struct Disk {
    model: Mutex<Box<dyn Model>>,
    start: Instant,
    data: File,
    size: u64,
    made: SystemTime,
    replies: Arc<Replies>,
}

impl Disk {
    /// A drive of `size` bytes that keeps its data in `data`, an empty file.
    ///
    /// # Errors
    /// The file cannot be that large.
    pub(super) fn new(model: impl Model + 'static, data: File, size: u64, replies: Arc<Replies>) -> io::Result<Disk> {
        data.set_len(size)?;
        let model: Mutex<Box<dyn Model>> = Mutex::new(Box::new(model));
        Ok(Disk { model, start: Instant::now(), data, size, made: SystemTime::now(), replies })
    }

    /// Lets the model serve a request that has just come; when its answer is due.
    fn serve(&self, io: Io) -> Instant {
        let mut model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock: the model's time never goes back.
        let now = Nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        self.start + Duration::from_nanos(model.serve(now, io).0)
    }

    fn answer(&self, due: Instant, answer: impl FnOnce() + Send + 'static) {
        self.replies.at(due, Box::new(answer));
    }

    /// Whether a request lies on the drive.
    fn holds(&self, offset: u64, len: u64) -> bool {
        offset.checked_add(len).is_some_and(|end| end <= self.size)
    }

    fn attributes(&self, inode: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size, nlink) = match inode {
            INodeNo::ROOT => (FileType::Directory, 0o755, 0, 2),
            FILE => (FileType::RegularFile, 0o600, self.size, 1),
            _ => return None,
        };
        Some(FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: self.made,
            mtime: self.made,
            ctime: self.made,
            crtime: self.made,
            kind,
            perm,
            nlink,
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}

impl Filesystem for Disk {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let set = config.set_max_write(MAX_WRITE).is_ok()
            && config.set_max_background(MAX_BACKGROUND).is_ok()
            // Else each direct request of the loop device waits for the one before.
            && config.add_capabilities(InitFlags::FUSE_ASYNC_DIO).is_ok();
        if set { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(FILE).filter(|_| parent == INodeNo::ROOT && name == NAME) {
            Some(attributes) => reply.entry(&FOREVER, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some(attributes) => reply.attr(&FOREVER, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let entries = [
            (INodeNo::ROOT, FileType::Directory, "."),
            (INodeNo::ROOT, FileType::Directory, ".."),
            (FILE, FileType::RegularFile, NAME),
        ];
        for (next, (inode, kind, name)) in (1..).zip(entries).skip_while(|(next, _)| *next <= offset) {
            if reply.add(inode, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let direct = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), direct);
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let len = u32::try_from(data.len()).unwrap_or(u32::MAX);
        if !self.holds(offset, u64::from(len)) {
            return reply.error(Errno::ENOSPC);
        }
        let due = self.serve(Io::Write { offset, len });
        match self.data.write_all_at(data, offset) {
            Ok(()) => self.answer(due, move || reply.written(len)),
            Err(why) => reply.error(why.into()),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let len = u64::from(size).min(self.size.saturating_sub(offset)) as u32;
        let due = self.serve(Io::Read { offset, len });
        let mut data = vec![0; len as usize];
        match self.data.read_exact_at(&mut data, offset) {
            Ok(()) => self.answer(due, move || reply.data(&data)),
            Err(why) => reply.error(why.into()),
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let due = self.serve(Io::Flush);
        self.answer(due, move || reply.ok());
    }

    /// What a discard of the loop device becomes; all else that goes by this name is not a drive's business.
    fn fallocate(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, len: u64, mode: i32, reply: ReplyEmpty) {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if FallocateFlags::from_bits_retain(mode.cast_unsigned()) != hole {
            return reply.error(Errno::EOPNOTSUPP);
        }
        if !self.holds(offset, len) {
            return reply.error(Errno::EINVAL);
        }
        let due = self.serve(Io::Discard { offset, len });
        match fallocate(&self.data, hole, offset, len) {
            Ok(()) => self.answer(due, move || reply.ok()),
            Err(why) => reply.error(io::Error::from(why).into()),
        }
    }
}
