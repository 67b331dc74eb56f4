//! A filesystem of its own: a file or a served simulated drive, a loop device on it with direct I/O, ext4, a mount.
//!
//! Taken apart again in the reverse order when dropped, whatever happened in between.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::FallocateFlags;
use rustix::process::Signal;
use tempfile::TempDir;
use xshell::{Shell, cmd};

use crate::tool::{Ended, Running, Tool};
use crate::{folder, wait};

/// ext4 on a loop device, mounted.
#[derive(Debug)]
pub struct LoopFs {
    // Dropped after `drop` has unmounted and detached, and removes image and mount point.
    folder: TempDir,
    shell: Shell,
    device: String,
    backing: Backing,
    mounted: bool,
    /// What the device's counter had when it was made: the kernel goes on with an earlier device's.
    written_before: u64,
}

/// What the loop device is on.
#[derive(Debug)]
enum Backing {
    Image,
    /// The program that serves a simulated drive. It made the device, and removes it.
    Served(Option<Running>),
}

impl LoopFs {
    /// A new one on `bytes` of this disk, allocated in full.
    ///
    /// # Errors
    /// A step failed; what was made until then is gone again.
    pub fn new(bytes: u64) -> Result<LoopFs> {
        let folder = folder::folder()?;
        let image = folder.path().join("image");
        let file = File::create(&image).context("making the image")?;
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes).context("allocating the image")?;
        fs::create_dir(folder.path().join("mount")).context("making the mount point")?;
        let shell = Shell::new()?;
        let device = cmd!(shell, "losetup -f --show --direct-io=on {image}").quiet().read()?;
        LoopFs { folder, shell, device, backing: Backing::Image, mounted: false, written_before: 0 }.ready()
    }

    /// A new one on a simulated drive that `tool` serves; `drive` is as behind `sim:`.
    ///
    /// # Errors
    /// A step failed; what was made until then is gone again.
    pub fn served(tool: &Tool, drive: &str) -> Result<LoopFs> {
        let folder = folder::folder()?;
        fs::create_dir(folder.path().join("mount")).context("making the mount point")?;
        let serving = tool.chore(folder.path(), ["sim", "serve", drive, "--at", "drive", "--loop"]).start()?;
        let device = serving.first_line()?;
        let (shell, backing) = (Shell::new()?, Backing::Served(Some(serving)));
        LoopFs { folder, shell, device, backing, mounted: false, written_before: 0 }.ready()
    }

    fn ready(mut self) -> Result<LoopFs> {
        self.written_before = written(&self.sysfs())?;
        self.make()?;
        self.mount("")?;
        Ok(self)
    }

    /// Takes it apart; what the program that served its drive said, if one did.
    ///
    /// # Errors
    /// Something still uses it, or the program did not end well.
    pub fn end(mut self) -> Result<Option<Ended>> {
        self.unmount()?;
        self.detach()
    }

    /// Makes the filesystem anew, as a person does who forgot that a run is not finished.
    ///
    /// # Errors
    /// A step failed.
    pub fn make_anew(&mut self) -> Result<()> {
        self.unmount()?;
        self.make()?;
        self.mount("")
    }

    /// Mounts it again with other options, such as `ro`.
    ///
    /// # Errors
    /// A step failed.
    pub fn remount(&mut self, options: &str) -> Result<()> {
        self.unmount()?;
        self.mount(options)
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("mount")
    }

    /// A folder beside the mount point, on the disk that carries the image.
    #[must_use]
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The device's number, `major:minor`.
    ///
    /// # Errors
    /// sysfs does not show it.
    pub fn number(&self) -> Result<String> {
        Ok(fs::read_to_string(self.sysfs().join("dev")).context("reading the device's number")?.trim().to_owned())
    }

    /// Bytes that the device was asked to write since it was made.
    ///
    /// # Errors
    /// sysfs does not show it.
    pub fn written(&self) -> Result<u64> {
        Ok(written(&self.sysfs())? - self.written_before)
    }

    /// The device's folder in sysfs.
    #[must_use]
    pub fn sysfs(&self) -> PathBuf {
        Path::new("/sys/block").join(self.device.trim_start_matches("/dev/"))
    }

    /// Makes everything durable, so that nothing is on its way to the device.
    ///
    /// # Errors
    /// The kernel says no.
    pub fn sync(&self) -> Result<()> {
        Ok(rustix::fs::syncfs(File::open(self.path())?)?)
    }

    fn make(&self) -> Result<()> {
        let device = &self.device;
        // Nothing is left to the kernel to do later: its writes would be counted as ours. No blocks for root
        // alone: the tests are root.
        let lazy = "lazy_itable_init=0,lazy_journal_init=0";
        // A drive that is judged by its bytes gets few that are not the test's.
        let small: &[&str] = match self.backing {
            Backing::Image => &[],
            Backing::Served(_) => &["-O", "^has_journal", "-N", "64"],
        };
        Ok(cmd!(self.shell, "mkfs.ext4 -q -F -m 0 -E {lazy} {small...} {device}").quiet().run()?)
    }

    fn detach(&mut self) -> Result<Option<Ended>> {
        let device = &self.device;
        match &mut self.backing {
            Backing::Image => {
                cmd!(self.shell, "losetup -d {device}").quiet().ignore_stderr().run()?;
                Ok(None)
            }
            Backing::Served(serving) => serving
                .take()
                .map(|serving| {
                    serving.signal(Signal::TERM)?;
                    serving.end()
                })
                .transpose(),
        }
    }

    fn mount(&mut self, options: &str) -> Result<()> {
        let (device, path) = (&self.device, self.path());
        let options = if options.is_empty() { "noatime".to_owned() } else { format!("noatime,{options}") };
        cmd!(self.shell, "mount -o {options} {device} {path}").quiet().run()?;
        self.mounted = true;
        Ok(())
    }

    fn unmount(&mut self) -> Result<()> {
        if !self.mounted {
            return Ok(());
        }
        let path = self.path();
        // A process that was just killed may still hold a file for a moment.
        wait::until("unmounting", Duration::from_secs(20), || {
            Ok(cmd!(self.shell, "umount {path}").quiet().ignore_stderr().run().ok())
        })?;
        self.mounted = false;
        Ok(())
    }
}

/// Bytes that a block device was asked to write, by its folder in sysfs.
///
/// # Errors
/// sysfs does not show it.
pub fn written(sysfs: &Path) -> Result<u64> {
    let stat = fs::read_to_string(sysfs.join("stat")).context("reading the device's counters")?;
    let sectors: u64 = stat.split_whitespace().nth(6).context("the device has no counter of writes")?.parse()?;
    Ok(sectors * 512)
}

impl Drop for LoopFs {
    fn drop(&mut self) {
        if self.unmount().is_err() {
            // Better detached late than left behind.
            let path = self.path();
            let _ = cmd!(self.shell, "umount -l {path}").quiet().ignore_stderr().run();
        }
        // After `end` there is nothing left to detach.
        let _ = self.detach();
    }
}
