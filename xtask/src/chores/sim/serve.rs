//! `cargo xtask sim serve NAME --at DIR`: a simulated drive as a file and, as root, as a loop device, in real time.
//!
//! Owns what is made for it (folder, mount, loop device) and takes it away again, whatever ends it. The kernel stands
//! between the drive and its user; what reaches the drive, and when it answers, is in `serve/`.
#![expect(clippy::print_stderr, reason = "what a person must know beside the result")]

mod disk;
mod replies;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fuser::{BackgroundSession, Config, MountOption};
use harness::engine::sim::drive::Drive;
use harness::session::target::sim::PREFIX;
use rustix::mount::{UnmountFlags, unmount};
use signal_hook::consts::{SIGINT, SIGTERM};
use xshell::{Shell, cmd};

use self::disk::Disk;
use self::replies::Replies;

/// Which drive, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A drive as behind `sim:`: a name or a TOML file, changes behind a question mark
    #[arg(value_name = "NAME")]
    name: String,
    /// An empty folder, made if it is missing, that shows the drive as the file `disk`; its own disk keeps the data
    #[arg(long, value_name = "DIR")]
    at: PathBuf,
    /// Make a loop device of it, too (needs root)
    #[arg(long = "loop")]
    loop_device: bool,
}

/// How often it is looked whether the end has come.
const LOOK: Duration = Duration::from_millis(50);

/// Serves until SIGINT or SIGTERM. Who still uses the drive then may go on; a second signal pulls it away.
///
/// # Errors
/// There is no such drive, or a step of showing it failed; what was made until then is gone again.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let name = arguments.name.strip_prefix(PREFIX).unwrap_or(&arguments.name);
    let drive = Drive::parse(name, |path| fs::read_to_string(path))?;
    if let Some(fault) = drive.faults.first() {
        bail!("serving {name:?} failed: its file plants the fault {fault:?}, and a served drive has none; remove it");
    }
    let stop = stop_flag().context("handling signals")?;
    let folder = Folder::new(&arguments.at)?;
    let data = tempfile::tempfile_in(&folder.path)
        .with_context(|| format!("making a file for the drive's data in {} failed", folder.path.display()))?;
    let replies = Arc::new(Replies::default());
    let sender = thread::spawn({
        let replies = replies.clone();
        move || replies.send_when_due()
    });
    let disk = Disk::new(drive.model(0), data, drive.capacity.0, replies.clone())?;
    let file = folder.path.join(disk::NAME);
    let mount = Mount::new(disk, folder)?;
    let device = if arguments.loop_device { Some(LoopDevice::new(&file)?) } else { None };
    announce(device.as_ref().map_or(file.as_path(), |device| Path::new(&device.path)));
    eprintln!("{}, {}; SIGINT (Ctrl-C) or SIGTERM removes it again", drive.model, drive.capacity);
    while !stop.load(Ordering::Relaxed) && !mount.is_over() && !sender.is_finished() {
        thread::sleep(LOOK);
    }
    ensure!(!sender.is_finished(), "the thread that answers for the drive ended by itself");
    drop(device);
    mount.end()?;
    replies.close();
    let answered = sender.join().map_err(|_| anyhow::anyhow!("the thread that answers for the drive broke"))?;
    eprintln!("{answered}");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the result: what to measure")]
fn announce(path: &Path) {
    println!("{}", path.display());
}

/// Set by the first signal; the second ends the process.
fn stop_flag() -> std::io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 1, stop.clone())?;
        signal_hook::flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}

/// The folder to mount on; removed at the end if it was made for that.
struct Folder {
    path: PathBuf,
    made: bool,
}

impl Folder {
    fn new(path: &Path) -> Result<Folder> {
        let made = !path.exists();
        fs::create_dir_all(path).with_context(|| format!("making the folder {} failed", path.display()))?;
        let mut entries =
            fs::read_dir(path).with_context(|| format!("reading the folder {} failed", path.display()))?;
        ensure!(
            entries.next().is_none(),
            "{} is not empty: a drive shown there would hide what it has",
            path.display()
        );
        Ok(Folder { path: path.canonicalize()?, made })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.made {
            // Not while somebody uses the drive; an empty folder does no harm.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// The drive as a file system of one file.
struct Mount {
    session: Option<BackgroundSession>,
    folder: Folder,
}

impl Mount {
    fn new(disk: Disk, folder: Folder) -> Result<Mount> {
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("storage-check-sim".to_owned()), MountOption::NoAtime];
        let session = fuser::spawn_mount(disk, &folder.path, &config).with_context(|| {
            format!("mounting on {} failed; it needs /dev/fuse, and root or fusermount3", folder.path.display())
        })?;
        Ok(Mount { session: Some(session), folder })
    }

    /// Whether somebody else unmounted it, or it broke.
    fn is_over(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.guard.is_finished())
    }

    /// Takes mount and folder away, and waits until nobody uses the file any more.
    fn end(mut self) -> Result<()> {
        let Some(session) = self.session.take() else { return Ok(()) };
        let detached = session.guard.is_finished() || self.detach();
        drop(self);
        let ended = if detached {
            thread::sleep(LOOK);
            if !session.guard.is_finished() {
                eprintln!("the drive is in use and goes when that ends; a second signal pulls it away");
            }
            session.join()
        } else {
            // Only root may; who is not has the help of fusermount3.
            session.umount_and_join()
        };
        ended.context("unmounting the drive failed")
    }

    /// Whether the mount is gone; who has the file open keeps it.
    fn detach(&self) -> bool {
        unmount(&self.folder.path, UnmountFlags::DETACH).is_ok()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Something failed: nobody is waited for. Where this is not allowed, the session unmounts when it is dropped.
        if self.session.is_some() {
            self.detach();
        }
    }
}

/// The file as a block device.
struct LoopDevice {
    shell: Shell,
    path: String,
}

impl LoopDevice {
    fn new(file: &Path) -> Result<LoopDevice> {
        let shell = Shell::new()?;
        let path = cmd!(shell, "losetup --find --show --direct-io=on {file}").quiet().read();
        Ok(LoopDevice { path: path.context("making a loop device failed; it needs root")?, shell })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let path = &self.path;
        // Where it is in use, the kernel detaches it when that ends.
        let _ = cmd!(self.shell, "losetup --detach {path}").quiet().ignore_stderr().run();
    }
}
