//! From a journal to one run of a comparison.

use super::report;
use super::suites::used;
use crate::journal::replay::Replay;
use crate::report::compare::{Compared, LevelPoint};

/// A run as it is compared.
#[must_use]
pub fn compared(replay: &Replay) -> Compared {
    let report = report(replay);
    let plan = &replay.header.plan;
    let level = |level: &crate::report::LevelReport| {
        let planned = plan.phase(&format!("random_write.{}.write", level.level))?;
        let used = used(plan, planned);
        Some(LevelPoint {
            level: level.level.clone(),
            used_gb: used.gb(),
            free_gb: plan.drive.map(|drive| drive.saturating_sub(used).gb()),
            steady_mb_s: level.steady.mb_s,
            state: level.steady.state,
        })
    };
    let mut levels: Vec<LevelPoint> = report.random_write.iter().filter_map(level).collect();
    levels.sort_by(|a, b| a.used_gb.total_cmp(&b.used_gb));
    Compared { report, levels }
}
