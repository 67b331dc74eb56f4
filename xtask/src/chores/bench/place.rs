//! Places to measure in: a folder and a memory disk of our own, removed at the end.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

/// A folder of our own, removed at the end.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(parent: &Path) -> Result<Folder> {
        let path = parent.join(format!("bench-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing can be done in a drop; the folder's name says whose it is.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A compressed memory disk of our own with an ext4 on it, mounted; all of it goes at the end.
pub(super) struct Zram<'a> {
    sh: &'a Shell,
    number: String,
    mount: Folder,
}

impl<'a> Zram<'a> {
    pub(super) fn new(sh: &'a Shell) -> Result<Zram<'a>> {
        let number = std::fs::read_to_string("/sys/class/zram-control/hot_add")
            .context("making a zram device needs root and the zram module")?
            .trim()
            .to_owned();
        let mount = Folder::new(&std::env::temp_dir())?;
        let zram = Zram { sh, number, mount };
        let (device, path) = (zram.device(), &zram.mount.0);
        std::fs::write(format!("/sys/block/zram{}/disksize", zram.number), "1G")?;
        cmd!(sh, "mkfs.ext4 -q {device}").quiet().run()?;
        cmd!(sh, "mount {device} {path}").quiet().run()?;
        Ok(zram)
    }

    fn device(&self) -> String {
        format!("/dev/zram{}", self.number)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.mount.0
    }
}

impl Drop for Zram<'_> {
    fn drop(&mut self) {
        let path = &self.mount.0;
        // Each step is tried whatever became of the one before; a device that is left shows in /sys/block.
        let _ = cmd!(self.sh, "umount {path}").quiet().ignore_stderr().run();
        let _ = std::fs::write(format!("/sys/block/zram{}/reset", self.number), "1");
        let _ = std::fs::write("/sys/class/zram-control/hot_remove", &self.number);
    }
}
