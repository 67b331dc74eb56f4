//! A simulated drive as a target: `sim:NAME`, or `sim:FILE.toml`, with changes and faults behind a question mark.
//!
//! The drive lives in this process and as long as it: nothing is held against others, and nothing has to be removed.
//! Everything about it is decided by its text and the run's number among its repetitions, so that the same command
//! gives the same figures, and `--repeat` other ones each time; `seed=` gives another sequence of runs.

use std::path::{Path, PathBuf};

use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::{Held, Site};
use crate::engine::sim::contents::UNIT;
use crate::engine::sim::drive::{Drive, DriveError};
use crate::engine::sim::faults::{FaultError, Faults, Planted};
use crate::engine::sim::model::DriveModel;
use crate::engine::simulated::SimFactory;
use crate::target::open::{OpenError, Purpose};
use crate::target::{self, Armed, Device, Facts, FactsError, Place, Simulated};
use crate::units::Bytes;

/// What a simulated drive's name begins with.
pub const PREFIX: &str = "sim:";

/// A simulated drive with its faults.
#[derive(Clone, Debug, PartialEq)]
pub struct SimTarget {
    text: String,
    drive: Drive,
    faults: Faults,
}

/// Why there is no such target.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// No drive.
    #[error("the target sim:{text}: {source}")]
    Drive {
        /// What was named.
        text: String,
        /// What is wrong with it.
        source: DriveError,
    },
    /// No fault.
    #[error("the target sim:{text}: {source}")]
    Fault {
        /// What was named.
        text: String,
        /// What is wrong with it.
        source: FaultError,
    },
}

impl SimTarget {
    /// The drive that stands behind `sim:`, such as `intel-320?unit=7&fault=corrupt@5GB`; `fault=` may stand there
    /// several times, all else is the drive's.
    ///
    /// # Errors
    /// There is no such drive, change or fault.
    pub fn parse(text: &str) -> Result<SimTarget, TargetError> {
        let (name, changes) = text.split_once('?').unwrap_or((text, ""));
        // A run may be resumed from elsewhere.
        let name = std::fs::canonicalize(name).ok().filter(|_| is_file(name));
        let name = name.as_deref().and_then(Path::to_str).unwrap_or(text.split('?').next().unwrap_or_default());
        let (faults, changes): (Vec<&str>, Vec<&str>) =
            changes.split('&').filter(|part| !part.is_empty()).partition(|part| part.starts_with("fault="));
        let with = |parts: &[&str]| {
            if parts.is_empty() { name.to_owned() } else { format!("{name}?{}", parts.join("&")) }
        };
        let drive = Drive::parse(&with(&changes), |path| std::fs::read_to_string(path).map_err(|e| e.to_string()));
        let drive = drive.map_err(|source| TargetError::Drive { text: text.to_owned(), source })?;
        let parse = |faults: &mut dyn Iterator<Item = &str>| {
            let parsed = faults.map(str::parse).collect::<Result<Vec<Planted>, _>>();
            parsed.map_err(|source| TargetError::Fault { text: text.to_owned(), source })
        };
        let faults = parse(&mut faults.iter().flat_map(|part| part["fault=".len()..].split(',')))?;
        let own = parse(&mut drive.faults.iter().map(String::as_str))?;
        let planted: Vec<String> = faults.iter().map(|fault| format!("fault={fault}")).collect();
        let all: Vec<&str> = changes.into_iter().chain(planted.iter().map(String::as_str)).collect();
        Ok(SimTarget { text: with(&all), drive, faults: Faults(own.into_iter().chain(faults).collect()) })
    }

    /// What stands behind `sim:`.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A new drive of this kind, in the state in which it left the factory.
    #[must_use]
    pub fn engines(&self, run_seed: u64) -> SimFactory<DriveModel> {
        SimFactory::new(self.drive.model(run_seed), self.drive.capacity, self.faults.clone())
    }
}

/// Whether a name is a file's.
fn is_file(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|extension| extension == "toml")
}

impl Site for SimTarget {
    type Held = NothingHeld;

    fn facts(&self) -> Result<Facts, FactsError> {
        let drive = &self.drive;
        let known = Simulated {
            scale: drive.scale,
            fitted: drive.fitted,
            source: drive.source.clone(),
            faults: self.faults.0.iter().map(ToString::to_string).collect(),
            digest: hex(&Sha256::digest(format!("{drive:?}")), 16),
            capacity: drive.capacity,
        };
        let drive = target::Drive {
            name: drive.name.clone(),
            device: Device { major: 0, minor: 0 },
            model: Some(drive.model.clone()),
            serial: Some(drive.serial.clone()),
            firmware: Some(drive.firmware.clone()),
            wwid: None,
            transport: Some("sim".to_owned()),
            driver: None,
            driver_version: None,
            link: None,
            size: Some(drive.capacity),
            logical_block: Some(Bytes(UNIT)),
            physical_block: Some(Bytes(UNIT)),
            rotational: None,
            removable: None,
            scheduler: None,
            write_cache: None,
            backing_file: None,
            stack: Vec::new(),
            details: target::Details::default(),
        };
        let path = PathBuf::from(format!("{PREFIX}{}", self.text));
        Ok(Facts { path, drive: Some(drive), place: Place::Simulated(known) })
    }

    fn open(&self, _armed: &Armed, _run: &str, _purpose: Purpose) -> Result<NothingHeld, OpenError> {
        Ok(NothingHeld)
    }

    /// The same for the same drive and number: neither the day nor the folder of a run changes its figures.
    fn seed(&self, _run: &str, earlier: usize) -> u64 {
        let digest = Sha256::digest(format!("{}\n{earlier}", self.text));
        digest.iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte))
    }
}

fn hex(bytes: &[u8], digits: usize) -> String {
    bytes.iter().take(digits / 2).map(|byte| format!("{byte:02x}")).collect()
}

/// What a run holds of a simulated drive: it is this process' own and goes with it.
#[derive(Debug)]
pub struct NothingHeld;

impl Held for NothingHeld {
    fn alignment(&self) -> Bytes {
        Bytes(UNIT)
    }

    fn name(&self) -> &str {
        "the simulated drive"
    }

    fn remove(&self) -> Result<Bytes, Errno> {
        Ok(Bytes(0))
    }

    fn remove_last(&self) -> Result<bool, Errno> {
        Ok(false)
    }

    fn trim(&self) -> Result<(), Errno> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_from_changes_and_the_text_is_whole() {
        let sim = SimTarget::parse("intel-320?fault=corrupt@5GB,gone@60s&unit=7&fault=wraps@64GiB").unwrap();
        assert_eq!(sim.faults.0.len(), 3);
        assert_eq!(sim.drive, SimTarget::parse("intel-320?unit=7").unwrap().drive);
        assert_eq!(SimTarget::parse(sim.text()).unwrap(), sim);
    }

    #[test]
    fn the_seed_follows_from_the_text_and_the_number() {
        let seed = |text: &str, number| SimTarget::parse(text).unwrap().seed("any", number);
        assert_eq!(seed("intel-320", 0), seed("intel-320", 0));
        assert_ne!(seed("intel-320", 0), seed("intel-320", 1));
        assert_ne!(seed("intel-320", 0), seed("intel-320?seed=2", 0));
    }

    #[test]
    fn an_unknown_drive_or_fault_is_an_error_with_the_known_ones() {
        let check = |text: &str, words: &str| {
            let why = SimTarget::parse(text).unwrap_err().to_string();
            assert!(why.contains(words) && why.contains(&format!("sim:{text}")), "{why}");
        };
        check("intel-302", "intel-320");
        check("intel-320?fault=currupt@5GB", "corrupt");
    }
}
