//! Giving back what a phase no longer needs: removing files, telling the drive what is unused, and looking whether it heard.

use rustix::io::Errno;

use super::{Run, Stopped, perform};
use crate::engine::{Engine, EngineFactory, OpKind};
use crate::journal::record::{PurgeGrade, Record};
use crate::plan::phase::Phase;
use crate::target::purge::Witness;

impl<'a, F: EngineFactory> Run<'a, F> {
    /// Lets somebody look at the target before and after each purge.
    #[must_use]
    pub fn witnessed_by(self, witness: Option<&'a Witness>) -> Run<'a, F> {
        Run { witness, ..self }
    }

    pub(super) fn remove(&mut self, engines: &mut [F::Engine], phase: &Phase) -> Result<(), Stopped> {
        let Some(engine) = engines.first_mut() else { return Ok(()) };
        let result = perform(engine, OpKind::Discard { from: 0, to: phase.layout.segments });
        let at = engine.now();
        result.or_else(|errno| self.failed(at, None, None, "removing the files", errno))
    }

    /// Tells the drive what is unused, and notes whether it could be told, and what a look at it shows.
    pub(super) fn trim(&mut self, engines: &mut [F::Engine]) -> Result<(), Stopped> {
        let Some(engine) = engines.first_mut() else { return Ok(()) };
        let (told, untold) = match self.whole_device {
            true => (PurgeGrade::Discard, PurgeGrade::None),
            false => (PurgeGrade::Fstrim, PurgeGrade::Delete),
        };
        let in_use = self.witness.and_then(Witness::in_use);
        let grade = match perform(engine, OpKind::Trim) {
            Ok(()) => told,
            Err(Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL) => untold,
            Err(errno) => {
                let at = engine.now();
                return self.failed(at, None, None, "discarding what is unused", errno);
            }
        };
        let at_ns = engine.now();
        let check = self.witness.filter(|_| grade == told).map(|witness| witness.check(grade, in_use));
        self.sink.record(Record::Purge { at_ns, grade, check })
    }
}
