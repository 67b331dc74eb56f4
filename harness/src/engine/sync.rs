//! The plain engine: one `pwrite` or `pread` at a time a worker; more depth means more workers.
//!
//! The baseline of what a kernel gives without queues, and what io_uring falls back to.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;

use super::buffers::AlignedBuffer;
use super::content::Blocks;
use super::{
    BadBlock, Batch, Clock, Completion, Engine, EngineError, EngineFactory, MOST_BAD_BLOCKS, Op, OpKind, Setup,
};
use crate::target::space::{self, Ground, Space, Spot};
use crate::units::Nanos;

/// Makes `pwrite` engines on the files of a scratch folder, or on a device.
#[derive(Debug)]
pub struct SyncFactory {
    ground: Ground,
    clock: Clock,
}

impl SyncFactory {
    /// Engines on `ground` that tell time by `clock`.
    #[must_use]
    pub fn new(ground: impl Into<Ground>, clock: Clock) -> SyncFactory {
        SyncFactory { ground: ground.into(), clock }
    }
}

impl EngineFactory for SyncFactory {
    type Engine = SyncEngine;

    fn name(&self) -> &'static str {
        super::real::PWRITE
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn engines(&self, setup: &Setup) -> Result<Vec<SyncEngine>, EngineError> {
        let space = Arc::new(self.ground.space(&setup.files, setup.segment_bytes, setup.dsync));
        let blocks = Arc::new(Blocks::new(setup.content, setup.block, setup.segment_bytes));
        let Setup { workers, queue_depth, .. } = *setup;
        let threads = workers.saturating_mul(queue_depth);
        if threads > MOST_THREADS {
            return Err(EngineError::Threads { workers, queue_depth, most: MOST_THREADS });
        }
        let mut buffers = AlignedBuffer::several(2 * threads as usize, setup.block as usize)?.into_iter();
        let pairs = std::iter::from_fn(|| Some((buffers.next()?, buffers.next()?)));
        let engine = |(number, pair)| SyncEngine::new(space.clone(), blocks.clone(), pair, number, self.clock);
        Ok(pairs.enumerate().map(engine).collect())
    }
}

/// The file or device that I/O goes to just now, and the bytes of the space that are one segment on it.
struct Current {
    start: u64,
    end: u64,
    /// Where the segment begins in the file.
    first: u64,
    file: Arc<OwnedFd>,
}

/// With more threads than this, what is measured is the scheduler.
const MOST_THREADS: u32 = 1024;

/// One worker: submits by doing, so at most one request is in flight.
pub struct SyncEngine {
    space: Arc<Space>,
    blocks: Arc<Blocks>,
    clock: Clock,
    /// The part of the body pool that the write buffer begins with.
    first_body: usize,
    write: AlignedBuffer,
    read: AlignedBuffer,
    current: Option<Current>,
    /// At most one; a vector, so that `reap` need not copy it.
    done: Vec<Completion>,
    bad: Vec<BadBlock>,
}

impl SyncEngine {
    fn new(
        space: Arc<Space>,
        blocks: Arc<Blocks>,
        (mut write, read): (AlignedBuffer, AlignedBuffer),
        first_body: usize,
        clock: Clock,
    ) -> SyncEngine {
        blocks.prepare(&mut write, first_body);
        SyncEngine { space, blocks, clock, first_body, write, read, current: None, done: Vec::new(), bad: Vec::new() }
    }

    #[inline]
    fn perform(&mut self, kind: OpKind) -> Result<u32, Errno> {
        match kind {
            OpKind::Write { offset, len, generation } => self.write(offset, len, generation),
            OpKind::Read { offset, len, generation } => self.read(offset, len, generation),
            OpKind::Flush { segment } => self.space.flush(segment).map(|()| 0),
            OpKind::Discard { from, to } => {
                self.current = None;
                self.space.discard(from, to).map(|()| 0)
            }
            OpKind::Trim => self.space.trim().map(|()| 0),
            OpKind::Open { segment, create } => self.space.open(segment, create).map(|()| 0),
            OpKind::Close { segment } => {
                self.current = None;
                self.space.close(segment);
                Ok(0)
            }
        }
    }

    #[inline]
    fn write(&mut self, offset: u64, len: u32, generation: u32) -> Result<u32, Errno> {
        let Current { start, end, first, file } = select(&self.space, &mut self.current, offset)?;
        let (at, last) = (first + offset - start, offset + u64::from(len) == *end);
        let buffer = &mut self.write[..len as usize];
        self.blocks.stamp(buffer, self.first_body, offset, generation, last);
        let mut moved = 0;
        // A short write is no error yet: the next one says why.
        let result = loop {
            match rustix::io::pwrite(file, &buffer[moved..], at + moved as u64) {
                Ok(0) => break Err(Errno::NOSPC),
                Ok(n) if moved + n == buffer.len() => break Ok(len),
                Ok(n) => moved += n,
                Err(Errno::INTR) => {}
                Err(errno) => break Err(errno),
            }
        };
        self.blocks.unstamp(buffer, last);
        result
    }

    fn read(&mut self, offset: u64, len: u32, _generation: u32) -> Result<u32, Errno> {
        let Current { start, first, file, .. } = select(&self.space, &mut self.current, offset)?;
        let at = first + offset - start;
        let buffer = &mut self.read[..len as usize];
        let mut moved = 0;
        loop {
            match rustix::io::pread(file, &mut buffer[moved..], at + moved as u64) {
                Ok(0) => return Err(Errno::NODATA),
                Ok(n) if moved + n == buffer.len() => return Ok(len),
                Ok(n) => moved += n,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Compares what the last read brought; after the read's time was taken.
    fn inspect(&mut self, offset: u64, len: u32, generation: u32) -> u32 {
        let (mut count, bad) = (0, &mut self.bad);
        self.blocks.inspect(&self.read[..len as usize], offset, generation, |offset, fault| {
            count += 1;
            if bad.len() < MOST_BAD_BLOCKS {
                bad.push(BadBlock { offset, fault });
            }
        });
        count
    }
}

/// The file that holds a byte of the space, which becomes the current one.
#[inline]
fn select<'a>(space: &Space, current: &'a mut Option<Current>, offset: u64) -> Result<&'a Current, Errno> {
    if current.as_ref().is_none_or(|current| offset < current.start || offset >= current.end) {
        let Spot { segment, at, left } = space.locate(offset);
        let file = space.own_file(segment).ok_or(Errno::BADF)?;
        let within = space.segment_bytes() - left;
        *current = Some(Current { start: offset - within, end: offset + left, first: at - within, file });
    }
    current.as_ref().ok_or(Errno::BADF)
}

impl Engine for SyncEngine {
    const THREADED: bool = true;

    fn depth(&self) -> u32 {
        1
    }

    fn attach(&mut self) {
        self.current = None;
        // Where the kernel refuses, descriptors stay shared, at a few percent of a small I/O.
        let _ = space::own_descriptors();
    }

    fn detach(&mut self) {
        self.current = None;
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    #[inline]
    fn submit(&mut self, op: Op, submitted: Nanos) {
        assert!(self.done.is_empty(), "the pwrite engine keeps one request in flight");
        let result = self.perform(op.kind);
        let completed = self.clock.now();
        let bad_blocks = match (op.kind, result) {
            (OpKind::Read { offset, len, generation }, Ok(_)) => self.inspect(offset, len, generation),
            _ => 0,
        };
        self.done.push(Completion { op, submitted, completed, result, bad_blocks });
    }

    #[inline]
    fn reap(&mut self, until: Nanos, batch: &mut Batch) {
        if self.done.is_empty() {
            let wait = until.saturating_sub(self.clock.now());
            #[expect(clippy::disallowed_methods, reason = "a real engine idles in real time")]
            thread::sleep(Duration::from_nanos(wait.0));
        } else if batch.completions.is_empty() {
            std::mem::swap(&mut batch.completions, &mut self.done);
        } else {
            batch.completions.append(&mut self.done);
        }
        if !self.bad.is_empty() {
            batch.bad.append(&mut self.bad);
        }
    }
}
