//! Which processes have a block device open, as `/proc/PID/fd` shows: an exclusive open fails for those alone that
//! opened it exclusively too.
//!
//! Without root only the own user's processes are seen. Opens nothing.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::{Device, text};

/// `dd (process 4711)`, of all processes but this one that have one of the devices open.
pub(super) fn of(devices: &[Device], proc: &Path) -> Vec<String> {
    let own = std::process::id();
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path())));
    let mut openers: Vec<(u32, String)> = processes
        .filter(|(id, dir)| *id != own && has_open(dir, devices))
        .map(|(id, dir)| {
            let name = fs::read(dir.join("comm")).ok().and_then(|name| text::clean(&name));
            (id, format!("{} (process {id})", name.as_deref().unwrap_or("a program")))
        })
        .collect();
    openers.sort();
    openers.into_iter().map(|(_, name)| name).collect()
}

fn has_open(process: &Path, devices: &[Device]) -> bool {
    let files = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    // Follows the link of the kernel's own making: it leads to the open file, whatever its path is by now.
    let mut opened = files.filter_map(|file| fs::metadata(file.path()).ok());
    opened.any(|file| file.file_type().is_block_device() && devices.contains(&Device::from_raw(file.rdev())))
}
