//! A gate that earns its verdicts: runs that are judged together, baselines that are looked after, and the proof on the spot.
//!
//! On simulated drives and on stored runs: no disk has a say in it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use storage_check_tests::rig::trial;
use storage_check_tests::stored::Stored;
use storage_check_tests::tool::Ended;
use storage_check_tests::{folder, run};
use tempfile::TempDir;

use super::{optimised, plain};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("repeated runs end when it is decided, and the last report judges all runs together", &[], repeated),
        trial("two commands alternate as A-B-B-A, and the second's runs are judged by the first's", &[], alternates),
        trial("the write budget bounds all repeated runs together", &[], budget),
        trial("the self-test proves the gate in seconds", &[], self_test),
        trial("a verdict is the same byte for byte in debug and release", &[], same_bytes),
        trial("baseline check finds what is unreachable, stale, damaged and never used", &[], checked),
        trial("baseline qualify writes the noise floor, and a tolerance below it is refused", &[], qualified),
        trial("plan says what loss the gate could see before anything is written", &[], foreseen),
    ]
}

/// A simulated drive whose runs differ by half a percent.
pub(crate) const DRIVE: &str = "sim:consumer-tlc?scale=16&cv=0.5%";
const PROFILE: &str = "name = \"gate\"\nversion = 1\n\n[fill]\nsize = \"6GiB\"\nsegments = 24\nblock = \"1MiB\"\n\
                       queue_depth = 4\ninterval = \"200ms\"\nverify = false\n";

/// A folder with the profile `gate.toml`.
pub(crate) struct Home(TempDir);

impl Home {
    fn new() -> Result<Home> {
        let home = Home(folder::folder()?);
        fs::write(home.path().join("gate.toml"), PROFILE)?;
        Ok(home)
    }

    /// Three runs of the drive, accepted.
    pub(crate) fn accepted() -> Result<Home> {
        let home = Home::new()?;
        home.run(DRIVE, &["--repeat", "3", "--out", "first"])?.with_code(0)?;
        let runs = folder::names(&home.path().join("first")).into_iter().map(|run| format!("first/{run}"));
        let runs: Vec<String> = runs.collect();
        ensure!(runs.len() == 3, "without a baseline all runs are made: {runs:?}");
        let accept = ["baseline", "accept", "--reason", "firmware A"];
        home.call(accept.into_iter().chain(runs.iter().map(String::as_str)))?.with_code(0)?;
        Ok(home)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn call<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Result<Ended> {
        plain().call(self.path(), arguments).end()
    }

    fn run(&self, target: &str, more: &[&str]) -> Result<Ended> {
        let arguments = ["run", "--target", target, "--profile", "gate.toml"];
        self.call(arguments.into_iter().chain(more.iter().copied()))
    }
}

fn repeated() -> Result<()> {
    let home = Home::accepted()?;
    let equal = home.run(&format!("{DRIVE}&seed=1"), &["--repeat", "3", "--out", "equal"])?.with_code(0)?;
    equal.says(&["held: as good as the baseline of 3 runs", "of at most 3 runs"])?;
    let worse = format!("{DRIVE}&seed=2&slower_floor=15%&firmware=FW02");
    let worse = home.run(&worse, &["--repeat", "3", "--out", "worse"])?.with_code(1)?;
    worse.says(&["regressed: drive.firmware FW01 → FW02: fill.floor_mb_s", "of at most 3 runs"])?;
    let runs = folder::names(&home.path().join("worse"));
    let last = runs.last().context("no run")?;
    let report = run::report(&home.path().join("worse").join(last))?;
    ensure!(report["runs"].as_array().is_some_and(|named| named.len() == runs.len()), "{}", report["runs"]);
    let floor = run::metric(&report, "fill.floor_mb_s")?;
    ensure!(floor["runs"].as_array().is_some_and(|figures| figures.len() == runs.len()), "{floor}");
    ensure!(
        floor["smallest_loss"].as_f64().is_some_and(|loss| loss > 0.05) && floor["noise"]["df"].is_number(),
        "{floor}"
    );
    Ok(())
}

fn alternates() -> Result<()> {
    let home = Home::new()?;
    let commands = ["--before-run", "echo a >> log", "--before-run", "echo b >> log", "--repeat", "2", "--out", "out"];
    home.run(DRIVE, &commands)?.says(&["as good as the baseline of"])?;
    let order = fs::read_to_string(home.path().join("log"))?.replace('\n', "");
    ensure!("abba".starts_with(&order) && order.len() % 2 == 0, "{order}");
    let third = commands.into_iter().chain(["--before-run", "true"]).collect::<Vec<_>>();
    home.run(DRIVE, &third)?.with_code(2)?.says(&["more than twice"])
}

fn budget() -> Result<()> {
    let home = Home::new()?;
    let two = home.run(DRIVE, &["--repeat", "5", "--max-write", "14GiB", "--out", "out"])?;
    two.says(&["the write budget is spent"])?;
    ensure!(folder::names(&home.path().join("out")).len() == 2, "not two runs");
    Ok(())
}

fn self_test() -> Result<()> {
    let home = Home::new()?;
    let proof = home.call(["self-test", "--draws", "40"])?.with_code(0)?;
    proof.says(&["false alarms", "simulated, whole runs: equal", "the gate keeps its"])?;
    let table = home.call(["self-test", "--table", "--draws", "5"])?.with_code(0)?;
    table.says(&["| ours |", "Mann-Whitney", "heavy tails"])
}

fn same_bytes() -> Result<()> {
    let home = Home::new()?;
    let runs = [("a", 500.0), ("b", 503.1), ("c", 498.7), ("x", 484.9)].map(|(run, mb_s)| Stored::new(run, mb_s));
    for run in &runs {
        run.write(home.path())?;
    }
    home.call(["baseline", "accept", "--reason", "as delivered", "a", "b", "c"])?.with_code(0)?;
    let json = |tool: storage_check_tests::tool::Tool| -> Result<String> {
        let arguments = ["judge", "x", "--format", "json"];
        Ok(tool.call(home.path(), arguments).end()?.stdout)
    };
    let (debug, release) = (json(plain())?, json(optimised()?)?);
    ensure!(debug.contains("\"noise_floor\": 0.0") && debug == release, "{debug}\n{release}");
    Ok(())
}

fn checked() -> Result<()> {
    let home = Home::accepted()?;
    home.call(["baseline", "check", "--out", "first"])?.with_code(0)?.says(&["gate.toml: fit"])?;
    fs::create_dir(home.path().join("none"))?;
    home.call(["baseline", "check", "--out", "none"])?.with_code(0)?.says(&["never used"])?;
    let drive = folder::names(&home.path().join("baselines")).into_iter().next().context("no baseline")?;
    fs::rename(home.path().join("baselines").join(drive), home.path().join("baselines/elsewhere"))?;
    home.call(["baseline", "check"])?.with_code(2)?.says(&["NOT USABLE", "unreachable"])?;
    let file = home.path().join("baselines/elsewhere/gate.toml");
    let text = fs::read_to_string(&file)?;
    fs::write(&file, text.replacen("values = [", "values = ", 1))?;
    home.call(["baseline", "check"])?.with_code(2)?.says(&["damaged: ", "line "])
}

fn qualified() -> Result<()> {
    let home = Home::new()?;
    let arguments = ["baseline", "qualify", "--target", DRIVE, "--profile", "gate.toml", "--repeat", "4"];
    let qualified = home.call(arguments.into_iter().chain(["--reason", "as delivered"]))?.with_code(0)?;
    qualified.says(&["equal runs, each against the others", "none regressed", "noise_floor"])?;
    let drive = folder::names(&home.path().join("baselines")).into_iter().next().context("no baseline")?;
    let file = home.path().join("baselines").join(drive).join("gate.toml");
    let text = fs::read_to_string(&file)?;
    fs::write(&file, text.replacen("noise_floor = ", "tolerance = 0.0001\nnoise_floor = ", 1))?;
    home.call(["baseline", "show"])?.with_code(2)?.says(&["below the noise floor"])
}

fn foreseen() -> Result<()> {
    let home = Home::accepted()?;
    let plan = ["plan", "--target", DRIVE, "--profile", "gate.toml"];
    let plan_of = |more: &[&'static str]| home.call(plan.into_iter().chain(more.iter().copied()));
    plan_of(&[])?.with_code(0)?.says(&["fill.floor_mb_s: a loss of", "would fail", "held after 1 run"])?;
    plan_of(&["--baselines", "none"])?.with_code(0)?.says(&["there is no baseline yet", "a prior of 1 %"])
}
