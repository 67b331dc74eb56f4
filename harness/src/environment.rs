//! What surrounds a measurement and may explain a difference: kernel, driver, firmware, settings.
//!
//! Only the types; `target/facts` reads them, and `target/preflight` makes the checks. An unknown entry is absent, never
//! empty or zero.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Facts of host, drive and settings under stable names, such as `kernel` or `drive.firmware`.
///
/// The names are a contract: baselines and reports depend on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Environment(pub BTreeMap<String, String>);

/// On hosts with several NUMA nodes: where the run's threads and buffers are, or that they are bound to none.
pub const PLACEMENT: &str = "host.numa";
/// Of a stack with a cache in it: whether a command emptied the cache before the run.
pub const RESET: &str = "stack.reset";

/// Whether something about drive or host makes this a fair moment to measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Stable name: `link`, `write-cache`, `temperature`, `wear`, `busy`, `rebuild`, `power`, `governor`, `limits`,
    /// `numa`, `tiers`, `health`.
    pub name: String,
    /// What came of it.
    pub outcome: Outcome,
    /// What was found, and what to do about it, for people.
    pub message: String,
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// As it should be.
    Pass,
    /// Odd: the figures may suffer.
    Warn,
    /// Nothing that is measured now may be compared.
    NotComparable,
}

impl Outcome {
    /// The word as it stands in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Warn => "warn",
            Outcome::NotComparable => "not comparable",
        }
    }
}

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
