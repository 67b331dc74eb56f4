//! Simulated drives on the command line: measured, planned, resumed and judged like any other, and never silently.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use harness::journal::file;
use harness::journal::record::{FaultKind, Record, line};
use harness::sample::Fault;
use libtest_mimic::Trial;
use storage_check_tests::rig::trial;
use storage_check_tests::tool::Ended;
use storage_check_tests::{folder, profile, run};
use tempfile::TempDir;

use super::plain;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a simulated drive is measured, and everything says that it is simulated", &[], measured),
        trial("the same command gives the same figures, and --repeat others", &[], repeatable),
        trial("a plan on a simulated drive says what it would do", &[], planned),
        trial("an unknown simulated drive, change or fault is a usage error with what there is", &[], unknown),
        trial("what does not fit on a simulated drive, or asks for a filesystem, is refused", &[], refused),
        trial("a planted fault is found, named and placed: exit 1", &[], corrupt),
        trial("a simulated drive that goes away fails the run: exit 4 and reports", &[], gone),
        trial("--max-time is time of the simulated drive", &[], max_time),
        trial("a simulated run that was cut goes on from anywhere, as often as it is cut", &[], resumed),
        trial("a simulated run does not go on on another drive, or after its end", &[], not_resumed),
        trial("worse firmware on a simulated drive fails the build, the same firmware is held", &[], worse_firmware),
    ]
}

const FILL: &str = "size = '256MiB'\nsegments = 8\nblock = '1MiB'\nqueue_depth = 2\ninterval = '20ms'";
const RANDOM: &str = "levels = ['scratch']\nscratch = '64MiB'\nblock = '16KiB'\nqueue_depth = 4\nduration = '2s'\n\
    least_bytes = '0B'\ninterval = '100ms'";
const DRIVE: &str = "sim:consumer-tlc?scale=64";

/// A folder with a profile of both suites.
struct Home(TempDir);

impl Home {
    fn new() -> Result<Home> {
        let home = folder::folder()?;
        profile::file(home.path(), &profile::both(FILL, RANDOM))?;
        Ok(Home(home))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn call(&self, arguments: &str) -> Result<Ended> {
        plain().call(self.path(), arguments.split_whitespace()).end()
    }

    /// Measures `target` into the folder `out`.
    fn run(&self, target: &str, out: &str, more: &str) -> Result<Ended> {
        self.call(&format!("run --target {target} --profile rig.toml --out {out} {more}"))
    }

    fn runs(&self, out: &str) -> Vec<PathBuf> {
        folder::names(&self.path().join(out)).into_iter().map(|name| self.path().join(out).join(name)).collect()
    }
}

/// A journal's lines after its header, which has times of day.
fn lines(run: &Path) -> Result<Vec<String>> {
    Ok(file::records(run)?.iter().skip(1).map(line).collect())
}

fn measured() -> Result<()> {
    let home = Home::new()?;
    let ended = home.run(DRIVE, "runs", "")?.with_code(0)?;
    ended.says(&["SIM CONSUMER TLC 1TB", "simulated at 1/64 of its size", "the drive is simulated"])?;
    let run = run::only(&home.path().join("runs"))?;
    run::has_reports(&run)?;
    let report = run::report(&run)?;
    ensure!(report["target"]["kind"] == "sim", "{}", report["target"]);
    // Nothing of this machine explains a difference on a simulated drive.
    let environment = report["environment"].as_object().context("no environment")?;
    ensure!(environment.contains_key("drive.firmware") && !environment.contains_key("kernel"), "{environment:?}");
    let markdown = fs::read_to_string(run.join("report.md"))?;
    ensure!(markdown.contains("simulated"), "{markdown}");
    let journal = run::journal(&run)?;
    ensure!(journal.conservation().is_empty(), "{:?}", journal.conservation());
    Ok(())
}

fn repeatable() -> Result<()> {
    let home = Home::new()?;
    home.run(DRIVE, "a", "--repeat 2")?.with_code(0)?;
    home.run(DRIVE, "b", "")?.with_code(0)?;
    let (a, b) = (home.runs("a"), home.runs("b"));
    ensure!(a.len() == 2 && b.len() == 1, "{a:?} {b:?}");
    let (first, second, again) = (lines(&a[0])?, lines(&a[1])?, lines(&b[0])?);
    ensure!(first == again, "the same command gave other figures");
    ensure!(first != second, "a repetition gave the same figures");
    Ok(())
}

fn planned() -> Result<()> {
    let home = Home::new()?;
    let ended = home.call(&format!("plan --target {DRIVE} --profile fill-volume"))?.with_code(0)?;
    ended.says(&["simulated at 1/64", "in 1000 files", "erases    nothing: the drive is simulated"])?;
    ensure!(folder::names(home.path()) == ["rig.toml"], "a plan left {:?}", folder::names(home.path()));
    Ok(())
}

fn unknown() -> Result<()> {
    let home = Home::new()?;
    for command in ["run", "plan"] {
        for (target, says) in [
            ("sim:consumer-tcl", "consumer-tlc"),
            ("sim:", "consumer-tlc"),
            ("sim:consumer-tlc?slowr=8%", "slower"),
            ("sim:consumer-tlc?fault=currupt@5GB", "misplaced"),
            ("sim:absent.toml", "absent.toml"),
        ] {
            home.call(&format!("{command} --target {target}"))?.with_code(2)?.says(&[says])?;
        }
    }
    ensure!(folder::names(home.path()) == ["rig.toml"], "{:?} were left", folder::names(home.path()));
    Ok(())
}

fn refused() -> Result<()> {
    let home = Home::new()?;
    profile::file(home.path(), &profile::fill("size = '1TiB'\nsegments = 4"))?;
    home.run(DRIVE, "large", "")?.with_code(3)?.says(&["1.10 TB", "15.6 GB"])?;
    profile::file(home.path(), &profile::fill(FILL))?;
    home.run(DRIVE, "volume", "--fill-volume /")?.with_code(3)?.says(&["--fill-volume", "no filesystem"])?;
    let odd = format!("{FILL}\nverify = false").replace("'1MiB'", "'512B'");
    profile::file(home.path(), &profile::fill(&odd))?;
    home.run(DRIVE, "odd", "")?.with_code(3)?.says(&["512", "4096"])?;
    Ok(())
}

fn corrupt() -> Result<()> {
    let home = Home::new()?;
    let ended = home.run(&format!("{DRIVE}&fault=corrupt@100MiB,torn@200MiB"), "runs", "")?.with_code(1)?;
    ended.says(&["with faults corrupt@100MiB+4KiB, torn@200MiB+4KiB", "2 faults were planted"])?;
    let journal = run::journal(&run::only(&home.path().join("runs"))?)?;
    let found: Vec<_> = journal.faults.iter().map(|fault| (fault.what, fault.offset)).collect();
    let planted = [(Fault::Corrupt, 100 << 20), (Fault::Torn, 200 << 20)];
    ensure!(found == planted.map(|(fault, place)| (FaultKind::Verify(fault), Some(place))), "{found:?}");
    Ok(())
}

fn gone() -> Result<()> {
    let home = Home::new()?;
    home.run(&format!("{DRIVE}&fault=gone@1s"), "runs", "")?.with_code(4)?.says(&["the drive is gone"])?;
    run::has_reports(&run::only(&home.path().join("runs"))?)
}

fn max_time() -> Result<()> {
    let home = Home::new()?;
    home.run(DRIVE, "runs", "--max-time 3s")?.with_code(4)?.says(&["time limit"])?;
    let elapsed = run::report(&run::only(&home.path().join("runs"))?)?["elapsed_s"].as_f64().context("no time")?;
    ensure!((3.0..4.0).contains(&elapsed), "it ended after {elapsed} s");
    Ok(())
}

/// A copy of a run as a `kill -9` behind its first `count` records would have left it, its last line torn.
pub(super) fn cut(run: &Path, to: &Path, count: usize) -> Result<()> {
    fs::create_dir_all(to)?;
    let text = fs::read_to_string(run.join(file::NAME))?;
    let kept: String = text.split_inclusive('\n').take(count + 1).collect();
    Ok(fs::write(to.join(file::NAME), kept + "{\"kind\":\"samp")?)
}

fn resumed() -> Result<()> {
    let home = Home::new()?;
    home.run(DRIVE, "runs", "")?.with_code(0)?;
    let whole = run::only(&home.path().join("runs"))?;
    let count = file::records(&whole)?.len();
    for share in 1..8 {
        let (once, twice) = (home.path().join(format!("once-{share}")), home.path().join(format!("twice-{share}")));
        cut(&whole, &once, count * share / 8)?;
        home.call(&format!("run --resume {}", once.display()))?.with_code(0)?;
        cut(&once, &twice, file::records(&once)?.len() * 7 / 8)?;
        home.call(&format!("run --resume {}", twice.display()))?.with_code(0)?;
        let journal = run::journal(&twice)?;
        ensure!(journal.resumes >= 1 && journal.conservation().is_empty(), "{:?}", journal.conservation());
        ensure!(journal.phases.iter().all(|phase| phase.end_ns.is_some()), "not all was done");
        run::has_reports(&twice)?;
    }
    home.call(&format!("run --discard {}", home.path().join("once-1").display()))?.with_code(0)?;
    Ok(())
}

fn not_resumed() -> Result<()> {
    let home = Home::new()?;
    let drive = |mb_s: u32| {
        format!(
            "name = 'mine'\nproduct = 'MINE'\nfirmware = 'A'\ncapacity = '1GB'\nfitted = false\nsource = 'this test'\n\
             [model]\nlatency = '50us'\n[model.medium.plain]\nwrite = '{mb_s}MB/s'\nread = '500MB/s'\n"
        )
    };
    let path = home.path().join("mine.toml");
    fs::write(&path, drive(300))?;
    home.run("sim:mine.toml", "runs", "")?.with_code(0)?;
    let whole = run::only(&home.path().join("runs"))?;
    let half = home.path().join("half");
    cut(&whole, &half, file::records(&whole)?.len() / 2)?;
    fs::write(&path, drive(301))?;
    home.call(&format!("run --resume {}", half.display()))?.with_code(3)?.says(&["is not the drive any more"])?;
    // The refusal altered nothing: with the right drive it goes on.
    fs::write(&path, drive(300))?;
    home.call(&format!("run --resume {}", half.display()))?.with_code(0)?;

    home.run("sim:mine.toml", "short", "--max-time 2s")?.with_code(4)?;
    let short = run::only(&home.path().join("short"))?;
    home.call(&format!("run --resume {}", short.display()))?.with_code(3)?.says(&["keeps nothing beyond a run"])?;
    // A journal that this drive would not have written.
    let other = home.path().join("other");
    fs::create_dir_all(&other)?;
    let mut records = file::records(&whole)?;
    records.truncate(records.len() / 2);
    for record in &mut records {
        if let Record::Sample(sample) = record {
            sample.latency.max_ns += 1;
        }
    }
    let first = fs::read_to_string(whole.join(file::NAME))?.lines().next().context("an empty journal")?.to_owned();
    let text: String = std::iter::once(first).chain(records.iter().map(line)).map(|line| line + "\n").collect();
    fs::write(other.join(file::NAME), text)?;
    home.call(&format!("run --resume {}", other.display()))?.with_code(3)?.says(&["does not do again"])?;
    Ok(())
}

fn worse_firmware() -> Result<()> {
    let home = Home::new()?;
    home.run(DRIVE, "runs", "--repeat 3")?.with_code(0)?;
    let runs: Vec<String> = home.runs("runs").iter().map(|run| run.display().to_string()).collect();
    home.call(&format!("baseline accept {} --reason test", runs.join(" ")))?.with_code(0)?;
    home.run(&format!("{DRIVE}&seed=2"), "same", "")?.with_code(0)?.says(&["held"])?;
    let worse = home.run(&format!("{DRIVE}&firmware=FW02&slower=15%"), "worse", "")?.with_code(1)?;
    worse.says(&["regressed", "fill.mean_mb_s", "firmware"])?;
    Ok(())
}
