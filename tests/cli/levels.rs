//! Random writes at several fill levels: one answer a level, and the slope over them where three are steady.
//!
//! What is steady takes minutes a level: a real filesystem shows the levels, a journal that is made up the slope.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use harness::journal::file::{self, Writer};
use harness::journal::record::{Counted, Header, Outcome, PurgeGrade, Record, Round};
use harness::plan::phase::{Capacity, Phase, Plan, Work};
use harness::plan::profile::Profile;
use harness::sample::Sample;
use harness::target::Facts;
use harness::units::{Bytes, Nanos};
use libtest_mimic::Trial;
use serde_json::Value;
use storage_check_tests::loop_fs::LoopFs;
use storage_check_tests::rig::{Need, note, trial};
use storage_check_tests::{folder, profile, run};

use super::{plain, run_arguments};

const GIB: u64 = 1 << 30;
const LEVELS: [(&str, f64); 3] = [("25pct", 0.25), ("50pct", 0.50), ("75pct", 0.75)];
const NAMES: &str = "levels = [\"25pct\", \"50pct\", \"75pct\"]";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("three levels of a 3 GiB filesystem: one answer a level, honestly too short", &[Need::LoopFs], too_short),
        trial("three steady levels give the slope over free space and its error", &[], three_steady),
        trial("with a level that is not steady there is no slope, and the reason", &[], one_lost),
    ]
}

fn too_short() -> Result<()> {
    let disk = LoopFs::new(3 * GIB)?;
    let home = folder::folder()?;
    let suite = format!("{NAMES}\nduration = \"6s\"\nleast_bytes = \"1MiB\"\ninterval = \"500ms\"");
    let profile = profile::file(home.path(), &profile::random_write(&suite))?;
    let out = home.path().join("out");
    let mut arguments = run_arguments(&disk.path(), &profile, &out);
    arguments.extend(["--fill-volume".to_owned(), disk.path().display().to_string()]);
    plain().call(home.path(), arguments).end()?.with_code(0)?;
    ensure!(folder::names(&disk.path()) == ["lost+found"], "scratch is left");

    let run = run::only(&out)?;
    let (report, journal) = (run::report(&run)?, run::journal(&run)?);
    ensure!(journal.conservation().is_empty(), "{:?}", journal.conservation());
    ensure!(journal.purge == Some(PurgeGrade::Fstrim), "{:?}", journal.purge);
    let plan = &journal.header.plan;
    let drive = plan.drive.context("the drive's size")?;
    ensure!(drive == Bytes(3 * GIB) && plan.skipped.is_empty(), "{drive:?} {:?}", plan.skipped);
    let answers = report["findings"]["random_write"].as_array().context("no levels")?;
    ensure!(answers.len() == LEVELS.len(), "{} answers", answers.len());
    for ((level, share), answer) in LEVELS.iter().zip(answers) {
        is_an_answer(&report, answer, level)?;
        let write = plan.phase(&format!("random_write.{level}.write")).context("no level")?;
        let Work::RandomWrite { least_ns, least_bytes, most_bytes, .. } = write.work else {
            panic!("{:?}", write.work)
        };
        let planned = (least_ns, least_bytes, most_bytes);
        ensure!(planned == (Nanos::from_secs(6), Bytes(1 << 20), None), "{level}: {planned:?}");
        // What others use counts, to a block of the prefill.
        let used = (plan.in_use.unwrap_or_default().0 + write.layout.bytes().0) as f64 / drive.0 as f64;
        ensure!((share - 0.001..=*share).contains(&used), "{level}: {used} of the drive are in use");
        ensure!(answer["seconds"].as_f64().is_some_and(|seconds| (6.0..8.0).contains(&seconds)), "{answer}");
    }
    ensure!(report["findings"]["fsef"].is_null(), "{}", report["findings"]["fsef"]);
    let slope = run::metric(&report, "random_write.fsef_mb_s_per_gb")?;
    ensure!(slope["value"].is_null() && slope["reason"] == "too-short", "{slope}");
    Ok(())
}

/// The level has means and percentiles, and says that it was too short for more.
fn is_an_answer(report: &Value, answer: &Value, level: &str) -> Result<()> {
    ensure!(answer["level"] == level, "{answer}");
    ensure!(answer["steady"]["state"] == "too-short" && answer["steady"]["mb_s"].is_null(), "{}", answer["steady"]);
    let metric = |name: &str| run::metric(report, &format!("random_write.{level}.{name}"));
    let steady = metric("steady_mb_s")?;
    ensure!(steady["value"].is_null() && steady["reason"] == "too-short", "{steady}");
    for name in ["mean_mb_s", "p99_us", "p999_us"] {
        ensure!(metric(name)?["value"].as_f64().is_some_and(|value| value > 0.0), "{}", metric(name)?);
    }
    let ratios = answer["counter_ratios"].as_object().context("counter_ratios")?;
    let fair = |ratio: &Value| ratio.as_f64().is_some_and(|ratio| (0.98..=1.10).contains(&ratio));
    ensure!(ratios.len() == 2 && ratios.values().all(fair), "{ratios:?}");
    note(&format!("{level}: mean {} MB/s, device counted {ratios:?}", metric("mean_mb_s")?["value"]));
    Ok(())
}

/// MB/s of the rounds: a plateau until 90 GB are written, then a level that lasts until the range is overwritten.
fn settles_at(mb_s: f64) -> Vec<f64> {
    [vec![500.0; 3], vec![mb_s; 17]].concat()
}

fn three_steady() -> Result<()> {
    let home = folder::folder()?;
    let run = made_up(home.path(), [settles_at(360.0), settles_at(250.0), settles_at(150.0)])?;
    let report = judged(home.path(), &run)?;
    for (level, mb_s) in ["25pct", "50pct", "75pct"].iter().zip([360.0, 250.0, 150.0]) {
        let steady = run::metric(&report, &format!("random_write.{level}.steady_mb_s"))?;
        ensure!(steady["value"] == mb_s, "{steady}");
        near("p99", &run::metric(&report, &format!("random_write.{level}.p99_us"))?["value"], 100.0)?;
    }
    // Free are 75, 50 and 25 GB. By hand: slope 5250 / 1250, residuals 5/3, -10/3, 5/3 about the line.
    let fsef = &report["findings"]["fsef"];
    near("slope", &fsef["mb_s_per_gb"], 4.2)?;
    near("its error", &fsef["standard_error"], (50.0_f64 / 3.0 / 1_250.0).sqrt())?;
    ensure!(fsef["levels"] == 3, "{fsef}");
    near("metric", &run::metric(&report, "random_write.fsef_mb_s_per_gb")?["value"], 4.2)
}

fn one_lost() -> Result<()> {
    let home = folder::folder()?;
    let lost = [settles_at(150.0), vec![75.0; 3]].concat();
    let run = made_up(home.path(), [settles_at(360.0), settles_at(250.0), lost])?;
    let report = judged(home.path(), &run)?;
    let state = &report["findings"]["random_write"][2]["steady"]["state"];
    ensure!(state == "lost", "{state}");
    ensure!(report["findings"]["fsef"].is_null(), "{}", report["findings"]["fsef"]);
    let slope = run::metric(&report, "random_write.fsef_mb_s_per_gb")?;
    ensure!(slope["value"].is_null() && slope["reason"] == "lost", "{slope}");
    Ok(())
}

fn near(what: &str, found: &Value, expected: f64) -> Result<()> {
    let found = found.as_f64().with_context(|| format!("{what}: {found}"))?;
    ensure!((found / expected - 1.0).abs() < 5e-3, "{what}: {found}, expected {expected}");
    Ok(())
}

/// What `judge` says of a run.
fn judged(home: &Path, run: &Path) -> Result<Value> {
    let arguments = ["judge", &run.display().to_string(), "--out", "reports"].map(str::to_owned);
    plain().call(home, arguments).end()?.with_code(0)?;
    run::report(&run::only(&home.join("reports"))?)
}

/// A journal of three levels on a drive of 100 GB, a row of rounds a level, that nobody measured.
fn made_up(home: &Path, rounds: [Vec<f64>; 3]) -> Result<PathBuf> {
    let drive = Bytes(100_000_000_000);
    let suite = format!("{NAMES}\nduration = \"20min\"\nleast_bytes = \"1GiB\"");
    let profile = Profile::parse(&profile::random_write(&suite))?;
    let plan = Plan::new(&profile, Capacity { usable: drive, drive: Some(drive), in_use: Some(Bytes(0)) })?;
    let run = home.join("made-up");
    std::fs::create_dir(&run)?;
    let mut journal = Writer::create(&run.join(file::NAME), 1 << 20)?;
    let header: Header = serde_json::from_value(serde_json::json!({
        "run": "made-up", "started": "2026-11-30T13:24:02Z", "profile": profile.to_toml(),
        "fingerprint": profile.fingerprint(), "seed": 1, "engine": "made-up", "plan": plan, "facts": Facts::read(home)?,
        "environment": {},
    }))?;
    journal.append(&Record::Header(Box::new(header)))?;
    let mut rounds = rounds.iter();
    let mut now = Nanos(0);
    for phase in &plan.phases {
        let work: Vec<(f64, u64)> = match phase.work {
            Work::Fill => vec![(phase.layout.bytes().0 as f64 / 100e6, 100)],
            Work::RandomWrite { .. } => rounds.next().context("rounds")?.iter().map(|&mb_s| (mb_s, 60)).collect(),
            _ => Vec::new(),
        };
        for record in records(phase, &work, &mut now) {
            journal.append(&record)?;
        }
    }
    journal.append(&Record::End { at_ns: now, outcome: Outcome::Complete, reason: None })?;
    journal.finish()?;
    Ok(run)
}

/// A thousand I/Os of 100 µs, as journals have it.
const HISTOGRAM: &str = "HISTFAAAACZ42pNpmSzMwMDAwgABTFCakYGB2c1gxwIG+w8QgVbRC/wAY94Fxw==";

/// A phase of steps, each at so many MB/s for so many seconds.
fn records(phase: &Phase, steps: &[(f64, u64)], now: &mut Nanos) -> Vec<Record> {
    let name = || phase.id.clone();
    let mut records = vec![Record::PhaseStart { phase: name(), at_ns: *now }];
    if phase.work == Work::Purge {
        records.push(Record::Purge { at_ns: *now, grade: PurgeGrade::Fstrim, check: None });
    }
    if !steps.is_empty() {
        records.push(Record::SegmentStart { segment: 0, attempt: 0, at_ns: *now });
    }
    let mut sum = Bytes(0);
    for (number, &(mb_s, seconds)) in (0..).zip(steps) {
        let (start_ns, elapsed_ns) = (*now, Nanos::from_secs(seconds));
        let bytes = Bytes((mb_s * 1e6 * seconds as f64).round() as u64);
        let sample =
            Sample { interval: u64::from(number), start_ns, elapsed_ns, bytes, ios: 1000, ..Sample::default() };
        records.push(Record::Sample(sample));
        if phase.work != Work::Fill {
            records.push(Record::Round(Round { number, start_ns, elapsed_ns, bytes, histogram: HISTOGRAM.to_owned() }));
        }
        sum = sum.saturating_add(bytes);
        *now = now.saturating_add(elapsed_ns);
    }
    if !steps.is_empty() {
        records.push(Record::SegmentEnd { segment: 0, attempt: 0, at_ns: *now, bytes: sum });
    }
    let counted = (sum.0 > 0).then_some(Counted { submitted: sum, device: sum });
    records.push(Record::PhaseEnd { phase: name(), at_ns: *now, counted });
    records
}
