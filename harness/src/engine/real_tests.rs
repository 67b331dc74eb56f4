//! What the real engines keep beyond the contract of every engine (tests/tests/engine.rs): files, threads, queues.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use super::content::{Content, Pattern};
use super::real::{Concurrency, IO_URING, RealFactory};
use super::{Batch, Clock, Completion, Engine, EngineError, EngineFactory, Op, OpKind, Setup};
use crate::target::space::Scratch;
use crate::units::Nanos;

const BLOCK: u32 = 8192;
const SEGMENT: u64 = 1 << 20;

/// A scratch folder beside the test's own binary: where cargo builds, direct I/O usually works.
fn scratch() -> (tempfile::TempDir, Arc<Scratch>) {
    let beside = std::env::current_exe().unwrap().parent().map(PathBuf::from).unwrap();
    let folder = tempfile::tempdir_in(beside).unwrap();
    let parent = std::fs::File::open(folder.path()).unwrap().into();
    (folder, Arc::new(Scratch::create(parent, "contract").unwrap()))
}

fn setup(queue_depth: u32, workers: u32, pattern: Pattern) -> Setup {
    Setup {
        files: "contract".to_owned(),
        block: BLOCK,
        workers,
        queue_depth,
        dsync: false,
        segment_bytes: SEGMENT,
        content: Content { pattern, seed: 42 },
    }
}

/// With io_uring, where there is one.
fn best(scratch: Arc<Scratch>, clock: Clock) -> RealFactory {
    RealFactory::new(scratch, clock, Concurrency { workers: 2, queue_depth: 8 })
}

/// Checks a claim for each engine that this machine has, on files of its own.
fn check(queue_depth: u32, claim: impl Fn(&mut [<RealFactory as EngineFactory>::Engine])) {
    check_pattern(queue_depth, Pattern::Incompressible, claim);
}

fn check_pattern(queue_depth: u32, pattern: Pattern, claim: impl Fn(&mut [<RealFactory as EngineFactory>::Engine])) {
    for make in [RealFactory::pwrite, best] {
        let (_folder, scratch) = scratch();
        let factory = make(scratch, Clock::starting_at(Nanos(0)));
        let mut engines = factory.engines(&setup(queue_depth, 2, pattern)).unwrap();
        claim(&mut engines);
    }
}

/// Submits and reaps until all is done, with as much in flight as the engine takes.
fn all<E: Engine>(engine: &mut E, kinds: impl IntoIterator<Item = OpKind>) -> Batch {
    let mut free: Vec<u32> = (0..engine.depth()).collect();
    let (mut batch, mut sum) = (Batch::default(), Batch::default());
    let mut kinds = kinds.into_iter().peekable();
    while kinds.peek().is_some() || free.len() < engine.depth() as usize {
        while kinds.peek().is_some()
            && let Some(slot) = free.pop()
        {
            let now = engine.now();
            engine.submit(Op { slot, kind: kinds.next().unwrap() }, now);
        }
        engine.reap(engine.now().saturating_add(Nanos::from_secs(10)), &mut batch);
        free.extend(batch.completions.iter().map(|done| done.op.slot));
        sum.completions.append(&mut batch.completions);
        sum.bad.append(&mut batch.bad);
    }
    sum
}

fn one<E: Engine>(engine: &mut E, kind: OpKind) -> Completion {
    all(engine, [kind]).completions[0]
}

fn writes(generation: u32) -> impl Iterator<Item = OpKind> {
    blocks().map(move |offset| OpKind::Write { offset, len: BLOCK, generation })
}

fn reads(generation: u32) -> impl Iterator<Item = OpKind> {
    blocks().map(move |offset| OpKind::Read { offset, len: BLOCK, generation })
}

/// The blocks of two segments.
fn blocks() -> impl Iterator<Item = u64> {
    (0..2 * SEGMENT).step_by(BLOCK as usize)
}

fn open<E: Engine>(engine: &mut E) {
    for segment in 0..2 {
        assert_eq!(one(engine, OpKind::Open { segment, create: true }).result, Ok(0));
    }
}

#[test]
fn a_buffer_serves_reads_and_writes_in_turn() {
    check(2, |engines| {
        let engine = &mut engines[0];
        open(engine);
        for generation in 0..3 {
            all(engine, writes(generation));
            assert_eq!(all(engine, reads(generation)).bad, []);
        }
    });
}

#[test]
fn closed_files_give_their_space_back() {
    check(8, |engines| {
        open(&mut engines[0]);
        for engine in &mut *engines {
            all(engine, writes(1));
        }
        for engine in &mut *engines {
            for segment in 0..2 {
                one(engine, OpKind::Close { segment });
            }
        }
        one(&mut engines[0], OpKind::Discard { from: 0, to: 2 });
        let removed = std::fs::read_dir("/proc/self/fd").unwrap().flatten().filter(|fd| {
            let path = std::fs::read_link(fd.path()).unwrap_or_default();
            path.to_string_lossy().contains("scratch-contract") && path.to_string_lossy().ends_with("(deleted)")
        });
        assert_eq!(removed.count(), 0);
    });
}

#[test]
fn more_segments_than_a_ring_has_places_for_files() {
    check(4, |engines| {
        let engine = &mut engines[0];
        let segments = 0..70;
        let last = |segment: u32| u64::from(segment + 1) * SEGMENT - u64::from(BLOCK);
        for segment in segments.clone() {
            assert_eq!(one(engine, OpKind::Open { segment, create: true }).result, Ok(0));
        }
        // Neighbours in the table follow each other, so that places change hands with requests queued.
        let order: Vec<u32> = segments.clone().flat_map(|s| [s, (s + 64) % 70]).collect();
        let write = |&segment: &u32| OpKind::Write { offset: last(segment), len: BLOCK, generation: 1 };
        let read = |&segment: &u32| OpKind::Read { offset: last(segment), len: BLOCK, generation: 1 };
        assert!(all(engine, order.iter().map(write)).completions.iter().all(|done| done.result == Ok(BLOCK)));
        assert_eq!(all(engine, order.iter().map(read)).bad, []);
    });
}

#[test]
fn engines_work_side_by_side_and_from_other_threads() {
    check(8, |engines| {
        open(&mut engines[0]);
        for _ in 0..3 {
            thread::scope(|scope| {
                for (number, engine) in engines.iter_mut().enumerate() {
                    scope.spawn(move || {
                        let mine = move |kind: &OpKind| match kind {
                            OpKind::Write { offset, .. } | OpKind::Read { offset, .. } => {
                                offset / u64::from(BLOCK) % 2 == number as u64 % 2
                            }
                            _ => true,
                        };
                        all(engine, writes(1).filter(mine));
                        assert_eq!(all(engine, reads(1).filter(mine)).bad, []);
                    });
                }
            });
        }
    });
}

#[test]
fn an_engine_that_is_dropped_waits_for_what_is_in_flight() {
    for make in [RealFactory::pwrite, best] {
        let (_folder, scratch) = scratch();
        let factory = make(scratch, Clock::starting_at(Nanos(0)));
        let setup = setup(8, 1, Pattern::Incompressible);
        let mut engines = factory.engines(&setup).unwrap();
        open(&mut engines[0]);
        for slot in 0..engines[0].depth() {
            let offset = u64::from(slot) * u64::from(BLOCK);
            let now = engines[0].now();
            engines[0].submit(Op { slot, kind: OpKind::Write { offset, len: BLOCK, generation: 7 } }, now);
        }
        let written = engines[0].depth();
        drop(engines);
        let engine = &mut factory.engines(&setup).unwrap()[0];
        one(engine, OpKind::Open { segment: 0, create: false });
        let reads =
            (0..written).map(|n| OpKind::Read { offset: u64::from(n) * u64::from(BLOCK), len: BLOCK, generation: 7 });
        assert_eq!(all(engine, reads).bad, []);
    }
}

#[test]
fn a_queue_is_kept_by_rings_or_threads_and_never_by_fewer() {
    let (_folder, scratch) = scratch();
    let clock = Clock::starting_at(Nanos(0));
    let in_flight = |factory: &RealFactory, depth, workers| {
        let engines = factory.engines(&setup(depth, workers, Pattern::Zeros))?;
        Ok::<_, EngineError>((engines.len(), engines.iter().map(Engine::depth).sum::<u32>()))
    };
    let plain = RealFactory::pwrite(scratch.clone(), clock);
    assert_eq!(in_flight(&plain, 8, 2).unwrap(), (16, 16));
    assert!(matches!(in_flight(&plain, 1024, 2), Err(EngineError::Threads { .. })));
    let best = best(scratch, clock);
    match (best.name(), best.note()) {
        (IO_URING, None) => {
            assert_eq!(in_flight(&best, 8, 2).unwrap(), (2, 16));
            assert_eq!(in_flight(&best, 1, 2).unwrap(), (2, 2));
        }
        (_, note) => assert!(note.is_some_and(|note| note.starts_with("io_uring cannot be used here"))),
    }
}
