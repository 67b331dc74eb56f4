//! A profile: a named, versioned set of suites, read from TOML, checked, and fingerprinted.
//!
//! The fingerprint covers what is *measured* (the suites and the version) and not how it is judged:
//! a stored run can be judged again under another tolerance. Knows nothing of the drive it will meet.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::text::{Share, Size, Span};
use crate::units::{Bytes, GIB, KIB, MIB, Nanos, Ppm, ppm_text};

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

/// A finite, non-negative number of a spec sheet, kept as thousandths so that it compares exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number(pub u64);

impl Number {
    /// The number itself.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        use serde::de::Error;
        let value = f64::deserialize(deserializer)?;
        if !(0.0..=1e15).contains(&value) {
            return Err(D::Error::custom(format!("{value} is no limit: a limit is a number from 0 to 10^15")));
        }
        Ok(Number((value * 1e3).round() as u64))
    }
}

impl Serialize for Number {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
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
        let profile: Profile = toml::from_str(text).map_err(|error| ProfileError(explain(text, &error)))?;
        profile.check().map_err(ProfileError)?;
        Ok(profile)
    }

    /// The profile as TOML that parses back to the same profile.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a profile holds only strings, numbers and tables")
    }

    /// What identifies the measurement: 16 hex digits over name, version and suites, keys with
    /// their default value left out, so that a new key does not orphan old baselines.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let suite = |value: Option<serde_json::Value>, default: serde_json::Value| {
            value.map_or(serde_json::Value::Null, |value| without_defaults(value, &default))
        };
        let canonical = serde_json::json!({
            "name": self.name,
            "version": self.version,
            "fill": suite(self.fill.as_ref().map(json), json(&Fill::default())),
            "random_write": suite(self.random_write.as_ref().map(json), json(&RandomWrite::default())),
        });
        let digest = Sha256::digest(canonical.to_string());
        digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    fn check(&self) -> Result<(), String> {
        let name_ok = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(name_ok) {
            return Err(format!(
                "name = {:?}: a profile's name has 1 to 64 lower-case letters, digits and dashes",
                self.name
            ));
        }
        if self.fill.is_none() && self.random_write.is_none() {
            return Err("the profile has no suite: add a [fill] or a [random_write] table".to_owned());
        }
        if self.write_budget.is_some_and(|budget| budget.0.0 == 0) {
            return Err("write_budget is 0: leave it out for no budget".to_owned());
        }
        if let Some(fill) = &self.fill {
            fill.check().map_err(|why| format!("[fill] {why}"))?;
        }
        if let Some(random) = &self.random_write {
            random.check().map_err(|why| format!("[random_write] {why}"))?;
        }
        for (metric, limit) in &self.limits {
            check_limit(metric, limit)?;
        }
        Ok(())
    }
}

impl Fill {
    fn check(&self) -> Result<(), String> {
        check_io(self.block, self.queue_depth, self.workers, self.fsync_every, self.interval)?;
        check_share("left_free", self.left_free)?;
        check_share("compressible", self.compressible)?;
        match (self.segments, self.segment) {
            (None, None) => return Err("needs `segments` (a number) or `segment` (a size)".to_owned()),
            (Some(_), Some(_)) => return Err("has both `segments` and `segment`: keep one".to_owned()),
            (Some(0), None) => return Err("segments is 0: a fill has at least one".to_owned()),
            (Some(n), None) if n > 1_000_000 => return Err(format!("segments = {n}: at most 1000000")),
            (None, Some(segment)) if segment.0 < self.block.0 => {
                return Err("segment is smaller than one block".to_owned());
            }
            _ => {}
        }
        if self.size.is_some_and(|size| size.0 < self.block.0) {
            return Err("size is smaller than one block".to_owned());
        }
        for burst in &self.burst {
            if burst.size.0 < self.block.0 {
                return Err("burst: size is smaller than one block".to_owned());
            }
        }
        Ok(())
    }
}

impl RandomWrite {
    fn check(&self) -> Result<(), String> {
        check_io(self.block, self.queue_depth, self.workers, self.fsync_every, self.interval)?;
        check_block("prefill_block", self.prefill_block)?;
        check_share("compressible", self.compressible)?;
        if self.levels.is_empty() {
            return Err("levels is empty: name at least one, such as \"scratch\" or \"50pct\"".to_owned());
        }
        for (at, level) in self.levels.iter().enumerate() {
            level_share(level)?;
            if self.levels[..at].contains(level) {
                return Err(format!("level \"{level}\" is named twice"));
            }
        }
        if self.scratch.0 < self.prefill_block.0 {
            return Err("scratch is smaller than one prefill_block".to_owned());
        }
        if self.duration.0.0 == 0 {
            return Err("duration is 0".to_owned());
        }
        Ok(())
    }
}

/// The share of the drive that a level's name stands for; none for `scratch`, whose size is given.
///
/// # Errors
/// Says which names a level can have.
pub fn level_share(level: &str) -> Result<Option<Ppm>, String> {
    if level == "scratch" {
        return Ok(None);
    }
    let percent = level.strip_suffix("pct").and_then(|digits| digits.parse::<u32>().ok());
    match percent {
        Some(percent @ 1..=100) => Ok(Some(Ppm(percent * 10_000))),
        _ => Err(format!("level {level:?}: a level is \"scratch\", or \"1pct\" to \"100pct\" of the drive")),
    }
}

/// The largest block, queue depth and number of workers that make sense on one drive.
const MOST_BLOCK: Bytes = Bytes(64 * MIB);
const MOST_DEPTH: u32 = 1024;
const MOST_WORKERS: u32 = 256;
/// All buffers of a phase together.
const MOST_BUFFERS: Bytes = Bytes(4 * GIB);

fn check_io(block: Size, queue_depth: u32, workers: u32, fsync_every: u32, interval: Span) -> Result<(), String> {
    check_block("block", block)?;
    if !(1..=MOST_DEPTH).contains(&queue_depth) {
        return Err(format!("queue_depth = {queue_depth}: from 1 to {MOST_DEPTH}"));
    }
    if !(1..=MOST_WORKERS).contains(&workers) {
        return Err(format!("workers = {workers}: from 1 to {MOST_WORKERS}"));
    }
    if block.0.saturating_mul(u64::from(queue_depth) * u64::from(workers)) > MOST_BUFFERS {
        return Err("block × queue_depth × workers is more than 4 GiB of buffers".to_owned());
    }
    if fsync_every == 0 {
        return Err("fsync_every is 0: use sync = \"none\" for no fsync".to_owned());
    }
    if !(Nanos::from_millis(10)..=Nanos::from_secs(3600)).contains(&interval.0) {
        return Err("interval: from 10ms to 1h".to_owned());
    }
    Ok(())
}

fn check_block(key: &str, block: Size) -> Result<(), String> {
    if block.0.0 == 0 || !block.0.0.is_multiple_of(512) {
        return Err(format!("{key} is not a positive multiple of 512 bytes"));
    }
    if block.0 > MOST_BLOCK {
        return Err(format!("{key} is more than 64MiB"));
    }
    Ok(())
}

fn check_share(key: &str, share: Share) -> Result<(), String> {
    if share.0 >= Ppm(1_000_000) {
        return Err(format!("{key} = \"{}\": less than 100%", ppm_text(share.0)));
    }
    Ok(())
}

fn check_limit(metric: &str, limit: &Limit) -> Result<(), String> {
    let place = format!("[limits] \"{metric}\"");
    if !is_metric_id(metric) {
        return Err(format!("{place}: no metric has this id; ids look like \"fill.floor_mb_s\""));
    }
    match (limit.least, limit.most) {
        (None, None) => Err(format!("{place}: needs `least` or `most`")),
        (Some(least), Some(most)) if least > most => Err(format!("{place}: least is more than most")),
        _ => Ok(()),
    }
}

/// Whether a metric of this id can exist: its suite, a level where the suite has levels, and a name of ours.
fn is_metric_id(id: &str) -> bool {
    const RANDOM: [&str; 7] =
        ["steady_mb_s", "slice_mb_s", "mean_mb_s", "cliff_gb", "p99_us", "p999_us", "stalled_s_per_h"];
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = id.split('.').collect();
    match parts.as_slice() {
        ["fill", name] => {
            FILL_METRICS.contains(name)
                || name.strip_prefix("cliff").and_then(|n| n.strip_suffix("_gb")).is_some_and(number)
                || name.strip_prefix("burst_").and_then(|n| n.strip_suffix("s_gb")).is_some_and(number)
        }
        ["random_write", "fsef_mb_s_per_gb"] => true,
        ["random_write", level, name] => level_share(level).is_ok() && RANDOM.contains(name),
        ["health", name] => !name.is_empty(),
        _ => false,
    }
}

/// The metrics of a fill whose names do not depend on the profile.
pub const FILL_METRICS: [&str; 8] = [
    "fast_mb_s",
    "cliff_gb",
    "floor_mb_s",
    "mean_mb_s",
    "first_10pct_mb_s",
    "last_10pct_mb_s",
    "read_mb_s",
    "verify_errors",
];

fn json<T: Serialize>(value: &T) -> serde_json::Value {
    serde_json::to_value(value).expect("profile tables are plain data")
}

/// `value` without the entries of a table that equal the default's.
fn without_defaults(value: serde_json::Value, default: &serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(map) => {
            map.into_iter().filter(|(key, value)| default.get(key) != Some(value)).collect()
        }
        other => other,
    }
}

/// A parse error for the user: line, key, and the nearest known key where one is unknown.
fn explain(text: &str, error: &toml::de::Error) -> String {
    let place = error.span().and_then(|span| {
        let before = text.get(..span.start)?;
        let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
        Some((line, text.get(span)?.to_owned()))
    });
    let message = error.message().trim_end();
    let Some((line, snippet)) = place else { return message.to_owned() };
    if !message.starts_with("unknown field") {
        let snippet = snippet.lines().next().unwrap_or_default().chars().take(60).collect::<String>();
        return format!(
            "line {line}: {message}{}",
            if snippet.is_empty() { String::new() } else { format!(" (at `{snippet}`)") }
        );
    }
    let key = snippet.trim().trim_matches(['"', '\'']);
    let nearest = known_keys()
        .into_iter()
        .max_by(|a, b| strsim::jaro_winkler(a, key).total_cmp(&strsim::jaro_winkler(b, key)).then_with(|| b.cmp(a)));
    let hint = match nearest {
        Some(near) if near == key => "; that key belongs to another table".to_owned(),
        Some(near) if strsim::jaro_winkler(&near, key) > 0.7 => format!("; did you mean `{near}`?"),
        _ => format!("; {}", message.split_once(", ").map_or("", |(_, rest)| rest)),
    };
    format!("line {line}: unknown key `{key}`{hint}")
}

/// Every key that a profile can have, whatever its table.
fn known_keys() -> Vec<String> {
    let share = Some(Share::default());
    let every_kind = ByKind { throughput: share, capacity: share, tail_latency: share };
    let every = serde_json::json!({
        "profile": json(&Profile {
            name: String::new(),
            version: 0,
            description: String::new(),
            write_budget: Some(Size::default()),
            fill: Some(Fill { size: Some(Size::default()), segments: Some(1), segment: Some(Size::default()),
                burst: vec![Burst { idle: Span::default(), size: Size::default() }], ..Fill::default() }),
            random_write: Some(RandomWrite { least_bytes: Some(Size::default()), most_capacity: Some(Share::default()),
                slice_from: Some(Span::default()), ..RandomWrite::default() }),
            judge: Judge { gates: Some(Vec::new()), tolerance: every_kind.clone(), prior_noise: every_kind },
            limits: BTreeMap::from([("fill.floor_mb_s".to_owned(), Limit { least: Some(Number(0)), most: Some(Number(0)) })]),
        })
    });
    let mut keys = Vec::new();
    collect_keys(&every["profile"], &mut keys);
    keys.retain(|key| !key.contains('.'));
    keys.sort();
    keys.dedup();
    keys
}

fn collect_keys(value: &serde_json::Value, keys: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, inner) in map {
                keys.push(key.clone());
                collect_keys(inner, keys);
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect_keys(item, keys)),
        _ => {}
    }
}
