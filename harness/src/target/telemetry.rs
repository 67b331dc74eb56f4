//! The backing device's own counters: whether what was submitted reached the drive, and nothing else did.
//!
//! Source: Linux `Documentation/block/stat.rst`. Judges no ratio.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::facts::Device;
use crate::units::Bytes;

/// Bytes that a block device was asked to write and to read since the host started, discards not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Bytes written.
    pub written: Bytes,
    /// Bytes read.
    pub read: Bytes,
}

impl DeviceCounters {
    /// The counters of a disk or partition; none where there is no such device, or it does not count.
    #[must_use]
    pub fn read(device: Device) -> Option<DeviceCounters> {
        DeviceCounters::from_tree(Path::new("/sys"), device)
    }

    /// The sum over the devices that carry a filesystem ([`Filesystem::carriers`](super::Filesystem::carriers)); none
    /// where there are none, or one does not answer.
    #[must_use]
    pub fn sum(devices: &[Device]) -> Option<DeviceCounters> {
        let all: Vec<DeviceCounters> =
            devices.iter().map(|&device| DeviceCounters::read(device)).collect::<Option<_>>()?;
        let sum = DeviceCounters {
            written: all.iter().map(|one| one.written).sum(),
            read: all.iter().map(|one| one.read).sum(),
        };
        (!all.is_empty()).then_some(sum)
    }

    /// What was added since `earlier`; zero where a counter went back.
    #[must_use]
    pub fn since(self, earlier: DeviceCounters) -> DeviceCounters {
        DeviceCounters {
            written: self.written.saturating_sub(earlier.written),
            read: self.read.saturating_sub(earlier.read),
        }
    }

    fn from_tree(sys: &Path, device: Device) -> Option<DeviceCounters> {
        let stat = fs::read_to_string(sys.join("dev/block").join(device.to_string()).join("stat")).ok()?;
        parse(&stat)
    }
}

/// Reads: count, merges, sectors, ms; writes: the same; a sector is 512 bytes whatever the device's blocks are.
fn parse(stat: &str) -> Option<DeviceCounters> {
    let fields: Vec<u64> = stat.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let sectors = |index: usize| fields.get(index).map(|count| Bytes(count.saturating_mul(512)));
    Some(DeviceCounters { read: sectors(2)?, written: sectors(6)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stat: &str, expect: Option<(u64, u64)>) {
        let got = parse(stat).map(|counters| (counters.written.0, counters.read.0));
        assert_eq!(got, expect, "{stat}");
    }

    #[test]
    fn sectors_of_512_bytes_become_bytes() {
        check("  10 2 100 5 20 3 400 9 0 14 14 7 0 8 1 0 0\n", Some((204_800, 51_200)));
        check("10 2 100 5 20 3 400", Some((204_800, 51_200)));
        check("10 2 100", None);
        check("", None);
        check("10 2 x 5 20 3 400", None);
    }

    #[test]
    fn a_counter_that_went_back_is_no_negative_number() {
        let counters = |written, read| DeviceCounters { written: Bytes(written), read: Bytes(read) };
        assert_eq!(counters(50, 10).since(counters(20, 15)), counters(30, 0));
    }

    #[test]
    fn a_device_that_is_not_there_has_no_counters() {
        assert_eq!(DeviceCounters::read(Device { major: 0, minor: 4095 }), None);
        assert_eq!(DeviceCounters::sum(&[]), None);
    }
}
