//! The target of a run as the user names it, and what every kind of target offers to a session.
//!
//! Each kind has a file of its own, which says how its facts are gathered, how it is held while a run lasts, and which
//! engines work on it. The rest of `session` knows no kinds.

pub mod device;
pub mod folder;
pub mod sim;

use std::fmt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

pub use device::DeviceTarget;
pub use folder::FolderTarget;
pub use sim::{SimTarget, TargetError};

use crate::target::open::{OpenError, Purpose};
use crate::target::purge::{Purge, Witness};
use crate::target::{Armed, Facts, FactsError};
use crate::units::Bytes;

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Files in a folder.
    Folder(FolderTarget),
    /// A block device.
    Device(DeviceTarget),
    /// A simulated drive.
    Simulated(Box<SimTarget>),
}

/// A kind of target.
pub trait Site {
    /// What a run holds of it.
    type Held: Held;

    /// What is known of it; writes nothing.
    ///
    /// # Errors
    /// Nothing can be known.
    fn facts(&self) -> Result<Facts, FactsError>;

    /// Opens it for run `run`, and holds it as long as what is given lives.
    ///
    /// # Errors
    /// It cannot be opened, is held by another run, or lacks what the purpose needs.
    fn open(&self, armed: &Armed, run: &str, purpose: Purpose) -> Result<Self::Held, OpenError>;

    /// The seed of a run with this id that is one of several: how many went before it.
    fn seed(&self, run: &str, earlier: usize) -> u64;
}

/// An opened target.
pub trait Held {
    /// Offsets and lengths of I/O are multiples of it.
    fn alignment(&self) -> Bytes;

    /// What runs that died here had left, removed by this one: run id and bytes.
    fn removed(&self) -> &[(String, Bytes)] {
        &[]
    }

    /// What the run has on the target, for a sentence: its scratch folder's name.
    fn name(&self) -> &str;

    /// What the drive is to be ordered before the run, if anything.
    fn purge(&self) -> Option<&Purge> {
        None
    }

    /// Who looks at the target around its purges, if it can be looked at.
    fn witness(&self) -> Option<&Witness> {
        None
    }

    /// Whether the target is still the one that the guard saw.
    ///
    /// # Errors
    /// The kernel's error.
    fn is_still(&self, _facts: &Facts) -> Result<bool, Errno> {
        Ok(true)
    }

    /// Removes what the run has on the target; gives the bytes freed.
    ///
    /// # Errors
    /// The kernel's error.
    fn remove(&self) -> Result<Bytes, Errno>;

    /// Removes one of the run's files, and says whether there was one.
    ///
    /// # Errors
    /// The kernel's error.
    fn remove_last(&self) -> Result<bool, Errno>;

    /// Tells the drive which space is unused.
    ///
    /// # Errors
    /// The kernel's error.
    fn trim(&self) -> Result<(), Errno>;
}

impl Target {
    /// What the user named: `sim:` and a drive, a block device, else a folder.
    ///
    /// # Errors
    /// There is no such simulated drive, or its overrides or faults are wrong.
    pub fn parse(named: &Path) -> Result<Target, TargetError> {
        match named.to_str().and_then(|text| text.strip_prefix(sim::PREFIX)) {
            Some(drive) => Ok(Target::Simulated(Box::new(SimTarget::parse(drive)?))),
            None if is_block_device(named) => Ok(Target::Device(DeviceTarget(named.to_owned()))),
            None => Ok(Target::from(named.to_owned())),
        }
    }

    /// The target of a run that was cut: of the same kind as then, whatever has that name by now.
    ///
    /// # Errors
    /// As [`Target::parse`].
    pub fn of_run(facts: &Facts) -> Result<Target, TargetError> {
        if facts.block().is_some() {
            return Ok(Target::Device(DeviceTarget(facts.path.clone())));
        }
        Target::parse(&facts.path)
    }

    /// What is known of it; writes nothing.
    ///
    /// # Errors
    /// Nothing can be known.
    pub fn facts(&self) -> Result<Facts, FactsError> {
        match self {
            Target::Folder(folder) => folder.facts(),
            Target::Device(device) => device.facts(),
            Target::Simulated(sim) => sim.facts(),
        }
    }

    /// The name of its kind in reports and baselines.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Target::Folder(_) => "folder",
            Target::Device(_) => "device",
            Target::Simulated(_) => "sim",
        }
    }
}

/// Symbolic links followed: `/dev/disk/by-id/…` names a device as well.
fn is_block_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.file_type().is_block_device())
}

impl From<PathBuf> for Target {
    /// That folder, whatever its name.
    fn from(folder: PathBuf) -> Target {
        Target::Folder(FolderTarget(folder))
    }
}

impl From<SimTarget> for Target {
    fn from(sim: SimTarget) -> Target {
        Target::Simulated(Box::new(sim))
    }
}

/// As the user named it.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Folder(FolderTarget(path)) | Target::Device(DeviceTarget(path)) => write!(f, "{}", path.display()),
            Target::Simulated(sim) => write!(f, "{}{}", sim::PREFIX, sim.text()),
        }
    }
}
