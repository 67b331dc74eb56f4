//! Numbers of a spec sheet.

use serde::{Deserialize, Serialize};

/// A finite, non-negative number of a spec sheet, kept as thousandths so that it compares exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number(pub u64);

impl Number {
    /// The number itself.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        use serde::de::Error;
        let value = f64::deserialize(deserializer)?;
        if !(0.0..=1e15).contains(&value) {
            return Err(D::Error::custom(format!("{value} is no limit: a limit is a number from 0 to 10^15")));
        }
        Ok(Number((value * 1e3).round() as u64))
    }
}

impl Serialize for Number {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
}
