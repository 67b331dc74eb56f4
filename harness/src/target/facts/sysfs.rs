//! Reads the kernel's device tree: one attribute, one link, one block device at a time.
//!
//! The roots are values, so that tests read recorded trees. Knows no meaning of any attribute.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::mounts::Mounts;
use super::{Device, dm, text};

/// Where a host shows itself.
#[derive(Clone, Debug)]
pub(super) struct Host {
    /// `/sys`, without symbolic links.
    pub(super) sys: PathBuf,
    /// `/proc`.
    pub(super) proc: PathBuf,
    /// The device mapper's tables; none where there is none or we may not read them.
    pub(super) dm: Option<dm::Tables>,
}

impl Host {
    /// This host.
    pub(super) fn this() -> Host {
        let mut host = Host { sys: PathBuf::from("/sys"), proc: PathBuf::from("/proc"), dm: None };
        if host.mapped().next().is_some() {
            host.dm = dmsetup("table").zip(dmsetup("status")).map(|(table, status)| dm::Tables::parse(&table, &status));
        }
        host
    }

    /// Whether this is the host that runs us, and not a recorded one: only then a drive can be asked.
    pub(super) fn is_this(&self) -> bool {
        self.sys == Path::new("/sys")
    }

    /// The mount table of this process.
    pub(super) fn mounts(&self) -> std::io::Result<Mounts> {
        fs::read(self.proc.join("self/mountinfo")).map(|table| Mounts::parse(&table))
    }

    /// The device's folder, without symbolic links: a partition's lies in its disk's.
    pub(super) fn block(&self, device: Device) -> Option<PathBuf> {
        self.sys.join("dev/block").join(device.to_string()).canonicalize().ok()
    }

    /// The device of a `/dev` path: by its name in the tree, else by the node itself.
    pub(super) fn device_of(&self, source: &Path) -> Option<Device> {
        let below = source.strip_prefix("/dev").ok()?;
        let mapped = below.strip_prefix("mapper").ok().and_then(|name| self.mapped_named(name));
        // The tree writes a `/` inside a name as `!`.
        let name = below.to_str()?.replace('/', "!");
        let named = || Some(self.sys.join("class/block").join(name)).filter(|dir| dir.is_dir());
        let node = || {
            use std::os::unix::fs::{FileTypeExt, MetadataExt};
            let meta = fs::metadata(source).ok().filter(|meta| meta.file_type().is_block_device())?;
            Some(Device::from_raw(meta.rdev()))
        };
        mapped.or_else(named).and_then(|dir| number_of(&dir)).or_else(node)
    }

    /// The folders of the device mapper's devices.
    fn mapped(&self) -> impl Iterator<Item = PathBuf> {
        children(&self.sys.join("block")).into_iter().filter(|dir| dir.join("dm").is_dir())
    }

    fn mapped_named(&self, name: &Path) -> Option<PathBuf> {
        self.mapped().find(|dir| attribute(dir, "dm/name").is_some_and(|own| Path::new(&own) == name))
    }
}

/// An attribute's text, cleaned; none where it is missing or blank.
pub(super) fn attribute(dir: &Path, name: &str) -> Option<String> {
    text::clean(&fs::read(dir.join(name)).ok()?)
}

/// An attribute that is a whole number.
pub(super) fn number(dir: &Path, name: &str) -> Option<u64> {
    attribute(dir, name)?.parse().ok()
}

/// An attribute that is 0 or 1.
pub(super) fn flag(dir: &Path, name: &str) -> Option<bool> {
    number(dir, name).map(|value| value != 0)
}

/// The last component of a folder's path.
pub(super) fn name(dir: &Path) -> String {
    dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A block device's number.
pub(super) fn number_of(dir: &Path) -> Option<Device> {
    attribute(dir, "dev")?.parse().ok()
}

/// Entries of a folder without symbolic links, in the order of their names; none where the folder is missing.
pub(super) fn children(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().filter_map(|path| path.canonicalize().ok()).collect()
}

/// The whole disk of a partition, with `true`; of anything else itself.
pub(super) fn whole(dir: &Path) -> (&Path, bool) {
    match dir.parent() {
        Some(disk) if dir.join("partition").exists() => (disk, true),
        _ => (dir, false),
    }
}

/// What `dmsetup` prints; it needs root.
fn dmsetup(verb: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the device mapper's tables have no file")]
    let run = |program: &str| Command::new(program).arg(verb).env("LC_ALL", "C").output().ok();
    // An ordinary user's PATH often lacks the sbin folders.
    let output = ["dmsetup", "/usr/sbin/dmsetup", "/sbin/dmsetup"].into_iter().find_map(run)?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
