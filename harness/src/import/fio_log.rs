//! fio's `_bw`, `_iops` and `_lat` logs, in all dialects.
//!
//! Source: fio's HOWTO, "Log File Formats", and `flush_samples` in its iolog.c. A row is `time, value, direction, block
//! size` (since 2012), then, by version and options, `offset` (log_offset), the I/O's priority (3.17 on; in hex with
//! log_prio) and its issue time (3.37 on); with log_window_value=both, the window's maximum stands after the
//! value. Time is in ms and ends the window; bandwidth is in KiB/s of 1024 bytes, latency in ns (µs before 3.0). A log without
//! averaging has a row an I/O, which is no rate over time.

use super::decimal::{quoted, whole};
use super::track::{self, Gap, Row, Track};
use super::{Bad, Imported, Latency, LogKind, Options, Read, Source, lines, rate};

/// Directions by fio's number.
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];
/// Fewest and most columns of any dialect.
const COLUMNS: std::ops::RangeInclusive<usize> = 4..=8;
/// Columns that every log has had since fio 3.17.
const COLUMNS_SINCE_NS: usize = 5;

/// A row as it stands.
#[derive(Clone, Copy, Debug)]
struct Entry {
    line: usize,
    time_ms: u64,
    value: u64,
    direction: usize,
    block: u64,
}

pub(super) fn read(name: &str, text: &str, options: &Options) -> Result<Read, Bad> {
    let (entries, columns, mut warnings) = entries(name, text)?;
    let log = options.log.or_else(|| log_kind(name)).ok_or_else(|| {
        (
            None,
            "the name does not say what is logged: rename it to …_bw.log, …_iops.log or …_lat.log, or say \
             --log bw, iops or lat"
                .to_owned(),
        )
    })?;
    let mut read = Read::default();
    let directions = DIRECTIONS.iter().enumerate().map(|(number, kind)| {
        let ours: Vec<Entry> = entries.iter().filter(|entry| entry.direction == number).copied().collect();
        (*kind, ours)
    });
    let directions: Vec<_> = directions.filter(|(_, ours)| !ours.is_empty()).collect();
    if directions.len() > 1 {
        let names: Vec<&str> = directions.iter().map(|(kind, _)| *kind).collect();
        warnings
            .push(format!("{name}: rows of {} are mixed: each direction is a series of its own", names.join(" and ")));
    }
    for (kind, ours) in directions {
        if log == LogKind::Latency {
            read.series.push(latency(name, kind, &ours, columns, &warnings));
            continue;
        }
        let mut warnings = warnings.clone();
        if let Some((line, count)) = restarts(&ours) {
            warnings.push(format!("{name}:{line}: {}", restarted(count)));
        }
        let rows = match rows(name, &ours, log, options) {
            Ok((rows, more)) => {
                warnings.extend(more);
                rows
            }
            Err(bad) => {
                read.refused.extend(restarts(&ours).map(|(line, count)| (Some(line), restarted(count))));
                read.refused.push(bad);
                continue;
            }
        };
        let parts = track::parts(rows);
        let count = parts.len();
        for (at, part) in parts.into_iter().enumerate() {
            match track::spans(part, Gap::Idle) {
                Ok(spans) => read.tracks.push(track_of(name, kind, (at, count), spans, &warnings)),
                Err((line, why)) => read.refused.push((Some(line), format!("{kind}: {why}"))),
            }
        }
    }
    Ok(read)
}

/// Where the clock restarts for the first time, and how many jobs that makes.
fn restarts(entries: &[Entry]) -> Option<(usize, usize)> {
    let row = |entry: &Entry| Row { end_ns: entry.time_ms * 1_000_000, bytes_s: 0.0, line: entry.line };
    let parts = track::parts(entries.iter().map(row).collect());
    Some((parts.get(1)?.first()?.line, parts.len()))
}

fn restarted(jobs: usize) -> String {
    format!("the clock restarts: {jobs} jobs in one file, a series each; --jobs sum if they ran at the same time")
}

fn track_of(name: &str, kind: &'static str, part: (usize, usize), spans: track::Spans, warnings: &[String]) -> Track {
    Track { family: family(name).0, ..spans.track(name, kind, part, warnings.iter().cloned()) }
}

/// All rows, how many columns they have, and what was dropped.
fn entries(name: &str, text: &str) -> Result<(Vec<Entry>, usize, Vec<String>), Bad> {
    let rows = || lines(text).map(|(line, text)| (line, text.split(',').map(str::trim).collect::<Vec<&str>>()));
    let (first_line, first) = rows().next().unwrap_or((1, vec![""]));
    let (columns, count) = (first.len(), lines(text).count());
    let at = |line: usize, why: String| (Some(line), why);
    if !COLUMNS.contains(&columns) {
        let why = match columns {
            0..=3 => format!("{} begins no fio log, fio JSON, sysbench output, CSV or journal", quoted(first[0])),
            _ => format!("{columns} columns: a histogram log (_clat_hist) has no rate; give the _bw log"),
        };
        return Err(at(first_line, why));
    }
    let (mut warnings, mut kept) = (Vec::new(), count);
    if !text.ends_with('\n')
        && count > 1
        && let Some((line, last)) = rows().last()
        && (last.len() < columns || last.last().is_some_and(|text| text.is_empty()))
    {
        warnings.push(format!("{name}:{line}: the last row is cut, and was dropped"));
        kept = count - 1;
    }
    // With log_window_value=both the direction is one column further on.
    let directions =
        |column: usize| rows().take(kept).all(|(_, row)| matches!(row.get(column), Some(&("0" | "1" | "2"))));
    let shift = usize::from(columns > 5 && !directions(2) && directions(3));
    let entries = rows().take(kept).map(|(line, row)| {
        let number = |column: usize| whole(row[column]).map_err(|why| at(line, why));
        if row.len() != columns {
            return Err(at(
                line,
                format!("{} columns, where the first row has {columns}: the file is damaged", row.len()),
            ));
        }
        if let Some(text) = row[4 + shift..].iter().find(|text| !is_number(text)) {
            return Err(at(line, format!("{} is no number", quoted(text))));
        }
        let time_ms = number(0)?;
        if time_ms > MOST_MS {
            return Err(at(line, format!("{time_ms} ms is too late a moment: a damaged number")));
        }
        let direction = number(2 + shift)? as usize;
        if direction >= DIRECTIONS.len() {
            let why = format!("direction {}: 0 is read, 1 write, 2 trim", quoted(row[2 + shift]));
            return Err(at(line, why));
        }
        Ok(Entry { line, time_ms, value: number(1)?, direction, block: number(3 + shift)? })
    });
    Ok((entries.collect::<Result<_, _>>()?, columns, warnings))
}

/// A century, as moments are in nanoseconds inside.
const MOST_MS: u64 = 3_200_000_000_000;

fn is_number(text: &str) -> bool {
    let hex =
        text.strip_prefix("0x").is_some_and(|hex| !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    hex || whole(text).is_ok()
}

/// The rows as rates.
fn rows(name: &str, entries: &[Entry], log: LogKind, options: &Options) -> Result<(Vec<Row>, Vec<String>), Bad> {
    let mut warnings = Vec::new();
    let unit = match log {
        LogKind::Iops => {
            let (block, warning) = block_size(name, entries, options)?;
            warnings.extend(warning);
            block
        }
        LogKind::Bandwidth | LogKind::Latency => 1024,
    };
    let row = |entry: &Entry| {
        let bytes_s = rate(entry.value as f64 * unit as f64).map_err(|why| (Some(entry.line), why))?;
        Ok(Row { end_ns: entry.time_ms * 1_000_000, bytes_s, line: entry.line })
    };
    Ok((entries.iter().map(row).collect::<Result<_, Bad>>()?, warnings))
}

/// Bytes of an I/O: from the rows, else from the user.
fn block_size(name: &str, entries: &[Entry], options: &Options) -> Result<(u64, Option<String>), Bad> {
    let block = entries[0].block;
    if entries.len() > 1 && entries.iter().all(|entry| entry.value == 1) {
        let why = "every rate is 1, as in a log of one row an I/O: not a rate over time; log averages instead \
                   (fio: log_avg_msec=1000)";
        return Err((Some(entries[0].line), why.to_owned()));
    }
    if let Some(other) = entries.iter().find(|entry| entry.block != block) {
        let why = format!("block sizes vary ({block} and {} bytes): I/Os say no bytes; give the _bw log", other.block);
        return Err((Some(other.line), why));
    }
    match (block, options.block_size) {
        (0, Some(given)) => {
            let warning = format!("{name}: I/Os were taken as {} bytes each, as --block-size says", given.0);
            Ok((given.0, Some(warning)))
        }
        (0, None) => Err((
            Some(entries[0].line),
            "an IOPS log without block sizes says no bytes: give the _bw log, or --block-size (such as 4KiB)"
                .to_owned(),
        )),
        (_, Some(given)) if given.0 != block => {
            Err((Some(entries[0].line), format!("I/Os are of {block} bytes here, and --block-size says {}", given.0)))
        }
        _ => Ok((block, None)),
    }
}

/// What a latency log says: no throughput.
fn latency(name: &str, kind: &str, entries: &[Entry], columns: usize, warnings: &[String]) -> Imported {
    let mut warnings = warnings.to_vec();
    let which = ["slat", "clat", "lat"].into_iter().find(|which| name.contains(&format!("_{which}")));
    if columns < COLUMNS_SINCE_NS {
        warnings.push(format!("{name}: {columns} columns: latencies were taken as ns; fio before 3.0 wrote µs"));
    }
    let mut values: Vec<u64> = entries.iter().map(|entry| entry.value).collect();
    values.sort_unstable();
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize] as f64 / 1e3;
    // Without averaging a row carries its I/O's size.
    let of = if entries.iter().all(|entry| entry.block > 0) { "ios" } else { "windows" };
    let sum: f64 = values.iter().map(|&value| value as f64 / 1e3).sum();
    let latency = Latency {
        of,
        count: values.len() as u64,
        mean_us: sum / values.len() as f64,
        p50_us: at(0.5),
        p99_us: at(0.99),
        max_us: at(1.0),
    };
    Imported {
        files: vec![name.to_owned()],
        kind: "latency",
        part: Some(format!("{} of {kind}", which.unwrap_or("lat"))),
        latency: Some(latency),
        warnings,
        ..Imported::default()
    }
}

/// What a log holds, by its name: `x_bw.1.log`, `x_iops.log`, `x_clat.3.log.host`.
fn log_kind(name: &str) -> Option<LogKind> {
    let family = family(name).0;
    let end = family.rsplit('_').next()?;
    match end {
        "bw" => Some(LogKind::Bandwidth),
        "iops" => Some(LogKind::Iops),
        "lat" | "clat" | "slat" => Some(LogKind::Latency),
        _ => None,
    }
}

/// Whether a bandwidth log is of the same job as an IOPS log.
pub(super) fn beside(bandwidth: &str, iops: &str) -> bool {
    let ((bw, job), (ios, other)) = (family(bandwidth), family(iops));
    job == other && bw.strip_suffix("_bw").is_some_and(|stem| ios.strip_suffix("_iops") == Some(stem))
}

/// Whether a log is of IOPS and the bandwidth log of its job is there, too: the same I/Os, without their bytes.
pub(super) fn says_the_same(name: &str, sources: &[Source<'_>]) -> bool {
    sources.iter().any(|other| beside(other.name, name))
}

/// The name without job number and host, and the two: files of a family are the jobs of one run.
fn family(name: &str) -> (String, String) {
    let folder = name.rfind('/').map_or(0, |slash| slash + 1);
    let (stem, host) = match name[folder..].rfind(".log") {
        Some(dot) => (&name[..folder + dot], &name[folder + dot + 4..]),
        None => (name, ""),
    };
    let (stem, job) = match stem.rsplit_once('.') {
        Some((stem, job)) if !job.is_empty() && job.bytes().all(|byte| byte.is_ascii_digit()) => (stem, job),
        _ => (stem, ""),
    };
    (stem.to_owned(), format!("{job}{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_logged_and_what_belongs_together() {
        let check = |name: &str, stem: &str, job: &str, kind: Option<LogKind>| {
            assert_eq!(family(name), (stem.to_owned(), job.to_owned()), "{name}");
            assert_eq!(log_kind(name), kind, "{name}");
        };
        check("a/x_bw.12.log", "a/x_bw", "12", Some(LogKind::Bandwidth));
        check("x_iops.log", "x_iops", "", Some(LogKind::Iops));
        check("x_clat.1.log.host-b", "x_clat", "1.host-b", Some(LogKind::Latency));
        check("v1.2_bw.1.log", "v1.2_bw", "1", Some(LogKind::Bandwidth));
        check("a.log/x.txt", "a.log/x.txt", "", None);
        check("notes.log", "notes", "", None);
    }
}
