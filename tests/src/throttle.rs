//! A write throttle on a block device: a drive that gets slower while a test runs.
//!
//! cgroup v1 limits this process's own group; where only v2 exists, a group is made that the program enters.
//! Lifted when dropped.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

const V1: &str = "/sys/fs/cgroup/blkio";
const V1_FILE: &str = "blkio.throttle.write_bps_device";
const V2: &str = "/sys/fs/cgroup";

/// Limits what the program may write to one device.
#[derive(Debug)]
pub struct Throttle {
    device: String,
    group: Group,
}

#[derive(Debug)]
enum Group {
    /// The file that limits the group of this process and its children.
    V1(PathBuf),
    /// A group of the rig's own.
    V2(PathBuf),
}

/// Why this machine cannot throttle; none where it can.
#[must_use]
pub fn missing() -> Option<&'static str> {
    let v2 = fs::read_to_string(Path::new(V2).join("cgroup.controllers"));
    let can = v1_file().is_some_and(|file| file.exists())
        || v2.is_ok_and(|controllers| controllers.split_whitespace().any(|name| name == "io"));
    (!can).then_some("no cgroup that limits block I/O")
}

/// The file that limits this process's group under cgroup v1.
fn v1_file() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|name| name == "blkio").then(|| group.trim_start_matches('/').to_owned())
    })?;
    Some(Path::new(V1).join(group).join(V1_FILE))
}

impl Throttle {
    /// A throttle on the device of this number (`major:minor`), open at first.
    ///
    /// # Errors
    /// There is no cgroup to limit, or none could be made.
    pub fn new(device: String) -> Result<Throttle> {
        if let Some(file) = v1_file().filter(|file| file.exists()) {
            return Ok(Throttle { device, group: Group::V1(file) });
        }
        let root = Path::new(V2);
        write(&root.join("cgroup.subtree_control"), "+io")?;
        let group = root.join(format!("storage-check-rig-{}", std::process::id()));
        fs::create_dir_all(&group).context("making a cgroup")?;
        Ok(Throttle { device, group: Group::V2(group) })
    }

    /// Lets through this many bytes a second from now on.
    ///
    /// # Errors
    /// The kernel says no.
    pub fn limit(&self, bytes_per_s: u64) -> Result<()> {
        match &self.group {
            Group::V1(file) => write(file, &format!("{} {bytes_per_s}", self.device)),
            Group::V2(group) => write(&group.join("io.max"), &format!("{} wbps={bytes_per_s}", self.device)),
        }
    }

    /// Lets everything through again.
    ///
    /// # Errors
    /// The kernel says no.
    pub fn lift(&self) -> Result<()> {
        match &self.group {
            Group::V1(file) => write(file, &format!("{} 0", self.device)),
            Group::V2(group) => write(&group.join("io.max"), &format!("{} wbps=max", self.device)),
        }
    }

    /// The command that runs `program` where the limit holds.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        match &self.group {
            Group::V1(_) => Command::new(program),
            Group::V2(group) => {
                let mut command = Command::new("sh");
                let enter = "echo $$ > \"$0\" && exec \"$@\"";
                command.args(["-c", enter]).arg(group.join("cgroup.procs")).arg(program);
                command
            }
        }
    }
}

fn write(file: &Path, text: &str) -> Result<()> {
    let open = fs::OpenOptions::new().write(true).open(file);
    let written = open.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("writing {text:?} to {}", file.display()))
}

impl Drop for Throttle {
    fn drop(&mut self) {
        // The device may be gone already, and its limit with it.
        let _ = self.lift();
        if let Group::V2(group) = &self.group {
            let _ = fs::remove_dir(group);
        }
    }
}
