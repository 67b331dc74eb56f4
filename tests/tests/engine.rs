//! The contract that every engine must keep, real or simulated: one list of claims, run on each.
//!
//! Knows engines only through their trait, so that a new one is held to it by one line in `main`.

use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use harness::engine::content::Pattern;
use harness::engine::real::{Concurrency, IO_URING, RealFactory};
use harness::engine::sim::faults::Faults;
use harness::engine::sim::{Model, Request};
use harness::engine::simulated::SimFactory;
use harness::engine::sync::SyncFactory;
use harness::engine::{BadBlock, Batch, Clock, Completion, Content, Engine, EngineFactory, Op, OpKind, Setup};
use harness::sample::Fault;
use harness::target::space::Scratch;
use harness::units::{Bytes, Nanos};
use libtest_mimic::Trial;
use storage_check_tests::folder;
use storage_check_tests::rig::{self, Need};
use tempfile::TempDir;

const BLOCK: u32 = 64 << 10;
const SEGMENT: u64 = 1 << 20;
/// A queueing engine is one only from two on.
const DEPTH: u32 = 4;
/// The unit of stamps.
const UNIT: u64 = 4096;

fn main() -> ExitCode {
    rig::main(
        contract("pwrite", &[], pwrite)
            .into_iter()
            .chain(contract("io_uring", &[Need::IoUring], io_uring))
            .chain(contract("sim", &[], simulated))
            .collect(),
    )
}

/// An engine's drive, and what makes engines on it.
struct World<F> {
    factory: F,
    _folder: Option<TempDir>,
}

fn pwrite() -> Result<World<SyncFactory>> {
    let (scratch, folder) = scratch()?;
    Ok(World { factory: SyncFactory::new(scratch, Clock::starting_at(Nanos(0))), _folder: Some(folder) })
}

fn io_uring() -> Result<World<RealFactory>> {
    let (scratch, folder) = scratch()?;
    let most = Concurrency { workers: 3, queue_depth: 8 };
    let factory = RealFactory::new(scratch, Clock::starting_at(Nanos(0)), most);
    ensure!(factory.name() == IO_URING, "got {}: {:?}", factory.name(), factory.note());
    Ok(World { factory, _folder: Some(folder) })
}

fn simulated() -> Result<World<SimFactory<Constant>>> {
    let model = Constant { busy: Nanos(0) };
    Ok(World { factory: SimFactory::new(model, Bytes(64 << 20), Faults::default()), _folder: None })
}

/// A drive of 100 MB/s.
struct Constant {
    busy: Nanos,
}

impl Model for Constant {
    fn serve(&mut self, now: Nanos, request: Request) -> Nanos {
        let (Request::Write { len, .. } | Request::Read { len, .. }) = request else { return self.busy.max(now) };
        self.busy = self.busy.max(now).saturating_add(Nanos(u64::from(len) * 10));
        self.busy
    }
}

fn scratch() -> Result<(Arc<Scratch>, TempDir)> {
    let folder = folder::folder()?;
    let parent = OwnedFd::from(std::fs::File::open(folder.path())?);
    Ok((Arc::new(Scratch::create(parent, "contract")?), folder))
}

/// What must hold of an engine, shown on engines of a factory.
type Claim<F> = fn(&F) -> Result<()>;

fn contract<F: EngineFactory + 'static>(name: &str, needs: &[Need], world: fn() -> Result<World<F>>) -> Vec<Trial> {
    let claims: [(&str, Claim<F>); 12] = [
        ("engines keep workers times depth in flight", keeps_the_depth),
        ("each request completes once, in order of time", completes_once),
        ("with nothing in flight, reap waits until its deadline", waits_when_idle),
        ("what was written is read back without a fault", reads_what_was_written),
        ("an older generation is stale, and named at its offset", finds_stale),
        ("another run's blocks are told from ours", finds_other_runs),
        ("what was allocated and never written is zeros", finds_zeros),
        ("creating a segment forgets what was there", creates_anew),
        ("a discarded segment is gone", discards),
        ("flushes succeed where there is something to flush", flushes),
        ("a wrong request is a result, not a panic", refuses),
        ("zeros are checked by the last block of a segment", checks_zeros),
    ];
    claims
        .map(|(claim, check)| {
            rig::trial(format!("{name}: {claim}"), needs, move || {
                let world = world()?;
                check(&world.factory)
            })
        })
        .into()
}

fn setup() -> Setup {
    Setup {
        files: "fill".to_owned(),
        block: BLOCK,
        workers: 1,
        queue_depth: DEPTH,
        dsync: false,
        segment_bytes: SEGMENT,
        content: Content { pattern: Pattern::Incompressible, seed: 7 },
    }
}

/// One engine, one request at a time.
struct One<E> {
    engine: E,
    bad: Vec<BadBlock>,
}

impl<E: Engine> One<E> {
    fn new<F: EngineFactory<Engine = E>>(factory: &F, setup: &Setup) -> Result<One<E>> {
        let engine = factory.engines(setup)?.into_iter().next().context("no engine")?;
        Ok(One { engine, bad: Vec::new() })
    }

    /// Does one request; what was bad of its blocks is in `bad`.
    fn complete(&mut self, kind: OpKind) -> Result<Completion> {
        let op = Op { slot: 0, kind };
        let before = self.engine.now();
        let mut batch = Batch::default();
        let now = self.engine.now();
        self.engine.submit(op, now);
        let limit = before.saturating_add(Nanos::from_secs(10));
        while batch.completions.is_empty() && self.engine.now() < limit {
            self.engine.reap(limit, &mut batch);
        }
        let after = self.engine.now();
        let [done] = batch.completions[..] else { anyhow::bail!("{} completions of {op:?}", batch.completions.len()) };
        ensure!(done.op == op, "{done:?} of {op:?}");
        let times = [before, done.submitted, done.completed, after];
        ensure!(times.is_sorted(), "times go back: {times:?} for {op:?}");
        ensure!(done.bad_blocks as usize >= batch.bad.len(), "{done:?} names {} bad blocks", batch.bad.len());
        self.bad = batch.bad;
        Ok(done)
    }

    /// Does one request that succeeds, and moves what was asked for.
    fn perform(&mut self, kind: OpKind) -> Result<()> {
        let done = self.complete(kind)?;
        let bytes = match kind {
            OpKind::Write { len, .. } | OpKind::Read { len, .. } => len,
            _ => 0,
        };
        ensure!(done.result == Ok(bytes), "{done:?}");
        Ok(())
    }

    fn open(&mut self, segment: u32) -> Result<()> {
        self.perform(OpKind::Open { segment, create: true })
    }

    fn write(&mut self, offset: u64, len: u32, generation: u32) -> Result<()> {
        self.perform(OpKind::Write { offset, len, generation })
    }

    /// Reads a block and expects these faults in it.
    fn read(&mut self, offset: u64, len: u32, generation: u32, faults: &[(u64, Fault)]) -> Result<()> {
        let done = self.complete(OpKind::Read { offset, len, generation })?;
        ensure!(done.result == Ok(len), "{done:?}");
        let found: Vec<_> = self.bad.iter().map(|bad| (bad.offset, bad.fault)).collect();
        ensure!(found == faults && done.bad_blocks as usize == faults.len(), "{found:?} instead of {faults:?}");
        Ok(())
    }

    fn fails(&mut self, kind: OpKind) -> Result<()> {
        let done = self.complete(kind)?;
        ensure!(done.result.is_err(), "{done:?}");
        Ok(())
    }
}

fn every_unit(offset: u64, len: u32, fault: Fault) -> Vec<(u64, Fault)> {
    (0..u64::from(len) / UNIT).map(|unit| (offset + unit * UNIT, fault)).collect()
}

fn keeps_the_depth<F: EngineFactory>(factory: &F) -> Result<()> {
    for (workers, queue_depth) in [(1, 1), (1, 8), (3, 4)] {
        let mut engines = factory.engines(&Setup { workers, queue_depth, ..setup() })?;
        let depth: u32 = engines.iter().map(Engine::depth).sum();
        ensure!(depth == workers * queue_depth, "{depth} instead of {workers} × {queue_depth}");
        ensure!(!factory.name().is_empty(), "an engine without a name");
        // All slots at once, and each comes back.
        for (segment, engine) in (0..).zip(&mut engines) {
            let mut batch = Batch::default();
            let depth = engine.depth();
            let now = engine.now();
            engine.submit(Op { slot: 0, kind: OpKind::Open { segment, create: true } }, now);
            reap_all(engine, &mut batch, 1)?;
            batch.completions.clear();
            for slot in 0..depth {
                let offset = u64::from(segment) * SEGMENT + u64::from(slot) * u64::from(BLOCK);
                let now = engine.now();
                engine.submit(Op { slot, kind: OpKind::Write { offset, len: BLOCK, generation: 0 } }, now);
            }
            reap_all(engine, &mut batch, depth as usize)?;
            let mut slots: Vec<u32> = batch.completions.iter().map(|done| done.op.slot).collect();
            slots.sort_unstable();
            ensure!(slots.iter().copied().eq(0..depth), "slots {slots:?} of {depth}");
            ensure!(batch.completions.iter().all(|done| done.result == Ok(BLOCK)), "{batch:?}");
        }
    }
    Ok(())
}

fn reap_all<E: Engine>(engine: &mut E, batch: &mut Batch, count: usize) -> Result<()> {
    let limit = engine.now().saturating_add(Nanos::from_secs(10));
    while batch.completions.len() < count && engine.now() < limit {
        engine.reap(limit, batch);
    }
    ensure!(batch.completions.len() == count, "{} completions of {count}", batch.completions.len());
    Ok(())
}

fn completes_once<F: EngineFactory>(factory: &F) -> Result<()> {
    let mut one = One::new(factory, &setup())?;
    one.open(0)?;
    let mut last = Nanos(0);
    for step in 0..SEGMENT / u64::from(BLOCK) {
        let done = one.complete(OpKind::Write { offset: step * u64::from(BLOCK), len: BLOCK, generation: 0 })?;
        ensure!(done.submitted >= last, "a request was submitted before the last one completed");
        last = done.completed;
    }
    // Nothing is reaped twice.
    let mut batch = Batch::default();
    let until = one.engine.now().saturating_add(Nanos::from_millis(5));
    one.engine.reap(until, &mut batch);
    ensure!(batch.completions.is_empty(), "{batch:?}");
    Ok(())
}

fn waits_when_idle<F: EngineFactory>(factory: &F) -> Result<()> {
    let mut one = One::new(factory, &setup())?;
    for wait in [Nanos::from_millis(30), Nanos(0)] {
        let until = one.engine.now().saturating_add(wait);
        let mut batch = Batch::default();
        one.engine.reap(until, &mut batch);
        let now = one.engine.now();
        ensure!(batch.completions.is_empty() && now >= until, "at {now:?} instead of {until:?}");
        ensure!(now < until.saturating_add(Nanos::from_millis(500)), "{now:?} is long after {until:?}");
    }
    Ok(())
}

fn reads_what_was_written<F: EngineFactory>(factory: &F) -> Result<()> {
    let mut one = One::new(factory, &setup())?;
    for segment in [0, 3] {
        let start = u64::from(segment) * SEGMENT;
        one.open(segment)?;
        // Blocks of several sizes, as the end of a segment has, each read in parts of another size.
        one.write(start, BLOCK, 2)?;
        one.write(start + u64::from(BLOCK), 8192, 2)?;
        one.write(start + u64::from(BLOCK) + 8192, 4096, 2)?;
        one.perform(OpKind::Flush { segment: Some(segment) })?;
        one.perform(OpKind::Close { segment })?;
        one.perform(OpKind::Open { segment, create: false })?;
        one.read(start, BLOCK, 2, &[])?;
        one.read(start + 4096, 4096, 2, &[])?;
        one.read(start + u64::from(BLOCK), 12288, 2, &[])?;
    }
    Ok(())
}

fn finds_stale<F: EngineFactory>(factory: &F) -> Result<()> {
    let mut one = One::new(factory, &setup())?;
    one.open(1)?;
    one.write(SEGMENT, BLOCK, 4)?;
    one.write(SEGMENT + 8192, 4096, 5)?;
    let mut expected = every_unit(SEGMENT, BLOCK, Fault::Stale);
    expected.remove(2);
    one.read(SEGMENT, BLOCK, 5, &expected)?;
    one.read(SEGMENT, BLOCK, 4, &[(SEGMENT + 8192, Fault::Stale)])
}

fn finds_other_runs<F: EngineFactory>(factory: &F) -> Result<()> {
    let mut one = One::new(factory, &setup())?;
    one.open(0)?;
    one.write(0, BLOCK, 0)?;
    one.perform(OpKind::Flush { segment: Some(0) })?;
    one.perform(OpKind::Close { segment: 0 })?;
    drop(one);
    let other = Content { pattern: Pattern::Incompressible, seed: 8 };
    let mut other = One::new(factory, &Setup { content: other, ..setup() })?;
    other.perform(OpKind::Open { segment: 0, create: false })?;
    other.read(0, BLOCK, 0, &every_unit(0, BLOCK, Fault::OtherRun))
}

fn finds_zeros<F: EngineFactory>(factory: &F) -> Result<()> {
    let mut one = One::new(factory, &setup())?;
    one.open(0)?;
    one.read(0, BLOCK, 0, &every_unit(0, BLOCK, Fault::Zeros))
}

fn creates_anew<F: EngineFactory>(factory: &F) -> Result<()> {
    let mut one = One::new(factory, &setup())?;
    one.open(0)?;
    one.write(0, BLOCK, 0)?;
    one.perform(OpKind::Close { segment: 0 })?;
    one.open(0)?;
    one.read(0, 4096, 0, &[(0, Fault::Zeros)])
}

fn discards<F: EngineFactory>(factory: &F) -> Result<()> {
    let mut one = One::new(factory, &setup())?;
    for segment in 0..3 {
        one.open(segment)?;
        one.perform(OpKind::Close { segment })?;
    }
    one.perform(OpKind::Discard { from: 0, to: 2 })?;
    one.fails(OpKind::Open { segment: 0, create: false })?;
    one.fails(OpKind::Open { segment: 1, create: false })?;
    one.perform(OpKind::Open { segment: 2, create: false })?;
    // What is not there is no error: the range may be larger than what was made.
    one.perform(OpKind::Discard { from: 0, to: 9 })
}

fn flushes<F: EngineFactory>(factory: &F) -> Result<()> {
    let mut one = One::new(factory, &Setup { dsync: true, ..setup() })?;
    one.perform(OpKind::Flush { segment: None })?;
    one.open(0)?;
    one.write(0, BLOCK, 0)?;
    one.perform(OpKind::Flush { segment: Some(0) })?;
    one.perform(OpKind::Flush { segment: None })
}

fn refuses<F: EngineFactory>(factory: &F) -> Result<()> {
    let mut one = One::new(factory, &setup())?;
    one.fails(OpKind::Write { offset: 0, len: BLOCK, generation: 0 })?;
    one.fails(OpKind::Read { offset: 0, len: BLOCK, generation: 0 })?;
    one.fails(OpKind::Open { segment: 5, create: false })?;
    one.fails(OpKind::Flush { segment: Some(5) })?;
    one.open(0)?;
    // Beyond what was opened: no other segment's data, no growth.
    one.fails(OpKind::Read { offset: 1 << 40, len: BLOCK, generation: 0 })?;
    one.fails(OpKind::Write { offset: 1 << 40, len: BLOCK, generation: 0 })?;
    // And it still works.
    one.write(0, BLOCK, 0)?;
    one.perform(OpKind::Close { segment: 0 })?;
    one.fails(OpKind::Write { offset: 0, len: BLOCK, generation: 0 })
}

fn checks_zeros<F: EngineFactory>(factory: &F) -> Result<()> {
    let zeros = Setup { content: Content { pattern: Pattern::Zeros, seed: 7 }, ..setup() };
    let mut one = One::new(factory, &zeros)?;
    one.open(0)?;
    let last = SEGMENT - u64::from(BLOCK);
    one.read(last, BLOCK, 1, &[(SEGMENT - UNIT, Fault::Zeros)])?;
    one.write(last, BLOCK, 1)?;
    one.write(0, BLOCK, 1)?;
    one.read(last, BLOCK, 1, &[])?;
    one.read(0, BLOCK, 1, &[])?;
    one.read(last, BLOCK, 2, &[(SEGMENT - UNIT, Fault::Stale)])
}
