//! `kill -9` at any moment of a run with random writes: what was finished stays, and a level that was cut is
//! done again from its purge.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use harness::journal::file;
use harness::journal::record::{Header, Outcome, Preamble, PurgeGrade, Record, line};
use harness::journal::replay::Replay;
use harness::plan::phase::{Phase, Work};
use harness::units::Bytes;
use libtest_mimic::Trial;
use storage_check_tests::dice::{self, Dice};
use storage_check_tests::loop_fs::LoopFs;
use storage_check_tests::rig::{Need, note, trial};
use storage_check_tests::throttle::Throttle;
use storage_check_tests::tool::Running;
use storage_check_tests::{folder, profile, run};
use tempfile::TempDir;

use super::{plain, run_arguments};

const MIB: u64 = 1 << 20;
const RATE: u64 = 64 * MIB;
const FILL: &str = "size = \"32MiB\"\nsegments = 8\nblock = \"256KiB\"\ninterval = \"20ms\"";
const RANDOM: &str = "scratch = \"64MiB\"\nduration = \"2s\"\nleast_bytes = \"0B\"\ninterval = \"50ms\"";
/// How long both take under the throttle.
const RUN: Duration = Duration::from_millis(3600);
const KILLS: u32 = 20;
const LEVEL: &str = "random_write.scratch.";

pub(crate) fn trials() -> Vec<Trial> {
    let needs = [Need::LoopFs, Need::Throttle];
    vec![
        trial("random writes that are killed at 20 random moments go on and are whole", &needs, killed_often),
        trial("a level that was killed at rest before its writes is done again from its purge", &needs, killed_at_rest),
        trial("a level whose writes are done stays, though its file was still to be removed", &needs, cut_in_remove),
        trial("a run that was killed when all was removed goes on to its reports", &needs, cut_before_the_end),
    ]
}

/// A throttled disk, and a profile.
struct Bench {
    // The throttle goes before its device does.
    throttle: Throttle,
    disk: LoopFs,
    home: TempDir,
    profile: PathBuf,
}

impl Bench {
    fn new(random: &str) -> Result<Bench> {
        let disk = LoopFs::new(192 * MIB)?;
        let throttle = Throttle::new(disk.number()?)?;
        let home = folder::folder()?;
        let profile = profile::file(home.path(), &profile::both(FILL, random))?;
        throttle.limit(RATE)?;
        Ok(Bench { throttle, disk, home, profile })
    }

    fn out(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn start(&self, out: &str, options: &[&str]) -> Result<Running> {
        let mut arguments = run_arguments(&self.disk.path(), &self.profile, &self.out(out));
        arguments.extend(options.iter().map(|&option| option.to_owned()));
        plain().throttled(&self.throttle, self.home.path(), arguments).start()
    }

    fn resume(&self, run: &Path) -> Result<Running> {
        let run = run.display().to_string();
        plain().throttled(&self.throttle, self.home.path(), ["run", "--resume", run.as_str()]).start()
    }

    /// A run that nobody cut.
    fn whole(&self, out: &str, options: &[&str]) -> Result<PathBuf> {
        self.start(out, options)?.end()?.with_code(0)?;
        run::only(&self.out(out))
    }
}

fn killed_often() -> Result<()> {
    let bench = Bench::new(RANDOM)?;
    let uncut = run::report(&bench.whole("uncut", &[])?)?;
    let mut dice = Dice::new();
    note(&format!("{}={}", dice::SEED, dice.seed()));
    let (mut kills, mut lives, mut again) = (0, 0, 0);
    let mut met = BTreeMap::new();
    while kills < KILLS {
        lives += 1;
        let which = format!("{}={}, run {lives} after {kills} kills", dice::SEED, dice.seed());
        let run = one_life(&bench, &mut dice, &format!("out-{lives}"), &mut kills, &mut met).context(which.clone())?;
        again += is_whole(&bench, &run, &uncut).context(which)?;
    }
    note(&format!("{kills} kills in {lives} runs, in or after {met:?}; the level was done again {again} times"));
    ensure!(again > 0, "no kill met the level");
    Ok(())
}

/// A run that is killed once or more often, and then goes on to its end.
fn one_life(
    bench: &Bench,
    dice: &mut Dice,
    out: &str,
    kills: &mut u32,
    met: &mut BTreeMap<String, u32>,
) -> Result<PathBuf> {
    let mut running = bench.start(out, &[])?;
    run::wait_for(&bench.out(out), Duration::from_secs(20), |record| run::starts(record, "fill.write"))?;
    let run = run::only(&bench.out(out))?;
    loop {
        thread::sleep(dice.span(RUN));
        if running.kill()?.status.code().is_some() {
            // It was over before the moment came.
            break;
        }
        *kills += 1;
        let journal = run::journal(&run)?;
        let phase = journal.phases.last().map(|phase| phase.id.clone());
        *met.entry(phase.unwrap_or_default()).or_default() += 1;
        if *kills == KILLS || dice.below(4) == 0 || journal.end.is_some() {
            break;
        }
        running = bench.resume(&run)?;
    }
    // What was killed after its journal's end only lacks reports.
    if run::journal(&run)?.end.is_none() {
        bench.resume(&run)?.end()?.with_code(0)?;
        run::has_reports(&run)?;
        ensure!(run::report(&run)?["exit_code"] == 0, "the report has another exit code");
    }
    Ok(run)
}

/// Everything that was planned is there once, nothing else is left; gives how often the level was done again.
fn is_whole(bench: &Bench, run: &Path, uncut: &serde_json::Value) -> Result<u32> {
    let journal = run::journal(run)?;
    ensure!(matches!(journal.end, Some((Outcome::Complete, _))), "{:?}", journal.end);
    ensure!(journal.conservation().is_empty(), "{:?}", journal.conservation());
    ensure!(journal.verify_errors() == 0, "{:?}", journal.faults);
    ensure!(journal.purge == Some(PurgeGrade::Fstrim), "{:?}", journal.purge);
    let planned: Vec<&str> = journal.header.plan.phases.iter().map(|phase| phase.id.as_str()).collect();
    let done = journal.phases.iter().filter(|phase| phase.end_ns.is_some()).map(|phase| phase.id.as_str());
    let done: Vec<&str> = done.collect();
    ensure!(done == planned, "planned {planned:?}, done {done:?}");
    let write = journal.phase(&format!("{LEVEL}write")).context("no level")?;
    let rounds: Bytes = write.rounds.iter().map(|round| round.bytes).sum();
    ensure!(rounds == write.moved(), "rounds of {rounds:?}, {:?} moved", write.moved());
    ensure!(folder::names(&bench.disk.path()) == ["lost+found"], "scratch is left");
    if let Ok(report) = run::report(run) {
        let ids = |report: &serde_json::Value| -> Vec<String> {
            let metrics = report["metrics"].as_array().into_iter().flatten();
            metrics.map(|metric| metric["id"].to_string()).collect()
        };
        ensure!(ids(&report) == ids(uncut), "metrics {:?}, uncut {:?}", ids(&report), ids(uncut));
        ensure!(report["verdict"] == uncut["verdict"], "{}, uncut {}", report["verdict"], uncut["verdict"]);
    }
    goes_on_rightly(run, &journal)
}

/// After each cut the run went on with what was next, and what was finished before is there unchanged; gives how
/// often that was the level's first phase.
fn goes_on_rightly(run: &Path, whole: &Replay) -> Result<u32> {
    let records = records(run)?;
    let marks = records.iter().enumerate().filter(|(_, record)| matches!(record, Record::Resume { .. }));
    let mut again = 0;
    for (at, _) in marks {
        let before = Replay::new(records[..at].to_vec())?;
        let ended = |id: &str| before.phase(id).is_some_and(|phase| phase.end_ns.is_some());
        // Of a level nothing is finished before its writes are.
        let level_done = ended(&format!("{LEVEL}write"));
        let finished = |id: &str| ended(id) && (level_done || !id.starts_with(LEVEL));
        let next = before.header.plan.phases.iter().find(|phase| !finished(&phase.id));
        let until_next_cut = records[at + 1..].iter().take_while(|record| !matches!(record, Record::Resume { .. }));
        let went_on = until_next_cut.filter_map(started).next();
        if let Some(went_on) = went_on {
            let next = next.map(|phase| phase.id.as_str());
            let last = before.phases.last().map(|last| last.id.as_str()).unwrap_or_default();
            ensure!(next == Some(went_on), "cut in or after {last}: went on with {went_on}, not {next:?}");
            let begun = last.starts_with(LEVEL);
            again += u32::from(begun && went_on == format!("{LEVEL}purge"));
        }
        for kept in before.phases.iter().filter(|phase| finished(&phase.id)) {
            ensure!(whole.phase(&kept.id) == Some(kept), "{} is not what it was before the cut", kept.id);
        }
    }
    Ok(again)
}

fn started(record: &Record) -> Option<&str> {
    if let Record::PhaseStart { phase, .. } = record { Some(phase) } else { None }
}

fn records(run: &Path) -> Result<Vec<Record>> {
    let parsed = file::parse(&fs::read(run.join(file::NAME))?);
    Ok(parsed.map_err(|(line, why)| anyhow::anyhow!("line {line}: {why}"))?.0)
}

fn killed_at_rest() -> Result<()> {
    let bench = Bench::new(&format!("{RANDOM}\nidle = \"30s\""))?;
    let running = bench.start("out", &[])?;
    let prefilled = |record: &Record| run::ends(record, &format!("{LEVEL}prefill"));
    run::wait_for(&bench.out("out"), Duration::from_secs(20), prefilled)?;
    running.kill()?;
    let run = run::only(&bench.out("out"))?;
    // The rest is part of the measurement, but not of this claim: a journal is text.
    let path = run.join(file::NAME);
    let text = fs::read_to_string(&path)?;
    ensure!(text.contains("\"rest_ns\":30000000000"), "the plan has no rest");
    fs::write(&path, text.replace("\"rest_ns\":30000000000", "\"rest_ns\":0"))?;
    bench.resume(&run)?.end()?.with_code(0)?;
    let again = goes_on_rightly(&run, &run::journal(&run)?)?;
    ensure!(again == 1, "the level was done again {again} times");
    Ok(())
}

fn cut_in_remove() -> Result<()> {
    let bench = Bench::new(RANDOM)?;
    // With the files kept there is something to go on with; that they were to be removed is added.
    let run = bench.whole("out", &["--keep"])?;
    let (write, remove) = (format!("{LEVEL}write"), format!("{LEVEL}remove"));
    cut_after(
        &run,
        |record| run::ends(record, &write),
        |header| {
            let done = header.plan.phase(&write).cloned();
            header.plan.phases.extend(done.map(|phase| Phase { id: remove.clone(), work: Work::Remove, ..phase }));
        },
    )?;
    let begun = Record::PhaseStart { phase: remove, at_ns: run::journal(&run)?.last_ns };
    OpenOptions::new().append(true).open(run.join(file::NAME))?.write_all((line(&begun) + "\n").as_bytes())?;
    bench.resume(&run)?.end()?.with_code(0)?;
    let again = goes_on_rightly(&run, &run::journal(&run)?)?;
    ensure!(again == 0, "a level that was measured is measured again");
    ensure!(folder::names(&bench.disk.path()) == ["lost+found"], "scratch is left");
    Ok(())
}

fn cut_before_the_end() -> Result<()> {
    let bench = Bench::new(RANDOM)?;
    let run = bench.whole("out", &[])?;
    cut_after(&run, |record| run::ends(record, &format!("{LEVEL}remove")), |_| ())?;
    bench.resume(&run)?.end()?.with_code(0)?;
    run::has_reports(&run)?;
    ensure!(folder::names(&bench.disk.path()) == ["lost+found"], "scratch is left");
    Ok(())
}

/// Cuts a journal as a kill after this record would have, with a plan that may be another, and takes the reports away.
fn cut_after(run: &Path, last: impl Fn(&Record) -> bool, plan: impl FnOnce(&mut Header)) -> Result<()> {
    let mut records = records(run)?;
    let at = records.iter().position(last).context("no such record")?;
    records.truncate(at + 1);
    if let Some(Record::Header(header)) = records.first_mut() {
        plan(header);
    }
    let lines: Vec<String> = records.iter().map(line).collect();
    fs::write(run.join(file::NAME), format!("{}\n{}\n", line(&Preamble::ours()), lines.join("\n")))?;
    for report in run::FILES.iter().filter(|&&name| name != file::NAME) {
        fs::remove_file(run.join(report))?;
    }
    Ok(())
}
