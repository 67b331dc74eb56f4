//! `kill -9` at any moment: the run goes on, or is given up, and nothing is lost or left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use harness::journal::record::Outcome;
use libtest_mimic::Trial;
use storage_check_tests::dice::{self, Dice};
use storage_check_tests::loop_fs::LoopFs;
use storage_check_tests::rig::{Need, note, trial};
use storage_check_tests::throttle::Throttle;
use storage_check_tests::tool::{Ended, Running, Tool};
use storage_check_tests::{folder, profile, run};
use tempfile::TempDir;

use super::{optimised, run_arguments};

const MIB: u64 = 1 << 20;
const SEGMENTS: u32 = 12;
const SEGMENT: u64 = 4 * MIB;
const RATE: u64 = 48 * MIB;
/// How long the fill takes under the throttle.
const FILL: Duration = Duration::from_millis(1000);
const SUITE: &str = "size = \"48MiB\"\nsegments = 12\nblock = \"256KiB\"\ninterval = \"20ms\"";
const KILLS: u32 = 20;

pub(crate) fn trials() -> Vec<Trial> {
    let needs = [Need::LoopFs, Need::Throttle];
    vec![
        trial("a fill that is killed at 20 random moments goes on and is whole", &needs, killed_often),
        trial("a run that was killed while it read back goes on and is whole", &needs, killed_in_read_back),
        trial("mkfs between kill and resume: refused, nothing written", &needs, mkfs_between),
        trial("a killed run that is discarded frees its space and says so", &needs, discarded),
        trial("a new run removes what a killed one left and says so", &needs, replaced),
        trial("a killed run whose finished file was changed meanwhile is refused", &needs, changed_meanwhile),
    ]
}

/// A throttled disk, and a run on it.
struct Bench {
    // The throttle goes before its device does.
    throttle: Throttle,
    disk: LoopFs,
    home: TempDir,
    profile: PathBuf,
    tool: Tool,
}

impl Bench {
    fn new() -> Result<Bench> {
        let disk = LoopFs::new(128 * MIB)?;
        let throttle = Throttle::new(disk.number()?)?;
        let home = folder::folder()?;
        let profile = profile::file(home.path(), &profile::fill(SUITE))?;
        Ok(Bench { throttle, disk, home, profile, tool: optimised()? })
    }

    fn out(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn start(&self, out: &str) -> Result<Running> {
        self.throttle.limit(RATE)?;
        let arguments = run_arguments(&self.disk.path(), &self.profile, &self.out(out));
        self.tool.throttled(&self.throttle, self.home.path(), arguments).start()
    }

    /// A run that was killed after `moment` of its fill.
    fn killed(&self, out: &str, moment: Duration) -> Result<PathBuf> {
        let running = self.start(out)?;
        run::wait_for(&self.out(out), Duration::from_secs(20), |record| run::starts(record, "fill.write"))?;
        thread::sleep(moment);
        running.kill()?;
        run::only(&self.out(out))
    }

    fn again(&self, option: &str, run: &Path) -> Result<Running> {
        let run = run.display().to_string();
        self.tool.throttled(&self.throttle, self.home.path(), ["run", option, run.as_str()]).start()
    }

    fn resumed(&self, run: &Path) -> Result<Ended> {
        self.throttle.lift()?;
        self.again("--resume", run)?.end()
    }
}

/// Every segment there once, verified, every byte accounted for, nothing left.
fn is_whole(bench: &Bench, run: &Path, resumes: u32) -> Result<()> {
    let journal = run::journal(run)?;
    ensure!(matches!(journal.end, Some((Outcome::Complete, _))), "{:?}", journal.end);
    ensure!(journal.resumes == resumes, "{} resumes in the journal, {resumes} done", journal.resumes);
    let broken = journal.conservation();
    ensure!(broken.is_empty(), "{broken:?}");
    for id in ["fill.write", "fill.read"] {
        let phase = journal.phase(id).with_context(|| format!("no {id}"))?;
        let whole = phase.finished.values().all(|(_, bytes)| bytes.0 == SEGMENT);
        let all = phase.finished.keys().copied().eq(0..SEGMENTS);
        ensure!(whole && all, "{id}: {:?}", phase.finished);
    }
    ensure!(journal.verify_errors() == 0, "{:?}", journal.faults);
    let planned = u64::from(SEGMENTS) * SEGMENT;
    let write = journal.phase("fill.write").context("no fill")?;
    ensure!(write.moved().0 == planned, "moved {:?}", write.moved());
    ensure!(journal.bytes_written().0 == planned + write.cut().0, "{:?} written", journal.bytes_written());
    ensure!(folder::scratch_in(&bench.disk.path()).is_empty(), "scratch is left");
    Ok(())
}

fn killed_often() -> Result<()> {
    let bench = Bench::new()?;
    let mut dice = Dice::new();
    note(&format!("{}={}", dice::SEED, dice.seed()));
    let (mut kills, mut lives) = (0, 0);
    while kills < KILLS {
        lives += 1;
        let again = format!("{}={}, run {lives} after {kills} kills", dice::SEED, dice.seed());
        kills += one_life(&bench, &mut dice, &format!("out-{lives}"), KILLS - kills).context(again)?;
    }
    Ok(())
}

/// A run that is killed once or more often, in its fill or on its way back to it, and then goes on to its end.
fn one_life(bench: &Bench, dice: &mut Dice, out: &str, most: u32) -> Result<u32> {
    let run = bench.killed(out, dice.span(FILL))?;
    let mut kills = 1;
    while kills < most && dice.below(2) == 0 {
        let running = bench.again("--resume", &run)?;
        thread::sleep(dice.span(FILL / 2));
        if running.kill()?.status.code().is_some() {
            // Little was left to do: it was over before the moment came.
            break;
        }
        kills += 1;
    }
    if !is_over(&run)? {
        bench.resumed(&run)?.with_code(0)?;
        run::has_reports(&run)?;
    }
    let resumes = run::journal(&run)?.resumes;
    ensure!((1..=kills + 1).contains(&resumes), "{resumes} resumes in the journal after {kills} kills");
    is_whole(bench, &run, resumes)?;
    Ok(kills)
}

/// Whether the journal has its end; what was killed after that only lacks reports.
fn is_over(run: &Path) -> Result<bool> {
    Ok(run::journal(run)?.end.is_some())
}

fn killed_in_read_back() -> Result<()> {
    let bench = Bench::new()?;
    let rest = profile::fill(&format!("{SUITE}\nsettle = \"30s\""));
    fs::write(&bench.profile, rest)?;
    bench.throttle.lift()?;
    let out = bench.out("out");
    let arguments = run_arguments(&bench.disk.path(), &bench.profile, &out);
    let running = bench.tool.throttled(&bench.throttle, bench.home.path(), arguments).start()?;
    run::wait_for(&out, Duration::from_secs(20), |record| run::ends(record, "fill.write"))?;
    running.kill()?;
    let run = run::only(&out)?;
    // The rest is part of the measurement, but not of this claim: a journal is text.
    let path = run.join("journal.jsonl");
    let text = fs::read_to_string(&path)?;
    ensure!(text.contains("\"rest_ns\":30000000000"), "the plan has no rest");
    fs::write(&path, text.replace("\"rest_ns\":30000000000", "\"rest_ns\":0"))?;
    bench.resumed(&run)?.with_code(0)?;
    is_whole(&bench, &run, 1)
}

fn mkfs_between() -> Result<()> {
    let mut bench = Bench::new()?;
    let run = bench.killed("out", FILL / 2)?;
    bench.throttle.lift()?;
    bench.disk.make_anew()?;
    bench.disk.sync()?;
    let (before, journal) = (bench.disk.written()?, fs::read(run.join("journal.jsonl"))?);
    bench.resumed(&run)?.with_code(3)?.says(&["filesystem was made anew", "start a new run"])?;
    bench.disk.sync()?;
    let written = bench.disk.written()? - before;
    ensure!(written == 0, "{written} bytes were written to the new filesystem");
    ensure!(fs::read(run.join("journal.jsonl"))? == journal, "the journal was changed");
    Ok(())
}

fn discarded() -> Result<()> {
    let bench = Bench::new()?;
    let run = bench.killed("out", FILL / 2)?;
    bench.throttle.lift()?;
    let left: u64 = folder::scratch_in(&bench.disk.path()).iter().map(|scratch| folder::allocated(scratch)).sum();
    ensure!(left >= SEGMENT, "only {left} bytes were left");
    let ended = bench.again("--discard", &run)?.end()?.with_code(0)?;
    ended.says(&["freed", &megabytes(left)])?;
    ensure!(folder::scratch_in(&bench.disk.path()).is_empty(), "scratch is left");
    // What is gone cannot go on.
    bench.resumed(&run)?.with_code(3).map(|_| ())
}

fn replaced() -> Result<()> {
    let bench = Bench::new()?;
    let dead = bench.killed("out", FILL / 2)?;
    bench.throttle.lift()?;
    let left: u64 = folder::scratch_in(&bench.disk.path()).iter().map(|scratch| folder::allocated(scratch)).sum();
    let name = dead.file_name().and_then(|name| name.to_str()).context("name")?.to_owned();
    let arguments = run_arguments(&bench.disk.path(), &bench.profile, &bench.out("next"));
    let ended = bench.tool.call(bench.home.path(), arguments).end()?.with_code(0)?;
    ended.says(&["freed", &megabytes(left), &name])?;
    ensure!(folder::names(&bench.disk.path()) == ["lost+found"], "something is left");
    is_whole(&bench, &run::only(&bench.out("next"))?, 0)
}

/// As people read it, to the megabyte.
fn megabytes(bytes: u64) -> String {
    harness::units::Bytes(bytes).to_string()
}

fn changed_meanwhile() -> Result<()> {
    let bench = Bench::new()?;
    let run = bench.killed("out", FILL / 2)?;
    let scratch = folder::scratch_in(&bench.disk.path()).pop().context("no scratch")?;
    let first = scratch.join("fill-0000");
    let length = fs::metadata(&first)?.len();
    fs::write(&first, vec![0; usize::try_from(length)?])?;
    bench.resumed(&run)?.with_code(3)?.says(&["segment 0", "start a new run"])
}
