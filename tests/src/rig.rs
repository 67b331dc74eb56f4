//! What a test needs of the machine, and how it says so when the machine lacks it.
//!
//! A test whose rig is missing is reported as ignored, with the reason in its kind: never as passed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use xshell::{Shell, cmd};

/// Something that not every machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A filesystem of its own on a loop device.
    LoopFs,
    /// A write throttle on a block device.
    Throttle,
    /// A simulated drive behind the kernel, with a filesystem on its loop device.
    ServedFs,
    /// A kernel and a policy that allow io_uring.
    IoUring,
    /// Real series with their truths.
    Corpus,
    /// A virtual machine, and a static build of the program to put into it.
    Vm,
    /// A command.
    Command(&'static str),
    /// A module of the `python3` on `PATH`.
    Python(&'static str),
}

impl Need {
    /// What is missing; none where it is there.
    #[must_use]
    pub fn missing(self) -> Option<String> {
        match self {
            Need::LoopFs => {
                let commands = ["losetup", "mkfs.ext4", "mount", "umount"];
                not_root()
                    .or_else(|| (!Path::new("/dev/loop-control").exists()).then(|| "no /dev/loop-control".to_owned()))
                    .or_else(|| commands.into_iter().find_map(|name| Need::Command(name).missing()))
            }
            Need::ServedFs => {
                Need::LoopFs.missing().or_else(|| (!Path::new("/dev/fuse").exists()).then(|| "no /dev/fuse".to_owned()))
            }
            Need::Throttle => not_root().or_else(|| crate::throttle::missing().map(str::to_owned)),
            Need::IoUring => harness::engine::uring::usable(1, 2).err().map(|why| format!("no io_uring: {why:?}")),
            Need::Corpus => {
                let folder = crate::corpus::folder();
                (!folder.join("truth.toml").is_file()).then(|| format!("{} has no truth.toml", folder.display()))
            }
            Need::Python(module) => python(module).err().map(|_| format!("no {module} for the python3 on PATH")),
            Need::Vm => crate::vm::missing(),
            Need::Command(name) => command(name).is_none().then(|| format!("no {name}")),
        }
    }
}

fn not_root() -> Option<String> {
    (!rustix::process::geteuid().is_root()).then(|| "not root".to_owned())
}

fn python(module: &str) -> xshell::Result<()> {
    let probe = format!("import {module}");
    let shell = Shell::new()?;
    cmd!(shell, "python3 -c {probe}").quiet().ignore_stderr().run()
}

/// Where a command is: on `PATH`, or where only root's has it.
#[must_use]
pub fn command(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// A test by its claim and its needs.
pub fn trial(
    claim: impl Into<String>,
    needs: &[Need],
    test: impl FnOnce() -> anyhow::Result<()> + Send + 'static,
) -> Trial {
    let missing: Vec<String> = needs.iter().filter_map(|need| need.missing()).collect();
    let trial = Trial::test(claim, move || test().map_err(|why| Failed::from(format!("{why:#}"))));
    if missing.is_empty() {
        return trial;
    }
    trial.with_ignored_flag(true).with_kind(format!("ignored: {}", missing.join(", ")))
}

/// Says what was measured, or the seed of what was drawn, beside the test's name.
#[expect(clippy::print_stdout, reason = "a test program speaks to whoever runs it")]
pub fn note(text: &str) {
    println!("{text}");
}

/// Runs tests one after the other: runs lock the drive that they measure.
#[must_use]
pub fn main(trials: Vec<Trial>) -> ExitCode {
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, trials).exit_code()
}
