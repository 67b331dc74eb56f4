//! sysbench fileio's interval output (`--report-interval`), among whatever else it printed.
//!
//! `[ 5s ] reads: 37.67 MiB/s writes: 25.11 MiB/s fsyncs: …` since 1.0; before, `[   5s] reads: 37.67 MB/s …`, where
//! MB is 1024 × 1024 bytes all the same (sysbench 0.5, `sb_fileio.c`).

use super::decimal::{number, quoted, scaled};
use super::track::{self, Gap, Row};
use super::{Bad, Read, lines, rate};

const MIB: f64 = 1_048_576.0;

pub(super) fn is_one(text: &str) -> bool {
    lines(text).any(|(_, line)| is_interval(line)) || text.contains("sysbench")
}

fn is_interval(line: &str) -> bool {
    line.starts_with('[') && line.contains(" reads:") && line.contains(" writes:")
}

/// Whether a line is an interval or was one: a damaged one must not be passed over as other output is.
fn was_interval(line: &str) -> bool {
    line.starts_with('[') || line.contains("reads:")
}

pub(super) fn read(name: &str, text: &str) -> Result<Read, Bad> {
    let (mut reads, mut writes, mut old) = (Vec::new(), Vec::new(), None);
    let cut = (!text.ends_with('\n')).then(|| text.lines().count());
    let mut warnings = Vec::new();
    for (line, text) in lines(text).filter(|(_, line)| was_interval(line)) {
        match interval(text) {
            Ok(interval) => {
                if interval.old {
                    old = old.or(Some(line));
                }
                reads.push(Row { end_ns: interval.end_ns, bytes_s: interval.read, line });
                writes.push(Row { end_ns: interval.end_ns, bytes_s: interval.written, line });
            }
            Err(_) if cut == Some(line) => {
                warnings.push(format!("{name}:{line}: the last row is cut, and was dropped"));
            }
            Err(why) => return Err((Some(line), why)),
        }
    }
    if let Some(line) = old {
        warnings.push(format!("{name}:{line}: MB/s of a sysbench before 1.0 were taken as MiB/s, which they are"));
    }
    if writes.is_empty() {
        return Err((None, "sysbench output without intervals: run it with --report-interval=10".to_owned()));
    }
    let mut read = Read::default();
    for (kind, rows) in [("read", reads), ("write", writes)] {
        if rows.iter().all(|row| row.bytes_s <= 0.0) {
            continue;
        }
        let parts = track::parts(rows);
        let count = parts.len();
        for (at, part) in parts.into_iter().enumerate() {
            let spans = track::spans(part, Gap::Unknown).map_err(|(line, why)| (Some(line), why))?;
            let restart =
                (count > 1).then(|| format!("{name}: the clock restarts: {count} runs in one file, a series each"));
            read.tracks.push(spans.track(name, kind, (at, count), warnings.iter().cloned().chain(restart)));
        }
    }
    if read.tracks.is_empty() {
        return Err((None, "every interval moved 0 bytes: no rate".to_owned()));
    }
    if let [track] = &mut read.tracks[..] {
        let none = if track.kind == "read" { "write" } else { "read" };
        track.warnings.push(format!("{name}: no interval has {none}s: left out"));
    }
    Ok(read)
}

struct Interval {
    end_ns: u64,
    read: f64,
    written: f64,
    old: bool,
}

fn interval(line: &str) -> Result<Interval, String> {
    if !is_interval(line) || line.matches('[').count() > 1 {
        return Err(format!("{} is no interval of sysbench fileio", quoted(line)));
    }
    let (time, rest) = line[1..].split_once(']').ok_or("no time in brackets")?;
    let time = time.trim();
    let seconds = time.strip_suffix('s').ok_or_else(|| format!("{} is no time in seconds", quoted(time)))?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let after = |name: &str| {
        let at = words.iter().position(|word| *word == name);
        match at.and_then(|at| words.get(at + 1..at + 3)) {
            Some([value, unit @ ("MiB/s" | "MB/s")]) => Ok((rate(number(value)? * MIB)?, *unit == "MB/s")),
            _ => Err(format!("no rate in MiB/s after {}", quoted(name))),
        }
    };
    let ((read, old_read), (written, old_written)) = (after("reads:")?, after("writes:")?);
    if old_read != old_written {
        return Err("reads and writes in different units".to_owned());
    }
    Ok(Interval { end_ns: scaled(seconds, 1e9)?, read, written, old: old_read })
}
