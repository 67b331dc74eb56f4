//! Before a resumed run goes on: do the segments that its journal calls finished read back?
//!
//! Reads a sample and writes nothing. Says what is wrong in words; whether the run goes on is the caller's.

use super::{perform, perform_into};
use crate::engine::{Batch, Engine, EngineFactory, OpKind};
use crate::journal::replay::Replay;
use crate::plan::phase::{Phase, Work};

/// Finished segments that are looked at, at most, spread over all.
const MOST_SEGMENTS: usize = 16;

/// Reads the first and the last block of some finished segments of the files that the run goes on with.
///
/// # Errors
/// Names the first segment that does not read back as this run wrote it.
pub fn check_finished<F: EngineFactory>(so_far: &Replay, factory: &F) -> Result<(), String> {
    let Some((phase, finished)) = still_there(so_far) else { return Ok(()) };
    let mut engines = factory.engines(&super::phases::setup(phase, so_far.header.seed)).map_err(|e| e.to_string())?;
    let Some(engine) = engines.first_mut() else { return Ok(()) };
    let step = finished.len().div_ceil(MOST_SEGMENTS).max(1);
    for &(segment, generation) in finished.iter().step_by(step).chain(finished.last()) {
        check_segment(engine, phase, segment, generation).map_err(|why| {
            format!("segment {segment} of the fill is finished by the journal, but on the drive {why}: this is not what the run wrote, so it cannot go on; start a new run")
        })?;
    }
    Ok(())
}

fn check_segment<E: Engine>(engine: &mut E, phase: &Phase, segment: u32, generation: u32) -> Result<(), String> {
    let in_words = |errno| std::io::Error::from(errno).to_string();
    perform(engine, OpKind::Open { segment, create: false }).map_err(in_words)?;
    let start = phase.layout.start(segment);
    let len = u32::try_from(phase.io.block.0.min(phase.layout.segment_bytes.0)).unwrap_or(u32::MAX);
    let last = start + phase.layout.segment_bytes.0 - u64::from(len);
    for offset in [start, last] {
        let mut batch = Batch::default();
        perform_into(engine, OpKind::Read { offset, len, generation }, &mut batch).map_err(in_words)?;
        if let Some(bad) = batch.bad.first() {
            return Err(format!("the block at byte {} is {}", bad.offset, bad.fault));
        }
    }
    perform(engine, OpKind::Close { segment }).map_err(in_words)
}

/// The fill whose files should still be there as it wrote them, with its finished segments and their stamps'
/// generations: not once a burst has begun to overwrite them or they were removed.
fn still_there(so_far: &Replay) -> Option<(&Phase, Vec<(u32, u32)>)> {
    let later =
        |phase: &&Phase| matches!(phase.work, Work::Burst { .. } | Work::Remove) && so_far.phase(&phase.id).is_some();
    let plan = &so_far.header.plan;
    let fill = plan.phase("fill.write")?;
    if plan.phases.iter().filter(|phase| phase.layout.files == fill.layout.files).any(|phase| later(&phase)) {
        return None;
    }
    Some((fill, so_far.generations().into_iter().collect()))
}
