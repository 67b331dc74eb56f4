//! Folders of the tests' own, under the workspace's `target/`, removed when dropped.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

/// The workspace's target folder, wherever cargo was told to put it.
#[must_use]
pub fn target_dir() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let workspace = workspace();
    named.map_or_else(|| workspace.join("target"), |named| workspace.join(named))
}

/// The workspace.
#[must_use]
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// A new, empty folder on the disk that the workspace is built on.
///
/// # Errors
/// It could not be made.
pub fn folder() -> Result<TempDir> {
    let parent = target_dir().join("rigs");
    fs::create_dir_all(&parent).with_context(|| format!("making {}", parent.display()))?;
    tempfile::Builder::new().prefix("rig-").tempdir_in(&parent).context("making a folder for a rig")
}

/// The names in a folder, sorted; none where there is no folder.
#[must_use]
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The scratch folders that runs have in a target.
#[must_use]
pub fn scratch_in(target: &Path) -> Vec<PathBuf> {
    let ours = |name: &String| name.starts_with(harness::target::space::SCRATCH_PREFIX);
    names(target).into_iter().filter(ours).map(|name| target.join(name)).collect()
}

/// Bytes that the files of a folder occupy; what vanishes meanwhile counts as nothing.
#[must_use]
pub fn allocated(folder: &Path) -> u64 {
    let paths = names(folder).into_iter().map(|name| folder.join(name));
    paths.filter_map(|path| fs::symlink_metadata(path).ok()).map(|found| found.blocks() * 512).sum()
}
