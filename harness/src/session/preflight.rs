//! Before a run: looks at the host for a moment, and waits for a drive that is too warm or too cold to be compared.
//!
//! What follows from it is `target/preflight`'s. The wait passes on the run's own clock, with nothing in flight: a
//! simulated drive cools down in virtual time like a real one in ours.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::gauge::gauge;
use crate::engine::EngineFactory;
use crate::run::idle;
use crate::sample::telemetry::Occasion;
use crate::target::Facts;
use crate::target::preflight::Moment;
use crate::target::probe::Probe;
use crate::units::{Bytes, Nanos};
use crate::verdict::baseline::Baseline;
use crate::verdict::surroundings::TEMPERATURE;

/// How long the host is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Between two looks at a drive's temperature.
const STEP: Nanos = Nanos::from_secs(5);
/// How long a run waits for a temperature at the most.
const MOST: Nanos = Nanos::from_secs(600);
/// How long it waits for a drive that comes no nearer to it: one that rests in a colder room never will.
const NO_NEARER: Nanos = Nanos::from_secs(180);

/// What the host shows before the target is held; of a simulated drive's nothing, since nothing of it is measured.
pub(super) fn look(facts: &Facts, baseline: Option<&Baseline>) -> Moment {
    let mut moment = Moment {
        baseline_c: baseline.and_then(|baseline| baseline.environment.get(TEMPERATURE)?.parse().ok()),
        ..Moment::default()
    };
    if facts.simulated().is_some() {
        return moment;
    }
    moment.on_battery = on_battery(Path::new("/sys/class/power_supply"));
    let Some(mut probe) = Probe::new(facts) else { return moment };
    let first = probe.read(Nanos(0), Occasion::Border);
    pause(LOOK);
    let second = probe.read(Nanos(0), Occasion::Border);
    if let Some((first, second)) = first.zip(second) {
        let moved = first.drive_moved.zip(second.drive_moved).map(|(before, after)| after.saturating_sub(before));
        moment.busy = moved.map(|moved| Bytes(moved.0.saturating_mul(1000) / LOOK.as_millis() as u64));
        moment.rebuild = second.rebuild;
    }
    moment.unread = Some(probe.unread());
    moment
}

/// Waits until the drive is near to the temperature at which its baseline's runs began, or has had its time for it;
/// `facts` get the temperature at which the run starts.
pub(super) fn wait<F: EngineFactory>(
    facts: &mut Facts,
    moment: &mut Moment,
    factory: &F,
    stop: &AtomicBool,
    mut say: impl FnMut(String),
) {
    let mut gauge = gauge(facts, factory);
    let mut look = || gauge(factory.now(), Occasion::Border).unwrap_or_default();
    let (begun, mut reading) = (factory.now(), look());
    // The nearest that it came, and when.
    let mut nearest = None;
    while let Some((now, away)) = moment.away(&reading)
        && !stop.load(Ordering::Relaxed)
    {
        let at = factory.now();
        let (least, since) = nearest.unwrap_or_else(|| {
            let why = moment.why_away(now, reading.warning_c);
            say(format!("{why}: waiting until that is over, {} minutes at the most", MOST.secs() / 60.0));
            (u64::MAX, at)
        });
        if away < least {
            nearest = Some((away, at));
        }
        let enough = away >= least && at.saturating_sub(since) >= NO_NEARER;
        if enough || at.saturating_sub(begun) >= MOST {
            break;
        }
        // Without an engine there will be no run, which says why.
        if idle(factory, STEP, stop).is_err() {
            break;
        }
        reading = look();
    }
    moment.waited_s = factory.now().saturating_sub(begun).secs() as u64;
    if let (Some(now), Some(_)) = (reading.temperature_c, nearest) {
        let near = if moment.away(&reading).is_none() { "the run begins" } else { "it will not be comparable" };
        say(format!("the drive is at {now} °C after waiting for {} s: {near}", moment.waited_s));
    }
    if let Some(condition) = facts.drive.as_mut().map(|drive| &mut drive.details.condition) {
        condition.temperature_c = reading.temperature_c.or(condition.temperature_c);
        condition.warning_c = reading.warning_c.or(condition.warning_c);
    }
}

#[expect(clippy::disallowed_methods, reason = "before a run there is no engine to wait on")]
fn pause(span: Duration) {
    std::thread::sleep(span);
}

/// Whether a battery is drained and no mains feed the host; none where there is neither.
fn on_battery(supplies: &Path) -> Option<bool> {
    let read = |dir: &Path, name: &str| fs::read_to_string(dir.join(name)).map(|text| text.trim().to_owned()).ok();
    let entries: Vec<_> = fs::read_dir(supplies).ok()?.flatten().map(|entry| entry.path()).collect();
    let mains = entries.iter().filter(|dir| read(dir, "type").as_deref() == Some("Mains"));
    let online: Vec<bool> = mains.filter_map(|dir| Some(read(dir, "online")? == "1")).collect();
    let drained = |dir: &&std::path::PathBuf| read(dir, "status").as_deref() == Some("Discharging");
    match (online.is_empty(), entries.iter().any(|dir| drained(&dir))) {
        (true, false) => None,
        (_, drained) => Some(drained && !online.contains(&true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_on_battery_is_told_from_one_on_mains() {
        let check = |supplies: &[(&str, &str, &str)], expect| {
            let folder = tempfile::tempdir().unwrap();
            for (name, file, content) in supplies {
                let dir = folder.path().join(name);
                fs::create_dir_all(&dir).unwrap();
                fs::write(dir.join(file), content).unwrap();
            }
            assert_eq!(on_battery(folder.path()), expect, "{supplies:?}");
        };
        check(&[], None);
        check(&[("AC", "type", "Mains\n"), ("AC", "online", "1\n")], Some(false));
        let drained = [
            ("AC", "type", "Mains\n"),
            ("AC", "online", "0\n"),
            ("BAT0", "type", "Battery"),
            ("BAT0", "status", "Discharging\n"),
        ];
        check(&drained, Some(true));
        check(&drained[2..], Some(true));
    }
}
