//! Drives by name: a stand-in of one constant rate for all, until the models are there.

use super::{Model, Request};
use crate::units::{Bytes, GIB, Nanos};

/// A drive that can be simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    /// Its short name.
    pub name: String,
    /// The product's name.
    pub model: String,
    /// Its firmware.
    pub firmware: String,
    /// Its serial number, from `unit`.
    pub serial: String,
    /// Addressable bytes, scaled.
    pub capacity: Bytes,
    /// Capacity and rates are divided by it.
    pub scale: u32,
    /// Its rate over used space is an input.
    pub fitted: bool,
    /// Where its figures are from.
    pub source: String,
    /// Decides what varies.
    pub seed: u64,
    rate: f64,
}

/// Why there is no such drive.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DriveError(String);

impl Drive {
    /// Parses a name with its overrides.
    ///
    /// # Errors
    /// There is no such drive or override.
    pub fn parse(text: &str, _read_file: impl Fn(&str) -> Result<String, String>) -> Result<Drive, DriveError> {
        let (name, query) = text.split_once('?').unwrap_or((text, ""));
        if !Drive::names().contains(&name) {
            let known = Drive::names().join(", ");
            return Err(DriveError(format!("there is no drive \"{name}\"; there are {known}")));
        }
        let value = |key: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.filter(|pair| pair.0 == key).map(|pair| pair.1.to_owned()).next_back()
        };
        let number = |key: &str, or: u64| value(key).map_or(Some(or), |text| text.parse().ok());
        let wrong = || DriveError(format!("the overrides \"{query}\" of drive {name} are wrong"));
        let scale = number("scale", 1).filter(|scale| (1..=4096).contains(scale)).ok_or_else(wrong)?;
        let slower =
            value("slower").map_or(Some(0.0), |text| text.strip_suffix('%')?.parse().ok()).ok_or_else(wrong)?;
        Ok(Drive {
            name: name.to_owned(),
            model: format!("stand-in {name}"),
            firmware: value("firmware").unwrap_or_else(|| "FW01".to_owned()),
            serial: format!("SIM{}", number("unit", 1).ok_or_else(wrong)?),
            capacity: Bytes(64 * GIB / scale),
            scale: u32::try_from(scale).unwrap_or(1),
            fitted: true,
            source: "a constant rate".to_owned(),
            seed: number("seed", 1).ok_or_else(wrong)?,
            rate: 500e6 / scale as f64 * (1.0 - slower / 100.0),
        })
    }

    /// The names of the built-in drives.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        vec!["fusion-1tb", "intel-320", "consumer-tlc"]
    }

    /// Its timing in one run.
    #[must_use]
    pub fn model(&self, _run_seed: u64) -> DriveModel {
        DriveModel { rate: self.rate, busy: Nanos(0) }
    }
}

/// The model of any drive.
#[derive(Debug)]
pub struct DriveModel {
    rate: f64,
    busy: Nanos,
}

impl Model for DriveModel {
    fn serve(&mut self, now: Nanos, request: Request) -> Nanos {
        let (Request::Write { len, .. } | Request::Read { len, .. }) = request else { return self.busy.max(now) };
        self.busy = self.busy.max(now).saturating_add(Nanos((f64::from(len) / self.rate * 1e9) as u64));
        self.busy
    }
}
