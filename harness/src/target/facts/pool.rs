//! Storage beneath a filesystem that can run out before the filesystem is full.
//!
//! Follows the stack down: files behind loop devices and the filesystems these lie on, the device mapper's pools,
//! compressed memory. Decides nothing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::mounts::Mounts;
use super::sysfs::{self, Host, attribute};
use super::{Device, Pool, PoolKind, drive};
use crate::units::Bytes;

/// Deeper stacks than anybody builds; guards against a tree that goes in circles.
const DEEPEST: usize = 16;

/// The tightest limit beneath `device`, one that nobody may know before all others.
///
/// `used` are the bytes in use of the filesystem on the device.
pub(super) fn read(device: Device, used: Bytes, host: &Host, mounts: &Mounts) -> Option<Pool> {
    let mut limits = Vec::new();
    descend(&host.block(device)?, Some(used), host, mounts, DEEPEST, &mut limits);
    tightest(limits)
}

fn tightest(limits: Vec<Pool>) -> Option<Pool> {
    // `None < Some`: what is unknown may be empty.
    limits.into_iter().min_by_key(|pool| pool.available)
}

/// `used` is known only directly under the filesystem: further down, others' data shares what is allocated.
fn descend(dir: &Path, used: Option<Bytes>, host: &Host, mounts: &Mounts, left: usize, limits: &mut Vec<Pool>) {
    let Some(left) = left.checked_sub(1) else { return };
    let (disk, partition) = sysfs::whole(dir);
    let used = used.filter(|_| !partition);
    limits.extend(sparse_file(disk, used, host, mounts, left));
    limits.extend(mapped(disk, used, host));
    limits.extend(zram(disk, host));
    for next in drive::beneath(disk) {
        descend(&next, None, host, mounts, left, limits);
    }
}

/// A loop device's file, and what limits the filesystem that the file lies on.
fn sparse_file(disk: &Path, used: Option<Bytes>, host: &Host, mounts: &Mounts, left: usize) -> Option<Pool> {
    let file = drive::backing_file(disk)?;
    let meta = file.metadata().ok()?;
    let below = rustix::fs::statvfs(&file).ok()?;
    let block = below.f_frsize;
    let mut deeper = Vec::new();
    if let Some(next) = drive::carrier_of(&file, host, mounts).and_then(|device| host.block(device)) {
        let used_below = Bytes(below.f_blocks.saturating_sub(below.f_bfree).saturating_mul(block));
        descend(&next, Some(used_below), host, mounts, left, &mut deeper);
    }
    let room = Bytes(below.f_bavail.saturating_mul(block));
    let allocated = Bytes(meta.blocks().saturating_mul(512));
    sparse_limit(&file, Bytes(meta.len()), allocated, used, room, tightest(deeper))
}

/// PURE. A file without holes takes nothing more from its filesystem, but that one's pool may still hold it up.
fn sparse_limit(
    file: &Path,
    size: Bytes,
    allocated: Bytes,
    used: Option<Bytes>,
    room: Bytes,
    deeper: Option<Pool>,
) -> Option<Pool> {
    if allocated >= size {
        return deeper;
    }
    let spare = used.map_or(Bytes(0), |used| allocated.saturating_sub(used));
    let with_spare = |room: Bytes| Some(room.saturating_add(spare));
    match deeper {
        Some(pool) if pool.available.is_none_or(|left| left < room) => {
            Some(Pool { available: pool.available.and_then(with_spare), ..pool })
        }
        _ => {
            let what = format!("the sparse file {}", file.display());
            Some(Pool { kind: PoolKind::SparseFile, available: with_spare(room), what })
        }
    }
}

/// The device mapper's own tables say; where we may not read them, LVM's marks in the UUIDs still tell the kind.
fn mapped(disk: &Path, used: Option<Bytes>, host: &Host) -> Option<Pool> {
    let name = attribute(disk, "dm/name")?;
    let name_of = |device: Device| attribute(&host.block(device)?, "dm/name");
    match &host.dm {
        Some(tables) => tables.limit(&name, used, name_of),
        None => drive::beneath(disk).iter().find_map(|next| marked(next)),
    }
}

/// What LVM's suffix of a device's UUID says of what lies on it: `-tpool` of a thin pool, `-vpool` of VDO, `-cow` of a
/// snapshot's space, `-real` of what is left of a volume that has snapshots.
fn marked(below: &Path) -> Option<Pool> {
    const MARKS: [(&str, PoolKind, &str); 4] = [
        ("-tpool", PoolKind::Thin, "the thin pool"),
        ("-vpool", PoolKind::Vdo, "the VDO pool"),
        ("-cow", PoolKind::Snapshot, "a snapshot's space"),
        ("-real", PoolKind::Snapshot, "a volume with snapshots,"),
    ];
    let uuid = attribute(below, "dm/uuid").filter(|uuid| uuid.starts_with("LVM-"))?;
    let (_, kind, words) = MARKS.iter().find(|(suffix, _, _)| uuid.ends_with(suffix))?;
    Some(Pool { kind: *kind, available: None, what: format!("{words} {}", attribute(below, "dm/name")?) })
}

/// Incompressible data takes memory byte for byte: up to the device's limit, or to what the host has.
/// `mm_stat`: original, compressed, used, limit (0: none), …, in bytes.
fn zram(disk: &Path, host: &Host) -> Option<Pool> {
    let stat = attribute(disk, "mm_stat")?;
    let mut fields = stat.split_whitespace().skip(2).map_while(|field| field.parse::<u64>().ok());
    let (used, limit) = (fields.next()?, fields.next()?);
    let memory = || {
        let text = fs::read_to_string(host.proc.join("meminfo")).ok()?;
        let kib = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?.trim().strip_suffix(" kB")?;
        Some(Bytes(kib.parse::<u64>().ok()?.saturating_mul(1024)))
    };
    let available = if limit > 0 { Some(Bytes(limit.saturating_sub(used))) } else { memory() };
    let what = format!("the host's memory, compressed by {}", sysfs::name(disk));
    Some(Pool { kind: PoolKind::Zram, available, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    fn check(allocated: u64, used: Option<u64>, room: u64, deeper: Option<Option<u64>>, expect: Option<Option<u64>>) {
        let deeper = deeper.map(|left| Pool {
            kind: PoolKind::Thin,
            available: left.map(|gb| Bytes(gb * GB)),
            what: "the thin pool p".to_owned(),
        });
        let file = Path::new("/srv/disk.img");
        let used = used.map(|gb| Bytes(gb * GB));
        let got = sparse_limit(file, Bytes(100 * GB), Bytes(allocated * GB), used, Bytes(room * GB), deeper);
        assert_eq!(got.map(|pool| pool.available.map(|left| left.0 / GB)), expect);
    }

    #[test]
    fn a_sparse_file_has_what_its_filesystem_has_and_what_it_holds_unused() {
        check(10, Some(2), 30, None, Some(Some(38)));
        check(10, Some(20), 30, None, Some(Some(30)));
        check(10, None, 30, None, Some(Some(30)));
    }

    #[test]
    fn a_file_without_holes_is_no_limit() {
        check(100, Some(2), 0, None, None);
        check(101, Some(2), 0, None, None);
    }

    #[test]
    fn the_tightest_layer_counts_and_an_unknown_one_first() {
        check(10, Some(10), 30, Some(Some(5)), Some(Some(5)));
        check(10, Some(2), 30, Some(Some(5)), Some(Some(13)));
        check(10, Some(10), 30, Some(Some(50)), Some(Some(30)));
        check(10, Some(10), 30, Some(None), Some(None));
        check(100, Some(10), 30, Some(Some(5)), Some(Some(5)));
    }
}
