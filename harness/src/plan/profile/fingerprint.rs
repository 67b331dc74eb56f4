//! What identifies a measurement: a hash over the profile's suites.
//!
//! Covers what is *measured* (name, version, suites) and not how it is judged, so that a stored run can be
//! judged again under another tolerance.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{Fill, Profile, RandomWrite};

impl Profile {
    /// What identifies the measurement: 16 hex digits over name, version, reset command and suites, keys with
    /// their default value left out, so that a new key does not orphan old baselines.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let suite = |value: Option<serde_json::Value>, default: serde_json::Value| {
            value.map_or(serde_json::Value::Null, |value| without_defaults(value, &default))
        };
        let mut canonical = serde_json::json!({
            "name": self.name,
            "version": self.version,
            "fill": suite(self.fill.as_ref().map(json), json(&Fill::default())),
            "random_write": suite(self.random_write.as_ref().map(json), json(&RandomWrite::default())),
        });
        if let Some(reset) = &self.reset {
            canonical["reset"] = serde_json::json!(reset);
        }
        let digest = Sha256::digest(canonical.to_string());
        digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

fn json<T: Serialize>(value: &T) -> serde_json::Value {
    serde_json::to_value(value).expect("profile tables are plain data")
}

/// `value` without the entries of a table that equal the default's.
fn without_defaults(value: serde_json::Value, default: &serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(map) => {
            map.into_iter().filter(|(key, value)| default.get(key) != Some(value)).collect()
        }
        other => other,
    }
}
