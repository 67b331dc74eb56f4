//! All drives of a host: what each is, what uses it, and whether it may be erased, or why not.
//!
//! Works without root as far as it goes, and says of each drive what could not be read. Opens no drive for writing.

use std::path::Path;

use serde::Serialize;

use super::mounts::Mounts;
use super::sysfs::{self, Host};
use super::uses::{self, Use};
use super::{Drive, FactsError, drive};

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
    /// Whether nothing that is known forbids to erase it. What only an attempt shows (another process has it open, a
    /// reservation) and what is stored on it are looked at when a run asks for it.
    pub erasable: bool,
    /// Why it may not be erased.
    pub why_not: Vec<String>,
    /// What could not be read, and why.
    pub unread: Vec<String>,
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
    let mut drive = drive::read(device, host, mounts)?;
    let uses = uses::read(device, host, mounts);
    let mut unread = std::mem::take(&mut drive.details.unread);
    if size.is_none() {
        unread.push("its size".to_owned());
    }
    if drive.transport.as_deref() == Some("dm") && host.dm.is_none() && host.is_this() {
        unread.push("the device mapper's tables (ask as root)".to_owned());
    }
    let mut why_not: Vec<String> = uses.iter().flatten().map(ToString::to_string).collect();
    let known = [
        (uses.is_none(), "what uses it is unknown"),
        (drive.details.read_only == Some(true), "the kernel refuses writes to it"),
        (matches!(drive.details.zoned.as_deref(), Some("host-managed" | "host-aware")), "it is zoned"),
        (matches!(drive.transport.as_deref(), Some("ram" | "zram")), "it is memory, not a drive"),
        (
            drive.serial.is_none() && drive.wwid.is_none() && drive.backing_file.is_none(),
            "it says no identity to name it by",
        ),
    ];
    why_not.extend(known.iter().filter(|(so, _)| *so).map(|(_, why)| (*why).to_owned()));
    // The tree writes a `/` inside a name as `!`.
    let path = format!("/dev/{}", drive.name.replace('!', "/"));
    Some(Listed { path, uses: uses.unwrap_or_default(), erasable: why_not.is_empty(), why_not, unread, drive })
}

#[cfg(test)]
#[path = "devices_tests.rs"]
mod tests;
