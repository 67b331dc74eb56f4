//! Reads what the drives behind a target and their host say while a run goes on.
//!
//! Cheap figures (sensors, counters in the tree) every few seconds, log pages of the drives at most once a minute: a
//! log page is a command that the drive serves between others'. Called between samples by the thread that keeps the
//! journal, never by one that does I/O. Judges nothing.

mod kernel_log;
mod proc;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kernel_log::KernelLog;

use super::facts::{Condition, Device, Facts, Place, sources, watched};
use crate::sample::telemetry::{Occasion, Telemetry, Throttling};
use crate::units::{Bytes, Nanos};

/// Between readings of what costs the drive nothing.
const CHEAP: Nanos = Nanos(5_000_000_000);
/// Between readings of log pages.
const LOG_PAGES: Nanos = Nanos(60_000_000_000);

/// Reads the drives behind one target.
#[derive(Debug)]
pub struct Probe {
    /// The physical drives' folders in the tree, and whether each has OCP's log page: asked once, since a drive notes
    /// a question that it cannot answer as an error.
    drives: Vec<(PathBuf, bool)>,
    /// The whole devices whose counters hold all that anybody moves on the drives.
    devices: Vec<Device>,
    log: std::io::Result<KernelLog>,
    last: Option<Nanos>,
    last_pages: Option<Nanos>,
    pages: Condition,
    cpu: Option<proc::Cpu>,
}

impl Probe {
    /// A probe of the drives behind a real target; none where there is none to be seen.
    #[must_use]
    pub fn new(facts: &Facts) -> Option<Probe> {
        if let Place::Simulated(_) = facts.place {
            return None;
        }
        let places = sources(facts.drive.as_ref()?.device);
        let names: Vec<String> = places.iter().flat_map(|drive| watched::names(drive)).collect();
        let devices =
            places.iter().filter_map(|drive| fs::read_to_string(drive.join("dev")).ok()?.parse().ok()).collect();
        Some(Probe {
            log: KernelLog::open(names),
            drives: places.into_iter().map(|drive| (drive.clone(), watched::has_ocp(&drive))).collect(),
            devices,
            last: None,
            last_pages: None,
            pages: Condition::default(),
            cpu: None,
        })
    }

    /// A reading, if one is due at `at`.
    pub fn read(&mut self, at: Nanos, why: Occasion) -> Option<Telemetry> {
        let passed = |since: Option<Nanos>, span: Nanos| since.is_none_or(|since| at.saturating_sub(since) >= span);
        if why == Occasion::Sample && !passed(self.last, CHEAP) {
            return None;
        }
        self.last = Some(at);
        if why == Occasion::End || passed(self.last_pages, LOG_PAGES) {
            self.last_pages = Some(at);
            self.pages = combine(self.drives.iter().map(|(drive, ocp)| watched::condition(drive, *ocp)));
        }
        let mut now = combine(self.drives.iter().map(|(drive, _)| watched::cheap(drive)));
        // A log page's temperature is a minute old; its counters only rise.
        let mut counters = self.pages.counters.clone();
        counters.append(&mut now.counters);
        if let Ok(log) = &mut self.log {
            counters.extend(log.counts());
        }
        let events = ["thermal_events", "thermal_events_ocp"].map(|name| counters.remove(name));
        let events = events.into_iter().flatten().max();
        let (cpu, before) = (proc::Cpu::read(Path::new("/proc")), self.cpu);
        self.cpu = cpu.or(before);
        let spent = cpu.zip(before).map(|(cpu, before)| cpu.since(before));
        Some(Telemetry {
            at_ns: at,
            temperature_c: now.temperature_c.or(self.pages.temperature_c),
            warning_c: now.warning_c.or(self.pages.warning_c),
            throttling: self
                .pages
                .throttled
                .or(events.map(|_| false))
                .map(|now| Throttling { now, events: events.unwrap_or(0) }),
            link: self.link(),
            drive_moved: self.moved(),
            rebuild: self.rebuild(),
            cpu_permille: spent.and_then(|spent| spent.own_permille()),
            steal_permille: spent.and_then(|spent| spent.steal_permille()),
            host_written: self.pages.host_written,
            media_written: self.pages.media_written,
            counters,
        })
    }

    /// Which counters of errors cannot be read here, each with the reason.
    #[must_use]
    pub fn unread(&self) -> Vec<String> {
        let log = self.log.as_ref().err().map(KernelLog::unread);
        log.into_iter().chain(self.drives.iter().filter_map(|(drive, _)| watched::unread(drive))).collect()
    }

    fn link(&self) -> Option<String> {
        let links: Vec<String> = self.drives.iter().filter_map(|(drive, _)| watched::link(drive)).collect();
        (!links.is_empty()).then(|| links.join(", "))
    }

    fn moved(&self) -> Option<Bytes> {
        let counters = super::DeviceCounters::sum(&self.devices)?;
        Some(counters.written.saturating_add(counters.read))
    }

    fn rebuild(&self) -> Option<String> {
        let table = fs::read_to_string("/proc/mdstat").ok()?;
        let names: Vec<String> =
            self.drives.iter().filter_map(|(drive, _)| Some(drive.file_name()?.to_str()?.to_owned())).collect();
        proc::rebuild(&table, &names)
    }
}

/// The hottest, the most worn, and the sums of several drives.
fn combine(all: impl Iterator<Item = Condition>) -> Condition {
    all.reduce(|mut sum, one| {
        // Of several drives the one that is nearest to its limit counts.
        let room =
            |drive: &Condition| drive.warning_c.zip(drive.temperature_c).map_or(i64::MAX, |(most, now)| most - now);
        if room(&one) < room(&sum) || sum.temperature_c.is_none() {
            (sum.temperature_c, sum.warning_c) = (one.temperature_c, one.warning_c);
        }
        sum.throttled =
            sum.throttled.or(one.throttled).map(|_| sum.throttled == Some(true) || one.throttled == Some(true));
        let both = |a: Option<Bytes>, b: Option<Bytes>| a.zip(b).map(|(a, b)| a.saturating_add(b));
        // A sum that lacks a drive's part is none.
        sum.host_written = both(sum.host_written, one.host_written);
        sum.media_written = both(sum.media_written, one.media_written);
        for (name, count) in one.counters {
            let total = sum.counters.entry(name).or_insert(0);
            *total = total.saturating_add(count);
        }
        sum
    })
    .unwrap_or_default()
}

/// Counts by name.
type Counts = BTreeMap<String, u64>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_drives_the_one_nearest_to_its_limit_counts_and_counters_add_up() {
        let drive = |now, most, errors| Condition {
            temperature_c: Some(now),
            warning_c: Some(most),
            counters: Counts::from([("media_errors".to_owned(), errors)]),
            ..Condition::default()
        };
        let both = combine([drive(50, 90, 1), drive(48, 60, 2)].into_iter());
        assert_eq!((both.temperature_c, both.warning_c, both.counters["media_errors"]), (Some(48), Some(60), 3));
        assert_eq!(combine(std::iter::empty()), Condition::default());
    }

    #[test]
    fn a_probe_reads_at_borders_and_every_few_seconds() {
        let folder = tempfile::tempdir().unwrap();
        let facts = Facts::read(folder.path()).unwrap();
        let Some(mut probe) = Probe::new(&facts) else { return };
        let second = |s: u64| Nanos(s * 1_000_000_000);
        assert!(probe.read(second(0), Occasion::Sample).is_some());
        assert!(probe.read(second(1), Occasion::Sample).is_none());
        assert!(probe.read(second(1), Occasion::Border).is_some());
        assert!(probe.read(second(7), Occasion::Sample).is_some());
    }
}
