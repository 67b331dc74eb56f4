//! All drives of a host: what each is, what uses it, and whether it may be erased, or why not.
//!
//! Works without root as far as it goes, and says of each drive what could not be read. Opens no drive for writing.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::mounts::Mounts;
use super::sysfs::{self, Host};
use super::uses::{self, Use};
use super::{Drive, Facts, FactsError, Identity, Place, block, drive, identity};
use crate::target::guard;

/// A whole block device of this host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its node: `/dev/nvme0n1`.
    pub path: String,
    /// What is known of it.
    #[serde(flatten)]
    pub drive: Drive,
    /// What uses it, its partitions or what is stacked upon them.
    pub uses: Vec<Use>,
    /// Whether `--erase` would be heard, and `--erase-contents` where something lies on it: a run asks again.
    pub erasable: bool,
    /// Why it would not, in the guard's words; where the device may not be opened, in the tree's.
    pub why_not: Vec<String>,
    /// What could not be read, and why.
    pub unread: Vec<String>,
    /// The names that `--erase` takes: one that no other device has.
    pub identity: Vec<Identity>,
}

/// All drives of this host, by name.
///
/// # Errors
/// The mount table cannot be read: then nothing can be said to be unused.
pub fn list() -> Result<Vec<Listed>, FactsError> {
    let host = Host::this();
    let mounts = host.mounts().map_err(|source| FactsError::System {
        operation: "reading the mount table",
        path: host.proc.join("self/mountinfo"),
        source,
    })?;
    Ok(on(&host, &mounts))
}

/// All drives of a host.
fn on(host: &Host, mounts: &Mounts) -> Vec<Listed> {
    sysfs::children(&host.sys.join("block")).iter().filter_map(|dir| listed(dir, host, mounts)).collect()
}

/// None for devices that hold nothing: empty slots of loop, zram and card readers.
fn listed(dir: &Path, host: &Host, mounts: &Mounts) -> Option<Listed> {
    let device = sysfs::number_of(dir)?;
    let size = sysfs::number(dir, "size");
    if size == Some(0) || sysfs::flag(dir, "hidden") == Some(true) {
        return None;
    }
    let uses = uses::read(device, host, mounts);
    // The tree writes a `/` inside a name as `!`.
    let path = format!("/dev/{}", sysfs::name(dir).replace('!', "/"));
    // The guard decides, where the device may be looked at; else the tree tells as much as it knows.
    let looked = host.is_this().then(|| block::read(PathBuf::from(&path), host));
    let (mut drive, block, not_looked) = match looked {
        Some(Ok(Facts { drive: Some(drive), place: Place::Device(block), .. })) => (drive, Some(block), None),
        Some(Err(why)) => (drive::ask(device, host, mounts)?, None, Some(not_looked_at(&why))),
        _ => (drive::read(device, host, mounts)?, None, None),
    };
    let mut unread = std::mem::take(&mut drive.details.unread);
    unread.extend(not_looked);
    if size.is_none() {
        unread.push("its size".to_owned());
    }
    if drive.transport.as_deref() == Some("dm") && host.dm.is_none() && host.is_this() {
        unread.push("the device mapper's tables (ask as root)".to_owned());
    }
    let identity = identity::read(device, host, mounts);
    let mut why_not: Vec<String> = match &block {
        Some(block) => guard::never_erased(Path::new(&path), block).into_iter().collect(),
        None => by_the_tree(&drive, uses.as_deref(), &identity),
    };
    if matches!(drive.transport.as_deref(), Some("ram" | "zram")) {
        why_not.push("is memory, not a drive".to_owned());
    }
    let uses = uses.unwrap_or_default();
    Some(Listed { path, uses, erasable: why_not.is_empty(), why_not, unread, identity, drive })
}

/// In a list of what was not read; a run that names the device is told more.
fn not_looked_at(why: &FactsError) -> String {
    match why {
        FactsError::DeviceNotAllowed(_) => "what lies on it (ask as root)".to_owned(),
        why => why.to_string(),
    }
}

/// What forbids to erase a device that could not be opened.
fn by_the_tree(drive: &Drive, uses: Option<&[Use]>, identity: &[Identity]) -> Vec<String> {
    let mut why_not: Vec<String> = uses.iter().copied().flatten().map(ToString::to_string).collect();
    let known = [
        (uses.is_none(), "may be in use: /sys and /proc do not say"),
        (drive.details.read_only == Some(true), "is read-only"),
        (matches!(drive.details.zoned.as_deref(), Some("host-managed" | "host-aware")), "is zoned"),
        (identity.iter().all(|one| !one.shared_with.is_empty()), "has no identity of its own to name it by"),
    ];
    why_not.extend(known.iter().filter(|(so, _)| *so).map(|(_, why)| (*why).to_owned()));
    why_not
}

#[cfg(test)]
#[path = "devices_tests.rs"]
mod tests;
