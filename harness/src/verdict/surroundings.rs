//! What surrounds a run against what surrounded its baseline: what is under test, what must match, what is shown.
//!
//! Pure. Knows names of facts, not how they are read. A fact that both sides lack is equal; one that only one side
//! has is a difference.

use std::collections::{BTreeMap, BTreeSet};

use crate::environment::{PLACEMENT, RESET};

/// What makes another measurement of it: a difference here and the runs say nothing about the drive.
pub const MUST_MATCH: [&str; 27] = [
    "target.kind",
    "filesystem",
    "filesystem.options",
    FREE_SHARE,
    "stack",
    RESET,
    "purge",
    "engine",
    "build",
    "drive.transport",
    "drive.logical_block",
    "drive.physical_block",
    "drive.write_cache",
    "drive.link",
    "drive.scheduler",
    "drive.lba_format",
    "drive.device_write_cache",
    "drive.power_state",
    "drive.apst",
    "drive.aspm",
    "host.limits",
    PLACEMENT,
    "iommu",
    "governor",
    "host.cpu",
    "host.arch",
    "host.virtual",
];

/// The share of the filesystem that is free: as text like `31 %`, compared with some slack.
pub const FREE_SHARE: &str = "filesystem.free";
/// Percentage points by which the free share may differ: a folder's neighbours come and go.
const FREE_SLACK: f64 = 10.0;

/// What is under test unless the user says otherwise.
pub const UNDER_TEST: [&str; 3] = ["firmware", "driver", "kernel"];

/// Settings that firmware, driver or kernel choose: changed together with one of these they are its doing.
const SET_BY_OTHERS: [&str; 7] = [
    "drive.link",
    "drive.write_cache",
    "drive.scheduler",
    "drive.device_write_cache",
    "drive.power_state",
    "drive.apst",
    "drive.aspm",
];

/// The drive's temperature in °C when the run began: a moment's, compared by preflight and no change of the drive.
pub const TEMPERATURE: &str = "drive.temperature_c";
/// The share of the drive's rated life that is used, in percent: it only rises.
pub const PERCENTAGE_USED: &str = "drive.percentage_used";
/// Percentage points of wear since the baseline that are named.
const WORN: u64 = 5;

/// What the note on it says of a loss.
pub const WEAR: &str = "wear may explain a loss";

/// That the drive has aged by more than a few points of its rated life since the baseline, if so.
#[must_use]
pub fn worn(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Option<String> {
    let used = |facts: &BTreeMap<String, String>| facts.get(PERCENTAGE_USED)?.parse::<u64>().ok();
    let (before, after) = (used(before)?, used(after)?);
    (after.abs_diff(before) > WORN)
        .then(|| format!("the drive's used life is {after} %, and was {before} % with the baseline: {WEAR}"))
}

/// Short words for facts that can be under test.
const SHORT: [(&str, &str); 8] = [
    ("firmware", "drive.firmware"),
    ("driver", "drive.driver"),
    ("kernel", "kernel"),
    ("link", "drive.link"),
    ("write-cache", "drive.write_cache"),
    ("scheduler", "drive.scheduler"),
    ("options", "filesystem.options"),
    ("program", "program"),
];

/// One fact that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The fact.
    pub name: String,
    /// With the baseline; none where it was unknown.
    pub before: Option<String>,
    /// Now; none where it is unknown.
    pub after: Option<String>,
    /// Whether it is a variable under test.
    pub under_test: bool,
    /// Whether the comparison needs it to be the same.
    pub must_match: bool,
}

/// Names of the facts that are under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnderTest(BTreeSet<String>);

impl Default for UnderTest {
    fn default() -> UnderTest {
        UnderTest(UNDER_TEST.iter().filter_map(|word| full_name(word)).map(str::to_owned).collect())
    }
}

impl UnderTest {
    /// From words such as `firmware` or facts' full names.
    ///
    /// # Errors
    /// No fact has that name; lists the ones there are.
    pub fn parse(words: &[String]) -> Result<UnderTest, String> {
        let name = |word: &String| {
            full_name(word.trim()).map(str::to_owned).ok_or_else(|| {
                let known: Vec<&str> = SHORT.iter().map(|(short, _)| *short).chain(MUST_MATCH).collect();
                format!("nothing named {word:?} can be under test; name some of {}", known.join(", "))
            })
        };
        words.iter().map(name).collect::<Result<_, _>>().map(UnderTest)
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

fn full_name(word: &str) -> Option<&'static str> {
    let short = SHORT.iter().find(|(short, full)| *short == word || *full == word).map(|(_, full)| *full);
    short.or_else(|| MUST_MATCH.into_iter().find(|name| *name == word))
}

/// Facts that are kept with a baseline: those that must match and those that can be under test.
#[must_use]
pub fn kept(environment: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let moment = [TEMPERATURE, PERCENTAGE_USED];
    let kept = |name: &str| {
        MUST_MATCH.contains(&name) || moment.contains(&name) || SHORT.iter().any(|(_, full)| *full == name)
    };
    environment.iter().filter(|(name, _)| kept(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Every kept fact that differs: first what is under test, then what must match, then the rest.
#[must_use]
pub fn changes(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
    under_test: &UnderTest,
) -> Vec<Change> {
    let (before, after) = (kept(before), kept(after));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let moment = |name: &str| name == TEMPERATURE || name == PERCENTAGE_USED;
    let differ = |name: &&String| !moment(name) && !same(name, before.get(*name), after.get(*name));
    let mut changes: Vec<Change> = names
        .into_iter()
        .filter(differ)
        .map(|name| {
            let under_test = under_test.has(name);
            let default = UnderTest::default().has(name);
            Change {
                before: before.get(name).cloned(),
                after: after.get(name).cloned(),
                under_test,
                // Firmware, driver and kernel that are not under test must stay.
                must_match: !under_test && (default || MUST_MATCH.contains(&name.as_str())),
                name: name.clone(),
            }
        })
        .collect();
    changes.sort_by_key(|change| (!change.under_test, !change.must_match));
    changes
}

/// The differences that forbid a comparison. Without those that a changed variable under test explains: a link,
/// write cache or scheduler that changed with it is its doing, and so is what came of it.
#[must_use]
pub fn confounders(changes: &[Change]) -> Vec<&Change> {
    let cause = changes.iter().any(|change| change.under_test);
    changes.iter().filter(|change| change.must_match && !(cause && is_set_by_others(change))).collect()
}

/// Link, write cache or scheduler that changed with a variable under test.
#[must_use]
pub fn side_effects(changes: &[Change]) -> Vec<&Change> {
    let cause = changes.iter().any(|change| change.under_test);
    changes.iter().filter(|change| cause && change.must_match && is_set_by_others(change)).collect()
}

fn is_set_by_others(change: &Change) -> bool {
    SET_BY_OTHERS.contains(&change.name.as_str())
}

fn same(name: &str, before: Option<&String>, after: Option<&String>) -> bool {
    let percent = |text: &String| text.trim_end_matches('%').trim().parse::<f64>().ok();
    match (before, after) {
        (Some(before), Some(after)) if name == FREE_SHARE => match (percent(before), percent(after)) {
            (Some(before), Some(after)) => (before - after).abs() <= FREE_SLACK,
            _ => before == after,
        },
        _ => before == after,
    }
}

impl std::fmt::Display for Change {
    /// `kernel 6.1.0 → 6.8.0`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
        write!(f, "{} {} → {}", self.name, text(&self.before), text(&self.after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(text: &str) -> BTreeMap<String, String> {
        let pairs = text.split(", ").filter_map(|fact| fact.split_once(": "));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// The changes, and those of them that forbid a comparison.
    fn check(before: &str, after: &str, under_test: &UnderTest, expect: &[&str], forbid: &[&str]) {
        let changes = changes(&facts(before), &facts(after), under_test);
        assert_eq!(changes.iter().map(ToString::to_string).collect::<Vec<_>>(), expect);
        assert_eq!(confounders(&changes).iter().map(|change| change.name.as_str()).collect::<Vec<_>>(), forbid);
    }

    #[test]
    fn what_is_under_test_may_change_and_the_rest_must_match() {
        let default = UnderTest::default();
        check("kernel: 6.1, engine: sync", "kernel: 6.1, engine: sync", &default, &[], &[]);
        check("kernel: 6.1", "kernel: 6.8", &default, &["kernel 6.1 → 6.8"], &[]);
        let both = ["kernel 6.1 → 6.8", "engine sync → io_uring"];
        check("kernel: 6.1, engine: sync", "kernel: 6.8, engine: io_uring", &default, &both, &["engine"]);
        check("governor: x", "", &default, &["governor x → unknown"], &["governor"]);
        check("host.memory: 1 GiB", "host.memory: 2 GiB", &default, &[], &[]);
    }

    #[test]
    fn what_is_not_under_test_any_more_must_match() {
        let firmware = UnderTest::parse(&["firmware".to_owned()]).unwrap();
        check("kernel: 6.1", "kernel: 6.8", &firmware, &["kernel 6.1 → 6.8"], &["kernel"]);
        let scheduler = UnderTest::parse(&["drive.scheduler".to_owned()]).unwrap();
        check("drive.scheduler: a", "drive.scheduler: b", &scheduler, &["drive.scheduler a → b"], &[]);
        assert!(UnderTest::parse(&["frimware".to_owned()]).unwrap_err().contains("firmware, driver"));
    }

    #[test]
    fn a_link_that_changed_with_the_firmware_is_its_doing() {
        let default = UnderTest::default();
        let alone = ["drive.link x4 → x2"];
        check("drive.link: x4", "drive.link: x2", &default, &alone, &["drive.link"]);
        let both = ["drive.firmware A → B", "drive.link x4 → x2"];
        check("drive.link: x4, drive.firmware: A", "drive.link: x2, drive.firmware: B", &default, &both, &[]);
    }

    #[test]
    fn heat_and_wear_are_no_change_and_more_than_five_points_of_wear_are_named() {
        let (before, after) =
            ("drive.temperature_c: 30, drive.percentage_used: 3", "drive.temperature_c: 60, drive.percentage_used: 9");
        check(before, after, &UnderTest::default(), &[], &[]);
        assert!(worn(&facts(before), &facts(after)).unwrap().contains("9 %, and was 3 %"));
        assert_eq!(worn(&facts(before), &facts("drive.percentage_used: 8")), None);
        assert_eq!(worn(&facts(""), &facts(after)), None);
    }

    #[test]
    fn neighbours_may_use_some_space() {
        let default = UnderTest::default();
        check("filesystem.free: 50 %", "filesystem.free: 41 %", &default, &[], &[]);
        let expect = ["filesystem.free 50 % → 30 %"];
        check("filesystem.free: 50 %", "filesystem.free: 30 %", &default, &expect, &[FREE_SHARE]);
    }
}
