//! What must hold of every journal, whatever the drive and the faults were.

use std::collections::BTreeMap;

use harness::engine::sim::faults::Planted;
use harness::journal::file;
use harness::journal::record::{FaultKind, Outcome, Preamble, Record, line};
use harness::journal::replay::Replay;
use harness::plan::phase::{Phase, Work};
use harness::report::{json, junit, markdown};
use harness::run::Stopped;
use harness::sample::Fault;
use harness::session::compose;
use harness::units::{Bytes, Nanos};

use super::oracle;
use super::spy::Log;

/// Time runs on; samples cover each attempt without gaps and end with its intervals; rounds are made of samples.
pub(super) fn times(replay: &Replay, records: &[Record], broken: &mut Vec<String>) {
    let interval = |phase: &str| replay.header.plan.phase(phase).map_or(Nanos(1), |phase| phase.interval_ns);
    let (mut phase, mut start, mut cursor) = (String::new(), Nanos(0), Nanos(0));
    let (mut samples, mut rounds) = (Bytes(0), None);
    for (number, record) in records.iter().enumerate() {
        let before = cursor;
        let mut at = |moment: Nanos, what: &str| {
            if moment < cursor {
                broken.push(format!("record {number}: {what} at {moment:?} after {cursor:?}"));
            }
            cursor = moment;
        };
        match record {
            Record::PhaseStart { phase: id, at_ns } => {
                // A phase that was cut goes on, and its intervals begin anew.
                at(*at_ns, id);
                (phase, start) = (id.clone(), *at_ns);
            }
            Record::SegmentStart { at_ns, .. } => {
                at(*at_ns, "an attempt begins");
                (samples, rounds) = (Bytes(0), None);
            }
            Record::Sample(sample) => {
                if sample.start_ns != before {
                    broken.push(format!("record {number}: a sample begins at {:?} after {before:?}", sample.start_ns));
                }
                let length = interval(&phase).0;
                let border = Nanos(start.0 + sample.interval * length);
                let end = sample.end_ns();
                if sample.start_ns < border || end.0 > border.0 + length {
                    broken.push(format!(
                        "record {number}: interval {} from {:?} to {end:?}",
                        sample.interval, sample.start_ns
                    ));
                }
                cursor = end;
                samples = samples.saturating_add(sample.bytes);
            }
            Record::Round(round) => {
                let sum: &mut Bytes = rounds.get_or_insert(Bytes(0));
                *sum = sum.saturating_add(round.bytes);
            }
            Record::SegmentEnd { at_ns, bytes, .. }
                if *at_ns != before || *bytes != samples || rounds.is_some_and(|rounds| rounds != samples) =>
            {
                let what = format!("{bytes:?} at {at_ns:?}, samples {samples:?}, rounds {rounds:?}");
                broken.push(format!("record {number}: {what}"));
            }
            Record::PhaseEnd { at_ns, .. } => at(*at_ns, "a phase ends"),
            Record::Resume { at_ns, .. } => at(*at_ns, "a resume"),
            _ => {}
        }
    }
}

/// What the engine saw and what the journal says are the same, for a run that was never cut.
pub(super) fn counts(records: &[Record], log: &Log, broken: &mut Vec<String>) {
    let samples =
        records.iter().filter_map(|record| if let Record::Sample(sample) = record { Some(sample) } else { None });
    let (mut ios, mut errors, mut bytes) = (0, 0, 0);
    for sample in samples {
        (ios, errors, bytes) = (ios + sample.ios, errors + sample.errors, bytes + sample.bytes.0);
    }
    // A flush that fails is an error of an interval too, and no I/O; the one that ends a segment is none.
    let failed = log.failed..=log.failed + log.failed_flushes;
    if log.planned != log.completed || !failed.contains(&errors) || (ios, bytes) != (log.completed, log.bytes) {
        broken.push(format!(
            "{} planned, {} completed of which {} failed, {} bytes; samples: {ios} I/Os, {errors} errors, {bytes} bytes",
            log.planned, log.completed, log.failed, log.bytes
        ));
    }
}

/// Each block of a finished fill was written once, by the attempt that finished it.
pub(super) fn coverage(replay: &Replay, log: &Log, broken: &mut Vec<String>) {
    for phase in &replay.phases {
        let Some(planned) = replay.header.plan.phase(&phase.id).filter(|planned| planned.work == Work::Fill) else {
            continue;
        };
        for (segment, (attempt, _)) in &phase.finished {
            let mut files = log.filled.iter().filter(|file| {
                (file.suite.as_str(), file.segment_bytes) == (&*planned.layout.files, planned.layout.segment_bytes.0)
                    && (file.segment, file.generation) == (*segment, *attempt)
            });
            let wrong = match files.next_back() {
                None => "it was never filled",
                Some(file) => file.wrong.as_deref().unwrap_or_default(),
            };
            if !wrong.is_empty() {
                broken.push(format!("{} segment {segment} attempt {attempt}: {wrong}", phase.id));
            }
        }
    }
    broken.extend(replay.conservation());
}

/// Every fault that was planted in what the read-back read was found and named, and nothing else was.
pub(super) fn findings(replay: &Replay, faults: &[Planted], broken: &mut Vec<String>) {
    let mut found: BTreeMap<u64, Fault> = BTreeMap::new();
    let mut more = 0;
    for fault in &replay.faults {
        match (fault.what, fault.offset) {
            (FaultKind::Verify(what), Some(offset)) => {
                let again = found.insert(offset, what).map(|_| format!("the block at {offset} was found bad twice"));
                broken.extend(again);
            }
            (FaultKind::VerifyMore(count), _) => more += count,
            _ => {}
        }
    }
    let read = replay.phase("fill.read").filter(|read| read.end_ns.is_some());
    let planned = read.and_then(|read| replay.header.plan.phase(&read.id));
    let expected = planned.map(|read: &Phase| oracle::expected(read, faults));
    let Some(expected) = expected else { return };
    if found.len() as u64 + more != expected.len() as u64 {
        broken.push(format!("{} bad blocks found instead of {}", found.len() as u64 + more, expected.len()));
    }
    let wrong = found.iter().find(|(offset, what)| expected.get(offset) != Some(what));
    if let Some((offset, what)) = wrong {
        broken.push(format!("the block at {offset} is called {what:?} instead of {:?}", expected.get(offset)));
    }
}

/// A run ends early only for a fault that ends it, and then says so.
pub(super) fn ending(replay: &Replay, ended: &Result<(), Stopped>, faults: &[Planted], broken: &mut Vec<String>) {
    let fatal = |kind: FaultKind| replay.faults.iter().filter(move |fault| fault.what == kind).count();
    let (full, io) = (fatal(FaultKind::NoSpace), fatal(FaultKind::Io));
    let any = |what: fn(&Planted) -> bool| faults.iter().any(what);
    let may_fill = any(|fault| matches!(fault, Planted::Full(_)));
    let may_fail = any(|fault| matches!(fault, Planted::WriteError(_) | Planted::Gone(_)));
    match ended {
        Ok(()) if full + io > 0 => broken.push(format!("the run completed with {full} full and {io} I/O errors")),
        Ok(()) => {
            let filled = replay.header.plan.phase("fill.write").map_or(Bytes(0), |fill| fill.layout.bytes());
            let passed = faults.iter().find(|fault| match fault {
                Planted::WriteError(place) => place.start < filled.0,
                Planted::Full(most) => *most < replay.bytes_written().0,
                Planted::Gone(from) => *from < replay.last_ns,
                _ => false,
            });
            broken.extend(passed.map(|fault| format!("the run completed in spite of {fault}")));
        }
        Err(Stopped::Failed(_)) if full + io == 1 && (full == 1 && may_fill || io == 1 && may_fail) => {}
        Err(why) => broken.push(format!("the run ended: {why}; faults on record: {:?}", replay.faults)),
    }
}

/// The reports of what is in memory and of what can be read back from the journal's lines are the same, byte by byte.
pub(super) fn reports(records: &[Record], ended: &Result<(), Stopped>, broken: &mut Vec<String>) {
    let at_ns = Replay::new(records.to_vec()).map_or(Nanos(0), |replay| replay.last_ns);
    let outcome = if ended.is_ok() { Outcome::Complete } else { Outcome::Failed };
    let end = Record::End { at_ns, outcome, reason: ended.as_ref().err().map(ToString::to_string) };
    let live: Vec<Record> = records.iter().cloned().chain([end]).collect();
    let text = std::iter::once(line(&Preamble::ours())).chain(live.iter().map(line));
    let text: String = text.map(|line| line + "\n").collect();
    let stored = match file::parse(text.as_bytes()) {
        Ok((stored, whole)) if whole == text.len() as u64 => stored,
        other => return broken.push(format!("the journal is not read back: {:?}", other.map(|(_, whole)| whole))),
    };
    match (rendered(live), rendered(stored)) {
        (Ok(live), Ok(stored)) if live == stored => {}
        (Ok(_), Ok(_)) => broken.push("the report of the stored run is another than the live one's".to_owned()),
        (live, stored) => broken.extend([live, stored].into_iter().filter_map(Result::err)),
    }
}

/// All reports of a run.
fn rendered(records: Vec<Record>) -> Result<String, String> {
    let report = compose::report(&Replay::new(records).map_err(|why| why.to_string())?);
    if let Some(failure) = report.failure.as_ref().filter(|failure| failure.message.contains("internal error")) {
        return Err(failure.message.clone());
    }
    let junit = junit::render(&report).map_err(|why| why.to_string())?;
    Ok(json::render(&report) + &junit + &markdown::render(&report))
}
