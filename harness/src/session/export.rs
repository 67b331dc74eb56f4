//! Stored runs in formats of others: reads a journal and the baselines, writes nothing and touches no drive.

use std::fmt::Write as _;
use std::path::Path;

use super::judging::Judging;
use super::{RequestError, stored};
use crate::import::samples;
use crate::journal::file;
use crate::journal::replay::Replay;
use crate::report::{Report, bencher, json, junit, markdown, openmetrics};

/// A format that a run can be exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The samples, a row an interval.
    Csv,
    /// For Prometheus' node exporter.
    OpenMetrics,
    /// Bencher Metric Format.
    Bencher,
    /// `junit.xml`.
    Junit,
    /// `report.md`.
    Markdown,
    /// `report.json`.
    Json,
}

/// A stored run as text, judged as it would be now where the format has a place for a verdict.
///
/// # Errors
/// The run or a baseline cannot be read, or the JUnit file cannot be made.
pub fn export(format: Format, run: &Path, judging: &Judging) -> Result<String, RequestError> {
    let judged = || stored::judge(run, judging, None).map(|outcome| outcome.report);
    let rendered = |render: fn(&Report) -> String| judged().map(|report| render(&report));
    match format {
        Format::Csv => Ok(csv(&file::read(run)?)),
        Format::OpenMetrics => rendered(openmetrics::render),
        Format::Bencher => rendered(bencher::render),
        Format::Markdown => rendered(markdown::render),
        Format::Json => rendered(json::render),
        Format::Junit => junit::render(&judged()?)
            .map_err(|why| RequestError::Run(format!("making the JUnit document of {} failed: {why}", run.display()))),
    }
}

/// `samples.csv`, in the journal's order.
fn csv(replay: &Replay) -> String {
    let mut out = format!("{}\n", samples::HEADER);
    for phase in &replay.phases {
        for sample in &phase.samples {
            let _ = writeln!(out, "{}", samples::row(&phase.id, sample));
        }
    }
    out
}
