//! The files that a ring knows: registered when a segment is first used, so that no I/O looks a descriptor up and
//! counts references that other workers count too (io_uring_register(2), `IORING_REGISTER_FILES`).
//!
//! A kernel that registers none gets descriptors.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use io_uring::{IoUring, squeue};
use rustix::io::Errno;

use super::ring::errno;

/// Segments whose files a ring knows at a time.
const PLACES: u16 = 64;

/// The files of the segments used last, each at the place of its number modulo [`PLACES`].
pub(super) struct Files {
    places: Vec<Option<(u32, Arc<OwnedFd>)>>,
    /// The kernel has the same table.
    registered: bool,
}

/// A file as an entry names it: a descriptor, or a number in the ring's table.
#[derive(Clone, Copy)]
pub(super) struct Handle {
    pub(super) number: i32,
    pub(super) flags: squeue::Flags,
}

impl Files {
    /// An empty table, registered with `ring`.
    pub(super) fn of(ring: &IoUring) -> Files {
        let registered = ring.submitter().register_files(&[-1; PLACES as usize]).is_ok();
        Files { places: vec![None; usize::from(PLACES)], registered }
    }

    /// The file of a segment, if it is known.
    #[inline]
    pub(super) fn handle(&self, segment: u32) -> Option<Handle> {
        let place = place(segment);
        match &self.places[usize::from(place)] {
            Some((number, _)) if *number == segment && self.registered => {
                Some(Handle { number: i32::from(place), flags: squeue::Flags::FIXED_FILE })
            }
            Some((number, file)) if *number == segment => {
                Some(Handle { number: file.as_raw_fd(), flags: squeue::Flags::empty() })
            }
            _ => None,
        }
    }

    /// Makes a segment's file known, instead of the one whose place it takes. No entry that names that one may be
    /// queued: the kernel has not looked at it yet.
    pub(super) fn learn(&mut self, ring: &IoUring, segment: u32, file: Arc<OwnedFd>) -> Result<(), Errno> {
        self.set(ring, place(segment), Some((segment, file)))
    }

    /// Lets go of the files of segments `from..to`, of which no entry may be queued.
    pub(super) fn forget(&mut self, ring: &IoUring, from: u32, to: u32) -> Result<(), Errno> {
        for place in 0..PLACES {
            let known = &self.places[usize::from(place)];
            if known.as_ref().is_some_and(|(segment, _)| (from..to).contains(segment)) {
                self.set(ring, place, None)?;
            }
        }
        Ok(())
    }

    fn set(&mut self, ring: &IoUring, place: u16, known: Option<(u32, Arc<OwnedFd>)>) -> Result<(), Errno> {
        if self.registered {
            let descriptor = known.as_ref().map_or(-1, |(_, file)| file.as_raw_fd());
            ring.submitter().register_files_update(u32::from(place), &[descriptor]).map_err(errno)?;
        }
        self.places[usize::from(place)] = known;
        Ok(())
    }
}

#[inline]
fn place(segment: u32) -> u16 {
    (segment % u32::from(PLACES)) as u16
}
