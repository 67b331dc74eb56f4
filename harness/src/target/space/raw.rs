//! A whole block device as ground for a byte space: its descriptors, its marker, and its margins.
//!
//! Layout, `MARGIN` being 1 MiB:
//!
//! ```text
//! 0            MARGIN                       MARGIN + capacity        size
//! | marker, 0… | the byte space of every phase               | marker, 0… |
//! marker: "storage-check run\0" | length of the id, u16 LE | the run's id | … | SHA-256 of all before, at its end
//! ```
//!
//! Signatures of filesystems, partition tables and volume managers stand within the margins: a run clears both before
//! it writes, and clears them again at its end. What makes a filesystem meanwhile destroys a marker, and so does a
//! partition table. Opens nothing and decides nothing: `open` hands the descriptors in.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::engine::buffers::AlignedBuffer;
use crate::target::ioctl;
use crate::units::MIB;

/// Bytes at each end of the device that no phase writes.
pub const MARGIN: u64 = MIB;

/// Bytes of a marker: the largest logical block.
const MARKER_BYTES: usize = 4096;
const MAGIC: &[u8] = b"storage-check run\0";
const SUM: usize = 32;

/// An opened device; no other descriptor of it is made while the run lasts.
#[derive(Debug)]
pub struct RawDevice {
    direct: Arc<OwnedFd>,
    /// The same device, each write durable when it completes.
    durable: Arc<OwnedFd>,
    size: u64,
    /// None where the device takes no discards.
    discards: Option<Steps>,
}

/// Where discards may begin and end: at `first` and in steps of `step` bytes from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Bytes.
    pub step: u64,
    /// Bytes from the start of the device.
    pub first: u64,
}

impl RawDevice {
    /// A device of `size` bytes by its two descriptors, both for direct I/O.
    #[must_use]
    pub fn new(direct: OwnedFd, durable: OwnedFd, size: u64, discards: Option<Steps>) -> RawDevice {
        RawDevice { direct: Arc::new(direct), durable: Arc::new(durable), size, discards }
    }

    /// Bytes that phases may use: whole MiB between the margins.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        capacity(self.size)
    }

    /// The descriptor by which the drive itself is asked and ordered.
    pub(in crate::target) fn node(&self) -> &OwnedFd {
        &self.direct
    }

    /// The descriptor for I/O.
    pub(super) fn descriptor(&self, durable: bool) -> Arc<OwnedFd> {
        if durable { self.durable.clone() } else { self.direct.clone() }
    }

    /// Makes all that was written durable.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn sync(&self) -> Result<(), Errno> {
        rustix::fs::fdatasync(&self.direct)
    }

    /// Tells the device that it need not keep anything between the margins.
    ///
    /// # Errors
    /// `OPNOTSUPP` where it takes no discard; else the kernel's error.
    pub fn discard(&self) -> Result<(), Errno> {
        let steps = self.discards.ok_or(Errno::OPNOTSUPP)?;
        match steps.within(MARGIN, MARGIN + self.capacity()) {
            Some((start, end)) => ioctl::discard(self.direct.as_fd(), start, end - start),
            None => Ok(()),
        }
    }

    /// Reads blocks of 4 KiB, one at some place in each of `parts` equal parts of what a discard covers: where each is,
    /// and whether all of it is `byte`. What cannot be read is not.
    pub(in crate::target) fn sample(&self, parts: u64, byte: u8) -> Vec<(u64, bool)> {
        let steps = self.discards.unwrap_or(Steps { step: MARKER_BYTES as u64, first: 0 });
        let Some((start, end)) = steps.within(MARGIN, MARGIN + self.capacity()) else { return Vec::new() };
        let Ok(mut buffer) = buffer(MARKER_BYTES) else { return Vec::new() };
        let is_as_said = |at: u64, buffer: &mut AlignedBuffer| {
            buffer.fill(!byte);
            rustix::io::pread(&self.direct, &mut **buffer, at) == Ok(MARKER_BYTES)
                && buffer.iter().all(|&found| found == byte)
        };
        places(start, end, parts).map(|at| (at, is_as_said(at, &mut buffer))).collect()
    }

    /// Clears both margins and marks the device as the run's: a real direct write, read back.
    ///
    /// # Errors
    /// The kernel's error; `IO` when something else is read back.
    pub fn mark(&self, run: &str) -> Result<(), Errno> {
        self.clear()?;
        let block = marker(run);
        for at in self.marker_places() {
            self.write(at, &block)?;
        }
        self.sync()?;
        if self.marked(run)? { Ok(()) } else { Err(Errno::IO) }
    }

    /// Whether both markers are the run's.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn marked(&self, run: &str) -> Result<bool, Errno> {
        let mut buffer = buffer(MARKER_BYTES)?;
        for at in self.marker_places() {
            let n = rustix::io::pread(&self.direct, &mut *buffer, at)?;
            if n != buffer.len() || marked_by(&buffer).as_deref() != Some(run) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Fills both margins with zeros: nothing that anybody could take for a signature stays.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn clear(&self) -> Result<(), Errno> {
        let zeros = vec![0; MARGIN as usize];
        self.write(0, &zeros)?;
        let tail = MARGIN + self.capacity();
        let mut at = tail;
        while at < self.size {
            let len = (self.size - at).min(MARGIN) as usize;
            self.write(at, &zeros[..len])?;
            at += len as u64;
        }
        self.sync()
    }

    /// The device's first block, and the first behind the space.
    fn marker_places(&self) -> [u64; 2] {
        [0, MARGIN + self.capacity()]
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        let mut aligned = buffer(bytes.len())?;
        aligned.copy_from_slice(bytes);
        let mut moved = 0;
        while moved < aligned.len() {
            match rustix::io::pwrite(&self.direct, &aligned[moved..], at + moved as u64) {
                Ok(0) => return Err(Errno::NOSPC),
                Ok(n) => moved += n,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}

impl Steps {
    /// The largest range from `start` to `end` that begins and ends at a step.
    fn within(self, start: u64, end: u64) -> Option<(u64, u64)> {
        let step = self.step.max(512);
        let first = self.first % step;
        let up = start.saturating_sub(first).next_multiple_of(step) + first;
        let down = end.checked_sub(first)? / step * step + first;
        (up < down).then_some((up, down))
    }
}

/// A whole block at some place in each of so many equal parts of a range, always the same ones.
fn places(start: u64, end: u64, parts: u64) -> impl Iterator<Item = u64> {
    const BLOCK: u64 = MARKER_BYTES as u64;
    let start = start.next_multiple_of(BLOCK);
    let blocks = end.saturating_sub(start) / BLOCK;
    let parts = parts.min(blocks);
    (0..parts).map(move |part| {
        let (from, to) = (blocks * part / parts, blocks * (part + 1) / parts);
        // Knuth's multiplicative hash: places that no stripe or step of a drive's own coincides with.
        let within = part.wrapping_mul(2_654_435_761) % (to - from);
        start + (from + within) * BLOCK
    })
}

/// Bytes between the margins of a device of `size` bytes, in whole MiB.
#[must_use]
pub(in crate::target) fn capacity(size: u64) -> u64 {
    size.saturating_sub(2 * MARGIN) / MIB * MIB
}

fn buffer(len: usize) -> Result<AlignedBuffer, Errno> {
    AlignedBuffer::new(len).map_err(|_| Errno::NOMEM)
}

fn marker(run: &str) -> Vec<u8> {
    let mut block = vec![0; MARKER_BYTES];
    // A run's id is the name of its folder: at most 255 bytes.
    let id = &run.as_bytes()[..run.len().min(255)];
    let head = [MAGIC, &(id.len() as u16).to_le_bytes(), id].concat();
    block[..head.len()].copy_from_slice(&head);
    let sum = Sha256::digest(&block[..MARKER_BYTES - SUM]);
    block[MARKER_BYTES - SUM..].copy_from_slice(&sum);
    block
}

/// The run that a block marks the device as its own of, if it is a whole marker.
#[must_use]
pub(in crate::target) fn marked_by(block: &[u8]) -> Option<String> {
    let block = block.get(..MARKER_BYTES)?;
    let (body, sum) = block.split_at(MARKER_BYTES - SUM);
    if Sha256::digest(body).as_slice() != sum {
        return None;
    }
    let (len, rest) = body.strip_prefix(MAGIC)?.split_first_chunk::<2>()?;
    let id = rest.get(..usize::from(u16::from_le_bytes(*len)))?;
    str::from_utf8(id).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_tells_its_run_and_any_damage_makes_it_none() {
        let block = marker("20261130T120000Z-acme-quick");
        assert_eq!(marked_by(&block).as_deref(), Some("20261130T120000Z-acme-quick"));
        for at in [0, 17, 25, 1080, MARKER_BYTES - 1] {
            let mut damaged = block.clone();
            damaged[at] ^= 1;
            assert_eq!(marked_by(&damaged), None, "byte {at}");
        }
        assert_eq!(marked_by(&block[..100]), None);
        assert_eq!(marked_by(&[0; MARKER_BYTES]), None);
    }

    #[test]
    fn discards_begin_and_end_at_the_drives_own_steps() {
        let check = |step, first, start, end, expect| {
            assert_eq!(Steps { step, first }.within(start, end), expect, "{step} {first} {start} {end}");
        };
        check(4096, 0, 4096, 40960, Some((4096, 40960)));
        check(10_000, 0, 4096, 40960, Some((10_000, 40_000)));
        check(10_000, 2_000, 4096, 40960, Some((12_000, 32_000)));
        // An offset of more than a step is one of what remains of it.
        check(10_000, 32_000, 4096, 40960, Some((12_000, 32_000)));
        check(10_000, 4_500, 4096, 14_000, None);
        check(0, 0, 511, 1024, Some((512, 1024)));
        check(1 << 40, 1 << 30, 0, 1 << 29, None);
    }

    #[test]
    fn samples_lie_one_in_each_part_and_within_the_range() {
        let found: Vec<u64> = places(MIB + 512, 65 * MIB, 64).collect();
        assert_eq!(found.len(), 64);
        assert!(found.is_sorted() && found.iter().all(|at| at % 4096 == 0 && *at > MIB && *at + 4096 <= 65 * MIB));
        for (part, at) in found.iter().enumerate() {
            assert!((*at - MIB - 4096) / (MIB - 64) == part as u64, "{part}: {at}");
        }
        assert_eq!(places(0, 3 * 4096, 64).collect::<Vec<_>>(), [0, 4096, 8192]);
        assert_eq!(places(0, 4095, 64).count(), 0);
    }

    #[test]
    fn the_space_leaves_a_margin_at_both_ends() {
        let check = |size, expect| assert_eq!(capacity(size), expect, "{size}");
        check(0, 0);
        check(2 * MIB, 0);
        check(64 * MIB, 62 * MIB);
        check(64 * MIB + 512, 62 * MIB);
        check(65 * MIB - 1, 62 * MIB);
    }
}
