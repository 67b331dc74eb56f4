//! Setting a ring up and entering the kernel through it: what differs between kernels, and nothing of requests.

use io_uring::{IoUring, types};
use rustix::io::Errno;

use crate::units::Nanos;

/// Why io_uring is of no use here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// The kernel refuses a ring or its use.
    Refused(Errno),
    /// Waiting with a time limit came with Linux 5.11.
    TooOld,
}

/// Whether this process may use io_uring: sets a ring up and enters the kernel through it.
///
/// # Errors
/// Why not.
pub fn usable() -> Result<(), Unusable> {
    let ring = new(1).map_err(Unusable::Refused)?;
    if !ring.params().is_feature_ext_arg() {
        return Err(Unusable::TooOld);
    }
    enter(&ring, Nanos(0)).map_err(Unusable::Refused)
}

/// A ring in which completions wait until its thread enters the kernel, which it does anyway
/// (`IORING_SETUP_COOP_TASKRUN` in io_uring_setup(2)); before Linux 5.19 the kernel interrupts the thread instead.
pub(super) fn new(entries: u32) -> Result<IoUring, Errno> {
    match IoUring::builder().setup_coop_taskrun().build(entries).map_err(errno) {
        Err(Errno::INVAL) => IoUring::new(entries).map_err(errno),
        other => other,
    }
}

/// Submits what is queued and waits for a completion, at most for `wait`.
#[inline]
pub(super) fn enter(ring: &IoUring, wait: Nanos) -> Result<(), Errno> {
    const SECOND: u64 = 1_000_000_000;
    let timeout = types::Timespec::new().sec(wait.0 / SECOND).nsec((wait.0 % SECOND) as u32);
    match ring.submitter().submit_with_args(1, &types::SubmitArgs::new().timespec(&timeout)).map_err(errno) {
        // Time is up, a signal came, or the kernel is short of memory just now: the caller asks again.
        Ok(_) | Err(Errno::TIME | Errno::INTR | Errno::AGAIN | Errno::BUSY) => Ok(()),
        Err(errno) => Err(errno),
    }
}

pub(super) fn errno(why: std::io::Error) -> Errno {
    Errno::from_io_error(&why).unwrap_or(Errno::IO)
}
