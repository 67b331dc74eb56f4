//! All drives of a host: what each is, what uses it, and whether it may be erased, or why not.
//!
//! Works without root as far as it goes, and says of each drive what could not be read. Opens no drive for writing.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::mounts::Mounts;
use super::sysfs::{self, Host};
use super::uses::Use;
use super::{Block, Drive, Facts, FactsError, Identity, Place, Reservation, block, drive};
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
    /// Which drives beneath are reserved, or may be; and what is registered for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reservations: Vec<Reservation>,
    /// Whether `--erase` would be heard, and `--erase-contents` where something lies on it: a run asks again.
    pub erasable: bool,
    /// Why it would not, in the guard's words.
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
    // The tree writes a `/` inside a name as `!`.
    let path = format!("/dev/{}", sysfs::name(dir).replace('!', "/"));
    let looked = host.is_this().then(|| block::read(PathBuf::from(&path), host));
    let (drive, mut block, not_looked) = match looked {
        Some(Ok(Facts { drive, place: Place::Device(mut block), .. })) => {
            let unread = block.contents.unread.take();
            // A run that names the device is told more.
            let allowed =
                |why| if why == block::NOT_ALLOWED { "what lies on it (ask as root)".to_owned() } else { why };
            (drive, *block, unread.map(allowed))
        }
        other => {
            let block = block::by_the_tree(device, dir, host, mounts);
            (drive::read(device, host, mounts), block, other.and_then(Result::err).map(|why| why.to_string()))
        }
    };
    // A run asks again, and refuses what it may not look at.
    block.contents.unread = None;
    let mut drive = drive?;
    let mut unread = std::mem::take(&mut drive.details.unread);
    unread.extend(not_looked);
    if size.is_none() {
        unread.push("its size".to_owned());
    }
    if drive.transport.as_deref() == Some("dm") && host.dm.is_none() && host.is_this() {
        unread.push("the device mapper's tables (ask as root)".to_owned());
    }
    let mut why_not: Vec<String> = guard::never_erased(Path::new(&path), &block).into_iter().collect();
    if matches!(drive.transport.as_deref(), Some("ram" | "zram")) {
        why_not.push("is memory, not a drive".to_owned());
    }
    let Block { identity, uses, reservations, .. } = block;
    let uses = uses.unwrap_or_default();
    Some(Listed { path, uses, reservations, erasable: why_not.is_empty(), why_not, unread, identity, drive })
}

#[cfg(test)]
#[path = "devices_tests.rs"]
mod tests;
