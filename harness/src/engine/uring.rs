//! The queueing engine: io_uring(7), a ring a worker, as many requests in flight as the queue is deep.
//!
//! `submit` queues and, once a share of the queue has gathered, hands over: more at a time would let the drive run
//! short of work, each alone would cost a system call an I/O. `reap` submits what is left and waits for the first
//! completion or the time given (io_uring_enter(2), `IORING_ENTER_EXT_ARG`). Buffers are made, filled and
//! registered before the clock starts. Opening, closing, discarding and flushing everything are done at once, as in
//! the plain engine. Knows nothing of when io_uring is to be used: `real.rs` does.
#![expect(unsafe_code, reason = "the kernel reads and writes the buffers while requests are in flight")]

mod files;
mod ring;
mod slot;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use io_uring::IoUring;
use rustix::io::Errno;

pub use ring::{Unusable, usable};

use self::files::{Files, Handle};
use self::slot::{Request, Slot};
use super::buffers::AlignedBuffer;
use super::content::Blocks;
use super::{BadBlock, Batch, Clock, Completion, Engine, EngineError, MOST_BAD_BLOCKS, Op, OpKind, Setup};
use crate::target::space::{Space, Spot};
use crate::units::Nanos;

/// How long a dropped engine waits for the kernel to be done with its buffers: longer than a drive's own timeout.
const PATIENCE: Nanos = Nanos::from_secs(60);

/// The share of the queue that gathers before it is submitted. Measured at a depth of 32 on a virtio disk: all that
/// is free at once costs a fifth of the I/Os a second, each alone costs a fifth more processor time.
const GATHERED: usize = 16;

/// One worker with its ring.
pub struct UringEngine {
    ring: IoUring,
    slots: Vec<Slot>,
    /// The kernel knows the buffers: no pages are looked up and pinned an I/O.
    fixed_buffers: bool,
    files: Files,
    space: Arc<Space>,
    blocks: Arc<Blocks>,
    clock: Clock,
    /// Slots whose first entry the kernel has not seen.
    fresh: Vec<u32>,
    /// Requests that were submitted to this engine and have not completed.
    in_flight: u32,
    /// Requests that were done at once.
    done: Vec<Completion>,
    /// What the completion queue held: slot and result.
    ended: Vec<(u32, i32)>,
}

impl UringEngine {
    /// Worker `number` of those that `setup` asks for.
    ///
    /// # Errors
    /// Memory for buffers or ring is short.
    pub fn new(
        space: Arc<Space>,
        blocks: Arc<Blocks>,
        setup: &Setup,
        number: u32,
        clock: Clock,
    ) -> Result<UringEngine, EngineError> {
        let depth = setup.queue_depth;
        let slot = |(index, mut buffer): (usize, AlignedBuffer)| {
            let first_body = number as usize * depth as usize + index;
            blocks.prepare(&mut buffer, first_body);
            Slot { buffer, first_body, prepared: true, request: None }
        };
        let buffers = AlignedBuffer::several(depth as usize, setup.block as usize)?;
        let mut slots: Vec<Slot> = buffers.into_iter().enumerate().map(slot).collect();
        let ring = ring::new(depth).map_err(|errno| EngineError::Ring { entries: depth, errno })?;
        let vectors: Vec<libc::iovec> = slots
            .iter_mut()
            .map(|slot| libc::iovec { iov_base: slot.buffer.as_mut_ptr().cast(), iov_len: slot.buffer.len() })
            .collect();
        // An ordinary user may lock little memory (RLIMIT_MEMLOCK): then each I/O pins its pages.
        // SAFETY: the buffers live until the engine is dropped, which frees them only when no request is in flight.
        let fixed_buffers = unsafe { ring.submitter().register_buffers(&vectors) }.is_ok();
        let files = Files::of(&ring);
        Ok(UringEngine {
            ring,
            slots,
            fixed_buffers,
            files,
            space,
            blocks,
            clock,
            fresh: Vec::with_capacity(depth as usize),
            in_flight: 0,
            done: Vec::with_capacity(depth as usize),
            ended: Vec::with_capacity(depth as usize),
        })
    }

    /// Begins a request that goes through the ring.
    #[inline]
    fn begin(&mut self, op: Op, now: Nanos) -> Result<(), Errno> {
        let (segment, at, len, last) = match op.kind {
            OpKind::Write { offset, len, .. } | OpKind::Read { offset, len, .. } => {
                let Spot { segment, at, left } = self.space.locate(offset);
                (segment, at, len, u64::from(len) == left)
            }
            OpKind::Flush { segment: Some(segment) } => (segment, 0, 0, false),
            kind => return self.at_once(op, kind),
        };
        let file = match self.files.handle(segment) {
            Some(file) => file,
            None => self.learn(segment)?,
        };
        let slot = &mut self.slots[op.slot as usize];
        assert!(slot.request.is_none(), "slot {} is in flight", op.slot);
        match op.kind {
            OpKind::Write { offset, generation, .. } => {
                if !slot.prepared {
                    self.blocks.prepare(&mut slot.buffer, slot.first_body);
                    slot.prepared = true;
                }
                self.blocks.stamp(&mut slot.buffer[..len as usize], slot.first_body, offset, generation, last);
            }
            OpKind::Read { .. } => slot.prepared = false,
            _ => {}
        }
        slot.request = Some(Request { op, file, at, len, last, moved: 0, submitted: Nanos(0) });
        self.fresh.push(op.slot);
        self.in_flight += 1;
        self.queue(op.slot);
        if self.fresh.len() >= self.slots.len().div_ceil(GATHERED) {
            self.note_submission(now);
            // What the kernel does not take stays queued, and `reap` hears why.
            let _ = self.ring.submitter().submit();
        }
        Ok(())
    }

    /// Queues what is left of a slot's request.
    #[inline]
    fn queue(&mut self, number: u32) {
        let Some(Slot { buffer, request: Some(request), .. }) = self.slots.get_mut(number as usize) else { return };
        let entry = request.entry(buffer, number, self.fixed_buffers);
        // SAFETY: `entry` names bytes within the buffer, which stays where it is; until the request has completed,
        // they are neither touched (`slot.request` keeps `begin` off them) nor freed (`drop`).
        // The file is open when the kernel takes the entry: `hand_over` comes before any change of `files`.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "the ring has an entry a slot");
    }

    #[cold]
    fn learn(&mut self, segment: u32) -> Result<Handle, Errno> {
        let file = self.space.file(segment).ok_or(Errno::BADF)?;
        self.hand_over()?;
        self.files.learn(&self.ring, segment, file)?;
        self.files.handle(segment).ok_or(Errno::BADF)
    }

    /// Lets go of the files of segments `from..to`.
    fn close(&mut self, from: u32, to: u32) -> Result<(), Errno> {
        self.hand_over()?;
        self.files.forget(&self.ring, from, to)
    }

    /// Gives the kernel all entries that are queued.
    fn hand_over(&mut self) -> Result<(), Errno> {
        while !self.ring.submission().is_empty() {
            self.set_off(self.clock.now(), Nanos(0))?;
        }
        Ok(())
    }

    /// A request that does not go through the ring.
    fn at_once(&mut self, op: Op, kind: OpKind) -> Result<(), Errno> {
        let submitted = self.clock.now();
        match kind {
            OpKind::Trim => self.space.trim()?,
            OpKind::Discard { from, to } => {
                self.close(from, to)?;
                self.space.discard(from, to)?;
            }
            OpKind::Open { segment, create } => {
                self.close(segment, segment + 1)?;
                self.space.open(segment, create)?;
            }
            OpKind::Close { segment } => {
                self.close(segment, segment + 1)?;
                self.space.close(segment);
            }
            OpKind::Flush { segment } => self.space.flush(segment)?,
            OpKind::Write { .. } | OpKind::Read { .. } => return Err(Errno::INVAL),
        }
        let completed = self.clock.now();
        self.done.push(Completion { op, submitted, completed, result: Ok(0), bad_blocks: 0 });
        Ok(())
    }

    /// Enters the kernel: all that is queued is submitted now.
    #[inline]
    fn set_off(&mut self, now: Nanos, wait: Nanos) -> Result<(), Errno> {
        self.note_submission(now);
        ring::enter(&self.ring, wait)
    }

    /// Notes when the requests that the kernel has not seen are submitted.
    #[inline]
    fn note_submission(&mut self, now: Nanos) {
        for number in self.fresh.drain(..) {
            if let Some(request) = &mut self.slots[number as usize].request {
                request.submitted = now;
            }
        }
    }

    /// Takes all completions out of the ring.
    fn harvest(&mut self, batch: &mut Batch) {
        let mut ended = std::mem::take(&mut self.ended);
        ended.extend(self.ring.completion().map(|entry| (entry.user_data() as u32, entry.result())));
        if !ended.is_empty() {
            let completed = self.clock.now();
            for (number, result) in ended.drain(..) {
                self.end(number, result, completed, batch);
            }
        }
        self.ended = ended;
    }

    /// One entry has ended, and with it its request, unless the transfer was short.
    #[inline]
    fn end(&mut self, number: u32, result: i32, completed: Nanos, batch: &mut Batch) {
        let Some(slot) = self.slots.get_mut(number as usize) else { return };
        let Some(request) = &mut slot.request else { return };
        let Some(result) = request.proceed(result) else { return self.queue(number) };
        let Request { op, len, last, submitted, .. } = *request;
        let buffer = &mut slot.buffer[..len as usize];
        let mut bad_blocks = 0;
        match op.kind {
            OpKind::Write { .. } => self.blocks.unstamp(buffer, last),
            OpKind::Read { offset, generation, .. } if result.is_ok() => {
                self.blocks.inspect(buffer, offset, generation, |offset, fault| {
                    bad_blocks += 1;
                    if batch.bad.len() < MOST_BAD_BLOCKS {
                        batch.bad.push(BadBlock { offset, fault });
                    }
                });
            }
            _ => {}
        }
        slot.request = None;
        self.in_flight -= 1;
        batch.completions.push(Completion { op, submitted, completed, result, bad_blocks });
    }

    /// [`Engine::reap`]; an error means that the ring itself no longer works.
    #[inline]
    fn wait(&mut self, until: Nanos, batch: &mut Batch) -> Result<(), Errno> {
        let before = batch.completions.len();
        batch.completions.append(&mut self.done);
        loop {
            let now = self.clock.now();
            let idle = self.in_flight == 0;
            if batch.completions.len() > before || now >= until {
                // Nothing to wait for, but what is queued sets off.
                return if idle { Ok(()) } else { self.turn(now, Nanos(0), batch) };
            }
            if idle {
                #[expect(clippy::disallowed_methods, reason = "a real engine idles in real time")]
                thread::sleep(Duration::from_nanos(until.saturating_sub(now).0));
                return Ok(());
            }
            self.turn(now, until.saturating_sub(now), batch)?;
            if batch.completions.len() > before {
                return Ok(());
            }
        }
    }

    #[inline]
    fn turn(&mut self, now: Nanos, wait: Nanos, batch: &mut Batch) -> Result<(), Errno> {
        self.set_off(now, wait)?;
        self.harvest(batch);
        Ok(())
    }
}

impl Engine for UringEngine {
    const THREADED: bool = true;

    fn depth(&self) -> u32 {
        self.slots.len() as u32
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    #[inline]
    fn submit(&mut self, op: Op, now: Nanos) {
        if let Err(errno) = self.begin(op, now) {
            let now = self.clock.now();
            let failed = Completion { op, submitted: now, completed: now, result: Err(errno), bad_blocks: 0 };
            self.done.push(failed);
        }
    }

    #[inline]
    fn reap(&mut self, until: Nanos, batch: &mut Batch) {
        if let Err(errno) = self.wait(until, batch) {
            // The kernel took the entries of a valid ring: only a defect of ours makes this fail.
            panic!("io_uring_enter failed: {}", std::io::Error::from(errno));
        }
    }
}

impl Drop for UringEngine {
    fn drop(&mut self) {
        let give_up = self.clock.now().saturating_add(PATIENCE);
        let mut batch = Batch::default();
        while self.in_flight > 0 && self.clock.now() < give_up && self.wait(give_up, &mut batch).is_ok() {
            batch.completions.clear();
        }
        if self.in_flight == 0 {
            // The kernel would take its time to unlock the memory, and the next phase's buffers need it.
            let _ = self.ring.submitter().unregister_buffers();
        } else {
            // The kernel may still write to the buffers: better lost than handed to somebody else.
            std::mem::forget(std::mem::take(&mut self.slots));
        }
    }
}
