//! The simulated engine: all workers' requests on one virtual clock, in the order in which a model completes them.
//!
//! One engine does the work of all workers, since there is one clock. Waiting costs nothing: time jumps to the next
//! completion. Owns slots and queue; what a request does is `sim/world.rs`'s.
//!
//! The drive goes to the engine and comes back when the engine is dropped: a lock an I/O would cost as much as the
//! drive does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::sim::faults::Faults;
use super::sim::world::{View, World};
use super::sim::{Failure, Model};
use super::{BadBlock, Batch, Completion, Engine, EngineError, EngineFactory, Op, OpKind, Setup};
use crate::sample::telemetry::{Heat, Throttling};
use crate::units::{Bytes, Nanos};

/// Name of the simulated engine.
pub const SIM: &str = "sim";

/// Makes engines on one simulated drive, one at a time; the drive keeps what was written.
#[derive(Debug)]
pub struct SimFactory<M> {
    shelf: Shelf<M>,
    said: Option<Said>,
}

/// What the drive last said of its heat, also while an engine has it.
#[derive(Clone, Debug, Default)]
struct Said {
    /// How often it began to slow down, doubled, and one more while it does.
    throttling: Arc<AtomicU64>,
    celsius: Arc<AtomicI64>,
    /// As it was when the drive was made: whether it has a thermometer, and where it warns.
    first: Heat,
}

impl Said {
    fn new(first: Heat) -> Said {
        let said = Said { first, ..Said::default() };
        said.now(first);
        said
    }

    #[inline]
    fn now(&self, heat: Heat) {
        let Throttling { now, events } = heat.throttling;
        self.throttling.store(events << 1 | u64::from(now), Ordering::Relaxed);
        self.celsius.store(heat.temperature_c.unwrap_or_default(), Ordering::Relaxed);
    }

    fn last(&self) -> Heat {
        let word = self.throttling.load(Ordering::Relaxed);
        let throttling = Throttling { now: word & 1 == 1, events: word >> 1 };
        let temperature_c = self.first.temperature_c.map(|_| self.celsius.load(Ordering::Relaxed));
        Heat { throttling, temperature_c, ..self.first }
    }
}

/// Where the drive lies while no engine has it, and when it was put there.
type Shelf<M> = Arc<Mutex<(Option<Box<World<M>>>, Nanos)>>;

impl<M: Model> SimFactory<M> {
    /// A new drive of this model and capacity.
    #[must_use]
    pub fn new(model: M, capacity: Bytes, faults: Faults) -> SimFactory<M> {
        let world = Box::new(World::new(model, capacity.0, faults));
        let said = world.heat().map(Said::new);
        SimFactory { shelf: Arc::new(Mutex::new((Some(world), Nanos(0)))), said }
    }
}

impl<M: Model> EngineFactory for SimFactory<M> {
    type Engine = SimEngine<M>;

    fn name(&self) -> &'static str {
        SIM
    }

    fn now(&self) -> Nanos {
        lock(&self.shelf).1
    }

    fn heat(&self) -> Option<Heat> {
        self.said.as_ref().map(Said::last)
    }

    fn engines(&self, setup: &Setup) -> Result<Vec<SimEngine<M>>, EngineError> {
        let world = lock(&self.shelf).0.take().ok_or(EngineError::InUse)?;
        let depth = setup.workers.saturating_mul(setup.queue_depth);
        let idle = Completion {
            op: Op { slot: 0, kind: OpKind::Trim },
            submitted: Nanos(0),
            completed: Nanos(0),
            result: Ok(0),
            bad_blocks: 0,
        };
        Ok(vec![SimEngine {
            world: Some(world),
            shelf: self.shelf.clone(),
            said: self.said.clone(),
            view: View::new(setup),
            slots: (0..depth).map(|_| (idle, Vec::new())).collect(),
            queue: BinaryHeap::with_capacity(depth as usize),
            submissions: 0,
        }])
    }
}

/// All workers of a phase.
#[derive(Debug)]
pub struct SimEngine<M: Model> {
    /// Only a dropped engine has none.
    world: Option<Box<World<M>>>,
    shelf: Shelf<M>,
    said: Option<Said>,
    view: View,
    /// What becomes of each slot's request, with the bad blocks that it found.
    slots: Vec<(Completion, Vec<BadBlock>)>,
    /// Slots in flight by the moment of completion, then by age.
    queue: BinaryHeap<Reverse<Entry>>,
    submissions: u64,
}

/// When a slot completes, how old it is, and which it is, in one number that sorts. A tuple in memory would be copied
/// in other parts than it was written in, and wait for the drive's tables each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    const SLOT_BITS: u32 = 24;

    fn new(at: Nanos, age: u64, slot: u32) -> Entry {
        Entry(u128::from(at.0) << 64 | u128::from(age << Entry::SLOT_BITS | u64::from(slot)))
    }

    fn at(self) -> Nanos {
        Nanos((self.0 >> 64) as u64)
    }

    fn slot(self) -> usize {
        (self.0 as u64 & ((1 << Entry::SLOT_BITS) - 1)) as usize
    }
}

impl<M: Model> Engine for SimEngine<M> {
    const THREADED: bool = false;

    fn depth(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }

    #[inline]
    fn now(&self) -> Nanos {
        self.world.as_ref().map_or(Nanos(0), |world| world.now())
    }

    #[inline]
    fn submit(&mut self, op: Op, _now: Nanos) {
        let Some(world) = &mut self.world else { return };
        let (completion, bad) = &mut self.slots[op.slot as usize];
        let submitted = world.now();
        let served = world.serve(&mut self.view, op.kind, bad);
        let result = served.result.map_err(errno);
        *completion = Completion { op, submitted, completed: served.at, result, bad_blocks: served.bad_blocks };
        self.queue.push(Reverse(Entry::new(served.at, self.submissions, op.slot)));
        self.submissions += 1;
    }

    #[inline]
    fn reap(&mut self, until: Nanos, batch: &mut Batch) {
        let Some(world) = &mut self.world else { return };
        let first = self.queue.peek().map(|Reverse(entry)| entry.at());
        let Some(first) = first.filter(|first| *first <= until || *first <= world.now()) else {
            world.wait_until(until);
            return tell(self.said.as_ref(), world);
        };
        world.wait_until(first);
        while let Some(Reverse(entry)) = self.queue.peek().copied()
            && entry.at() == first
        {
            self.queue.pop();
            let (completion, bad) = &mut self.slots[entry.slot()];
            batch.completions.push(*completion);
            batch.bad.append(bad);
        }
        tell(self.said.as_ref(), world);
    }
}

/// Keeps what a drive that knows its heat says of it now.
#[inline]
fn tell<M: Model>(said: Option<&Said>, world: &World<M>) {
    if let (Some(said), Some(heat)) = (said, world.heat()) {
        said.now(heat);
    }
}

impl<M: Model> Drop for SimEngine<M> {
    /// Gives the drive back.
    fn drop(&mut self) {
        let now = self.now();
        *lock(&self.shelf) = (self.world.take(), now);
    }
}

fn lock<M>(shelf: &Shelf<M>) -> MutexGuard<'_, (Option<Box<World<M>>>, Nanos)> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a kernel would say.
fn errno(failure: Failure) -> Errno {
    match failure {
        Failure::NotOpen => Errno::BADF,
        Failure::NoFile => Errno::NOENT,
        Failure::NoSpace => Errno::NOSPC,
        Failure::Invalid => Errno::INVAL,
        Failure::Medium => Errno::IO,
        Failure::Gone => Errno::NODEV,
    }
}
