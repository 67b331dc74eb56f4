//! PURE: the kernel's mount table as text → which mount a path lies on, and what else shows that filesystem.
//!
//! Source: `proc_pid_mountinfo(5)`. Never opens a path.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::{Device, text};

/// The mounts that a process sees, in the table's order.
#[derive(Clone, Debug, Default)]
pub(super) struct Mounts(Vec<Mount>);

/// One line of the table.
#[derive(Clone, Debug)]
pub(super) struct Mount {
    pub(super) id: u64,
    pub(super) parent: u64,
    /// The superblock's number: the same for all subvolumes of a btrfs, unlike their `st_dev`.
    pub(super) device: Device,
    /// The folder of the filesystem that is shown at the mount point.
    pub(super) root: PathBuf,
    pub(super) mount_point: PathBuf,
    pub(super) type_name: String,
    pub(super) source: PathBuf,
    pub(super) mount_options: String,
    pub(super) super_options: String,
}

impl Mounts {
    /// Lines that are not understood are left out.
    pub(super) fn parse(table: &[u8]) -> Mounts {
        Mounts(table.split(|&b| b == b'\n').filter_map(line).collect())
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Mount] {
        &self.0
    }

    /// The mount that the absolute `path` lies on; `id` is what statx(2) says (since Linux 5.8), if it does.
    ///
    /// Without it the path is walked as the kernel does: a mount covers what was at its mount point before, and
    /// all that is mounted below what it covers.
    pub(super) fn of(&self, path: &Path, id: Option<u64>) -> Option<&Mount> {
        let named = id.and_then(|id| self.0.iter().find(|mount| mount.id == id));
        named.or_else(|| self.walk(path)).or_else(|| self.nearest(path))
    }

    fn walk(&self, path: &Path) -> Option<&Mount> {
        let known = |id| self.0.iter().any(|mount| mount.id == id);
        let is_top = |mount: &&Mount| mount.mount_point == Path::new("/") && !known(mount.parent);
        let mut here = self.0.iter().find(is_top)?;
        for _ in 0..self.0.len() {
            let below =
                |mount: &&Mount| mount.parent == here.id && mount.id != here.id && path.starts_with(&mount.mount_point);
            match self.0.iter().filter(below).min_by_key(|mount| mount.mount_point.components().count()) {
                Some(next) => here = next,
                None => break,
            }
        }
        Some(here)
    }

    /// The longest mount point above the path, the last of equal ones: for tables without their top, as in a chroot.
    fn nearest(&self, path: &Path) -> Option<&Mount> {
        let above = self.0.iter().filter(|mount| path.starts_with(&mount.mount_point));
        above.max_by_key(|mount| mount.mount_point.components().count())
    }

    /// Whether the filesystem of `mount` is the one that `/` lies on, or holds the upper layer of an overlay at `/`.
    pub(super) fn carries_root(&self, mount: &Mount) -> bool {
        let Some(top) = self.of(Path::new("/"), None) else { return false };
        let layers = ["upperdir=", "workdir=", "lowerdir="];
        let holds_layer = |option: &str| {
            let folders = layers.iter().find_map(|key| option.strip_prefix(key)).unwrap_or("");
            let inside = |folder: &str| !folder.is_empty() && Path::new(folder).starts_with(&mount.mount_point);
            folders.split(':').any(inside)
        };
        top.device == mount.device || (top.type_name == "overlay" && top.super_options.split(',').any(holds_layer))
    }

    /// Whether the mount shows its whole filesystem (of btrfs, a whole subvolume) and no other mount point shows any.
    pub(super) fn is_own(&self, mount: &Mount) -> bool {
        let subvolume = mount.super_options.split(',').find_map(|option| option.strip_prefix("subvol="));
        let whole = mount.root == Path::new("/") || subvolume.is_some_and(|name| mount.root == Path::new(name));
        let shows_it = |other: &Mount| other.device == mount.device && other.mount_point != mount.mount_point;
        whole && !self.0.iter().any(shows_it)
    }
}

impl Mount {
    /// The mount's options, then the filesystem's that are not among them.
    pub(super) fn options(&self) -> String {
        let mut all: Vec<&str> = self.mount_options.split(',').filter(|option| !option.is_empty()).collect();
        for option in self.super_options.split(',').filter(|option| !option.is_empty()) {
            // A read-only mount of a writable filesystem would otherwise read "ro,rw".
            if !all.contains(&option) && option != "rw" {
                all.push(option);
            }
        }
        all.join(",")
    }

    pub(super) fn read_only(&self) -> bool {
        self.mount_options.split(',').chain(self.super_options.split(',')).any(|option| option == "ro")
    }
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`; any number of optional fields
/// before the dash.
fn line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&b| b == b' ').filter(|field| !field.is_empty());
    let id = number(fields.next()?)?;
    let parent = number(fields.next()?)?;
    let device = str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let root = path(fields.next()?);
    let mount_point = path(fields.next()?);
    let mount_options = words(fields.next()?);
    fields.by_ref().find(|field| *field == b"-")?;
    let type_name = words(fields.next()?);
    let source = path(fields.next()?);
    let super_options = fields.next().map(words).unwrap_or_default();
    Some(Mount { id, parent, device, root, mount_point, type_name, source, mount_options, super_options })
}

fn number(field: &[u8]) -> Option<u64> {
    str::from_utf8(field).ok()?.parse().ok()
}

/// A path as the kernel's tables write it.
pub(super) fn path(field: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescape(field)))
}

fn words(field: &[u8]) -> String {
    text::clean(&unescape(field)).unwrap_or_default()
}

/// The kernel writes space, tab, newline, backslash and `#` as `\` and three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        match (first, after) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                plain.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            _ => {
                plain.push(first);
                rest = after;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r"
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro
30 27 8:17 / /mnt/my\040disk rw,noatime shared:7 master:2 - xfs /dev/sdb1 rw,attr2
31 27 8:17 /sub /srv/bound rw - xfs /dev/sdb1 rw,attr2
32 27 8:33 / /data rw - ext4 /dev/sdc1 rw
33 32 8:34 / /data/inner rw - ext4 /dev/sdc2 rw
34 32 8:49 / /data ro - ext4 /dev/sdd1 rw
35 27 0:44 /@home /home rw - btrfs /dev/sde1 rw,subvolid=256,subvol=/@home
36 27 0:45 / /mnt/tab\011nl\012bs\134 rw - tmpfs none rw
37 27 0:46 /@vol/var/lib/x /bind rw - btrfs /dev/sdf1 rw,subvolid=257,subvol=/@vol
38 27 9:9 / /mnt/disk rw - ext4 /dev/md9 rw
39 30 0:50 / /mnt/my\040disk/deep rw - tmpfs tmp rw
broken line
40 27 8:65 / /odd rw -
";

    fn check(path: &str, expect: &str) {
        let mounts = Mounts::parse(TABLE.as_bytes());
        let mount = mounts.of(Path::new(path), None).map(|mount| mount.source.display().to_string());
        assert_eq!(mount.as_deref(), Some(expect), "{path}");
    }

    #[test]
    fn a_path_lies_on_the_mount_that_the_kernel_would_walk_to() {
        check("/", "/dev/vda1");
        check("/var/tmp", "/dev/vda1");
        check("/proc/self", "proc");
        check("/mnt/my disk", "/dev/sdb1");
        check("/mnt/my disk/a", "/dev/sdb1");
        check("/mnt/my disk/deep/a", "tmp");
        check("/mnt/my diskette", "/dev/vda1");
        check("/mnt/disk/a", "/dev/md9");
        check("/mnt/tab\tnl\nbs\\/x", "none");
    }

    #[test]
    fn a_mount_over_another_hides_what_was_mounted_below_it() {
        check("/data", "/dev/sdd1");
        check("/data/inner/x", "/dev/sdd1");
    }

    #[test]
    fn the_kernels_own_mount_id_decides() {
        let mounts = Mounts::parse(TABLE.as_bytes());
        let inner = mounts.of(Path::new("/data/inner"), Some(33)).unwrap();
        assert_eq!(inner.device, Device { major: 8, minor: 34 });
    }

    #[test]
    fn a_table_without_its_top_still_answers() {
        let mounts = Mounts::parse(b"5 4 8:1 / /a rw - ext4 /dev/sda1 rw\n6 4 8:2 / /a/b rw - ext4 /dev/sda2 rw\n");
        assert_eq!(mounts.of(Path::new("/a/b/c"), None).map(|mount| mount.id), Some(6));
        assert_eq!(mounts.of(Path::new("/z"), None).map(|mount| mount.id), None);
    }

    fn check_own(path: &str, own: bool, carries_root: bool) {
        let mounts = Mounts::parse(TABLE.as_bytes());
        let mount = mounts.of(Path::new(path), None).unwrap();
        assert_eq!((mounts.is_own(mount), mounts.carries_root(mount)), (own, carries_root), "{path}");
    }

    #[test]
    fn a_filesystem_shown_elsewhere_or_in_part_is_not_its_own() {
        check_own("/", true, true);
        check_own("/data", true, false);
        check_own("/mnt/my disk", false, false);
        check_own("/srv/bound", false, false);
        check_own("/home", true, false);
        check_own("/bind", false, false);
    }

    #[test]
    fn the_upper_layer_of_an_overlay_at_the_top_carries_it() {
        let table = b"1 0 0:9 / / rw - overlay over rw,lowerdir=/a:/b,upperdir=/rw/up,workdir=/rw/w\n\
                      2 1 8:1 / /rw rw - ext4 /dev/sda1 rw\n3 1 8:2 / /x rw - ext4 /dev/sda2 rw\n";
        let mounts = Mounts::parse(table);
        let carries = |path: &str| mounts.carries_root(mounts.of(Path::new(path), None).unwrap());
        assert_eq!((carries("/rw"), carries("/x")), (true, false));
    }

    #[test]
    fn options_are_said_once_and_read_only_wins() {
        let mounts = Mounts::parse(b"1 0 8:1 / / ro,noatime - ext4 /dev/sda1 rw,noatime,discard\n");
        let mount = mounts.of(Path::new("/"), None).unwrap();
        assert_eq!(mount.options(), "ro,noatime,discard");
        assert!(mount.read_only());
    }
}
