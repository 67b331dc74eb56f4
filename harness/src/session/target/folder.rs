//! A folder as a target: files in a scratch folder of our own, on real engines.

use std::path::PathBuf;

use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::{Held, Site};
use crate::session::wall;
use crate::target::open::{OpenError, Opened, Purpose, open};
use crate::target::{Armed, Facts, FactsError};
use crate::units::Bytes;

/// A folder, by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderTarget(pub PathBuf);

impl Site for FolderTarget {
    type Held = Opened;

    fn facts(&self) -> Result<Facts, FactsError> {
        Facts::read(&self.0)
    }

    fn open(&self, armed: &Armed, run: &str, purpose: Purpose) -> Result<Opened, OpenError> {
        open(armed, run, purpose)
    }

    fn seed(&self, run: &str, _earlier: usize) -> u64 {
        unique_seed(run)
    }
}

/// A seed that no other run has: the run's id hashed with the moment and the process.
pub(super) fn unique_seed(run: &str) -> u64 {
    let digest = Sha256::digest(format!("{run} {} {}", wall::nanos(), std::process::id()));
    digest.iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte))
}

impl Held for Opened {
    fn alignment(&self) -> Bytes {
        self.alignment
    }

    fn removed(&self) -> &[(String, Bytes)] {
        &self.removed
    }

    fn name(&self) -> &str {
        self.scratch.name()
    }

    fn remove(&self) -> Result<Bytes, Errno> {
        self.scratch.remove()
    }

    fn remove_last(&self) -> Result<bool, Errno> {
        self.scratch.remove_last()
    }

    fn trim(&self) -> Result<(), Errno> {
        self.scratch.trim().map(|_| ())
    }
}
