//! Which engine a real run gets: io_uring where it is allowed, else `pwrite` workers, and the reason told.

use std::sync::Arc;

use rustix::io::Errno;

use super::content::Blocks;
use super::sync::{SyncEngine, SyncFactory};
use super::uring::{self, Unusable, UringEngine};
use super::{Batch, Clock, Engine, EngineError, EngineFactory, Op, Setup};
use crate::target::space::Ground;
use crate::units::Nanos;

/// Name of the queueing engine.
pub const IO_URING: &str = "io_uring";
/// Name of the plain engine.
pub const PWRITE: &str = "pwrite";

/// The most that a run has in flight at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    /// Workers.
    pub workers: u32,
    /// Requests in flight a worker.
    pub queue_depth: u32,
}

/// Makes engines on the files of a scratch folder, or on a device.
///
/// With io_uring, phases of one request at a time go through `pwrite` all the same: a ring has nothing to queue
/// there, costs as much processor time, and on a busy machine its completions wake a thread later (measured: half
/// the I/Os a second, and fio's engines differ likewise).
#[derive(Debug)]
pub struct RealFactory {
    plain: SyncFactory,
    ground: Ground,
    clock: Clock,
    /// Queues go through io_uring.
    rings: bool,
    note: Option<String>,
}

impl RealFactory {
    /// The best engine that this process may use for as much as `most` in flight.
    #[must_use]
    pub fn new(ground: impl Into<Ground>, clock: Clock, most: Concurrency) -> RealFactory {
        let plain = RealFactory::pwrite(ground, clock);
        if most.queue_depth == 1 {
            return plain;
        }
        let note = uring::usable(most.workers, most.queue_depth).err().map(|why| {
            let why = in_words(why);
            format!("io_uring cannot be used here ({why}): pwrite workers at the same queue depth × workers instead")
        });
        RealFactory { rings: note.is_none(), note, ..plain }
    }

    /// `pwrite` workers, whatever else there is.
    #[must_use]
    pub fn pwrite(ground: impl Into<Ground>, clock: Clock) -> RealFactory {
        let ground = ground.into();
        RealFactory { plain: SyncFactory::new(ground.clone(), clock), ground, clock, rings: false, note: None }
    }

    /// The engine with which a run began, for a run that goes on; where that cannot be had, the name says so.
    #[must_use]
    pub fn named(engine: &str, ground: impl Into<Ground>, clock: Clock, most: Concurrency) -> RealFactory {
        if engine == PWRITE { RealFactory::pwrite(ground, clock) } else { RealFactory::new(ground, clock, most) }
    }
}

impl EngineFactory for RealFactory {
    type Engine = RealEngine;

    fn name(&self) -> &'static str {
        if self.rings { IO_URING } else { PWRITE }
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    fn engines(&self, setup: &Setup) -> Result<Vec<RealEngine>, EngineError> {
        if !self.rings || setup.queue_depth == 1 {
            return Ok(self.plain.engines(setup)?.into_iter().map(RealEngine::Sync).collect());
        }
        let space = Arc::new(self.ground.space(&setup.files, setup.segment_bytes, setup.dsync));
        let blocks = Arc::new(Blocks::new(setup.content, setup.block, setup.segment_bytes));
        (0..setup.workers)
            .map(|number| {
                UringEngine::new(space.clone(), blocks.clone(), setup, number, self.clock).map(RealEngine::Uring)
            })
            .collect()
    }
}

/// Why io_uring is not used, for people.
fn in_words(why: Unusable) -> String {
    // 1: only for members of a group; 2: for nobody (Documentation/admin-guide/sysctl/kernel.rst).
    let switch = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
    match (why, switch.trim()) {
        (Unusable::TooOld, _) => "this kernel's is older than Linux 5.11, which it needs".to_owned(),
        (Unusable::Refused(Errno::PERM), switch @ ("1" | "2")) => {
            format!("it is forbidden: kernel.io_uring_disabled is {switch}")
        }
        (Unusable::Refused(Errno::PERM | Errno::ACCESS), _) => {
            "it is forbidden: a container's seccomp profile or another security policy".to_owned()
        }
        (Unusable::Refused(Errno::NOSYS), _) => "this kernel has none, or a seccomp profile hides it".to_owned(),
        (Unusable::Refused(Errno::NOMEM), _) => {
            "its rings need more locked memory than this user may have: see ulimit -l".to_owned()
        }
        (Unusable::Refused(errno), _) => format!("setting it up failed: {}", std::io::Error::from(errno)),
    }
}

/// One worker of either kind.
#[expect(clippy::large_enum_variant, reason = "a few of them are made a phase, and none is moved an I/O")]
pub enum RealEngine {
    /// A ring.
    Uring(UringEngine),
    /// One request at a time.
    Sync(SyncEngine),
}

impl Engine for RealEngine {
    const THREADED: bool = true;

    fn depth(&self) -> u32 {
        match self {
            RealEngine::Uring(engine) => engine.depth(),
            RealEngine::Sync(engine) => engine.depth(),
        }
    }

    fn attach(&mut self) {
        match self {
            RealEngine::Uring(engine) => engine.attach(),
            RealEngine::Sync(engine) => engine.attach(),
        }
    }

    fn detach(&mut self) {
        match self {
            RealEngine::Uring(engine) => engine.detach(),
            RealEngine::Sync(engine) => engine.detach(),
        }
    }

    #[inline]
    fn now(&self) -> Nanos {
        match self {
            RealEngine::Uring(engine) => engine.now(),
            RealEngine::Sync(engine) => engine.now(),
        }
    }

    #[inline]
    fn submit(&mut self, op: Op, now: Nanos) {
        match self {
            RealEngine::Uring(engine) => engine.submit(op, now),
            RealEngine::Sync(engine) => engine.submit(op, now),
        }
    }

    #[inline]
    fn reap(&mut self, until: Nanos, batch: &mut Batch) {
        match self {
            RealEngine::Uring(engine) => engine.reap(until, batch),
            RealEngine::Sync(engine) => engine.reap(until, batch),
        }
    }
}
