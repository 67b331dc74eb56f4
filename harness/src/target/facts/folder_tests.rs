//! What a folder on this host, and mounts in recorded trees, give.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use super::super::recorded::{Tree, device};
use super::*;

/// A tree in which `folder` lies on a mount of `line`'s type, source and number.
fn tree_with(folder: &Path, number: &str, rest: &str) -> Tree {
    let tree = Tree::new();
    let top = "1 0 8:1 / / rw - ext4 /dev/sda1 rw";
    let table = format!("{top}\n2 1 {number} / {} rw,noatime - {rest}\n", folder.display());
    tree.file("proc/self/mountinfo", table);
    tree
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

fn pool_of(facts: Facts) -> Option<super::super::Pool> {
    let Place::Folder(folder) = facts.place else { panic!("no folder") };
    folder.pool
}

fn refused(path: &Path, words: &str) {
    let error = Facts::read(path).unwrap_err().to_string();
    assert!(error.contains(words) && error.contains("reading the target"), "{error}");
}

#[test]
fn a_folder_of_this_host_is_known() {
    let (_kept, path) = folder();
    let facts = Facts::read(&path.join("../.").join(path.file_name().unwrap())).unwrap();
    let folder = facts.folder().unwrap();
    assert_eq!((&facts.path, facts.place.kind(), folder.writable), (&path, "folder", true));
    assert!(path.starts_with(&folder.filesystem.mount_point));
    assert!(folder.filesystem.available <= folder.filesystem.total);
    assert!(!folder.filesystem.type_name.is_empty());
}

#[test]
fn what_is_no_folder_is_said_to_be_what_it_is() {
    let (_kept, path) = folder();
    let file = path.join("file");
    fs::write(&file, "x").unwrap();
    refused(&path.join("absent"), "no such folder");
    refused(&file, "is no folder");
    refused(&file.join("below"), "is no folder");
    refused(Path::new("/dev/null"), "character device");
    let odd = path.join(std::ffi::OsStr::from_bytes(b"od\xffd"));
    if fs::create_dir(&odd).is_ok() {
        refused(&odd, "not UTF-8");
    }
}

#[test]
fn the_proc_filesystem_is_named_as_such() {
    let facts = Facts::read(Path::new("/proc")).unwrap();
    assert_eq!(facts.filesystem(), Some("proc"));
    assert_eq!((&facts.drive, &facts.folder().unwrap().pool), (&None, &None));
}

#[test]
fn a_folder_without_write_permission_is_not_writable() {
    let (_kept, path) = folder();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o555)).unwrap();
    let privileged = rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(rustix::thread::CapabilitySet::DAC_OVERRIDE));
    assert_eq!(Facts::read(&path).unwrap().folder().unwrap().writable, privileged);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_btrfs_is_found_by_its_source_and_counts_on_all_its_members() {
    let (_kept, path) = folder();
    let tree = tree_with(&path, "0:44", "btrfs /dev/sdb1 rw,subvol=/");
    tree.block("ata1/sdb", "8:16", &[("size", "100")])
        .block("ata1/sdb/sdb1", "8:17", &[("partition", "1")])
        .block("ata2/sdc", "8:32", &[])
        .link("sys/fs/btrfs/1234/devices/sdb1", "sys/devices/ata1/sdb/sdb1")
        .link("sys/fs/btrfs/1234/devices/sdc", "sys/devices/ata2/sdc");
    let facts = read(&path, &tree.host()).unwrap();
    assert_eq!(facts.folder().unwrap().filesystem.carriers, [device("8:17"), device("8:32")]);
    assert_eq!(facts.drive.as_ref().map(|drive| drive.name.as_str()), Some("sdb"));
    assert_eq!(facts.folder().unwrap().filesystem.options, "rw,noatime,subvol=/");
}

#[test]
fn a_source_below_mapper_is_found_by_its_name() {
    let (_kept, path) = folder();
    let tree = tree_with(&path, "0:44", r"btrfs /dev/mapper/vg-my\040lv rw");
    tree.block("virtual/block/dm-3", "253:3", &[("dm/name", "vg-my lv")]);
    assert_eq!(read(&path, &tree.host()).unwrap().folder().unwrap().filesystem.carriers, [device("253:3")]);
}

#[test]
fn memory_and_network_have_no_drive() {
    for rest in ["tmpfs tmpfs rw", "nfs4 server:/export rw", "overlay overlay rw,lowerdir=/a"] {
        let (_kept, path) = folder();
        let facts = read(&path, &tree_with(&path, "0:50", rest).host()).unwrap();
        let folder = facts.folder().unwrap();
        assert_eq!((folder.filesystem.carriers.len(), &facts.drive, &folder.pool), (0, &None, &None), "{rest}");
    }
}

#[test]
fn a_loop_device_on_a_sparse_file_has_a_pool() {
    let (_kept, path) = folder();
    let file = path.join("disk.img");
    fs::File::create(&file).unwrap().set_len(1 << 40).unwrap();
    let tree = tree_with(&path, "7:7", "ext4 /dev/loop7 rw");
    tree.block("virtual/block/loop7", "7:7", &[("size", "2048"), ("loop/backing_file", file.to_str().unwrap())]);
    let pool = pool_of(read(&path, &tree.host()).unwrap()).unwrap();
    assert_eq!(pool.what, format!("the sparse file {}", file.display()));
    assert!(pool.available.is_some());
}

#[test]
fn where_the_tables_may_not_be_read_lvms_marks_tell_what_can_run_out() {
    let (_kept, path) = folder();
    let pool_over = |suffix: &str| {
        let tree = tree_with(&path, "253:1", "ext4 /dev/mapper/vg-lv rw");
        let uuid = format!("LVM-abc{suffix}");
        tree.block("virtual/block/dm-1", "253:1", &[("dm/name", "vg-lv"), ("dm/uuid", "LVM-abc")])
            .block("virtual/block/dm-0", "253:0", &[("dm/name", "vg-below"), ("dm/uuid", &uuid)])
            .over("virtual/block/dm-1", "virtual/block/dm-0");
        pool_of(read(&path, &tree.host()).unwrap()).map(|pool| (pool.what, pool.available))
    };
    let check = |suffix, what: &str| assert_eq!(pool_over(suffix), Some((format!("{what} vg-below"), None)));
    check("-tpool", "the thin pool");
    check("-vpool", "the VDO pool");
    check("-cow", "a snapshot's space");
    check("-real", "a volume with snapshots,");
    assert_eq!(pool_over(""), None);
}

#[test]
fn compressed_memory_has_its_limit_or_the_hosts() {
    let (_kept, path) = folder();
    let left = |mm_stat: &str| {
        let tree = tree_with(&path, "252:0", "ext4 /dev/zram0 rw");
        tree.block("virtual/block/zram0", "252:0", &[("mm_stat", mm_stat)])
            .file("proc/meminfo", "MemTotal: 100 kB\nMemAvailable:      50 kB\n");
        pool_of(read(&path, &tree.host()).unwrap()).and_then(|pool| pool.available)
    };
    assert_eq!(left("  100 50 60 1000 0 0 0 0"), Some(Bytes(940)));
    assert_eq!(left("  100 50 60 0 0 0 0 0"), Some(Bytes(51_200)));
}

#[test]
fn a_mount_table_that_lacks_the_folder_is_an_error_with_a_way_out() {
    let (_kept, path) = folder();
    let tree = Tree::new();
    tree.file("proc/self/mountinfo", "1 0 8:1 / /elsewhere rw - ext4 /dev/sda1 rw\n");
    let error = read(&path, &tree.host()).unwrap_err().to_string();
    assert!(error.contains("Mount /proc"), "{error}");
}
