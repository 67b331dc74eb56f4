//! A slot of the queue: its buffer, the request that has it, the entry that asks the kernel for what is left of the
//! request, and what an entry's result means for it.

use io_uring::{opcode, squeue, types};
use rustix::io::Errno;

use super::files::Handle;
use crate::engine::buffers::AlignedBuffer;
use crate::engine::{Op, OpKind};
use crate::units::Nanos;

/// A buffer and the request that has it.
pub(super) struct Slot {
    pub(super) buffer: AlignedBuffer,
    /// The part of the body pool that the buffer begins with.
    pub(super) first_body: usize,
    /// Holds bodies, not what a read brought.
    pub(super) prepared: bool,
    pub(super) request: Option<Request>,
}

/// A request in flight.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) op: Op,
    pub(super) file: Handle,
    /// Place in the file.
    pub(super) at: u64,
    pub(super) len: u32,
    /// Ends where its segment does.
    pub(super) last: bool,
    /// Bytes that earlier, short transfers moved.
    pub(super) moved: u32,
    pub(super) submitted: Nanos,
}

impl Request {
    /// The entry for what is left of the request of slot `number`, whose buffer may be `fixed`: registered under
    /// that number.
    #[inline]
    pub(super) fn entry(&self, buffer: &mut AlignedBuffer, number: u32, fixed: bool) -> squeue::Entry {
        let start = buffer[self.moved as usize..self.len as usize].as_mut_ptr();
        let (fd, at, len) = (types::Fd(self.file.number), self.at + u64::from(self.moved), self.len - self.moved);
        let index = u16::try_from(number).unwrap_or(u16::MAX);
        let entry = match (self.op.kind, fixed) {
            (OpKind::Write { .. }, true) => opcode::WriteFixed::new(fd, start, len, index).offset(at).build(),
            (OpKind::Write { .. }, false) => opcode::Write::new(fd, start, len).offset(at).build(),
            (OpKind::Read { .. }, true) => opcode::ReadFixed::new(fd, start, len, index).offset(at).build(),
            (OpKind::Read { .. }, false) => opcode::Read::new(fd, start, len).offset(at).build(),
            _ => opcode::Fsync::new(fd).flags(types::FsyncFlags::DATASYNC).build(),
        };
        entry.flags(self.file.flags).user_data(u64::from(number))
    }

    /// Takes an entry's result; none when another entry is needed, after a short transfer or a signal.
    #[inline]
    pub(super) fn proceed(&mut self, result: i32) -> Option<Result<u32, Errno>> {
        let left = self.len - self.moved;
        match u32::try_from(result) {
            Ok(moved) if moved == left => Some(Ok(self.len)),
            // A short transfer is no error yet: the next one says why.
            Ok(0) if matches!(self.op.kind, OpKind::Read { .. }) => Some(Err(Errno::NODATA)),
            Ok(0) => Some(Err(Errno::NOSPC)),
            Ok(moved) => {
                self.moved += moved.min(left);
                None
            }
            Err(_) if -result == Errno::INTR.raw_os_error() => None,
            Err(_) => Some(Err(Errno::from_raw_os_error(-result))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: OpKind, results: &[i32], expect: Option<Result<u32, Errno>>) {
        let file = Handle { number: 3, flags: squeue::Flags::empty() };
        let len = if matches!(kind, OpKind::Flush { .. }) { 0 } else { 8192 };
        let op = Op { slot: 0, kind };
        let mut request = Request { op, file, at: 0, len, last: false, moved: 0, submitted: Nanos(0) };
        let last = results.iter().map(|&result| request.proceed(result)).last().flatten();
        assert_eq!(last, expect, "{kind:?} {results:?}");
    }

    #[test]
    fn a_request_ends_when_all_of_it_has_moved_or_an_error_says_why_not() {
        let write = OpKind::Write { offset: 0, len: 8192, generation: 0 };
        let read = OpKind::Read { offset: 0, len: 8192, generation: 0 };
        check(write, &[8192], Some(Ok(8192)));
        check(write, &[4096], None);
        check(write, &[4096, 4096], Some(Ok(8192)));
        check(write, &[4096, 0], Some(Err(Errno::NOSPC)));
        check(write, &[4096, -28], Some(Err(Errno::NOSPC)));
        check(write, &[-4], None);
        check(write, &[-4, 8192], Some(Ok(8192)));
        check(read, &[4096, 0], Some(Err(Errno::NODATA)));
        check(read, &[-5], Some(Err(Errno::IO)));
        check(OpKind::Flush { segment: Some(0) }, &[0], Some(Ok(0)));
        check(OpKind::Flush { segment: Some(0) }, &[-5], Some(Err(Errno::IO)));
    }
}
