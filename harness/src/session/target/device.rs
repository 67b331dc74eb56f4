//! A whole block device as a target: opened exclusively and once, on real engines, empty again at the end.

use std::path::PathBuf;

use rustix::io::Errno;

use super::folder::unique_seed;
use super::{Held, Site};
use crate::target::open::{OpenError, OpenedDevice, Purpose, open_device};
use crate::target::purge::{Purge, Witness};
use crate::target::{Armed, Facts, FactsError};
use crate::units::Bytes;

/// A block device, by a path that leads to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceTarget(pub PathBuf);

impl Site for DeviceTarget {
    type Held = OpenedDevice;

    fn facts(&self) -> Result<Facts, FactsError> {
        Facts::read_device(&self.0)
    }

    fn open(&self, armed: &Armed, run: &str, purpose: Purpose) -> Result<OpenedDevice, OpenError> {
        open_device(armed, run, purpose)
    }

    fn seed(&self, run: &str, _earlier: usize) -> u64 {
        unique_seed(run)
    }
}

impl Held for OpenedDevice {
    fn alignment(&self) -> Bytes {
        self.alignment
    }

    fn removed(&self) -> &[(String, Bytes)] {
        &self.removed
    }

    fn name(&self) -> &str {
        "the run's data"
    }

    /// Discards what the run wrote, where the device can, and clears what could be taken for a signature: the marker goes
    /// last, so that a removal that is cut short is still recognised. What cannot be discarded stays, and is nobody's.
    fn remove(&self) -> Result<Bytes, Errno> {
        if self.purge.as_ref().is_some_and(|purge| !purge.is_done()) {
            // Nothing on it is the run's.
            return Ok(Bytes(0));
        }
        let freed = match self.device.discard() {
            Ok(()) => Bytes(self.device.capacity()),
            Err(Errno::OPNOTSUPP) => Bytes(0),
            Err(errno) => return Err(errno),
        };
        self.device.clear()?;
        Ok(freed)
    }

    /// A device has no files.
    fn remove_last(&self) -> Result<bool, Errno> {
        Ok(false)
    }

    fn purge(&self) -> Option<&Purge> {
        self.purge.as_ref()
    }

    fn witness(&self) -> Option<&Witness> {
        Some(&self.witness)
    }

    fn is_still(&self, facts: &Facts) -> Result<bool, Errno> {
        facts.block().map_or(Ok(false), |known| OpenedDevice::is_still(self, known))
    }

    fn trim(&self) -> Result<(), Errno> {
        self.device.discard()
    }
}
