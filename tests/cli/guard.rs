//! The guard on real block devices: each situation is refused in the right words, and every byte of every device is as
//! it was.

mod races;
mod scene;

use std::fs::{self, File};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use storage_check_tests::loop_device::LoopDevice;
use storage_check_tests::rig::{Need as Rig, trial};
use storage_check_tests::{folder, run, wait};
use xshell::{Shell, cmd};

use super::plain;
use scene::{Detach, EXT4, MIB, SIZE, Scene, Swap, part};

/// What is so, how it is arranged, and what the refusal says.
type Situation = (&'static str, fn(&mut Scene) -> Result<()>, &'static [&'static str]);

pub(crate) fn trials() -> Vec<Trial> {
    let refused = SITUATIONS.iter().map(|&(what, arrange, says)| {
        trial(format!("a device is refused, and no byte changes: {what}"), &[Rig::LoopFs], move || check(arrange, says))
    });
    let others = [
        trial(
            "an empty device is taken by its name, also one with spaces, and through a symbolic link",
            &[Rig::LoopFs],
            taken,
        ),
        trial("the disk that carries / is refused", &[Rig::LoopFs], the_systems_own),
    ];
    refused.chain(others).chain(races::trials()).collect()
}

const SITUATIONS: &[Situation] = &[
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
            s.disk.make("mkfs.ext4", EXT4)?;
            s.mount(s.disk.path().to_owned(), &[])?;
            let out = s.disk.beside_image("mount").join("runs");
            fs::create_dir(&out)?;
            s.out = Some(out);
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
    ("too small", |s| s.profile("size = \"64MiB\"\nsegments = 4"), &["space"]),
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

/// Exit 3, the words, and the same bytes everywhere.
fn check(arrange: fn(&mut Scene) -> Result<()>, says: &[&str]) -> Result<()> {
    let mut scene = Scene::new()?;
    arrange(&mut scene)?;
    let home = folder::folder()?;
    let out = scene.out.clone().unwrap_or_else(|| home.path().join("out"));
    let mut arguments = ["run", "--target"].map(str::to_owned).to_vec();
    arguments.push(scene.target.display().to_string());
    arguments.extend(scene.erase.iter().flat_map(|identity| ["--erase".to_owned(), identity.clone()]));
    arguments.extend(["--profile".to_owned(), scene.disk.beside_image("profile/rig.toml").display().to_string()]);
    arguments.extend(scene.arguments.clone());
    arguments.extend(["--out".to_owned(), out.display().to_string()]);
    if scene.as_nobody {
        // Who may not read the device may not use it either; facts are all that it takes to know.
        let why = as_nobody(scene.disk.path())?;
        ensure!(says.iter().all(|words| why.contains(words)), "{why}");
        return Ok(());
    }
    let before = scene.digests()?;
    let ended = plain().call(home.path(), arguments).end()?.with_code(3)?;
    ended.says(says)?;
    if scene.out.is_none() {
        ensure!(scene.digests()? == before, "bytes changed");
        let report = run::report(&run::only(&out)?)?;
        ensure!(report["failure"]["kind"] == "refused", "{report}");
    }
    Ok(())
}

/// What the program says as the user `nobody`.
fn as_nobody(device: &Path) -> Result<String> {
    let home = tempfile::tempdir()?;
    // What the workspace is built in may be root's alone.
    let program = home.path().join("program");
    fs::copy(env!("CARGO_BIN_EXE_xtask"), &program)?;
    let shell = Shell::new()?;
    let path = home.path();
    cmd!(shell, "chmod -R a+rx {path}").quiet().run()?;
    let call = cmd!(
        shell,
        "setpriv --reuid=65534 --regid=65534 --clear-groups {program} storage-check plan --target {device}"
    );
    let output = call.quiet().ignore_status().output()?;
    ensure!(output.status.code() == Some(3), "{output:?}");
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// As far as `plan` goes, which writes nothing.
fn taken() -> Result<()> {
    let scene = Scene::new()?;
    let spaced = scene.disk.beside_image("disk  of two  spaces");
    fs::copy(scene.disk.image(), &spaced)?;
    let device = cmd!(scene.shell, "losetup -f --show {spaced}").quiet().read()?;
    let spaced_disk = Detach(device);
    let link = scene.disk.beside_image("by-id");
    symlink(&spaced_disk.0, &link)?;
    let profile = scene.disk.beside_image("profile/rig.toml").display().to_string();
    for (target, identity) in
        [(scene.disk.path(), scene.disk.image()), (Path::new(&spaced_disk.0), &spaced), (&link, &spaced)]
    {
        let (target, identity) = (target.display().to_string(), identity.display().to_string());
        let arguments = ["plan", "--target", &target, "--erase", &identity, "--profile", &profile];
        plain()
            .call(scene.disk.beside_image("").as_path(), arguments)
            .end()?
            .with_code(0)?
            .says(&["ALL of /dev/loop"])?;
    }
    Ok(())
}

/// Only looked at: `plan` opens it to read.
fn the_systems_own() -> Result<()> {
    let shell = Shell::new()?;
    let source = cmd!(shell, "findmnt -n -o SOURCE /").quiet().read()?;
    let Some(name) = source.strip_prefix("/dev/") else { return Ok(()) };
    // Of a partition or a volume the whole disk beneath.
    let found = cmd!(shell, "lsblk -n -s -l -o NAME /dev/{name}").quiet().read()?;
    let disk = found.lines().last().context("lsblk says nothing")?.trim().to_owned();
    let home = folder::folder()?;
    let target = format!("/dev/{disk}");
    let ended =
        plain().call(home.path(), ["plan", "--target", &target, "--erase", "whatever", "--erase-contents"]).end()?;
    // Also where a sandbox keeps root itself from its disk: the mounts tell.
    ended.with_code(3)?.says(&["the system itself", "never erased"])
}
