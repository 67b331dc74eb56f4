//! Does again on a new simulated drive what a journal says was done, so that a run which was cut can go on there.
//!
//! The same requests at the same times leave the same drive. Each record is compared with the journal's: a drive that
//! does something else is not the one that was measured.

use std::sync::atomic::AtomicBool;

use super::{Run, Sink, Stopped, check_finished, idle};
use crate::engine::EngineFactory;
use crate::journal::record::{Record, line};
use crate::journal::replay::Replay;
use crate::sample::telemetry::{Occasion, Telemetry};
use crate::units::Nanos;

/// Brings `factory`'s drive, a new one, to where it was when the last of these records was written; each leg of the run has
/// a gauge of its own, as it had then.
///
/// # Errors
/// The run had ended by itself, or the drive does something else than these records say.
pub fn again<F: EngineFactory, G>(records: &[Record], factory: &F, gauges: impl Fn() -> G) -> Result<(), String>
where
    G: FnMut(Nanos, Occasion) -> Option<Telemetry>,
{
    if records.iter().any(|record| matches!(record, Record::End { .. })) {
        return Err("the run had ended, and a simulated drive keeps nothing beyond a run: start a new run".to_owned());
    }
    let (mut done, stop) = (1, AtomicBool::new(false));
    if let Some(Record::Header(header)) = records.first() {
        idle(factory, header.waited_ns.unwrap_or_default(), &stop).map_err(|why| why.to_string())?;
    }
    for leg in records.get(1..).unwrap_or_default().split(|record| matches!(record, Record::Resume { .. })) {
        let so_far = Replay::new(records.iter().take(done).cloned()).map_err(|why| why.to_string())?;
        let resumed = done > 1;
        if resumed {
            check_finished(&so_far, factory)?;
        }
        // What was known before the first phase is not done again.
        let doings: Vec<&Record> = leg.iter().filter(|record| !matches!(record, Record::Preflight { .. })).collect();
        let (none, mut gauge) = (|| None, gauges());
        let mut sink = Same { expected: doings.into_iter(), other: None };
        let header = &so_far.header;
        let cut = resumed.then_some(&so_far);
        let run = Run::new(&header.plan, factory, header.seed, &stop, &none, &mut sink, cut);
        let ended = run.gauged_by(&mut gauge).run();
        if let Some(other) = sink.other {
            return Err(other);
        }
        match ended {
            Ok(()) | Err(Stopped::Interrupted) => {}
            Err(why) => return Err(format!("doing again what the journal says failed: {why}")),
        }
        done += leg.len() + 1;
    }
    Ok(())
}

/// Compares records with those that are expected, and stops the run behind the last of them.
struct Same<'a> {
    expected: std::vec::IntoIter<&'a Record>,
    other: Option<String>,
}

impl Sink for Same<'_> {
    fn record(&mut self, record: Record) -> Result<(), Stopped> {
        match self.expected.next() {
            Some(expected) if *expected == record => Ok(()),
            Some(expected) => {
                self.other.get_or_insert_with(|| format!(
                    "the simulated drive does not do again what the journal says (it has {}, and now it would be {}): \
                     another version of this program wrote it; start a new run",
                    line(expected),
                    line(&record)
                ));
                Err(Stopped::Interrupted)
            }
            None => Err(Stopped::Interrupted),
        }
    }

    fn sync(&mut self) -> Result<(), Stopped> {
        Ok(())
    }
}
