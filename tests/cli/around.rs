//! What a user puts around a run: a time limit, a command before it, a purge after it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use harness::journal::record::Outcome;
use libtest_mimic::Trial;
use storage_check_tests::loop_fs::LoopFs;
use storage_check_tests::rig::{Need, trial};
use storage_check_tests::tool::Ended;
use storage_check_tests::{folder, profile, run};
use tempfile::TempDir;

use super::{plain, run_arguments};

const MIB: u64 = 1 << 20;
const SMALL: &str = "size = \"16MiB\"\nsegments = 4\nblock = \"1MiB\"";

pub(crate) fn trials() -> Vec<Trial> {
    let needs = [Need::LoopFs];
    vec![
        trial("--max-time ends a run: exit 4, reports, no scratch", &needs, time_is_over),
        trial("a command before the run that fails: exit 4, its words in the reports, nothing measured", &needs, fails),
        trial("a command before the run is in the journal with its output", &needs, is_journalled),
        trial("--after purge tells the drive what is unused", &needs, purges),
    ]
}

/// A run on a disk of its own, with further options.
struct Bench {
    disk: LoopFs,
    home: TempDir,
}

impl Bench {
    fn new() -> Result<Bench> {
        Ok(Bench { disk: LoopFs::new(128 * MIB)?, home: folder::folder()? })
    }

    fn run(&self, profile: &str, options: &[&str]) -> Result<(Ended, PathBuf)> {
        let out = self.home.path().join("out");
        let profile = profile::file(self.home.path(), profile)?;
        let mut arguments = run_arguments(&self.disk.path(), &profile, &out);
        arguments.extend(options.iter().map(|&option| option.to_owned()));
        let ended = plain().call(self.home.path(), arguments).end()?;
        ensure!(folder::names(&self.disk.path()) == ["lost+found"], "scratch is left");
        Ok((ended, run::only(&out)?))
    }
}

fn time_is_over() -> Result<()> {
    let bench = Bench::new()?;
    let hour = "scratch = \"16MiB\"\nduration = \"1h\"\nleast_bytes = \"0B\"\ninterval = \"100ms\"\npurge = false";
    let (ended, run) = bench.run(&profile::random_write(hour), &["--max-time", "1s"])?;
    let ended = ended.with_code(4)?;
    ended.says(&["time limit"])?;
    ensure!((1.0..4.0).contains(&ended.took.as_secs_f64()), "it took {:?}", ended.took);
    run::has_reports(&run)?;
    let report = run::report(&run)?;
    ensure!(report["exit_code"] == 4 && report["failure"]["kind"] == "interrupted", "{report}");
    // What was measured until then is there.
    let mean = run::metric(&report, "random_write.scratch.mean_mb_s")?;
    ensure!(mean["value"].as_f64().is_some_and(|rate| rate > 0.0), "{mean}");
    let journal = run::journal(&run)?;
    ensure!(matches!(journal.end, Some((Outcome::Interrupted, _))), "{:?}", journal.end);
    ensure!(journal.conservation().is_empty(), "{:?}", journal.conservation());
    Ok(())
}

fn fails() -> Result<()> {
    let bench = Bench::new()?;
    let command = "echo no such firmware >&2; exit 3";
    let (ended, run) = bench.run(&profile::fill(SMALL), &["--before-run", command])?;
    ended.with_code(4)?.says(&["ended with 3", "no such firmware", "nothing was measured"])?;
    let names = folder::names(&run);
    ensure!(names == run::FILES[1..], "{names:?}");
    let message = run::report(&run)?["failure"]["message"].to_string();
    ensure!(message.contains("ended with 3") && message.contains("no such firmware"), "{message}");
    for name in &names {
        let text = fs::read_to_string(run.join(name))?;
        ensure!(text.contains("no such firmware"), "{name} does not say why:\n{text}");
    }
    Ok(())
}

fn is_journalled() -> Result<()> {
    let bench = Bench::new()?;
    let (ended, run) = bench.run(&profile::fill(SMALL), &["--before-run", "echo hi"])?;
    ended.with_code(0)?;
    let header = run::journal(&run)?.header;
    let record = header.before_run.context("no command in the journal")?;
    let seen = (record.command.as_str(), record.exit_code, record.output.as_str());
    ensure!(seen == ("echo hi", Some(0), "hi\n"), "{record:?}");
    Ok(())
}

/// A loop device gives what it is told is unused back to the disk that carries its image.
fn purges() -> Result<()> {
    let bench = Bench::new()?;
    let image = bench.disk.beside("image");
    let carried = || -> Result<u64> { Ok(fs::metadata(&image)?.blocks() * 512) };
    // `mkfs` has discarded: the fill brings the blocks back.
    let (ended, _) =
        bench.run(&profile::fill(&format!("{SMALL}\npurge = false\nverify = false")), &["--after", "leave"])?;
    ended.with_code(0)?;
    bench.disk.sync()?;
    let left = carried()?;
    fs::remove_dir_all(bench.home.path().join("out"))?;
    let (ended, run) = bench.run(&profile::fill(&format!("{SMALL}\npurge = false")), &["--after", "purge"])?;
    ended.with_code(0)?;
    run::has_reports(&run)?;
    let purged = carried()?;
    // All of the 16 MiB but what the filesystem itself wrote meanwhile.
    ensure!(purged + 15 * MIB <= left, "the disk carried {left} bytes, and carries {purged} after the purge");
    Ok(())
}
