//! A device in a situation: what else is there, what holds it, and how the program is called.

use std::any::Any;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Result;
use storage_check_tests::loop_device::LoopDevice;
use storage_check_tests::{profile, vm, wait};
use xshell::{Shell, cmd};

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const SIZE: u64 = 32 * MIB;

/// A device, what else is there, and how the program is called.
pub(crate) struct Scene {
    // What holds the device goes first.
    pub(crate) holders: Vec<Box<dyn Any>>,
    pub(crate) others: Vec<LoopDevice>,
    pub(crate) disk: LoopDevice,
    pub(crate) target: PathBuf,
    pub(crate) erase: Option<String>,
    pub(crate) arguments: Vec<String>,
    pub(crate) out: Option<PathBuf>,
    /// A file on the device whose bytes stay, where a filesystem on a partition of it must change.
    pub(crate) diary: Option<PathBuf>,
    pub(crate) as_nobody: bool,
    pub(crate) shell: Shell,
}

/// Nothing is left to the kernel to write later.
pub(crate) const EXT4: &[&str] = &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"];

impl Scene {
    pub(crate) fn new() -> Result<Scene> {
        let disk = LoopDevice::new(SIZE)?;
        let (target, erase) = (disk.path().to_owned(), Some(disk.image().display().to_string()));
        let (holders, others, arguments) = (Vec::new(), Vec::new(), Vec::new());
        let mut scene = Scene {
            holders,
            others,
            disk,
            target,
            erase,
            arguments,
            out: None,
            diary: None,
            as_nobody: false,
            shell: Shell::new()?,
        };
        scene.profile("size = \"8MiB\"\nsegments = 4")?;
        Ok(scene)
    }

    pub(crate) fn profile(&mut self, suite: &str) -> Result<()> {
        let folder = self.disk.beside_image("profile");
        fs::create_dir_all(&folder)?;
        profile::file(&folder, &profile::fill(suite)).map(|_| ())
    }

    pub(crate) fn mount(&mut self, device: PathBuf, options: &[&str]) -> Result<()> {
        let at = self.disk.beside_image("mount");
        self.mount_at(device, &at, options)
    }

    pub(crate) fn mount_at(&mut self, device: PathBuf, at: &Path, options: &[&str]) -> Result<()> {
        fs::create_dir(at)?;
        cmd!(self.shell, "mount {options...} {device} {at}").quiet().run()?;
        self.holders.insert(0, Box::new(Mounted(at.to_owned())));
        Ok(())
    }

    /// A partition table, which names one partition behind the first MiB.
    pub(crate) fn table(&self) -> Result<()> {
        let sectors = |bytes: u64| ((bytes / 512) as u32).to_le_bytes();
        let entry = [&[0, 0, 0, 0, 0x83, 0, 0, 0][..], &sectors(MIB), &sectors(SIZE - MIB)].concat();
        self.disk.put(446, &[&entry[..], &[0; 48], b"\x55\xaa"].concat())
    }

    /// That partition, told to the kernel: not every kernel reads tables.
    pub(crate) fn partition(&mut self) -> Result<()> {
        self.table()?;
        let (device, start, length) = (self.disk.path(), (MIB / 512).to_string(), ((SIZE - MIB) / 512).to_string());
        cmd!(self.shell, "addpart {device} 1 {start} {length}").quiet().run()?;
        self.holders.push(Box::new(Partition(self.disk.path().to_owned())));
        wait::until("the partition", Duration::from_secs(5), || Ok(part(&self.disk).exists().then_some(())))
    }

    /// A program that goes on until the scene ends.
    pub(crate) fn program(&mut self, command: &mut Command) -> Result<()> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let id = child.id();
        self.holders.insert(0, Box::new(Killed(child)));
        // It is itself when the shell has become it.
        wait::until("the program", Duration::from_secs(20), || {
            Ok(fs::read_to_string(format!("/proc/{id}/comm")).ok().filter(|name| name.trim() == "sleep"))
        })
        .map(|_| ())
    }

    /// Two devices with one filesystem; the second is the target.
    pub(crate) fn btrfs(&mut self) -> Result<()> {
        self.others = vec![LoopDevice::new(128 * MIB)?, LoopDevice::new(128 * MIB)?];
        let [first, second] = [0, 1].map(|n: usize| self.others[n].path().to_owned());
        cmd!(self.shell, "mkfs.btrfs -q {first} {second}").quiet().ignore_stdout().ignore_stderr().run()?;
        self.erase = Some(self.others[1].image().display().to_string());
        self.target = second;
        Ok(())
    }

    /// Hashes of all bytes of every device; of one with a filesystem that takes the reports, of all bytes outside its
    /// partition and of the file in it.
    pub(crate) fn digests(&self) -> Result<Vec<u64>> {
        let mut digests = self.others.iter().map(LoopDevice::digest).collect::<Result<Vec<_>>>()?;
        match &self.diary {
            None => digests.push(self.disk.digest()?),
            Some(diary) => {
                rustix::fs::sync();
                let outside = self.disk.beside_image("outside");
                fs::write(&outside, &fs::read(self.disk.image())?[..MIB as usize])?;
                digests.extend([vm::digest(&outside)?, vm::digest(diary)?]);
            }
        }
        Ok(digests)
    }
}

pub(crate) fn part(disk: &LoopDevice) -> PathBuf {
    PathBuf::from(format!("{}p1", disk.path().display()))
}

pub(crate) struct Mounted(pub(crate) PathBuf);
pub(crate) struct Partition(pub(crate) PathBuf);
pub(crate) struct Swap(pub(crate) PathBuf);
pub(crate) struct Detach(pub(crate) String);
pub(crate) struct Killed(pub(crate) Child);

impl Drop for Mounted {
    fn drop(&mut self) {
        let at = &self.0;
        let _ = Shell::new().map(|shell| cmd!(shell, "umount -R {at}").quiet().ignore_stderr().run());
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        let device = &self.0;
        let _ = Shell::new().map(|shell| cmd!(shell, "delpart {device} 1").quiet().run());
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        let device = &self.0;
        let _ = Shell::new().map(|shell| cmd!(shell, "swapoff {device}").quiet().run());
    }
}

impl Drop for Detach {
    fn drop(&mut self) {
        let device = &self.0;
        let _ = Shell::new().map(|shell| cmd!(shell, "losetup -d {device}").quiet().run());
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
