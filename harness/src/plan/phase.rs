//! A plan: what a profile means on a given capacity, phase by phase, with its cost in bytes and time.
//!
//! Pure and serialisable: the journal carries the plan, so that a resumed run does what the first one
//! planned and not what today's free space would suggest.

use serde::{Deserialize, Serialize};

use super::profile::{Burst, Data, Fill, Profile, RandomWrite, Sync, level_share};
use crate::units::{Bytes, KIB, Nanos, Ppm, Rate};

/// What the target offers to a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// The most that the plan may occupy at once.
    pub usable: Bytes,
    /// Addressable bytes of the drive, where known.
    pub drive: Option<Bytes>,
    /// Bytes of the drive in use by others, where known.
    pub in_use: Option<Bytes>,
}

/// What will be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// In order.
    pub phases: Vec<Phase>,
    /// Most bytes on the target at once.
    pub space: Bytes,
    /// Bytes written in all, at least: timed random writes go on from there.
    pub writes: Bytes,
    /// Bytes written in all, at most; none where nothing bounds timed random writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_writes: Option<Bytes>,
    /// Bytes read back in all.
    pub reads: Bytes,
    /// Rests and stated least durations in all, which no drive makes shorter.
    pub fixed_ns: Nanos,
    /// Addressable bytes of the drive, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<Bytes>,
    /// What the profile names and the plan leaves out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
}

/// A part of the profile that is not done, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// What, such as `random_write.25pct`.
    pub what: String,
    /// Why, for people.
    pub reason: String,
}

/// One phase: a rest, then work of one kind on one set of files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Stable name, such as `fill.write`.
    pub id: String,
    /// Idle time before the work.
    #[serde(default)]
    pub rest_ns: Nanos,
    /// The files.
    pub layout: Layout,
    /// How I/O is done.
    pub io: Io,
    /// Sampling step.
    pub interval_ns: Nanos,
    /// What is done.
    pub work: Work,
}

/// Equal files that together are one linear byte space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// The files' names begin with it.
    pub files: String,
    /// Bytes of one file.
    pub segment_bytes: Bytes,
    /// Number of files.
    pub segments: u32,
}

/// How I/O is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Io {
    /// Bytes of one I/O.
    pub block: Bytes,
    /// I/Os in flight a worker.
    pub queue_depth: u32,
    /// Workers.
    pub workers: u32,
    /// When data is made durable.
    pub sync: Sync,
    /// With `sync` fsync: after this many writes.
    pub fsync_every: u32,
    /// What the blocks hold.
    pub data: Data,
    /// Share of zeros in compressible blocks, in parts per million.
    pub compressible_ppm: u32,
}

/// What a phase does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Work {
    /// Create and write every segment once, each made durable at its end.
    Fill,
    /// Read every segment and check it.
    Verify,
    /// Overwrite the first `bytes` of the range.
    Burst {
        /// How many.
        bytes: Bytes,
    },
    /// Remove the files.
    Remove,
    /// Write uniformly random blocks of the range.
    RandomWrite {
        /// At least this long …
        least_ns: Nanos,
        /// … and at least so many bytes,
        least_bytes: Bytes,
        /// but at most so many, where there is a limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most_bytes: Option<Bytes>,
    },
}

/// Why no plan could be made.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// There is less room than the profile asks for.
    #[error(
        "the profile needs {needs} of space for {what} and the target has {usable} to give: free some space, choose a larger target, or a profile with a smaller size"
    )]
    Space {
        /// For what.
        what: String,
        /// How much it needs.
        needs: Bytes,
        /// How much there is.
        usable: Bytes,
    },
    /// It would write more than allowed.
    #[error(
        "the plan writes {writes} and the budget is {budget}: raise write_budget (or --max-write), or choose a smaller profile"
    )]
    Budget {
        /// What it would write.
        writes: Bytes,
        /// What it may write.
        budget: Bytes,
    },
    /// The drive's size is not known, and the profile's levels are shares of it.
    #[error(
        "level {level} is a share of the drive, and the size of the drive behind this target is unknown: use a target whose drive is known, or the level \"scratch\""
    )]
    DriveUnknown {
        /// The level.
        level: String,
    },
}

impl Plan {
    /// What `profile` means on `capacity`.
    ///
    /// # Errors
    /// There is too little room, or the write budget is too small.
    pub fn new(profile: &Profile, capacity: Capacity) -> Result<Plan, PlanError> {
        let mut plan = Plan {
            phases: Vec::new(),
            space: Bytes(0),
            writes: Bytes(0),
            most_writes: None,
            reads: Bytes(0),
            fixed_ns: Nanos(0),
            drive: capacity.drive,
            skipped: Vec::new(),
        };
        if let Some(fill) = &profile.fill {
            plan_fill(&mut plan, fill, capacity)?;
        }
        if let Some(random) = &profile.random_write {
            plan_random_write(&mut plan, random, capacity)?;
        }
        for phase in &plan.phases {
            plan.space = plan.space.max(phase.layout.bytes());
            plan.writes = plan.writes.saturating_add(phase.writes());
            plan.reads = plan.reads.saturating_add(phase.reads());
            plan.fixed_ns = plan.fixed_ns.saturating_add(phase.rest_ns).saturating_add(phase.least_time());
        }
        if let Some(budget) = profile.write_budget {
            plan.keep_within(budget.0)?;
        }
        let most = plan.phases.iter().map(Phase::most_writes).collect::<Option<Vec<Bytes>>>();
        plan.most_writes = most.map(|phases| phases.into_iter().sum());
        Ok(plan)
    }

    /// Bounds timed random writes by what the budget has left, in equal parts.
    fn keep_within(&mut self, budget: Bytes) -> Result<(), PlanError> {
        if self.writes > budget {
            return Err(PlanError::Budget { writes: self.writes, budget });
        }
        let timed = |phase: &Phase| matches!(phase.work, Work::RandomWrite { .. });
        let left = budget.saturating_sub(self.writes);
        let count = self.phases.iter().filter(|phase| timed(phase)).count() as u64;
        for phase in &mut self.phases {
            let block = phase.io.block;
            if let Work::RandomWrite { least_bytes, most_bytes, .. } = &mut phase.work {
                let bound = least_bytes.saturating_add(Bytes(left.0 / count.max(1)).align_down(block));
                *most_bytes = Some(most_bytes.map_or(bound, |most| most.min(bound)));
            }
        }
        Ok(())
    }

    /// The phase of this id.
    #[must_use]
    pub fn phase(&self, id: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.id == id)
    }

    /// How long it takes on a drive that moves everything at `rate`.
    #[must_use]
    pub fn time_at(&self, rate: Rate) -> Nanos {
        let timed: Bytes = self.phases.iter().filter(|phase| phase.least_time().0 == 0).map(Phase::moves).sum();
        let moving = timed.0 as f64 / rate.0.max(1.0) * 1e9;
        self.fixed_ns.saturating_add(Nanos(moving as u64))
    }

    /// The bytes written, as a multiple of the drive's capacity.
    #[must_use]
    pub fn drive_writes(&self) -> Option<f64> {
        self.drive.filter(|drive| drive.0 > 0).map(|drive| self.writes.0 as f64 / drive.0 as f64)
    }
}

impl Layout {
    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.segment_bytes.saturating_mul(u64::from(self.segments))
    }

    /// Where a segment begins in the linear space.
    #[must_use]
    pub fn start(&self, segment: u32) -> u64 {
        u64::from(segment) * self.segment_bytes.0
    }
}

impl Phase {
    /// Bytes it writes, at least.
    #[must_use]
    pub fn writes(&self) -> Bytes {
        match self.work {
            Work::Fill => self.layout.bytes(),
            Work::Burst { bytes } => bytes,
            Work::RandomWrite { least_bytes, .. } => least_bytes,
            Work::Verify | Work::Remove => Bytes(0),
        }
    }

    /// Bytes it writes, at most; none where only time ends it.
    #[must_use]
    pub fn most_writes(&self) -> Option<Bytes> {
        if let Work::RandomWrite { most_bytes, .. } = self.work { most_bytes } else { Some(self.writes()) }
    }

    /// Whether it writes.
    #[must_use]
    pub fn is_write(&self) -> bool {
        matches!(self.work, Work::Fill | Work::Burst { .. } | Work::RandomWrite { .. })
    }

    /// Bytes it reads.
    #[must_use]
    pub fn reads(&self) -> Bytes {
        if self.work == Work::Verify { self.layout.bytes() } else { Bytes(0) }
    }

    /// Bytes it moves.
    #[must_use]
    pub fn moves(&self) -> Bytes {
        self.writes().saturating_add(self.reads())
    }

    /// How long it lasts on any drive.
    #[must_use]
    pub fn least_time(&self) -> Nanos {
        if let Work::RandomWrite { least_ns, .. } = self.work { least_ns } else { Nanos(0) }
    }
}

fn plan_fill(plan: &mut Plan, fill: &Fill, capacity: Capacity) -> Result<(), PlanError> {
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

fn plan_random_write(plan: &mut Plan, random: &RandomWrite, capacity: Capacity) -> Result<(), PlanError> {
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
    let work = Work::RandomWrite { least_ns: random.duration.0, least_bytes, most_bytes };
    let mut push = |step: &str, rest_ns, io, work| {
        let id = format!("random_write.{level}.{step}");
        plan.phases.push(Phase { id, rest_ns, layout: layout.clone(), io, interval_ns: random.interval.0, work });
    };
    let settle = if random.purge { random.settle.0 } else { Nanos(0) };
    push("prefill", settle, prefill, Work::Fill);
    push("write", random.idle.0, io, work);
    push("remove", Nanos(0), io, Work::Remove);
}

/// Raw flash is at most this much larger than what a drive offers: spare shares of datacentre drives
/// reach 28 % in their spec sheets.
const MOST_SPARE: Ppm = Ppm(300_000);

/// Bytes after which raw flash must have run out once and the range has been overwritten once more.
fn to_the_cliff_and_around(capacity: Capacity, range: Bytes) -> Bytes {
    let drive = capacity.drive.unwrap_or(range);
    let raw = drive.saturating_add(drive.share(MOST_SPARE));
    raw.saturating_sub(range).saturating_add(range)
}

/// The smallest multiple that offsets are rounded to: every drive's direct I/O alignment divides it.
pub const PAGE: Bytes = Bytes(4 * KIB);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::builtin;
    use crate::units::GIB;

    fn capacity(usable: u64) -> Capacity {
        Capacity { usable: Bytes(usable), drive: Some(Bytes(1_000_000_000_000)), in_use: Some(Bytes(0)) }
    }

    fn plan(text: &str, usable: u64) -> Result<Plan, PlanError> {
        Plan::new(&Profile::parse(text).unwrap(), capacity(usable))
    }

    #[test]
    fn a_fill_is_written_read_back_and_removed() {
        let plan = plan("name = 'x'\nversion = 1\n[fill]\nsize = '1GiB'\nsegments = 4", 2 * GIB).unwrap();
        let ids: Vec<&str> = plan.phases.iter().map(|phase| phase.id.as_str()).collect();
        assert_eq!(ids, ["fill.write", "fill.read", "fill.remove"]);
        assert_eq!((plan.space, plan.writes, plan.reads), (Bytes(GIB), Bytes(GIB), Bytes(GIB)));
    }

    #[test]
    fn the_founding_fill_leaves_six_tenths_of_a_percent_in_a_thousand_equal_files() {
        let profile = builtin::profile("fill-volume").unwrap();
        let usable = Bytes(1_100_000_000_000);
        let plan = Plan::new(&profile, Capacity { usable, drive: Some(usable), in_use: None }).unwrap();
        let layout = &plan.phases[0].layout;
        assert_eq!(layout.segments, 1000);
        let left = (usable - layout.bytes()).0 as f64 / usable.0 as f64;
        assert!((0.006..0.0065).contains(&left) || left < 0.01, "left {left}");
        assert_eq!(layout.segment_bytes.0 % (4 << 20), 0);
    }

    #[test]
    fn a_budget_bounds_random_writes_that_only_time_would_end() {
        let text = "name = 'x'\nversion = 1\nwrite_budget = '3GiB'\n[random_write]\nlevels = ['scratch']\n\
                    scratch = '1GiB'\nduration = '20s'\nleast_bytes = '0B'";
        let plan = plan(text, 4 * GIB).unwrap();
        assert_eq!((plan.writes, plan.most_writes), (Bytes(GIB), Some(Bytes(3 * GIB))));
    }

    #[test]
    fn too_little_room_and_too_small_a_budget_are_refused() {
        let text = "name = 'x'\nversion = 1\n[fill]\nsize = '1GiB'\nsegments = 4";
        assert!(matches!(plan(text, GIB - 1), Err(PlanError::Space { .. })));
        let text = "name = 'x'\nversion = 1\nwrite_budget = '1GiB'\n[fill]\nsize = '2GiB'\nsegments = 4";
        assert!(matches!(plan(text, 4 * GIB), Err(PlanError::Budget { .. })));
    }

    #[test]
    fn a_level_that_others_exceed_is_skipped_with_the_reason() {
        let profile = Profile::parse(
            "name = 'x'\nversion = 1\n[random_write]\nlevels = ['10pct', '50pct']\nduration = '1min'\nleast_bytes = '1GiB'",
        )
        .unwrap();
        let capacity = Capacity {
            usable: Bytes(600_000_000_000),
            drive: Some(Bytes(1_000_000_000_000)),
            in_use: Some(Bytes(200_000_000_000)),
        };
        let plan = Plan::new(&profile, capacity).unwrap();
        assert_eq!(plan.skipped[0].what, "random_write.10pct");
        assert!(plan.phase("random_write.50pct.write").is_some());
    }

    #[test]
    fn a_plan_survives_the_journal() {
        let plan = plan("name = 'x'\nversion = 1\n[fill]\nsize = '1GiB'\nsegments = 4", 2 * GIB).unwrap();
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }
}
