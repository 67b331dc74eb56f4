//! Claims about phases that are watched, on an engine that takes 1 ms a write of its own time.

use std::sync::atomic::AtomicBool;

use super::{Run, Sink, Stopped};
use crate::engine::{Batch, Completion, Engine, EngineError, EngineFactory, Op, OpKind, Setup};
use crate::journal::record::Record;
use crate::plan::phase::{Capacity, Plan};
use crate::plan::profile::Profile;
use crate::units::{Bytes, GIB, Nanos};

struct Factory;

#[derive(Default)]
struct Virtual {
    now: Nanos,
    queue: Vec<Completion>,
}

impl EngineFactory for Factory {
    type Engine = Virtual;

    fn name(&self) -> &'static str {
        "virtual"
    }

    fn now(&self) -> Nanos {
        Nanos(0)
    }

    fn engines(&self, _: &Setup) -> Result<Vec<Virtual>, EngineError> {
        Ok(vec![Virtual::default()])
    }
}

impl Engine for Virtual {
    const THREADED: bool = false;

    fn depth(&self) -> u32 {
        1
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn submit(&mut self, op: Op, submitted: Nanos) {
        let OpKind::Write { len, .. } = op.kind else {
            self.queue.push(Completion { op, submitted, completed: self.now, result: Ok(0), bad_blocks: 0 });
            return;
        };
        self.now = self.now.saturating_add(Nanos::from_millis(1));
        self.queue.push(Completion { op, submitted, completed: self.now, result: Ok(len), bad_blocks: 0 });
    }

    fn reap(&mut self, until: Nanos, batch: &mut Batch) {
        if self.queue.is_empty() {
            self.now = self.now.max(until);
        }
        batch.completions.append(&mut self.queue);
    }
}

/// Counts samples by phase.
#[derive(Default)]
struct Samples(Vec<(String, usize)>);

impl Sink for Samples {
    fn record(&mut self, record: Record) -> Result<(), Stopped> {
        match record {
            Record::PhaseStart { phase, .. } => self.0.push((phase, 0)),
            Record::Sample(_) => self.0.iter_mut().last().expect("a phase").1 += 1,
            _ => {}
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Stopped> {
        Ok(())
    }
}

/// Samples of 100 ms in the random writes of 10 s, when the watch has seen enough after three: the rest of an interval and
/// the flush follow.
fn samples(stop: &str) -> usize {
    let text = format!(
        "name = 'x'\nversion = 1\n[random_write]\nscratch = '64MiB'\nprefill_block = '1MiB'\nduration = '10s'\n\
         least_bytes = '0B'\ninterval = '100ms'\n{stop}"
    );
    let capacity = Capacity { usable: Bytes(GIB), drive: None, in_use: None };
    let plan = Plan::new(&Profile::parse(&text).expect("a profile"), capacity).expect("a plan");
    let mut seen = 0;
    let mut watch = |_: &_, _: &_| {
        seen += 1;
        seen >= 3
    };
    let (go_on, mut sink) = (AtomicBool::new(false), Samples::default());
    let run = Run::new(&plan, &Factory, 1, &go_on, &|| None, &mut sink, None);
    run.watched_by(&mut watch).run().expect("the run");
    let write = sink.0.iter().find(|(phase, _)| phase == "random_write.scratch.write").expect("the phase");
    assert_eq!(sink.0.last().map(|(phase, _)| phase.as_str()), Some("random_write.scratch.remove"));
    write.1
}

#[test]
fn a_phase_ends_when_the_watch_has_seen_enough_and_the_run_goes_on() {
    let samples = samples("stop = 'steady'");
    assert!((3..=5).contains(&samples), "{samples}");
}

#[test]
fn a_phase_that_is_not_to_be_watched_ends_as_planned() {
    assert!((100..=101).contains(&samples("")));
}
