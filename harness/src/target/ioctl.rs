//! System calls that rustix does not have or cannot make safe: quotactl, FITRIM, the alignment that XFS asks of direct
//! I/O, a thread's own descriptor table, and what only a block device is asked.
//!
//! With `nvme` and `scsi` the only file of `target` with unsafe code. Decides nothing.
#![expect(
    unsafe_code,
    reason = "quotactl, quotactl_fd, FITRIM, XFS_IOC_DIOINFO, BLK* and unshare have no safe binding"
)]

pub(super) mod nvme;
pub(super) mod scsi;

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, Setter, Updater, opcode};

use crate::units::Bytes;

/// What direct I/O on a file must be aligned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// Of the buffer's address.
    pub memory: Bytes,
    /// Of the file offset and the length.
    pub offset: Bytes,
}

/// Whose quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuotaKind {
    /// A user's.
    User,
    /// A group's.
    Group,
}

/// A quota of space; a limit of zero is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quota {
    pub(super) used: Bytes,
    pub(super) soft: Bytes,
    pub(super) hard: Bytes,
    /// When the soft limit begins to bind, in seconds since 1970; none while it is not exceeded.
    pub(super) grace_ends_s: Option<u64>,
}

/// Gives the calling thread a descriptor table of its own, a copy of the process's: unshare(2), `CLONE_FILES`.
///
/// The kernel then need not count the users of a file around each I/O. The thread must close what it opens from now
/// on, and must not close what another thread opened: their numbers no longer mean the same.
///
/// # Errors
/// The kernel's error; nothing has changed then.
pub fn own_descriptors() -> Result<(), Errno> {
    // SAFETY: the callers' contract above keeps every descriptor within the thread that opened it.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::FILES) }
}

/// The alignment that the filesystem asks of direct I/O on this file: STATX_DIOALIGN (Linux 6.1), else
/// XFS_IOC_DIOINFO.
///
/// None where neither answers or the file takes no direct I/O: then the device's logical block size is the best
/// guess, and a real write decides. Sources: statx(2), ioctl_xfs_fsgetxattr(2)'s family, `xfs_fs.h`.
#[must_use]
pub fn direct_io_alignment(fd: BorrowedFd<'_>) -> Option<Alignment> {
    statx_alignment(fd).or_else(|| xfs_alignment(fd))
}

fn statx_alignment(fd: BorrowedFd<'_>) -> Option<Alignment> {
    let stat = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let known = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::DIOALIGN);
    alignment(stat.stx_dio_mem_align, stat.stx_dio_offset_align).filter(|_| known)
}

/// `struct dioattr` of `xfs_fs.h`.
#[repr(C)]
struct DioAttr {
    memory: u32,
    smallest: u32,
    largest: u32,
}

/// `_IOR('X', 30, struct dioattr)`.
const XFS_IOC_DIOINFO: Opcode = opcode::read::<DioAttr>(b'X', 30);

fn xfs_alignment(fd: BorrowedFd<'_>) -> Option<Alignment> {
    // Another filesystem could give the same number another meaning.
    let stat = rustix::fs::fstatfs(fd).ok()?;
    if u64::try_from(stat.f_type) != Ok(u64::from(XFS_MAGIC)) {
        return None;
    }
    // SAFETY: on XFS the opcode fills exactly a `DioAttr`, a C struct of three integers, and reads nothing of ours.
    let answer = unsafe { rustix::ioctl::ioctl(fd, Getter::<XFS_IOC_DIOINFO, DioAttr>::new()) }.ok()?;
    alignment(answer.memory, answer.smallest)
}

/// "XFSB".
const XFS_MAGIC: u32 = 0x5846_5342;

fn alignment(memory: u32, offset: u32) -> Option<Alignment> {
    (memory > 0 && offset > 0).then(|| Alignment { memory: Bytes(u64::from(memory)), offset: Bytes(u64::from(offset)) })
}

/// `struct fstrim_range` of `linux/fs.h`.
#[repr(C)]
struct TrimRange {
    start: u64,
    len: u64,
    least: u64,
}

/// `_IOWR('X', 121, struct fstrim_range)`.
const FITRIM: Opcode = opcode::read_write::<TrimRange>(b'X', 121);

/// Tells the drive which space of this filesystem is unused, as fstrim(8) does; gives the bytes it was told of.
///
/// # Errors
/// `PERM` without CAP_SYS_ADMIN; `OPNOTSUPP` or `NOTTY` where filesystem or drive cannot discard.
pub fn trim(fd: BorrowedFd<'_>) -> Result<Bytes, Errno> {
    let mut range = TrimRange { start: 0, len: u64::MAX, least: 0 };
    // SAFETY: the opcode reads and writes exactly a `TrimRange`, three 64-bit integers, which lives across the call.
    unsafe { rustix::ioctl::ioctl(fd, Updater::<FITRIM, TrimRange>::new(&mut range)) }?;
    Ok(Bytes(range.len))
}

/// `_IOR(0x12, 128, __u64)`, Linux 5.15.
const BLKGETDISKSEQ: Opcode = opcode::read::<u64>(0x12, 128);

/// A number that no other disk of this boot has or had, whatever its name: none before Linux 5.15.
///
/// Source: Linux `Documentation/ABI/testing/sysfs-block`, `diskseq`.
#[must_use]
pub fn disk_sequence(fd: BorrowedFd<'_>) -> Option<u64> {
    // SAFETY: on a block device the opcode fills exactly one 64-bit integer; elsewhere it is refused.
    unsafe { rustix::ioctl::ioctl(fd, Getter::<BLKGETDISKSEQ, u64>::new()) }.ok()
}

/// `_IO(0x12, 119)` of `linux/fs.h`.
const BLKDISCARD: Opcode = opcode::none(0x12, 119);

/// Tells a block device that it need not keep `length` bytes from `start` on, both multiples of 512.
///
/// # Errors
/// `OPNOTSUPP` where the device cannot discard; `INVAL` beyond its end or unaligned.
pub fn discard(fd: BorrowedFd<'_>, start: u64, length: u64) -> Result<(), Errno> {
    // SAFETY: the opcode reads exactly two 64-bit integers, start and length, which live across the call.
    unsafe { rustix::ioctl::ioctl(fd, Setter::<BLKDISCARD, [u64; 2]>::new([start, length])) }
}

/// The quota of a user or group on the folder's filesystem; none where there is no quota or we may not ask.
///
/// quotactl_fd (Linux 5.14) needs only a descriptor; quotactl(2) the path of the block device.
pub(super) fn quota(folder: BorrowedFd<'_>, source: &Path, kind: QuotaKind, id: u32) -> Option<Quota> {
    let kind = match kind {
        QuotaKind::User => libc::USRQUOTA,
        QuotaKind::Group => libc::GRPQUOTA,
    };
    let command = libc::QCMD(libc::Q_GETQUOTA, kind);
    let answer = by_descriptor(folder, command, id).or_else(|| by_device(source, command, id))?;
    // Limits are counted in blocks of 1 KiB (QIF_DQBLKSIZE), use in bytes.
    let limit = |blocks: u64| Bytes(blocks.saturating_mul(1024));
    Some(Quota {
        used: Bytes(answer.dqb_curspace),
        soft: limit(answer.dqb_bsoftlimit),
        hard: limit(answer.dqb_bhardlimit),
        grace_ends_s: Some(answer.dqb_btime).filter(|&end| end > 0),
    })
}

fn by_descriptor(folder: BorrowedFd<'_>, command: i32, id: u32) -> Option<libc::dqblk> {
    let mut answer = MaybeUninit::<libc::dqblk>::zeroed();
    // SAFETY: Q_GETQUOTA writes at most one `dqblk` to the address, which lives and is ours alone for the call; the
    // borrowed descriptor is open.
    let done = unsafe { libc::syscall(libc::SYS_quotactl_fd, folder.as_raw_fd(), command, id, answer.as_mut_ptr()) };
    // SAFETY: all of it was zeroed, and integers have no invalid values.
    (done == 0).then(|| unsafe { answer.assume_init() })
}

fn by_device(source: &Path, command: i32, id: u32) -> Option<libc::dqblk> {
    let source = CString::new(source.as_os_str().as_bytes()).ok()?;
    let mut answer = MaybeUninit::<libc::dqblk>::zeroed();
    // SAFETY: the path ends in NUL and outlives the call; Q_GETQUOTA writes at most one `dqblk` to the address, which
    // lives and is ours alone for the call.
    let done = unsafe { libc::quotactl(command, source.as_ptr(), id.cast_signed(), answer.as_mut_ptr().cast()) };
    // SAFETY: all of it was zeroed, and integers have no invalid values.
    (done == 0).then(|| unsafe { answer.assume_init() })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_file_of_any_filesystem_gets_a_sane_alignment_or_none() {
        let file = tempfile::tempfile().unwrap();
        if let Some(found) = direct_io_alignment(file.as_fd()) {
            assert!(found.memory.0.is_power_of_two() && found.offset.0.is_power_of_two(), "{found:?}");
        }
    }

    #[test]
    fn an_alignment_of_zero_is_none() {
        assert_eq!(alignment(0, 512), None);
        assert_eq!(alignment(4, 0), None);
        assert_eq!(alignment(4, 512), Some(Alignment { memory: Bytes(4), offset: Bytes(512) }));
    }

    #[test]
    fn asking_for_a_quota_where_there_is_none_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let opened = std::fs::File::open(folder.path()).unwrap();
        let _ = quota(opened.as_fd(), Path::new("none"), QuotaKind::User, u32::MAX - 1);
    }
}
