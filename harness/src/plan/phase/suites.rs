//! From a profile's suites to phases: sizes, levels, and how long a level must last.

use super::{Capacity, Io, Layout, Phase, Plan, PlanError, Skipped, Work};
use crate::plan::profile::{Burst, Fill, RandomWrite, Stop, Sync, level_share};
use crate::units::{Bytes, Nanos, Ppm};

pub(super) fn plan_fill(plan: &mut Plan, fill: &Fill, capacity: Capacity) -> Result<(), PlanError> {
    let wanted = fill.size.map_or_else(|| capacity.usable - capacity.usable.share(fill.left_free.0), |size| size.0);
    let (segment_bytes, segments) = match (fill.segments, fill.segment) {
        (Some(segments), _) => (Bytes(wanted.0 / u64::from(segments.max(1))).align_down(fill.block.0), segments),
        (None, Some(segment)) => {
            let segment = segment.0.align_down(fill.block.0);
            (segment, u32::try_from(wanted.0 / segment.0.max(1)).unwrap_or(u32::MAX))
        }
        (None, None) => (wanted.align_down(fill.block.0), 1),
    };
    let layout = Layout { files: "fill".to_owned(), segment_bytes, segments };
    let least = fill.block.0.saturating_mul(u64::from(segments.max(1)));
    let too_small = segment_bytes.0 == 0 || segments == 0;
    if too_small || layout.bytes() > capacity.usable {
        let needs = if too_small { least } else { layout.bytes() };
        return Err(PlanError::Space { what: "the fill".to_owned(), needs, usable: capacity.usable });
    }
    let io = Io {
        block: fill.block.0,
        queue_depth: fill.queue_depth,
        workers: fill.workers,
        sync: fill.sync,
        fsync_every: fill.fsync_every,
        data: fill.data,
        compressible_ppm: fill.compressible.0.0,
    };
    let mut push = |id: String, rest_ns, work| {
        plan.phases.push(Phase { id, rest_ns, layout: layout.clone(), io, interval_ns: fill.interval.0, work });
    };
    if fill.purge {
        push("fill.purge".to_owned(), Nanos(0), Work::Purge);
    }
    push("fill.write".to_owned(), Nanos(0), Work::Fill);
    let mut settle = fill.settle.0;
    if fill.verify {
        push("fill.read".to_owned(), std::mem::take(&mut settle), Work::Verify);
    }
    for (at, Burst { idle, size }) in fill.burst.iter().enumerate() {
        let rest = idle.0.saturating_add(std::mem::take(&mut settle));
        let bytes = size.0.align_down(fill.block.0).min(layout.bytes());
        push(format!("fill.burst.{}", at + 1), rest, Work::Burst { bytes });
    }
    push("fill.remove".to_owned(), Nanos(0), Work::Remove);
    Ok(())
}

pub(super) fn plan_random_write(plan: &mut Plan, random: &RandomWrite, capacity: Capacity) -> Result<(), PlanError> {
    for level in &random.levels {
        let Some(range) = level_range(plan, random, capacity, level)? else { continue };
        plan_level(plan, random, capacity, level, range);
    }
    Ok(())
}

/// Bytes of our own that bring the drive to this level; none when others hold more already.
fn level_range(
    plan: &mut Plan,
    random: &RandomWrite,
    capacity: Capacity,
    level: &str,
) -> Result<Option<Bytes>, PlanError> {
    let range = match level_share(level) {
        Ok(Some(share)) => {
            let drive = capacity.drive.ok_or_else(|| PlanError::DriveUnknown { level: level.to_owned() })?;
            let in_use = capacity.in_use.unwrap_or(Bytes(0));
            let wanted = drive.share(share);
            if wanted <= in_use {
                plan.skipped.push(Skipped {
                    what: format!("random_write.{level}"),
                    reason: format!("{in_use} of the drive's {drive} are in use already, which is more than {share}"),
                });
                return Ok(None);
            }
            // A full drive has no room for a filesystem's own needs: its level is all that may be used.
            if share >= Ppm(1_000_000) { (wanted - in_use).min(capacity.usable) } else { wanted - in_use }
        }
        _ => random.scratch.0,
    };
    let range = range.align_down(random.prefill_block.0.max(random.block.0));
    if range.0 == 0 || range > capacity.usable {
        let needs = range.max(random.prefill_block.0);
        return Err(PlanError::Space { what: format!("level {level}"), needs, usable: capacity.usable });
    }
    Ok(Some(range))
}

fn plan_level(plan: &mut Plan, random: &RandomWrite, capacity: Capacity, level: &str, range: Bytes) {
    let files = format!("rw-{}", if level == "scratch" { "scratch" } else { "level" });
    let layout = Layout { files, segment_bytes: range, segments: 1 };
    let io = Io {
        block: random.block.0,
        queue_depth: random.queue_depth,
        workers: random.workers,
        sync: random.sync,
        fsync_every: random.fsync_every,
        data: random.data,
        compressible_ppm: random.compressible.0.0,
    };
    let prefill =
        Io { block: random.prefill_block.0, queue_depth: 1, workers: 1, sync: Sync::None, fsync_every: 1, ..io };
    let most_bytes = random.most_capacity.and_then(|share| Some(capacity.drive?.share(share.0)));
    let least_bytes = random.least_bytes.map_or_else(|| to_the_cliff_and_around(capacity, range), |size| size.0);
    let least_bytes = most_bytes.map_or(least_bytes, |most| least_bytes.min(most));
    let watched = random.stop == Stop::Steady;
    let work = Work::RandomWrite { least_ns: random.duration.0, least_bytes, most_bytes, watched };
    let mut push = |step: &str, rest_ns, io, work| {
        let id = format!("random_write.{level}.{step}");
        plan.phases.push(Phase { id, rest_ns, layout: layout.clone(), io, interval_ns: random.interval.0, work });
    };
    if random.purge {
        push("purge", Nanos(0), io, Work::Purge);
    }
    push("prefill", if random.purge { random.settle.0 } else { Nanos(0) }, prefill, Work::Fill);
    push("write", random.idle.0, io, work);
    push("remove", Nanos(0), io, Work::Remove);
}

/// Raw flash is at most this much larger than what a drive offers: spare shares of datacentre drives reach 28 % in
/// their spec sheets and 46 % where random writes use them up, and the analysis believes in 60 % where it sees no cliff.
const MOST_SPARE: Ppm = Ppm(600_000);

/// Bytes after which raw flash must have run out once and the range has been overwritten once more, and a quarter of it
/// to see whether the rate is steady.
fn to_the_cliff_and_around(capacity: Capacity, range: Bytes) -> Bytes {
    let drive = capacity.drive.unwrap_or(range);
    let raw = drive.saturating_add(drive.share(MOST_SPARE));
    raw.saturating_sub(range).saturating_add(range).saturating_add(Bytes(range.0 / 4))
}
