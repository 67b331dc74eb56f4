//! Recorded hosts → the checks before a run: each that can be made of a tree, by one host where all is well and one where
//! nothing is.

use super::super::mounts::Mounts;
use super::super::recorded::{Tree, device};
use super::super::{Facts, Simulated, drive, nvme};
use super::*;
use crate::environment::{Outcome, PLACEMENT};
use crate::target::preflight::{Moment, checks};
use crate::units::Bytes;

/// An NVMe drive on this host, with these values.
struct Recorded {
    width: &'static str,
    milli_celsius: &'static str,
    governor: &'static str,
    cpu_max: &'static str,
    percentage_used: u8,
    cache: &'static str,
}

const WELL: Recorded = Recorded {
    width: "4",
    milli_celsius: "41850",
    governor: "performance",
    cpu_max: "max 100000",
    percentage_used: 3,
    cache: "on",
};

fn facts(recorded: &Recorded) -> (Facts, Environment) {
    let (tree, pci) = (Tree::new(), "pci0000:00/0000:00:01.1/0000:01:00.0");
    let controller = format!("{pci}/nvme/nvme0");
    tree.block(&format!("{controller}/nvme0n1"), "259:0", &[("size", "1953525168")])
        .link(&format!("sys/devices/{controller}/nvme0n1/device"), &format!("sys/devices/{controller}"))
        .link(&format!("sys/devices/{pci}/driver"), "sys/bus/pci/drivers/nvme");
    let files = [
        ("current_link_speed", "16.0 GT/s PCIe"),
        ("current_link_width", recorded.width),
        ("max_link_speed", "16.0 GT/s PCIe"),
        ("max_link_width", "4"),
        ("nvme/nvme0/hwmon1/temp1_input", recorded.milli_celsius),
        ("nvme/nvme0/hwmon1/temp1_max", "81850"),
    ];
    for (name, value) in files {
        tree.file(&format!("sys/devices/{pci}/{name}"), format!("{value}\n"));
    }
    let groups = tree.host().sys.join("fs/cgroup");
    tree.file("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", format!("{}\n", recorded.governor))
        .file("proc/self/cgroup", "0::/ci\n")
        .file("proc/self/mountinfo", format!("30 20 0:26 / {} rw - cgroup2 cgroup2 rw\n", groups.display()))
        .file("sys/fs/cgroup/ci/cpu.max", format!("{}\n", recorded.cpu_max));
    let host = tree.host();
    let mut drive = drive::read(device("259:0"), &host, &Mounts::default()).unwrap();
    // What the drive says itself.
    let mut page = [0; 512];
    (page[3], page[5]) = (100, recorded.percentage_used);
    drive.details.condition.add(nvme::smart(&page).unwrap());
    drive.details.device_write_cache = Some(recorded.cache.to_owned());
    let mut env = Environment::default();
    note_system(&mut env, &host.sys, &host.proc);
    let limits = limits::read(&host, Some(device("259:0")));
    env.note("host.limits", (!limits.is_empty()).then(|| limits.join(", ")));
    let known = Simulated {
        scale: 1,
        fitted: false,
        source: String::new(),
        faults: Vec::new(),
        digest: String::new(),
        capacity: Bytes(0),
    };
    (Facts { path: "/recorded".into(), drive: Some(drive), place: Place::Simulated(known) }, env)
}

#[track_caller]
fn check(recorded: &Recorded, moment: &Moment, place: &str, expect: &[(&str, Outcome)]) {
    let (facts, mut env) = facts(recorded);
    env.note(PLACEMENT, Some(place));
    let checks = checks(&facts, &env, moment);
    let got: Vec<(&str, Outcome)> = checks.iter().map(|check| (check.name.as_str(), check.outcome)).collect();
    assert_eq!(got, expect, "{checks:#?}");
}

#[test]
fn a_host_where_all_is_well_passes_every_check() {
    let moment = Moment {
        busy: Some(Bytes(0)),
        on_battery: Some(false),
        baseline_c: Some(40),
        unread: Some(Vec::new()),
        ..Moment::default()
    };
    let names = ["link", "write-cache", "temperature", "wear", "busy", "power", "governor", "numa", "health"];
    check(&WELL, &moment, "node 0 (CPUs 0-3)", &names.map(|name| (name, Outcome::Pass)));
}

#[test]
fn a_host_where_nothing_is_well_is_told_so_check_by_check() {
    let recorded = Recorded {
        width: "2",
        milli_celsius: "46850",
        governor: "powersave",
        cpu_max: "50000 100000",
        percentage_used: 95,
        cache: "off",
    };
    let moment = Moment {
        busy: Some(Bytes(5_000_000)),
        rebuild: Some("md0 check".to_owned()),
        on_battery: Some(true),
        baseline_c: Some(40),
        waited_s: 600,
        unread: Some(vec!["the health log".to_owned()]),
    };
    let expect = [
        ("link", Outcome::Warn),
        ("write-cache", Outcome::Warn),
        ("temperature", Outcome::NotComparable),
        ("wear", Outcome::Warn),
        ("busy", Outcome::Warn),
        ("rebuild", Outcome::NotComparable),
        ("power", Outcome::Warn),
        ("governor", Outcome::Warn),
        ("limits", Outcome::Warn),
        ("numa", Outcome::Warn),
        ("health", Outcome::Warn),
    ];
    check(&recorded, &moment, "not bound: the drive's node is unknown", &expect);
}

#[test]
fn a_drive_at_its_warning_temperature_is_not_comparable_whatever_its_baseline() {
    let hot = Recorded { milli_celsius: "81850", ..WELL };
    let temperature = |baseline_c| {
        let (facts, env) = facts(&hot);
        let all = checks(&facts, &env, &Moment { baseline_c, ..Moment::default() });
        all.into_iter().find(|check| check.name == "temperature").map(|check| check.outcome)
    };
    assert_eq!([temperature(None), temperature(Some(81))], [Some(Outcome::NotComparable); 2]);
}
