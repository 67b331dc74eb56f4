//! What surrounds a measurement and may explain a difference: kernel, driver, firmware, settings.
//!
//! Only the types; `target/facts.rs` reads them. An unknown entry is absent, never empty or zero.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Facts of host, drive and settings under stable names, such as `kernel` or `drive.firmware`.
///
/// The names are a contract: baselines and reports depend on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Environment(pub BTreeMap<String, String>);

impl Environment {
    /// Notes a fact; an unknown or blank one is left out.
    pub fn note(&mut self, name: &str, value: Option<impl Into<String>>) {
        if let Some(value) = value {
            let value: String = value.into();
            let value = value.trim();
            if !value.is_empty() {
                self.0.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    /// The fact of that name, if known.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}
