//! Our own journal: a series for each phase that wrote or read, with what the run knew of the drive.

use super::{Bad, Imported, Source, samples};
use crate::analysis::known::Known;
use crate::journal::record;
use crate::journal::replay::Replay;
use crate::units::Bytes;

/// How every journal begins.
const START: &[u8] = br#"{"schema":"#;

pub(super) fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(START)
}

pub(super) fn read(source: &Source<'_>) -> Result<Vec<Imported>, Bad> {
    let name = source.name;
    let (records, whole) = record::parse(source.bytes).map_err(|(line, why)| (Some(line), why.to_string()))?;
    let replay = Replay::new(records).map_err(|why| (None, why.to_string()))?;
    let mut warnings = Vec::new();
    if whole < source.bytes.len() as u64 {
        warnings.push(format!("{name}: the last line is torn, and was dropped"));
    }
    if replay.end.is_none() {
        warnings.push(format!("{name}: the run did not end: its series are of what was measured so far"));
    }
    if replay.resumes > 0 {
        let times = if replay.resumes == 1 { "once".to_owned() } else { format!("{} times", replay.resumes) };
        warnings.push(format!("{name}: the run was cut and resumed {times}: cut attempts were left out"));
    }
    let plan = &replay.header.plan;
    let series = replay.phases.iter().map(|phase| {
        let layout = plan.phase(&phase.id).map(|planned| &planned.layout);
        let mut series = samples::of_phase(name, &phase.id, &phase.samples_so_far());
        if series.kind == "random-write" {
            let (range, others) = (layout.map(|layout| layout.bytes()), plan.in_use.unwrap_or(Bytes(0)));
            series.known =
                Known { drive: plan.drive, range: range.filter(|_| plan.drive.is_some()), others, ..series.known };
        }
        Imported { warnings: warnings.clone(), ..series }
    });
    let series: Vec<Imported> = series.filter(|series| !series.steps.is_empty()).collect();
    if series.is_empty() {
        return Err((None, "a journal without a sample: the run ended before it moved bytes".to_owned()));
    }
    Ok(series)
}
