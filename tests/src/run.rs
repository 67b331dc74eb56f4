//! What runs leave: their folders, journals and reports.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use harness::journal::file;
use harness::journal::record::Record;
use harness::journal::replay::Replay;
use serde_json::Value;

use crate::{folder, wait};

/// The files of a run folder.
pub const FILES: [&str; 5] = ["journal.jsonl", "junit.xml", "report.html", "report.json", "report.md"];

/// The only run folder in an output folder.
///
/// # Errors
/// There is none, or more than one.
pub fn only(out: &Path) -> Result<PathBuf> {
    match folder::names(out).as_slice() {
        [name] => Ok(out.join(name)),
        names => bail!("{} holds {names:?} and not one run", out.display()),
    }
}

/// A run's report, as scripts read it.
///
/// # Errors
/// It is not there, or no JSON.
pub fn report(run: &Path) -> Result<Value> {
    let path = run.join("report.json");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("parsing {}", path.display()))
}

/// A run's journal.
///
/// # Errors
/// It cannot be read.
pub fn journal(run: &Path) -> Result<Replay> {
    Ok(file::read(run)?)
}

/// Makes sure that a run wrote every report, none of them empty or half done.
///
/// # Errors
/// One is missing.
pub fn has_reports(run: &Path) -> Result<()> {
    let names = folder::names(run);
    ensure!(names == FILES, "{} holds {names:?}", run.display());
    let markup = fs::read_to_string(run.join("junit.xml"))?;
    ensure!(markup.trim_end().ends_with("</testsuites>"), "junit.xml is cut:\n{markup}");
    ensure!(!fs::read_to_string(run.join("report.md"))?.trim().is_empty(), "report.md is empty");
    report(run).map(|_| ())
}

/// A metric's line in a report.
///
/// # Errors
/// The report has no such metric.
pub fn metric<'a>(report: &'a Value, id: &str) -> Result<&'a Value> {
    let metrics = report["metrics"].as_array().context("no metrics")?;
    metrics.iter().find(|metric| metric["id"] == id).with_context(|| format!("no metric {id} in {metrics:?}"))
}

/// Polls the journal of the only run in `out` until it holds a record that `wanted` accepts.
///
/// # Errors
/// It did not come in time.
pub fn wait_for(out: &Path, limit: Duration, wanted: impl Fn(&Record) -> bool) -> Result<()> {
    wait::until("a record in the journal", limit, || {
        // At first there is no folder, then no journal.
        let Ok(bytes) = only(out).and_then(|run| Ok(fs::read(run.join(file::NAME))?)) else { return Ok(None) };
        let records = file::parse(&bytes).map(|(records, _)| records).unwrap_or_default();
        Ok(records.iter().any(&wanted).then_some(()))
    })
}

/// Whether a record is the start of this phase.
#[must_use]
pub fn starts(record: &Record, id: &str) -> bool {
    matches!(record, Record::PhaseStart { phase, .. } if phase == id)
}

/// Whether a record is the end of this phase.
#[must_use]
pub fn ends(record: &Record, id: &str) -> bool {
    matches!(record, Record::PhaseEnd { phase, .. } if phase == id)
}
