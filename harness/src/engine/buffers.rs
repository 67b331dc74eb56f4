//! Memory for direct I/O: aligned to a page, on huge pages where the kernel has them, made once before the clock starts.
//!
//! One of the files that may use `unsafe`: the standard library has no aligned byte vector.
#![expect(unsafe_code, reason = "aligned memory for O_DIRECT")]

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use super::EngineError;

/// Alignment of every buffer: a page, which satisfies every drive's memory alignment that we know of.
pub const ALIGNMENT: usize = 4096;
/// A huge page of x86-64, and a multiple of smaller pages elsewhere.
const HUGE: usize = 2 << 20;

/// A zeroed, page-aligned byte buffer of fixed length.
pub struct AlignedBuffer {
    start: NonNull<u8>,
    len: usize,
    /// Keeps the memory mapped, which other buffers share.
    _region: Arc<Region>,
}

impl AlignedBuffer {
    /// A buffer of `len` zero bytes, at least one.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(len: usize) -> Result<AlignedBuffer, EngineError> {
        let failed = EngineError::Memory { bytes: len };
        AlignedBuffer::several(1, len)?.pop().ok_or(failed)
    }

    /// `count` buffers of `len` zero bytes each, side by side: on a huge page the kernel finds and pins what an I/O
    /// needs faster (4 % of a 4 KiB write on a memory disk).
    ///
    /// # Errors
    /// Out of memory.
    pub fn several(count: usize, len: usize) -> Result<Vec<AlignedBuffer>, EngineError> {
        let len = len.max(1);
        let failed = || EngineError::Memory { bytes: len.saturating_mul(count) };
        let stride = len.checked_next_multiple_of(ALIGNMENT).ok_or_else(failed)?;
        let region = Arc::new(Region::new(stride.checked_mul(count).ok_or_else(failed)?).ok_or_else(failed)?);
        let buffers = (0..count).map(|number| {
            // SAFETY: the region holds `count` strides, and of each stride the first `len` bytes.
            let start = unsafe { region.start.add(number * stride) };
            AlignedBuffer { start, len, _region: region.clone() }
        });
        Ok(buffers.collect())
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` points at `len` initialised (zeroed) bytes that no other buffer has, mapped as long as the
        // region lives, and the borrow of `self` keeps them from being written meanwhile.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

// SAFETY: the buffer has its bytes for itself and no thread-bound state, like `Vec<u8>`.
unsafe impl Send for AlignedBuffer {}
// SAFETY: shared access only reads.
unsafe impl Sync for AlignedBuffer {}

/// Zeroed memory of our own that begins at a huge page's border.
struct Region {
    start: NonNull<u8>,
    mapped: NonNull<u8>,
    mapped_len: usize,
}

impl Region {
    /// None where memory is short.
    fn new(len: usize) -> Option<Region> {
        let len = len.checked_next_multiple_of(HUGE)?;
        let mapped_len = len.checked_add(HUGE)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping of the kernel's choice touches no memory that is in use.
        let mapped = unsafe { mmap_anonymous(std::ptr::null_mut(), mapped_len, protection, MapFlags::PRIVATE) };
        let mapped = NonNull::new(mapped.ok()?.cast::<u8>())?;
        // SAFETY: the mapping is a huge page longer than `len`, so its first border of one lies within it.
        let start = unsafe { mapped.add(mapped.align_offset(HUGE)) };
        // Without huge pages small ones do.
        // SAFETY: the range lies in the mapping above, and the advice changes nothing of what it holds.
        let _ = unsafe { madvise(start.as_ptr().cast(), len, Advice::LinuxHugepage) };
        Some(Region { start, mapped, mapped_len })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // Unmapping a whole mapping of our own does not fail.
        // SAFETY: mapped in `new`, and the last buffer in it is gone.
        let _ = unsafe { munmap(self.mapped.as_ptr().cast(), self.mapped_len) };
    }
}

// SAFETY: a region is only an address range, which any thread may unmap.
unsafe impl Send for Region {}
// SAFETY: nothing of it is changed through a shared reference.
unsafe impl Sync for Region {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_zeroed_and_writable() {
        let mut buffer = AlignedBuffer::new(8192).unwrap();
        assert_eq!(buffer.as_ptr() as usize % ALIGNMENT, 0);
        assert!(buffer.iter().all(|&byte| byte == 0));
        buffer[8191] = 7;
        assert_eq!((buffer.len(), buffer[8191]), (8192, 7));
    }

    #[test]
    fn neighbours_do_not_overlap() {
        let mut buffers = AlignedBuffer::several(3, 5000).unwrap();
        for (buffer, fill) in buffers.iter_mut().zip(1..) {
            buffer.fill(fill);
        }
        for (buffer, fill) in buffers.iter().zip(1..) {
            assert_eq!(buffer.as_ptr() as usize % ALIGNMENT, 0);
            assert!(buffer.len() == 5000 && buffer.iter().all(|&byte| byte == fill));
        }
        let last = buffers.pop().unwrap();
        drop(buffers);
        assert!(last.iter().all(|&byte| byte == 3), "a buffer outlives its neighbours");
    }

    #[test]
    fn an_impossible_size_is_an_error_not_a_crash() {
        assert!(AlignedBuffer::new(usize::MAX - 4096).is_err());
        assert!(AlignedBuffer::new(1 << 60).is_err());
        assert!(AlignedBuffer::several(usize::MAX / 2, 4096).is_err());
    }
}
