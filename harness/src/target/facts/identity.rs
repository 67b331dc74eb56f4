//! The names that tell a block device from every other of the host: what `--erase` may say.
//!
//! A stacked device has the name of its own making (dm, md: UUID; loop: the file behind it), never that of a drive
//! beneath. A name that two devices have tells nothing; which they are is said. Opens nothing but a member of an md array
//! whose kernel does not show its UUID.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::mounts::Mounts;
use super::sysfs::{self, Host, attribute};
use super::{Device, drive};

/// One name of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Such as `eui.0025385b71b0d3c1` or a serial number; one line of clean text.
    pub name: String,
    /// Kernel names of other devices of this host that have the same name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_with: Vec<String>,
}

/// The names of `device`, the most precise first.
pub(super) fn read(device: Device, host: &Host, mounts: &Mounts) -> Vec<Identity> {
    let others: Vec<(String, Vec<String>)> = sysfs::children(&host.sys.join("block"))
        .iter()
        .filter_map(|dir| Some((sysfs::number_of(dir)?, dir)))
        .filter(|(number, _)| *number != device)
        .map(|(number, dir)| (sysfs::name(dir), names(number, host, mounts)))
        .collect();
    let shared = |name: &String| -> Vec<String> {
        others.iter().filter(|(_, names)| names.contains(name)).map(|(other, _)| other.clone()).collect()
    };
    let names = names(device, host, mounts).into_iter();
    names.map(|name| Identity { shared_with: shared(&name), name }).collect()
}

fn names(device: Device, host: &Host, mounts: &Mounts) -> Vec<String> {
    let Some(dir) = host.block(device) else { return Vec::new() };
    let kernel_name = sysfs::name(&dir);
    let mut names: Vec<String> = match () {
        () if kernel_name.starts_with("dm-") => {
            let uuid = attribute(&dir, "dm/uuid");
            let volume = uuid.as_deref().and_then(volume);
            uuid.into_iter().chain(volume).collect()
        }
        () if kernel_name.starts_with("md") => array(&dir).into_iter().flat_map(both_forms).collect(),
        () if kernel_name.starts_with("loop") => attribute(&dir, "loop/backing_file").into_iter().collect(),
        () => {
            let drive = drive::read(device, host, mounts);
            let (wwid, serial) = drive.map(|drive| (drive.wwid, drive.serial)).unwrap_or_default();
            let of_the_namespace = ["uuid", "nguid", "eui"].iter().filter_map(|name| attribute(&dir, name));
            wwid.into_iter().chain(of_the_namespace.filter(|name| is_set(name))).chain(serial).collect()
        }
    };
    names.dedup();
    names
}

/// A drive without an identifier of a kind says zeros.
fn is_set(name: &str) -> bool {
    name.bytes().any(|byte| byte.is_ascii_alphanumeric() && byte != b'0')
}

/// The UUID of a volume of LVM as `lvs -o uuid` writes it. The mapped device's is `LVM-`, the group's UUID and the volume's,
/// and of what belongs to a volume something more (LVM2, `lib/activate/dev_manager.c`).
fn volume(uuid: &str) -> Option<String> {
    const PARTS: [usize; 7] = [6, 4, 4, 4, 4, 4, 6];
    let mut rest = uuid.strip_prefix("LVM-")?.get(32..).filter(|volume| volume.len() == 32)?;
    let mut parts = Vec::new();
    for length in PARTS {
        let (part, after) = rest.split_at_checked(length)?;
        parts.push(part);
        rest = after;
    }
    Some(parts.join("-"))
}

/// An array's UUID as `mdadm --detail` writes it, in four groups, and as the kernel does, in five.
fn both_forms(uuid: String) -> Vec<String> {
    let digits: String = uuid.chars().filter(char::is_ascii_hexdigit).collect();
    if digits.len() != 32 || uuid.chars().any(|c| !c.is_ascii_hexdigit() && !matches!(c, ':' | '-')) {
        return vec![uuid];
    }
    let part = |from: usize, to: usize| &digits[from..to];
    vec![
        [part(0, 8), part(8, 16), part(16, 24), part(24, 32)].join(":"),
        [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-"),
    ]
}

/// An array's UUID: the kernel's word for it, else the superblock of a member (version 1.1 at its start, 1.2 at 4 KiB;
/// Linux `include/uapi/linux/raid/md_p.h`).
fn array(dir: &Path) -> Option<String> {
    if let Some(uuid) = attribute(dir, "md/uuid") {
        return Some(uuid);
    }
    drive::beneath(dir).iter().find_map(|member| {
        let member = File::open(Path::new("/dev").join(sysfs::name(member))).ok()?;
        [4096, 0].iter().find_map(|&at| {
            let mut block = [0; 32];
            member.read_exact_at(&mut block, at).ok()?;
            let uuid = block.strip_prefix(b"\xfc\x4e\x2b\xa9")?.get(12..28)?;
            let part = |part: &[u8]| part.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            Some(uuid.chunks(4).map(part).collect::<Vec<_>>().join(":"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::recorded::{Tree, device};
    use super::*;

    fn check(tree: &Tree, number: &str, expect: &[(&str, &[&str])]) {
        let found = read(device(number), &tree.host(), &Mounts::default());
        let found: Vec<(&str, Vec<&str>)> = found
            .iter()
            .map(|identity| (identity.name.as_str(), identity.shared_with.iter().map(String::as_str).collect()))
            .collect();
        let expect: Vec<(&str, Vec<&str>)> = expect.iter().map(|(name, others)| (*name, others.to_vec())).collect();
        assert_eq!(found, expect, "{number}");
    }

    #[test]
    fn two_namespaces_share_the_serial_and_nothing_else() {
        let tree = Tree::new();
        let namespace = |number: &str, at: &str, wwid: &str| {
            let attributes = [("wwid", wwid), ("eui", "00 00 00 00 00 00 00 00"), ("device/serial", "ABC123")];
            tree.block(&format!("pci0000:00/nvme/nvme0/{at}"), number, &attributes);
        };
        namespace("259:0", "nvme0n1", "uuid.1111");
        namespace("259:1", "nvme0n2", "uuid.2222");
        check(&tree, "259:0", &[("uuid.1111", &[]), ("ABC123", &["nvme0n2"])]);
        check(&tree, "259:1", &[("uuid.2222", &[]), ("ABC123", &["nvme0n1"])]);
    }

    #[test]
    fn a_stacked_device_has_its_own_name_and_not_that_of_the_drive_beneath() {
        let tree = Tree::new();
        tree.block("pci0000:00/ata1/host0/block/sda", "8:0", &[("device/wwid", "naa.5000"), ("device/serial", "S 1")])
            .block("virtual/block/dm-0", "253:0", &[("dm/name", "vg-a"), ("dm/uuid", "LVM-abc")])
            .block("virtual/block/dm-1", "253:1", &[("dm/name", "plain")])
            .over("virtual/block/dm-0", "pci0000:00/ata1/host0/block/sda")
            .block("virtual/block/loop0", "7:0", &[("loop/backing_file", "/srv/disk image")])
            .block("virtual/block/loop1", "7:1", &[("loop/backing_file", "/srv/disk image")]);
        check(&tree, "8:0", &[("naa.5000", &[]), ("S 1", &[])]);
        check(&tree, "253:0", &[("LVM-abc", &[])]);
        check(&tree, "253:1", &[]);
        check(&tree, "7:0", &[("/srv/disk image", &["loop1"])]);
    }

    #[test]
    fn volumes_and_arrays_are_also_called_what_their_own_tools_call_them() {
        let uuid = "LVM-sEzsODGXf12Aq0pW1JXuO5o3TWLL7L0XHtxiJ4E1nnibOGcIyX7gi86H0Nl20LPW";
        let tree = Tree::new();
        tree.block("virtual/block/dm-0", "253:0", &[("dm/uuid", uuid)])
            .block("virtual/block/dm-1", "253:1", &[("dm/uuid", &format!("{uuid}-tpool"))])
            .block("virtual/block/md7", "9:7", &[("md/uuid", "69ec16b6-e212-f1e3-c09b-7808aaa79391")])
            .block("virtual/block/md8", "9:8", &[("md/uuid", "6ba7:9d20")]);
        check(&tree, "253:0", &[(uuid, &[]), ("HtxiJ4-E1nn-ibOG-cIyX-7gi8-6H0N-l20LPW", &[])]);
        check(&tree, "253:1", &[(&format!("{uuid}-tpool"), &[])]);
        let mdadms = "69ec16b6:e212f1e3:c09b7808:aaa79391";
        check(&tree, "9:7", &[(mdadms, &[]), ("69ec16b6-e212-f1e3-c09b-7808aaa79391", &[])]);
        check(&tree, "9:8", &[("6ba7:9d20", &[])]);
    }
}
