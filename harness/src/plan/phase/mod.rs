//! A plan: what a profile means on a given capacity, phase by phase, with its cost in bytes and time.
//!
//! Pure and serialisable: the journal carries the plan, so that a resumed run does what the first one
//! planned and not what today's free space would suggest.

mod suites;

use serde::{Deserialize, Serialize};

use super::profile::{Data, Profile, Sync};
use crate::units::{Bytes, Nanos, Rate};
use suites::{plan_fill, plan_random_write};

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
    /// Bytes of the drive in use by others, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_use: Option<Bytes>,
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
    /// Remove the files and discard what is unused.
    Purge,
    /// Write uniformly random blocks of the range.
    RandomWrite {
        /// At least this long …
        least_ns: Nanos,
        /// … and at least so many bytes,
        least_bytes: Bytes,
        /// but at most so many, where there is a limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most_bytes: Option<Bytes>,
        /// Whether somebody who watches the samples may end it before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        watched: bool,
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
            in_use: capacity.in_use,
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
            Work::Verify | Work::Remove | Work::Purge => Bytes(0),
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

#[cfg(test)]
mod tests;
