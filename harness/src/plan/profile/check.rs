//! What makes a profile valid beyond its types: ranges, and keys that exclude each other.
//!
//! Texts name the key and say what would do.

use super::{Fill, Limit, Profile, RandomWrite};
use crate::units::{Bytes, GIB, MIB, Nanos, Ppm, Share, Size, Span, ppm_text};

impl Profile {
    /// What the types alone cannot hold.
    pub(super) fn check(&self) -> Result<(), String> {
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
        if self.reset.as_ref().is_some_and(|command| command.trim().is_empty()) {
            return Err("reset is empty: name the command that empties the caches, or leave it out".to_owned());
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
