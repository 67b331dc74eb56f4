//! One of our runs: a profile through the run loop, and what the samples of one phase sum to.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use harness::engine::{Clock, EngineFactory};
use harness::journal::record::Record;
use harness::plan::phase::{Capacity, Plan, Work};
use harness::plan::profile::Profile;
use harness::run::{Run, Sink, Stopped};
use harness::sample::Sample;
use harness::target::space::Scratch;
use harness::units::{Bytes, GIB, Nanos};
use rustix::time::{ClockId, clock_gettime};

/// What one phase moved, in what time, and at what cost.
#[derive(Default)]
pub(super) struct Measured {
    samples: Vec<Sample>,
    /// Processor time of this process.
    cpu_s: f64,
}

impl Measured {
    /// Bytes a second, to the end of the final flush.
    pub(super) fn bytes_per_s(&self) -> f64 {
        let bytes: u64 = self.samples.iter().map(|sample| sample.bytes.0).sum();
        bytes as f64 / seconds(&self.samples)
    }

    /// I/Os a second, without the last sample: it has the final flush, which fio leaves out unless told.
    pub(super) fn iops(&self) -> f64 {
        let samples = self.samples.split_last().map_or(&[][..], |(_, samples)| samples);
        ios(samples) as f64 / seconds(samples)
    }

    /// Processor time an I/O in microseconds.
    pub(super) fn cpu_us(&self) -> f64 {
        self.cpu_s * 1e6 / ios(&self.samples) as f64
    }
}

fn ios(samples: &[Sample]) -> u64 {
    samples.iter().map(|sample| sample.ios).sum()
}

fn seconds(samples: &[Sample]) -> f64 {
    samples.iter().map(|sample| sample.elapsed_ns.secs()).sum()
}

/// A profile of random writes of 4 KiB in a range that is written once before.
pub(super) fn random_writes(range: u64, seconds: u64, rest: &str) -> String {
    format!(
        "name = 'bench'\nversion = 1\n[random_write]\nlevels = ['scratch']\nscratch = '{range}B'\nblock = '4KiB'\n\
         duration = '{seconds}s'\nleast_bytes = '0B'\ninterval = '1s'\n{rest}"
    )
}

/// Runs a profile in a scratch folder and gives what `phase` did.
pub(super) fn measure<F: EngineFactory>(
    folder: &Path,
    profile: &str,
    phase: &str,
    engine: fn(Arc<Scratch>, Clock) -> F,
) -> Result<Measured> {
    Ok(measure_then(folder, profile, phase, engine, |_| Ok(()))?.0)
}

/// [`measure`], and then something else on the files that it leaves, before they go.
pub(super) fn measure_then<F: EngineFactory, T>(
    folder: &Path,
    profile: &str,
    phase: &str,
    engine: fn(Arc<Scratch>, Clock) -> F,
    then: impl FnOnce(&Path) -> Result<T>,
) -> Result<(Measured, T)> {
    let profile = Profile::parse(profile)?;
    let mut plan = Plan::new(&profile, Capacity { usable: Bytes(4 * GIB), drive: None, in_use: None })?;
    plan.phases.retain(|phase| phase.work != Work::Remove);
    let parent = std::fs::File::open(folder)?.into();
    let scratch = Arc::new(Scratch::create(parent, "bench")?);
    let factory = engine(scratch.clone(), Clock::starting_at(Nanos(0)));
    let mut sums = Sums { phase, inside: false, measured: Measured::default() };
    let result = Run::new(&plan, &factory, 1, &AtomicBool::new(false), &|| None, &mut sums, None).run();
    let then = result.map_err(anyhow::Error::from).and_then(|()| then(&folder.join(scratch.name())));
    scratch.remove()?;
    Ok((sums.measured, then?))
}

/// Keeps the samples of one phase.
struct Sums<'a> {
    phase: &'a str,
    inside: bool,
    measured: Measured,
}

impl Sink for Sums<'_> {
    fn record(&mut self, record: Record) -> Result<(), Stopped> {
        match record {
            Record::PhaseStart { phase, .. } => {
                self.inside = phase == self.phase;
                if self.inside {
                    self.measured.cpu_s = -cpu_s();
                }
            }
            Record::Sample(sample) if self.inside => self.measured.samples.push(sample),
            Record::PhaseEnd { .. } if self.inside => {
                self.measured.cpu_s += cpu_s();
                self.inside = false;
            }
            _ => {}
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Stopped> {
        Ok(())
    }
}

/// Processor time of this process so far, user and system.
fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
