//! What a purged device shows of it: whether blocks that it was told to forget read as it promises, and how much it counts
//! as in use.
//!
//! Reads only. A device that promises nothing is not sampled: whatever it showed would prove nothing. A promise is of
//! blocks that were deallocated; what a format leaves is "indeterminate" (NVMe Base 2.0, Format NVM, User Data Erase),
//! and so is looked at and never held against the drive.

use std::sync::Arc;

use crate::sample::purge::{PurgeCheck, PurgeGrade, Reads};
use crate::target::admin::Admin;
use crate::target::facts::nvme;
use crate::target::ioctl::nvme::NvmeQuestion;
use crate::target::space::RawDevice;
use crate::units::Bytes;

/// Blocks that are read, one in each of as many equal parts.
const SAMPLES: u64 = 64;

/// Looks at a device before and after its purges.
#[derive(Debug)]
pub struct Witness {
    device: Arc<RawDevice>,
    promise: Option<Reads>,
    /// The namespace's number, where it is an NVMe drive's.
    namespace: Option<u32>,
}

/// What an NVMe drive counts as in use at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InUse {
    bytes: Bytes,
    /// Whether that is a count: a drive that does not count says that everything is in use.
    counted: bool,
}

impl Witness {
    pub(in crate::target) fn new(device: Arc<RawDevice>, promise: Option<Reads>, namespace: Option<u32>) -> Witness {
        Witness { device, promise, namespace }
    }

    /// What the drive counts as in use, as it says.
    #[must_use]
    pub fn in_use(&self) -> Option<InUse> {
        let page = self.device.node().ask(NvmeQuestion::Namespace(self.namespace?)).ok()?;
        let namespace = nvme::namespace(&page)?;
        Some(InUse { bytes: namespace.said_used, counted: namespace.used.is_some() })
    }

    /// Looks at the device after a purge of this grade, before which so much was in use.
    #[must_use]
    pub fn check(&self, grade: PurgeGrade, before: Option<InUse>) -> PurgeCheck {
        let expected = self.promise.map(|promise| self.device.sample(SAMPLES, promise.byte()));
        let promise = self.promise.filter(|_| grade != PurgeGrade::Format);
        judged(promise, &expected.unwrap_or_default(), before, self.in_use())
    }
}

/// Samples in the order of their places: byte on the device, and whether it reads as promised.
fn judged(promise: Option<Reads>, samples: &[(u64, bool)], before: Option<InUse>, after: Option<InUse>) -> PurgeCheck {
    let wrong = || samples.iter().filter(|(_, right)| !right);
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    // One count shows that the drive counts, and then a full drive is no lack of an answer either.
    let counts = [before, after].into_iter().flatten().any(|in_use| in_use.counted);
    let known = |in_use: Option<InUse>| in_use.filter(|_| counts).map(|in_use| in_use.bytes);
    PurgeCheck {
        promise,
        sampled: count(samples.len()),
        wrong: count(wrong().count()),
        first_wrong: wrong().next().map(|(at, _)| *at),
        used_before: known(before),
        used_after: known(after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(bytes: u64, counted: bool) -> Option<InUse> {
        Some(InUse { bytes: Bytes(bytes), counted })
    }

    #[test]
    fn a_block_that_is_not_as_promised_breaks_the_promise() {
        let judged = |samples: &[(u64, bool)]| judged(Some(Reads::Zeros), samples, None, None);
        let whole = judged(&[(0, true), (4096, true)]);
        assert_eq!((whole.sampled, whole.is_broken(), whole.first_wrong), (2, false, None));
        let broken = judged(&[(0, true), (4096, false), (8192, false)]);
        assert_eq!((broken.wrong, broken.is_broken(), broken.first_wrong), (2, true, Some(4096)));
        let unpromised = super::judged(None, &[(0, true), (4096, false)], None, None);
        assert_eq!((unpromised.wrong, unpromised.is_broken()), (1, false));
    }

    #[test]
    fn a_drive_that_does_not_count_is_not_quoted_and_one_that_does_may_have_been_full() {
        let used = |before, after| {
            let check = judged(None, &[], before, after);
            (check.used_before.map(|bytes| bytes.0), check.used_after.map(|bytes| bytes.0))
        };
        assert_eq!(used(says(900, false), says(900, false)), (None, None));
        assert_eq!(used(says(900, false), says(0, true)), (Some(900), Some(0)));
        assert_eq!(used(None, says(5, true)), (None, Some(5)));
    }
}
