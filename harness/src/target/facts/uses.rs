//! What uses a block device: mounts, swap, and what is stacked upon it or its partitions.
//!
//! Source: `proc_pid_mountinfo(5)`, `proc_swaps(5)`, Linux `Documentation/ABI/stable/sysfs-block` (`holders`). Sees
//! the mounts of its own namespace only: an exclusive open finds those of others. Opens no device, decides nothing.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::mounts::{self, Mount, Mounts};
use super::sysfs::{self, Host, attribute};
use super::{Device, drive, text};

/// One use of a block device, of a partition of it, or of what is stacked upon these.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Use {
    /// The kernel's name of the device that is used.
    pub device: String,
    /// How.
    #[serde(flatten)]
    pub by: User,
}

/// Who uses it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum User {
    /// A mounted filesystem lies on it.
    Mount {
        /// Where.
        at: String,
        /// Whether that filesystem carries `/`.
        root: bool,
    },
    /// A mounted filesystem of several devices has it as a member, though the mount table names another.
    Member {
        /// The filesystem's type: `btrfs`.
        filesystem: String,
    },
    /// Active swap space.
    Swap,
    /// Another block device is stacked upon it.
    Holder {
        /// That device's kernel name.
        name: String,
        /// What it is: `dm-lvm`, `dm-multipath`, `md-raid1`, `bcache`, `loop` …
        kind: String,
    },
}

/// All uses of `device` itself, of its partitions, and of all that is stacked upon them, sorted.
///
/// None where the kernel's tree does not have the device: nothing is known of it then, and it counts as used.
pub(super) fn read(device: Device, host: &Host, mounts: &Mounts) -> Option<Vec<Use>> {
    let dir = host.block(device)?;
    let table = Table::read(host, mounts);
    let mut uses = BTreeSet::new();
    table.climb(&dir, &mut BTreeSet::new(), &mut uses);
    Some(uses.into_iter().collect())
}

/// What the host says of all its devices, read once.
struct Table<'a> {
    mounts: &'a Mounts,
    mounted: Vec<(Device, &'a Mount)>,
    members: Vec<Device>,
    swaps: Vec<Device>,
    /// Loop devices right on a block device: the kernel lists these nowhere as holders.
    loops: Vec<(Device, PathBuf)>,
}

impl<'a> Table<'a> {
    fn read(host: &'a Host, mounts: &'a Mounts) -> Table<'a> {
        let lies_on = |mount: &'a Mount| {
            let device = Some(mount.device).filter(|device| !device.is_anonymous());
            device.or_else(|| host.device_of(&mount.source)).map(|device| (device, mount))
        };
        Table {
            mounts,
            mounted: mounts.all().iter().filter_map(lies_on).collect(),
            members: btrfs_members(host),
            swaps: swaps(host),
            loops: loops(host),
        }
    }

    /// From `dir` up: its own uses, then those of its partitions and of its holders.
    fn climb(&self, dir: &Path, seen: &mut BTreeSet<PathBuf>, uses: &mut BTreeSet<Use>) {
        if !seen.insert(dir.to_owned()) {
            return;
        }
        let name = sysfs::name(dir);
        let mut note = |by: User| uses.insert(Use { device: name.clone(), by });
        if let Some(device) = sysfs::number_of(dir) {
            for (_, mount) in self.mounted.iter().filter(|(on, _)| *on == device) {
                let at = text::clean(mount.mount_point.as_os_str().as_encoded_bytes()).unwrap_or_default();
                note(User::Mount { at, root: self.mounts.carries_root(mount) });
            }
            let named = self.mounted.iter().any(|(on, _)| *on == device);
            if !named && self.members.contains(&device) {
                note(User::Member { filesystem: "btrfs".to_owned() });
            }
            if self.swaps.contains(&device) {
                note(User::Swap);
            }
        }
        let above = self.above(dir);
        for holder in &above {
            note(User::Holder { name: sysfs::name(holder), kind: drive::kind(holder) });
        }
        for next in partitions(dir).into_iter().chain(above) {
            self.climb(&next, seen, uses);
        }
    }

    /// The whole devices stacked directly upon `dir`.
    fn above(&self, dir: &Path) -> Vec<PathBuf> {
        let mut above = sysfs::children(&dir.join("holders"));
        let device = sysfs::number_of(dir);
        let upon = self.loops.iter().filter(|(on, _)| Some(*on) == device);
        above.extend(upon.map(|(_, holder)| holder.clone()));
        above
    }
}

/// The partitions of a whole device.
pub(super) fn partitions(dir: &Path) -> Vec<PathBuf> {
    sysfs::children(dir).into_iter().filter(|child| child.join("partition").exists()).collect()
}

/// The devices of all mounted btrfs filesystems.
fn btrfs_members(host: &Host) -> Vec<Device> {
    let filesystems = sysfs::children(&host.sys.join("fs/btrfs"));
    let members = filesystems.iter().flat_map(|filesystem| sysfs::children(&filesystem.join("devices")));
    members.filter_map(|member| sysfs::number_of(&member)).collect()
}

/// `/dev/dm-1\040(deleted) partition 999420 0 -2`: devices in use as swap. A swap file's filesystem is mounted.
fn swaps(host: &Host) -> Vec<Device> {
    let table = fs::read(host.proc.join("swaps")).unwrap_or_default();
    let paths = table.split(|&b| b == b'\n').filter_map(|line| line.split(|b| b.is_ascii_whitespace()).next());
    paths.filter_map(|path| host.device_of(&mounts::path(path))).collect()
}

fn loops(host: &Host) -> Vec<(Device, PathBuf)> {
    let devices = sysfs::children(&host.sys.join("block")).into_iter();
    let upon = |dir: PathBuf| {
        let file = attribute(&dir, "loop/backing_file").filter(|file| file.starts_with("/dev/"))?;
        Some((host.device_of(Path::new(&file))?, dir))
    };
    devices.filter_map(upon).collect()
}

/// `sda1 is mounted at /boot`
impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = &self.device;
        match &self.by {
            User::Mount { at, root: true } => write!(f, "{device} is mounted at {at} and carries the root filesystem"),
            User::Mount { at, root: false } => write!(f, "{device} is mounted at {at}"),
            User::Member { filesystem } => write!(f, "{device} is a member of a mounted {filesystem} filesystem"),
            User::Swap => write!(f, "{device} is in use as swap"),
            User::Holder { name, kind } => write!(f, "{device} is held by {name} ({kind})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::{Tree, device};
    use super::*;

    const DISK: &str = "pci0000:00/ata1/host0/block/sda";

    /// A disk with three partitions: the first plain, the second under LVM, the third half of a mirror.
    fn tree() -> Tree {
        let tree = Tree::new();
        tree.block(DISK, "8:0", &[])
            .block(&format!("{DISK}/sda1"), "8:1", &[("partition", "1")])
            .block(&format!("{DISK}/sda2"), "8:2", &[("partition", "2")])
            .block(&format!("{DISK}/sda3"), "8:3", &[("partition", "3")])
            .block("pci0000:00/ata2/host1/block/sdb", "8:16", &[])
            .block("virtual/block/dm-0", "253:0", &[("dm/name", "vg-root"), ("dm/uuid", "LVM-abc")])
            .block("virtual/block/md0", "9:0", &[("md/level", "raid1")])
            .over("virtual/block/dm-0", &format!("{DISK}/sda2"))
            .over("virtual/block/md0", &format!("{DISK}/sda3"))
            .over("virtual/block/md0", "pci0000:00/ata2/host1/block/sdb");
        tree
    }

    fn check(tree: &Tree, mountinfo: &str, number: &str, expect: &[&str]) {
        let mounts = Mounts::parse(mountinfo.as_bytes());
        let uses = read(device(number), &tree.host(), &mounts).expect("the tree has this device");
        assert_eq!(uses.iter().map(ToString::to_string).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn a_disk_that_nothing_uses_has_no_use() {
        let tree = Tree::new();
        tree.block(DISK, "8:0", &[]).block(&format!("{DISK}/sda1"), "8:1", &[("partition", "1")]);
        check(&tree, "1 0 8:16 / / rw - ext4 /dev/sdb rw\n", "8:0", &[]);
    }

    #[test]
    fn what_lies_on_a_partition_or_is_stacked_upon_it_uses_the_disk() {
        let mounts = "1 0 253:0 / / rw - ext4 /dev/mapper/vg-root rw\n2 1 8:1 / /boot rw - ext4 /dev/sda1 rw\n";
        let held = ["sda2 is held by dm-0 (dm-lvm)", "sda3 is held by md0 (md-raid1)"];
        let mounted = ["dm-0 is mounted at / and carries the root filesystem", "sda1 is mounted at /boot"];
        check(&tree(), mounts, "8:0", &[&mounted[..], &held[..]].concat());
        check(&tree(), mounts, "8:2", &[mounted[0], held[0]]);
        check(&tree(), mounts, "8:16", &["sdb is held by md0 (md-raid1)"]);
        check(&tree(), mounts, "9:0", &[]);
    }

    #[test]
    fn each_place_of_a_bind_mount_is_named() {
        let mounts = "1 0 8:1 / /data rw - ext4 /dev/sda1 rw\n2 1 8:1 /sub /srv/my\\040x rw - ext4 /dev/sda1 rw\n";
        check(&tree(), mounts, "8:1", &["sda1 is mounted at /data", "sda1 is mounted at /srv/my x"]);
    }

    #[test]
    fn swap_on_a_partition_or_a_mapped_device_is_a_use() {
        let tree = tree();
        tree.file("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/sda1  partition\t9\t0\t-2\n/dev/dm-0 x\n");
        let swap = ["dm-0 is in use as swap", "sda1 is in use as swap"];
        check(&tree, "", "8:1", &swap[1..]);
        check(&tree, "", "253:0", &swap[..1]);
    }

    #[test]
    fn a_second_member_of_a_filesystem_is_used_though_no_mount_names_it() {
        let tree = tree();
        tree.link("sys/fs/btrfs/1234/devices/sda1", &format!("sys/devices/{DISK}/sda1"))
            .link("sys/fs/btrfs/1234/devices/sda2", &format!("sys/devices/{DISK}/sda2"));
        let mounts = "1 0 0:44 / /data rw - btrfs /dev/sda1 rw\n";
        check(&tree, mounts, "8:1", &["sda1 is mounted at /data"]);
        let member = ["sda2 is a member of a mounted btrfs filesystem", "sda2 is held by dm-0 (dm-lvm)"];
        check(&tree, mounts, "8:2", &member);
    }

    #[test]
    fn a_loop_device_upon_a_disk_holds_it_though_the_kernel_lists_no_holder() {
        let tree = Tree::new();
        tree.block(DISK, "8:0", &[]).block("virtual/block/loop3", "7:3", &[("loop/backing_file", "/dev/sda")]);
        check(
            &tree,
            "1 0 7:3 / /x rw - ext4 /dev/loop3 rw\n",
            "8:0",
            &["loop3 is mounted at /x", "sda is held by loop3 (loop)"],
        );
    }

    #[test]
    fn a_stack_that_goes_in_circles_ends() {
        let tree = Tree::new();
        tree.block("virtual/block/dm-0", "253:0", &[]).block("virtual/block/dm-1", "253:1", &[]);
        tree.over("virtual/block/dm-0", "virtual/block/dm-1").over("virtual/block/dm-1", "virtual/block/dm-0");
        check(&tree, "", "253:0", &["dm-0 is held by dm-1 (dm)", "dm-1 is held by dm-0 (dm)"]);
    }

    #[test]
    fn of_a_device_that_is_not_in_the_tree_nothing_is_known() {
        assert_eq!(read(device("1:1"), &Tree::new().host(), &Mounts::default()), None);
    }
}
