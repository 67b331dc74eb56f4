//! Reports in a real browser: nothing is complained of, nothing is asked for outside, every picture has words, and the
//! first screen says what matters.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use storage_check_tests::browser::{Seen, Window};
use storage_check_tests::rig::{Need, trial};
use storage_check_tests::{folder, run};
use tempfile::TempDir;

use super::plain;

pub(crate) fn trials() -> Vec<Trial> {
    let chromium = [Need::Command("chromium")];
    vec![
        trial("a browser that sees what is wrong with a page says so", &chromium, canary),
        trial("the report of a firmware regression opens everywhere and asks for nothing", &chromium, regression),
        trial("a comparison opens everywhere and asks for nothing", &chromium, comparison),
    ]
}

const DRIVE: &str = "sim:consumer-tlc?scale=16&cv=0.5%";
const PROFILE: &str = "name = \"seen\"\nversion = 1\n\n[fill]\nsize = \"6GiB\"\nsegments = 24\nblock = \"1MiB\"\n\
                       queue_depth = 4\ninterval = \"200ms\"\nverify = false\n";

/// A desk and a phone, by day and by night.
fn windows() -> impl Iterator<Item = Window> {
    [(1280, 900), (390, 844)]
        .into_iter()
        .flat_map(|(width, height)| [false, true].map(|dark| Window { width, height, dark }))
}

/// Hosts that Chromium asks for by itself.
fn own(home: &Path) -> Result<BTreeSet<String>> {
    let blank = home.join("blank.html");
    fs::write(&blank, "<!DOCTYPE html><title>blank</title><link rel=\"icon\" href=\"data:,\">")?;
    let seen = Window { width: 390, height: 844, dark: false }.open(&blank)?;
    Ok(seen.requests.iter().map(|url| host(url)).collect())
}

fn host(url: &str) -> String {
    url.split('/').nth(2).unwrap_or(url).to_owned()
}

/// Opens a page everywhere.
pub(crate) fn opens(page: &Path, home: &Path) -> Result<Vec<Seen>> {
    let own = own(home)?;
    let mut all = Vec::new();
    for window in windows() {
        let seen = window.open(page).with_context(|| format!("{window:?}"))?;
        ensure!(seen.console.is_empty(), "{window:?}: the console says {:#?}", seen.console);
        let outside: Vec<&String> = seen.requests.iter().filter(|url| !own.contains(&host(url))).collect();
        ensure!(outside.is_empty(), "{window:?}: the page asks for {outside:?}");
        let pictures = seen.dom.matches("<svg").count();
        let words = seen.dom.matches("role=\"img\" aria-labelledby=\"").count();
        let told = seen.dom.matches("</title><desc ").count();
        ensure!(
            pictures > 0 && (words, told) == (pictures, pictures),
            "{pictures} pictures, {words} named, {told} told"
        );
        all.push(seen);
    }
    let looks: BTreeSet<&Vec<u8>> = all.iter().map(|seen| &seen.picture).collect();
    ensure!(looks.len() == all.len(), "desk and phone, day and night look different");
    Ok(all)
}

fn canary() -> Result<()> {
    let home = folder::folder()?;
    let page = home.path().join("bad.html");
    let body = "<script>console.error('boom')</script><img src=\"http://example.invalid/y.png\">";
    fs::write(&page, format!("<!DOCTYPE html><title>bad</title>{body}"))?;
    let seen = Window { width: 390, height: 844, dark: false }.open(&page)?;
    ensure!(seen.console.iter().any(|line| line.contains("boom")), "{:?}", seen.console);
    let asked = seen.requests.iter().any(|url| url.contains("example.invalid"));
    ensure!(asked && !own(home.path())?.contains("example.invalid"), "{:?}", seen.requests);
    Ok(())
}

/// Two states of a simulated drive's firmware, the first accepted; the second's run.
fn firmware() -> Result<(TempDir, PathBuf)> {
    let home = folder::folder()?;
    fs::write(home.path().join("seen.toml"), PROFILE)?;
    let call = |line: &str| plain().call(home.path(), line.split(' ')).end();
    call(&format!("run --profile seen.toml --out first --repeat 3 --target {DRIVE}&firmware=FW01"))?.with_code(0)?;
    let runs = folder::names(&home.path().join("first")).into_iter().map(|run| format!("first/{run}"));
    let runs: Vec<String> = runs.collect();
    call(&format!("baseline accept --reason accepted {}", runs.join(" ")))?.with_code(0)?;
    let worse = format!("{DRIVE}&seed=2&slower_floor=15%&firmware=FW02");
    call(&format!("run --profile seen.toml --out worse --target {worse}"))?.with_code(1)?;
    let run = run::only(&home.path().join("worse"))?;
    Ok((home, run))
}

fn regression() -> Result<()> {
    let (home, run) = firmware()?;
    for seen in opens(&run.join("report.html"), home.path())? {
        let first = seen.dom.split("<main").next().unwrap_or_default();
        for word in ["Regressed", "Fill: floor", "baseline", "-1", "Firmware", "FW01", "FW02", "What now"] {
            ensure!(first.contains(word), "the first screen does not say {word}:\n{first}");
        }
        ensure!(seen.dom.contains(">\nbaseline\n<"), "the baseline's curve is in the picture");
    }
    Ok(())
}

fn comparison() -> Result<()> {
    let (home, run) = firmware()?;
    let first = folder::names(&home.path().join("first")).into_iter().next().context("no run")?;
    let (a, b) = (home.path().join("first").join(first), run);
    let paths = [a.display().to_string(), b.display().to_string()];
    let compare = |format: &str| {
        let call = plain().call(home.path(), ["compare", &paths[0], &paths[1], "--format", format]).end()?;
        anyhow::Ok(call.with_code(0)?.stdout)
    };
    for (format, first) in [("html", "<!DOCTYPE html>"), ("svg", "<svg ")] {
        let text = compare(format)?;
        ensure!(text.starts_with(first) && text == compare(format)?, "{format} is whole and the same each time");
        let page = home.path().join(format!("comparison.{format}"));
        fs::write(&page, text)?;
        if format == "html" {
            opens(&page, home.path())?;
        }
    }
    Ok(())
}
