//! A profile: a named, versioned set of suites, read from TOML.
//!
//! Only the types and the reading; what makes a profile valid is in `check`, what identifies it in
//! `fingerprint`. Knows nothing of the drive it will meet.

mod check;
mod explain;
mod fingerprint;
mod number;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, GIB, KIB, MIB, Nanos, Ppm, Share, Size, Span};
pub use check::{FILL_METRICS, level_share};
pub use number::Number;

/// A profile as read and checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name: lower-case letters, digits and dashes; part of a run folder's name.
    pub name: String,
    /// Raised by hand when the meaning of the profile changes.
    pub version: u32,
    /// One line for people.
    #[serde(default)]
    pub description: String,
    /// Run by the shell before the first phase: empties caches of the storage that no purge reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<String>,
    /// The most that a run may write in all, prefill and bursts included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_budget: Option<Size>,
    /// Fill suite, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<Fill>,
    /// Random-write suite, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_write: Option<RandomWrite>,
    /// How a metric is judged.
    #[serde(default)]
    pub judge: Judge,
    /// Least and most allowed values by metric, from a spec sheet; judged without any baseline.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, Limit>,
}

/// The fill suite: equal segments written one after the other, read back, and bursts on the full range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fill {
    /// Size of the whole fill; without it, all that is free but `left_free`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// Share of the free space left unwritten when `size` is not given.
    pub left_free: Share,
    /// Number of equal segments; not together with `segment`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<u32>,
    /// Size of a segment; not together with `segments`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<Size>,
    /// Bytes of one I/O.
    pub block: Size,
    /// I/Os in flight a worker.
    pub queue_depth: u32,
    /// Workers, each with `queue_depth` I/Os in flight.
    pub workers: u32,
    /// When the drive is asked to make data durable, besides the end of each segment.
    pub sync: Sync,
    /// With `sync = "fsync"`: after this many writes of a worker.
    pub fsync_every: u32,
    /// What the blocks hold.
    pub data: Data,
    /// With `data = "compressible"`: the share of each block that is zeros.
    pub compressible: Share,
    /// Discard what is unused before the fill: what earlier runs left behind would otherwise move the cliff.
    pub purge: bool,
    /// Read everything back and check it.
    pub verify: bool,
    /// Sampling step.
    pub interval: Span,
    /// Rest between the fill and what follows it.
    pub settle: Span,
    /// Bursts on the full range, in order, each after its idle time.
    pub burst: Vec<Burst>,
}

/// One burst on the full range: idle, then overwrite `size` from the start of the range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Rest before the burst.
    pub idle: Span,
    /// Bytes to overwrite.
    pub size: Size,
}

/// The random-write suite: at each level, purge, prefill, then uniform random overwrites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomWrite {
    /// Levels by name: `"25pct"` of the drive's addressable bytes, or `"scratch"` (then `scratch` is its size).
    pub levels: Vec<String>,
    /// Size of the range of the level `"scratch"`.
    pub scratch: Size,
    /// Bytes of one I/O.
    pub block: Size,
    /// I/Os in flight a worker.
    pub queue_depth: u32,
    /// Workers, each with `queue_depth` I/Os in flight.
    pub workers: u32,
    /// When the drive is asked to make data durable, besides the end of the level.
    pub sync: Sync,
    /// With `sync = "fsync"`: after this many writes of a worker.
    pub fsync_every: u32,
    /// What the blocks hold.
    pub data: Data,
    /// With `data = "compressible"`: the share of each block that is zeros.
    pub compressible: Share,
    /// Bytes of one I/O of the prefill.
    pub prefill_block: Size,
    /// A level lasts at least this long …
    pub duration: Span,
    /// … and at least until this many bytes are written; without it, until they could have reached
    /// the cliff and gone once around the range after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_bytes: Option<Size>,
    /// A level ends at the latest when this multiple of the drive's capacity is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_capacity: Option<Share>,
    /// Whether a level may end before that.
    #[serde(skip_serializing_if = "Stop::is_planned")]
    pub stop: Stop,
    /// Sampling step.
    pub interval: Span,
    /// Whether what the run may use is discarded before each level.
    pub purge: bool,
    /// Rest after the purge.
    pub settle: Span,
    /// Rest after the prefill.
    pub idle: Span,
    /// Start of the slice whose mean is `slice_mb_s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice_from: Option<Span>,
}

/// When a level of random writes ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stop {
    /// When its duration has passed and its bytes are written.
    #[default]
    Planned,
    /// As soon as an observer would claim that it is steady, and as planned at the latest.
    Steady,
}

impl Stop {
    /// Whether it is the default, which profiles leave out.
    fn is_planned(&self) -> bool {
        *self == Stop::Planned
    }
}

/// When the drive is asked to make data durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sync {
    /// Only at the end of segments and phases.
    #[default]
    None,
    /// With every write (`O_DSYNC`).
    Dsync,
    /// After every `fsync_every` writes.
    Fsync,
}

/// What the blocks hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Data {
    /// Bytes that no controller can shrink.
    #[default]
    Incompressible,
    /// A stated share of zeros in each block.
    Compressible,
    /// Zeros throughout; verification is then weak.
    Zeros,
}

/// How metrics are judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Judge {
    /// Loss that is still accepted, by kind of metric.
    #[serde(skip_serializing_if = "ByKind::is_empty")]
    pub tolerance: ByKind,
    /// Run-to-run coefficient of variation that is assumed until a drive's own runs tell, by kind of metric.
    #[serde(skip_serializing_if = "ByKind::is_empty")]
    pub prior_noise: ByKind,
    /// Coefficient of variation from unit to unit of one model, by kind of metric; unknown unless stated.
    #[serde(skip_serializing_if = "ByKind::is_empty")]
    pub unit_spread: ByKind,
    /// Metrics that gate, in place of the default ones; `*` stands for any part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gates: Option<Vec<String>>,
}

/// A share by kind of metric; what is absent has the gate's own default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ByKind {
    /// MB/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Share>,
    /// GB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Share>,
    /// Percentiles of latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_latency: Option<Share>,
}

impl ByKind {
    fn is_empty(&self) -> bool {
        *self == ByKind::default()
    }
}

/// Least and most allowed value of a metric, in the metric's own unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Smaller values break the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<Number>,
    /// Larger values break the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<Number>,
}

impl Default for Fill {
    fn default() -> Fill {
        Fill {
            size: None,
            left_free: Share(Ppm(100_000)),
            segments: None,
            segment: None,
            block: Size(Bytes(MIB)),
            queue_depth: 1,
            workers: 1,
            sync: Sync::None,
            fsync_every: 1,
            data: Data::Incompressible,
            compressible: Share(Ppm(500_000)),
            purge: true,
            verify: true,
            interval: Span(Nanos::from_secs(1)),
            settle: Span(Nanos(0)),
            burst: Vec::new(),
        }
    }
}

impl Default for RandomWrite {
    fn default() -> RandomWrite {
        RandomWrite {
            levels: vec!["scratch".to_owned()],
            scratch: Size(Bytes(GIB)),
            block: Size(Bytes(4 * KIB)),
            queue_depth: 32,
            workers: 1,
            sync: Sync::None,
            fsync_every: 1,
            data: Data::Incompressible,
            compressible: Share(Ppm(500_000)),
            prefill_block: Size(Bytes(MIB)),
            duration: Span(Nanos::from_secs(3600)),
            least_bytes: None,
            most_capacity: None,
            stop: Stop::Planned,
            interval: Span(Nanos::from_secs(1)),
            purge: true,
            settle: Span(Nanos(0)),
            idle: Span(Nanos(0)),
            slice_from: None,
        }
    }
}

/// Why a profile is not usable. The text is for the user and names line and key where it can.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ProfileError(String);

impl ProfileError {
    /// No profile of that name.
    pub(super) fn unknown(why: String) -> ProfileError {
        ProfileError(why)
    }
}

impl Profile {
    /// Reads and checks a profile.
    ///
    /// # Errors
    /// Names the line and the key, and for an unknown key the nearest known one.
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        let profile: Profile = toml::from_str(text).map_err(|error| ProfileError(explain::explain(text, &error)))?;
        profile.check().map_err(ProfileError)?;
        Ok(profile)
    }

    /// The profile as TOML that parses back to the same profile.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a profile holds only strings, numbers and tables")
    }
}
