//! Memory for direct I/O: aligned to a page, made once before the clock starts.
//!
//! One of the files that may use `unsafe`: the standard library has no aligned byte vector.
#![expect(unsafe_code, reason = "aligned allocation for O_DIRECT")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::EngineError;

/// Alignment of every buffer: a page, which satisfies every drive's memory alignment that we know of.
pub const ALIGNMENT: usize = 4096;

/// A zeroed, page-aligned byte buffer of fixed length.
pub struct AlignedBuffer {
    start: NonNull<u8>,
    layout: Layout,
}

impl AlignedBuffer {
    /// A buffer of `len` zero bytes, at least one.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(len: usize) -> Result<AlignedBuffer, EngineError> {
        let failed = || EngineError::Memory { bytes: len };
        let layout = Layout::from_size_align(len.max(1), ALIGNMENT).map_err(|_| failed())?;
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(failed)?;
        Ok(AlignedBuffer { start, layout })
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` points at `layout.size()` initialised (zeroed) bytes that this value owns,
        // and the borrow of `self` keeps them from being written or freed meanwhile.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this very layout, freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

// SAFETY: the buffer owns its memory and has no thread-bound state, like `Vec<u8>`.
unsafe impl Send for AlignedBuffer {}
// SAFETY: shared access only reads.
unsafe impl Sync for AlignedBuffer {}

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
    fn an_impossible_size_is_an_error_not_a_crash() {
        assert!(AlignedBuffer::new(usize::MAX - 4096).is_err());
    }
}
