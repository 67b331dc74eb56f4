//! A fair moment to measure at: the drive's temperature at the start and in mid-run, caches that are emptied, counters
//! that only root reads.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use harness::environment::{Check, Outcome, RESET};
use harness::journal::file;
use harness::journal::record::Record;
use harness::sample::telemetry::Telemetry;
use harness::units::{Bytes, Nanos};
use libtest_mimic::Trial;
use serde_json::Value;
use storage_check_tests::rig::trial;
use storage_check_tests::stored::Stored;
use storage_check_tests::tool::Ended;
use storage_check_tests::{folder, profile, run};
use tempfile::TempDir;

use super::plain;
use super::sim::cut;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a drive that is too hot is waited for until it is where its baseline began", &[], waits),
        trial("a run that waited for its drive goes on from anywhere", &[], waited_and_cut),
        trial("a drive that cools too slowly is waited for ten minutes and is not comparable", &[], too_slow),
        trial("a drive that comes no nearer is waited for three minutes and is not comparable", &[], too_cold),
        trial("at the drive's warning temperature the run stops, and the fall is no cliff", &[], warned),
        trial("a drive that warns at the start is waited for though there is no baseline", &[], hot_at_the_start),
        trial("the profile's reset command runs once before each run, and is part of what is measured", &[], reset),
        trial("a reset command that fails ends the run before anything is measured", &[], reset_fails),
        trial("a stack that was reset is not compared with one that was not", &[], tiers),
        trial("a run that others disturbed is marked, and where no cause is known the report says so", &[], disturbed),
        trial("a run without root is inconclusive against a baseline of root, and the other way round held", &[], root),
    ]
}

/// A folder with drives and a profile of its own.
struct Home(TempDir);

impl Home {
    fn new() -> Result<Home> {
        let home = Home(folder::folder()?);
        home.profile("", "4GB")?;
        Ok(home)
    }

    fn profile(&self, keys: &str, size: &str) -> Result<()> {
        let suite = format!("size = '{size}'\nsegments = 8\nblock = '8MiB'\nqueue_depth = 2\ninterval = '1s'");
        let text = profile::fill(&suite).replace("\n[fill]", &format!("{keys}\n[fill]"));
        profile::file(self.0.path(), &text).map(drop)
    }

    /// A drive of 500 MB/s whose temperature goes from `start` towards 90 °C under load, and to 30 °C at rest.
    fn drive(&self, start: i16, warning: i16, time_constant: &str) -> Result<()> {
        let text = format!(
            "name = 'warm'\nproduct = 'SIM WARM 200GB'\nfirmware = 'FW01'\ncapacity = '200GB'\nfitted = true\n\
             source = 'this test'\n[model]\nlatency = '20us'\n[model.medium.plain]\nwrite = '500MB/s'\nread = '500MB/s'\n\
             [model.thermal]\ntime_constant = '{time_constant}'\nhot = '95%'\ncool = '10%'\nslowed_to = '40%'\n\
             [model.thermal.sensor]\nambient = 30\nfull = 90\nwarning = {warning}\nstart = {start}\n"
        );
        Ok(fs::write(self.0.path().join("warm.toml"), text)?)
    }

    fn call(&self, words: &str) -> Result<Ended> {
        plain().call(self.0.path(), words.split(' ')).end()
    }

    fn run(&self, out: &str) -> Result<Ended> {
        self.call(&format!("run --target sim:warm.toml --profile rig.toml --out {out}"))
    }

    fn only(&self, out: &str) -> Result<PathBuf> {
        run::only(&self.0.path().join(out))
    }

    /// Accepts a run that starts at this temperature.
    fn baseline(&self, start: i16) -> Result<()> {
        self.drive(start, 200, "60s")?;
        self.run("first")?.with_code(0)?;
        let accept = format!("baseline accept {} --reason test", self.only("first")?.display());
        self.call(&accept)?.with_code(0).map(drop)
    }

    /// Runs a drive that starts at this temperature: its check, and how long the run waited.
    fn started(&self, start: i16, time_constant: &str, code: i32, words: &[&str]) -> Result<(Value, Nanos)> {
        self.drive(start, 200, time_constant)?;
        self.run("second")?.with_code(code)?.says(words)?;
        let run = self.only("second")?;
        let report = run::report(&run)?;
        let check = report["preflight"].as_array().and_then(|all| all.iter().find(|one| one["name"] == "temperature"));
        Ok((check.context("no check")?.clone(), run::journal(&run)?.header.waited_ns.unwrap_or_default()))
    }
}

fn waits() -> Result<()> {
    let home = Home::new()?;
    home.baseline(35)?;
    let words =
        ["the drive is at 70 °C and the baseline's runs began at 35 °C", "10 minutes at the most", "the run begins"];
    let (check, waited) = home.started(70, "60s", 0, &words)?;
    // 30 °C and 40 more that fall to less than 10.5, which reads as 40 °C, in 60 s × ln(40 / 10.5), 80 s.
    ensure!(waited == Nanos::from_secs(85), "it waited for {waited}");
    ensure!(check["outcome"] == "pass", "{check}");
    ensure!(check["message"].to_string().contains("starts at 40 °C after waiting for 85 s"), "{check}");
    // What is near enough is not waited for.
    let near = Home::new()?;
    near.baseline(35)?;
    let (check, waited) = near.started(40, "60s", 0, &["held"])?;
    ensure!(waited == Nanos(0) && check["outcome"] == "pass", "{waited} {check}");
    Ok(())
}

fn waited_and_cut() -> Result<()> {
    let home = Home::new()?;
    home.baseline(35)?;
    home.started(70, "60s", 0, &["the run begins"])?;
    let whole = home.only("second")?;
    let count = file::records(&whole)?.len();
    for share in [1, 2] {
        let half = home.0.path().join(format!("cut-{share}"));
        cut(&whole, &half, count * share / 3)?;
        home.call(&format!("run --resume {}", half.display()))?.with_code(0)?;
    }
    Ok(())
}

fn too_slow() -> Result<()> {
    let home = Home::new()?;
    home.baseline(35)?;
    let (check, waited) =
        home.started(70, "1h", 5, &["it will not be comparable", "not comparable: the drive starts at"])?;
    ensure!(waited == Nanos::from_secs(600) && check["outcome"] == "not-comparable", "{waited} {check}");
    let markup = fs::read_to_string(home.only("second")?.join("junit.xml"))?;
    ensure!(markup.contains("preflight.temperature: not comparable"), "{markup}");
    Ok(())
}

fn too_cold() -> Result<()> {
    let home = Home::new()?;
    home.baseline(60)?;
    let (check, waited) =
        home.started(30, "60s", 5, &["the drive is at 30 °C and the baseline's runs began at 60 °C"])?;
    ensure!(waited == Nanos::from_secs(180) && check["outcome"] == "not-comparable", "{waited} {check}");
    Ok(())
}

fn warned() -> Result<()> {
    let home = Home::new()?;
    home.profile("", "96GB")?;
    home.drive(30, 70, "60s")?;
    // 40 of 60 °C are reached after 60 s × ln 3, 66 s, in the middle of the fill.
    home.run("runs")?.with_code(4)?.says(&["the drive is at 7", "°C and warns from 70 °C on: cool it"])?;
    let run = home.only("runs")?;
    let journal = run::journal(&run)?;
    let last = journal.telemetry.last().context("no telemetry")?;
    ensure!(last.too_hot().is_some() && (64.0..72.0).contains(&last.at_ns.secs()), "{last:?}");
    let report = run::report(&run)?;
    ensure!(report["findings"]["fill"]["cliffs"] == serde_json::json!([]), "{}", report["findings"]["fill"]);
    ensure!(report["verdict"] == "error" && report["headline"].to_string().contains("run interrupted"), "{report}");
    run::has_reports(&run)
}

fn hot_at_the_start() -> Result<()> {
    let home = Home::new()?;
    home.drive(85, 80, "60s")?;
    home.run("runs")?
        .with_code(0)?
        .says(&["the drive is at 85 °C and warns from 80 °C on: waiting", "the run begins"])?;
    let waited = run::journal(&home.only("runs")?)?.header.waited_ns.unwrap_or_default();
    ensure!(waited == Nanos::from_secs(10), "it waited for {waited}");
    Ok(())
}

fn reset() -> Result<()> {
    let home = Home::new()?;
    home.drive(30, 200, "60s")?;
    let plan = "plan --target sim:warm.toml --profile rig.toml --format json";
    let fingerprint = |text: &str| -> Result<String> {
        let plan: Value = serde_json::from_str(text)?;
        Ok(plan["profile"]["fingerprint"].to_string())
    };
    let without = fingerprint(&home.call(plan)?.with_code(0)?.stdout)?;
    home.profile("reset = 'echo emptied | tee -a said'", "4GB")?;
    let with = home.call(plan)?.with_code(0)?.stdout;
    ensure!(fingerprint(&with)? != without, "the fingerprint is the same");
    home.call(&plan.replace("json", "text"))?.says(&["echo emptied | tee -a said"])?;
    ensure!(!home.0.path().join("said").exists(), "a plan ran the command");
    home.call("run --target sim:warm.toml --profile rig.toml --out runs --repeat 2")?.with_code(0)?;
    ensure!(fs::read_to_string(home.0.path().join("said"))? == "emptied\nemptied\n", "not once a run");
    for name in folder::names(&home.0.path().join("runs")) {
        let reset = run::journal(&home.0.path().join("runs").join(name))?.header.reset.context("no record")?;
        ensure!(reset.exit_code == Some(0) && reset.output == "emptied\n", "{reset:?}");
    }
    Ok(())
}

fn reset_fails() -> Result<()> {
    let home = Home::new()?;
    home.drive(30, 200, "60s")?;
    home.profile("reset = 'echo no such cache >&2; exit 3'", "4GB")?;
    let says = ["the profile's reset command", "ended with 3, saying: no such cache; nothing was measured"];
    home.run("runs")?.with_code(4)?.says(&says)?;
    ensure!(!home.only("runs")?.join(file::NAME).exists(), "there is a journal");
    home.profile("reset = ' '", "4GB")?;
    home.run("blank")?.with_code(2)?.says(&["reset is empty"])
}

fn tiers() -> Result<()> {
    let home = folder::folder()?;
    for (id, state) in
        [("dirty", Some("not reset")), ("again", Some("not reset")), ("clean", Some("reset")), ("old", None)]
    {
        let mut run = Stored::new(id, 500.0);
        run.environment.note(RESET, state);
        run.write(home.path())?;
    }
    let call = |words: &str| plain().call(home.path(), words.split(' ')).end();
    call("baseline accept dirty --reason test")?.with_code(0)?;
    call("judge again")?.with_code(0)?.says(&["held"])?;
    call("judge clean")?.with_code(5)?.says(&["stack.reset not reset → reset"])?;
    call("judge old")?.with_code(5)?.says(&["stack.reset not reset → unknown"])
}

/// What preflight says of an ordinary user's run.
const UNREAD: &str =
    "these counters of errors were not read: the health log: /dev/nvme9n1: Permission denied (ask as root)";

fn root() -> Result<()> {
    let home = folder::folder()?;
    let stored = |id: &str, mb_s: f64, root: bool, errors: &[u64]| -> Result<()> {
        let mut run = Stored::new(id, mb_s);
        let (outcome, message) = if root { (Outcome::Pass, "all are read") } else { (Outcome::Warn, UNREAD) };
        run.behind_header = vec![Record::Preflight {
            checks: vec![Check { name: "health".to_owned(), outcome, message: message.to_owned() }],
        }];
        let reading = |(at, count): (usize, &u64)| {
            let counters = [("media_errors".to_owned(), *count)].into();
            let at_ns = Nanos::from_secs(at as u64);
            Record::Telemetry(Box::new(Telemetry { at_ns, counters, ..Telemetry::default() }))
        };
        run.behind_header.extend(errors.iter().enumerate().map(reading).filter(|_| root));
        run.write(home.path()).map(drop)
    };
    let call = |words: &str| plain().call(home.path(), words.split(' ')).end();
    stored("root", 500.0, true, &[7, 7])?;
    stored("user", 500.0, false, &[])?;
    stored("broken", 500.0, true, &[7, 8])?;
    stored("slow", 250.0, false, &[])?;
    stored("gone", 500.0, true, &[])?;
    call("baseline accept root --reason test --baselines of-root")?.with_code(0)?;
    let words =
        ["health.media_errors not comparable: the baseline has it", "(ask as root)", "baseline accept --replace"];
    let ended = call("judge user --baselines of-root --out reports")?.with_code(5)?;
    ended.says(&words)?;
    let report = run::report(&home.path().join("reports/user"))?;
    let metric = run::metric(&report, "health.media_errors")?;
    ensure!(metric["value"].is_null() && metric["verdict"] == "inconclusive", "{metric}");
    // Neither an excuse for a loss, nor for a counter that vanished though all were read.
    call("judge slow --baselines of-root")?.with_code(1)?;
    call("judge gone --baselines of-root")?.with_code(4)?.says(&["vanished"])?;
    call("baseline accept user --reason test --baselines of-user")?.with_code(0)?;
    call("judge root --baselines of-user")?.with_code(0)?.says(&["held"])?;
    call("judge user --baselines of-user")?.with_code(0)?.says(&["held", "ask as root"])?;
    call("judge broken --baselines of-user")?.with_code(1)?.says(&["it rose by 1 during the run"])
}

/// A run whose fill, from 0 to 34 s, was read like this at 0 s, 10 s … 30 s.
fn read_as(id: &str, mb_s: f64, reading: impl Fn(u64) -> Telemetry) -> Stored {
    let mut run = Stored::new(id, mb_s);
    let record = |at: u64| {
        let at_ns = Nanos::from_secs(10 * at);
        Record::Telemetry(Box::new(Telemetry { at_ns, ..reading(at) }))
    };
    run.behind_header = (0..4).map(record).collect();
    run
}

fn disturbed() -> Result<()> {
    let home = folder::folder()?;
    let call = |words: &str| plain().call(home.path(), words.split(' ')).end();
    let plain_reading = |_| Telemetry::default();
    read_as("first", 500.0, plain_reading).write(home.path())?;
    call("baseline accept first --reason test")?.with_code(0)?;
    const NO_CAUSE: &str = "no cause is known";
    let check = |id: &str, reading: &dyn Fn(u64) -> Telemetry, words: &str| -> Result<()> {
        read_as(id, 250.0, reading).write(home.path())?;
        let said = call(&format!("judge {id}"))?.with_code(1)?.stdout;
        ensure!(said.contains(words) && !said.contains(NO_CAUSE), "{id} says no {words:?}: {said}");
        Ok(())
    };
    let moved = |at: u64| Telemetry { drive_moved: Some(Bytes(at * 12_000_000_000)), ..Telemetry::default() };
    check("others", &moved, "disturbed: in fill.write others moved 18.8 GB on the drive beside our 17.2 GB")?;
    let rebuild = |_| Telemetry { rebuild: Some("md0 resync".to_owned()), ..Telemetry::default() };
    check("rebuild", &rebuild, "an array was at work on the drive meanwhile (md0 resync)")?;
    let cpu = |permille| move |_| Telemetry { cpu_permille: Some(permille), ..Telemetry::default() };
    check("cpu", &cpu(950), "CPU-bound: in fill.write the workers were busy for 95 % of the time")?;
    let stolen = |_| Telemetry { steal_permille: Some(80), ..Telemetry::default() };
    check("stolen", &stolen, "in fill.write the hypervisor took 8 % of the processors' time")?;
    let link = |at| Telemetry { link: Some(format!("16.0 GT/s PCIe x{}", 4 - at / 3)), ..Telemetry::default() };
    check("link", &link, "the link changed during the run: 16.0 GT/s PCIe x4 → 16.0 GT/s PCIe x3")?;
    // Neither our own bytes nor a processor with time to spare disturb anybody.
    let own = |at: u64| Telemetry { drive_moved: Some(Bytes(at * 2_500_000_000)), ..cpu(400)(at) };
    read_as("none", 250.0, own).write(home.path())?;
    let said = call("judge none")?.with_code(1)?.stdout;
    ensure!(said.contains(NO_CAUSE) && !said.contains("disturbed") && !said.contains("CPU-bound"), "{said}");
    // Where nothing was lost nobody asks for a cause.
    read_as("held", 500.0, plain_reading).write(home.path())?;
    ensure!(!call("judge held")?.with_code(0)?.stdout.contains(NO_CAUSE), "a cause for nothing");
    // What the drive wrote to itself, between its first and its last word.
    let amplified = |at: u64| Telemetry {
        host_written: Some(Bytes(at * 1_000_000_000)),
        media_written: Some(Bytes(at * 2_500_000_000)),
        ..Telemetry::default()
    };
    read_as("amplified", 500.0, amplified).write(home.path())?;
    call("judge amplified")?.with_code(0)?.says(&["write amplification 2.50"])
}
