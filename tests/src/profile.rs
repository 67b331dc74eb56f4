//! Small profiles of the tests' own.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A fill as TOML: `suite` are the keys of its `[fill]` table.
#[must_use]
pub fn fill(suite: &str) -> String {
    format!("name = \"rig\"\nversion = 1\n\n[fill]\n{suite}\n")
}

/// Random writes as TOML: `suite` are the keys of its `[random_write]` table.
#[must_use]
pub fn random_write(suite: &str) -> String {
    format!("name = \"rig\"\nversion = 1\n\n[random_write]\n{suite}\n")
}

/// A fill and random writes after it.
#[must_use]
pub fn both(suite: &str, random: &str) -> String {
    format!("{}\n[random_write]\n{random}\n", fill(suite))
}

/// Writes a profile into a folder.
///
/// # Errors
/// The file could not be written.
pub fn file(folder: &Path, text: &str) -> Result<PathBuf> {
    let path = folder.join("rig.toml");
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}
