//! What a user's or group's quota leaves, where it binds this process.
//!
//! Project quotas need no reading: statvfs(2) shows their limit as the filesystem's size. Group quotas are read for
//! the group that new files in the folder get. Knows nothing of plans.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::thread::CapabilitySet;

use crate::target::ioctl::{self, Quota, QuotaKind};
use crate::units::Bytes;

/// The least that the quotas of this process' user and of `group` leave on the folder's filesystem.
pub(super) fn left(folder: BorrowedFd<'_>, source: &Path, group: u32) -> Option<Bytes> {
    // Whoever may override resource limits is held by none: quotactl(2), capabilities(7).
    let exempt =
        rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_RESOURCE));
    if exempt {
        return None;
    }
    let user = rustix::process::geteuid().as_raw();
    #[expect(clippy::disallowed_methods, reason = "times of grace are wall-clock times")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let asked = [(QuotaKind::User, user), (QuotaKind::Group, group)];
    asked.iter().filter_map(|(kind, id)| remaining(ioctl::quota(folder, source, *kind, *id)?, now)).min()
}

/// PURE. The hard limit binds always; the soft one where there is no other, or once its time of grace is over.
fn remaining(quota: Quota, now_s: u64) -> Option<Bytes> {
    let over = quota.soft.0 > 0 && quota.used > quota.soft && quota.grace_ends_s.is_some_and(|end| end <= now_s);
    if over {
        return Some(Bytes(0));
    }
    let limit = if quota.hard.0 > 0 { quota.hard } else { quota.soft };
    (limit.0 > 0).then(|| limit.saturating_sub(quota.used))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(used: u64, soft: u64, hard: u64, grace_ends_s: Option<u64>, expect: Option<u64>) {
        let quota = Quota { used: Bytes(used), soft: Bytes(soft), hard: Bytes(hard), grace_ends_s };
        assert_eq!(remaining(quota, 1000), expect.map(Bytes));
    }

    #[test]
    fn the_hard_limit_binds_and_the_soft_one_after_its_grace() {
        check(10, 0, 0, None, None);
        check(10, 0, 100, None, Some(90));
        check(10, 50, 100, None, Some(90));
        check(60, 50, 100, Some(2000), Some(40));
        check(60, 50, 100, Some(900), Some(0));
        check(10, 50, 0, None, Some(40));
        check(200, 0, 100, None, Some(0));
    }
}
