//! How often the analysis is right on simulated drives, and how rarely it invents.
//!
//! Few drives a test, so that it is quick; `cargo xtask score --simulated` tries thousands.

use harness::analysis::analyze::analyze;
use harness::analysis::cliff::{Levels, find};
use harness::units::Bytes;
use storage_check_tests::ftl::Ftl;
use storage_check_tests::modelled;
use storage_check_tests::simulated::{Simulated, fall, quiet};

/// At least so many of a thousand of `drives` must be right; those that are not are named.
fn check(drives: u64, permille: usize, drive: fn(u64) -> Simulated, right: impl Fn(&Simulated, &Levels) -> bool) {
    let wrong = (0..drives).filter_map(|seed| {
        let drive = drive(seed);
        let found = find(&drive.series);
        (!right(&drive, &found)).then(|| format!("seed {seed}: {}: {:?}\n", drive.what, found.cliffs))
    });
    let wrong: Vec<String> = wrong.collect();
    let is_enough = (drives as usize - wrong.len()) * 1000 >= permille * drives as usize;
    assert!(is_enough, "{} of {drives} wrong:\n{}", wrong.len(), wrong.concat());
}

#[test]
fn a_fall_of_over_three_times_the_noise_is_found_within_a_sample() {
    check(300, 980, fall, |drive, found| drive.samples_off(found).is_some_and(|off| off <= 1.0));
}

#[test]
fn and_within_two_samples_nearly_always() {
    check(300, 995, fall, |drive, found| drive.samples_off(found).is_some_and(|off| off <= 2.0));
}

#[test]
fn the_uncertainty_of_a_place_holds_the_truth() {
    check(300, 980, fall, Simulated::is_possible);
}

#[test]
fn flat_sloped_and_oscillating_drives_have_no_cliff() {
    check(420, 995, quiet, |_, found| found.cliffs.is_empty());
}

fn modelled_fall(seed: u64) -> Simulated {
    modelled::fall(seed).expect("a drive")
}

fn modelled_quiet(seed: u64) -> Simulated {
    modelled::quiet(seed).expect("a drive")
}

#[test]
fn where_a_modelled_drive_runs_out_of_its_cache_is_found_within_a_sample() {
    check(60, 980, modelled_fall, |drive, found| drive.samples_off(found).is_some_and(|off| off <= 1.0));
}

#[test]
fn modelled_drives_that_run_out_of_nothing_have_no_cliff() {
    check(60, 995, modelled_quiet, |_, found| found.cliffs.is_empty());
}

/// A drive that collects garbage greedily, at five fill levels and two amounts of spare flash.
fn drives() -> impl Iterator<Item = Ftl> {
    let shares = [(0.7, 0.6), (0.7, 0.8), (0.7, 1.0), (0.85, 0.5), (0.85, 0.7), (0.85, 0.9), (0.92, 0.6), (0.92, 1.0)];
    shares.into_iter().map(|(offered, range)| Ftl {
        blocks: 600,
        offered,
        range,
        times: 4.0,
        samples: 40.0,
        noise: 0.01,
    })
}

#[test]
fn greedy_garbage_collection_has_one_cliff_where_the_flash_is_used_up() {
    for drive in drives() {
        let found = analyze(&drive.series(1), &drive.known());
        let flash = drive.known().drive.unwrap_or_default().0 as f64 / drive.offered;
        let used_up = flash - drive.known().range.unwrap_or_default().0 as f64;
        let [cliff] = &found.cliffs[..] else { panic!("{drive:?}: {:?}", found.cliffs) };
        let off = (cliff.at.0 as f64 - used_up) / flash;
        assert!(off.abs() < 0.03, "{drive:?}: {cliff:?}, off by {off:.3} of the flash");
    }
}

#[test]
fn greedy_garbage_collection_is_steady_at_its_level_and_claimed_within_3_percent_of_it() {
    for drive in drives() {
        let series = drive.series(2);
        let found = analyze(&series, &drive.known());
        let half = Bytes(series.total().0 / 2);
        let level = series.rate_between(half, series.total()).expect("bytes").0;
        let near = |rate: f64| (rate / level - 1.0).abs() < 0.03;
        assert!(found.steady.rate().is_some_and(|rate| near(rate.0)), "{drive:?}: {:?}", found.steady);
        let claim = found.first_claim.unwrap_or_else(|| panic!("{drive:?}: no claim"));
        assert!(near(claim.rate.0), "{drive:?}: {claim:?} instead of {level}");
    }
}

#[test]
fn a_run_that_ends_at_its_first_claim_is_steady() {
    for drive in drives() {
        let series = drive.series(3);
        let claim = analyze(&series, &drive.known()).first_claim.expect("a claim");
        let steps = series.steps().iter().scan(0, |now, step| {
            *now += step.elapsed_ns.0;
            (*now <= claim.decided.0).then_some(*step)
        });
        let cut = analyze(&harness::analysis::series::Series::new(steps), &drive.known());
        assert!(cut.steady.rate().is_some(), "{drive:?}: {:?}", cut.steady);
        assert_eq!(cut.first_claim, Some(claim));
    }
}
