//! The engine: submits I/O to one linear byte space and reports completions, in real or virtual time.
//!
//! The run loop is generic over [`Engine`]: no dynamic call and no allocation an I/O. Knows nothing of
//! suites, journals or what the numbers mean, and prints nothing.

pub mod buffers;
pub mod content;
pub mod real;
#[cfg(test)]
mod real_tests;
pub mod sim;
pub mod simulated;
pub mod stamp;
pub mod sync;
pub mod uring;

use rustix::io::Errno;

use crate::sample::Fault;
use crate::sample::telemetry::Heat;
use crate::units::Nanos;
pub use content::Content;

/// One request. `slot` is the caller's, below [`Engine::depth`], and free to use again once its
/// completion was reaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// Which of the caller's slots this occupies.
    pub slot: u32,
    /// What to do.
    pub kind: OpKind,
}

/// What to do with the linear byte space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// Write stamped blocks of this generation.
    Write {
        /// First byte in the space; a multiple of the alignment.
        offset: u64,
        /// Bytes; a multiple of the alignment, within one segment.
        len: u32,
        /// Goes into the stamps.
        generation: u32,
    },
    /// Read blocks and compare their stamps with what this generation wrote.
    Read {
        /// First byte in the space.
        offset: u64,
        /// Bytes, within one segment.
        len: u32,
        /// The generation that the stamps must have.
        generation: u32,
    },
    /// Make durable what was written: one segment, or everything.
    Flush {
        /// The segment; none for the whole space.
        segment: Option<u32>,
    },
    /// Give back all space of segments `from..to`.
    Discard {
        /// First segment.
        from: u32,
        /// One past the last segment.
        to: u32,
    },
    /// Tell the drive which space is unused.
    Trim,
    /// Make a segment ready for I/O.
    Open {
        /// Which segment.
        segment: u32,
        /// Create and allocate it anew; otherwise it must exist.
        create: bool,
    },
    /// End I/O to a segment.
    Close {
        /// Which segment.
        segment: u32,
    },
}

/// The end of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request.
    pub op: Op,
    /// When it was submitted, from the start of the run.
    pub submitted: Nanos,
    /// When it completed, from the start of the run.
    pub completed: Nanos,
    /// Bytes moved (all that were asked for), or why not.
    pub result: Result<u32, Errno>,
    /// Blocks of a read whose stamps or bodies were not what was expected.
    pub bad_blocks: u32,
}

/// One block that was not what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadBlock {
    /// Its first byte in the space.
    pub offset: u64,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What [`Engine::reap`] fills; reused by the caller.
#[derive(Debug, Default)]
pub struct Batch {
    /// Completions, in the order in which they happened.
    pub completions: Vec<Completion>,
    /// The first bad blocks of the reads among them; the completions count them all.
    pub bad: Vec<BadBlock>,
}

/// The most bad blocks that a batch names; more are only counted.
pub const MOST_BAD_BLOCKS: usize = 256;

/// Something that does I/O on one linear byte space.
pub trait Engine {
    /// Whether several engines run on threads of their own. A simulator has one clock for all and says no.
    const THREADED: bool;

    /// The most requests that may be in flight.
    fn depth(&self) -> u32;

    /// Now, from the start of the run.
    fn now(&self) -> Nanos;

    /// Begins work on a thread of its own, which opens and closes nothing but through this engine.
    fn attach(&mut self) {}

    /// Ends work on that thread, before it ends: lets go of what only this thread has.
    fn detach(&mut self) {}

    /// Takes a request; its completion will be reaped. At most `depth` are in flight.
    ///
    /// `now` is the caller's last reading of the clock, an instant ago: [`Engine::now`], or when the last completion
    /// was. A reading more for each request would cost a percent of a small I/O.
    fn submit(&mut self, op: Op, now: Nanos);

    /// Returns at the first completion, or at `until`; with nothing in flight it waits: idle is time too.
    fn reap(&mut self, until: Nanos, batch: &mut Batch);
}

/// Makes the engines of a phase: as many as together keep `workers × queue_depth` I/Os in flight.
pub trait EngineFactory {
    /// The engines it makes.
    type Engine: Engine + Send;

    /// Name for reports, such as `pwrite`.
    fn name(&self) -> &'static str;

    /// Now by the clock of the engines that it makes, from the start of the run.
    fn now(&self) -> Nanos;

    /// What a reader of the figures must know of the choice of engine, if anything.
    fn note(&self) -> Option<&str> {
        None
    }

    /// How warm the drive is, where it is of this program's own making and says so.
    fn heat(&self) -> Option<Heat> {
        None
    }

    /// Engines on the files of `layout`, with `setup`'s blocks, content and concurrency.
    ///
    /// # Errors
    /// The buffers could not be had, or the concurrency cannot be kept.
    fn engines(&self, setup: &Setup) -> Result<Vec<Self::Engine>, EngineError>;
}

/// What a phase asks of its engines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Names the files: those of one suite begin with it.
    pub files: String,
    /// Largest bytes of one I/O.
    pub block: u32,
    /// Engine threads.
    pub workers: u32,
    /// I/Os in flight a worker.
    pub queue_depth: u32,
    /// Every write is durable when it completes.
    pub dsync: bool,
    /// Bytes of a segment: where a segment begins in the linear space.
    pub segment_bytes: u64,
    /// What the blocks hold.
    pub content: Content,
}

/// Why engines could not be made.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Out of memory for the buffers.
    #[error(
        "allocating {bytes} bytes of I/O buffers failed: memory is short; use a smaller block, queue_depth or workers"
    )]
    Memory {
        /// How many bytes.
        bytes: usize,
    },
    /// A thread an I/O in flight would be too many.
    #[error(
        "{workers} workers × queue_depth {queue_depth} are more than {most} threads, and the pwrite engine needs one an I/O in flight: use less of both, or allow io_uring"
    )]
    Threads {
        /// Workers asked for.
        workers: u32,
        /// I/Os in flight a worker.
        queue_depth: u32,
        /// Most threads.
        most: u32,
    },
    /// A simulated drive has one clock, and so one engine at a time.
    #[error("internal error: engines were asked for while others still have the simulated drive")]
    InUse,
    /// The kernel gave no ring although it gave one before.
    #[error("setting up an io_uring ring of {entries} entries failed: {}; use a smaller queue_depth or fewer workers", std::io::Error::from(*errno))]
    Ring {
        /// Entries of the ring.
        entries: u32,
        /// The kernel's answer.
        errno: Errno,
    },
}

/// A monotonic clock that counts from the start of the run; a resumed run goes on from `base`.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The kernel's monotonic time at the start, less `base`; modulo 2^64, as all of it.
    origin: u64,
}

impl Clock {
    /// Starts at `base`.
    #[must_use]
    pub fn starting_at(base: Nanos) -> Clock {
        Clock { origin: monotonic().wrapping_sub(base.0) }
    }

    /// Now, from the start of the run.
    #[must_use]
    #[inline]
    pub fn now(&self) -> Nanos {
        Nanos(monotonic().wrapping_sub(self.origin))
    }
}

/// The kernel's monotonic time in nanoseconds, `clock_gettime(2)`: asked once an I/O, so without `Instant`'s
/// conversions.
#[inline]
#[expect(clippy::disallowed_methods, reason = "the one clock of real engines")]
fn monotonic() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // Both are positive: the kernel counts from its boot.
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
