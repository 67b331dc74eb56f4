//! `samples.csv`: the samples of a run, one row an interval, for spreadsheets and plots.
//!
//! The first line is [`HEADER`]; then a row for each sample of each finished attempt, in the journal's order. `phase` is the
//! plan's id; all else is as in the journal's samples: whole nanoseconds, bytes and counts, moments from the
//! start of the run. A column is only ever added at the end, and a reader passes over columns that it does not know.

use super::decimal::{quoted, whole};
use super::{Bad, Imported, lines};
use crate::analysis::series::Step;
use crate::sample::{Latency, Sample};
use crate::units::{Bytes, Nanos};

/// The first line.
pub const HEADER: &str =
    "phase,interval,segment,attempt,start_ns,elapsed_ns,bytes,ios,errors,stalled_ns,p50_ns,p99_ns,p999_ns,max_ns";

/// The row of a sample.
#[must_use]
pub fn row(phase: &str, sample: &Sample) -> String {
    let Sample { interval, segment, attempt, bytes, ios, errors, latency, .. } = sample;
    let (start, elapsed, stalled) = (sample.start_ns.0, sample.elapsed_ns.0, sample.stalled_ns.0);
    let Latency { p50_ns, p99_ns, p999_ns, max_ns } = latency;
    let bytes = bytes.0;
    format!(
        "{phase},{interval},{segment},{attempt},{start},{elapsed},{bytes},{ios},{errors},{stalled},{p50_ns},{p99_ns},{p999_ns},{max_ns}"
    )
}

/// The phase and the sample of a row.
///
/// # Errors
/// What is wrong with it.
pub fn parse(row: &str) -> Result<(&str, Sample), String> {
    let columns: Vec<&str> = row.split(',').map(str::trim).collect();
    let least = HEADER.split(',').count();
    if columns.len() < least {
        return Err(format!("{} columns instead of {least}", columns.len()));
    }
    let number = |column: usize| whole(columns[column]);
    let small =
        |column: usize| u32::try_from(number(column)?).map_err(|_| format!("{} is too large", quoted(columns[column])));
    let sample = Sample {
        interval: number(1)?,
        segment: small(2)?,
        attempt: small(3)?,
        start_ns: Nanos(number(4)?),
        elapsed_ns: Nanos(number(5)?),
        bytes: Bytes(number(6)?),
        ios: number(7)?,
        errors: number(8)?,
        stalled_ns: Nanos(number(9)?),
        latency: Latency { p50_ns: number(10)?, p99_ns: number(11)?, p999_ns: number(12)?, max_ns: number(13)? },
    };
    Ok((columns[0], sample))
}

pub(super) fn is_one(first: &str) -> bool {
    first.starts_with("phase,interval,")
}

/// A series a phase.
pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, Bad> {
    let mut rows = lines(text);
    let (line, header) = rows.next().unwrap_or((1, ""));
    if !header.starts_with(HEADER) {
        return Err((Some(line), format!("the header is not {HEADER}")));
    }
    let mut rows: Vec<(usize, &str)> = rows.collect();
    let mut warnings = Vec::new();
    if !text.ends_with('\n')
        && let Some((line, _)) = rows.pop()
    {
        warnings.push(format!("{name}:{line}: the last row has no line end and may be cut: it was dropped"));
    }
    let mut phases: Vec<(&str, Vec<Sample>)> = Vec::new();
    for (line, text) in rows {
        let at = |why: String| (Some(line), why);
        let (phase, sample) = parse(text).map_err(at)?;
        match phases.iter_mut().find(|(other, _)| *other == phase) {
            Some((_, samples)) => {
                if samples.last().is_some_and(|last| last.start_ns > sample.start_ns) {
                    return Err(at("rows are not in the order of time".to_owned()));
                }
                samples.push(sample);
            }
            None => phases.push((phase, vec![sample])),
        }
    }
    if phases.is_empty() {
        return Err((Some(line), "a header and no row".to_owned()));
    }
    Ok(phases
        .into_iter()
        .map(|(phase, samples)| Imported { warnings: warnings.clone(), ..of_phase(name, phase, &samples) })
        .collect())
}

/// The series of a phase's samples.
pub(super) fn of_phase(name: &str, phase: &str, samples: &[Sample]) -> Imported {
    let kind = match phase.split('.').collect::<Vec<_>>()[..] {
        ["fill", "write"] => "fill",
        ["fill", "burst", ..] => "burst",
        ["random_write", _, "prefill"] => "prefill",
        ["random_write", _, "write"] => "random-write",
        [.., "read"] => "read",
        _ => "write",
    };
    let (mut segments, mut at, mut last) = (Vec::new(), Bytes(0), None);
    for sample in samples {
        if last != Some(sample.segment) {
            segments.push(at);
            last = Some(sample.segment);
        }
        at = at.saturating_add(sample.bytes);
    }
    Imported {
        files: vec![name.to_owned()],
        kind,
        part: Some(phase.to_owned()),
        steps: samples.iter().map(|sample| Step { elapsed_ns: sample.elapsed_ns, bytes: sample.bytes }).collect(),
        segments: if kind == "fill" { segments } else { Vec::new() },
        ..Imported::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_row_reads_back_as_the_same_sample(numbers: [u64; 11], segment: u32, attempt: u32) {
            let [interval, start, elapsed, bytes, ios, errors, stalled, p50_ns, p99_ns, p999_ns, max_ns] = numbers;
            let sample = Sample {
                interval, segment, attempt, ios, errors,
                start_ns: Nanos(start), elapsed_ns: Nanos(elapsed), bytes: Bytes(bytes), stalled_ns: Nanos(stalled),
                latency: Latency { p50_ns, p99_ns, p999_ns, max_ns },
            };
            let row = row("fill.write", &sample);
            proptest::prop_assert_eq!(parse(&row), Ok(("fill.write", sample)));
        }
    }
}
