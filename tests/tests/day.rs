//! A day of random writes at an interval of one second, in virtual time: what a long run may cost.
//!
//! A process of its own, since it measures its memory.

use std::fs;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};
use harness::journal::file;
use harness::journal::record::Record;
use harness::plan::profile::Profile;
use harness::session::target::SimTarget;
use harness::session::{self, Event, Observer, Request};
use harness::units::Nanos;
use storage_check_tests::{folder, profile, run};

const DRIVE: &str = "name = 'slow'\nproduct = 'SLOW'\nfirmware = 'A'\ncapacity = '1GiB'\nfitted = false\n\
    source = 'this test'\n[model]\nlatency = '1ms'\n[model.medium.plain]\nwrite = '500kB/s'\nread = '500kB/s'\n\
    [model.noise]\njitter = '50%'\n";

const DAY: &str = "levels = ['scratch']\nscratch = '16MiB'\nblock = '16KiB'\nqueue_depth = 4\nduration = '24h'\n\
    least_bytes = '0B'\ninterval = '1s'\n";

#[test]
fn a_day_at_one_second_keeps_memory_flat_and_the_journal_small() -> Result<()> {
    let home = folder::folder()?;
    let drive = home.path().join("slow.toml");
    fs::write(&drive, DRIVE)?;
    let target = SimTarget::parse(&drive.display().to_string())?;
    let profile = Profile::parse(&profile::random_write(DAY))?;
    let request = Request::new(target, profile, home.path().join("runs"));
    let mut memory = Memory::default();
    let outcome = session::run(&request, &mut memory, &AtomicBool::new(false))?;
    ensure!(outcome.report.failure.is_none(), "{:?}", outcome.report.failure);

    let journal = fs::metadata(outcome.folder.join(file::NAME))?.len();
    ensure!(journal < 40 << 20, "the journal has {journal} bytes");
    let samples = run::journal(&outcome.folder)?.phases.iter().map(|phase| phase.samples.len()).max();
    ensure!(samples.is_some_and(|samples| samples >= 86_400), "{samples:?} samples");
    let (early, late) = (memory.hour(2)?, memory.hour(24)?);
    ensure!(late <= early + (2 << 20), "{early} bytes after two hours, {late} after a day");
    Ok(())
}

/// The memory of this process at the end of each hour.
#[derive(Default)]
struct Memory {
    hours: Vec<u64>,
}

impl Memory {
    fn hour(&self, hour: usize) -> Result<u64> {
        self.hours.get(hour - 1).copied().with_context(|| format!("no hour {hour} in {:?}", self.hours))
    }
}

impl Observer for Memory {
    fn event(&mut self, event: Event<'_>) {
        let Event::Record(Record::Sample(sample)) = event else { return };
        // The day of random writes begins a little after the run.
        let next = Nanos::from_secs(3600).0 * (self.hours.len() as u64 + 1);
        if sample.end_ns().0 >= next {
            let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
            let resident = pages.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
            self.hours.push(resident.unwrap_or(u64::MAX / 2) * rustix::param::page_size() as u64);
        }
    }
}
