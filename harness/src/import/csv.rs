//! Series as CSV: a column of places or times, a column of rates, and a header that names both with their units.
//!
//! `offset_mib,mib_s`: chunks of a fill, by the place at which each starts; `t_s,mib_s`: intervals of random writes, by the
//! time at which each ends. The unit is the end of a column's name, of 1024 (`mib`) or 1000 (`mb`), and nothing else.

use super::decimal::{number, quoted, scaled};
use super::track::{self, Gap, Row, Span};
use super::{Bad, Read, lines, rate};

/// Units of places, in bytes.
const PLACES: [(&str, f64); 6] = [
    ("offset_b", 1.0),
    ("offset_kib", 1024.0),
    ("offset_mib", 1_048_576.0),
    ("offset_gib", 1_073_741_824.0),
    ("offset_mb", 1e6),
    ("offset_gb", 1e9),
];
/// Units of times, in nanoseconds.
const TIMES: [(&str, f64); 2] = [("t_s", 1e9), ("t_ms", 1e6)];
/// Units of rates, in bytes a second.
const RATES: [(&str, f64); 6] =
    [("b_s", 1.0), ("kib_s", 1024.0), ("mib_s", 1_048_576.0), ("gib_s", 1_073_741_824.0), ("mb_s", 1e6), ("gb_s", 1e9)];

/// What the first column is.
enum Column {
    Place(f64),
    Time(f64),
}

fn header(line: &str) -> Option<(Column, f64)> {
    let (x, y) = line.split_once(',')?;
    let find = |units: &[(&str, f64)], name: &str| {
        units.iter().find(|(unit, _)| unit.eq_ignore_ascii_case(name.trim())).map(|(_, times)| *times)
    };
    let column = find(&PLACES, x).map(Column::Place).or_else(|| find(&TIMES, x).map(Column::Time))?;
    Some((column, find(&RATES, y)?))
}

/// Whether a first line is a header of ours, or of a CSV that should have one.
pub(super) fn is_one(first: &str) -> bool {
    let letters = |text: &str| text.trim().starts_with(|c: char| c.is_ascii_alphabetic());
    header(first).is_some() || first.split(',').count() > 1 && first.split(',').all(letters)
}

pub(super) fn read(name: &str, text: &str) -> Result<Read, Bad> {
    let mut rows = lines(text);
    let (line, first) = rows.next().unwrap_or((1, ""));
    let Some((column, unit)) = header(first) else {
        let why = format!(
            "{} is no header with units: write t_s,mib_s (or t_ms; kib_s, mb_s …) for intervals by their end, \
             offset_mib,mib_s (or offset_gb …) for chunks by their start",
            quoted(first)
        );
        return Err((Some(line), why));
    };
    let mut warnings = Vec::new();
    let mut rows: Vec<(usize, &str)> = rows.collect();
    if !text.ends_with('\n')
        && let Some((line, _)) = rows.pop()
    {
        warnings.push(format!("{name}:{line}: the last row has no line end and may be cut: it was dropped"));
    }
    let scale = match column {
        Column::Place(scale) | Column::Time(scale) => scale,
    };
    let row = |(line, text): &(usize, &str)| {
        let at = |why: String| (Some(*line), why);
        let (x, y) = text.split_once(',').ok_or_else(|| at(format!("{} is no row of two columns", quoted(text))))?;
        let end_ns = scaled(x.trim(), scale).map_err(at)?;
        Ok(Row { end_ns, bytes_s: rate(number(y.trim()).map_err(at)? * unit).map_err(at)?, line: *line })
    };
    let rows = rows.iter().map(row).collect::<Result<Vec<Row>, Bad>>()?;
    let (kind, parts) = match column {
        Column::Place(_) => ("fill", vec![chunks(rows)]),
        Column::Time(_) => {
            ("random-write", track::parts(rows).into_iter().map(|part| track::spans(part, Gap::Unknown)).collect())
        }
    };
    let count = parts.len();
    if count > 1 {
        warnings.push(format!("{name}: the clock restarts: {count} series in one file"));
    }
    let mut read = Read::default();
    for (at, part) in parts.into_iter().enumerate() {
        let spans = part.map_err(|(line, why)| (Some(line), why))?;
        read.tracks.push(spans.track(name, kind, (at, count), warnings.iter().cloned()));
    }
    if read.tracks.is_empty() {
        return Err((Some(line), "a header and no row".to_owned()));
    }
    Ok(read)
}

/// Chunks by their start: each goes up to the next one's, and takes what its bytes take at its rate.
fn chunks(rows: Vec<Row>) -> Result<track::Spans, (usize, String)> {
    let starts: Vec<u64> = rows.iter().map(|row| row.end_ns).collect();
    if let Some(at) = starts.windows(2).position(|pair| pair[1] <= pair[0]) {
        return Err((rows[at + 1].line, "chunks must be in the order of their places".to_owned()));
    }
    let mut sizes: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let usual = track::median(&mut sizes.clone());
    let Some(last) = rows.last().filter(|_| usual > 0) else {
        return Err((rows.first().map_or(1, |row| row.line), "less than two chunks: their size is unknown".to_owned()));
    };
    let mut done = Vec::new();
    if let Some(at) = sizes.iter().position(|&size| size as f64 > 1.5 * usual as f64) {
        done.push((rows[at].line, "chunks are missing: the one before was taken to go on up to the next".to_owned()));
    }
    sizes.push(usual);
    done.push((
        last.line,
        format!("nothing says how large the last chunk is: it was taken as the usual {usual} bytes"),
    ));
    let (mut end_ns, mut spans) = (0_u64, Vec::with_capacity(rows.len()));
    for (row, &size) in rows.iter().zip(&sizes) {
        let ns = size as f64 / row.bytes_s * 1e9;
        if row.bytes_s <= 0.0 || ns > 1e18 - end_ns as f64 {
            return Err((row.line, "a chunk cannot have been written at this rate".to_owned()));
        }
        // In whole nanoseconds the rate is not quite the row's; the bytes are the chunk's.
        let elapsed = (ns.round() as u64).max(1);
        end_ns += elapsed;
        spans.push(Span { end_ns, bytes_s: size as f64 / elapsed as f64 * 1e9 });
    }
    Ok(track::Spans { start_ns: 0, epoch: false, spans, period_ns: (end_ns / rows.len() as u64).max(1), done })
}
