//! The guard's table: each reason, and the neighbour that is allowed.

use super::super::facts::{Device, Filesystem, Pool, PoolKind};
use super::*;

/// A folder of an ext4 of its own at `/mnt/drive` with 1000 GB, all of them free.
fn facts() -> Facts {
    let tb = Bytes(1_000_000_000_000);
    let folder = Folder {
        device: Device { major: 8, minor: 17 },
        inode: 12,
        writable: true,
        filesystem: Filesystem {
            type_name: "ext4".to_owned(),
            mount_point: PathBuf::from("/mnt/drive"),
            source: "/dev/sdb1".to_owned(),
            options: "rw".to_owned(),
            total: tb,
            free: tb,
            available: tb,
            device: Device { major: 8, minor: 17 },
            carriers: vec![Device { major: 8, minor: 17 }],
            read_only: false,
            carries_root: false,
            own: true,
        },
        pool: None,
        quota_left: None,
    };
    Facts { path: PathBuf::from("/mnt/drive/scratch"), drive: None, place: Place::Folder(folder) }
}

/// What is known of the folder, to be changed.
fn folder(facts: &mut Facts) -> &mut Folder {
    let Place::Folder(folder) = &mut facts.place else { panic!("no folder") };
    folder
}

const GB: u64 = 1_000_000_000;

/// With the facts changed and a plan of so many GB: the words of the refusal, or none where it is armed.
fn check(change: impl Fn(&mut Facts), gb: u64, fill: Option<&str>, words: Option<&str>) {
    let mut facts = facts();
    change(&mut facts);
    let need = Need { space: Bytes(gb * GB), writes: Bytes(10 * gb * GB) };
    let consent = Consent { fill_volume: fill.map(PathBuf::from), ..Consent::default() };
    match (guard(facts.clone(), &need, &consent), words) {
        (Ok(armed), None) => assert_eq!(armed.facts(), &facts),
        (Err(refusal), Some(words)) => assert!(refusal.to_string().contains(words), "{refusal}"),
        (Ok(_), Some(words)) => panic!("armed, though \"{words}\""),
        (Err(refusal), None) => panic!("refused: {refusal}"),
    }
}

fn at(path: &str) -> impl Fn(&mut Facts) {
    move |facts| facts.path = PathBuf::from(path)
}

fn on(type_name: &str) -> impl Fn(&mut Facts) {
    move |facts| type_name.clone_into(&mut folder(facts).filesystem.type_name)
}

fn available(gb: u64) -> impl Fn(&mut Facts) {
    move |facts| folder(facts).filesystem.available = Bytes(gb * GB)
}

fn pool(gb: Option<u64>) -> impl Fn(&mut Facts) {
    move |facts| {
        let what = "the thin pool vg-pool".to_owned();
        folder(facts).pool = Some(Pool { kind: PoolKind::Thin, available: gb.map(|gb| Bytes(gb * GB)), what });
    }
}

fn quota(gb: u64) -> impl Fn(&mut Facts) {
    move |facts| folder(facts).quota_left = Some(Bytes(gb * GB))
}

#[test]
fn an_ordinary_folder_is_armed() {
    check(|_| {}, 100, None, None);
    check(at("/mnt/drive"), 100, None, None);
    check(at("/home/me"), 1, None, None);
    check(at("/var/tmp"), 1, None, None);
    check(at("/run/media/me/disk"), 1, None, None);
}

#[test]
fn the_systems_own_folders_are_refused() {
    check(at("/"), 1, None, Some("Name a folder inside it"));
    check(at("/etc"), 1, None, Some("/etc, which belongs to the system"));
    check(at("/usr/local/x"), 1, None, Some("/usr, which belongs to the system"));
    check(at("/boot/efi"), 1, None, Some("/boot, which"));
    check(at("/etcetera"), 1, None, None);
    check(at("/home/me/etc"), 1, None, None);
}

#[test]
fn what_is_no_drive_is_refused() {
    check(on("proc"), 1, None, Some("stores no files"));
    check(on("sysfs"), 1, None, Some("stores no files"));
    check(on("devtmpfs"), 1, None, Some("stores no files"));
    check(on("cgroup2"), 1, None, Some("stores no files"));
    check(on("tmpfs"), 1, None, Some("memory, not a drive"));
    check(on("ramfs"), 1, None, Some("memory, not a drive"));
    check(on("nfs4"), 1, None, Some("no local drive"));
    check(on("cifs"), 1, None, Some("no local drive"));
    check(on("9p"), 1, None, Some("no local drive"));
    check(on("fuse.sshfs"), 1, None, Some("no local drive"));
    for kept in ["xfs", "btrfs", "f2fs", "zfs", "overlay", "fuseblk", "vfat"] {
        check(on(kept), 1, None, None);
    }
}

#[test]
fn only_folders_for_now() {}

#[test]
fn what_may_not_be_written_is_refused() {
    check(|facts| folder(facts).filesystem.read_only = true, 1, None, Some("mounted read-only"));
    check(|facts| folder(facts).writable = false, 1, None, Some("may not make files in /mnt/drive/scratch"));
}

#[test]
fn a_plan_leaves_a_share_and_a_large_one_ten_gib() {
    check(available(1000), 950, None, None);
    check(available(1000), 951, None, Some("needs 951 GB on the filesystem at /mnt/drive, which has 1.00 TB left"));
    // 100 GB: 10 GiB are more than 5 %.
    check(available(100), 89, None, None);
    check(available(100), 90, None, Some("10.7 GB of that must stay free"));
    check(available(100), 90, None, Some("a profile that needs at most 89.3 GB"));
    // A small plan fits anywhere: 2 GB of 3 GB.
    check(available(3), 2, None, None);
    check(available(2), 2, None, Some("must stay free"));
    check(available(0), 1, None, Some("has 0 B left"));
}

#[test]
fn a_volume_is_filled_only_if_named_exactly_and_of_its_own() {
    check(|_| {}, 1000, Some("/mnt/drive"), None);
    check(|_| {}, 1000, Some("/mnt/drive/"), None);
    check(|_| {}, 1001, Some("/mnt/drive"), Some("Choose a smaller profile, or make room"));
    check(|_| {}, 1, Some("/mnt/drive/scratch"), Some("Name that mount point"));
    check(|_| {}, 1, Some("/mnt/other"), Some("--fill-volume names /mnt/other, but /mnt/drive/scratch lies on"));
    check(|facts| folder(facts).filesystem.carries_root = true, 1, Some("/mnt/drive"), Some("system itself runs from"));
    check(|facts| folder(facts).filesystem.mount_point = "/".into(), 1, Some("/"), Some("system itself runs from"));
    check(|facts| folder(facts).filesystem.own = false, 1, Some("/mnt/drive"), Some("mounted elsewhere too"));
    // Without the option neither matters.
    check(|facts| folder(facts).filesystem.carries_root = true, 1, None, None);
    check(|facts| folder(facts).filesystem.own = false, 1, None, None);
}

#[test]
fn what_would_run_out_beneath_is_refused_with_both_numbers() {
    check(pool(Some(50)), 50, None, None);
    check(
        pool(Some(50)),
        51,
        None,
        Some("needs 51.0 GB, but the target lies on the thin pool vg-pool, which has 50.0 GB"),
    );
    check(pool(Some(50)), 51, Some("/mnt/drive"), Some("thin pool vg-pool"));
    check(pool(None), 2, None, None);
    check(pool(None), 3, None, Some("Run as root, or choose a profile that needs at most 2.15 GB"));
    check(quota(50), 50, None, None);
    check(quota(50), 51, None, Some("leaves this user 50.0 GB"));
}

/// `usable` is what guard arms, and one byte more is what it refuses.
fn check_usable(change: impl Fn(&mut Facts), fill: Option<&str>, expect: u64) {
    let mut facts = facts();
    change(&mut facts);
    let consent = Consent { fill_volume: fill.map(PathBuf::from), ..Consent::default() };
    let usable = facts.usable(&consent);
    assert_eq!(usable.0, expect);
    let plan = |bytes: u64| Need { space: Bytes(bytes), writes: Bytes(bytes) };
    assert!(guard(facts.clone(), &plan(usable.0), &consent).is_ok());
    assert!(guard(facts, &plan(usable.0 + 1), &consent).is_err());
}

#[test]
fn what_is_usable_is_the_most_that_is_armed() {
    check_usable(|_| {}, None, 950 * GB);
    check_usable(|_| {}, Some("/mnt/drive"), 1000 * GB);
    check_usable(available(100), None, 100 * GB - 10 * GIB);
    check_usable(available(11), None, 2 * GIB);
    check_usable(available(2), None, 1_900_000_000);
    check_usable(available(0), None, 0);
    check_usable(pool(Some(7)), Some("/mnt/drive"), 7 * GB);
    check_usable(pool(None), None, 2 * GIB);
    check_usable(quota(3), None, 3 * GB);
    check_usable(|facts| (available(13)(facts), pool(Some(1))(facts), quota(2)(facts)).2, None, GB);
}

#[test]
fn a_simulated_drive_may_be_filled_to_its_last_byte_and_has_no_volume() {
    let drive = Simulated {
        scale: 1,
        fitted: false,
        source: "this test".to_owned(),
        faults: Vec::new(),
        digest: String::new(),
        capacity: Bytes(100 * GB),
    };
    let facts = Facts { path: "sim:this".into(), drive: None, place: Place::Simulated(drive) };
    let check = |space, fill: Option<&str>, words: Option<&str>| {
        let consent = Consent { fill_volume: fill.map(PathBuf::from), ..Consent::default() };
        let refusal = guard(facts.clone(), &Need { space: Bytes(space), writes: Bytes(space) }, &consent).err();
        let text = refusal.map(|refusal| refusal.to_string());
        assert_eq!(text.is_some(), words.is_some(), "{text:?}");
        assert!(text.unwrap_or_default().contains(words.unwrap_or_default()), "{words:?}");
    };
    assert_eq!(facts.usable(&Consent::default()), Bytes(100 * GB));
    check(100 * GB, None, None);
    check(100 * GB + 1, None, Some("sim:this has 100 GB"));
    check(1, Some("/mnt/drive"), Some("no filesystem"));
}

#[test]
fn a_wrong_volume_makes_nothing_more_usable() {
    let consent = Consent { fill_volume: Some("/mnt/other".into()), ..Consent::default() };
    assert_eq!(facts().usable(&consent), Bytes(950 * GB));
}

#[test]
fn every_refusal_is_a_few_plain_sentences() {
    let mut proc = facts();
    folder(&mut proc).filesystem.type_name = "proc".to_owned();
    let need = Need { space: Bytes(1), writes: Bytes(1) };
    let text = guard(proc, &need, &Consent::default()).unwrap_err().to_string();
    assert_eq!(
        text,
        "/mnt/drive/scratch lies on proc, which shows the state of the kernel or of a program and stores no files. \
         Name a folder on a drive."
    );
}
