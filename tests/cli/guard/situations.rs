//! The situations that loop devices can be in: what is so, how it is arranged, and what the refusal says.

use std::fs::{self, File};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use storage_check_tests::loop_device::LoopDevice;
use storage_check_tests::wait;
use xshell::cmd;

use super::scene::{Detach, EXT4, MIB, SIZE, Scene, Swap, part};

/// What is so, how it is arranged, and what the refusal says.
pub(super) type Situation = (&'static str, fn(&mut Scene) -> Result<()>, &'static [&'static str]);

pub(super) const SITUATIONS: &[Situation] = &[
    (
        "not named",
        |s| {
            s.erase = None;
            Ok(())
        },
        &["would be erased", "--erase"],
    ),
    (
        "another name",
        |s| {
            s.erase = Some("S123".to_owned());
            Ok(())
        },
        &["is not S123"],
    ),
    (
        "the kernel's name instead of an identity",
        |s| {
            s.erase = Some(s.target.display().to_string());
            Ok(())
        },
        &["is not /dev/loop"],
    ),
    (
        "the identity of another device",
        |s| {
            s.others.push(LoopDevice::new(SIZE)?);
            s.erase = s.others.last().map(|other| other.image().display().to_string());
            Ok(())
        },
        &["is not"],
    ),
    (
        "two devices with one identity",
        |s| {
            s.others.push(LoopDevice::beside(&s.disk)?);
            Ok(())
        },
        &["and so has loop"],
    ),
    (
        "mounted",
        |s| {
            s.disk.make("mkfs.ext4", EXT4)?;
            s.mount(s.disk.path().to_owned(), &[])
        },
        &["is mounted at", "Unmount"],
    ),
    (
        "mounted read-only",
        |s| {
            s.disk.make("mkfs.ext4", EXT4)?;
            s.mount(s.disk.path().to_owned(), &["-o", "ro"])
        },
        &["is mounted at"],
    ),
    (
        "mounted, and all allowed",
        |s| {
            s.disk.make("mkfs.ext4", EXT4)?;
            s.arguments.extend(["--erase-contents".to_owned(), "--erase-shared".to_owned()]);
            s.mount(s.disk.path().to_owned(), &[])
        },
        &["is mounted at", "--erase does not override use"],
    ),
    (
        "bind-mounted",
        |s| {
            s.disk.make("mkfs.ext4", EXT4)?;
            s.mount(s.disk.path().to_owned(), &[])?;
            let first = s.disk.beside_image("mount");
            let bound = s.disk.beside_image("bound");
            s.mount_at(first.clone(), &bound, &["--bind"])?;
            // Of the first mount only the bind is left.
            Ok(cmd!(s.shell, "umount -l {first}").quiet().run()?)
        },
        &["is mounted at", "bound"],
    ),
    (
        "mounted in another namespace",
        |s| {
            s.disk.make("mkfs.ext4", EXT4)?;
            let (device, at) = (s.disk.path().display().to_string(), s.disk.beside_image("private"));
            fs::create_dir(&at)?;
            let script = format!(
                "mount {device} {} && echo ready > {} && exec sleep 600",
                at.display(),
                s.disk.beside_image("ready").display()
            );
            s.program(Command::new("unshare").args(["-m", "--propagation", "private", "sh", "-c", &script]))?;
            let ready = s.disk.beside_image("ready");
            wait::until("the mount", Duration::from_secs(20), || {
                Ok(fs::read_to_string(&ready).ok().filter(|text| !text.is_empty()))
            })?;
            Ok(())
        },
        &["in use exclusively", "namespace"],
    ),
    (
        "the journal's folder on it",
        |s| {
            // The filesystem itself takes the reports: it has a part of the device for itself.
            s.partition()?;
            let part = part(&s.disk);
            cmd!(s.shell, "mkfs.ext4 -q {part}").quiet().ignore_stderr().run()?;
            s.mount(part, &[])?;
            let out = s.disk.beside_image("mount").join("runs");
            fs::create_dir(&out)?;
            let diary = out.with_file_name("diary");
            fs::write(&diary, vec![0x5a; 4 << 20])?;
            (s.out, s.diary) = (Some(out), Some(diary));
            Ok(())
        },
        &["the run's journal", "--out"],
    ),
    (
        "swap",
        |s| {
            s.disk.make("mkswap", &[])?;
            s.disk.make("swapon", &[])?;
            s.holders.push(Box::new(Swap(s.disk.path().to_owned())));
            Ok(())
        },
        &["in use as swap", "swapoff"],
    ),
    (
        "a partition",
        |s| {
            s.partition()?;
            s.target = part(&s.disk);
            Ok(())
        },
        &["is a partition of loop"],
    ),
    (
        "a partition mounted",
        |s| {
            s.partition()?;
            let part = part(&s.disk);
            cmd!(s.shell, "mkfs.ext4 -q {part}").quiet().ignore_stderr().run()?;
            s.mount(part, &[])
        },
        &["p1 is mounted at"],
    ),
    (
        "a loop device upon it",
        |s| {
            let device = s.disk.path().to_owned();
            let upon = cmd!(s.shell, "losetup -f --show {device}").quiet().read()?;
            s.holders.push(Box::new(Detach(upon)));
            Ok(())
        },
        &["is held by loop"],
    ),
    (
        "opened by another process",
        |s| {
            let device = s.disk.path().display().to_string();
            s.program(Command::new("sh").args(["-c", &format!("exec 3<{device}; exec sleep 600")]))
        },
        &["is open in sleep (process", "End that first"],
    ),
    (
        "opened exclusively by another process",
        |s| {
            let flags = rustix::fs::OFlags::EXCL.bits();
            let file = File::options().read(true).custom_flags(flags.cast_signed()).open(s.disk.path())?;
            s.holders.push(Box::new(file));
            Ok(())
        },
        &["is open in"],
    ),
    (
        "read-only",
        |s| {
            s.disk.attach_again(&["-r"])?;
            s.target = s.disk.path().to_owned();
            Ok(())
        },
        &["is read-only"],
    ),
    ("too small", |s| s.profile("size = \"64MiB\"\nsegments = 4"), &["31.5 MB to give", "needs 67.1 MB"]),
    (
        "a filesystem to be filled named instead",
        |s| {
            s.arguments.extend(["--fill-volume", "/mnt"].map(str::to_owned));
            Ok(())
        },
        &["no filesystem"],
    ),
    (
        "a character device",
        |s| {
            s.target = "/dev/null".into();
            Ok(())
        },
        &["character device"],
    ),
    (
        "no such device",
        |s| {
            s.target = "/dev/loop-that-is-not".into();
            Ok(())
        },
        &["no such folder"],
    ),
    (
        "a link to a device that is in use",
        |s| {
            s.disk.make("mkfs.ext4", EXT4)?;
            let link = s.disk.beside_image("by-id");
            symlink(s.disk.path(), &link)?;
            s.target = link;
            s.mount(s.disk.path().to_owned(), &[])
        },
        &["is mounted at"],
    ),
    (
        "a user who may not read it",
        |s| {
            s.as_nobody = true;
            Ok(())
        },
        &["may not read the device", "root"],
    ),
    ("ext4 on it", |s| s.disk.make("mkfs.ext4", EXT4), &["is not empty: ext2/3/4", "--erase-contents"]),
    ("swap space that is not in use", |s| s.disk.make("mkswap", &[]), &["is not empty: swap"]),
    ("a partition table and nothing else", |s| s.table(), &["MBR partition table"]),
    ("a GUID partition table and nothing else", |s| s.disk.put(512, b"EFI PART"), &["GPT partition table"]),
    (
        "the backup of a partition table alone",
        |s| s.disk.put(SIZE - 512, b"EFI PART"),
        &["GPT partition table (backup)"],
    ),
    ("LUKS", |s| s.disk.put(0, b"LUKS\xba\xbe\0\x02"), &["LUKS"]),
    ("a member of an array", |s| s.disk.put(4096, b"\xfc\x4e\x2b\xa9"), &["Linux RAID member"]),
    (
        "a member of an array, marked at its end",
        |s| s.disk.put(SIZE - 65536, b"\xfc\x4e\x2b\xa9"),
        &["Linux RAID member"],
    ),
    ("a physical volume of LVM", |s| s.disk.put(512, b"LABELONE"), &["LVM2 physical volume"]),
    ("a member of btrfs", |s| s.disk.put(65600, b"_BHRfS_M"), &["btrfs"]),
    ("a member of ZFS", |s| s.disk.put(131_072, &0x00ba_b10c_u64.to_le_bytes()), &["ZFS"]),
    (
        "a bcache device",
        |s| s.disk.put(4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
        &["bcache"],
    ),
    ("NTFS", |s| s.disk.put(3, b"NTFS    "), &["NTFS"]),
    ("a camera's card", |s| s.disk.put(82, b"FAT32   "), &["FAT"]),
    ("data without a signature", |s| s.disk.put(9 * MIB, &[0x5a; 4 << 20]), &["data in", "sampled blocks"]),
    ("data in its first bytes", |s| s.disk.put(100, b"dear diary"), &["data in 1 of"]),
    (
        "locked by another run",
        |s| {
            let name = s.disk.path().file_name().context("no name")?.to_owned();
            let lock = File::open(Path::new("/sys/block").join(name))?;
            rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
            s.holders.push(Box::new(lock));
            Ok(())
        },
        &["another run"],
    ),
];

/// Those of a filesystem of two devices.
pub(super) const BTRFS: &[Situation] = &[
    (
        "a member of a mounted btrfs, whose mount names another",
        |s| {
            s.btrfs()?;
            let (first, second) = (s.others[0].path().to_owned(), format!("ro,device={}", s.target.display()));
            s.mount(first, &["-o", &second])
        },
        &["is a member of a mounted btrfs filesystem", "Unmount"],
    ),
    ("the second member of a btrfs that is not mounted", Scene::btrfs, &["is not empty: btrfs"]),
];
