//! A block device of its own: a file, and a loop device on it with direct I/O; detached again when dropped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;
use xshell::{Shell, cmd};

use crate::{folder, vm, wait};

/// A loop device.
#[derive(Debug)]
pub struct LoopDevice {
    folder: TempDir,
    image: PathBuf,
    device: PathBuf,
    shell: Shell,
}

impl LoopDevice {
    /// A new one of so many bytes, all zeros, allocated in full.
    ///
    /// # Errors
    /// A step failed; what was made until then is gone again.
    pub fn new(bytes: u64) -> Result<LoopDevice> {
        let folder = folder::folder()?;
        let image = folder.path().join("image");
        let file = File::create(&image)?;
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes).context("allocating the image")?;
        LoopDevice::on(folder, image, &["--direct-io=on"])
    }

    /// A second one, on the same file as `other`.
    ///
    /// # Errors
    /// A step failed.
    pub fn beside(other: &LoopDevice) -> Result<LoopDevice> {
        LoopDevice::on(folder::folder()?, other.image.clone(), &["--direct-io=on"])
    }

    fn on(folder: TempDir, image: PathBuf, options: &[&str]) -> Result<LoopDevice> {
        let shell = Shell::new()?;
        let device = cmd!(shell, "losetup -f --show {options...} {image}").quiet().read()?.into();
        Ok(LoopDevice { folder, image, device, shell })
    }

    /// Detaches it, and attaches it with other options, such as `-r` or `-P`, under whatever name is free.
    ///
    /// # Errors
    /// A step failed.
    pub fn attach_again(&mut self, options: &[&str]) -> Result<()> {
        let (device, image, shell) = (&self.device, &self.image, &self.shell);
        cmd!(shell, "losetup -d {device}").quiet().run()?;
        self.device = cmd!(shell, "losetup -f --show {options...} {image}").quiet().read()?.into();
        Ok(())
    }

    /// `/dev/loopN`.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.device
    }

    /// The file behind it: the identity of a loop device.
    #[must_use]
    pub fn image(&self) -> &Path {
        &self.image
    }

    /// A path in a folder beside the image.
    #[must_use]
    pub fn beside_image(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The device's number, `major:minor`.
    ///
    /// # Errors
    /// sysfs does not show it.
    pub fn number(&self) -> Result<String> {
        let name = self.device.file_name().context("no name")?;
        Ok(fs::read_to_string(Path::new("/sys/block").join(name).join("dev"))?.trim().to_owned())
    }

    /// Writes bytes into the file behind.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put(&self, at: u64, bytes: &[u8]) -> Result<()> {
        vm::write_at(&self.image, at, bytes)?;
        // The device's own pages may be older.
        let device = &self.device;
        Ok(cmd!(self.shell, "blockdev --flushbufs {device}").quiet().run()?)
    }

    /// Makes a filesystem, or whatever else the program makes of a device.
    ///
    /// # Errors
    /// It failed.
    pub fn make(&self, program: &str, options: &[&str]) -> Result<()> {
        let device = &self.device;
        Ok(cmd!(self.shell, "{program} {options...} {device}").quiet().ignore_stdout().ignore_stderr().run()?)
    }

    /// A hash of all its bytes, after everything on its way has arrived.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn digest(&self) -> Result<u64> {
        rustix::fs::sync();
        vm::digest(&self.image)
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let (device, shell) = (&self.device, &self.shell);
        // A process that was just killed may still hold it for a moment; detached is then late, but done.
        let _ = wait::until("detaching", Duration::from_secs(5), || {
            Ok(cmd!(shell, "losetup -d {device}").quiet().ignore_stderr().run().ok())
        });
    }
}
