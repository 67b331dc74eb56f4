//! Block devices: each reason, and the neighbour that is allowed.

use super::super::facts::{Block, Contents, Device, Identity, Pool, PoolKind, Reservation, Reserved, Use, User};
use super::*;

const GB: u64 = 1_000_000_000;

/// An empty drive of 1000 GB that nobody uses.
pub(super) fn block() -> Block {
    Block {
        device: Device { major: 8, minor: 0 },
        sequence: Some(7),
        identity: ["naa.5000c500a1b2c3d4", "S123 456"].map(|name| own(name, &[])).to_vec(),
        partition_of: None,
        size: Bytes(1000 * GB),
        read_only: false,
        zoned: None,
        shared_storage: None,
        uses: Some(Vec::new()),
        claimed: false,
        opened_by: Vec::new(),
        reservations: Vec::new(),
        contents: Contents { sampled_blocks: 600, ..Contents::default() },
        discard_granularity: Some(Bytes(4096)),
        discard_alignment: Bytes(0),
        discarded_reads: None,
        subsystem: None,
        pool: None,
        members: Vec::new(),
    }
}

pub(super) fn own(name: &str, shared_with: &[&str]) -> Identity {
    Identity { name: name.to_owned(), shared_with: shared_with.iter().map(|name| (*name).to_owned()).collect() }
}

fn used(device: &str, by: User) -> impl Fn(&mut Block, &mut Consent) {
    let one = Use { device: device.to_owned(), by };
    move |block, _| block.uses = Some(vec![one.clone()])
}

fn mounted(at: &str, root: bool) -> User {
    User::Mount { at: at.to_owned(), root }
}

fn held(name: &str, kind: &str) -> User {
    User::Holder { name: name.to_owned(), kind: kind.to_owned() }
}

/// With facts and consent changed and a plan of 100 GB: all of the words of the refusal, or none where it is armed. All
/// of it again with everything allowed that can be: no consent overrides what is refused for another reason.
fn check(change: impl Fn(&mut Block, &mut Consent), words: &[&str]) {
    let need = Need { space: Bytes(100 * GB), writes: Bytes(100 * GB) };
    let mut block = block();
    let mut consent = Consent { erase: vec!["S123 456".to_owned()], ..Consent::default() };
    change(&mut block, &mut consent);
    let facts = Facts { path: "/dev/sda".into(), drive: None, place: Place::Device(Box::new(block)) };
    match guard(facts, &need, &consent) {
        Ok(_) => assert!(words.is_empty(), "armed, though {words:?}"),
        Err(refusal) => {
            let text = refusal.to_string();
            let said = !words.is_empty() && words.iter().all(|words| text.contains(words)) && text.contains("/dev/sda");
            assert!(said, "{words:?}: {text}");
        }
    }
}

/// As [`check`], and whatever the user allows.
fn never(change: impl Fn(&mut Block, &mut Consent), words: &[&str]) {
    check(&change, words);
    let allow_all = |block: &mut Block, consent: &mut Consent| {
        consent.erase_contents = true;
        consent.shared_storage = true;
        change(block, consent);
    };
    check(allow_all, words);
}

#[test]
fn an_empty_drive_that_was_named_is_armed_by_any_name_that_only_it_has() {
    check(|_, _| {}, &[]);
    for name in ["naa.5000c500a1b2c3d4", "S123 456", "  S123   456 "] {
        check(|_, consent| consent.erase = vec![name.to_owned()], &[]);
    }
}

#[test]
fn what_was_not_named_is_refused_and_told_by_its_name() {
    never(
        |_, consent| consent.erase = Vec::new(),
        &["would be erased", "--erase 'naa.5000c500a1b2c3d4' (also S123 456)"],
    );
    let other = |name: &'static str| move |_: &mut Block, consent: &mut Consent| consent.erase = vec![name.to_owned()];
    never(other("S124"), &["is not S124", "naa.5000c500a1b2c3d4, S123 456"]);
    never(other("S123"), &["is not S123"]);
    never(other("s123 456"), &["is not s123 456"]);
    never(other(""), &["is not"]);
    never(other("/dev/sda"), &["is not /dev/sda"]);
}

#[test]
fn a_name_that_two_devices_have_is_no_name() {
    never(|block, _| block.identity = Vec::new(), &["no identity"]);
    never(|block, _| block.identity = vec![own("S123 456", &["sdb"])], &["has the identity S123 456, and so has sdb"]);
    let one_shared = |block: &mut Block, _: &mut Consent| block.identity[1] = own("S123 456", &["nvme0n2"]);
    never(one_shared, &["is called S123 456, and so is nvme0n2", "--erase 'naa.5000c500a1b2c3d4'"]);
    check(
        |block, consent| {
            one_shared(block, consent);
            consent.erase = vec!["naa.5000c500a1b2c3d4".to_owned()];
        },
        &[],
    );
}

#[test]
fn use_is_never_overridden() {
    never(used("sda", mounted("/mnt/data", false)), &["sda is mounted at /mnt/data", "Unmount"]);
    never(used("sda1", mounted("/mnt/data", false)), &["sda1 is mounted at /mnt/data"]);
    never(used("dm-0", mounted("/", true)), &["the system itself", "dm-0 is mounted at /"]);
    never(used("sda2", User::Swap), &["in use as swap", "swapoff"]);
    never(used("sda", held("dm-3", "dm-lvm")), &["held by dm-3 (dm-lvm)", "Stop or remove"]);
    never(used("sda", held("dm-4", "dm-multipath")), &["dm-multipath"]);
    never(used("sda1", held("md0", "md-raid1")), &["md0 (md-raid1)"]);
    never(used("sda", held("bcache0", "bcache")), &["bcache0"]);
    never(used("sda", held("loop3", "loop")), &["loop3 (loop)"]);
    never(used("sda", User::Member { filesystem: "btrfs".to_owned() }), &["member of a mounted btrfs", "Unmount"]);
    never(|block, _| block.uses = None, &["may be in use"]);
    never(|block, _| block.claimed = true, &["in use exclusively"]);
    never(|block, _| block.opened_by = vec!["dd (process 7)".to_owned()], &["open in dd (process 7)"]);
    never(
        |block, consent| {
            block.uses = Some(vec![Use { device: "sda1".to_owned(), by: mounted("/srv", false) }]);
            consent.journal = Some("/srv/runs".into());
        },
        &["the run's journal", "sda1 is mounted at /srv", "--out"],
    );
}

#[test]
fn a_reserved_drive_is_refused_as_is_one_that_would_not_say_and_keys_alone_are_no_reason() {
    let reserved = |state: Reserved| {
        move |block: &mut Block, _: &mut Consent| {
            block.reservations = vec![Reservation { drive: "sdb".to_owned(), state: state.clone() }];
        }
    };
    let keys = vec!["0xabc".to_owned()];
    let type_name = "write exclusive".to_owned();
    let held = Reserved::Persistent { type_name, holder: Some("0xabc".to_owned()), keys: keys.clone() };
    never(reserved(held), &["sdb has a persistent reservation (write exclusive), held by the key 0xabc", "sg_persist"]);
    never(reserved(Reserved::ByAnother), &["sdb is reserved for another host"]);
    never(reserved(Reserved::Unknown { why: "status 0x08".to_owned() }), &["knows reservations", "status 0x08"]);
    check(reserved(Reserved::Registered { keys }), &[]);
}

#[test]
fn what_could_not_be_looked_at_is_refused_and_its_use_goes_before() {
    let unread = |block: &mut Block, _: &mut Consent| block.contents.unread = Some("this user may not".to_owned());
    never(unread, &["not known well enough: this user may not"]);
    let resumed = |block: &mut Block, consent: &mut Consent| {
        unread(block, consent);
        consent.resumes = Some("this run".to_owned());
        block.contents.marked_by = Some("this run".to_owned());
    };
    never(resumed, &["this user may not"]);
    let used = used("sda", mounted("/", true));
    let both = |block: &mut Block, consent: &mut Consent| {
        unread(block, consent);
        used(block, consent);
    };
    never(both, &["the system itself"]);
}

#[test]
fn use_goes_before_the_name_and_the_name_before_what_lies_there() {
    let all_wrong = |block: &mut Block, consent: &mut Consent| {
        block.contents.signatures = vec!["XFS".to_owned()];
        consent.erase = vec!["another".to_owned()];
    };
    never(all_wrong, &["is not another"]);
    never(
        |block, consent| {
            all_wrong(block, consent);
            block.uses = Some(vec![Use { device: "sda".to_owned(), by: User::Swap }]);
        },
        &["swap"],
    );
}

#[test]
fn what_no_consent_makes_a_target_is_refused() {
    never(|block, _| block.partition_of = Some("sda".to_owned()), &["a partition of sda", "/dev/sda"]);
    never(|block, _| block.read_only = true, &["read-only"]);
    never(|block, _| block.zoned = Some("host-managed".to_owned()), &["zoned (host-managed)"]);
    never(|_, consent| consent.fill_volume = Some("/mnt".into()), &["--fill-volume", "no filesystem"]);
    never(|block, _| block.size = Bytes(50 * GB), &["the plan needs 100 GB"]);
    let pool = |available: Option<Bytes>| {
        move |block: &mut Block, _: &mut Consent| {
            let what = "/dev/sda on the thin pool vg-pool".to_owned();
            block.pool = Some(Pool { kind: PoolKind::Thin, available, what });
        }
    };
    never(pool(Some(Bytes(99 * GB))), &["thin pool vg-pool", "99.0 GB"]);
    never(pool(None), &["may not ask how much"]);
    check(pool(Some(Bytes(100 * GB))), &[]);
}

#[test]
fn storage_that_others_reach_wants_a_word_more() {
    let fabric = |block: &mut Block, _: &mut Consent| block.shared_storage = Some("nvme-tcp".to_owned());
    check(fabric, &["nvme-tcp", "--erase-shared"]);
    check(
        |block, consent| {
            fabric(block, consent);
            consent.shared_storage = true;
        },
        &[],
    );
}

#[test]
fn what_lies_there_is_named_and_wants_a_word_more() {
    let with = |signatures: &'static [&'static str], foreign: u32| {
        move |block: &mut Block, _: &mut Consent| {
            block.contents.signatures = signatures.iter().map(|name| (*name).to_owned()).collect();
            block.contents.foreign_blocks = foreign;
        }
    };
    check(with(&["LUKS"], 3), &["is not empty: LUKS, data in 3 of 600 sampled blocks", "--erase-contents"]);
    check(with(&["GPT partition table"], 0), &["GPT partition table"]);
    check(with(&[], 1), &["data in 1 of 600"]);
    check(
        |block, consent| {
            with(&["XFS"], 9)(block, consent);
            consent.erase_contents = true;
        },
        &[],
    );
    // What a run of ours left is nobody's.
    check(|block, _| block.contents.marked_by = Some("an earlier run".to_owned()), &[]);
}

#[test]
fn a_run_goes_on_only_where_the_device_is_as_it_left_it() {
    let resumed = |marker: Option<&'static str>| {
        move |block: &mut Block, consent: &mut Consent| {
            consent.resumes = Some("this run".to_owned());
            block.contents.marked_by = marker.map(str::to_owned);
        }
    };
    check(resumed(Some("this run")), &[]);
    never(resumed(None), &["does not hold run this run", "nothing"]);
    never(resumed(Some("another")), &["the marker of run another"]);
    never(
        |block, consent| {
            resumed(Some("this run"))(block, consent);
            block.contents.signatures = vec!["ext2/3/4".to_owned()];
        },
        &["ext2/3/4", "meanwhile"],
    );
}
