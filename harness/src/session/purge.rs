//! A drive's own purge, before a run's first marker and data; and waiting for one that a cut run had begun.
//!
//! The journal says that it begins before it is ordered: who is cut in the middle finds that there, and begins with the
//! purge again. It cannot be stopped, so that a signal ends the run after it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::arm::Refused;
use super::measure::{Measurement, Tee};
use super::target::Held;
use super::{Event, Observer};
use crate::journal::record::Record;
use crate::run::{Sink, Stopped, panic_text};
use crate::target::Facts;
use crate::target::purge::{Purge, PurgeError, Stage, Witness, await_end};
use crate::units::Nanos;

/// Between two looks at a drive that purges itself.
const STEP: Duration = Duration::from_secs(1);
/// Between two looks at what the user wants meanwhile.
const GLANCE: Duration = Duration::from_millis(100);

impl<H: Held> Measurement<'_, H> {
    /// Has the drive purge itself if that was armed, and marks it as the run's; gives a failure its words.
    pub(super) fn purge(&self, sink: &mut Tee<'_>, now: &dyn Fn() -> Nanos) -> Result<(), Stopped> {
        let Some(purge) = self.held.purge() else { return Ok(()) };
        let stopped = || self.stop.load(Ordering::Relaxed);
        if stopped() {
            return Err(Stopped::Interrupted);
        }
        let (what, how) = (purge.named(), purge.words());
        sink.record(Record::PurgeBegun { at_ns: now(), what, how: how.clone() })?;
        sink.sync()?;
        sink.note(format!("the drive is told to {how}; that cannot be stopped"));
        let in_use = self.held.witness().and_then(Witness::in_use);
        carry_out(purge, self.stop, sink)?;
        let failed = |why: String| Stopped::Failed(PurgeError::Changed { why }.to_string());
        let in_words = |errno| std::io::Error::from(errno).to_string();
        match self.held.is_still(&self.header.facts) {
            Ok(true) => {}
            Ok(false) => return Err(failed("its size, its names or its number".to_owned())),
            Err(errno) => return Err(failed(in_words(errno))),
        }
        let check = self.held.witness().map(|witness| witness.check(what.grade(), in_use));
        let marked = purge.mark(&self.header.run);
        marked.map_err(|errno| {
            Stopped::Failed(format!("writing the first block after the drive's own purge failed: {}", in_words(errno)))
        })?;
        if let Some(check) = &check {
            sink.note(format!("the drive has purged itself ({}); {check}", what.word()));
        }
        sink.record(Record::Purge { at_ns: now(), grade: what.grade(), check })?;
        sink.sync()?;
        if stopped() { Err(Stopped::Interrupted) } else { Ok(()) }
    }
}

/// The order in a thread of its own, since it may not return for hours; meanwhile what it says, and what the user hears.
fn carry_out(purge: &Purge, stop: &AtomicBool, sink: &mut Tee<'_>) -> Result<(), Stopped> {
    let (tell, hear) = mpsc::channel();
    thread::scope(|scope| {
        let work = scope.spawn(move || {
            purge.carry_out(&mut |stage| {
                // Nobody hears it only where the run's own thread has panicked.
                let _ = tell.send(stage);
                pause(STEP);
            })
        });
        let (mut told, mut progress) = (false, Progress::default());
        loop {
            match hear.recv_timeout(GLANCE) {
                Ok(stage) => progress.line(stage).into_iter().for_each(|line| sink.note(line)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if stop.load(Ordering::Relaxed) && !told {
                told = true;
                sink.note(
                    "a purge cannot be stopped: the run ends as soon as the drive is through with it; \
                     who leaves now leaves the drive to it"
                        .to_owned(),
                );
            }
        }
        match work.join() {
            Ok(result) => result.map_err(|why| Stopped::Failed(why.to_string())),
            Err(panic) => Err(Stopped::Panic(panic_text(&*panic))),
        }
    })
}

/// Waits until a drive purges itself no longer, if it is to be known and the user has the patience.
pub(super) fn wait(facts: &Facts, observer: &mut dyn Observer, stop: &AtomicBool) -> Result<(), Refused> {
    let namespace = facts.drive.as_ref().and_then(|drive| u32::try_from(drive.details.namespace?).ok());
    let mut progress = Progress::default();
    let over = await_end(&facts.path, namespace, &mut |stage| {
        progress.line(stage).into_iter().for_each(|line| observer.event(Event::Note(line)));
        pause(STEP);
        !stop.load(Ordering::Relaxed)
    });
    match over {
        Ok(true) => Ok(()),
        Ok(false) => Err(Refused::Interrupted("stopped by a signal; the drive goes on with its own purge".to_owned())),
        Err(why) => Err(Refused::Other(why.to_string())),
    }
}

/// Which looks are worth a line: the first, each tenth of the way, and when the drive falls silent.
#[derive(Default)]
struct Progress {
    last: Option<Stage>,
}

impl Progress {
    fn line(&mut self, stage: Stage) -> Option<String> {
        let tenth = |stage| if let Stage::Done(permille) = stage { Some(permille / 100) } else { None };
        let new = self.last.is_none_or(|last| tenth(last) != tenth(stage));
        self.last = Some(stage);
        new.then(|| match stage {
            Stage::Done(permille) => format!("the drive purges itself: {} % done", permille / 10),
            Stage::Silent => "the drive purges itself, and does not answer at the moment".to_owned(),
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "before the run's first phase there is no engine to wait on")]
fn pause(span: Duration) {
    thread::sleep(span);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_line_a_tenth_and_one_when_the_drive_falls_silent() {
        let mut progress = Progress::default();
        let stages = [0, 50, 99, 120, 130].map(Stage::Done).into_iter().chain([Stage::Silent; 3]);
        let lines: Vec<String> = stages.chain([Stage::Done(999)]).filter_map(|stage| progress.line(stage)).collect();
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines[0].ends_with("0 % done") && lines[1].ends_with("12 % done") && lines[3].ends_with("99 % done"));
        assert!(lines[2].contains("does not answer"));
    }
}
