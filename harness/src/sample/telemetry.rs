//! What a drive and its host say of themselves while a run goes on: heat, errors, what else is at work.
//!
//! Source of each figure: the module that reads it. What is unknown is absent, never zero.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Nanos};

/// One reading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Telemetry {
    /// When, from the start of the run.
    pub at_ns: Nanos,
    /// The hottest sensor of the drive, in °C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<i64>,
    /// The drive's own warning temperature, in °C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning_c: Option<i64>,
    /// Whether the drive slows itself down for heat, and how often it began to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttling: Option<Throttling>,
    /// The link as trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Bytes that all of the drive was asked to move since the host started, by anybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive_moved: Option<Bytes>,
    /// A resync, check or rebuild that uses the drive: `md0 resync`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<String>,
    /// Processor time of this process since the reading before, in thousandths of one processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_permille: Option<u64>,
    /// Processor time that the hypervisor gave to others, in thousandths of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_permille: Option<u64>,
    /// Bytes that hosts have written in the drive's life, as the drive counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_written: Option<Bytes>,
    /// Bytes that the drive has written to its own medium.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_written: Option<Bytes>,
    /// Counters of errors, which only rise; of `critical_warning` the bits that are set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
}

/// Slowing down for heat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttling {
    /// At this moment.
    pub now: bool,
    /// How often it has begun to, ever.
    pub events: u64,
}

/// Why a reading is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A sample is complete: one is given where one is due.
    Sample,
    /// Between phases: one is always given, of what costs the drive nothing.
    Border,
    /// The run is over: all counters are read once more.
    End,
}

/// How warm a drive is, by its own word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heat {
    /// Whether it slows itself down.
    pub throttling: Throttling,
    /// °C; none where it has no thermometer.
    pub temperature_c: Option<i64>,
    /// °C from which on it warns.
    pub warning_c: Option<i64>,
}

impl Telemetry {
    /// Whether the drive slowed itself down at some moment between `earlier` and this reading.
    #[must_use]
    pub fn throttled_since(&self, earlier: &Telemetry) -> bool {
        let (Some(before), Some(after)) = (earlier.throttling, self.throttling) else { return false };
        before.now || after.now || after.events > before.events
    }

    /// Whether the drive is as hot as it warns of.
    #[must_use]
    pub fn too_hot(&self) -> Option<(i64, i64)> {
        self.temperature_c.zip(self.warning_c).filter(|(now, warning)| now >= warning)
    }
}
