//! The drive itself on the command line: which there are, how they are, heat, errors, and names that are hostile.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use harness::environment::{Check, Outcome};
use harness::journal::record::Record;
use harness::sample::telemetry::{Telemetry, Throttling};
use harness::units::Nanos;
use libtest_mimic::Trial;
use serde_json::Value;
use storage_check_tests::loop_fs::LoopFs;
use storage_check_tests::rig::{Need, trial};
use storage_check_tests::stored::Stored;
use storage_check_tests::{folder, profile, run};

use super::{plain, run_arguments};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("devices lists every drive with its users, as table and as JSON", &[], devices),
        trial("a loop device is listed with the file system that is mounted from it", &[Need::LoopFs], mounted),
        trial("a fall for heat is labelled thermal, is no cliff, and decides nothing", &[], thermal),
        trial("the same fall on a drive that is cool is a cliff", &[], cool),
        trial("a health counter that rose during the run fails it, whatever the figures", &[], health),
        trial("preflight is in all reports, and what is not comparable decides nothing", &[], preflight),
        trial("wear since the baseline is named", &[], worn),
        trial("hostile names of drive, serial and mount steer nothing and break no report", &[], hostile),
        trial("a folder with a hostile name is measured and removed like any other", &[], hostile_folder),
    ]
}

fn devices() -> Result<()> {
    let home = folder::folder()?;
    plain().call(home.path(), ["devices"]).end()?.with_code(0)?.says(&["in use, or erasable"])?;
    let ended = plain().call(home.path(), ["devices", "--format", "json"]).end()?.with_code(0)?;
    let all: Vec<Value> = serde_json::from_str(&ended.stdout)?;
    for one in &all {
        let keys =
            ["path", "model", "serial", "firmware", "wwid", "link", "size", "uses", "erasable", "why_not", "unread"];
        ensure!(keys.iter().all(|key| one.get(key).is_some()), "{one}");
        let reasons = one["why_not"].as_array().map_or(0, Vec::len);
        ensure!(one["erasable"] == (reasons == 0), "{one}");
    }
    Ok(())
}

fn mounted() -> Result<()> {
    let rig = LoopFs::new(64 << 20)?;
    let ended = plain().call(&rig.path(), ["devices", "--format", "json"]).end()?.with_code(0)?;
    let all: Vec<Value> = serde_json::from_str(&ended.stdout)?;
    let at = rig.path().display().to_string();
    let mounted = |one: &&Value| one["uses"].to_string().contains(&at);
    let found = all.iter().find(mounted).with_context(|| format!("nothing is mounted at {at}: {}", ended.stdout))?;
    ensure!(found["erasable"] == false && found["transport"] == "loop", "{found}");
    Ok(())
}

/// 500 MB/s, which falls to 200 after 96 s: 60 s × ln 5, the time to 80 % of the way.
const HOT: &str = r#"name = "hot"
product = "SIM HOT 200GB"
firmware = "FW01"
capacity = "200GB"
fitted = true
source = "a test"
[model]
latency = "20us"
[model.medium.plain]
write = "500MB/s"
read = "500MB/s"
[model.thermal]
time_constant = "60s"
hot = "80%"
cool = "10%"
slowed_to = "40%"
"#;

const FILL: &str = "size = '96GB'\nsegments = 8\nblock = '8MiB'\nqueue_depth = 2\ninterval = '1s'";

fn simulated(drive: &str) -> Result<(tempfile::TempDir, Value, i32)> {
    let home = folder::folder()?;
    let file = home.path().join("drive.toml");
    fs::write(&file, drive)?;
    let profile = profile::file(home.path(), &profile::fill(FILL))?;
    let out = home.path().join("runs");
    let target = format!("sim:{}", file.display());
    let ended = plain().call(home.path(), run_arguments(Path::new(&target), &profile, &out)).end()?;
    let code = ended.status.code().unwrap_or(-1);
    let report = run::report(&run::only(&out)?)?;
    Ok((home, report, code))
}

fn thermal() -> Result<()> {
    let (home, report, code) = simulated(HOT)?;
    ensure!(code == 5 && report["verdict"] == "inconclusive", "{code} {}", report["headline"]);
    let [fall] = report["findings"]["thermal"].as_array().context("no list")?.as_slice() else {
        anyhow::bail!("not one fall: {}", report["findings"]["thermal"]);
    };
    let at = fall["at_gb"].as_f64().context("no place")?;
    ensure!((at / 48.28 - 1.0).abs() < 0.03, "the fall is at {at} GB, and the formula says 48.28");
    ensure!(report["findings"]["fill"]["cliffs"] == serde_json::json!([]), "{}", report["findings"]["fill"]["cliffs"]);
    let cliff = run::metric(&report, "fill.cliff_gb")?;
    ensure!(cliff["value"].is_null() && cliff["reason"] == "no-cliff", "{cliff}");
    ensure!(report["headline"].to_string().contains("thermal"), "{}", report["headline"]);
    let page = fs::read_to_string(run::only(&home.path().join("runs"))?.join("report.md"))?;
    ensure!(page.contains("thermal: in fill the rate fell"), "{page}");
    Ok(())
}

fn cool() -> Result<()> {
    let mut run = Stored::new("cool", 500.0);
    run.rates = std::array::from_fn(|segment| if segment < 8 { 500.0 } else { 200.0 });
    let home = folder::folder()?;
    run.behind_header = readings(&[(0, false, 0), (10, false, 0), (20, false, 0), (90, false, 0)]);
    run.write(home.path())?;
    let ended = plain().call(home.path(), ["judge", "cool", "--format", "json"]).end()?.with_code(0)?;
    let report: Value = serde_json::from_str(&ended.stdout)?;
    ensure!(report["findings"]["thermal"] == serde_json::json!([]), "{}", report["findings"]["thermal"]);
    ensure!(run::metric(&report, "fill.cliff_gb")?["value"].is_number(), "{}", report["metrics"]);
    // The same with the drive's word that it slowed down from 17 s on.
    let mut hot = run.clone();
    hot.run = "hot".to_owned();
    hot.behind_header = readings(&[(0, false, 0), (15, false, 0), (20, true, 1), (90, true, 1)]);
    hot.write(home.path())?;
    let ended = plain().call(home.path(), ["judge", "hot", "--format", "json"]).end()?.with_code(5)?;
    let report: Value = serde_json::from_str(&ended.stdout)?;
    ensure!(report["findings"]["thermal"].as_array().map(Vec::len) == Some(1), "{}", report["findings"]);
    Ok(())
}

fn readings(all: &[(u64, bool, u64)]) -> Vec<Record> {
    let reading = |&(at, now, events): &(u64, bool, u64)| {
        let throttling = Some(Throttling { now, events });
        Record::Telemetry(Box::new(Telemetry { at_ns: Nanos::from_secs(at), throttling, ..Telemetry::default() }))
    };
    all.iter().map(reading).collect()
}

fn counted(name: &str, counts: &[u64]) -> Vec<Record> {
    let reading = |(at, count): (usize, &u64)| {
        let counters = [(name.to_owned(), *count)].into();
        Record::Telemetry(Box::new(Telemetry { at_ns: Nanos::from_secs(at as u64), counters, ..Telemetry::default() }))
    };
    counts.iter().enumerate().map(reading).collect()
}

fn health() -> Result<()> {
    let home = folder::folder()?;
    let check = |id: &str, name: &str, counts: &[u64], code: i32, words: &str| -> Result<()> {
        let mut run = Stored::new(id, 500.0);
        run.behind_header = counted(name, counts);
        run.write(home.path())?;
        plain().call(home.path(), ["judge", id]).end()?.with_code(code).with_context(|| id.to_owned())?.says(&[words])
    };
    check("same", "media_errors", &[7, 7, 7], 0, "health.media_errors")?;
    check("more", "media_errors", &[7, 7, 9], 1, "health.media_errors it rose by 2 during the run")?;
    check("reset", "pcie_errors", &[7, 0, 1], 1, "health.pcie_errors it rose by 1 during the run")?;
    check("warned", "critical_warning", &[0, 4, 0], 1, "health.critical_warning it rose by 1")?;
    check("other", "unsafe_shutdowns", &[1, 2], 0, "there is no baseline")
}

fn preflight() -> Result<()> {
    let home = folder::folder()?;
    let with = |id: &str, outcome: Outcome| -> Result<std::path::PathBuf> {
        let mut run = Stored::new(id, 500.0);
        let check = Check { name: "temperature".to_owned(), outcome, message: "the drive starts at 61 °C".to_owned() };
        run.behind_header = vec![Record::Preflight { checks: vec![check] }];
        run.write(home.path())
    };
    for (id, outcome, code, junit) in [
        ("fine", Outcome::Pass, 0, "<testcase name=\"preflight.temperature\""),
        ("odd", Outcome::Warn, 0, "preflight.temperature: warn: the drive starts at 61"),
        ("hot", Outcome::NotComparable, 5, "preflight.temperature: not comparable: the drive starts at 61"),
    ] {
        with(id, outcome)?;
        plain().call(home.path(), ["judge", id, "--out", "reports"]).end()?.with_code(code).with_context(|| id)?;
        let reports = home.path().join("reports").join(id);
        let read = |name: &str| fs::read_to_string(reports.join(name));
        ensure!(read("junit.xml")?.contains(junit), "{}", read("junit.xml")?);
        ensure!(read("report.md")?.contains("## Preflight"), "{}", read("report.md")?);
        let report: Value = serde_json::from_str(&read("report.json")?)?;
        ensure!(report["preflight"][0]["name"] == "temperature", "{}", report["preflight"]);
    }
    Ok(())
}

fn worn() -> Result<()> {
    let home = folder::folder()?;
    let used = |id: &str, percent: &str| -> Result<()> {
        let mut run = Stored::new(id, 500.0);
        run.environment.note("drive.percentage_used", Some(percent));
        run.write(home.path()).map(drop)
    };
    used("new", "3")?;
    used("old", "9")?;
    let accept = ["baseline", "accept", "new", "--reason", "a test"];
    plain().call(home.path(), accept).end()?.with_code(0)?;
    plain().call(home.path(), ["judge", "old"]).end()?.says(&["the drive's used life is 9 %, and was 3 %"])
}

/// What names a drive or a mount to make a report or a terminal do what the name says.
const HOSTILE: &str =
    "\u{1b}[2J\u{1b}]0;owned\u{7}<script>alert(1)</script>\"'&]]>\u{0}|`\u{202e}😀\u{9b}31m\r\n# head";

fn hostile() -> Result<()> {
    let home = folder::folder()?;
    let long = HOSTILE.repeat(4096 / HOSTILE.len() + 1);
    let mut run = Stored::new("evil", 500.0);
    for field in ["model", "serial", "firmware", "name"] {
        run.drive[field] = long.clone().into();
    }
    run.environment.note("drive.firmware", Some(long.as_str()));
    run.environment.note("filesystem.options", Some(long.as_str()));
    let check = Check { name: "link".to_owned(), outcome: Outcome::Warn, message: long };
    run.behind_header = vec![Record::Preflight { checks: vec![check] }];
    run.write(home.path())?;
    let ended = plain().call(home.path(), ["judge", "evil", "--out", "reports"]).end()?;
    tame(&(ended.stdout + &ended.stderr))?;
    well_formed(&home.path().join("reports/evil"))
}

fn hostile_folder() -> Result<()> {
    let home = folder::folder()?;
    let name = "\u{1b}[31m<b>\"'&]]> |`\u{202e}😀\n#x";
    let target = home.path().join(name);
    fs::create_dir(&target)?;
    let suite = "size = \"8MiB\"\nsegments = 4\nblock = \"256KiB\"\ninterval = \"20ms\"";
    let profile = profile::file(home.path(), &profile::fill(suite))?;
    let out = home.path().join("runs");
    let ended = plain().call(home.path(), run_arguments(&target, &profile, &out)).end()?;
    tame(&(ended.stdout + &ended.stderr))?;
    let run = run::only(&out)?;
    well_formed(&run)?;
    ensure!(run::report(&run)?["target"]["path"] == target.display().to_string(), "the path is another");
    ensure!(folder::names(&target).is_empty(), "something was left in the target");
    Ok(())
}

/// No control character but line ends, and nothing that turns the reading direction.
fn tame(text: &str) -> Result<()> {
    let bad = text.chars().find(|&c| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}');
    ensure!(bad.is_none(), "{bad:?} in {text:?}");
    Ok(())
}

/// Reports whose syntax is theirs alone.
fn well_formed(reports: &Path) -> Result<()> {
    let read = |name: &str| fs::read_to_string(reports.join(name)).with_context(|| name.to_owned());
    let (junit, page, json) = (read("junit.xml")?, read("report.md")?, read("report.json")?);
    serde_json::from_str::<Value>(&json).context("report.json")?;
    tame(&page)?;
    for text in [&junit, &page] {
        let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
        ensure!(!text.contains(steers), "a control character in {text:?}");
    }
    let bare = page.lines().filter(|line| !line.contains('`')).any(|line| line.replace("\\<", "").contains("<script"));
    ensure!(!bare && !page.contains("\n# head"), "markup in {page}");
    let root = xml_root(&junit)?;
    ensure!(root == "testsuites", "{root}");
    Ok(())
}

/// Walks a document's tags: each is closed by its own name, and `<` and `&` begin nothing else.
fn xml_root(xml: &str) -> Result<String> {
    let (mut open, mut root): (Vec<&str>, Option<&str>) = (Vec::new(), None);
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        ensure!(!rest[..at].contains("]]>"), "the end of CDATA in text: {:?}", &rest[..at]);
        rest = &rest[at..];
        if let Some(data) = rest.strip_prefix("<![CDATA[") {
            rest = data.split_once("]]>").context("CDATA without an end")?.1;
            continue;
        }
        let (tag, after) = rest[1..].split_once('>').context("a tag without an end")?;
        rest = after;
        ensure!(!tag.contains('<'), "markup in a tag: {tag:?}");
        let name =
            tag.trim_start_matches('/').split(|c: char| c.is_whitespace() || c == '/').next().unwrap_or_default();
        if tag.starts_with('?') {
        } else if tag.starts_with('/') {
            ensure!(open.pop() == Some(name), "</{name}> closes another");
        } else if !tag.ends_with('/') {
            root = root.or(Some(name));
            open.push(name);
        }
    }
    ensure!(open.is_empty(), "{open:?} stay open");
    root.map(str::to_owned).context("no tag at all")
}
