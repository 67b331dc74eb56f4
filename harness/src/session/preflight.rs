//! Before a run: looks at the host for a moment, and waits for a drive that is too warm or too cold to be compared.
//!
//! Only for real drives: a simulated one starts as its file says. What follows from it is `target/preflight`'s.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::environment::Check;
use crate::target::preflight::{Moment, START_WITHIN_C, checks};
use crate::target::probe::Probe;
use crate::target::{Facts, environment};
use crate::units::{Bytes, Nanos};
use crate::verdict::baseline::Baseline;
use crate::verdict::surroundings::TEMPERATURE;

/// How long the host is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Between two looks at a drive's temperature.
const STEP: Duration = Duration::from_secs(5);
/// How long a run waits for a temperature at the most, in steps.
const MOST_STEPS: u64 = 120;

/// The checks of a run that is about to begin, once the drive is near to the temperature at which its baseline's runs
/// began or has had ten minutes for it; `facts` get the temperature at which it starts.
pub(super) fn check(
    facts: &mut Facts,
    baseline: Option<&Baseline>,
    stop: &AtomicBool,
    waiting: impl FnOnce(String),
) -> Vec<Check> {
    let Some(mut probe) = Probe::new(facts) else { return Vec::new() };
    let mut moment = Moment { on_battery: on_battery(Path::new("/sys/class/power_supply")), ..Moment::default() };
    moment.baseline_c = baseline.and_then(|baseline| baseline.environment.get(TEMPERATURE)?.parse().ok());
    let first = probe.read(Nanos(0), true);
    pause(LOOK);
    let second = probe.read(Nanos(0), true);
    if let Some((first, second)) = first.zip(second.as_ref()) {
        let moved = first.drive_moved.zip(second.drive_moved).map(|(before, after)| after.saturating_sub(before));
        moment.busy = moved.map(|moved| Bytes(moved.0.saturating_mul(1000) / LOOK.as_millis() as u64));
        moment.rebuild.clone_from(&second.rebuild);
    }
    let mut temperature = second.and_then(|reading| reading.temperature_c);
    let far = |now: Option<i64>, wanted: Option<i64>| {
        now.zip(wanted).is_some_and(|(now, wanted)| now.abs_diff(wanted) > START_WITHIN_C.unsigned_abs())
    };
    if let (true, Some(wanted)) = (far(temperature, moment.baseline_c), moment.baseline_c) {
        let now = temperature.unwrap_or(wanted);
        waiting(format!(
            "the drive is at {now} °C and the baseline's runs began at {wanted} °C: waiting up to 10 minutes"
        ));
    }
    for _ in 0..MOST_STEPS {
        // A drive that is too cold at rest gets no warmer by waiting.
        let hotter = temperature.zip(moment.baseline_c).is_some_and(|(now, wanted)| now > wanted);
        if !far(temperature, moment.baseline_c) || !hotter || stop.load(Ordering::Relaxed) {
            break;
        }
        pause(STEP);
        moment.waited_s += STEP.as_secs();
        temperature = probe.read(Nanos::from_secs(moment.waited_s), true).and_then(|reading| reading.temperature_c);
    }
    if let Some(drive) = facts.drive.as_mut() {
        drive.details.condition.temperature_c = temperature.or(drive.details.condition.temperature_c);
    }
    checks(facts, &environment(facts), &moment)
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
