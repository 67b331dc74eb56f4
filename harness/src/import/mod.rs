//! Measurements of others, and our own, as series that the analysis reads: fio, sysbench, CSV, journals.
//!
//! Pure: texts and their names go in, series and refusals come out; the caller reads the files. A format is told by
//! what stands in a file, a unit never is: what the file does not say, its name or the user must. Whatever was
//! merged, dropped, filled or aligned is a warning of the series that it touched, with file and line. What can be no
//! rate over time is refused, with file, line, reason and next step.
//!
//! Knows no cliff and no steady state.

mod csv;
mod decimal;
mod fio_json;
mod fio_log;
mod group;
mod journal;
pub mod samples;
mod sum;
mod sysbench;
mod track;

use crate::analysis::known::{Known, Workload};
use crate::analysis::series::Step;
use crate::units::{Bytes, Nanos};

/// No drive moves more: a greater rate is a wrong unit or a damaged number.
const MOST_BYTES_S: f64 = 1e15;

/// A file that was read.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its path, as the user gave it: fio's logs say by their names what they measure.
    pub name: &'a str,
    /// What stands in it.
    pub bytes: &'a [u8],
}

/// What the user knows and the files may not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Bytes of an I/O, for IOPS logs without block sizes.
    pub block_size: Option<Bytes>,
    /// What a fio log holds whose name does not say it.
    pub log: Option<LogKind>,
    /// What belongs together.
    pub jobs: Jobs,
}

/// What a fio log holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// `_bw`: KiB/s, of 1024 bytes.
    Bandwidth,
    /// `_iops`: I/Os a second.
    Iops,
    /// `_lat`, `_clat`, `_slat`: nanoseconds.
    Latency,
}

/// Which tracks of several jobs are one series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jobs {
    /// Files whose names differ by their job's number only (`x_bw.1.log`, `x_bw.2.log`) ran together; what was
    /// appended to one file ran one after the other.
    #[default]
    ByName,
    /// All tracks of a kind and direction ran together.
    Sum,
    /// Each track is a series of its own.
    Apart,
}

/// A series, and all that is known of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// Files that it is from, in the order given.
    pub files: Vec<String>,
    /// `fill` and `random-write` where the source says so, else `write`, `read` or `trim`; `burst`, `prefill` and
    /// `latency` are what they say.
    pub kind: &'static str,
    /// Which part of the file, where it holds several: a phase, a job.
    pub part: Option<String>,
    /// Throughput; empty where the source has latencies only.
    pub steps: Vec<Step>,
    /// First byte of each segment, where the series is of a fill in segments.
    pub segments: Vec<Bytes>,
    /// Latencies, where the source has them.
    pub latency: Option<Latency>,
    /// What the source says of the drive.
    pub known: Known,
    /// What was merged, dropped, filled, aligned or taken for granted.
    pub warnings: Vec<String>,
}

/// Latencies as the source has them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// What the percentiles are of: `ios`, or `windows` where the source has one mean a window.
    pub of: &'static str,
    /// How many of them.
    pub count: u64,
    /// Mean, µs.
    pub mean_us: f64,
    /// Median, µs.
    pub p50_us: f64,
    /// 99th percentile, µs.
    pub p99_us: f64,
    /// Greatest, µs.
    pub max_us: f64,
}

impl Imported {
    /// How its bytes were written, as far as its kind says.
    #[must_use]
    pub fn workload(&self) -> Workload {
        if matches!(self.kind, "fill" | "prefill" | "burst") { Workload::Fill } else { Workload::RandomWrite }
    }
}

/// Why a file, or a part of one, is no series.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {reason}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct Refusal {
    /// Which file.
    pub file: String,
    /// Which line, from 1.
    pub line: Option<usize>,
    /// What is wrong, and what to do.
    pub reason: String,
}

/// Why, and in which line, before the file is known.
type Bad = (Option<usize>, String);

/// All series of these files, in their order, and what was refused.
#[must_use]
pub fn import(sources: &[Source<'_>], options: &Options) -> (Vec<Imported>, Vec<Refusal>) {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    let spare = |source: &&Source<'_>| fio_log::says_the_same(source.name, sources);
    for source in sources.iter().filter(|source| !spare(source)) {
        let refuse = |(line, reason): Bad| Refusal { file: source.name.to_owned(), line, reason };
        match read(source, options) {
            Ok(read) => {
                found.extend(read.tracks.into_iter().map(group::Member::Track));
                found.extend(read.series.into_iter().map(group::Member::Series));
                refused.extend(read.refused.into_iter().map(refuse));
            }
            Err(bad) => refused.push(refuse(bad)),
        }
    }
    let mut series = group::together(found, options.jobs);
    for spare in sources.iter().filter(spare) {
        let said = format!("{}: left out, as the bandwidth log beside it says the same in bytes", spare.name);
        let beside =
            series.iter_mut().filter(|series| series.files.iter().any(|file| fio_log::beside(file, spare.name)));
        beside.for_each(|series| series.warnings.push(said.clone()));
    }
    (series, refused)
}

/// What one file holds: jobs that may have to be summed, and series that are complete.
#[derive(Debug, Default)]
struct Read {
    tracks: Vec<track::Track>,
    series: Vec<Imported>,
    refused: Vec<Bad>,
}

fn read(source: &Source<'_>, options: &Options) -> Result<Read, Bad> {
    if journal::is_one(source.bytes) {
        return journal::read(source).map(|series| Read { series, ..Read::default() });
    }
    let text = std::str::from_utf8(source.bytes).map_err(|why| {
        let line = source.bytes[..why.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
        (Some(line), "not text: give a fio log, fio JSON, sysbench output, a CSV or a journal".to_owned())
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((_, first)) = lines(text).next() else {
        return Err((None, "empty: no row in it".to_owned()));
    };
    if samples::is_one(first) {
        return samples::read(source.name, text).map(|series| Read { series, ..Read::default() });
    }
    if csv::is_one(first) {
        return csv::read(source.name, text);
    }
    if fio_json::is_one(text) {
        return fio_json::read(source.name, text).map(|series| Read { series, ..Read::default() });
    }
    if sysbench::is_one(text) {
        return sysbench::read(source.name, text);
    }
    fio_log::read(source.name, text, options)
}

/// The lines that hold something, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())).filter(|(_, line)| !line.is_empty())
}

/// Bytes that a rate moves in a time.
fn moved(bytes_s: f64, span: Nanos) -> Bytes {
    Bytes((bytes_s * (span.0 as f64 / 1e9)).round() as u64)
}

/// The rate, if a drive can have it.
fn rate(bytes_s: f64) -> Result<f64, String> {
    if (0.0..=MOST_BYTES_S).contains(&bytes_s) {
        return Ok(bytes_s);
    }
    Err(format!("{bytes_s:.3e} bytes a second is no rate of a drive: wrong unit, or a damaged number"))
}

#[cfg(test)]
mod tests;
