//! Users who were given a device, and lose it: between check and open, between kill and resume, in mid-run.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use harness::journal::record::Record;
use harness::target::open::{OpenError, Purpose, open_device};
use harness::target::{Armed, Consent, Facts, Need, guard};
use harness::units::Bytes;
use libtest_mimic::Trial;
use rustix::io::Errno;
use rustix::process::Uid;
use storage_check_tests::loop_device::LoopDevice;
use storage_check_tests::rig::{Need as Rig, note, trial};
use storage_check_tests::throttle::Throttle;
use storage_check_tests::tool::{Running, Tool};
use storage_check_tests::{profile, run};
use tempfile::TempDir;
use xshell::{Shell, cmd};

use super::super::{plain, run_arguments};
use super::scene::{MIB, SIZE, Scene};

/// `nobody`, on every host.
const NOBODY: u32 = 65534;

pub(super) fn trials() -> Vec<Trial> {
    let throttled = [Rig::LoopFs, Rig::Throttle];
    vec![
        trial("a user who was given a device measures it to the end", &[Rig::LoopFs], given),
        trial("a device that is taken from its user between check and open is not written", &[Rig::LoopFs], taken_back),
        trial(
            "a device that is taken from its user between kill and resume: refused, no byte changed",
            &throttled,
            resumed,
        ),
        trial("a device that turns read-only in mid-run ends it with 4, the place named", &throttled, turned),
    ]
}

/// The program as the user `nobody` runs it, in a folder of that user's.
pub(super) struct Nobody(TempDir);

impl Nobody {
    pub(super) fn new() -> Result<Nobody> {
        // What the workspace is built in may be root's alone.
        let home = tempfile::tempdir()?;
        let (program, script) = (home.path().join("program"), home.path().join("as-nobody"));
        fs::copy(env!("CARGO_BIN_EXE_xtask"), &program)?;
        let call = format!(
            "#!/bin/sh\nexec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups '{}' \"$@\"\n",
            program.display()
        );
        fs::write(&script, call)?;
        for path in [home.path(), &program, &script] {
            fs::set_permissions(path, PermissionsExt::from_mode(0o755))?;
        }
        chown(home.path(), Some(NOBODY), Some(NOBODY))?;
        Ok(Nobody(home))
    }

    pub(super) fn tool(&self) -> Tool {
        Tool::new(&self.0.path().join("as-nobody").display().to_string())
    }

    pub(super) fn home(&self) -> &Path {
        self.0.path()
    }
}

/// A device node that belongs to `nobody` for a while.
struct Given(PathBuf);

impl Given {
    fn new(disk: &LoopDevice) -> Result<Given> {
        chown(disk.path(), Some(NOBODY), None)?;
        Ok(Given(disk.path().to_owned()))
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        let _ = chown(&self.0, Some(0), None);
    }
}

/// A device, a profile that takes a while under a throttle, and who measures.
struct Bench {
    disk: LoopDevice,
    nobody: Nobody,
    profile: PathBuf,
}

impl Bench {
    fn new() -> Result<Bench> {
        let (disk, nobody) = (LoopDevice::new(64 * MIB)?, Nobody::new()?);
        let suite = "size = \"48MiB\"\nsegments = 12\nblock = \"256KiB\"\ninterval = \"20ms\"";
        let profile = profile::file(nobody.home(), &profile::fill(suite))?;
        Ok(Bench { disk, nobody, profile })
    }

    fn out(&self) -> PathBuf {
        self.nobody.home().join("out")
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments = run_arguments(self.disk.path(), &self.profile, &self.out());
        arguments.extend(["--erase".to_owned(), self.disk.image().display().to_string()]);
        arguments
    }

    /// A run whose fill has finished its first segments and is far from its end.
    fn in_the_middle(&self, tool: &Tool, throttle: &Throttle) -> Result<Running> {
        throttle.limit(16 * MIB)?;
        let running = tool.throttled(throttle, self.nobody.home(), self.arguments()).start()?;
        let wrote = |record: &Record| matches!(record, Record::SegmentEnd { .. });
        run::wait_for(&self.out(), Duration::from_secs(30), wrote)?;
        Ok(running)
    }
}

fn given() -> Result<()> {
    let bench = Bench::new()?;
    let _given = Given::new(&bench.disk)?;
    bench.nobody.tool().call(bench.nobody.home(), bench.arguments()).end()?.with_code(0)?;
    run::has_reports(&run::only(&bench.out())?)
}

/// In a thread of its own, which becomes `nobody`: of a process, a thread alone may.
fn as_nobody<T: Send>(what: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let nobody = Uid::from_raw(NOBODY);
    let within = || {
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody)?;
        what()
    };
    thread::scope(|scope| scope.spawn(within).join()).map_err(|_| anyhow::anyhow!("the thread panicked"))?
}

fn taken_back() -> Result<()> {
    let scene = Scene::new()?;
    let given = Given::new(&scene.disk)?;
    let before = scene.digests()?;
    let consent = Consent { erase: scene.erase.clone().into_iter().collect(), ..Consent::default() };
    let device = scene.disk.path();
    let armed: Armed = as_nobody(|| {
        let facts = Facts::read_device(device)?;
        Ok(guard(facts, &Need { space: Bytes(8 * MIB), writes: Bytes(8 * MIB) }, &consent)?)
    })?;
    drop(given);
    let opened = as_nobody(|| Ok(open_device(&armed, "a-run", Purpose::New).map(|_| ())))?;
    ensure!(matches!(opened, Err(OpenError::Io { errno: Errno::ACCESS, .. })), "{opened:?}");
    ensure!(scene.digests()? == before, "bytes changed");
    Ok(())
}

fn resumed() -> Result<()> {
    let bench = Bench::new()?;
    let given = Given::new(&bench.disk)?;
    let throttle = Throttle::new(bench.disk.number()?)?;
    bench.in_the_middle(&bench.nobody.tool(), &throttle)?.kill()?;
    drop((throttle, given));
    let run = run::only(&bench.out())?;
    let (before, journal) = (bench.disk.digest()?, fs::read(run.join("journal.jsonl"))?);
    let arguments = ["run".to_owned(), "--resume".to_owned(), run.display().to_string()];
    let again = || bench.nobody.tool().call(bench.nobody.home(), &arguments).end();
    again()?.with_code(3)?.says(&["may not read the device", "root"])?;
    ensure!(bench.disk.digest()? == before, "bytes changed");
    ensure!(fs::read(run.join("journal.jsonl"))? == journal, "the journal was changed");
    // Given again, it goes on.
    let _given = Given::new(&bench.disk)?;
    again()?.with_code(0)?;
    Ok(())
}

fn turned() -> Result<()> {
    let (bench, other) = (Bench::new()?, LoopDevice::new(SIZE)?);
    let before = other.digest()?;
    let (shell, device) = (Shell::new()?, bench.disk.path().to_owned());
    let throttle = Throttle::new(bench.disk.number()?)?;
    let running = bench.in_the_middle(&plain(), &throttle)?;
    cmd!(shell, "blockdev --setro {device}").quiet().run()?;
    let ended = running.end()?;
    cmd!(shell, "blockdev --setrw {device}").quiet().run()?;
    ended.with_code(4)?;
    let report = run::report(&run::only(&bench.out())?)?;
    let message = report["failure"]["message"].as_str().context("no message")?;
    note(message);
    let named = message.strip_prefix("writing segment ").and_then(|rest| rest.split_once(" at byte "));
    let (segment, rest) = named.with_context(|| format!("no segment and byte in {message:?}"))?;
    let byte: u64 = rest.split(' ').next().unwrap_or_default().parse()?;
    ensure!(segment.parse::<u64>()? == byte / (4 * MIB) && byte > 0, "{message}");
    // From the place that is named on, up to the margin at the end, all is as it was; so is every other device.
    rustix::fs::sync();
    let bytes = fs::read(bench.disk.image())?;
    let rest = bytes.get(usize::try_from(MIB + byte)?..63 << 20).context("the image is cut")?;
    let changed = rest.iter().position(|byte| *byte != 0);
    ensure!(changed.is_none(), "byte {changed:?} behind {byte} changed");
    ensure!(other.digest()? == before, "another device was changed");
    Ok(())
}
