//! Setting a ring up and entering the kernel through it: what differs between kernels, and nothing of requests.

use std::thread;
use std::time::Duration;

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

/// Whether this process may use `rings` rings of `entries` entries at a time: sets them up and enters the kernel.
///
/// # Errors
/// Why not.
pub fn usable(rings: u32, entries: u32) -> Result<(), Unusable> {
    let rings: Vec<IoUring> =
        (0..rings).map(|_| set_up(entries)).collect::<Result<_, _>>().map_err(Unusable::Refused)?;
    for ring in &rings {
        if !ring.params().is_feature_ext_arg() {
            return Err(Unusable::TooOld);
        }
        enter(ring, Nanos(0)).map_err(Unusable::Refused)?;
    }
    Ok(())
}

/// A ring; waits a little for memory that rings which are gone give back late: what an ordinary user may lock
/// (`RLIMIT_MEMLOCK`) is little, and the kernel takes rings apart in the background.
#[expect(clippy::disallowed_methods, reason = "waits for the kernel before the run's clock matters")]
pub(super) fn new(entries: u32) -> Result<IoUring, Errno> {
    const STEPS: u32 = 50;
    for _ in 0..STEPS {
        match set_up(entries) {
            Err(Errno::NOMEM) => thread::sleep(Duration::from_millis(20)),
            other => return other,
        }
    }
    set_up(entries)
}

/// A ring in which completions wait until its thread enters the kernel, which it does anyway
/// (`IORING_SETUP_COOP_TASKRUN` in io_uring_setup(2)); before Linux 5.19 the kernel interrupts the thread instead.
/// Not `IORING_SETUP_DEFER_TASKRUN`: it ties a ring to the thread that first uses it, and each job has threads of
/// its own, so that rings would be made while the clock runs; measured at a depth of 32 it saved no time.
fn set_up(entries: u32) -> Result<IoUring, Errno> {
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
