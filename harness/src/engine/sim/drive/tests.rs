//! Claims about what stands behind `sim:`, and about variation.

use super::*;
use crate::engine::sim::{Model, Request};
use crate::units::{GIB, Nanos};

fn drive(text: &str) -> Drive {
    parse(text).unwrap_or_else(|why| panic!("{text}: {why}"))
}

fn parse(text: &str) -> Result<Drive, DriveError> {
    Drive::parse(text, |path| match path {
        "mine.toml" => Ok(builtin::text("fusion-1tb").unwrap_or_default().replace("fusion-1tb", "mine")),
        "typo.toml" => Ok(builtin::text("fusion-1tb").unwrap_or_default().replace("mover =", "movr =")),
        "medium.toml" => Ok(builtin::text("hdd-zones").unwrap_or_default().replace("medium.disk", "medium.dsk")),
        "still.toml" => Ok(builtin::text("cloud-burst").unwrap_or_default().replace("128MiB/s", "0MiB/s")),
        _ => Err("No such file or directory"),
    })
}

#[track_caller]
fn check_refused(text: &str, words: &[&str]) {
    let why = parse(text).expect_err(text).to_string();
    for word in words {
        assert!(why.contains(word), "{text}: {why} does not say {word:?}");
    }
}

#[test]
fn every_built_in_drive_is_valid_bears_its_name_and_says_where_its_figures_are_from() {
    for name in Drive::names() {
        let drive = drive(name);
        assert_eq!(drive.name, name);
        assert!(drive.source.len() > 100 && !drive.source.contains('\n'), "{name}: {}", drive.source);
        assert!(drive.serial.ends_with("-0001") && drive.capacity.0.is_multiple_of(4096), "{drive:?}");
    }
    let fitted: Vec<&str> = Drive::names().filter(|name| drive(name).fitted).collect();
    assert_eq!(fitted, ["fusionio-320-mlc", "intel-320"], "all others emerge from a mechanism");
}

#[test]
fn a_drive_is_changed_behind_a_question_mark() {
    let changed = drive("fusion-1tb?firmware=FW02&slower=8%&cv=1%&unit=7&scale=4&seed=3&slower_floor=12%");
    assert_eq!((changed.firmware.as_str(), changed.serial.as_str()), ("FW02", "FUSION-1TB-0007"));
    assert_eq!((changed.slower, changed.cv, changed.slower_floor), (Ppm(80_000), Ppm(10_000), Ppm(120_000)));
    assert_eq!((changed.capacity.0, changed.scale, changed.seed), (1035 * GIB / 4, 4, 3));
    assert_eq!(drive("dc-nvme-960").scale, 32);
    assert_eq!(drive("mine.toml?unit=2").serial, "MINE-0002");
}

#[test]
fn what_is_unknown_is_answered_with_the_nearest_and_the_known() {
    check_refused("fusion-1t", &["did you mean \"fusion-1tb\"?", "dc-nvme-960", "never-steady"]);
    check_refused("xyz", &["named \"xyz\": built in are fusion-1tb"]);
    check_refused("no/such.toml", &["reading", "No such file", "qlc-two-cliffs"]);
    check_refused("smr?slowr=8%", &["\"slowr=8%\"", "did you mean \"slower\"?", "scale=4"]);
    check_refused("smr?slower", &["has no \"=\""]);
    check_refused("smr?slower=8", &["has no unit"]);
    check_refused("smr?scale=four", &["\"four\" is no whole number", "scale=4"]);
    check_refused("smr?unit=-1", &["no whole number"]);
    check_refused("smr?firmware=two words", &["printable"]);
    check_refused("smr?scale=0", &["use a scale from 1 on"]);
    check_refused("smr?scale=4000000", &["of capacity; use a scale"]);
    check_refused("dc-nvme-960?scale=1", &["use scale=5 or more"]);
}

#[test]
fn a_file_that_is_no_drive_is_refused_with_line_and_nearest_key() {
    check_refused("typo.toml", &["line 24: ", "unknown field `movr`", "did you mean `mover`?"]);
    check_refused("medium.toml", &["unknown variant `dsk`", "did you mean `disk`?"]);
    check_refused("still.toml", &["line ", "nothing would ever end"]);
}

/// Seconds for 64 MiB of writes in sequence.
fn seconds(drive: &Drive, run_seed: u64) -> f64 {
    let mut model = drive.model(run_seed);
    let mut now = Nanos(0);
    for n in 0..64 {
        now = model.serve(now, Request::Write { offset: n << 20, len: 1 << 20 });
    }
    now.secs()
}

#[test]
fn the_same_seeds_and_unit_give_the_same_drive_and_others_another() {
    let base = seconds(&drive("consumer-tlc"), 5);
    assert_eq!(base, seconds(&drive("consumer-tlc"), 5));
    assert_ne!(base, seconds(&drive("consumer-tlc"), 6));
    assert_ne!(base, seconds(&drive("consumer-tlc?seed=1"), 5));
    assert_ne!(base, seconds(&drive("consumer-tlc?unit=2"), 5));
}

#[track_caller]
fn check_spread(cv: f64, factors: &[f64]) {
    let logs: Vec<f64> = factors.iter().map(|f| libm::log(*f)).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let variance = logs.iter().map(|l| (l - mean) * (l - mean)).sum::<f64>() / (logs.len() - 1) as f64;
    assert!((libm::sqrt(variance) / cv - 1.0).abs() < 0.1, "{} instead of {cv}", libm::sqrt(variance));
}

#[test]
fn runs_and_units_vary_by_what_the_drive_states() {
    let runs = drive("consumer-tlc?cv=2%");
    check_spread(0.02, &(0..1000).map(|seed| runs.setting(seed).fast).collect::<Vec<_>>());
    check_spread(0.02, &(0..1000).map(|seed| runs.setting(seed).room).collect::<Vec<_>>());
    let unit = |n: u32| drive(&format!("consumer-tlc?cv=0%&unit={n}")).setting(9);
    check_spread(0.01, &(2..500).map(|n| unit(n).floor).collect::<Vec<_>>());
    assert_eq!((unit(1).fast, unit(1).floor, unit(1).room), (1.0, 1.0, 1.0), "unit 1 has the file's figures");
    assert_eq!(unit(4).fast, unit(4).fast);
}

#[test]
fn slower_is_slower_by_so_much() {
    let setting = drive("intel-320?cv=0%&slower=8%&slower_floor=50%").setting(1);
    assert_eq!((setting.fast, setting.floor), (0.92, 0.46));
}
