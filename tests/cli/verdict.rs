//! Baselines and verdicts on stored runs: what is accepted, what fails a build, and that nothing is green in silence.
//!
//! The runs are written by the tests: no drive has a say in what must be said.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use harness::journal::record::Outcome;
use libtest_mimic::Trial;
use serde_json::Value;
use storage_check_tests::folder;
use storage_check_tests::rig::trial;
use storage_check_tests::stored::{PROFILE, Stored};
use storage_check_tests::tool::{Call, Ended};
use tempfile::TempDir;

use super::plain;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("accept, judge, show: the accepted state is held", &[], held),
        trial("a baseline of twice the rates fails the build and JUnit says by how much", &[], doubled),
        trial("what is missing, other or of another unit is never green in silence", &[], never_green),
        trial("without a baseline the first run says how to accept it, and CI fails", &[], no_baseline),
        trial("4 goes before 1 before 5 before 6", &[], precedence),
        trial("what changed is shown, and what must match takes the verdict away", &[], surroundings),
        trial("a judged run is not altered", &[], unaltered),
        trial("what is unfit to be a baseline is refused", &[], unfit),
        trial("a changed tolerance gives another verdict without touching a drive", &[], other_rules),
        trial("slow drift is caught against the first accepted state", &[], drift),
        trial("a damaged or newer baseline is a bad file, with its line", &[], damaged),
    ]
}

/// A folder with baselines and runs.
struct Home {
    home: TempDir,
}

impl Home {
    fn new() -> Result<Home> {
        Ok(Home { home: folder::folder()? })
    }

    /// Three runs at 500 MB/s, accepted.
    fn accepted() -> Result<Home> {
        let home = Home::new()?;
        let runs = [("a", 500.0), ("b", 503.0), ("c", 498.0)].map(|(run, mb_s)| Stored::new(run, mb_s));
        home.accept(&runs)?.with_code(0)?;
        Ok(home)
    }

    fn path(&self) -> &Path {
        self.home.path()
    }

    fn call<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Call {
        plain().call(self.path(), arguments)
    }

    fn accept(&self, runs: &[Stored]) -> Result<Ended> {
        let paths = runs.iter().map(|run| Ok(run.write(self.path())?.display().to_string()));
        let paths = paths.collect::<Result<Vec<String>>>()?;
        let arguments = ["baseline", "accept", "--reason", "as delivered"];
        self.call(arguments.into_iter().chain(paths.iter().map(String::as_str))).end()
    }

    /// Judges a run, which it writes first.
    fn judge(&self, run: &Stored, more: &[&str]) -> Result<Ended> {
        run.write(self.path())?;
        self.call(["judge", run.run.as_str()].into_iter().chain(more.iter().copied())).end()
    }

    fn baseline(&self) -> PathBuf {
        self.path().join("baselines/acme-turbo960-960gb-folder/stored.toml")
    }

    /// Changes the baseline's text.
    fn edit(&self, change: impl FnOnce(String) -> String) -> Result<()> {
        let text = fs::read_to_string(self.baseline())?;
        let changed = change(text.clone());
        ensure!(changed != text, "the change changed nothing");
        Ok(fs::write(self.baseline(), changed)?)
    }
}

/// A run like the accepted ones.
fn equal() -> Stored {
    Stored::new("x", 501.0)
}

fn with(change: impl FnOnce(&mut Stored)) -> Stored {
    let mut run = equal();
    change(&mut run);
    run
}

fn held() -> Result<()> {
    let home = Home::new()?;
    let runs = [Stored::new("a", 500.0), Stored::new("b", 503.0)];
    let accepted = home.accept(&runs)?.with_code(0)?;
    accepted.says(&["+ values = [500.0, 503.0]", "+ why = \"as delivered\"", "wrote baselines/acme-turbo960"])?;
    let again = home.call(["baseline", "accept", "a", "b", "--reason", "again"]).end()?.with_code(0)?;
    again.says(&["as it was", "nothing changed"])?;
    home.judge(&equal(), &[])?.with_code(0)?.says(&["held: as good as the baseline of 2 runs"])?;
    home.call(["baseline", "list"]).end()?.with_code(0)?.says(&["of 2 runs", "as delivered"])?;
    let shown = home.call(["baseline", "show"]).end()?.with_code(0)?;
    shown.says(&["fill.mean_mb_s", "ACME TURBO960", "more than 17.1 GB"])?;
    let added = home.accept(&[Stored::new("d", 502.0)])?.with_code(0)?;
    added.says(&["- values = [500.0, 503.0]", "+ values = [500.0, 503.0, 502.0]", "added to the 2 earlier runs"])
}

fn doubled() -> Result<()> {
    let home = Home::accepted()?;
    home.edit(|text| text.replace("[500.0, 503.0, 498.0]", "[1000.0, 1006.0, 996.0]"))?;
    let judged = home.judge(&equal(), &["--out", "reports"])?.with_code(1)?;
    judged.says(&["regressed: fill.fast_mb_s 501 MB/s, baseline 1000 MB/s, change -49.9 %, tolerance 5 %"])?;
    let junit = fs::read_to_string(home.path().join("reports/x/junit.xml"))?;
    let message = "<failure type=\"regressed\" message=\"fill.fast_mb_s regressed: measured 501 MB/s, baseline \
                   1000 MB/s, change -49.9 %, tolerance 5 %;";
    ensure!(junit.contains(message), "{junit}");
    let json: Value = serde_json::from_str(&fs::read_to_string(home.path().join("reports/x/report.json"))?)?;
    let metric = json["metrics"].as_array().and_then(|all| all.iter().find(|metric| metric["id"] == "fill.fast_mb_s"));
    let metric = metric.context("no such metric")?;
    ensure!(metric["baseline"] == 1000 && metric["tolerance"] == 0.05 && metric["change"] == -0.499, "{metric}");
    Ok(())
}

/// Each with its own words and code.
fn never_green() -> Result<()> {
    let check = |edit: Option<(&str, &str)>, run: Stored, code: i32, words: &str| -> Result<()> {
        let home = Home::accepted()?;
        if let Some((from, to)) = edit {
            home.edit(|text| text.replace(from, to))?;
        }
        let judged = home.judge(&run, &[])?.with_code(code).with_context(|| words.to_owned())?;
        judged.says(&[words])
    };
    let renamed = Some(("metric.\"fill.mean_mb_s\"", "metric.\"fill.mean_mib_s\""));
    check(renamed, equal(), 4, "fill.mean_mib_s the baseline has it and this run does not: it vanished")?;
    let not_a_gate = Some(("metric.\"fill.read_mb_s\"", "metric.\"fill.read_mib_s\""));
    check(not_a_gate, equal(), 4, "fill.read_mib_s the baseline has it and this run does not")?;
    let home = Home::accepted()?;
    home.edit(|text| without(&text, "[metric.\"fill.fast_mb_s\"]"))?;
    home.judge(&equal(), &[])?.with_code(5)?.says(&["not decided: fill.fast_mb_s the baseline lacks this metric"])?;
    check(Some(("unit = \"MB/s\"", "unit = \"MiB/s\"")), equal(), 4, "figures of different units are never compared")?;
    let other = with(|run| run.profile = PROFILE.replace("version = 1", "version = 2"));
    check(None, other, 5, "not compared: the baseline's profile stored has fingerprint")?;
    let model = Some(("drive = \"ACME TURBO960\"", "drive = \"ACME TURBO970\""));
    check(model, equal(), 5, "not compared: the baseline is of drive model \"ACME TURBO970\"")?;
    let kind = Some(("target_kind = \"folder\"", "target_kind = \"device\""));
    check(kind, equal(), 5, "not compared: the baseline was measured on a target of kind device")?;
    let capacity = Some(("capacity_bytes = 960000000000", "capacity_bytes = 960000000001"));
    check(capacity, equal(), 5, "not compared: the baseline is of a drive of 960000000001 bytes")?;
    let unit = with(|run| run.drive["serial"] = "S999".into());
    check(None, unit, 5, "another unit of this model")?;
    let moved = with(|run| run.drive["model"] = "ACME SLOW".into());
    check(None, moved, 0, "baselines of this profile are of other drives, sizes or targets: acme-turbo960-960gb-folder")
}

/// A text without the table of that heading.
fn without(text: &str, heading: &str) -> String {
    let (before, rest) = text.split_once(heading).unwrap_or((text, ""));
    let after = rest.split_once("\n[").map_or("", |(_, after)| after);
    format!("{before}[{after}")
}

fn no_baseline() -> Result<()> {
    let home = Home::new()?;
    let first = home.judge(&equal(), &[])?.with_code(0)?;
    first.says(&[
        "no-baseline",
        "to accept this first run as the baseline: cargo xtask storage-check baseline accept",
    ])?;
    let required = "there is no baseline at baselines/acme-turbo960-960gb-folder/stored.toml, and one is required";
    home.judge(&with(|run| run.run = "y".to_owned()), &["--require-baseline"])?.with_code(6)?.says(&[required])?;
    home.call(["judge", "x"]).env("CI", "true").end()?.with_code(6)?.says(&[required])?;
    home.call(["judge", "x"]).env("CI", "").end()?.with_code(0)?;
    home.call(["judge", "x", "--require-baseline=false"]).env("CI", "true").end()?.with_code(0)?;
    Ok(())
}

fn precedence() -> Result<()> {
    let home = Home::accepted()?;
    let run = |id: &str, change: fn(&mut Stored)| {
        let mut run = Stored::new(id, 501.0);
        change(&mut run);
        run.write(home.path())
    };
    run("held", |_| ())?;
    run("failed", |run| run.outcome = Outcome::Failed)?;
    run("regressed", |run| run.rates = [250.0; 16])?;
    run("undecided", |run| run.environment.note("drive.scheduler", Some("bfq")))?;
    run("alone", |run| run.drive["model"] = "ACME SLOW".into())?;
    let check = |runs: &[&str], code: i32| -> Result<()> {
        let arguments = ["judge", "--require-baseline"].into_iter().chain(runs.iter().copied());
        home.call(arguments).end()?.with_code(code).with_context(|| format!("{runs:?}"))?;
        Ok(())
    };
    check(&["held"], 0)?;
    check(&["alone", "held"], 6)?;
    check(&["alone", "undecided", "held"], 5)?;
    check(&["alone", "undecided", "regressed", "held"], 1)?;
    check(&["alone", "undecided", "failed", "regressed", "held"], 4)?;
    // In one run: bad blocks and a failure; a broken limit without a baseline; a difference that is only warned of.
    let both = with(|run| (run.bad_blocks, run.outcome) = (3, Outcome::Failed));
    home.judge(&both, &[])?.with_code(4)?;
    let broken = with(|run| {
        run.run = "broken".to_owned();
        run.profile = format!("{PROFILE}\n[limits]\n\"fill.mean_mb_s\" = {{ least = 600 }}\n");
        run.drive["model"] = "ACME SLOW".into();
    });
    home.judge(&broken, &["--require-baseline"])?.with_code(1)?.says(&["outside the limit of at least 600 MB/s"])?;
    home.call(["judge", "undecided", "--inconclusive=warn"]).end()?.with_code(0)?.says(&["inconclusive"])?;
    let bad = with(|run| (run.run, run.bad_blocks) = ("bad".to_owned(), 3));
    home.judge(&bad, &[])?.with_code(1)?.says(&["3 blocks read back are not what was written"])
}

fn surroundings() -> Result<()> {
    let home = Home::accepted()?;
    let run = |id: &str, mb_s: f64, facts: &[(&str, &str)]| {
        let mut run = Stored::new(id, mb_s);
        facts.iter().for_each(|(name, value)| run.environment.note(name, Some(*value)));
        run
    };
    let firmware = ("drive.firmware", "FW02");
    let held = home.judge(&run("1", 500.0, &[firmware]), &[])?.with_code(0)?;
    held.says(&["changed: drive.firmware FW01 → FW02 (under test)"])?;
    let worse = home.judge(&run("2", 390.0, &[firmware]), &["--out", "reports"])?.with_code(1)?;
    worse.says(&["drive.firmware FW01 → FW02: "])?;
    let page = fs::read_to_string(home.path().join("reports/2/report.md"))?;
    let (changed, metrics) = (page.find("## What changed since the baseline"), page.find("## Metrics"));
    ensure!(changed.is_some() && changed < metrics, "{page}");
    let both = home.judge(&run("3", 390.0, &[firmware, ("kernel", "6.8.0")]), &[])?.with_code(1)?;
    both.says(&["not attributable to one"])?;
    let scheduler = home.judge(&run("4", 390.0, &[("drive.scheduler", "bfq")]), &[])?.with_code(5)?;
    scheduler.says(&["not comparable: drive.scheduler none → bfq; by the figures alone it would be regressed"])?;
    let narrow = home.judge(&run("5", 500.0, &[("kernel", "6.8.0")]), &["--under-test", "firmware"])?.with_code(5)?;
    narrow.says(&["not comparable: kernel 6.1.0 → 6.8.0"])?;
    home.call(["judge", "1", "--under-test", "frimware"]).end()?.with_code(2)?.says(&["frimware", "firmware, driver"])
}

fn unaltered() -> Result<()> {
    let home = Home::accepted()?;
    let run = equal().write(home.path())?;
    let before = (folder::names(&run), fs::read(run.join("journal.jsonl"))?);
    home.call(["judge", "x"]).end()?.with_code(0)?;
    home.call(["judge", "x/journal.jsonl", "--out", "reports"]).end()?.with_code(0)?.says(&["reports in "])?;
    home.call(["judge", "x", "--out", "."]).end()?.with_code(2)?.says(&["judging never alters one"])?;
    ensure!((folder::names(&run), fs::read(run.join("journal.jsonl"))?) == before, "the run folder changed");
    ensure!(folder::names(&home.path().join("reports/x")).len() >= 3, "no reports were written");
    Ok(())
}

fn unfit() -> Result<()> {
    let check = |runs: &[Stored], words: &str| -> Result<()> {
        let home = Home::new()?;
        home.accept(runs)?.with_code(2).with_context(|| words.to_owned())?.says(&[words])?;
        ensure!(!home.path().join("baselines").exists(), "something was written");
        Ok(())
    };
    check(&[with(|run| run.outcome = Outcome::Failed)], "cannot be accepted: it did not complete")?;
    check(&[with(|run| run.bad_blocks = 1)], "cannot be accepted: 1 blocks that were read back")?;
    check(&[with(|run| run.environment.note("build", Some("debug")))], "measured by a debug build")?;
    let other = with(|run| run.profile = PROFILE.replace("version = 1", "version = 2"));
    check(&[Stored::new("a", 500.0), other], "different fingerprints")?;
    let home = Home::new()?;
    equal().write(home.path())?;
    home.call(["baseline", "accept", "x"]).end()?.with_code(2)?.says(&["--reason"])?;
    home.call(["baseline", "accept", "x", "--reason", ""]).end()?.with_code(2)?.says(&["a reason is needed"])?;
    home.call(["baseline", "accept", "nowhere", "--reason", "x"]).end()?.with_code(2)?.says(&["nowhere is no run"])
}

fn other_rules() -> Result<()> {
    let home = Home::accepted()?;
    home.judge(&Stored::new("x", 440.0), &[])?.with_code(1)?;
    let rules = format!("{PROFILE}\n[judge.tolerance]\nthroughput = \"20%\"\n");
    fs::write(home.path().join("rules.toml"), rules)?;
    home.call(["judge", "x", "--profile", "rules.toml"]).end()?.with_code(0)?.says(&["20 %"])?;
    home.call(["judge", "x", "--profile", "quick"])
        .end()?
        .with_code(2)?
        .says(&["only tolerances, gates and limits"])?;
    home.edit(|text| text.replace("kind = \"throughput\"\n", "kind = \"throughput\"\ntolerance = 0.2\n"))?;
    home.call(["judge", "x"]).end()?.with_code(0)?;
    Ok(())
}

fn drift() -> Result<()> {
    let home = Home::accepted()?;
    let arguments = ["baseline", "accept", "d", "--reason", "accepted as it is"];
    Stored::new("d", 450.0).write(home.path())?;
    home.call(arguments).end()?.with_code(0)?.says(&["another state", "--new-golden begins it anew"])?;
    let drifted = home.judge(&Stored::new("e", 450.0), &[])?.with_code(1)?;
    drifted.says(&["drift: it changed by -10.0 % since the first accepted state"])?;
    home.call(arguments.into_iter().chain(["--new-golden", "--replace"])).end()?.with_code(0)?;
    home.call(["judge", "e"]).end()?.with_code(0)?;
    Ok(())
}

fn damaged() -> Result<()> {
    let home = Home::accepted()?;
    home.edit(|text| text.replacen("[500.0, 503.0, 498.0]", "[500.0, 503.0", 1))?;
    home.judge(&equal(), &[])?.with_code(2)?.says(&["stored.toml: line ", "repair it"])?;
    home.call(["baseline", "list"]).end()?.with_code(2)?.says(&["stored.toml: line "])?;
    home.edit(|text| text.replace("schema = 1", "schema = 2").replace("[500.0, 503.0\n", "[]\n"))?;
    home.call(["judge", "x"]).end()?.with_code(2)?.says(&["schema 2", "use a newer storage-check"])
}
