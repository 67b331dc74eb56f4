//! PURE: is this a fair moment to measure? Named checks over what is known of drive and host.
//!
//! Each passes, warns, or says that nothing measured now is comparable. What is unknown is not checked, and what must
//! match the baseline is compared there: here stands only what is odd by itself. Reads nothing.

use super::Facts;
use super::facts::{Condition, Drive};
use crate::environment::{Check, Environment, Outcome, PLACEMENT, RESET};
use crate::sample::telemetry::Telemetry;
use crate::units::Bytes;

/// °C by which a run may start warmer or colder than the runs of its baseline did.
pub const START_WITHIN_C: i64 = 5;
const WITHIN: u64 = START_WITHIN_C.unsigned_abs();
/// Share of its rated life from which on a drive is called worn, in percent.
const WORN: u64 = 90;
/// Spare blocks under which it is, in percent.
const SPARE: u64 = 10;
/// Bytes a second that others may move on the drive before the run.
const QUIET: Bytes = Bytes(1_000_000);

/// What only a look at the host over some moments shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Bytes a second that were moved on the drive before the run.
    pub busy: Option<Bytes>,
    /// A resync, check or rebuild of an array on the drive.
    pub rebuild: Option<String>,
    /// Whether the host runs on its battery.
    pub on_battery: Option<bool>,
    /// °C at which the baseline's runs began.
    pub baseline_c: Option<i64>,
    /// How long the run waited for the drive to come near to that, in seconds.
    pub waited_s: u64,
    /// Counters of errors that could not be read, each with the reason; none where nobody looked.
    pub unread: Option<Vec<String>>,
}

impl Moment {
    /// °C, and by how many of them a drive is too far from where its run may begin: outside the range around the
    /// baseline's start, or as hot as it warns of; none where it is near enough, or says nothing.
    #[must_use]
    pub fn away(&self, reading: &Telemetry) -> Option<(i64, u64)> {
        let now = reading.temperature_c?;
        let from_baseline = self.baseline_c.map_or(0, |wanted| now.abs_diff(wanted).saturating_sub(WITHIN));
        let over_warning =
            reading.warning_c.map_or(0, |warning| (now + 1).saturating_sub(warning).max(0).unsigned_abs());
        Some((now, from_baseline.max(over_warning))).filter(|(_, away)| *away > 0)
    }

    /// The same in words.
    #[must_use]
    pub fn why_away(&self, now: i64, warning_c: Option<i64>) -> String {
        match (self.baseline_c, warning_c) {
            (_, Some(warning)) if now >= warning => format!("the drive is at {now} °C and warns from {warning} °C on"),
            (Some(wanted), _) => format!(
                "the drive is at {now} °C and the baseline's runs began at {wanted} °C (± {START_WITHIN_C} °C is comparable)"
            ),
            (None, _) => format!("the drive is at {now} °C"),
        }
    }
}

/// The check that says which counters of errors a run could not read: a comparison asks for it.
pub const HEALTH: &str = "health";

/// All checks that can be made, in a fixed order.
#[must_use]
pub fn checks(facts: &Facts, environment: &Environment, moment: &Moment) -> Vec<Check> {
    let drive = facts.drive.as_ref();
    let condition = drive.map(|drive| &drive.details.condition);
    let all = [
        drive.and_then(link),
        drive.and_then(write_cache),
        condition.and_then(|condition| temperature(condition, moment)),
        condition.and_then(wear),
        moment.busy.map(|busy| {
            said("busy", busy < QUIET, &format!("others moved {busy} a second on the drive just before the run"))
        }),
        moment.rebuild.as_ref().map(|rebuild| {
            check(
                "rebuild",
                Outcome::NotComparable,
                format!("an array is at work on the drive ({rebuild}): wait until it is done"),
            )
        }),
        moment.on_battery.map(|on| said("power", !on, if on { "the host runs on its battery" } else { "on mains" })),
        environment.get("governor").map(|governor| {
            said("governor", !governor.contains("powersave"), &format!("the processors' governor is {governor}"))
        }),
        environment
            .get("host.limits")
            .map(|limits| check("limits", Outcome::Warn, format!("control groups limit this process: {limits}"))),
        environment.get(PLACEMENT).map(|place| {
            said("numa", !place.starts_with("not bound"), &format!("threads and buffers of the run: {place}"))
        }),
        environment.get(RESET).map(|reset| tiers(reset, drive)),
        moment.unread.as_ref().map(|unread| health(unread)),
    ];
    all.into_iter().flatten().collect()
}

fn link(drive: &Drive) -> Option<Check> {
    let (now, most) = (drive.link.as_ref()?, drive.details.link_most.as_ref()?);
    // A port that is slower than its drive is what this host has: the drive cannot be linked faster here.
    let possible = drive.details.link_port.as_ref().map_or(most, |port| slower(most, port));
    let full = slower(now, possible) != now || same(now, possible);
    let message = if full {
        format!("{now}, as fast as drive and port allow")
    } else {
        format!("the link trained at {now}, and {possible} is possible: reseat the drive, or look at its slot")
    };
    Some(said("link", full, &message))
}

/// Speed in tenths of GT/s or Gbit/s, and lanes: `16.0 GT/s PCIe x4`, `6.0 Gbps`.
fn capacity(link: &str) -> u64 {
    let mut words = link.split_whitespace();
    let speed: f64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
    let lanes = words.next_back().and_then(|word| word.strip_prefix('x')?.parse().ok()).unwrap_or(1);
    (speed * 10.0) as u64 * lanes
}

fn slower<'a>(a: &'a String, b: &'a String) -> &'a String {
    if capacity(a) <= capacity(b) { a } else { b }
}

fn same(a: &str, b: &str) -> bool {
    capacity(a) == capacity(b)
}

fn write_cache(drive: &Drive) -> Option<Check> {
    let state = drive.details.device_write_cache.as_deref().or(drive.write_cache.as_deref())?;
    // A drive with protected or without any cache writes through, and is none the worse for it.
    Some(said("write-cache", state != "off", &format!("the drive's volatile write cache: {state}")))
}

fn temperature(condition: &Condition, moment: &Moment) -> Option<Check> {
    let now = condition.temperature_c?;
    let waited = if moment.waited_s > 0 { format!(" after waiting for {} s", moment.waited_s) } else { String::new() };
    if let Some(warning) = condition.warning_c.filter(|&warning| now >= warning) {
        let message = format!("the drive is at {now} °C{waited} and warns from {warning} °C on: cool it first");
        return Some(check("temperature", Outcome::NotComparable, message));
    }
    let Some(before) = moment.baseline_c else {
        return Some(check("temperature", Outcome::Pass, format!("the drive starts at {now} °C")));
    };
    let near = now.abs_diff(before) <= WITHIN;
    let outcome = if near { Outcome::Pass } else { Outcome::NotComparable };
    let message = format!(
        "the drive starts at {now} °C{waited}, and the baseline's runs started at {before} °C (± {START_WITHIN_C} °C is comparable)"
    );
    Some(check("temperature", outcome, message))
}

fn wear(condition: &Condition) -> Option<Check> {
    let used = condition.percentage_used?;
    let spare =
        condition.spare_percent.map(|spare| format!(", {spare} % of its spare blocks are left")).unwrap_or_default();
    let fine = used < WORN && condition.spare_percent.is_none_or(|spare| spare >= SPARE);
    Some(said("wear", fine, &format!("{used} % of the drive's rated life are used{spare}")))
}

fn tiers(reset: &str, drive: Option<&Drive>) -> Check {
    let tiers = drive.map(|drive| drive.details.tiers.join(", ")).unwrap_or_default();
    let message = match reset {
        "reset" => format!("the stack's cache ({tiers}) was emptied by the profile's reset command"),
        _ => format!(
            "the stack has a cache ({tiers}) that no purge empties: it is as earlier runs left it; name the command that \
             empties it in the profile (reset = \"…\")"
        ),
    };
    said("tiers", reset == "reset", &message)
}

fn health(unread: &[String]) -> Check {
    let message = match unread {
        [] => "all counters of errors that the drive and the kernel have are read".to_owned(),
        some => format!("these counters of errors were not read: {}", some.join("; ")),
    };
    said(HEALTH, unread.is_empty(), &message)
}

fn said(name: &str, fine: bool, message: &str) -> Check {
    check(name, if fine { Outcome::Pass } else { Outcome::Warn }, message.to_owned())
}

fn check(name: &str, outcome: Outcome, message: String) -> Check {
    Check { name: name.to_owned(), outcome, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder's facts with a drive that `change` made special.
    fn facts(change: impl FnOnce(&mut Drive)) -> Facts {
        let text = r#"{"path":"sim:x","kind":"sim","scale":1,"fitted":false,"source":"","digest":"","capacity":0,
            "drive":{"name":"nvme0n1","device":"259:0","model":null,"serial":null,"firmware":null,"wwid":null,
            "transport":"nvme","driver":null,"driver_version":null,"link":"16.0 GT/s PCIe x4","size":null,
            "logical_block":null,"physical_block":null,"rotational":null,"removable":null,"scheduler":null,
            "write_cache":null,"backing_file":null,"stack":[]}}"#;
        let mut facts: Facts = serde_json::from_str(text).expect("facts");
        facts.drive.as_mut().into_iter().for_each(|_| ());
        if let Some(drive) = facts.drive.as_mut() {
            change(drive);
        }
        facts
    }

    fn check_one(facts: &Facts, moment: &Moment, name: &str, expect: Option<Outcome>) {
        let all = checks(facts, &Environment::default(), moment);
        let found = all.iter().find(|check| check.name == name).map(|check| check.outcome);
        assert_eq!(found, expect, "{all:?}");
    }

    #[test]
    fn what_is_unknown_is_not_checked() {
        assert_eq!(checks(&facts(|_| ()), &Environment::default(), &Moment::default()), []);
    }

    #[test]
    fn a_link_narrower_than_drive_and_port_allow_warns() {
        let linked = |now: &str, most: &str, port: Option<&str>, expect| {
            let facts = facts(|drive| {
                drive.link = Some(now.to_owned());
                drive.details.link_most = Some(most.to_owned());
                drive.details.link_port = port.map(str::to_owned);
            });
            check_one(&facts, &Moment::default(), "link", Some(expect));
        };
        linked("16.0 GT/s PCIe x4", "16.0 GT/s PCIe x4", None, Outcome::Pass);
        linked("16.0 GT/s PCIe x2", "16.0 GT/s PCIe x4", None, Outcome::Warn);
        linked("8.0 GT/s PCIe x4", "16.0 GT/s PCIe x4", Some("8.0 GT/s PCIe x16"), Outcome::Warn);
        linked("8.0 GT/s PCIe x4", "16.0 GT/s PCIe x4", Some("8.0 GT/s PCIe x4"), Outcome::Pass);
        linked("3.0 Gbps", "6.0 Gb/s", None, Outcome::Warn);
        linked("6.0 Gbps", "6.0 Gb/s", None, Outcome::Pass);
    }

    #[test]
    fn a_run_starts_within_five_degrees_of_its_baseline_or_is_not_comparable() {
        let started = |now, baseline, expect| {
            let facts = facts(|drive| {
                drive.details.condition.temperature_c = Some(now);
                drive.details.condition.warning_c = Some(80);
            });
            let moment = Moment { baseline_c: baseline, ..Moment::default() };
            check_one(&facts, &moment, "temperature", Some(expect));
        };
        started(40, None, Outcome::Pass);
        started(45, Some(40), Outcome::Pass);
        started(46, Some(40), Outcome::NotComparable);
        started(34, Some(40), Outcome::NotComparable);
        started(80, None, Outcome::NotComparable);
    }

    #[test]
    fn a_worn_drive_a_busy_one_a_battery_and_a_rebuild_are_named() {
        let worn = facts(|drive| drive.details.condition.percentage_used = Some(95));
        check_one(&worn, &Moment::default(), "wear", Some(Outcome::Warn));
        let off = facts(|drive| drive.details.device_write_cache = Some("off".to_owned()));
        check_one(&off, &Moment::default(), "write-cache", Some(Outcome::Warn));
        let busy = Moment {
            busy: Some(Bytes(50_000_000)),
            rebuild: Some("md0 check".to_owned()),
            on_battery: Some(true),
            ..Moment::default()
        };
        for (name, expect) in [("busy", Outcome::Warn), ("rebuild", Outcome::NotComparable), ("power", Outcome::Warn)] {
            check_one(&facts(|_| ()), &busy, name, Some(expect));
        }
    }
}
