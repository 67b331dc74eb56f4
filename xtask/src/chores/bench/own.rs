//! An engine that does no I/O: what is left is the run loop's own cost, its clock included.

use anyhow::Result;
use harness::engine::{Batch, Clock, Completion, Engine, EngineError, EngineFactory, Op, OpKind, Setup};
use harness::units::Nanos;

/// Makes engines that do nothing.
pub(super) struct NullFactory(pub(super) Clock);

/// Completes each request at once.
pub(super) struct NullEngine {
    clock: Clock,
    done: Vec<Completion>,
}

impl EngineFactory for NullFactory {
    type Engine = NullEngine;

    fn name(&self) -> &'static str {
        "null"
    }

    fn now(&self) -> Nanos {
        self.0.now()
    }

    fn engines(&self, _: &Setup) -> Result<Vec<NullEngine>, EngineError> {
        Ok(vec![NullEngine { clock: self.0, done: Vec::new() }])
    }
}

impl Engine for NullEngine {
    const THREADED: bool = true;

    fn depth(&self) -> u32 {
        1
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn submit(&mut self, op: Op, submitted: Nanos) {
        let result = match op.kind {
            OpKind::Write { len, .. } | OpKind::Read { len, .. } => Ok(len),
            _ => Ok(0),
        };
        let completed = self.clock.now();
        self.done.push(Completion { op, submitted, completed, result, bad_blocks: 0 });
    }

    fn reap(&mut self, _: Nanos, batch: &mut Batch) {
        std::mem::swap(&mut batch.completions, &mut self.done);
    }
}
