//! Runs on a whole device: what they write, what they leave, and how a killed one goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use harness::journal::record::{Outcome, PurgeGrade};
use libtest_mimic::Trial;
use storage_check_tests::loop_device::LoopDevice;
use storage_check_tests::rig::{Need, trial};
use storage_check_tests::throttle::Throttle;
use storage_check_tests::tool::Ended;
use storage_check_tests::{folder, profile, run};
use tempfile::TempDir;

use super::{plain, run_arguments};

const MIB: u64 = 1 << 20;
const SUITE: &str = "size = \"48MiB\"\nsegments = 12\nblock = \"256KiB\"\ninterval = \"20ms\"";
const RANDOM: &str = "levels = [\"scratch\"]\nscratch = \"16MiB\"\nblock = \"4KiB\"\nqueue_depth = 4\nsync = \"dsync\"\n\
    duration = \"200ms\"\nleast_bytes = \"0B\"\ninterval = \"20ms\"";

pub(crate) fn trials() -> Vec<Trial> {
    let needs = [Need::LoopFs];
    let throttled = [Need::LoopFs, Need::Throttle];
    vec![
        trial("a run on a device purges it, measures, and leaves nothing", &needs, leaves_nothing),
        trial("a run on a device that is not empty wants that said, and then takes it", &needs, contents_allowed),
        trial("a killed run on a device goes on and is whole", &throttled, goes_on),
        trial("mkfs on the device between kill and resume: refused, no byte changed", &throttled, mkfs_between),
        trial("a finished block that was changed between kill and resume: refused", &throttled, changed_between),
        trial("a new run on a device overwrites what a killed one left, and says so", &throttled, replaced),
        trial("a killed run on a device that is discarded leaves nothing", &throttled, discarded),
    ]
}

struct Bench {
    disk: LoopDevice,
    home: TempDir,
    profile: PathBuf,
}

impl Bench {
    fn new() -> Result<Bench> {
        let (disk, home) = (LoopDevice::new(64 * MIB)?, folder::folder()?);
        let profile = profile::file(home.path(), &profile::both(SUITE, RANDOM))?;
        Ok(Bench { disk, home, profile })
    }

    fn arguments(&self, out: &str, more: &[&str]) -> Vec<String> {
        let mut arguments = run_arguments(self.disk.path(), &self.profile, &self.home.path().join(out));
        arguments.extend(["--erase".to_owned(), self.disk.image().display().to_string()]);
        arguments.extend(more.iter().map(|&word| word.to_owned()));
        arguments
    }

    fn run(&self, out: &str, more: &[&str]) -> Result<Ended> {
        plain().call(self.home.path(), self.arguments(out, more)).end()
    }

    /// A run that was killed in the middle of its fill; the throttle is gone again.
    fn killed(&self) -> Result<PathBuf> {
        let throttle = Throttle::new(self.disk.number()?)?;
        throttle.limit(24 * MIB)?;
        let running = plain().throttled(&throttle, self.home.path(), self.arguments("out", &[])).start()?;
        let out = self.home.path().join("out");
        run::wait_for(&out, Duration::from_secs(20), |record| run::starts(record, "fill.write"))?;
        thread::sleep(Duration::from_millis(900));
        running.kill()?;
        run::only(&out)
    }

    fn again(&self, option: &str, run: &Path) -> Result<Ended> {
        plain().call(self.home.path(), ["run".into(), option.into(), run.as_os_str().to_owned()]).end()
    }

    fn is_empty(&self) -> Result<()> {
        rustix::fs::sync();
        let bytes = fs::read(self.disk.image())?;
        let at = bytes.iter().position(|byte| *byte != 0);
        ensure!(at.is_none(), "byte {at:?} of the device is not zero");
        Ok(())
    }
}

fn leaves_nothing() -> Result<()> {
    let bench = Bench::new()?;
    bench.run("out", &[])?.with_code(0)?;
    let run = run::only(&bench.home.path().join("out"))?;
    run::has_reports(&run)?;
    let journal = run::journal(&run)?;
    ensure!(matches!(journal.end, Some((Outcome::Complete, _))), "{:?}", journal.end);
    ensure!(journal.purge == Some(PurgeGrade::Discard), "{:?}", journal.purge);
    // A loop device promises nothing of what was discarded: that is said, and no sample proves anything.
    let looked = journal.purges.iter().all(|purge| purge.check.as_ref().is_some_and(|check| check.promise.is_none()));
    ensure!(journal.purges.len() == 2 && looked, "{:?}", journal.purges);
    ensure!(journal.purges.iter().all(|purge| purge.rested_ns.is_some()), "{:?}", journal.purges);
    let notes = run::report(&run)?["notes"].to_string();
    ensure!(notes.contains("purge in fill.purge: discard; not verifiable: the device does not promise"), "{notes}");
    ensure!(journal.phases[0].id == "fill.purge", "{:?}", journal.phases[0].id);
    ensure!(journal.header.environment.get("purge") == Some("discard"), "{:?}", journal.header.environment);
    ensure!(journal.header.environment.get("target.kind") == Some("device"), "{:?}", journal.header.environment);
    // All of it reached the device, and nothing else did.
    let fill = journal.phase("fill.write").and_then(|phase| phase.counted).context("not counted")?;
    ensure!(fill.device == fill.submitted, "{fill:?}");
    ensure!(journal.verify_errors() == 0, "{:?}", journal.faults);
    bench.is_empty()
}

fn contents_allowed() -> Result<()> {
    let bench = Bench::new()?;
    bench.disk.make("mkfs.ext4", &["-q", "-F"])?;
    bench.run("out", &[])?.with_code(3)?.says(&["ext2/3/4", "--erase-contents"])?;
    bench.run("again", &["--erase-contents"])?.with_code(0)?;
    bench.is_empty()
}

fn goes_on() -> Result<()> {
    let bench = Bench::new()?;
    let run = bench.killed()?;
    bench.again("--resume", &run)?.with_code(0)?;
    let journal = run::journal(&run)?;
    ensure!(matches!(journal.end, Some((Outcome::Complete, _))), "{:?}", journal.end);
    ensure!(journal.resumes == 1 && journal.conservation().is_empty(), "{:?}", journal.conservation());
    let write = journal.phase("fill.write").context("no fill")?;
    ensure!(write.finished.len() == 12, "{:?}", write.finished);
    ensure!(journal.verify_errors() == 0, "{:?}", journal.faults);
    bench.is_empty()
}

fn mkfs_between() -> Result<()> {
    let bench = Bench::new()?;
    let run = bench.killed()?;
    bench.disk.make("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"])?;
    let (before, journal) = (bench.disk.digest()?, fs::read(run.join("journal.jsonl"))?);
    bench.again("--resume", &run)?.with_code(3)?.says(&["ext2/3/4", "start a new one"])?;
    ensure!(bench.disk.digest()? == before, "bytes changed");
    ensure!(fs::read(run.join("journal.jsonl"))? == journal, "the journal was changed");
    Ok(())
}

/// In the first segment's first block, behind the margin.
fn changed_between() -> Result<()> {
    let bench = Bench::new()?;
    let run = bench.killed()?;
    bench.disk.put(MIB, &[0; 4096])?;
    let before = bench.disk.digest()?;
    bench.again("--resume", &run)?.with_code(3)?.says(&["segment 0", "start a new run"])?;
    ensure!(bench.disk.digest()? == before, "bytes changed");
    Ok(())
}

fn replaced() -> Result<()> {
    let bench = Bench::new()?;
    let dead = bench.killed()?;
    let name = dead.file_name().and_then(|name| name.to_str()).context("no name")?.to_owned();
    bench.run("next", &[])?.with_code(0)?.says(&[&name, "removed"])?;
    // What is gone cannot go on.
    bench.again("--resume", &dead)?.with_code(3)?.says(&["does not hold run"])
}

fn discarded() -> Result<()> {
    let bench = Bench::new()?;
    let run = bench.killed()?;
    bench.again("--discard", &run)?.with_code(0)?.says(&["freed"])?;
    bench.is_empty()
}
