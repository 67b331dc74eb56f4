//! Signals: the first ends a run in good order, the second at once.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use harness::journal::record::{Outcome, Record};
use libtest_mimic::Trial;
use rustix::process::Signal;
use storage_check_tests::loop_fs::LoopFs;
use storage_check_tests::rig::{Need, trial};
use storage_check_tests::throttle::Throttle;
use storage_check_tests::{folder, profile, run};

use super::{plain, run_arguments};

const MIB: u64 = 1 << 20;
const SUITE: &str = "size = \"64MiB\"\nsegments = 8\nblock = \"256KiB\"\ninterval = \"20ms\"";
/// Ending in good order takes an I/O, a clean-up and the reports.
const SOON: Duration = Duration::from_secs(5);

pub(crate) fn trials() -> Vec<Trial> {
    let needs = [Need::LoopFs, Need::Throttle];
    let at = |signal, when: fn(&Record) -> bool, suite: &'static str| move || ends_well(signal, when, suite);
    vec![
        trial("SIGINT in a fill: exit 4, reports, no scratch", &needs, at(Signal::INT, in_third_segment, SUITE)),
        trial("SIGTERM in a fill: exit 4, reports, no scratch", &needs, at(Signal::TERM, in_third_segment, SUITE)),
        trial("SIGINT while at rest: exit 4, reports, no scratch", &needs, at(Signal::INT, filled, RESTING)),
        trial("a second signal ends at once, and the run can go on", &needs, second_ends_at_once),
    ]
}

const RESTING: &str = "size = \"4MiB\"\nsegments = 2\nblock = \"256KiB\"\nsettle = \"1h\"";

fn in_third_segment(record: &Record) -> bool {
    matches!(record, Record::SegmentStart { segment: 2, .. })
}

fn filled(record: &Record) -> bool {
    run::ends(record, "fill.write")
}

fn ends_well(signal: Signal, when: impl Fn(&Record) -> bool, suite: &str) -> Result<()> {
    let disk = LoopFs::new(128 * MIB)?;
    let throttle = Throttle::new(disk.number()?)?;
    throttle.limit(32 * MIB)?;
    let home = folder::folder()?;
    let out = home.path().join("out");
    let profile = profile::file(home.path(), &profile::fill(suite))?;
    let running = plain().throttled(&throttle, home.path(), run_arguments(&disk.path(), &profile, &out)).start()?;
    run::wait_for(&out, Duration::from_secs(30), when)?;
    let sent = Instant::now();
    running.signal(signal)?;
    running.end()?.with_code(4)?.says(&["interrupted"])?;
    ensure!(sent.elapsed() < SOON, "it took {:?}", sent.elapsed());
    let run = run::only(&out)?;
    run::has_reports(&run)?;
    let report = run::report(&run)?;
    ensure!(report["failure"]["kind"] == "interrupted" && report["exit_code"] == 4, "{report}");
    let journal = run::journal(&run)?;
    ensure!(matches!(journal.end, Some((Outcome::Interrupted, _))), "{:?}", journal.end);
    ensure!(journal.conservation().is_empty(), "{:?}", journal.conservation());
    let finished = journal.phase("fill.write").context("no fill")?.finished.len();
    ensure!(finished >= 2, "{finished} segments were finished");
    ensure!(folder::names(&disk.path()) == ["lost+found"], "scratch is left");
    Ok(())
}

fn second_ends_at_once() -> Result<()> {
    let disk = LoopFs::new(128 * MIB)?;
    let throttle = Throttle::new(disk.number()?)?;
    throttle.limit(32 * MIB)?;
    let home = folder::folder()?;
    let out = home.path().join("out");
    let profile = profile::file(home.path(), &profile::fill(SUITE))?;
    let running = plain().throttled(&throttle, home.path(), run_arguments(&disk.path(), &profile, &out)).start()?;
    run::wait_for(&out, Duration::from_secs(30), in_third_segment)?;
    // What is in flight is through in 8 ms; the next completion is then two seconds off, and both signals are there before.
    throttle.limit(MIB / 8)?;
    thread::sleep(Duration::from_millis(40));
    running.signal(Signal::INT)?;
    // At the same moment two threads may take one each, and each be the first. Nobody types that fast.
    thread::sleep(Duration::from_millis(20));
    running.signal(Signal::TERM)?;
    running.end()?.with_code(4)?;
    let run = run::only(&out)?;
    ensure!(folder::names(&run) == ["journal.jsonl"], "it took its time: {:?}", folder::names(&run));
    ensure!(folder::scratch_in(&disk.path()).len() == 1, "the scratch folder is gone");
    throttle.lift()?;
    let run_text = run.display().to_string();
    plain().call(home.path(), ["run", "--resume", run_text.as_str()]).end()?.with_code(0)?;
    ensure!(run::journal(&run)?.conservation().is_empty(), "{:?}", run::journal(&run)?.conservation());
    Ok(())
}
