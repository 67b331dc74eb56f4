//! Named drives: what stands behind `sim:`, and what a drive's TOML file says.
//!
//! `NAME` is one of [`Drive::names`], else the path of a file; behind a `?` stand changes, `key=value` with `&` between
//! them, which make "the same drive, but …":
//!
//! | change | meaning | without it |
//! |---|---|---|
//! | `seed=7` | decides, with the run's seed, what varies from run to run | 0 |
//! | `unit=7` | another unit of the same model: its rates and caches differ by `unit_cv`, always in the same way | 1, the unit whose figures the file has |
//! | `cv=1%` | run-to-run coefficient of variation of rates and caches | the file's `cv` |
//! | `firmware=FW02` | what the drive says its firmware is | the file's |
//! | `slower=8%` | all rates that much lower | 0 % |
//! | `slower_floor=12%` | the rates after cliffs that much lower: past the cache, on the disk, of the collector | 0 % |
//! | `scale=4` | capacity and rates divided: the same curve over time with a quarter of the I/Os; blocks stay | the file's `scale`, or 1 |
//!
//! A file has these keys; sizes, times, shares and speeds are text with a unit (`"4GiB"`, `"80us"`, `"5%"`, `"138MB/s"`):
//!
//! ```toml
//! name = "my-drive"         # lower-case letters, digits and dashes
//! product = "ACME TURBO"    # what the drive says it is
//! firmware = "FW01"
//! capacity = "960GB"        # what it offers, before scale
//! scale = 1                 # used where none is asked for
//! fitted = false            # true: its curve is put in, it does not follow from a mechanism
//! cv = "0.5%"               # run to run
//! unit_cv = "1%"            # unit to unit
//! source = "where the figures are from"
//! faults = ["stall@60s+5s"] # planted in it, as sim/faults has them; need not be there
//!
//! [model]
//! latency = "20us"          # overlaps with other I/Os
//! overhead = "0us"          # an I/O; does not overlap
//!
//! [model.medium.plain]      # or flash, pslc, tiered, disk, shingled, fitted: their keys stand in sim/model
//! write = "500MB/s"
//! read = "500MB/s"
//!
//! # These need not be there: [model.credits], [model.thermal], [model.noise].
//! ```
//!
//! Pure: the caller reads files. Knows no engine and no plan.

mod builtin;
#[cfg(test)]
mod calibration;
mod explain;
mod query;
#[cfg(test)]
mod tests;

use std::fmt::Display;

use serde::Deserialize;

use super::model::dice::Dice;
use super::model::{DriveModel, ModelSpec, Setting};
use crate::units::{Bytes, Ppm, Share, Size};

/// What a drive's file says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    product: String,
    firmware: String,
    capacity: Size,
    #[serde(default = "one")]
    scale: u32,
    fitted: bool,
    #[serde(default)]
    cv: Share,
    #[serde(default)]
    unit_cv: Share,
    source: String,
    #[serde(default)]
    faults: Vec<String>,
    model: ModelSpec,
}

fn one() -> u32 {
    1
}

/// A simulated drive: what it says of itself, and what its timing is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    /// Name, as behind `sim:`.
    pub name: String,
    /// Product name.
    pub model: String,
    /// Firmware revision.
    pub firmware: String,
    /// Serial number: one a unit.
    pub serial: String,
    /// What it offers, scaled.
    pub capacity: Bytes,
    /// Divides capacity and rates.
    pub scale: u32,
    /// Whether its curve is put in, and does not follow from a mechanism.
    pub fitted: bool,
    /// Where its figures are from.
    pub source: String,
    /// Faults that its file plants in it, as text.
    pub faults: Vec<String>,
    /// Decides, with the run's, what varies from run to run.
    pub seed: u64,
    /// Which unit of its model.
    pub unit: u32,
    /// Run-to-run coefficient of variation.
    pub cv: Ppm,
    /// Unit-to-unit coefficient of variation.
    pub unit_cv: Ppm,
    /// Share by which all rates are lower.
    pub slower: Ppm,
    /// Share by which rates after cliffs are lower besides.
    pub slower_floor: Ppm,
    spec: ModelSpec,
}

/// Why there is no such drive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriveError {
    /// No built-in drive, and no file.
    #[error(
        "no simulated drive and no file is named {name:?}{hint}: built in are {known}; a file's path ends in .toml"
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest name, if one is near.
        hint: String,
        /// All names.
        known: String,
    },
    /// The file could not be read.
    #[error("reading the simulated drive {path:?} failed: {why}; name a file that exists, or one of {known}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        why: String,
        /// All built-in names.
        known: String,
    },
    /// The file's text is not a drive's.
    #[error("the simulated drive {name:?} is not valid: {why}")]
    Invalid {
        /// Its name or path.
        name: String,
        /// What is wrong, where, and what would do.
        why: String,
    },
    /// A change that is none.
    #[error("changing the simulated drive {name:?} by {change:?} failed: {why}")]
    Change {
        /// Its name or path.
        name: String,
        /// The text of the change.
        change: String,
        /// What is wrong, and what would do.
        why: String,
    },
}

/// Less would be no drive: a few blocks of its flash.
const LEAST_CAPACITY: Bytes = Bytes(64 << 20);

/// More would take more than 200 MB of the machine's memory to know what is in use.
const MOST_CAPACITY: Bytes = Bytes(100_000_000_000_000);

/// Offsets are multiples of this at least.
const SECTOR: Bytes = Bytes(4096);

impl Drive {
    /// The drive that `text`, what stands behind `sim:`, means; `read_file` gives a file's text.
    ///
    /// # Errors
    /// Says what is unknown, with the nearest and the known ones; what of a file is wrong, and where.
    pub fn parse<E: Display>(text: &str, read_file: impl Fn(&str) -> Result<String, E>) -> Result<Drive, DriveError> {
        let (name, changes) = text.split_once('?').unwrap_or((text, ""));
        let mut drive = match builtin::text(name) {
            Some(text) => Drive::from_toml(name, text)?,
            None if name.contains('/') || name.ends_with(".toml") => {
                let known = Drive::names().collect::<Vec<_>>().join(", ");
                let unreadable = |why: E| DriveError::Unreadable { path: name.to_owned(), why: why.to_string(), known };
                Drive::from_toml(name, &read_file(name).map_err(unreadable)?)?
            }
            None => return Err(unknown(name)),
        };
        for change in changes.split('&').filter(|change| !change.is_empty()) {
            let wrong = |why| DriveError::Change { name: name.to_owned(), change: change.to_owned(), why };
            query::apply(&mut drive, change).map_err(wrong)?;
        }
        drive.serial = format!("{}-{:04}", drive.name.to_ascii_uppercase(), drive.unit);
        drive.scaled().map_err(|why| DriveError::Invalid { name: name.to_owned(), why })
    }

    /// The names of the built-in drives.
    pub fn names() -> impl Iterator<Item = &'static str> {
        builtin::DRIVES.iter().map(|(name, _)| *name)
    }

    /// The unscaled drive of a file.
    fn from_toml(name: &str, text: &str) -> Result<Drive, DriveError> {
        let invalid = |why| DriveError::Invalid { name: name.to_owned(), why };
        let file: File = toml::from_str(text).map_err(|why| invalid(explain::explain(text, &why)))?;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if file.name.is_empty() || !file.name.chars().all(plain) {
            return Err(invalid(format!("its name {:?} is not of lower-case letters, digits and dashes", file.name)));
        }
        Ok(Drive {
            name: file.name,
            model: file.product,
            firmware: file.firmware,
            serial: String::new(),
            capacity: file.capacity.0,
            scale: file.scale,
            fitted: file.fitted,
            source: file.source.split_whitespace().collect::<Vec<_>>().join(" "),
            faults: file.faults,
            seed: 0,
            unit: 1,
            cv: file.cv.0,
            unit_cv: file.unit_cv.0,
            slower: Ppm(0),
            slower_floor: Ppm(0),
            spec: file.model,
        })
    }

    /// With its capacity divided by its scale, if its figures make sense then.
    fn scaled(mut self) -> Result<Drive, String> {
        self.capacity = Bytes(self.capacity.0 / u64::from(self.scale.max(1))).align_down(SECTOR);
        if self.scale == 0 || !(LEAST_CAPACITY..=MOST_CAPACITY).contains(&self.capacity) {
            return Err(format!(
                "scale={} leaves {} of capacity; use a scale from 1 on that leaves {LEAST_CAPACITY} to {MOST_CAPACITY}",
                self.scale, self.capacity
            ));
        }
        let setting = Setting { scale: f64::from(self.scale), ..Setting::default() };
        self.spec.check(self.capacity, &setting)?;
        Ok(self)
    }

    /// Its timing, purged, in the run with this seed: the same seeds and unit give the same drive.
    #[must_use]
    pub fn model(&self, run_seed: u64) -> DriveModel {
        DriveModel::new(&self.spec, self.capacity, &self.setting(run_seed))
    }

    /// What its file's figures become in this unit and run: three log-normal factors, for rates before cliffs, rates
    /// after them, and caches.
    fn setting(&self, run_seed: u64) -> Setting {
        // The file has the figures of unit 1; another one's are drawn from its number.
        let unit_cv = if self.unit == 1 { 0.0 } else { self.unit_cv.fraction() };
        let mut unit = Dice::new(u64::from(self.unit), &self.name);
        let mut run = Dice::new(self.seed, "run");
        run = Dice::new(run.bits() ^ run_seed, &self.serial);
        let mut factor = || unit.factor(unit_cv) * run.factor(self.cv.fraction());
        let (fast, floor, room) = (factor(), factor(), factor());
        let speed = 1.0 - self.slower.fraction();
        Setting {
            scale: f64::from(self.scale),
            fast: fast * speed,
            floor: floor * speed * (1.0 - self.slower_floor.fraction()),
            room,
            seed: run.bits(),
        }
    }
}

fn unknown(name: &str) -> DriveError {
    let known: Vec<&str> = Drive::names().collect();
    DriveError::Unknown {
        name: name.to_owned(),
        hint: explain::nearest(name, known.iter().copied())
            .map_or(String::new(), |near| format!("; did you mean {near:?}?")),
        known: known.join(", "),
    }
}
